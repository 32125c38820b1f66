// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones in an enclosed lattice: each vertex of a bone lies on it, and where one does not `check` says so.

use crate::common::{Character, Limb, character, limb};
use thew::Vec3;
use thew::lattice::{EncloseSettings, Lattice, Violation};
use thew::progress::Silent;
use thew::skeleton::Skeleton;

/// A bone's vertex lies this part of a cell off its bone at most.
const BONE_DISTANCE_TOLERANCE: f64 = 0.02;

fn enclose(c: &Character) -> Lattice {
    let settings = EncloseSettings::default();
    Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent).expect("encloses")
}

const BONE_NAMES: [&str; 16] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
];

/// Builds a thin snake of two metres with the given number of bones.
fn snake(bones: usize) -> Character {
    let at = |i: usize| {
        let t = i as f64 / bones as f64;
        [2.0 * t, 0.15 * (t * 9.0).sin(), 0.05 * (t * 5.0).cos()]
    };
    let limbs: Vec<Limb> = (0..bones)
        .map(|i| {
            let parent = (i > 0).then(|| i as u32 - 1);
            limb(BONE_NAMES[i], parent, at(i), at(i + 1), 0.035)
        })
        .collect();
    character(&limbs, 0.014)
}

/// Moves the heads of the bones across the body, each to another side, by a part of the cell size.
fn shift_heads(mut c: Character, share: f64) -> Character {
    let h = cell_size(&c);
    let heads = c.skeleton.heads().iter().enumerate().map(|(b, &x)| {
        let side = Vec3::new(0.0, (2.3 * b as f64).sin(), (2.3 * b as f64).cos());
        x + side * (share * h)
    });
    c.skeleton = Skeleton::new(
        c.skeleton.names().to_vec(),
        c.skeleton.parents().to_vec(),
        heads.collect(),
        c.skeleton.tails().to_vec(),
    )
    .expect("valid");
    c
}

/// Returns the default size of the cells.
fn cell_size(c: &Character) -> f64 {
    c.surface.size() / EncloseSettings::default().cells_across
}

fn segment_distance(p: Vec3, a: Vec3, b: Vec3) -> f64 {
    let d = b - a;
    let t = ((p - a).dot(&d) / d.norm_squared()).clamp(0.0, 1.0);
    (a + d * t - p).norm()
}

/// Every lattice vertex of a bone lies on the bone.
#[test]
fn bone_vertices_lie_on_bones() {
    for bones in [12] {
        for share in [0.0, 0.015, 0.03, 0.045] {
            let c = shift_heads(snake(bones), share);
            let lattice = enclose(&c);
            let found = lattice.check(&c.surface, &c.skeleton);
            assert!(found.is_empty(), "{bones} bones, {share}: {}", found[0]);
            let size = cell_size(&c);
            let followed = lattice.bones();
            for (&bone, chain) in followed.used_bones.iter().zip(&followed.chains) {
                let (head, tail) = (
                    c.skeleton.heads()[bone as usize],
                    c.skeleton.tails()[bone as usize],
                );
                for &v in chain {
                    let off = segment_distance(lattice.vertices()[v as usize], head, tail);
                    assert!(
                        off <= BONE_DISTANCE_TOLERANCE * size,
                        "{bones} bones, {share}: vertex {v} lies {:.3} of a cell off bone {bone}",
                        off / size
                    );
                }
            }
        }
    }
}

/// The check reports a vertex that lies off its bone.
#[test]
fn check_reports_off_bone() {
    let c = snake(8);
    let lattice = enclose(&c);
    let size = cell_size(&c);
    let chains = &lattice.bones().chains;
    let inner = chains.iter().find(|chain| chain.len() > 2);
    let vertex = inner.map_or(chains[3][0], |chain| chain[1]);
    for (share, seen) in [(0.015, false), (0.03, true)] {
        let mut vertices = lattice.vertices().to_vec();
        vertices[vertex as usize] += Vec3::z() * (share * size);
        let moved =
            Lattice::with_bones(vertices, lattice.cells().to_vec(), lattice.bones().clone())
                .expect("valid");
        let found = moved.check(&c.surface, &c.skeleton);
        let reported = found
            .iter()
            .any(|v| matches!(v, Violation::OffBone { vertex: at, .. } if *at == vertex));
        assert_eq!(reported, seen, "{share} of a cell");
    }
}
