// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies with details: lattices and flesh for their tests.

use super::*;
use crate::body::fixture::body_in;
use crate::elasticity::FleshDomain;
use crate::lattice::{BoneChains, Cell, Lattice};

mod convergence;
mod motion;
mod nodal;
mod subdivided;

fn with_levels(levels: usize) -> BodySettings {
    BodySettings {
        basis_levels: levels,
        level: levels,
        ..unloaded()
    }
}

/// Settings of a body that sags and has no twist, which depends on how finely weights are known.
fn unloaded() -> BodySettings {
    BodySettings {
        rest_includes_gravity: false,
        twist: super::twist::no_twist(),
        ..BodySettings::default()
    }
}

/// Builds a hexahedron, a prism at its side and a tetrahedron on that; a bone holds the vertices with x = 0.
fn mixed_lattice() -> Lattice {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.1],
        [0.0, 1.1, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.1, 1.1],
        [0.0, 1.0, 1.2],
        [1.1, 1.0, 1.0],
        [2.0, 0.4, 0.1],
        [1.9, 0.5, 1.0],
        [1.4, 0.5, 2.0],
    ];
    let cells = vec![
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        Cell::Prism([1, 8, 3, 5, 9, 7]),
        Cell::Tetrahedron([5, 9, 7, 10]),
    ];
    hold_side(x.map(Vec3::from).to_vec(), cells, 0)
}

/// Builds a lattice whose vertices with a coordinate of zero along an axis hang on a bone.
fn hold_side(x: Vec<Vec3>, cells: Vec<Cell>, axis: usize) -> Lattice {
    let bone = |x: &Vec3| (x[axis].abs() < 1e-12).then_some(0);
    let bones = BoneChains {
        used_bones: vec![0],
        chains: vec![Vec::new()],
        tip_bones: Vec::new(),
        bone_of_vertex: x.iter().map(bone).collect(),
    };
    Lattice::with_bones(x, cells, bones).unwrap()
}

/// Flesh on one side of a plane through a bar.
struct Half;

impl FleshDomain for Half {
    fn signed_distance(&self, p: Vec3) -> f64 {
        p.x + 0.3 * p.y - 0.05
    }
    fn contains(&self, p: Vec3) -> bool {
        self.signed_distance(p) < 0.0
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}

/// Builds half a bar, cut by a plane through its cells.
fn half_bar(levels: usize) -> Body {
    let lattice = (**BarOptions::default().build().lattice()).clone();
    let settings = BodySettings {
        basis_levels: levels,
        ..BodySettings::default()
    };
    body_in(lattice, &Half, &settings).unwrap()
}
