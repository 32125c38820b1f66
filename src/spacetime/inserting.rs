// SPDX-License-Identifier: MIT OR Apache-2.0
//! A further keyframe without a new preprocess. [hildebrandt2012, §4.4, last paragraph]
//!
//! The reduced space is kept and widened by the new shape and by its own modes, where it has not all freedom already; matrices are set
//! up for the new shape, and in a widened space all reduced ones are set up again. What is spared are the modes of all other
//! keyframes, by far the longest part.

use super::linear::Linearisation;
use super::motion::Spacetime;
use super::options::{Settings, check_shape};
use super::prepare::{Ghost, SAME, STAYS, Shape, check_times, columns, extent};
use super::rigid::{Place, centre, place};
use super::show::Shown;
use super::solving::{Slopes, Solved};
use super::space::Space;
use super::{SpacetimeError, passing};
use crate::Vec3;
use crate::progress::{Part, Progress, step};
use rayon::prelude::*;
use std::sync::Arc;

impl Spacetime {
    /// Adds a keyframe `shape[n]` at a time between the first and the last one, s, through which the motion then goes. Returns its number;
    /// later keyframes count one more. Its velocity is free. Ghosts of the interval that is divided keep their times. What the
    /// keyframe lacks of the space is added, so that the motion is the one of a preprocess with it, but for ghosts found by themselves.
    ///
    /// # Errors
    /// [`SpacetimeError`]: a time outside or at another keyframe, a shape of another body or no numbers, a fixed vertex elsewhere, a
    /// partial keyframe of the same time elsewhere, no modes, cancelled. Nothing is changed then.
    pub fn insert(
        &mut self,
        time: f64,
        shape: &[Vec3],
        progress: &dyn Progress,
    ) -> Result<usize, SpacetimeError> {
        let nodes = self.nodes();
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
        check_shape(shape, nodes, || format!("keyframe {key}"))?;
        for partial in self.partials.iter().filter(|p| p.time == time) {
            if partial.weight.is_none() {
                partial.check_key(shape)?;
            }
        }
        let size = extent(&self.keyframes[0]).max(extent(self.body.rest()));
        let (laid, at) = self.laid(key, shape, size)?;
        // A shape that is there already, or a further one.
        let known = self.linearisations.iter().position(|linear| {
            let there = self.space.shape(&linear.centre);
            let mut pairs = there.iter().zip(&laid);
            pairs.all(|(a, b)| (a - b).amax() <= SAME * size)
        });
        let mut notes = self.notes.clone();
        let mut space = self.space.clone();
        let mut linearisations = self.linearisations.clone();
        if known.is_none() {
            let new = Shape {
                positions: laid.clone(),
                name: format!("keyframe {key}"),
            };
            let shapes = self
                .linearisations
                .iter()
                .enumerate()
                .map(|(i, linear)| Shape {
                    positions: self.space.shape(&linear.centre),
                    name: format!("shape {i}"),
                });
            let wider = self.widened(&new, &mut notes, progress)?;
            let all: Vec<Shape> = match &wider {
                Some(_) => shapes.chain([new]).collect(),
                None => vec![new],
            };
            let kept = match wider {
                Some(wider) => {
                    space = Arc::new(wider);
                    Vec::new()
                }
                None => self.linearisations.to_vec(),
            };
            step(progress, 0.75, "Linearisations")?;
            let (body, rests) = (self.body.as_ref(), self.rests);
            let linearise = |shape: &Shape| {
                Linearisation::new(body, &space, &shape.positions, rests, &|| {
                    shape.name.clone()
                })
            };
            let found: Result<Vec<_>, _> = all.par_iter().map(linearise).collect();
            linearisations = Arc::new(kept.into_iter().chain(found?).collect());
        }
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
        // The space may be another one: every keyframe as it was reached, and the new one.
        let reached = self.coordinates.iter().map(|c| self.space.shape(c));
        let mut coordinates: Vec<Vec<f64>> = reached.map(|x| space.coordinates(&x)).collect();
        coordinates.insert(key, space.coordinates(&laid));
        let mut next = Self {
            shown: Arc::new(Shown::new(&space)),
            body: self.body.clone(),
            linearisations,
            linearisation_of,
            ghosts: self.divided(key, time),
            cyclic: self.cyclic,
            rests: self.rests,
            modes: self.modes,
            slopes: Slopes::none(keyframes.len()),
            settings: shifted(&self.settings, key),
            partials: self.partials.clone(),
            next: self.next,
            solved: Solved::none(),
            space,
            keyframes,
            coordinates,
            places,
            weights,
            times,
            notes,
        };
        next.slopes = next.slopes_now();
        next.solved = next.solve()?;
        *self = next;
        Ok(key)
    }

    /// A shape laid back as keyframes are, with fixed vertices where they stay.
    fn laid(
        &self,
        key: usize,
        shape: &[Vec3],
        size: f64,
    ) -> Result<(Vec<Vec3>, Option<Place>), SpacetimeError> {
        let (reference, masses) = (&self.space.reference, self.body.masses());
        let at = self
            .places
            .is_some()
            .then(|| place(reference, shape, masses));
        let mut laid = match &at {
            Some(at) => {
                let (back, pivot) = (at.turn.transpose(), centre(reference, masses));
                let laid = shape.iter().map(|x| pivot + back * (x - at.centre));
                laid.collect()
            }
            None => shape.to_vec(),
        };
        for vertex in 0..shape.len() {
            if self.space.free.binary_search(&(vertex as u32)).is_err() {
                let distance = (shape[vertex] - self.keyframes[0][vertex]).norm();
                if distance > STAYS * size {
                    return Err(SpacetimeError::Fixed {
                        key,
                        vertex,
                        distance,
                    });
                }
                laid[vertex] = self.keyframes[0][vertex];
            }
        }
        Ok((laid, at))
    }

    /// The space with a shape and its modes in it; none where it has all freedom.
    fn widened(
        &self,
        new: &Shape,
        notes: &mut Vec<String>,
        progress: &dyn Progress,
    ) -> Result<Option<Space>, SpacetimeError> {
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
        let missed: Vec<f64> = space.rows(|v| new.positions[v] - reached[v]);
        all.push(missed);
        let part = Part {
            whole: progress,
            from: 0.0,
            to: 0.7,
        };
        let mut told = Vec::new();
        let shape = std::slice::from_ref(new);
        let body = self.body.as_ref();
        all.extend(columns(
            body,
            shape,
            &space.free,
            self.modes,
            &mut told,
            &part,
        )?);
        told.retain(|note| !notes.contains(note));
        notes.append(&mut told);
        step(progress, 0.7, "Reduced space")?;
        let (reference, free) = (space.reference.clone(), space.free.clone());
        Space::new(reference, free, self.body.masses(), &all, false)
            .map(Some)
            .ok_or(SpacetimeError::NoSpace)
    }

    /// The ghosts where the interval before keyframe `key` is divided at a time.
    fn divided(&self, key: usize, time: f64) -> Vec<Ghost> {
        if self.ghosts.is_empty() {
            return Vec::new();
        }
        let (from, to) = (self.times[key - 1], self.times[key]);
        let passed = passing::times(self, &self.plain_spline());
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

/// Settings with the velocities of later keyframes at their new numbers.
fn shifted(settings: &Settings, key: usize) -> Settings {
    let velocities = settings.velocities.iter();
    let velocities = velocities.map(|(&k, v)| (k + usize::from(k >= key), v.clone()));
    Settings {
        velocities: velocities.collect(),
        ..settings.clone()
    }
}
