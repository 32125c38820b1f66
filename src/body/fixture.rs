// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies for tests: a bar of flesh around two bones, and a clamped bar.

use super::{Body, BodyError, BodySettings, assemble};
use crate::Vec3;
use crate::elasticity::{FleshDomain, Material};
use crate::geometry::tetrahedron::CUBE_TETRAHEDRA;
use crate::lattice::{BoneChains, Cell, Lattice};
use crate::progress::Silent;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use std::sync::Arc;

/// Flesh that fills a bar around the z axis.
struct BarFlesh {
    half: f64,
    length: f64,
    frame: nalgebra::Isometry3<f64>,
}

impl FleshDomain for BarFlesh {
    fn signed_distance(&self, p: Vec3) -> f64 {
        let p = self.frame.inverse_transform_point(&p.into());
        let side = p.x.abs().max(p.y.abs()) - self.half;
        side.max(-p.z).max(p.z - self.length)
    }
    fn contains(&self, p: Vec3) -> bool {
        self.signed_distance(p) <= 1e-9
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}

/// Options of a test bar.
pub(crate) struct BarOptions {
    pub cells_along: usize,
    pub cells_across: usize,
    pub length: f64,
    pub half: f64,
    pub hexahedra: bool,
    /// Two bones along the axis; otherwise one bone that holds the whole face at z = 0.
    pub bones: bool,
    pub material: Material,
    pub settings: BodySettings,
    pub frame: nalgebra::Isometry3<f64>,
    /// Reverses the numbering of lattice vertices and cells.
    pub reversed: bool,
}

impl Default for BarOptions {
    fn default() -> Self {
        Self {
            cells_along: 8,
            cells_across: 2,
            length: 1.6,
            half: 0.2,
            hexahedra: false,
            bones: true,
            material: Material::default(),
            settings: BodySettings::default(),
            frame: nalgebra::Isometry3::identity(),
            reversed: false,
        }
    }
}

impl BarOptions {
    /// Returns the number of a lattice vertex by its position in the grid.
    pub fn vertex(&self, i: usize, j: usize, k: usize) -> usize {
        let m = self.cells_across + 1;
        let v = i + m * (j + m * k);
        if self.reversed {
            m * m * (self.cells_along + 1) - 1 - v
        } else {
            v
        }
    }

    pub fn build(&self) -> Arc<Body> {
        Arc::new(self.try_build().unwrap())
    }

    pub fn try_build(&self) -> Result<Body, BodyError> {
        let (m, n) = (self.cells_across + 1, self.cells_along + 1);
        let mut x = vec![Vec3::zeros(); m * m * n];
        let mut bone_of_vertex = vec![None; x.len()];
        let mut chains = vec![Vec::new(); 2];
        for k in 0..n {
            for j in 0..m {
                for i in 0..m {
                    let v = self.vertex(i, j, k);
                    let side = |i: usize| (2.0 * i as f64 / (m - 1) as f64 - 1.0) * self.half;
                    let z = self.length * k as f64 / (n - 1) as f64;
                    x[v] = self.frame * nalgebra::Point3::new(side(i), side(j), z)
                        - nalgebra::Point3::origin();
                    let half = (n - 1) / 2;
                    if self.bones && 2 * i == m - 1 && 2 * j == m - 1 {
                        bone_of_vertex[v] = Some(u32::from(k > half));
                        if k <= half {
                            chains[0].push(v as u32);
                        }
                        if k >= half {
                            chains[1].push(v as u32);
                        }
                    } else if !self.bones && k == 0 {
                        bone_of_vertex[v] = Some(0);
                    }
                }
            }
        }
        let bones = BoneChains {
            used_bones: if self.bones { vec![0, 1] } else { vec![0] },
            chains: if self.bones { chains } else { vec![Vec::new()] },
            tip_bones: Vec::new(),
            bone_of_vertex,
        };
        let lattice = Arc::new(Lattice::with_bones(x, self.cells(), bones).unwrap());
        let flesh = BarFlesh {
            half: self.half,
            length: self.length,
            frame: self.frame,
        };
        // The lattice's own vertices serve as the painted surface; its outer faces bound the flesh.
        let surface = Arc::new(self.surface(lattice.vertices().to_vec()));
        let ingredients = assemble::Ingredients {
            surface: &surface,
            skeleton: &Arc::new(self.skeleton()),
            lattice: &lattice,
            flesh: &flesh,
            material: self.material,
            settings: &self.settings,
            former: None,
        };
        assemble::assemble_body(
            &ingredients,
            |basis| basis.embed(surface.vertices()),
            &Silent,
        )
    }

    /// Returns the cells of the grid.
    fn cells(&self) -> Vec<Cell> {
        let (m, n) = (self.cells_across, self.cells_along);
        let mut cells = Vec::new();
        for k in 0..n {
            for j in 0..m {
                for i in 0..m {
                    let h: [u32; 8] = std::array::from_fn(|c| {
                        self.vertex(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)) as u32
                    });
                    if self.hexahedra {
                        cells.push(Cell::Hexahedron(h));
                        continue;
                    }
                    for t in CUBE_TETRAHEDRA {
                        cells.push(Cell::Tetrahedron(t.map(|c| h[c])));
                    }
                }
            }
        }
        if self.reversed {
            cells.reverse();
        }
        cells
    }

    /// Returns the bar's six sides over the vertices of its grid.
    fn surface(&self, vertices: Vec<Vec3>) -> Surface {
        let (m, n) = (self.cells_across, self.cells_along);
        let steps = [m, m, n];
        let mut triangles = Vec::new();
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for (i, j) in (0..steps[u]).flat_map(|i| (0..steps[v]).map(move |j| (i, j))) {
                for end in [0, steps[axis]] {
                    let at = |di: usize, dj: usize| {
                        let mut place = [0; 3];
                        (place[axis], place[u], place[v]) = (end, i + di, j + dj);
                        self.vertex(place[0], place[1], place[2]) as u32
                    };
                    let mut quad = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                    if end == 0 {
                        quad.reverse();
                    }
                    triangles.push([quad[0], quad[1], quad[2]]);
                    triangles.push([quad[0], quad[2], quad[3]]);
                }
            }
        }
        Surface::new(vertices, triangles).unwrap()
    }

    pub fn skeleton(&self) -> Skeleton {
        let at = |z: f64| {
            self.frame * nalgebra::Point3::new(0.0, 0.0, z * self.length)
                - nalgebra::Point3::origin()
        };
        Skeleton::new(
            vec!["lower".into(), "upper".into()],
            vec![None, Some(0)],
            vec![at(0.0), at(0.5)],
            vec![at(0.5), at(1.0)],
        )
        .unwrap()
    }

    /// Returns weights that pass linearly from one bone to the other over the middle half of the bar.
    pub fn painted_weights(&self) -> SkinWeights {
        let n = (self.cells_across + 1).pow(2) * (self.cells_along + 1);
        let mut upper = vec![0.0; n];
        for k in 0..=self.cells_along {
            for j in 0..=self.cells_across {
                for i in 0..=self.cells_across {
                    let z = k as f64 / self.cells_along as f64;
                    upper[self.vertex(i, j, k)] = (2.0 * z - 0.5).clamp(0.0, 1.0);
                }
            }
        }
        SkinWeights {
            offsets: (0..=n as u32).map(|i| 2 * i).collect(),
            bones: (0..n).flat_map(|_| [0, 1]).collect(),
            weights: upper.iter().flat_map(|&w| [1.0 - w, w]).collect(),
            bone_count: 2,
        }
    }
}

/// Flesh everywhere.
pub(crate) struct FullSpace;

impl FleshDomain for FullSpace {
    fn signed_distance(&self, _: Vec3) -> f64 {
        -1e9
    }
    fn contains(&self, _: Vec3) -> bool {
        true
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}

/// Builds the body of a lattice and two bones along z, in flesh that need not have a surface. The lattice's vertices serve as the
/// painted surface.
pub(crate) fn body_in(
    lattice: Lattice,
    flesh: &dyn FleshDomain,
    settings: &BodySettings,
) -> Result<Body, BodyError> {
    let faces = lattice.cells().iter().flat_map(|cell| {
        let corners = cell.corners();
        let triangle = |f: &&[usize]| [f[0], f[1], f[2]].map(|i| corners[i]);
        cell.faces().iter().map(triangle).collect::<Vec<_>>()
    });
    let surface = Arc::new(Surface::new(lattice.vertices().to_vec(), faces.collect()).unwrap());
    let ingredients = assemble::Ingredients {
        surface: &surface,
        skeleton: &Arc::new(BarOptions::default().skeleton()),
        lattice: &Arc::new(lattice),
        flesh,
        material: Material::default(),
        settings,
        former: None,
    };
    assemble::assemble_body(
        &ingredients,
        |basis| basis.embed(surface.vertices()),
        &Silent,
    )
}
