// SPDX-License-Identifier: MIT OR Apache-2.0
//! Painted factors on the material, over the cells of a lattice.

/// Painted factors on the material's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaintFactors {
    /// Factor on Young's modulus.
    pub stiffness: f64,
    /// Factor on the density.
    pub density: f64,
    /// Factor on Poisson's ratio.
    pub poisson: f64,
}

impl Default for PaintFactors {
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            density: 1.0,
            poisson: 1.0,
        }
    }
}

/// Painted factors over the cells of a lattice.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum PaintMap {
    /// All factors are one.
    #[default]
    Plain,
    /// The factors of each cell, which are constant in it.
    Cells(Vec<PaintFactors>),
    /// The factors at each lattice vertex, which vary inside the cells.
    Vertices(Vec<PaintFactors>),
}

impl PaintMap {
    /// Returns the factors at a point of a cell, given the values there of the functions of the cell's corners.
    pub fn factors(&self, cell: u32, values: impl IntoIterator<Item = (u32, f64)>) -> PaintFactors {
        match self {
            Self::Plain => PaintFactors::default(),
            Self::Cells(cells) => cells[cell as usize],
            Self::Vertices(vertices) => {
                let mut sum = PaintFactors {
                    stiffness: 0.0,
                    density: 0.0,
                    poisson: 0.0,
                };
                for (v, value) in values {
                    let of = &vertices[v as usize];
                    sum.stiffness += of.stiffness * value;
                    sum.density += of.density * value;
                    sum.poisson += of.poisson * value;
                }
                sum
            }
        }
    }
}
