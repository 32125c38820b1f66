// SPDX-License-Identifier: MIT OR Apache-2.0
//! The course of a fit: a figure that improves, and the records of its stages.

use super::evidence::Likelihood;
use super::folds::Folds;
use super::marquardt::Posterior;
use super::medial::Medial;
use super::prior::Prior;
use super::sections::Sections;
use super::surface::{DEVIATIONS, SurfaceLikelihood};
use super::target::Target;
use super::ties::Tie;
use super::unknowns::Unknowns;
use super::volume::{Levels, Picture};
use super::{Fit, FitSettings, Report, SURFACE_SMOOTH, Stage, offsets, similarity};
use crate::Vec3;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::Boundary;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Part, Progress};

/// State of a fit.
pub(super) struct Stages<'a> {
    template: &'a Figure,
    expected: Prior<'a>,
    settings: &'a FitSettings,
    progress: &'a dyn Progress,
    /// Mesh with which the figure is fitted.
    pub boundary: Boundary,
    unknowns: Unknowns,
    medial: Medial,
    /// Hub positions that other figures predict.
    pub ties: Vec<Tie>,
    /// Current figure.
    pub figure: Figure,
    stages: Vec<Stage>,
}

/// Returns the level of the mesh with which figures are fitted: few atoms need more points between them.
fn level(figure: &Figure) -> u32 {
    if figure.kind().atoms() * figure.kind().spokes() > 200 {
        1
    } else {
        2
    }
}

/// Factor below which an energy counts as better: rounding must not decide.
pub(super) const CLEARLY: f64 = 0.999;

/// Largest numbers of steps for each deviation: objects and sections have few unknowns, atoms many. Half and twice of the first leave fits to a
/// superquadric the same; half of the second changes those to five limbs by 0.002 % of the size at most, twice not at all.
pub(super) const COARSE: [usize; 2] = [10, 10];
pub(super) const FINE: [usize; 2] = [10, 30];

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
            ties: Vec::new(),
            figure: template.clone(),
            stages: Vec::new(),
        })
    }

    /// Returns a share of the progress.
    pub fn part(&self, from: f64, to: f64) -> Part<'a> {
        Part {
            whole: self.progress,
            from,
            to,
        }
    }

    pub fn folds(&self) -> Folds<'_> {
        Folds::new(&self.boundary, self.template)
    }

    pub fn posterior<'b>(
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
            ties: &self.ties,
            prior: self.settings.prior,
            likelihood,
        }
    }

    /// Moves, rotates and scales the whole from the most probable start, and returns its energies. `seen` builds the likelihood of a start.
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
                // A template that lies on nothing at all is the caller's mistake.
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
            if best
                .as_ref()
                .is_none_or(|(known, ..)| energy < CLEARLY * known)
            {
                best = Some((energy, start, likelihood));
            }
        }
        let Some((_, start, likelihood)) = best else {
            return Err(refused.unwrap_or(MRepError::Target("there is nothing to fit".into())));
        };
        let (part, mut energies) = (self.part(from, to), Vec::new());
        let posterior = self.posterior(&likelihood, &folds);
        let figures =
            similarity::minimise(&[posterior], vec![start.clone()], &mut energies, &part)?;
        if let [figure] = &figures[..] {
            self.figure = figure.clone();
        }
        Ok(energies)
    }

    /// Moves all atoms, in at most `most` steps.
    pub fn atoms(
        &mut self,
        likelihood: &dyn Likelihood,
        most: usize,
        energies: &mut Vec<f64>,
        from: f64,
        to: f64,
    ) -> Result<(), Cancelled> {
        let part = self.part(from, to);
        self.steps(likelihood, (most, None), energies, &part)
    }

    /// Moves all atoms, or each section as one.
    pub fn steps(
        &mut self,
        likelihood: &dyn Likelihood,
        which: (usize, Option<&Sections>),
        energies: &mut Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let stage = match which {
            (_, None) => "fitting the atoms",
            _ => "fitting sections",
        };
        let folds = self.folds();
        let posterior = self.posterior(likelihood, &folds);
        let figure = posterior.minimise(self.figure.clone(), which, energies, progress, stage)?;
        self.figure = figure;
        Ok(())
    }

    /// Fits to a surface at its deviations from coarse to fine, in at most `most` steps each, and returns the energies.
    pub fn scale(
        &mut self,
        likelihood: &mut SurfaceLikelihood<'_>,
        most: [usize; 2],
        sections: Option<&Sections>,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Cancelled> {
        let mut energies = Vec::new();
        for (round, (deviation, most)) in DEVIATIONS.into_iter().zip(most).enumerate() {
            likelihood.deviation = deviation;
            let part = Part {
                whole: progress,
                from: 0.5 * round as f64,
                to: 0.5 * (round + 1) as f64,
            };
            self.steps(likelihood, (most, sections), &mut energies, &part)?;
        }
        Ok(energies)
    }

    /// Fits the atoms to the isosurface of a sharper picture, and keeps the result if it is more probable in a soft picture than the current figure.
    /// Profiles alone do not see far.
    pub fn begin_at_skin(
        &mut self,
        sharper: &Picture,
        soft: &Picture,
        from: f64,
        to: f64,
    ) -> Result<(), MRepError> {
        let (known, levels) = self.energy_in(soft)?;
        let boundary = self.boundary.clone();
        let shape = boundary.shape(&self.figure);
        let skin = sharper.volume.skin(&shape.positions, levels);
        let Some(skin) = skin else {
            return Ok(());
        };
        let Ok(target) = Target::new(&skin, None, self.template) else {
            return Ok(());
        };
        let atoms = self.template.kind().atoms();
        let mut near = SurfaceLikelihood::new(&target, &boundary, &shape, atoms);
        let before = self.figure.clone();
        let part = self.part(from, to);
        self.scale(&mut near, COARSE, None, &part)?;
        let after = self.energy_in(soft);
        if !after.is_ok_and(|(energy, _)| energy < CLEARLY * known) {
            self.figure = before;
        }
        Ok(())
    }

    /// Returns the reported energy of the figure in a picture, and the levels on both sides of it.
    fn energy_in(&self, picture: &Picture) -> Result<(f64, Levels), MRepError> {
        let shape = self.boundary.shape(&self.figure);
        let atoms = self.template.kind().atoms();
        let likelihood = picture.likelihood(&self.boundary, &shape, atoms)?;
        let folds = self.folds();
        let state = self
            .posterior(&likelihood, &folds)
            .state(self.figure.clone());
        Ok((state.reported(), likelihood.levels))
    }

    /// Records a stage that has ended.
    pub fn ended(&mut self, name: &str, energies: Vec<f64>, report: &dyn Fn(&Figure) -> Report) {
        self.stages.push(Stage {
            name: name.to_string(),
            energies,
            report: report(&self.figure),
        });
    }

    /// Offsets a finer boundary onto a surface (the last stage), and returns the fit.
    pub fn laid(mut self, target: &Target<'_>, progress: &dyn Progress) -> Result<Fit, MRepError> {
        let fine = Boundary::new(&self.figure, offsets::level(&self.figure))?;
        let shape = fine.shape(&self.figure);
        let atoms = self.template.kind().atoms();
        let likelihood = SurfaceLikelihood::new(target, &fine, &shape, atoms);
        let mut energies = Vec::new();
        let laid = offsets::minimise(
            &likelihood,
            SURFACE_SMOOTH,
            shape,
            &fine.triangles,
            &mut energies,
            progress,
        )?;
        let report = |_: &Figure| Report::new(target, &fine, &laid);
        self.ended("boundary", energies, &report);
        let positions = laid.positions.clone();
        Ok(self.fit(fine, positions, None))
    }

    /// Returns the fit without the last stage.
    pub fn unlaid(self) -> Result<Fit, MRepError> {
        let fine = Boundary::new(&self.figure, offsets::level(&self.figure))?;
        let positions = fine.positions(&self.figure);
        Ok(self.fit(fine, positions, None))
    }

    /// Returns the fit with a boundary and its positions.
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
