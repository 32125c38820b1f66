// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fitting a figure to what was seen: the most probable one, in stages.
//!
//! A similarity of the whole, then all atoms at once, then offsets of a finer boundary. What is minimised is minus the logarithm of
//! prior times likelihood: [`prior`] (neighbours as in the template), [`medial`] (spokes upright on the boundary) and the target's.
//!
//! Source: [oguz2005, slides 9 to 14]. Deviations: atoms move all at once, not one by one (slide 12); every step has to lower
//! the energy at the deviation that is reported, also while a larger one makes the steps.

mod evidence;
mod marquardt;
mod medial;
mod offsets;
mod prior;
mod report;
mod similarity;
mod surface;
#[cfg(test)]
mod tests;
mod unknowns;

pub use report::Report;

use super::boundary::Boundary;
use super::error::MRepError;
use super::figure::Figure;
use crate::Vec3;
use crate::progress::{Part, Progress};
use crate::surface::Surface;
use marquardt::Posterior;
use medial::Medial;
use surface::{DEVIATIONS, SurfaceLikelihood, Target};
use unknowns::Unknowns;

/// Which stages a fit goes through, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// Place, turn and size of the whole first.
    pub similarity: bool,
    /// Then all atoms.
    pub atoms: bool,
    /// Then a finer boundary.
    pub boundary: bool,
    /// Factor on what is expected beside what is seen.
    pub prior: f64,
    /// Atoms whose hubs stay where they are; with any of them the whole is not moved either.
    pub held: Vec<usize>,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            similarity: true,
            atoms: true,
            boundary: true,
            prior: 1.0,
            held: Vec::new(),
        }
    }
}

/// One stage as it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// "similarity", "atoms" or "boundary".
    pub name: &'static str,
    /// Energy at its beginning and after each accepted step: they fall.
    pub energies: Vec<f64>,
    /// How good it was at its end.
    pub report: Report,
}

/// A fitted figure.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The figure.
    pub figure: Figure,
    /// Boundary of it at the level that offsets stand on.
    pub boundary: Boundary,
    /// Vertices of that, moved onto the target by the last stage.
    pub positions: Vec<Vec3>,
    /// The stages in their order.
    pub stages: Vec<Stage>,
}

impl FitSettings {
    fn check(&self, figure: &Figure) -> Result<(), MRepError> {
        if !(0.0..=1e6).contains(&self.prior) {
            return Err(MRepError::Setting {
                name: "the factor on the prior",
                value: self.prior.to_string(),
                range: "between 0 and 1e6",
            });
        }
        let atoms = figure.kind().atoms();
        if let Some(atom) = self.held.iter().find(|atom| **atom >= atoms) {
            return Err(MRepError::Setting {
                name: "the index of a held hub",
                value: atom.to_string(),
                range: "one of the figure's atoms",
            });
        }
        let worst = figure.worst();
        if worst.legality <= 0.0 {
            return Err(MRepError::Folded {
                legality: worst.legality,
                what: worst.sentence(figure),
            });
        }
        Ok(())
    }
}

/// Level of the mesh that figures are fitted with: few atoms need more places between them.
fn level(figure: &Figure) -> u32 {
    if figure.kind().atoms() * figure.kind().spokes() > 200 {
        1
    } else {
        2
    }
}

impl Figure {
    /// Fits the figure to a surface, as its template. `weights` say how much each vertex of the surface counts, from 0 to 1.
    ///
    /// # Errors
    /// A figure that folds; weights or settings that are none; a stop by the progress.
    pub fn fit_surface(
        &self,
        surface: &Surface,
        weights: Option<&[f64]>,
        settings: &FitSettings,
        progress: &dyn Progress,
    ) -> Result<Fit, MRepError> {
        settings.check(self)?;
        let target = Target::new(surface, weights)?;
        let boundary = Boundary::new(self, level(self))?;
        let unknowns = Unknowns::new(self, &settings.held);
        let medial = Medial::new(self);
        let atoms = self.kind().atoms();
        let part = |from: f64, to: f64| Part {
            whole: progress,
            from,
            to,
        };
        let mut stages = Vec::new();
        let mut figure = self.clone();
        let mut likelihood =
            SurfaceLikelihood::new(&target, &boundary, &boundary.shape(&figure), atoms);
        if settings.similarity && settings.held.is_empty() {
            let mut energies = Vec::new();
            let posterior = Posterior {
                template: self,
                boundary: &boundary,
                unknowns: &unknowns,
                medial: &medial,
                prior: settings.prior,
                likelihood: &likelihood,
            };
            figure = similarity::minimise(&posterior, figure, &mut energies, &part(0.0, 0.2))?;
            let shape = boundary.shape(&figure);
            stages.push(Stage {
                name: "similarity",
                energies,
                report: Report::new(&target, &boundary, &shape),
            });
            likelihood = SurfaceLikelihood::new(&target, &boundary, &shape, atoms);
        }
        if settings.atoms {
            let mut energies = Vec::new();
            for (k, deviation) in DEVIATIONS.into_iter().enumerate() {
                likelihood.deviation = deviation;
                let posterior = Posterior {
                    template: self,
                    boundary: &boundary,
                    unknowns: &unknowns,
                    medial: &medial,
                    prior: settings.prior,
                    likelihood: &likelihood,
                };
                let from = 0.2 + 0.3 * k as f64;
                let (part, most) = (part(from, from + 0.3), [10, 30][k]);
                figure =
                    posterior.minimise(figure, most, &mut energies, &part, "fitting the atoms")?;
            }
            let shape = boundary.shape(&figure);
            stages.push(Stage {
                name: "atoms",
                energies,
                report: Report::new(&target, &boundary, &shape),
            });
        }
        let fine = Boundary::new(&figure, offsets::level(&figure))?;
        let mut positions = fine.positions(&figure);
        if settings.boundary {
            let mut energies = Vec::new();
            let shape = fine.shape(&figure);
            let likelihood = SurfaceLikelihood::new(&target, &fine, &shape, atoms);
            let part = part(0.8, 1.0);
            positions =
                offsets::minimise(&likelihood, shape, &fine.triangles, &mut energies, &part)?;
            let shape = super::boundary::Shape {
                positions: positions.clone(),
                normals: vec![Vec3::zeros(); positions.len()],
                radii: Vec::new(),
            };
            stages.push(Stage {
                name: "boundary",
                energies,
                report: Report::new(&target, &fine, &shape),
            });
        }
        Ok(Fit {
            figure,
            boundary: fine,
            positions,
            stages,
        })
    }
}
