// SPDX-License-Identifier: MIT OR Apache-2.0
//! The quick part: splines of all modes around every linearisation, from what a motion holds. [hildebrandt2012, §4.1, §4.2]

use super::blend::Station;
use super::knots::{Joint, Knot, KnotData, Layout, Pull};
use super::linear::Linearisation;
use super::motion::{Spacetime, check_range};
use super::options::Velocity;
use super::partial::{Partial, Rows};
use super::prepare::Ghost;
use super::rigid::{Parted, RigidPath, centre, part};
use super::spline::WigglySpline;
use super::{SpacetimeError, coupled, passing};
use crate::solve::tall::{product, times as matrix_times};
use faer::Mat;
use std::sync::Arc;

/// What solving the splines gives.
pub(super) struct Solved {
    pub stations: Vec<Station>,
    /// Around each linearisation.
    pub splines: Vec<WigglySpline>,
    pub rigid: Option<RigidPath>,
    pub misses: Vec<(usize, f64)>,
}

impl Spacetime {
    /// What is prescribed at a keyframe; a cycle's last one is its first.
    fn velocity(&self, key: usize) -> Option<&Velocity> {
        let last = self.keyframes.len() - 1;
        let velocities = &self.settings.velocities;
        if self.cyclic && (key == 0 || key == last) {
            return velocities.get(&0).or_else(|| velocities.get(&last));
        }
        velocities.get(&key)
    }

    /// Knots of the keyframes alone.
    pub(super) fn key_knots(&self, valued: impl Fn(usize) -> bool) -> Vec<Knot> {
        let joint = |k: usize| match self.velocity(k) {
            None | Some(Velocity::Free) => Joint::Smooth,
            Some(Velocity::Given(_)) => Joint::Given,
            Some(Velocity::Cut(incoming, outgoing)) => Joint::Cut {
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

    pub(super) fn solve(&self) -> Result<Solved, SpacetimeError> {
        let keys = self.times.len();
        let (incoming, outgoing, rigid) = self.slopes();
        let back = |rows: &Rows| rigid.as_ref().map(|path| path.at(rows.time));
        let rows = Partial::rows(&self.partials, &self.space, self.body.masses(), &back);
        let mut knots = self.key_knots(|k| self.weights[k].is_none());
        let mut key_of: Vec<Option<usize>> = (0..keys).map(Some).collect();
        let ghost_times = match self.ghosts.is_empty() {
            true => Vec::new(),
            false => passing::times(self, &self.plain_spline()),
        };
        // Knots of ghosts and of partial keyframes that no keyframe stands at.
        let mut insert = |time: f64, knots: &mut Vec<Knot>| {
            let at = knots.partition_point(|k| k.time < time);
            if knots.get(at).is_none_or(|k| k.time != time) {
                let (valued, joint) = (false, Joint::Smooth);
                let knot = Knot {
                    time,
                    valued,
                    joint,
                };
                knots.insert(at, knot);
                key_of.insert(at, None);
            }
        };
        for &time in &ghost_times {
            insert(time, &mut knots);
        }
        for row in &rows {
            insert(row.time, &mut knots);
        }
        // A condition that says all is a value like a keyframe's.
        let mut whole: Vec<Option<Vec<f64>>> = vec![None; knots.len()];
        let (mut misses, mut conditions) = (Vec::new(), Vec::new());
        for row in rows {
            let at = knots.partition_point(|k| k.time < row.time);
            misses.extend(row.misses.iter().copied());
            if knots[at].valued {
                continue;
            }
            match row.whole() {
                Some(coordinates) => {
                    knots[at].valued = true;
                    whole[at] = Some(coordinates);
                }
                None => conditions.push((at, row)),
            }
        }
        conditions.retain(|(at, _)| !knots[*at].valued);
        let layout = Arc::new(Layout::new(knots, self.cyclic));
        let pushed = match &rigid {
            // A uniform acceleration moves the centre alone.
            Some(_) => vec![0.0; self.dimension()],
            None => self.space.projected_mass(|_| self.settings.gravity),
        };
        let stations = self.stations(&ghost_times);
        let mut used = vec![false; self.linearisations.len()];
        stations.iter().for_each(|s| used[s.linearisation] = true);
        let longest = (0..layout.intervals())
            .map(|k| layout.length(k))
            .fold(0.0, f64::max);
        let (mut splines, mut told) = (Vec::new(), Vec::new());
        for (linear, used) in self.linearisations.iter().zip(used) {
            if !used {
                splines.push(WigglySpline::of_modes(layout.clone(), Vec::new()));
                told.push(0.0);
                continue;
            }
            let s = &self.settings;
            let oscillators = linear.oscillators(s.stiffness, s.damping, &pushed);
            check_range(&oscillators, longest)?;
            let coordinates = |knot: usize| match (key_of[knot], &whole[knot]) {
                (_, Some(coordinates)) => Some(coordinates.as_slice()),
                (Some(key), None) => Some(self.coordinates[key].as_slice()),
                (None, None) => None,
            };
            let values = in_modes(linear, layout.knots().len(), |knot, i| {
                coordinates(knot).map_or(0.0, |c| c[i] - linear.centre[i])
            });
            let slope = |of: &[Vec<f64>]| {
                in_modes(linear, layout.knots().len(), |knot, i| {
                    key_of[knot].map_or(0.0, |key| of[key].get(i).copied().unwrap_or(0.0))
                })
            };
            let (before, behind) = (slope(&incoming), slope(&outgoing));
            let slopes = before.norm_max().max(behind.norm_max());
            told.push(values.norm_max() + slopes * longest);
            let row = |of: &Mat<f64>, mode: usize| -> Vec<f64> {
                (0..layout.knots().len()).map(|k| of[(mode, k)]).collect()
            };
            let given: Vec<KnotData> = (0..self.dimension())
                .map(|mode| KnotData {
                    values: row(&values, mode),
                    incoming: row(&before, mode),
                    outgoing: row(&behind, mode),
                })
                .collect();
            let soft = key_of.iter().enumerate().filter_map(|(knot, key)| {
                let weight = self.weights[(*key)?]?;
                // A cycle's last keyframe is its first: drawn to once.
                let again = self.cyclic && *key == Some(keys - 1);
                (!layout.knots()[knot].valued && !again).then_some((knot, weight))
            });
            let soft: Vec<(usize, f64)> = soft.collect();
            let drawn: Vec<Drawn> = drawn_to(&layout, &self.ghosts, &ghost_times)
                .map(|(knot, ghost, room)| {
                    let to = &self.linearisations[ghost.linearisation].centre;
                    let away: Vec<f64> =
                        to.iter().zip(&linear.centre).map(|(g, c)| g - c).collect();
                    let wanted = matrix_times(&linear.to_modes, &away);
                    Drawn { knot, room, wanted }
                })
                .collect();
            if soft.is_empty() && drawn.is_empty() && conditions.is_empty() {
                splines.push(WigglySpline::new(layout.clone(), oscillators, given));
                continue;
            }
            let pulls: Vec<Vec<Pull>> = (0..self.dimension())
                .map(|mode| {
                    let pull = |&(knot, weight): &(usize, f64)| Pull {
                        knot,
                        weight,
                        wanted: values[(mode, knot)],
                    };
                    let ghost = |ghost: &Drawn| Pull {
                        knot: ghost.knot,
                        weight: passing::weight(&oscillators[mode], ghost.room),
                        wanted: ghost.wanted[mode],
                    };
                    soft.iter()
                        .map(pull)
                        .chain(drawn.iter().map(ghost))
                        .collect()
                })
                .collect();
            let held: Vec<coupled::Conditions> = conditions
                .iter()
                .map(|(knot, rows)| rows.around(*knot, linear))
                .collect();
            let modes = coupled::solve(&layout, &oscillators, given, &pulls, &held);
            splines.push(WigglySpline::of_modes(layout.clone(), modes));
        }
        for (spline, told) in splines.iter().zip(told) {
            if let Some((knot, times)) = runaway(&layout, spline, told) {
                let keyframe = (0..=knot).rev().find_map(|k| key_of[k]).unwrap_or(0);
                return Err(SpacetimeError::Runaway { keyframe, times });
            }
        }
        Ok(Solved {
            stations,
            splines,
            rigid,
            misses,
        })
    }

    /// Prescribed velocities before and behind each keyframe, in coordinates, and the rigid motion.
    pub(super) fn slopes(&self) -> (Vec<Vec<f64>>, Vec<Vec<f64>>, Option<RigidPath>) {
        let masses = self.body.masses();
        let keys = self.times.len();
        let mut parted: [Vec<Option<Parted>>; 2] = [vec![None; keys], vec![None; keys]];
        let mut coordinates: [Vec<Vec<f64>>; 2] = [vec![Vec::new(); keys], vec![Vec::new(); keys]];
        for key in 0..keys {
            let Some(velocity) = self.velocity(key) else {
                continue;
            };
            for (side, given) in [velocity.incoming(), velocity.outgoing()]
                .iter()
                .enumerate()
            {
                let Some(given) = given else { continue };
                coordinates[side][key] = match &self.places {
                    Some(places) => {
                        let own = part(&self.keyframes[key], given, masses, &places[key]);
                        let coordinates = self.space.nearest(|v| own.rest[v]);
                        parted[side][key] = Some(own);
                        coordinates
                    }
                    None => self.space.nearest(|v| given[v]),
                };
            }
        }
        let [incoming, outgoing] = coordinates;
        let rigid = self.places.as_ref().map(|places| {
            let layout = Arc::new(Layout::new(self.key_knots(|_| true), self.cyclic));
            let pivot = centre(&self.keyframes[0], masses);
            let (damping, gravity) = (0.5 * self.settings.damping.0, self.settings.gravity);
            RigidPath::new(
                layout,
                places,
                pivot,
                (&parted[0], &parted[1]),
                damping,
                gravity,
            )
        });
        (incoming, outgoing, rigid)
    }

    fn stations(&self, ghost_times: &[f64]) -> Vec<Station> {
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

/// Refuses values and slopes that are chosen so large that nothing is left of the keyframes in the digits: with damping, a free start
/// grows exponentially. `told`: the largest that keyframes and prescribed velocities ask of a mode. Gives the knot, and how many times as
/// large.
fn runaway(layout: &Layout, spline: &WigglySpline, told: f64) -> Option<(usize, f64)> {
    /// How many times more than what is told.
    const ABSURD: f64 = 1e12;
    let lengths = (0..layout.intervals()).map(|k| layout.length(k));
    let longest = lengths.fold(0.0, f64::max);
    let (mut told, mut most, mut at) = (told, 0.0f64, 0);
    for mode in 0..spline.len() {
        let (data, o) = (spline.data(mode), spline.oscillator(mode));
        // Where it would rest, or how far it would fall.
        let second = longest * longest;
        told = told.max(o.gravity.abs() * second / (o.stiffness.abs() * second).max(1.0));
        for knot in 0..layout.knots().len() {
            let slopes = data.incoming[knot].abs().max(data.outgoing[knot].abs());
            let size = (data.values[knot].abs() + slopes * longest).max(0.0);
            let lost = !(data.values[knot] + data.incoming[knot] + data.outgoing[knot]).is_finite();
            if lost || size > most {
                (most, at) = (if lost { f64::INFINITY } else { size }, knot);
            }
        }
    }
    (told > 0.0 && most > ABSURD * told).then(|| (at, most / told))
}

/// A ghost around a linearisation: the knot it draws at, the time to its neighbours, and where to, in modes.
struct Drawn {
    knot: usize,
    room: f64,
    wanted: Vec<f64>,
}

/// The knot of each ghost that draws, and the mean time to its neighbours: none where a keyframe stands.
fn drawn_to<'a>(
    layout: &'a Layout,
    ghosts: &'a [Ghost],
    times: &'a [f64],
) -> impl Iterator<Item = (usize, &'a Ghost, f64)> {
    ghosts.iter().zip(times).filter_map(|(ghost, &time)| {
        let knots = layout.knots();
        let knot = knots.partition_point(|k| k.time < time);
        let (before, behind) = (knots.get(knot.checked_sub(1)?)?, knots.get(knot + 1)?);
        let room = 0.5 * (behind.time - before.time);
        (!knots[knot].valued).then_some((knot, ghost, room))
    })
}

/// Vectors in coordinates as those of the modes: a column for each knot.
fn in_modes(linear: &Linearisation, knots: usize, of: impl Fn(usize, usize) -> f64) -> Mat<f64> {
    let coordinates = Mat::from_fn(linear.centre.len(), knots, |i, knot| of(knot, i));
    product(linear.to_modes.as_ref(), coordinates.as_ref())
}

impl Rows {
    /// As conditions on the modes around a linearisation.
    fn around(&self, knot: usize, linear: &Linearisation) -> coupled::Conditions {
        let here = matrix_times(&self.rows, &linear.centre);
        coupled::Conditions {
            knot,
            rows: product(self.rows.as_ref(), linear.modes.as_ref()),
            wanted: self.wanted.iter().zip(here).map(|(w, h)| w - h).collect(),
            compliance: self.compliance.clone(),
        }
    }
}
