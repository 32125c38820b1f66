// SPDX-License-Identifier: MIT OR Apache-2.0
//! The course of a fit: a figure that gets better, and what was noted on the way.

use super::super::boundary::Boundary;
use super::super::error::MRepError;
use super::super::figure::Figure;
use super::evidence::Likelihood;
use super::folds::Folds;
use super::marquardt::Posterior;
use super::medial::Medial;
use super::prior::Prior;
use super::unknowns::Unknowns;
use super::volume::Levels;
use super::{Fit, FitSettings, Report, Stage, similarity};
use crate::Vec3;
use crate::progress::{Cancelled, Part, Progress};

/// A fit under way.
pub(super) struct Stages<'a> {
    template: &'a Figure,
    expected: Prior<'a>,
    settings: &'a FitSettings,
    progress: &'a dyn Progress,
    /// The mesh that the figure is fitted with.
    pub boundary: Boundary,
    unknowns: Unknowns,
    medial: Medial,
    /// As far as it has come.
    pub figure: Figure,
    stages: Vec<Stage>,
}

/// Level of the mesh that figures are fitted with: few atoms need more places between them.
fn level(figure: &Figure) -> u32 {
    if figure.kind().atoms() * figure.kind().spokes() > 200 {
        1
    } else {
        2
    }
}

impl<'a> Stages<'a> {
    pub fn new(
        template: &'a Figure,
        settings: &'a FitSettings,
        progress: &'a dyn Progress,
    ) -> Result<Self, MRepError> {
        Ok(Self {
            template,
            expected: Prior::new(template, settings.family.as_deref())?,
            settings,
            progress,
            boundary: Boundary::new(template, level(template))?,
            unknowns: Unknowns::new(template, &settings.held),
            medial: Medial::new(template),
            figure: template.clone(),
            stages: Vec::new(),
        })
    }

    /// A share of the progress.
    pub fn part(&self, from: f64, to: f64) -> Part<'a> {
        Part {
            whole: self.progress,
            from,
            to,
        }
    }

    fn folds(&self) -> Folds<'_> {
        Folds::new(&self.boundary, self.template)
    }

    fn posterior<'b>(
        &'b self,
        likelihood: &'b dyn Likelihood,
        folds: &'b Folds<'b>,
    ) -> Posterior<'b> {
        Posterior {
            expected: self.expected,
            boundary: &self.boundary,
            unknowns: &self.unknowns,
            medial: &self.medial,
            folds,
            prior: self.settings.prior,
            likelihood,
        }
    }

    /// Moves, turns and scales the whole from the most probable of the starts; answers its energies. `seen` makes the target ready for
    /// where a figure lies.
    pub fn similarity<L: Likelihood>(
        &mut self,
        starts: &[Figure],
        seen: impl Fn(&Figure) -> Result<L, MRepError>,
        from: f64,
        to: f64,
    ) -> Result<Vec<f64>, MRepError> {
        let mut best: Option<(f64, &Figure, L)> = None;
        let mut refused = None;
        let folds = self.folds();
        for (k, start) in starts.iter().enumerate() {
            let likelihood = match seen(start) {
                Ok(likelihood) => likelihood,
                // Where a figure lies on nothing at all, something else was meant.
                Err(why @ MRepError::Outside { .. }) if k == 0 => return Err(why),
                Err(why) => {
                    refused.get_or_insert(why);
                    continue;
                }
            };
            let energy = self
                .posterior(&likelihood, &folds)
                .state(start.clone())
                .reported();
            // Other starts have to be better by more than rounding, or results would depend on it.
            if best
                .as_ref()
                .is_none_or(|(known, ..)| energy < 0.999 * known)
            {
                best = Some((energy, start, likelihood));
            }
        }
        let Some((_, start, likelihood)) = best else {
            return Err(refused.unwrap_or(MRepError::Target("there is nothing to fit".into())));
        };
        let (part, mut energies) = (self.part(from, to), Vec::new());
        let posterior = self.posterior(&likelihood, &folds);
        let figure = similarity::minimise(&posterior, start.clone(), &mut energies, &part)?;
        self.figure = figure;
        Ok(energies)
    }

    /// Moves all atoms, in so many steps at most.
    pub fn atoms(
        &mut self,
        likelihood: &dyn Likelihood,
        most: usize,
        energies: &mut Vec<f64>,
        from: f64,
        to: f64,
    ) -> Result<(), Cancelled> {
        let part = self.part(from, to);
        let folds = self.folds();
        let posterior = self.posterior(likelihood, &folds);
        self.figure = posterior.minimise(
            self.figure.clone(),
            most,
            energies,
            &part,
            "fitting the atoms",
        )?;
        Ok(())
    }

    /// Notes a stage that has ended.
    pub fn ended(&mut self, name: &str, energies: Vec<f64>, report: &dyn Fn(&Figure) -> Report) {
        self.stages.push(Stage {
            name: name.to_string(),
            energies,
            report: report(&self.figure),
        });
    }

    /// All of it.
    pub fn fit(self, boundary: Boundary, positions: Vec<Vec3>, levels: Option<Levels>) -> Fit {
        Fit {
            figure: self.figure,
            boundary,
            positions,
            stages: self.stages,
            levels,
        }
    }
}
