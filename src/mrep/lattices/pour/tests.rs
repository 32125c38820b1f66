// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limbs in whole characters: made arms and a creature with a tail and four legs.

use super::*;
use crate::Vec3;
use crate::lattice::Symmetry;
use crate::mrep::fixture::{arm, creature, ellipsoid};
use crate::mrep::initial::chain::ChainSettings;
use crate::mrep::{Atom, Figure};
use crate::progress::Silent;

const SETTINGS: EncloseSettings = EncloseSettings {
    cells_across: 10.0,
    symmetric: Symmetry::Auto,
};

/// The arm's last two bones as a tube.
fn lower_arm(angle: f64, map: impl Fn(Vec3) -> Vec3) -> (Surface, Skeleton, SkinWeights, Model) {
    let (surface, skeleton, skin) = arm(angle, map);
    let settings = ChainSettings::default();
    let tube = Figure::from_skeleton(&surface, &skeleton, &skin, &[1, 2, 3], settings).unwrap();
    let model = Model::from_figures(vec![tube], vec!["arm".into()]).unwrap();
    (surface, skeleton, skin, model)
}

fn prism_count(lattice: &Lattice) -> usize {
    let prism = |c: &&Cell| matches!(c, Cell::Prism(_));
    lattice.cells().iter().filter(prism).count()
}

/// Counts the points of a grid inside the body that lie in a cell, and those that lie in none.
fn point_counts(lattice: &Lattice, surface: &Surface) -> [usize; 2] {
    let (lo, hi) = surface.bounds();
    let (mut held, mut lost) = (0, 0);
    let n = 24;
    for i in 0..n * n * n {
        let at = [i % n, i / n % n, i / (n * n)].map(|k| (k as f64 + 0.5) / n as f64);
        let p = lo + (hi - lo).component_mul(&Vec3::from(at));
        if !surface.contains(p) {
            continue;
        }
        let Some(cell) = lattice.locate(p) else {
            lost += 1;
            continue;
        };
        // The owner contains the point, and is found from whichever cell the search starts.
        let owner = lattice.owner(cell, p);
        assert!(lattice.embed(&[p]).cells() == [owner]);
        assert_eq!(lattice.owner(owner, p), owner);
        held += 1;
    }
    [held, lost]
}

/// An arm is filled with prisms and the body with tetrahedra, joined at faces into one piece.
#[test]
fn enclose_joins_prisms_and_tetrahedra() {
    for angle in [0.0, 0.25] {
        let (surface, skeleton, skin, model) = lower_arm(angle, |p| p);
        let lattice = model
            .enclose(&surface, &skeleton, Some(&skin), SETTINGS, &Silent)
            .unwrap();
        assert!(lattice.notes().is_empty(), "{:?}", lattice.notes());
        assert!(prism_count(&lattice) > 40);
        assert_eq!(lattice.check(&surface, &skeleton), []);
        assert_eq!(lattice.bones().used_bones, [0, 1, 2, 3]);
        let [held, lost] = point_counts(&lattice, &surface);
        assert!(held > 500 && lost == 0, "{held} {lost}");
        // Every vertex of the skin in a cell that holds it.
        let embedding = lattice.embed_surface(&surface);
        for (i, p) in surface.vertices().iter().enumerate() {
            assert!((embedding.position(i, lattice.vertices()) - p).norm() < 1e-9);
            assert!(embedding.row(i).all(|(_, w)| w > -1e-6), "{i}");
        }
        // The lattice is connected: edges lead from any vertex to any other.
        let mut sets = crate::geometry::sets::DisjointSets::new(lattice.vertices().len());
        for cell in lattice.cells() {
            let corners = cell.corners();
            for v in corners {
                sets.join(corners[0], *v);
            }
        }
        let root = sets.root(lattice.cells()[0].corners()[0]);
        let all = lattice.cells().iter().flat_map(|c| c.corners().to_vec());
        assert!(all.into_iter().all(|v| sets.root(v) == root));
    }
}

/// The lattice follows a similarity of the character.
#[test]
fn enclose_is_equivariant() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    let build = |map: &dyn Fn(Vec3) -> Vec3| {
        let (surface, skeleton, skin, model) = lower_arm(0.25, map);
        model.enclose(&surface, &skeleton, Some(&skin), SETTINGS, &Silent)
    };
    let here = build(&|p| p).unwrap();
    // Scaled and moved the very same; turned, the grid of points is another, but not the limb's cells.
    let there = build(&|p| p * 0.2 + shift).unwrap();
    assert_eq!(here.cells(), there.cells());
    for (p, q) in here.vertices().iter().zip(there.vertices()) {
        assert!((p * 0.2 + shift - q).norm() < 1e-9);
    }
    let turned = build(&|p| turn * p * 0.2 + shift).unwrap();
    assert_eq!(prism_count(&here), prism_count(&turned));
    let again = build(&|p| p).unwrap();
    assert_eq!(
        (here.vertices(), here.cells()),
        (again.vertices(), again.cells())
    );
}

/// Returns a creature with bones along its figures, and skin that follows the nearest bone.
fn rigged_creature() -> (Surface, Skeleton, SkinWeights) {
    let model = creature();
    let (vertices, triangles) = model.boundary(2, 0.5, &Silent).unwrap();
    let (mut names, mut parents, mut heads, mut tails) = (vec![], vec![], vec![], vec![]);
    for (name, figure) in model.figures() {
        let hubs: Vec<Vec3> = figure.atoms().iter().map(|a| a.hub).collect();
        for (k, pair) in [[0, 3], [3, 6]].into_iter().enumerate() {
            parents.push(match (names.len(), k) {
                (0, _) => None,
                (_, 0) => Some(0),
                (n, _) => Some(n as u32 - 1),
            });
            names.push(format!("{name} {k}"));
            heads.push(hubs[pair[0]]);
            tails.push(hubs[pair[1]]);
        }
    }
    let nearest = |p: &Vec3| {
        let distance = |b: usize| {
            let d: Vec3 = tails[b] - heads[b];
            let t = ((p - heads[b]).dot(&d) / d.norm_squared()).clamp(0.0, 1.0);
            // As thick as the figure is there.
            (p - heads[b] - d * t).norm() / if b < 2 { 0.42 } else { 0.14 }
        };
        let all = 0..heads.len();
        all.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
            .unwrap()
    };
    let n = heads.len();
    let table: Vec<f64> = (vertices.iter())
        .flat_map(|p| {
            let bone = nearest(p);
            (0..n).map(move |b| f64::from(u8::from(b == bone)))
        })
        .collect();
    let skin = SkinWeights::from_dense(vertices.len(), n, &table).unwrap();
    let skeleton = Skeleton::new(names, parents, heads, tails).unwrap();
    (Surface::new(vertices, triangles).unwrap(), skeleton, skin)
}

/// A tail and legs are filled side by side, and all bones are used.
#[test]
fn enclose_fills_several_limbs() {
    let (surface, skeleton, skin) = rigged_creature();
    let mut figures = Vec::new();
    for limb in 1..6 {
        let bones = [2 * limb, 2 * limb + 1];
        let settings = ChainSettings::default();
        figures.push(Figure::from_skeleton(&surface, &skeleton, &skin, &bones, settings).unwrap());
    }
    let names = (0..5).map(|i| format!("limb {i}")).collect();
    let model = Model::from_figures(figures, names).unwrap();
    let settings = EncloseSettings {
        cells_across: 16.0,
        ..EncloseSettings::default()
    };
    let lattice = model
        .enclose(&surface, &skeleton, Some(&skin), settings, &Silent)
        .unwrap();
    let left = lattice
        .notes()
        .iter()
        .filter(|n| n.contains("is left"))
        .count();
    assert!(left <= 1, "{:?}", lattice.notes());
    assert_eq!(lattice.check(&surface, &skeleton), []);
    let [_, lost] = point_counts(&lattice, &surface);
    assert_eq!(lost, 0);
    let bones = lattice.bones();
    assert_eq!(bones.used_bones.len(), skeleton.len());
    // Held as far as bones go, each vertex by one that it is on.
    for (chain, bone) in bones.chains.iter().zip(&bones.used_bones) {
        assert!(chain.len() > 1);
        for v in chain {
            let by = bones.bone_of_vertex[*v as usize].unwrap() as usize;
            let x = lattice.vertices()[*v as usize];
            let d = skeleton.tails()[by] - skeleton.heads()[by];
            let off = (x - skeleton.heads()[by]).cross(&d).norm() / d.norm();
            assert!(off < 1e-3, "{bone} {v}");
        }
    }
}

/// A limb that cannot be filled with prisms is left out, and a note says so.
#[test]
fn enclose_notes_limbs_left_out() {
    let (surface, skeleton, skin, model) = lower_arm(0.25, |p| p);
    let tube = model.figures()[0].1.clone();
    let moved = |i: usize| {
        let mut atoms: Vec<Atom> = tube.atoms().to_vec();
        atoms[i].hub += Vec3::new(0.0, 0.02, 0.0);
        Figure::tube_with_knots(atoms, Some(tube.knots().to_vec()), tube.joints().to_vec()).unwrap()
    };
    let free = Figure::tube(tube.atoms().to_vec()).unwrap();
    let short = Figure::tube_with_knots(
        vec![
            tube.atoms()[0].clone(),
            tube.atoms()[tube.atoms().len() - 1].clone(),
        ],
        None,
        vec![0.0, 1.0],
    );
    for (figure, said) in [
        (ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8), "slab"),
        (moved(0), "no bone"),
        (free, "not made along bones"),
        (short.unwrap(), "no bone"),
    ] {
        let model = Model::from_figures(vec![figure], vec!["it".into()]).unwrap();
        let lattice = model
            .enclose(&surface, &skeleton, Some(&skin), SETTINGS, &Silent)
            .unwrap();
        let notes = lattice.notes().join(" ");
        assert!(
            notes.contains("'it' is left") && notes.contains(said),
            "{notes}"
        );
        let plain = Lattice::enclose(&surface, &skeleton, Some(&skin), SETTINGS, &Silent).unwrap();
        assert_eq!(lattice.cells(), plain.cells());
    }
    // Of two limbs with the same skin only the first is poured.
    let names = ["one", "two"].map(String::from).to_vec();
    let both = Model::from_figures(vec![tube.clone(), tube], names).unwrap();
    let lattice = both
        .enclose(&surface, &skeleton, Some(&skin), SETTINGS, &Silent)
        .unwrap();
    assert!(lattice.notes().join(" ").contains("'two' is left"));
    assert!(prism_count(&lattice) > 40);
    let wrong = EncloseSettings {
        cells_across: f64::NAN,
        ..EncloseSettings::default()
    };
    assert!(
        model
            .enclose(&surface, &skeleton, Some(&skin), wrong, &Silent)
            .is_err()
    );
}

/// A limb is filled with prisms even if there are no skin weights.
#[test]
fn enclose_without_weights() {
    let (surface, skeleton, _, model) = lower_arm(0.25, |p| p);
    let lattice = model
        .enclose(&surface, &skeleton, None, SETTINGS, &Silent)
        .unwrap();
    assert!(prism_count(&lattice) > 0, "{:?}", lattice.notes());
    assert_eq!(lattice.check(&surface, &skeleton), []);
}
