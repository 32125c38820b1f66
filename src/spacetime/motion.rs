// SPDX-License-Identifier: MIT OR Apache-2.0
//! A motion through keyframes. [hildebrandt2012, §4]

use super::blend::blend_at;
use super::frame_writer::FrameWriter;
use super::interval::Oscillator;
use super::knots::{KnotData, KnotLayout};
use super::linear::Linearisation;
use super::options::{RestShape, SpaceSettings, SpacetimeSettings, check_shape};
use super::partial::PartialKeyframe;
use super::prepare::{Ghost, check_keyframes, check_times, prepare};
use super::rigid::{RigidPath, RigidPlacement, best_placement, centre_of_mass};
use super::solution::{KeyVelocities, MotionSolution};
use super::space::ShapeSpace;
use super::spline::WigglySpline;
use super::{Deformable, SpacetimeError};
use crate::Vec3;
use crate::progress::Progress;
use crate::solve::tall::product;
use faer::{Mat, MatRef};
use std::sync::Arc;

/// A motion through keyframes of a deformable body with the least acting force.
///
/// The results of the preprocess are kept. Times, settings, velocities and shapes within the reduced space can change at any time; each
/// change only solves the splines again.
pub struct Spacetime {
    pub(super) body: Arc<dyn Deformable>,
    pub(super) space: Arc<ShapeSpace>,
    pub(super) shown: Arc<FrameWriter>,
    pub(super) linearisations: Arc<Vec<Linearisation>>,
    pub(super) linearisation_of: Vec<usize>,
    pub(super) ghosts: Vec<Ghost>,
    pub(super) cyclic: bool,
    pub(super) rests: RestShape,
    /// Number of modes per keyframe.
    pub(super) modes: usize,
    pub(super) keyframes: Vec<Vec<Vec3>>,
    pub(super) coordinates: Vec<Vec<f64>>,
    pub(super) places: Option<Vec<RigidPlacement>>,
    pub(super) weights: Vec<Option<f64>>,
    pub(super) times: Vec<f64>,
    pub(super) settings: SpacetimeSettings,
    /// Prescribed velocities of the keyframes, in coordinates.
    pub(super) slopes: KeyVelocities,
    pub(super) partials: Vec<PartialKeyframe>,
    pub(super) next: usize,
    pub(super) notes: Vec<String>,
    pub(super) solved: MotionSolution,
}

impl Spacetime {
    /// Preprocesses and solves: keyframes `[m + 1][n]` at ascending times, s.
    ///
    /// # Errors
    /// [`SpacetimeError`]: fewer than two keyframes, times that do not ascend, shapes of another body or that are not finite, settings
    /// out of range, fixed vertices that move, an open cycle, no modes, cancelled.
    pub fn new(
        body: Arc<dyn Deformable>,
        keyframes: Vec<Vec<Vec3>>,
        times: Vec<f64>,
        settings: SpacetimeSettings,
        options: &SpaceSettings,
        progress: &dyn Progress,
    ) -> Result<Self, SpacetimeError> {
        let size = check_keyframes(body.as_ref(), &keyframes, &times, options)?;
        settings.check(body.rest().len(), keyframes.len())?;
        let mut keyframes = keyframes;
        if let (true, Some(first)) = (options.cyclic, keyframes.first().cloned()) {
            let last = keyframes.len() - 1;
            keyframes[last] = first;
        }
        let prepared = prepare(
            body.as_ref(),
            &keyframes,
            (&times, size),
            &settings,
            options,
            progress,
        )?;
        let space = Arc::new(prepared.space);
        let mut motion = Self {
            shown: Arc::new(FrameWriter::new(&space)),
            body,
            space,
            linearisations: Arc::new(prepared.linearisations),
            linearisation_of: prepared.linearisation_of,
            ghosts: prepared.ghosts,
            cyclic: options.cyclic,
            rests: options.rests,
            modes: options.modes,
            weights: vec![None; keyframes.len()],
            slopes: KeyVelocities::empty(keyframes.len()),
            keyframes,
            coordinates: prepared.coordinates,
            places: prepared.places,
            times,
            settings,
            partials: Vec::new(),
            next: 0,
            notes: prepared.notes,
            solved: MotionSolution::empty(),
        };
        motion.slopes = motion.key_velocities();
        motion.solved = motion.solve()?;
        Ok(motion)
    }

    /// Returns the number of coordinates of the reduced space.
    pub fn dimension(&self) -> usize {
        self.space.dimension()
    }

    /// Returns the number of vertices.
    pub fn node_count(&self) -> usize {
        self.body.rest().len()
    }

    /// Returns the times of the keyframes, s.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Returns whether the last keyframe is the first again.
    pub fn is_cyclic(&self) -> bool {
        self.cyclic
    }

    /// Returns the settings that can change without a new preprocess.
    pub fn settings(&self) -> &SpacetimeSettings {
        &self.settings
    }

    /// Returns remarks for the user, as sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of linearisations, ghosts included.
    pub fn linearisation_count(&self) -> usize {
        self.linearisations.len()
    }

    /// Returns the interval, the share of it and the shape of each ghost.
    pub fn ghosts(&self) -> Vec<(usize, f64, Vec<Vec3>)> {
        let shape = |g: &Ghost| {
            self.space
                .shape(&self.linearisations[g.linearisation].centre)
        };
        let ghosts = self.ghosts.iter();
        ghosts.map(|g| (g.interval, g.share, shape(g))).collect()
    }

    /// Returns `∫ Σ |F|²/m dt` of the acting forces F, kg·m²/s³. The deformation's share is the mean over the linearisations, each over
    /// the whole motion \[hildebrandt2012, eq. 10\]. Where rigid motion is factored out, the shares of the centre and of the rotation
    /// are added, by Newton's and Euler's laws of the body at rest.
    pub fn cost(&self) -> f64 {
        let splines = &self.solved.splines;
        let sum = |s: &WigglySpline| (0..s.len()).map(|mode| s.cost(mode)).sum::<f64>();
        // Only linearisations with a station have splines.
        let used = splines.iter().filter(|s| !s.is_empty());
        let (total, count) = used.fold((0.0, 0), |(t, n), s| (t + sum(s), n + 1));
        let mass: f64 = self.body.masses().iter().sum();
        let rigid = self
            .solved
            .rigid
            .as_ref()
            .map_or(0.0, |r| mass * r.translation_cost() + r.rotation_cost());
        total / f64::from(count.max(1)) + rigid
    }

    /// Changes times and settings. An error leaves the motion unchanged.
    ///
    /// # Errors
    /// Those of [`Spacetime::new`] for times and settings.
    pub fn update(
        &mut self,
        times: Option<Vec<f64>>,
        settings: Option<SpacetimeSettings>,
    ) -> Result<(), SpacetimeError> {
        if let Some(times) = &times {
            check_times(times, self.keyframes.len())?;
            let span = (times[0], times[times.len() - 1]);
            for partial in &self.partials {
                partial.check_time(span)?;
            }
        }
        if let Some(settings) = &settings {
            settings.check(self.node_count(), self.keyframes.len())?;
        }
        let others = settings
            .as_ref()
            .is_some_and(|s| s.velocities != self.settings.velocities);
        let old_times = times.map(|times| std::mem::replace(&mut self.times, times));
        let old_settings = settings.map(|s| std::mem::replace(&mut self.settings, s));
        let slopes = others.then(|| self.key_velocities());
        let old_slopes = slopes.map(|s| std::mem::replace(&mut self.slopes, s));
        self.solve_or_undo(|motion| {
            if let Some(times) = old_times {
                motion.times = times;
            }
            if let Some(settings) = old_settings {
                motion.settings = settings;
            }
            if let Some(slopes) = old_slopes {
                motion.slopes = slopes;
            }
        })
    }

    /// Replaces the shape of a keyframe by `shape`, or by the nearest one in the space. Returns the largest distance of a vertex from
    /// `shape`.
    ///
    /// # Errors
    /// A keyframe that does not exist, a shape of another body or one that is not finite.
    pub fn reshape(&mut self, key: usize, shape: &[Vec3]) -> Result<f64, SpacetimeError> {
        self.check_key(key)?;
        check_shape(shape, self.node_count(), || format!("keyframe {key}"))?;
        // Aligned with the reference of the preprocess: the first keyframe moves like the others.
        let (aligned, at) = self.align_shape(shape);
        let coordinates = self.space.coordinates(&aligned);
        let reached = self.space.shape(&coordinates);
        let misses = reached.iter().zip(&aligned).map(|(a, b)| (a - b).norm());
        let miss = misses.fold(0.0, f64::max);
        let keys = self.keyframe_ends(key);
        let old = (
            self.keyframes.clone(),
            self.coordinates.clone(),
            self.places.clone(),
            self.slopes.clone(),
        );
        for &key in &keys {
            self.keyframes[key] = shape.to_vec();
            self.coordinates[key].clone_from(&coordinates);
            if let (Some(places), Some(at)) = (&mut self.places, at) {
                places[key] = at;
            }
        }
        self.slopes = self.key_velocities();
        self.solve_or_undo(|motion| {
            (
                motion.keyframes,
                motion.coordinates,
                motion.places,
                motion.slopes,
            ) = old;
        })?;
        Ok(miss)
    }

    /// Returns a shape aligned with the reference of the space, and its placement, where rigid motion is factored out.
    pub(super) fn align_shape(&self, shape: &[Vec3]) -> (Vec<Vec3>, Option<RigidPlacement>) {
        if self.places.is_none() {
            return (shape.to_vec(), None);
        }
        let (reference, masses) = (&self.space.reference, self.body.masses());
        let at = best_placement(reference, shape, masses);
        (at.align(shape, centre_of_mass(reference, masses)), Some(at))
    }

    /// Makes a keyframe soft, with a cost `weight |x − X|²` in the norm of the mass. `None` makes it exact again.
    ///
    /// # Errors
    /// A keyframe that does not exist, a weight that is not positive.
    pub fn soften(&mut self, key: usize, weight: Option<f64>) -> Result<(), SpacetimeError> {
        self.check_key(key)?;
        check_weight(weight)?;
        let old = self.weights.clone();
        for key in self.keyframe_ends(key) {
            self.weights[key] = weight;
        }
        self.solve_or_undo(|motion| motion.weights = old)
    }

    /// Prescribes positions of some vertices at a time, exactly or with a weight. Returns an identifier for
    /// [`drop_partial`](Self::drop_partial).
    ///
    /// # Errors
    /// A time outside the motion, vertices that do not exist, positions that are not finite, a vertex at two positions at once.
    pub fn add_partial(
        &mut self,
        time: f64,
        vertices: Vec<u32>,
        positions: Vec<Vec3>,
        weight: Option<f64>,
    ) -> Result<usize, SpacetimeError> {
        check_weight(weight)?;
        let partial = PartialKeyframe {
            id: self.next,
            time,
            vertices,
            positions,
            weight,
        };
        partial.check(
            self.node_count(),
            (self.times[0], self.times[self.times.len() - 1]),
        )?;
        partial.check_against(&self.partials)?;
        for (key, &at) in self.times.iter().enumerate() {
            if at == time && self.weights[key].is_none() && weight.is_none() {
                partial.check_key(&self.keyframes[key])?;
            }
        }
        self.partials.push(partial);
        self.next += 1;
        self.solve_or_undo(|motion| {
            motion.partials.pop();
        })?;
        Ok(self.next - 1)
    }

    /// Removes a partial keyframe.
    ///
    /// # Errors
    /// A partial keyframe that does not exist.
    pub fn drop_partial(&mut self, id: usize) -> Result<(), SpacetimeError> {
        let Some(at) = self.partials.iter().position(|p| p.id == id) else {
            return Err(SpacetimeError::NoSuch {
                what: "partial keyframe",
                index: id,
                count: self.next,
            });
        };
        let old = self.partials.clone();
        self.partials.remove(at);
        self.solve_or_undo(|motion| motion.partials = old)
    }

    /// Returns the identifier of each exact partial keyframe and the largest distance by which the space makes it miss a vertex.
    pub fn partial_misses(&self) -> &[(usize, f64)] {
        &self.solved.misses
    }

    /// Solves again, or restores the previous state on an error.
    fn solve_or_undo(&mut self, undo: impl FnOnce(&mut Self)) -> Result<(), SpacetimeError> {
        match self.solve() {
            Ok(solved) => {
                self.solved = solved;
                Ok(())
            }
            Err(error) => {
                undo(self);
                Err(error)
            }
        }
    }

    /// Returns a keyframe and, in a cycle, its other end.
    fn keyframe_ends(&self, key: usize) -> Vec<usize> {
        let last = self.keyframes.len() - 1;
        match (self.cyclic, key) {
            (true, k) if k == 0 || k == last => vec![0, last],
            _ => vec![key],
        }
    }

    fn check_key(&self, key: usize) -> Result<(), SpacetimeError> {
        let count = self.keyframes.len();
        if key < count {
            return Ok(());
        }
        Err(SpacetimeError::NoSuch {
            what: "keyframe",
            index: key,
            count,
        })
    }

    /// Maps a time into the motion: cycles repeat, times beyond the ends map to the ends.
    pub(super) fn wrap_time(&self, time: f64) -> f64 {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        if self.cyclic {
            first + (time - first).rem_euclid(last - first)
        } else {
            time.clamp(first, last)
        }
    }

    /// Returns the coordinates at times, one column each.
    pub(super) fn coordinates_at(&self, times: &[f64]) -> Mat<f64> {
        let times: Vec<f64> = times.iter().map(|&t| self.wrap_time(t)).collect();
        let shares: Vec<(usize, usize, f64)> = times
            .iter()
            .map(|&t| blend_at(&self.solved.stations, t))
            .collect();
        let mut sum = Mat::zeros(self.dimension(), times.len());
        for (l, linear) in self.linearisations.iter().enumerate() {
            let weight = |&(from, to, s): &(usize, usize, f64)| {
                let from = if from == l { 1.0 - s } else { 0.0 };
                from + if to == l { s } else { 0.0 }
            };
            let weights: Vec<f64> = shares.iter().map(weight).collect();
            let own: Vec<usize> = (0..times.len()).filter(|&i| weights[i] > 0.0).collect();
            if own.is_empty() {
                continue;
            }
            let own_times: Vec<f64> = own.iter().map(|&i| times[i]).collect();
            let sampled = self.solved.splines[l].sample(&own_times, 0);
            let omega = MatRef::from_row_major_slice(&sampled, self.dimension(), own.len());
            let moved = product(linear.modes.as_ref(), omega);
            for (j, &i) in own.iter().enumerate() {
                for k in 0..self.dimension() {
                    sum[(k, i)] += weights[i] * (linear.centre[k] + moved[(k, j)]);
                }
            }
        }
        sum
    }

    /// Returns the coordinates of cubic splines through the same keyframes with the same prescribed velocities, one column per time.
    pub(super) fn cubic_coordinates_at(&self, times: &[f64]) -> Mat<f64> {
        let spline = self.cubic_splines();
        let times: Vec<f64> = times.iter().map(|&t| self.wrap_time(t)).collect();
        let sampled = spline.sample(&times, 0);
        MatRef::from_row_major_slice(&sampled, self.dimension(), times.len()).to_owned()
    }

    /// Returns the cubic splines of all coordinates.
    pub(super) fn cubic_splines(&self) -> WigglySpline {
        let [incoming, outgoing] = &self.slopes.sides;
        let layout = Arc::new(KnotLayout::new(self.key_knots(|_| true), self.cyclic));
        let at = |of: &[Vec<f64>], i: usize| -> Vec<f64> {
            of.iter()
                .map(|c| c.get(i).copied().unwrap_or(0.0))
                .collect()
        };
        let given = (0..self.dimension())
            .map(|i| KnotData {
                values: at(&self.coordinates, i),
                incoming: at(incoming, i),
                outgoing: at(outgoing, i),
            })
            .collect();
        let free = vec![Oscillator::default(); self.dimension()];
        WigglySpline::new(layout, free, given)
    }

    pub(super) fn rigid_motion_path(&self) -> Option<&RigidPath> {
        self.solved.rigid.as_ref()
    }

    /// Returns the coordinates of the keyframes.
    pub(super) fn key_coordinates(&self) -> &[Vec<f64>] {
        &self.coordinates
    }

    /// Returns the shapes of the keyframes, as passed in or changed.
    pub fn keyframes(&self) -> &[Vec<Vec3>] {
        &self.keyframes
    }
}

pub(super) fn check_weight(weight: Option<f64>) -> Result<(), SpacetimeError> {
    match weight {
        Some(value) if !(value > 0.0 && crate::range::is_sound(value)) => {
            Err(SpacetimeError::Setting {
                name: "the weight",
                range: "a number above zero, or None for exactly",
                value,
            })
        }
        _ => Ok(()),
    }
}
