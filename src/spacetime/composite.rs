// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motions in sequence: contact as in the paper, with other fixed parts and velocities in each. [hildebrandt2012, §6]

use super::SpacetimeError;
use super::motion::Spacetime;
use crate::Vec3;

/// Segments in sequence; each begins when the one before ends.
pub struct Composite<'a> {
    segments: Vec<&'a Spacetime>,
}

impl<'a> Composite<'a> {
    /// Joins segments of one body.
    ///
    /// # Errors
    /// An empty list, segments of other bodies, segments that do not join in time or in shape.
    pub fn new(segments: Vec<&'a Spacetime>) -> Result<Self, SpacetimeError> {
        let joined = Self::from_checked_segments(segments)?;
        joined.check_shapes()?;
        Ok(joined)
    }

    /// Joins segments whose shapes have been checked. Later changes of the shapes are accepted; sizes and times are checked.
    pub(crate) fn from_checked_segments(
        segments: Vec<&'a Spacetime>,
    ) -> Result<Self, SpacetimeError> {
        let Some(first) = segments.first() else {
            return Err(SpacetimeError::TooFew { keys: 0 });
        };
        for (k, segment) in segments.iter().enumerate() {
            if segment.node_count() != first.node_count() {
                return Err(SpacetimeError::Size {
                    what: format!("segment {k}"),
                    vertices: segment.node_count(),
                    nodes: first.node_count(),
                });
            }
        }
        for (k, pair) in segments.windows(2).enumerate() {
            let (end, start) = (end_time(pair[0]), pair[1].times()[0]);
            if (end - start).abs() > 1e-9 * (1.0 + end.abs()) {
                return Err(SpacetimeError::Gap {
                    segment: k + 1,
                    start,
                    end,
                });
            }
        }
        Ok(Self { segments })
    }

    /// Checks that the shapes of successive segments agree at their joints.
    pub(crate) fn check_shapes(&self) -> Result<(), SpacetimeError> {
        for (k, pair) in self.segments.windows(2).enumerate() {
            let (Some(last), Some(next)) =
                (pair[0].keyframes().last(), pair[1].keyframes().first())
            else {
                continue;
            };
            let apart = |(v, (a, b)): (usize, (&Vec3, &Vec3))| (v, (a - b).norm());
            let farthest = last.iter().zip(next).enumerate().map(apart);
            let Some((vertex, distance)) = farthest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                continue;
            };
            let size = last.iter().map(|x| x.amax()).fold(0.0, f64::max);
            if distance > 1e-4 * size {
                return Err(SpacetimeError::Apart {
                    segment: k + 1,
                    vertex,
                    distance,
                });
            }
        }
        Ok(())
    }

    /// Returns the segments.
    pub fn segments(&self) -> &[&'a Spacetime] {
        &self.segments
    }

    /// Returns the start times of the segments and the end of the last one, s.
    pub fn times(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.segments.iter().map(|s| s.times()[0]).collect();
        times.extend(self.segments.last().map(|s| end_time(s)));
        times
    }

    /// Returns the number of vertices.
    pub fn node_count(&self) -> usize {
        self.segments[0].node_count()
    }

    /// Writes the positions at all times into `out[times · n · 3]`, frame by frame. At a joint the later segment applies.
    pub fn positions_into(&self, times: &[f64], out: &mut [f32]) {
        self.write_by_segment(times, out, Spacetime::positions_into);
    }

    /// Writes the positions of cubic splines through the same keyframes, in the layout of
    /// [`positions_into`](Self::positions_into).
    pub fn cubic_positions_into(&self, times: &[f64], out: &mut [f32]) {
        self.write_by_segment(times, out, Spacetime::cubic_positions_into);
    }

    fn write_by_segment(
        &self,
        times: &[f64],
        out: &mut [f32],
        write: impl Fn(&Spacetime, &[f64], &mut [f32]),
    ) {
        let frame = 3 * self.node_count();
        let of = |time: f64| {
            let begun = self.segments.partition_point(|s| s.times()[0] <= time);
            begun.max(1) - 1
        };
        // Consecutive frames of one segment are written in one call.
        let mut rest = out;
        let mut from = 0;
        while from < times.len() {
            let segment = of(times[from]);
            let run = times[from..]
                .iter()
                .take_while(|&&t| of(t) == segment)
                .count();
            let (own, after) = rest.split_at_mut(run * frame);
            write(self.segments[segment], &times[from..from + run], own);
            rest = after;
            from += run;
        }
    }
}

fn end_time(motion: &Spacetime) -> f64 {
    motion.times()[motion.times().len() - 1]
}
