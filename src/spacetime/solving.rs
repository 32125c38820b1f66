// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast part: splines of all modes around every linearisation, from the data of a motion. [hildebrandt2012, §4.1, §4.2]

use super::blend::Station;
use super::interval::Oscillator;
use super::knots::{Knot, KnotData, KnotJoint, KnotLayout};
use super::linear::Linearisation;
use super::motion::Spacetime;
use super::options::Velocity;
use super::partial::{PartialConditions, PartialKeyframe};
use super::range::check_range;
use super::rigid::{RigidPath, split_velocities};
use super::solution::{KeyVelocities, MotionSolution};
use super::spline::WigglySpline;
use super::system::ValueAttraction;
use super::{SpacetimeError, coupled, ghost_times};
use crate::solve::tall::{matrix_vector, product};
use faer::Mat;
use std::sync::Arc;

impl Spacetime {
    /// Returns the prescribed velocity at a keyframe. In a cycle the last keyframe is the first.
    fn velocity(&self, key: usize) -> Option<&Velocity> {
        let last = self.keyframes.len() - 1;
        let velocities = &self.settings.velocities;
        if self.cyclic && (key == 0 || key == last) {
            return velocities.get(&0).or_else(|| velocities.get(&last));
        }
        velocities.get(&key)
    }

    /// Returns the knots of the keyframes alone.
    pub(super) fn key_knots(&self, valued: impl Fn(usize) -> bool) -> Vec<Knot> {
        let joint = |k: usize| match self.velocity(k) {
            None | Some(Velocity::Free) => KnotJoint::Smooth,
            Some(Velocity::Given(_)) => KnotJoint::Given,
            Some(Velocity::Cut(incoming, outgoing)) => KnotJoint::Cut {
                incoming: incoming.is_some(),
                outgoing: outgoing.is_some(),
            },
        };
        let knot = |(k, &time): (usize, &f64)| Knot {
            time,
            valued: valued(k),
            joint: joint(k),
        };
        self.times.iter().enumerate().map(knot).collect()
    }

    /// Solves the splines of all linearisations.
    pub(super) fn solve(&self) -> Result<MotionSolution, SpacetimeError> {
        let rigid = self.build_rigid_path();
        let ghost_times = match self.ghosts.is_empty() {
            true => Vec::new(),
            false => ghost_times::ghost_times(self, &self.cubic_splines()),
        };
        let back =
            |rows: &PartialConditions| rigid.as_ref().map(|path| path.placement_at(rows.time));
        let rows =
            PartialKeyframe::all_conditions(&self.partials, &self.space, self.body.masses(), &back);
        let misses = rows.iter().flat_map(|r| r.misses.iter().copied()).collect();
        let prescribed = self.collect_conditions(&ghost_times, rows);
        let pushed = match &rigid {
            // A uniform acceleration moves only the centre.
            Some(_) => vec![0.0; self.dimension()],
            None => self.space.project_mass(|_| self.settings.gravity),
        };
        let stations = self.linearisation_stations(&ghost_times);
        let mut used = vec![false; self.linearisations.len()];
        stations.iter().for_each(|s| used[s.linearisation] = true);
        let linearisations = self.linearisations.iter().zip(used);
        let splines = linearisations.map(|(linear, used)| match used {
            true => self.solve_around(linear, &prescribed, &pushed),
            false => Ok(WigglySpline::from_modes(
                prescribed.layout.clone(),
                Vec::new(),
            )),
        });
        Ok(MotionSolution {
            splines: splines.collect::<Result<_, _>>()?,
            stations,
            rigid,
            misses,
        })
    }

    /// Collects the knots (keyframes, ghosts and partial keyframes) and the conditions at each.
    fn collect_conditions(
        &self,
        ghost_times: &[f64],
        rows: Vec<PartialConditions>,
    ) -> SplineConditions {
        let keys = self.times.len();
        let mut knots = self.key_knots(|k| self.weights[k].is_none());
        let mut key_of: Vec<Option<usize>> = (0..keys).map(Some).collect();
        // Adds knots at times without a keyframe.
        for time in ghost_times
            .iter()
            .copied()
            .chain(rows.iter().map(|r| r.time))
        {
            let at = knots.partition_point(|k| k.time < time);
            if knots.get(at).is_none_or(|k| k.time != time) {
                let (valued, joint) = (false, KnotJoint::Smooth);
                let knot = Knot {
                    time,
                    valued,
                    joint,
                };
                knots.insert(at, knot);
                key_of.insert(at, None);
            }
        }
        let coordinates = |key: &Option<usize>| key.map(|key| self.coordinates[key].clone());
        let mut places: Vec<Option<Vec<f64>>> = key_of.iter().map(coordinates).collect();
        let mut conditions = Vec::new();
        for row in rows {
            let at = knots.partition_point(|k| k.time < row.time);
            if knots[at].valued {
                continue;
            }
            // A condition that determines all coordinates is a value like a keyframe's.
            match row.determined_coordinates() {
                Some(whole) => {
                    knots[at].valued = true;
                    places[at] = Some(whole);
                }
                None => conditions.push((at, row)),
            }
        }
        conditions.retain(|(at, _)| !knots[*at].valued);
        let attractions = self.collect_attractions(&knots, &key_of, ghost_times);
        let layout = Arc::new(KnotLayout::new(knots, self.cyclic));
        let lengths = (0..layout.interval_count()).map(|k| layout.interval_length(k));
        SplineConditions {
            longest: lengths.fold(0.0, f64::max),
            layout,
            key_of,
            places,
            attractions,
            conditions,
        }
    }

    /// Collects the shapes that attract the motion: weighted keyframes, and ghosts between their neighbours.
    fn collect_attractions(
        &self,
        knots: &[Knot],
        key_of: &[Option<usize>],
        ghost_times: &[f64],
    ) -> Vec<ShapeAttraction> {
        let mut attractions = Vec::new();
        for (knot, key) in key_of.iter().enumerate() {
            // A cycle's last keyframe is its first: it attracts once.
            let again = self.cyclic && *key == Some(self.times.len() - 1);
            if let (Some(key), false, false) = (*key, knots[knot].valued, again)
                && let Some(weight) = self.weights[key]
            {
                let (strength, to) = (
                    AttractionStrength::Given(weight),
                    self.coordinates[key].clone(),
                );
                attractions.push(ShapeAttraction { knot, strength, to });
            }
        }
        for (ghost, &time) in self.ghosts.iter().zip(ghost_times) {
            let knot = knots.partition_point(|k| k.time < time);
            let around = (knot > 0 && knot + 1 < knots.len()).then(|| [knot - 1, knot + 1]);
            if let (Some([before, behind]), false) = (around, knots[knot].valued) {
                let strength =
                    AttractionStrength::Ghost(0.5 * (knots[behind].time - knots[before].time));
                let to = self.linearisations[ghost.linearisation].centre.clone();
                attractions.push(ShapeAttraction { knot, strength, to });
            }
        }
        attractions
    }

    /// Solves the splines of all modes around a linearisation.
    fn solve_around(
        &self,
        linear: &Linearisation,
        prescribed: &SplineConditions,
        pushed: &[f64],
    ) -> Result<WigglySpline, SpacetimeError> {
        let s = &self.settings;
        let oscillators = linear.oscillators(s.stiffness, s.damping, pushed);
        check_range(&oscillators, prescribed.longest)?;
        let layout = &prescribed.layout;
        let knots = layout.knots().len();
        let values = convert_to_modes(linear, knots, |knot, i| {
            let place = prescribed.places[knot].as_ref();
            place.map_or(0.0, |c| c[i] - linear.centre[i])
        });
        let slope = |of: &[Vec<f64>]| {
            convert_to_modes(linear, knots, |knot, i| {
                prescribed.key_of[knot].map_or(0.0, |key| of[key].get(i).copied().unwrap_or(0.0))
            })
        };
        let [before, behind] = self.slopes.sides.each_ref().map(|of| slope(of));
        let mut size =
            values.norm_max() + before.norm_max().max(behind.norm_max()) * prescribed.longest;
        let row = |of: &Mat<f64>, mode: usize| (0..knots).map(|k| of[(mode, k)]).collect();
        let given: Vec<KnotData> = (0..self.dimension())
            .map(|mode| KnotData {
                values: row(&values, mode),
                incoming: row(&before, mode),
                outgoing: row(&behind, mode),
            })
            .collect();
        let spline = if prescribed.attractions.is_empty() && prescribed.conditions.is_empty() {
            WigglySpline::new(layout.clone(), oscillators, given)
        } else {
            let (spline, attracted) =
                self.solve_coupled_modes(linear, prescribed, &oscillators, given);
            size = size.max(attracted);
            spline
        };
        match find_runaway(&spline, prescribed.longest, size) {
            Some((knot, times)) => Err(SpacetimeError::Runaway {
                keyframe: (0..=knot)
                    .rev()
                    .find_map(|k| prescribed.key_of[k])
                    .unwrap_or(0),
                times,
            }),
            None => Ok(spline),
        }
    }

    /// Solves modes that attractions and partial conditions couple; returns the spline, and the size of what both ask for.
    fn solve_coupled_modes(
        &self,
        linear: &Linearisation,
        prescribed: &SplineConditions,
        oscillators: &[Oscillator],
        given: Vec<KnotData>,
    ) -> (WigglySpline, f64) {
        let wanted = convert_to_modes(linear, prescribed.attractions.len(), |i, k| {
            prescribed.attractions[i].to[k] - linear.centre[k]
        });
        let mut size = wanted.norm_max();
        let pulls = |mode: usize| {
            let pull = |(i, attraction): (usize, &ShapeAttraction)| ValueAttraction {
                knot: attraction.knot,
                weight: match attraction.strength {
                    AttractionStrength::Given(weight) => weight,
                    AttractionStrength::Ghost(gap) => {
                        ghost_times::ghost_weight(&oscillators[mode], gap)
                    }
                },
                wanted: wanted[(mode, i)],
            };
            prescribed
                .attractions
                .iter()
                .enumerate()
                .map(pull)
                .collect()
        };
        let pulls: Vec<Vec<ValueAttraction>> = (0..self.dimension()).map(pulls).collect();
        let conditions = prescribed.conditions.iter();
        let of_modes: Vec<coupled::KnotConditions> = conditions
            .map(|(knot, rows)| rows.to_mode_conditions(*knot, linear))
            .collect();
        // Keyframes of one moving shape have no size of their own: the size may come from partial conditions.
        for conditions in &of_modes {
            for (i, wanted) in conditions.wanted.iter().enumerate() {
                let reach = conditions.rows.row(i).norm_l2();
                if reach > 0.0 {
                    size = size.max(wanted.abs() / reach);
                }
            }
        }
        let modes =
            coupled::solve_coupled(&prescribed.layout, oscillators, given, &pulls, &of_modes);
        (
            WigglySpline::from_modes(prescribed.layout.clone(), modes),
            size,
        )
    }

    /// Returns the prescribed velocities in coordinates, as splines take them.
    pub(super) fn key_velocities(&self) -> KeyVelocities {
        let masses = self.body.masses();
        let mut slopes = KeyVelocities::empty(self.times.len());
        for key in 0..self.times.len() {
            let Some(velocity) = self.velocity(key) else {
                continue;
            };
            for (side, given) in [velocity.incoming(), velocity.outgoing()]
                .iter()
                .enumerate()
            {
                let Some(given) = given else { continue };
                slopes.sides[side][key] = match &self.places {
                    Some(places) => {
                        let mut own =
                            split_velocities(&self.keyframes[key], given, masses, &places[key]);
                        let rest = std::mem::take(&mut own.rest);
                        slopes.parted[side][key] = Some(own);
                        self.space.nearest_coordinates(|v| rest[v])
                    }
                    None => self.space.nearest_coordinates(|v| given[v]),
                };
            }
        }
        slopes
    }

    fn build_rigid_path(&self) -> Option<RigidPath> {
        let places = self.places.as_ref()?;
        let layout = Arc::new(KnotLayout::new(self.key_knots(|_| true), self.cyclic));
        let (damping, gravity) = (0.5 * self.settings.damping.0, self.settings.gravity);
        let [incoming, outgoing] = &self.slopes.parted;
        Some(RigidPath::new(
            layout,
            places,
            (&self.space.reference, self.body.masses()),
            (incoming, outgoing),
            damping,
            gravity,
        ))
    }

    fn linearisation_stations(&self, ghost_times: &[f64]) -> Vec<Station> {
        let mut stations = Vec::new();
        let mut ghosts = self.ghosts.iter().zip(ghost_times).peekable();
        for (key, &time) in self.times.iter().enumerate() {
            stations.push(Station {
                time,
                linearisation: self.linearisation_of[key],
            });
            while let Some((ghost, &time)) = ghosts.next_if(|(g, _)| g.interval == key) {
                stations.push(Station {
                    time,
                    linearisation: ghost.linearisation,
                });
            }
        }
        stations
    }
}

/// Conditions on all splines, in coordinates of the space.
struct SplineConditions {
    layout: Arc<KnotLayout>,
    /// The longest interval, s.
    longest: f64,
    /// Keyframe at each knot.
    key_of: Vec<Option<usize>>,
    /// Prescribed coordinates at each knot, or those of a soft keyframe.
    places: Vec<Option<Vec<f64>>>,
    /// Attractions of soft keyframes and ghosts.
    attractions: Vec<ShapeAttraction>,
    /// Partial keyframes that do not determine all coordinates, by knot.
    conditions: Vec<(usize, PartialConditions)>,
}

/// An attraction at a knot towards coordinates.
struct ShapeAttraction {
    knot: usize,
    strength: AttractionStrength,
    to: Vec<f64>,
}

/// Strength of an attraction: a weight, or that of a ghost with this mean time to its neighbours, s.
enum AttractionStrength {
    Given(f64),
    Ghost(f64),
}

/// Finds values and slopes so large that the keyframes are lost in rounding: with damping, a free start grows exponentially. `implied` is
/// the largest value of a mode that keyframes (whole, soft or partial) and prescribed velocities imply. Returns the knot and the ratio to
/// `implied`.
fn find_runaway(spline: &WigglySpline, longest: f64, implied: f64) -> Option<(usize, f64)> {
    /// Ratio to the implied size that counts as absurd.
    const MAX_GROWTH_RATIO: f64 = 1e12;
    let second = longest * longest;
    let (mut implied, mut most, mut at) = (implied, 0.0f64, 0);
    for mode in 0..spline.len() {
        let (data, o) = (spline.knot_data(mode), spline.oscillator(mode));
        // The mode's rest position, or its fall.
        implied = implied.max(o.gravity.abs() * second / (o.stiffness.abs() * second).max(1.0));
        for knot in 0..data.values.len() {
            let slope = data.incoming[knot].abs() + data.outgoing[knot].abs();
            let size = data.values[knot].abs() + slope * longest;
            if !size.is_finite() || size > most {
                (most, at) = (if size.is_nan() { f64::INFINITY } else { size }, knot);
            }
        }
    }
    (implied > 0.0 && most > MAX_GROWTH_RATIO * implied).then(|| (at, most / implied))
}

/// Converts vectors from coordinates to modes, one column per knot.
fn convert_to_modes(
    linear: &Linearisation,
    knots: usize,
    of: impl Fn(usize, usize) -> f64,
) -> Mat<f64> {
    let coordinates = Mat::from_fn(linear.centre.len(), knots, |i, knot| of(knot, i));
    product(linear.to_modes.as_ref(), coordinates.as_ref())
}

impl PartialConditions {
    /// Converts conditions on coordinates to conditions on the modes around a linearisation.
    fn to_mode_conditions(&self, knot: usize, linear: &Linearisation) -> coupled::KnotConditions {
        let here = matrix_vector(&self.rows, &linear.centre);
        coupled::KnotConditions {
            knot,
            rows: product(self.rows.as_ref(), linear.modes.as_ref()),
            wanted: self.wanted.iter().zip(here).map(|(w, h)| w - h).collect(),
            compliance: self.compliance.clone(),
        }
    }
}
