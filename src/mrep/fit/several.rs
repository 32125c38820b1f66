// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several figures fitted as one model, from coarse to fine: all as one, each as one, sections, atoms, boundaries.
//!
//! Each figure has its own posterior, with [`ties`] to the figures that it meets. At every scale the figures are improved one after the
//! other while the others stay. A vertex of the surface counts for the figure whose boundary is nearest, updated at every scale, unless
//! the caller assigns it.
//!
//! Source: [oguz2005, slide 14]. Improving the figures in turn and the assignment of vertices are ours.

use super::sections::FigureSections;
use super::stages::{FitProcess, IMPROVEMENT_FACTOR, MAX_COARSE_STEPS, MAX_FINE_STEPS};
use super::surface::SurfaceLikelihood;
use super::target::SurfaceTarget;
use super::ties::{HubTie, nearest_hubs};
use super::{FigureFit, FigureFitSettings, FitReport, similarity, start};
use crate::Vec3;
use crate::geometry::moments::{BodyMoments, vertex_areas};
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::Figure;
use crate::mrep::figures::model::Model;
use crate::progress::{Progress, StageProgress};
use crate::surface::Surface;
use rayon::prelude::*;

impl Model {
    /// Fits all figures to one surface, with the model as its template. `weights[k]`: weight of each vertex of the surface for figure k,
    /// 0 to 1; `None`: each vertex counts for the figure whose boundary is nearest. The fits are in the order of the figures.
    ///
    /// # Errors
    /// A figure that folds, or without any vertex; held hubs or a family, which need a single figure; weights that do not match;
    /// cancellation by `progress`.
    pub fn fit_surface(
        &self,
        surface: &Surface,
        weights: Option<&[Vec<f64>]>,
        settings: &FigureFitSettings,
        progress: &dyn Progress,
    ) -> Result<Vec<FigureFit>, MRepError> {
        let count = self.figures().len();
        if let Some(weights) = weights {
            MRepError::check_length("the list of weights by figure", weights.len(), count)?;
        }
        if let [(_, figure)] = self.figures() {
            let weights = weights.and_then(|w| w.first()).map(|w| &w[..]);
            return Ok(vec![
                figure.fit_surface(surface, weights, settings, progress)?,
            ]);
        }
        if !settings.held.is_empty() || settings.family.is_some() {
            return Err(MRepError::Names(
                "held hubs and a family belong to one figure: fit the figures one by one, or without them".into(),
            ));
        }
        ModelFit::new(self, surface, weights, settings, progress)?.run()
    }
}

/// State of a fit of several figures.
struct ModelFit<'a> {
    names: Vec<&'a str>,
    templates: Vec<&'a Figure>,
    stages: Vec<FitProcess<'a>>,
    /// Pairs of figures that meet in the template, and the index of each one's hub there.
    meetings: Vec<([usize; 2], [usize; 2])>,
    surface: &'a Surface,
    weights: Option<&'a [Vec<f64>]>,
    settings: &'a FigureFitSettings,
    progress: &'a dyn Progress,
}

impl<'a> ModelFit<'a> {
    fn new(
        model: &'a Model,
        surface: &'a Surface,
        weights: Option<&'a [Vec<f64>]>,
        settings: &'a FigureFitSettings,
        progress: &'a dyn Progress,
    ) -> Result<Self, MRepError> {
        let names = model.figures().iter().map(|(name, _)| &name[..]).collect();
        let templates: Vec<&Figure> = model.figures().iter().map(|(_, figure)| figure).collect();
        let pairs = (0..templates.len()).flat_map(|i| (0..i).map(move |j| [j, i]));
        let meetings = pairs.filter_map(|[i, j]| {
            let hubs = nearest_hubs(templates[i], templates[j])?;
            Some(([i, j], hubs))
        });
        let meetings = meetings.collect();
        let begin = |figure: &&'a Figure| {
            settings.check(figure)?;
            FitProcess::new(figure, settings, progress)
        };
        Ok(Self {
            names,
            stages: templates.iter().map(begin).collect::<Result<_, _>>()?,
            templates,
            meetings,
            surface,
            weights,
            settings,
            progress,
        })
    }

    fn run(mut self) -> Result<Vec<FigureFit>, MRepError> {
        if self.settings.similarity {
            self.fit_similarity(0.0, 0.2)?;
            self.fit_sections(
                "object",
                |f| Some(FigureSections::from_whole_figure(f)),
                0.2,
                0.35,
            )?;
        }
        if self.settings.sections {
            self.fit_sections("sections", FigureSections::between_joints, 0.35, 0.5)?;
        }
        if self.settings.atoms {
            self.fit_atoms(0.5, 0.9)?;
        }
        self.fit_offsets()
    }

    fn progress_part(&self, from: f64, to: f64) -> StageProgress<'a> {
        StageProgress {
            whole: self.progress,
            from,
            to,
        }
    }

    /// Returns the k-th figure's equal share of a range of the progress.
    fn figure_progress(&self, k: usize, from: f64, to: f64) -> StageProgress<'a> {
        let each = (to - from) / self.stages.len() as f64;
        self.progress_part(from + k as f64 * each, from + (k + 1) as f64 * each)
    }

    /// Prepares the surface for each figure at its current position.
    fn prepare_targets(&self, figures: &[Figure]) -> Result<Vec<SurfaceTarget<'a>>, MRepError> {
        let nearest;
        let weights = match self.weights {
            Some(weights) => weights,
            None => {
                nearest = self.nearest_vertex_weights(figures)?;
                &nearest
            }
        };
        let each = self.names.iter().zip(&self.templates).zip(weights);
        let made = each.map(|((name, template), weights)| {
            SurfaceTarget::new(self.surface, Some(weights), template).map_err(|e| match e {
                MRepError::Target(why) => MRepError::Target(format!("figure '{name}': {why}")),
                other => other,
            })
        });
        made.collect()
    }

    /// Returns for each figure the vertices of the surface that are nearest to its boundary, as weights 0 or 1.
    fn nearest_vertex_weights(&self, figures: &[Figure]) -> Result<Vec<Vec<f64>>, MRepError> {
        let boundary = |(stages, figure): (&FitProcess<'_>, &Figure)| {
            let triangles = stages.boundary.triangles.clone();
            Surface::new(stages.boundary.positions(figure), triangles)
                .map_err(|e| MRepError::Target(e.to_string()))
        };
        let boundaries = self.stages.iter().zip(figures).map(boundary);
        let boundaries: Vec<Surface> = boundaries.collect::<Result<_, _>>()?;
        let owner = |p: &Vec3| {
            let far = boundaries.iter().map(|b| b.closest_point(*p).distance);
            let nearest = far.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            nearest.map_or(0, |(k, _)| k)
        };
        let vertices = self.surface.vertices().par_iter().with_min_len(256);
        let owners: Vec<usize> = vertices.map(owner).collect();
        let of = |k: usize| {
            owners
                .iter()
                .map(|o| f64::from(u8::from(*o == k)))
                .collect()
        };
        Ok((0..figures.len()).map(of).collect())
    }

    /// Returns the sum of the figures' reported energies, each with its own target.
    fn reported_energy(&self, figures: &[Figure], targets: &[SurfaceTarget<'_>]) -> f64 {
        let each = self.stages.iter().zip(figures).zip(targets);
        each.map(|((stages, figure), target)| {
            let seen = build_likelihood(stages, target, figure);
            let folds = stages.fold_penalty();
            let posterior = stages.posterior(&seen, &folds);
            posterior.evaluate(figure.clone()).reported_energy()
        })
        .sum()
    }

    /// Moves, rotates and scales all figures as one. It starts from their positions or from where the surface's moments place them.
    fn fit_similarity(&mut self, from: f64, to: f64) -> Result<(), MRepError> {
        let now: Vec<Figure> = self.templates.iter().map(|f| (*f).clone()).collect();
        let shapes: Vec<_> = (self.stages.iter().zip(&now))
            .map(|(stages, figure)| stages.boundary.positions(figure))
            .collect();
        let own: Vec<(Vec3, f64)> = (self.stages.iter().zip(&shapes))
            .flat_map(|(stages, positions)| {
                let areas = vertex_areas(positions, &stages.boundary.triangles);
                positions.iter().copied().zip(areas).collect::<Vec<_>>()
            })
            .collect();
        let welded = self.surface.welded();
        let there = vertex_areas(&welded.vertices, &welded.triangles);
        let there = welded.vertices.iter().copied().zip(there);
        let there: Vec<(Vec3, f64)> = there.collect();
        let moved = start::similarities(
            BodyMoments::from_points(own.into_iter()),
            BodyMoments::from_points(there.into_iter()),
        );
        let moved = moved
            .iter()
            .map(|s| now.iter().map(|f| s.apply(f)).collect());
        let starts = std::iter::once(now.clone()).chain(moved);
        let mut best: Option<(f64, Vec<Figure>, Vec<SurfaceTarget<'a>>)> = None;
        let mut refused = None;
        for figures in starts {
            let targets = match self.prepare_targets(&figures) {
                Ok(targets) => targets,
                Err(why) => {
                    refused.get_or_insert(why);
                    continue;
                }
            };
            let energy = self.reported_energy(&figures, &targets);
            let known = best.as_ref().map(|(known, ..)| *known);
            if known.is_none_or(|known| energy < IMPROVEMENT_FACTOR * known) {
                best = Some((energy, figures, targets));
            }
        }
        let Some((_, figures, targets)) = best else {
            return Err(refused.unwrap_or(MRepError::Target("there is nothing to fit".into())));
        };
        let mut energies = Vec::new();
        let placed = {
            let each = self.stages.iter().zip(&figures).zip(&targets);
            let likelihoods: Vec<_> = each
                .map(|((stages, figure), target)| build_likelihood(stages, target, figure))
                .collect();
            let folds: Vec<_> = self.stages.iter().map(FitProcess::fold_penalty).collect();
            let each = self.stages.iter().zip(&likelihoods).zip(&folds);
            let posteriors: Vec<_> = each
                .map(|((stages, likelihood), folds)| stages.posterior(likelihood, folds))
                .collect();
            similarity::minimise(
                &posteriors,
                figures,
                &mut energies,
                &self.progress_part(from, to),
            )?
        };
        let each = self.stages.iter_mut().zip(placed).zip(&targets);
        for ((stages, figure), target) in each {
            stages.figure = figure;
            let boundary = stages.boundary.clone();
            let report = |f: &Figure| FitReport::new(target, &boundary, &boundary.shape(f));
            stages.record_stage("similarity", energies.clone(), &report);
        }
        Ok(())
    }

    /// Returns the ties that other figures predict for the hubs of a figure.
    fn ties(&self, k: usize) -> Vec<HubTie> {
        let met = self.meetings.iter().filter_map(|([a, b], [i, j])| {
            let (other, hubs) = match k {
                _ if k == *a => (*b, [*i, *j]),
                _ if k == *b => (*a, [*j, *i]),
                _ => return None,
            };
            let now = &self.stages[other].figure;
            Some(HubTie::new(
                hubs,
                self.templates[k],
                self.templates[other],
                now,
            ))
        });
        met.collect()
    }

    /// Moves the sections that `sections` returns for each figure, one figure after the other; figures without sections stay.
    fn fit_sections(
        &mut self,
        name: &str,
        sections: impl Fn(&Figure) -> Option<FigureSections>,
        from: f64,
        to: f64,
    ) -> Result<(), MRepError> {
        self.fit_each_figure(name, from, to, |figure| {
            sections(figure).map(|sections| (MAX_COARSE_STEPS, Some(sections)))
        })
    }

    fn fit_atoms(&mut self, from: f64, to: f64) -> Result<(), MRepError> {
        self.fit_each_figure("atoms", from, to, |_| Some((MAX_FINE_STEPS, None)))
    }

    fn fit_each_figure(
        &mut self,
        name: &str,
        from: f64,
        to: f64,
        which: impl Fn(&Figure) -> Option<([usize; 2], Option<FigureSections>)>,
    ) -> Result<(), MRepError> {
        let targets = self.prepare_targets(&self.current_figures())?;
        for (k, target) in targets.iter().enumerate() {
            let Some((most, sections)) = which(self.templates[k]) else {
                continue;
            };
            self.stages[k].ties = self.ties(k);
            let whole = self.figure_progress(k, from, to);
            let stages = &mut self.stages[k];
            let boundary = stages.boundary.clone();
            let mut likelihood = SurfaceLikelihood::new(
                target,
                &boundary,
                &boundary.shape(&stages.figure),
                stages.figure.kind().atom_count(),
            );
            let energies =
                stages.fit_coarse_to_fine(&mut likelihood, most, sections.as_ref(), &whole)?;
            let report = |f: &Figure| FitReport::new(target, &boundary, &boundary.shape(f));
            stages.record_stage(name, energies, &report);
        }
        Ok(())
    }

    fn current_figures(&self) -> Vec<Figure> {
        self.stages.iter().map(|s| s.figure.clone()).collect()
    }

    /// Offsets finer boundaries onto the surface.
    fn fit_offsets(self) -> Result<Vec<FigureFit>, MRepError> {
        let targets = self.prepare_targets(&self.current_figures())?;
        let parts: Vec<StageProgress<'_>> = (0..targets.len())
            .map(|k| self.figure_progress(k, 0.9, 1.0))
            .collect();
        let (lays, each) = (self.settings.boundary, self.stages.into_iter());
        let fits = each
            .zip(&targets)
            .zip(parts)
            .map(|((stages, target), part)| match lays {
                true => stages.fit_offsets(target, &part),
                false => stages.finish_without_offsets(),
            });
        fits.collect()
    }
}

/// Prepares the likelihood of a figure at its position.
fn build_likelihood<'b>(
    stages: &'b FitProcess<'_>,
    target: &'b SurfaceTarget<'_>,
    figure: &Figure,
) -> SurfaceLikelihood<'b> {
    let (boundary, atoms) = (&stages.boundary, figure.kind().atom_count());
    SurfaceLikelihood::new(target, boundary, &boundary.shape(figure), atoms)
}

#[cfg(test)]
mod tests;
