// SPDX-License-Identifier: MIT OR Apache-2.0
//! Known and unknown quantities at the knots of a spline.
//!
//! A knot has a value and a slope, or at a *cut* two slopes. Each quantity that is not given is an unknown, with a number
//! in the [system](super::system). All modes share the numbering.

/// Connection of both sides of a knot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnotJoint {
    /// One slope for both sides, unknown.
    Smooth,
    /// One slope for both sides, given.
    Given,
    /// A slope for each side, each given (true) or unknown: only the value is shared.
    Cut {
        /// Whether the slope before the knot is given.
        incoming: bool,
        /// Whether the slope behind it is given.
        outgoing: bool,
    },
}

impl KnotJoint {
    /// Returns whether the slope before the knot is given, and the one behind it.
    pub(super) fn given_slopes(self) -> (bool, bool) {
        match self {
            Self::Smooth => (false, false),
            Self::Given => (true, true),
            Self::Cut { incoming, outgoing } => (incoming, outgoing),
        }
    }
}

/// A knot of a spline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knot {
    /// Time, s.
    pub time: f64,
    /// Whether its value is given.
    pub valued: bool,
    /// Its slopes. The first knot uses only the one behind, the last only the one before.
    pub joint: KnotJoint,
}

/// Indices of a knot's unknowns; `None` for quantities that are given or do not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KnotUnknowns {
    pub value: Option<usize>,
    pub incoming: Option<usize>,
    pub outgoing: Option<usize>,
}

/// The knots of splines and the numbering of their unknowns, shared by all modes.
#[derive(Debug, Clone, PartialEq)]
pub struct KnotLayout {
    knots: Vec<Knot>,
    cyclic: bool,
    pub(super) unknowns: Vec<KnotUnknowns>,
    /// Number of unknowns in the band.
    pub(super) inner: usize,
    /// Number of unknowns in the border.
    pub(super) border: usize,
    /// Largest difference within the band between two unknowns of one interval.
    pub(super) width: usize,
}

/// Values and slopes of one mode at all knots.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnotData {
    /// Value at each knot.
    pub values: Vec<f64>,
    /// Slope before each knot; at the first knot the one behind it, unless the spline is cyclic.
    pub incoming: Vec<f64>,
    /// Slope behind each knot; at the last knot the one before it, unless the spline is cyclic.
    pub outgoing: Vec<f64>,
}

impl KnotLayout {
    /// Numbers the unknowns of at least two knots at ascending times. With `cyclic`, the last knot is the first again.
    pub fn new(knots: Vec<Knot>, cyclic: bool) -> Self {
        let last = knots.len() - 1;
        let mut count = 0;
        let mut next = |given: bool| (!given).then(|| (count, count += 1).0);
        let mut unknowns = vec![KnotUnknowns::default(); knots.len()];
        let mut number = |k: usize, unknowns: &mut Vec<KnotUnknowns>| {
            let (knot, own) = (&knots[k], &mut unknowns[k]);
            let (incoming, outgoing) = knot.joint.given_slopes();
            own.value = next(knot.valued);
            let ends = !cyclic && (k == 0 || k == last);
            if ends {
                let slope = next(if k == 0 { outgoing } else { incoming });
                (own.incoming, own.outgoing) = (slope, slope);
            } else if let KnotJoint::Cut { .. } = knot.joint {
                (own.incoming, own.outgoing) = (next(incoming), next(outgoing));
            } else {
                own.incoming = next(incoming);
                own.outgoing = own.incoming;
            }
        };
        let inner = if cyclic {
            (1..last).for_each(|k| number(k, &mut unknowns));
            1..last
        } else {
            (0..=last).for_each(|k| number(k, &mut unknowns));
            0..last + 1
        };
        if cyclic {
            number(0, &mut unknowns);
            unknowns[last] = unknowns[0];
        }
        let all = |u: &KnotUnknowns| [u.value, u.incoming, u.outgoing];
        let within = inner.clone().flat_map(|k| all(&unknowns[k])).flatten();
        let inner_count = within.max().map_or(0, |most| most + 1);
        let border = all(&unknowns[0])
            .iter()
            .flatten()
            .max()
            .map_or(0, |m| m + 1);
        let border = if cyclic {
            border.saturating_sub(inner_count)
        } else {
            0
        };
        let mut layout = Self {
            knots,
            cyclic,
            unknowns,
            inner: inner_count,
            border,
            width: 0,
        };
        for k in 0..last {
            let own = layout.interval_unknowns(k).into_iter().flatten();
            let own: Vec<usize> = own.filter(|&u| u < inner_count).collect();
            let (low, high) = (own.iter().min(), own.iter().max());
            if let (Some(low), Some(high)) = (low, high) {
                layout.width = layout.width.max(high - low);
            }
        }
        layout
    }

    /// Returns the knots.
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// Returns whether the last knot is the first again.
    pub fn is_cyclic(&self) -> bool {
        self.cyclic
    }

    /// Returns the number of intervals.
    pub fn interval_count(&self) -> usize {
        self.knots.len() - 1
    }

    /// Returns the length of an interval, s.
    pub fn interval_length(&self, interval: usize) -> f64 {
        self.knots[interval + 1].time - self.knots[interval].time
    }

    /// Returns the number of unknowns of a mode.
    pub fn len(&self) -> usize {
        self.inner + self.border
    }

    /// Returns whether nothing is unknown.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the unknown of a knot's value; `None` where the value is given.
    pub fn value_unknown(&self, knot: usize) -> Option<usize> {
        self.unknowns[knot].value
    }

    /// Returns the unknowns of an interval in the order of its element.
    pub(super) fn interval_unknowns(&self, interval: usize) -> [Option<usize>; 4] {
        let (from, to) = (&self.unknowns[interval], &self.unknowns[interval + 1]);
        [from.value, from.outgoing, to.value, to.incoming]
    }

    /// Returns the interval of a time and the share of it. Times beyond the ends map to the first or last knot; cyclic
    /// splines repeat.
    pub fn locate(&self, time: f64) -> (usize, f64) {
        let (first, last) = (self.knots[0].time, self.knots[self.knots.len() - 1].time);
        let time = if self.cyclic {
            first + (time - first).rem_euclid(last - first)
        } else {
            time.clamp(first, last)
        };
        let after = self.knots.partition_point(|knot| knot.time <= time);
        let interval = after.clamp(1, self.knots.len() - 1) - 1;
        let share = (time - self.knots[interval].time) / self.interval_length(interval);
        (interval, share.clamp(0.0, 1.0))
    }
}

impl KnotData {
    /// Returns the values and slopes at the ends of an interval.
    pub(super) fn interval_ends(&self, interval: usize) -> super::IntervalEnds {
        super::IntervalEnds {
            values: [self.values[interval], self.values[interval + 1]],
            slopes: [self.outgoing[interval], self.incoming[interval + 1]],
        }
    }

    /// Returns the values of an interval's element unknowns.
    pub(super) fn element_values(&self, interval: usize) -> [f64; 4] {
        let ends = self.interval_ends(interval);
        [
            ends.values[0],
            ends.slopes[0],
            ends.values[1],
            ends.slopes[1],
        ]
    }
}
