// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits of a figure to a target: the most probable figure, in stages.
//!
//! The stages are a similarity of the whole, sections if requested, all atoms at once, and offsets of a finer boundary. Several figures are fitted as
//! one model in [`several`]. The energy is minus the logarithm of prior times likelihood. Its terms are [`prior`] (neighbours as in the template, or
//! a family), [`medial`] (spokes upright on the boundary), [`folds`] (distance from folds) and the target's.
//!
//! Source: [oguz2005, slides 9 to 14]. Deviations: atoms move all at once, not one by one (slide 12); every step has to lower the energy at the
//! reported deviation, also while steps are made for a larger one.

mod curved;
mod evidence;
mod folds;
mod isosurface;
mod marquardt;
mod medial;
mod offsets;
mod prior;
mod report;
mod sections;
mod several;
mod similarity;
mod stages;
mod start;
mod surface;
mod target;
#[cfg(test)]
mod tests;
mod ties;
mod unknowns;
mod volume;

pub use report::FitReport;
pub use volume::Levels;

use super::error::MRepError;
use super::statistics::Statistics;
use super::volume::Volume;
use crate::Vec3;
use crate::geometry::moments::{BodyMoments, vertex_areas};
use crate::mrep::figures::boundary::Boundary;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Progress, report_progress};
use crate::surface::Surface;
use sections::FigureSections;
use stages::{FitProcess, MAX_COARSE_STEPS, MAX_FINE_STEPS};
use std::sync::Arc;
use surface::SurfaceLikelihood;
use target::SurfaceTarget;
use volume::{BLURS, BlurredVolume};

/// Settings of a fit: its stages, prior and held hubs.
#[derive(Debug, Clone)]
pub struct FigureFitSettings {
    /// Switch of the first stage: place, rotation and size of the whole.
    pub similarity: bool,
    /// Switch of the second stage: sections from joint to joint, of a tube along several bones.
    pub sections: bool,
    /// Switch of the third stage: all atoms.
    pub atoms: bool,
    /// Switch of the last stage: offsets of a finer boundary.
    pub boundary: bool,
    /// Factor on the prior against the likelihood, 0 to 1e6.
    pub prior: f64,
    /// Atoms whose hubs stay in place; with any of them the similarity stage is skipped, too.
    pub held: Vec<usize>,
    /// Family of figures fitted before, as the prior instead of the template.
    pub family: Option<Arc<Statistics>>,
}

impl Default for FigureFitSettings {
    fn default() -> Self {
        Self {
            similarity: true,
            sections: false,
            atoms: true,
            boundary: true,
            prior: 1.0,
            held: Vec::new(),
            family: None,
        }
    }
}

/// Record of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct FitStage {
    /// Name: "similarity", "sections", "atoms" or "boundary"; for several figures also "object", after "similarity". For a volume also "atoms at blur
    /// 3" and the like, in voxels (less where the body is thin), before the last "atoms".
    pub name: String,
    /// Energy at its beginning and after each accepted step: descending.
    pub energies: Vec<f64>,
    /// Quality at its end.
    pub report: FitReport,
}

/// Result of a fit.
#[derive(Debug, Clone)]
pub struct FigureFit {
    /// Fitted figure.
    pub figure: Figure,
    /// Boundary of the figure at the level of the offsets.
    pub boundary: Boundary,
    /// Vertices of `boundary`, moved onto the target by the last stage, metres.
    pub positions: Vec<Vec3>,
    /// Stages in their order.
    pub stages: Vec<FitStage>,
    /// Values inside and outside; volumes only.
    pub levels: Option<Levels>,
}

/// Smoothing lengths of the offsets of a finer boundary, in mean radii: the detail of a surface is real, that of a volume in part noise. Half of the
/// first leaves a tube in a superquadric the same, with twice it misses by 0.023 % of the size instead of 0.018. Half and twice of the second change
/// Dice's coefficient with a superquadric by 0.001 at most.
const SURFACE_SMOOTHING_LENGTH: f64 = 0.03;
const VOLUME_SMOOTHING_LENGTH: f64 = 0.4;
/// Largest blur of a volume, in mean radii. With half of it Dice's coefficient with a superquadric in large voxels is 0.957 instead of 0.955, with
/// twice 0.944.
const MAX_BLUR_IN_RADII: f64 = 0.4;

impl FigureFitSettings {
    fn allows_similarity(&self) -> bool {
        self.similarity && self.held.is_empty()
    }

    fn check(&self, figure: &Figure) -> Result<(), MRepError> {
        if !(0.0..=1e6).contains(&self.prior) {
            return Err(MRepError::Setting {
                name: "the factor on the prior",
                value: self.prior.to_string(),
                range: "between 0 and 1e6",
            });
        }
        let atoms = figure.kind().atom_count();
        if let Some(atom) = self.held.iter().find(|atom| **atom >= atoms) {
            return Err(MRepError::Setting {
                name: "the index of a held hub",
                value: atom.to_string(),
                range: "one of the figure's atoms",
            });
        }
        let worst = figure.legality_minimum();
        if worst.legality <= 0.0 {
            return Err(MRepError::Folded {
                legality: worst.legality,
                what: worst.describe_fold(figure),
            });
        }
        Ok(())
    }
}

impl Figure {
    /// Fits the figure to a surface, with the figure as its template. `weights`: weight of each vertex of the surface, 0 to 1.
    ///
    /// # Errors
    /// A figure that folds; invalid weights or settings; cancellation by `progress`.
    pub fn fit_surface(
        &self,
        surface: &Surface,
        weights: Option<&[f64]>,
        settings: &FigureFitSettings,
        progress: &dyn Progress,
    ) -> Result<FigureFit, MRepError> {
        settings.check(self)?;
        let target = SurfaceTarget::new(surface, weights, self)?;
        let mut stages = FitProcess::new(self, settings, progress)?;
        let boundary = stages.boundary.clone();
        let seen = |figure: &Figure| {
            SurfaceLikelihood::new(
                &target,
                &boundary,
                &boundary.shape(figure),
                self.kind().atom_count(),
            )
        };
        let report = |figure: &Figure| FitReport::new(&target, &boundary, &boundary.shape(figure));
        if settings.allows_similarity() {
            let shape = boundary.shape(self);
            let own = vertex_areas(&shape.positions, &boundary.triangles);
            let own = BodyMoments::from_points(shape.positions.into_iter().zip(own));
            let there = surface
                .welded()
                .vertices
                .iter()
                .copied()
                .zip(target.areas.iter().copied());
            let starts = start::candidates(self, own, BodyMoments::from_points(there));
            let energies = stages.fit_similarity(&starts, |figure| Ok(seen(figure)), 0.0, 0.2)?;
            stages.record_stage("similarity", energies, &report);
        }
        if let (true, Some(sections)) = (settings.sections, FigureSections::between_joints(self)) {
            let mut likelihood = seen(&stages.figure);
            let part = stages.progress_part(0.2, 0.2);
            let energies = stages.fit_coarse_to_fine(
                &mut likelihood,
                MAX_COARSE_STEPS,
                Some(&sections),
                &part,
            )?;
            stages.record_stage("sections", energies, &report);
        }
        if settings.atoms {
            let mut likelihood = seen(&stages.figure);
            let part = stages.progress_part(0.2, 0.8);
            let energies =
                stages.fit_coarse_to_fine(&mut likelihood, MAX_FINE_STEPS, None, &part)?;
            stages.record_stage("atoms", energies, &report);
        }
        match settings.boundary {
            true => {
                let part = stages.progress_part(0.8, 1.0);
                stages.fit_offsets(&target, &part)
            }
            false => stages.finish_without_offsets(),
        }
    }

    /// Fits the figure to the body on which it lies in a volume, with the figure as its template.
    ///
    /// # Errors
    /// A figure that folds or lies outside of the volume, a volume without a step at it; cancellation by `progress`.
    pub fn fit_volume(
        &self,
        volume: &Volume,
        settings: &FigureFitSettings,
        progress: &dyn Progress,
    ) -> Result<FigureFit, MRepError> {
        settings.check(self)?;
        let mut stages = FitProcess::new(self, settings, progress)?;
        let boundary = stages.boundary.clone();
        let atoms = self.kind().atom_count();
        report_progress(progress, 0.0, "blurring the volume")?;
        let [softest, .., sharpest] = BLURS;
        let sharpest = BlurredVolume::from_volume(volume, sharpest, f64::INFINITY);
        let report = |figure: &Figure| {
            let shape = boundary.shape(figure);
            let likelihood = sharpest.likelihood(&boundary, &shape, atoms);
            likelihood.map_or(FitReport::UNKNOWN, |l| l.report(&boundary, &shape))
        };
        if settings.allows_similarity() {
            let soft = BlurredVolume::from_volume(volume, softest, f64::INFINITY);
            let own = BodyMoments::from_solid(&boundary.positions(self), &boundary.triangles);
            let body = soft.volume.body_voxels().unwrap_or_default();
            let there = BodyMoments::from_points(body.iter().map(|p| (*p, 1.0)));
            let starts = start::candidates(self, own, there);
            let seen = |figure: &Figure| soft.likelihood(&boundary, &boundary.shape(figure), atoms);
            let energies = stages.fit_similarity(&starts, seen, 0.15, 0.3)?;
            stages.record_stage("similarity", energies, &report);
        }
        if let (true, Some(sections)) = (settings.sections, FigureSections::between_joints(self)) {
            let soft = BlurredVolume::from_volume(volume, softest, f64::INFINITY);
            let likelihood = soft.likelihood(&boundary, &boundary.shape(&stages.figure), atoms)?;
            let (part, mut energies) = (stages.progress_part(0.3, 0.3), Vec::new());
            stages.run_steps(&likelihood, (20, Some(&sections)), &mut energies, &part)?;
            stages.record_stage("sections", energies, &report);
        }
        if settings.atoms {
            // A body blurred by more than this share of its thickness disappears.
            let most = MAX_BLUR_IN_RADII * stages.figure.mean_radius() / volume.voxel_size();
            report_progress(progress, 0.3, "blurring the volume")?;
            let pictures = BLURS.map(|blur| BlurredVolume::from_volume(volume, blur, most));
            stages.start_from_isosurface(&pictures[1], &pictures[0], 0.3, 0.4)?;
            for (k, picture) in pictures.iter().enumerate() {
                let shape = boundary.shape(&stages.figure);
                let likelihood = picture.likelihood(&boundary, &shape, atoms)?;
                let (from, mut energies) = (0.4 + 0.15 * k as f64, Vec::new());
                stages.fit_atoms(&likelihood, 20, &mut energies, from, from + 0.15)?;
                let name = if k + 1 == pictures.len() {
                    "atoms".into()
                } else {
                    format!("atoms at blur {}", BLURS[k][0])
                };
                stages.record_stage(&name, energies, &report);
            }
        }
        let fine = Boundary::new(&stages.figure, offsets::level(&stages.figure))?;
        let mut shape = fine.shape(&stages.figure);
        let likelihood = sharpest.likelihood(&fine, &shape, atoms)?;
        if settings.boundary {
            let (part, mut energies) = (stages.progress_part(0.9, 1.0), Vec::new());
            shape = offsets::minimise(
                &likelihood,
                VOLUME_SMOOTHING_LENGTH,
                shape,
                &fine.triangles,
                &mut energies,
                &part,
            )?;
            let report = |_: &Figure| likelihood.report(&fine, &shape);
            stages.record_stage("boundary", energies, &report);
        }
        let levels = likelihood.levels;
        Ok(stages.into_fit(fine.clone(), shape.positions, Some(levels)))
    }
}
