// SPDX-License-Identifier: MIT OR Apache-2.0
//! The course of a fit: a figure that improves, and the records of its stages.

use super::evidence::Likelihood;
use super::folds::FoldPenalty;
use super::marquardt::Posterior;
use super::medial::MedialPenalty;
use super::prior::Prior;
use super::sections::FigureSections;
use super::surface::{SURFACE_DEVIATIONS, SurfaceLikelihood};
use super::target::SurfaceTarget;
use super::ties::HubTie;
use super::unknowns::AtomUnknowns;
use super::volume::{BlurredVolume, Levels};
use super::{
    FigureFit, FigureFitSettings, FitReport, FitStage, SURFACE_SMOOTHING_LENGTH, offsets,
    similarity,
};
use crate::Vec3;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::Boundary;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Cancelled, Progress, StageProgress};

/// State of a fit.
pub(super) struct FitProcess<'a> {
    template: &'a Figure,
    expected: Prior<'a>,
    settings: &'a FigureFitSettings,
    progress: &'a dyn Progress,
    /// Mesh with which the figure is fitted.
    pub boundary: Boundary,
    unknowns: AtomUnknowns,
    medial: MedialPenalty,
    /// Hub positions that other figures predict.
    pub ties: Vec<HubTie>,
    /// Current figure.
    pub figure: Figure,
    stages: Vec<FitStage>,
}

/// Returns the level of the mesh with which figures are fitted: few atoms need more points between them.
fn level(figure: &Figure) -> u32 {
    if figure.kind().atom_count() * figure.kind().spoke_count() > 200 {
        1
    } else {
        2
    }
}

/// Factor below which an energy counts as better: rounding must not decide.
pub(super) const IMPROVEMENT_FACTOR: f64 = 0.999;

/// Largest numbers of steps for each deviation: objects and sections have few unknowns, atoms many. Half and twice of the first leave fits to a
/// superquadric the same; half of the second changes those to five limbs by 0.002 % of the size at most, twice not at all.
pub(super) const MAX_COARSE_STEPS: [usize; 2] = [10, 10];
pub(super) const MAX_FINE_STEPS: [usize; 2] = [10, 30];

impl<'a> FitProcess<'a> {
    pub fn new(
        template: &'a Figure,
        settings: &'a FigureFitSettings,
        progress: &'a dyn Progress,
    ) -> Result<Self, MRepError> {
        Ok(Self {
            template,
            expected: Prior::new(template, settings.family.as_deref())?,
            settings,
            progress,
            boundary: Boundary::new(template, level(template))?,
            unknowns: AtomUnknowns::new(template, &settings.held),
            medial: MedialPenalty::new(template),
            ties: Vec::new(),
            figure: template.clone(),
            stages: Vec::new(),
        })
    }

    /// Returns a share of the progress.
    pub fn progress_part(&self, from: f64, to: f64) -> StageProgress<'a> {
        StageProgress {
            whole: self.progress,
            from,
            to,
        }
    }

    pub fn fold_penalty(&self) -> FoldPenalty<'_> {
        FoldPenalty::new(&self.boundary, self.template)
    }

    pub fn posterior<'b>(
        &'b self,
        likelihood: &'b dyn Likelihood,
        folds: &'b FoldPenalty<'b>,
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
    pub fn fit_similarity<L: Likelihood>(
        &mut self,
        starts: &[Figure],
        seen: impl Fn(&Figure) -> Result<L, MRepError>,
        from: f64,
        to: f64,
    ) -> Result<Vec<f64>, MRepError> {
        let mut best: Option<(f64, &Figure, L)> = None;
        let mut refused = None;
        let folds = self.fold_penalty();
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
                .evaluate(start.clone())
                .reported_energy();
            if best
                .as_ref()
                .is_none_or(|(known, ..)| energy < IMPROVEMENT_FACTOR * known)
            {
                best = Some((energy, start, likelihood));
            }
        }
        let Some((_, start, likelihood)) = best else {
            return Err(refused.unwrap_or(MRepError::Target("there is nothing to fit".into())));
        };
        let (part, mut energies) = (self.progress_part(from, to), Vec::new());
        let posterior = self.posterior(&likelihood, &folds);
        let figures =
            similarity::minimise(&[posterior], vec![start.clone()], &mut energies, &part)?;
        if let [figure] = &figures[..] {
            self.figure = figure.clone();
        }
        Ok(energies)
    }

    /// Moves all atoms, in at most `most` steps.
    pub fn fit_atoms(
        &mut self,
        likelihood: &dyn Likelihood,
        most: usize,
        energies: &mut Vec<f64>,
        from: f64,
        to: f64,
    ) -> Result<(), Cancelled> {
        let part = self.progress_part(from, to);
        self.run_steps(likelihood, (most, None), energies, &part)
    }

    /// Moves all atoms, or each section as one.
    pub fn run_steps(
        &mut self,
        likelihood: &dyn Likelihood,
        which: (usize, Option<&FigureSections>),
        energies: &mut Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let stage = match which {
            (_, None) => "fitting the atoms",
            _ => "fitting sections",
        };
        let folds = self.fold_penalty();
        let posterior = self.posterior(likelihood, &folds);
        let figure = posterior.minimise(self.figure.clone(), which, energies, progress, stage)?;
        self.figure = figure;
        Ok(())
    }

    /// Fits to a surface at its deviations from coarse to fine, in at most `most` steps each, and returns the energies.
    pub fn fit_coarse_to_fine(
        &mut self,
        likelihood: &mut SurfaceLikelihood<'_>,
        most: [usize; 2],
        sections: Option<&FigureSections>,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Cancelled> {
        let mut energies = Vec::new();
        for (round, (deviation, most)) in SURFACE_DEVIATIONS.into_iter().zip(most).enumerate() {
            likelihood.deviation = deviation;
            let part = StageProgress {
                whole: progress,
                from: 0.5 * round as f64,
                to: 0.5 * (round + 1) as f64,
            };
            self.run_steps(likelihood, (most, sections), &mut energies, &part)?;
        }
        Ok(energies)
    }

    /// Fits the atoms to the isosurface of a sharper picture, and keeps the result if it is more probable in a soft picture than the current figure.
    /// Profiles alone find only boundaries within their length.
    pub fn start_from_isosurface(
        &mut self,
        sharper: &BlurredVolume,
        soft: &BlurredVolume,
        from: f64,
        to: f64,
    ) -> Result<(), MRepError> {
        let (known, levels) = self.energy_in_volume(soft)?;
        let boundary = self.boundary.clone();
        let shape = boundary.shape(&self.figure);
        let skin = sharper.volume.body_surface(&shape.positions, levels);
        let Some(skin) = skin else {
            return Ok(());
        };
        let Ok(target) = SurfaceTarget::new(&skin, None, self.template) else {
            return Ok(());
        };
        let atoms = self.template.kind().atom_count();
        let mut near = SurfaceLikelihood::new(&target, &boundary, &shape, atoms);
        let before = self.figure.clone();
        let part = self.progress_part(from, to);
        self.fit_coarse_to_fine(&mut near, MAX_COARSE_STEPS, None, &part)?;
        let after = self.energy_in_volume(soft);
        if !after.is_ok_and(|(energy, _)| energy < IMPROVEMENT_FACTOR * known) {
            self.figure = before;
        }
        Ok(())
    }

    /// Returns the reported energy of the figure in a picture, and the levels on both sides of it.
    fn energy_in_volume(&self, picture: &BlurredVolume) -> Result<(f64, Levels), MRepError> {
        let shape = self.boundary.shape(&self.figure);
        let atoms = self.template.kind().atom_count();
        let likelihood = picture.likelihood(&self.boundary, &shape, atoms)?;
        let folds = self.fold_penalty();
        let state = self
            .posterior(&likelihood, &folds)
            .evaluate(self.figure.clone());
        Ok((state.reported_energy(), likelihood.levels))
    }

    /// Records a stage that has ended.
    pub fn record_stage(
        &mut self,
        name: &str,
        energies: Vec<f64>,
        report: &dyn Fn(&Figure) -> FitReport,
    ) {
        self.stages.push(FitStage {
            name: name.to_string(),
            energies,
            report: report(&self.figure),
        });
    }

    /// Offsets a finer boundary onto a surface (the last stage), and returns the fit.
    pub fn fit_offsets(
        mut self,
        target: &SurfaceTarget<'_>,
        progress: &dyn Progress,
    ) -> Result<FigureFit, MRepError> {
        let fine = Boundary::new(&self.figure, offsets::level(&self.figure))?;
        let shape = fine.shape(&self.figure);
        let atoms = self.template.kind().atom_count();
        let likelihood = SurfaceLikelihood::new(target, &fine, &shape, atoms);
        let mut energies = Vec::new();
        let laid = offsets::minimise(
            &likelihood,
            SURFACE_SMOOTHING_LENGTH,
            shape,
            &fine.triangles,
            &mut energies,
            progress,
        )?;
        let report = |_: &Figure| FitReport::new(target, &fine, &laid);
        self.record_stage("boundary", energies, &report);
        let positions = laid.positions.clone();
        Ok(self.into_fit(fine, positions, None))
    }

    /// Returns the fit without the last stage.
    pub fn finish_without_offsets(self) -> Result<FigureFit, MRepError> {
        let fine = Boundary::new(&self.figure, offsets::level(&self.figure))?;
        let positions = fine.positions(&self.figure);
        Ok(self.into_fit(fine, positions, None))
    }

    /// Returns the fit with a boundary and its positions.
    pub fn into_fit(
        self,
        boundary: Boundary,
        positions: Vec<Vec3>,
        levels: Option<Levels>,
    ) -> FigureFit {
        FigureFit {
            figure: self.figure,
            boundary,
            positions,
            stages: self.stages,
            levels,
        }
    }
}
