// SPDX-License-Identifier: MIT OR Apache-2.0
//! First figures along the chains of real characters, where `THEW_DATA` (default `../shared/data`) has them: all legal, near their skin,
//! and hardly out of it.

mod common;

use common::{Character, gltf};
use std::path::{Path, PathBuf};
use thew::Vec3;
use thew::mrep::{Boundary, Figure};
use thew::surface::{Surface, TriangleRole};

fn characters() -> Vec<(&'static str, Character)> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("THEW_DATA").map_or(default, PathBuf::from);
    let names = ["Fox", "m2m_horse", "m2m_human", "q_bull", "robot"];
    let read = |name: &'static str| {
        let path = data.join("characters").join(name).with_extension("glb");
        let mut character = gltf::read(&path)?;
        character.skeleton = (character.skeleton).refit_tails(&character.surface, &character.skin);
        Some((name, character))
    };
    names.into_iter().filter_map(read).collect()
}

/// Rows of bones that have one child each, but for the last; those that carry skin and have a length.
fn chains(c: &Character) -> Vec<Vec<usize>> {
    let (children, heads, tails) = (
        c.skeleton.children(),
        c.skeleton.heads(),
        c.skeleton.tails(),
    );
    let mut carried = vec![0.0; c.skeleton.len()];
    for (b, w) in c.skin.bones.iter().zip(&c.skin.weights) {
        carried[*b as usize] += w;
    }
    let total: f64 = carried.iter().sum();
    let mut all = Vec::new();
    for b in 0..c.skeleton.len() {
        let parent = c.skeleton.parents()[b];
        if parent.is_some_and(|p| children[p as usize].len() == 1) {
            continue;
        }
        let mut chain = vec![b];
        while let [next] = children[chain[chain.len() - 1]][..] {
            chain.push(next as usize);
        }
        let long = |from: usize, to: Vec3| (to - heads[from]).norm() > 1e-3 * c.surface.size();
        while let Some(&last) = chain.last()
            && (carried[last] == 0.0 || !long(last, tails[last]))
        {
            chain.pop();
        }
        while chain.len() > 1 && (carried[chain[0]] == 0.0 || !long(chain[0], heads[chain[1]])) {
            chain.remove(0);
        }
        let share = chain.iter().map(|b| carried[*b]).sum::<f64>() / total;
        if chain.len() > 1 && share > 0.01 {
            all.push(chain);
        }
    }
    all
}

/// Middles of the triangles of skin that follow a chain for the most part.
fn skin(c: &Character, chain: &[usize]) -> Vec<Vec3> {
    let welded = c.surface.welded();
    let mut share = vec![0.0; welded.vertices.len()];
    for (v, &w) in welded.of_vertex.iter().enumerate() {
        if let Some(share) = share.get_mut(w as usize) {
            let own = c
                .skin
                .row(v)
                .filter(|(b, _)| chain.contains(&(*b as usize)));
            *share = own.map(|(_, w)| w).sum();
        }
    }
    let roles = c.surface.triangle_roles();
    (welded.triangles.iter().zip(roles))
        .filter(|(t, role)| {
            **role == TriangleRole::Skin && t.iter().all(|v| share[*v as usize] > 0.5)
        })
        .map(|(t, _)| t.iter().map(|v| welded.vertices[*v as usize]).sum::<Vec3>() / 3.0)
        .collect()
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

#[test]
fn chains_of_characters_have_legal_figures_near_their_skin() {
    let (mut off, mut out) = (Vec::new(), Vec::new());
    for (name, c) in characters() {
        for chain in chains(&c) {
            let made = Figure::from_skeleton(&c.surface, &c.skeleton, &c.skin, &chain, 3, 8);
            let figure = made.unwrap_or_else(|e| panic!("{name} {chain:?}: {e}"));
            assert!(
                figure.legality() > 0.03,
                "{name} {chain:?}: {}",
                figure.legality()
            );
            let boundary = Boundary::new(&figure, 2).expect("a level");
            let points = boundary.positions(&figure);
            let mesh = Surface::new(points.clone(), boundary.triangles).expect("a surface");
            let size = figure.size();
            let near = skin(&c, &chain);
            off.push(mean(
                near.iter().map(|p| mesh.closest_point(*p).distance / size),
            ));
            let beyond = points
                .iter()
                .map(|p| c.surface.signed_distance(*p).max(0.0));
            out.push(mean(beyond.map(|d| d / size)));
        }
    }
    if off.is_empty() {
        return;
    }
    let (off, out) = (middle(off), middle(out));
    assert!(off < 0.02 && out < 0.005, "{off} {out}");
}
