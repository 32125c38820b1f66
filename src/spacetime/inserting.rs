// SPDX-License-Identifier: MIT OR Apache-2.0
//! Insertion of a keyframe without a new preprocess. [hildebrandt2012, §4.4, last paragraph]
//!
//! The reduced space is kept. Unless it is already the full space, the new shape and its modes widen it. The matrices of the new shape are
//! computed, and in a widened space also all reduced ones. This saves the modes of all other keyframes, by far the most expensive part.

use super::frame_writer::FrameWriter;
use super::linear::Linearisation;
use super::motion::Spacetime;
use super::options::{SpacetimeSettings, check_shape};
use super::prepare::{
    EQUAL_SHAPE_TOLERANCE, FIXED_VERTEX_TOLERANCE, Ghost, NamedShape, check_times, space_columns,
};
use super::rigid::RigidPlacement;
use super::solution::{KeyVelocities, MotionSolution};
use super::space::ShapeSpace;
use super::{SpacetimeError, ghost_times};
use crate::Vec3;
use crate::geometry::aabb::diagonal;
use crate::progress::{Progress, StageProgress, report_progress};
use rayon::prelude::*;
use std::sync::Arc;

impl Spacetime {
    /// Inserts a keyframe `shape[n]` at a time between the first and the last one, s; the motion then passes through it. Returns its
    /// index; the indices of later keyframes grow by one. Its velocity is free. Ghosts of the divided interval keep their times. The part
    /// of the shape outside the space is added to the space. The motion is therefore that of a preprocess with the keyframe, except for
    /// automatic ghosts.
    ///
    /// # Errors
    /// [`SpacetimeError`]: a time outside or at another keyframe, a shape of another body or one that is not finite, a fixed vertex
    /// elsewhere, a contradicting partial keyframe at the same time, no modes, cancelled. The motion is then unchanged.
    pub fn insert(
        &mut self,
        time: f64,
        shape: &[Vec3],
        progress: &dyn Progress,
    ) -> Result<usize, SpacetimeError> {
        let (key, times) = self.check_insertion(time, shape)?;
        let size = diagonal(&self.keyframes[0]).max(diagonal(self.body.rest()));
        let (aligned, at) = self.align_new_shape(key, shape, size)?;
        // Index of the same shape among the linearisations.
        let known = self.linearisations.iter().position(|linear| {
            let there = self.space.shape(&linear.centre);
            let mut pairs = there.iter().zip(&aligned);
            pairs.all(|(a, b)| (a - b).amax() <= EQUAL_SHAPE_TOLERANCE * size)
        });
        let mut notes = self.notes.clone();
        let (space, linearisations) = match known {
            Some(_) => (self.space.clone(), self.linearisations.clone()),
            None => self.add_shape(&aligned, key, &mut notes, progress)?,
        };
        let mut linearisation_of = self.linearisation_of.clone();
        linearisation_of.insert(key, known.unwrap_or(linearisations.len() - 1));
        let mut keyframes = self.keyframes.clone();
        keyframes.insert(key, shape.to_vec());
        let mut weights = self.weights.clone();
        weights.insert(key, None);
        let mut places = self.places.clone();
        if let (Some(places), Some(at)) = (&mut places, at) {
            places.insert(key, at);
        }
        // The space may have changed: coordinates of every keyframe as reached, and of the new one.
        let reached = self.coordinates.iter().map(|c| self.space.shape(c));
        let mut coordinates: Vec<Vec<f64>> = reached.map(|x| space.coordinates(&x)).collect();
        coordinates.insert(key, space.coordinates(&aligned));
        let mut next = Self {
            shown: Arc::new(FrameWriter::new(&space)),
            body: self.body.clone(),
            linearisations,
            linearisation_of,
            ghosts: self.divide_ghosts(key, time),
            cyclic: self.cyclic,
            rests: self.rests,
            modes: self.modes,
            slopes: KeyVelocities::empty(keyframes.len()),
            settings: shift_velocities(&self.settings, key),
            partials: self.partials.clone(),
            next: self.next,
            solved: MotionSolution::empty(),
            space,
            keyframes,
            coordinates,
            places,
            weights,
            times,
            notes,
        };
        next.slopes = next.key_velocities();
        next.solved = next.solve()?;
        *self = next;
        Ok(key)
    }

    /// Checks a new keyframe, and returns its index and all times with its own.
    fn check_insertion(
        &self,
        time: f64,
        shape: &[Vec3],
    ) -> Result<(usize, Vec<f64>), SpacetimeError> {
        let (start, end) = (self.times[0], self.times[self.times.len() - 1]);
        if !(time > start && time < end) {
            return Err(SpacetimeError::Outside {
                what: "a keyframe",
                time,
                start,
                end,
            });
        }
        let key = self.times.partition_point(|&t| t < time);
        let mut times = self.times.clone();
        times.insert(key, time);
        check_times(&times, times.len())?;
        check_shape(shape, self.node_count(), || format!("keyframe {key}"))?;
        for partial in self.partials.iter().filter(|p| p.time == time) {
            if partial.weight.is_none() {
                partial.check_key(shape)?;
            }
        }
        Ok((key, times))
    }

    /// Returns the space and the linearisations with one more shape. In a widened space all are computed anew.
    fn add_shape(
        &self,
        aligned: &[Vec3],
        key: usize,
        notes: &mut Vec<String>,
        progress: &dyn Progress,
    ) -> Result<(Arc<ShapeSpace>, Arc<Vec<Linearisation>>), SpacetimeError> {
        let new = NamedShape {
            positions: aligned.to_vec(),
            name: format!("keyframe {key}"),
        };
        let linears = self.linearisations.iter().enumerate();
        let shapes = linears.map(|(i, linear)| NamedShape {
            positions: self.space.shape(&linear.centre),
            name: format!("shape {i}"),
        });
        let (space, kept, all): (_, _, Vec<NamedShape>) =
            match self.widen_space(&new, notes, progress)? {
                Some(wider) => (Arc::new(wider), Vec::new(), shapes.chain([new]).collect()),
                None => (self.space.clone(), self.linearisations.to_vec(), vec![new]),
            };
        report_progress(progress, 0.75, "Linearisations")?;
        let (body, rests) = (self.body.as_ref(), self.rests);
        let linearise = |shape: &NamedShape| {
            let name = || shape.name.clone();
            Linearisation::new(body, &space, &shape.positions, rests, &name)
        };
        let found: Result<Vec<_>, _> = all.par_iter().map(linearise).collect();
        let linearisations = kept.into_iter().chain(found?).collect();
        Ok((space, Arc::new(linearisations)))
    }

    /// Aligns a shape as the keyframes are, with fixed vertices at their places.
    fn align_new_shape(
        &self,
        key: usize,
        shape: &[Vec3],
        size: f64,
    ) -> Result<(Vec<Vec3>, Option<RigidPlacement>), SpacetimeError> {
        let (mut aligned, at) = self.align_shape(shape);
        for vertex in 0..shape.len() {
            if self.space.free.binary_search(&(vertex as u32)).is_err() {
                let distance = (shape[vertex] - self.keyframes[0][vertex]).norm();
                if distance > FIXED_VERTEX_TOLERANCE * size {
                    return Err(SpacetimeError::Fixed {
                        key,
                        vertex,
                        distance,
                    });
                }
                aligned[vertex] = self.keyframes[0][vertex];
            }
        }
        Ok((aligned, at))
    }

    /// Returns the space widened by a shape and its modes; `None` where it is the full space.
    fn widen_space(
        &self,
        new: &NamedShape,
        notes: &mut Vec<String>,
        progress: &dyn Progress,
    ) -> Result<Option<ShapeSpace>, SpacetimeError> {
        let space = &self.space;
        if space.is_whole() {
            return Ok(None);
        }
        let reached = space.shape(&space.coordinates(&new.positions));
        let mut all: Vec<Vec<f64>> = space
            .basis
            .col_iter()
            .map(|column| column.iter().copied().collect())
            .collect();
        let missed: Vec<f64> = space.field_rows(|v| new.positions[v] - reached[v]);
        all.push(missed);
        let part = StageProgress {
            whole: progress,
            from: 0.0,
            to: 0.7,
        };
        let mut own_notes = Vec::new();
        let shape = std::slice::from_ref(new);
        let body = self.body.as_ref();
        all.extend(space_columns(
            body,
            shape,
            &space.free,
            self.modes,
            &mut own_notes,
            &part,
        )?);
        own_notes.retain(|note| !notes.contains(note));
        notes.append(&mut own_notes);
        report_progress(progress, 0.7, "Reduced space")?;
        let (reference, free) = (space.reference.clone(), space.free.clone());
        ShapeSpace::new(reference, free, self.body.masses(), &all, false)
            .map(Some)
            .ok_or(SpacetimeError::NoSpace)
    }

    /// Returns the ghosts after the interval before keyframe `key` is divided at a time.
    fn divide_ghosts(&self, key: usize, time: f64) -> Vec<Ghost> {
        if self.ghosts.is_empty() {
            return Vec::new();
        }
        let (from, to) = (self.times[key - 1], self.times[key]);
        let passed = ghost_times::ghost_times(self, &self.cubic_splines());
        let moved = |(ghost, at): (&Ghost, f64)| match ghost.interval {
            k if k + 1 < key => *ghost,
            k if k + 1 > key => Ghost {
                interval: k + 1,
                ..*ghost
            },
            k if at < time => Ghost {
                share: (at - from) / (time - from),
                timed: true,
                interval: k,
                ..*ghost
            },
            k => Ghost {
                share: (at - time) / (to - time),
                timed: true,
                interval: k + 1,
                ..*ghost
            },
        };
        self.ghosts.iter().zip(passed).map(moved).collect()
    }
}

/// Shifts the velocities of later keyframes to their new indices.
fn shift_velocities(settings: &SpacetimeSettings, key: usize) -> SpacetimeSettings {
    let velocities = settings.velocities.iter();
    let velocities = velocities.map(|(&k, v)| (k + usize::from(k >= key), v.clone()));
    SpacetimeSettings {
        velocities: velocities.collect(),
        ..settings.clone()
    }
}
