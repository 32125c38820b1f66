// SPDX-License-Identifier: MIT OR Apache-2.0
//! Material of a shell: three stiffnesses and a density, each one number or painted on the vertices.

use super::ShellError;
use crate::range::is_sound;

/// One number for the whole shell, or one per vertex.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum ShellParameter {
    /// A uniform value.
    Even(f64),
    /// One value per vertex. An edge, triangle or hinge takes the mean over its vertices.
    Map(Vec<f64>),
}

impl From<f64> for ShellParameter {
    fn from(number: f64) -> Self {
        Self::Even(number)
    }
}

impl From<Vec<f64>> for ShellParameter {
    fn from(map: Vec<f64>) -> Self {
        Self::Map(map)
    }
}

impl ShellParameter {
    /// Returns the mean over some vertices.
    pub(super) fn mean(&self, corners: &[u32]) -> f64 {
        match self {
            Self::Even(number) => *number,
            Self::Map(map) => {
                let sum: f64 = corners.iter().map(|&v| map[v as usize]).sum();
                sum / corners.len() as f64
            }
        }
    }

    /// Checks that the numbers are finite and not negative, and that a map has one per vertex.
    fn check(&self, name: &'static str, vertices: usize) -> Result<(), ShellError> {
        const VALUE_RANGE: &str = "a finite number from 0 to 1e100";
        let good = |x: f64| is_sound(x) && x >= 0.0;
        match self {
            Self::Even(value) if !good(*value) => Err(ShellError::Material {
                name,
                value: *value,
                range: VALUE_RANGE,
            }),
            Self::Map(map) if map.len() != vertices => Err(ShellError::Length {
                what: name,
                found: map.len(),
                expected: vertices,
            }),
            Self::Map(map) => match map.iter().position(|&x| !good(x)) {
                Some(vertex) => Err(ShellError::Map {
                    name,
                    vertex,
                    value: map[vertex],
                    range: VALUE_RANGE,
                }),
                None => Ok(()),
            },
            Self::Even(_) => Ok(()),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Self::Even(number) => *number == 0.0,
            Self::Map(map) => map.iter().all(|&x| x == 0.0),
        }
    }
}

/// Stiffnesses and density of a shell.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ShellMaterial {
    /// Stiffness against changes of edge lengths, `k_L`: energy per length, at a unit of one.
    pub stretching: ShellParameter,
    /// Stiffness against changes of triangle areas, `k_A`: energy per area, at a unit of one.
    pub area: ShellParameter,
    /// Stiffness against changes of the angles between triangles, `k_B`: energy, at a unit of one.
    pub bending: ShellParameter,
    /// Mass per area, kg/m².
    pub density: ShellParameter,
    /// Length unit u of the three stiffnesses, m. The energy uses `k_L u³`, `k_A u²` and `k_B u⁴`, so that a body and its enlarged copy move
    /// alike. `None`: a tenth of the diameter of the mesh, so that the diameter is ten units \[hildebrandt2012, §5\]. With 1 the energy is
    /// exactly the formula at the top of [`crate::shell`].
    pub unit: Option<f64>,
}

impl Default for ShellMaterial {
    fn default() -> Self {
        let one = || ShellParameter::Even(1.0);
        Self {
            stretching: one(),
            area: one(),
            bending: one(),
            density: one(),
            unit: None,
        }
    }
}

impl ShellMaterial {
    pub(super) fn check(&self, vertices: usize) -> Result<(), ShellError> {
        self.stretching.check("stretching", vertices)?;
        self.area.check("area", vertices)?;
        self.bending.check("bending", vertices)?;
        self.density.check("density", vertices)?;
        // The fourth power of any permitted position stays in range, and so does that of its inverse.
        const UNIT_RANGE: std::ops::RangeInclusive<f64> = 1e-50..=1e12;
        if let Some(value) = self.unit.filter(|unit| !UNIT_RANGE.contains(unit)) {
            return Err(ShellError::Material {
                name: "unit",
                value,
                range: "a length from 1e-50 to 1e12, or None for a tenth of the mesh's diameter",
            });
        }
        if self.density.is_zero() {
            return Err(ShellError::Material {
                name: "density",
                value: 0.0,
                range: "above zero, at some vertex at least",
            });
        }
        Ok(())
    }
}
