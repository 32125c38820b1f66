// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes of cubes in six tetrahedra each, as an eigenproblem over their free nodes.

use thew::Vec3;
use thew::elasticity::elements::tetrahedral_mass;
use thew::elasticity::{Elements, Material};
use thew::solve::{BlockMatrix, NodeMatrix, ScalarMatrix};

/// Vertices and tetrahedra of a grid of cubes; its size in metres.
pub fn box_of_tets(cubes: [usize; 3], size: Vec3) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let [nx, ny, nz] = cubes;
    let at = |i: usize, j: usize, k: usize| (i + (nx + 1) * (j + (ny + 1) * k)) as u32;
    let step = Vec3::new(size.x / nx as f64, size.y / ny as f64, size.z / nz as f64);
    let (mut vertices, mut tets) = (Vec::new(), Vec::new());
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                vertices.push(Vec3::new(i as f64, j as f64, k as f64).component_mul(&step));
            }
        }
    }
    // Paths from corner to corner along the three axes; an odd one is mirrored.
    let paths = [
        ([0, 1, 2], false),
        ([1, 2, 0], false),
        ([2, 0, 1], false),
        ([1, 0, 2], true),
        ([0, 2, 1], true),
        ([2, 1, 0], true),
    ];
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                for (path, odd) in paths {
                    let mut corner = [i, j, k];
                    let mut tet = [at(i, j, k); 4];
                    for (step, axis) in path.into_iter().enumerate() {
                        corner[axis] += 1;
                        tet[step + 1] = at(corner[0], corner[1], corner[2]);
                    }
                    if odd {
                        tet.swap(1, 2);
                    }
                    tets.push(tet);
                }
            }
        }
    }
    (vertices, tets)
}

/// Stiffness, mass and positions of the free nodes.
pub struct Problem {
    pub stiffness: BlockMatrix,
    pub mass: ScalarMatrix,
    pub centres: Vec<Vec3>,
}

impl Problem {
    /// Of a mesh whose nodes are free where `free` says so.
    pub fn new(vertices: &[Vec3], tets: &[[u32; 4]], free: impl Fn(&Vec3) -> bool) -> Self {
        let material = Material::default();
        let kept: Vec<u32> = (0..vertices.len() as u32)
            .filter(|&i| free(&vertices[i as usize]))
            .collect();
        let elements = Elements::tetrahedra(vertices, tets, &material);
        let mass = tetrahedral_mass(vertices, tets, material.density());
        Self {
            stiffness: elements.stiffness_matrix().restrict_to(&kept),
            mass: mass.restrict_to(&kept),
            centres: kept.iter().map(|&i| vertices[i as usize]).collect(),
        }
    }

    /// A bar of cubes of 1 cm, held at x = 0.
    pub fn clamped_bar(along: usize, across: usize) -> Self {
        let size = Vec3::new(along as f64, across as f64, across as f64) * 0.01;
        let (vertices, tets) = box_of_tets([along, across, across], size);
        Self::new(&vertices, &tets, |x| x.x > 1e-9)
    }
}
