// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few bones of one vertex where helpers at rest are to show the plain skin: each helper takes weight from its parent alone.
//!
//! The weight ŵ_b that the artist gave an own bone b is that of a group: of b and of the helpers whose parent it is. At least one bone of
//! each group stays. The bone that brings the blend nearest joins, and all weights are fitted again, until none is worth it or no
//! influence is left. Then each bone is replaced by what fits better, in its group where it is the last one there.

use super::choice::{Choice, Chosen, Columns, Losses, Polish, WORTHWHILE};
use super::rig::VertexSkin;
use super::simplex::{MAX_WEIGHTS, SmallSystem, gain_towards};

/// Times that all bones of a vertex are tried for exchange.
const PASSES: usize = 2;

/// Columns of a vertex in groups, helpers first.
pub(super) struct Shares<'a> {
    columns: Columns<'a>,
    /// Place of each candidate's parent among the own bones.
    groups: Vec<usize>,
    /// Own bones that stay, the heaviest, and their weights, which add up to 1.
    totals: Vec<f64>,
    influences: usize,
}

impl<'a> Shares<'a> {
    /// Takes the columns, and the place of each candidate's parent among the vertex's own bones.
    pub(super) fn new(mut columns: Columns<'a>, groups: Vec<usize>, influences: usize) -> Self {
        columns.fill_triangle();
        Self {
            totals: columns.weights.to_vec(),
            columns,
            groups,
            influences,
        }
    }

    /// Returns the best choice found over all numbers of own bones from `fewest` on that may stay. With `polish`, the least of its scores
    /// decides. With `keep`, only the present number is tried, from the present bones.
    pub(super) fn choose(
        mut self,
        previous: &VertexSkin,
        fewest: usize,
        polish: Option<Polish<'_>>,
        keep: bool,
    ) -> Choice {
        let mut best: Option<(f64, Choice)> = None;
        let mut polished: Option<(f64, VertexSkin)> = None;
        let mut consider = |skin: &VertexSkin| {
            let Some(polish) = polish else { return };
            let found = polish(skin);
            if polished.as_ref().is_none_or(|p| found.0 < p.0) {
                polished = Some(found);
            }
        };
        let counts = match keep {
            true => previous.own.len()..=previous.own.len(),
            false => fewest..=self.columns.weights.len(),
        };
        for kept in counts.rev() {
            self.keep(kept);
            let own = (0..kept).map(|i| self.groups.len() + i).collect();
            let known = (previous.own.len() == kept && !previous.helpers.is_empty())
                .then(|| self.columns_of(previous));
            let own = (!keep || known.is_none()).then_some(own);
            for start in own.into_iter().chain(known) {
                let found = self.exchange(self.grow(self.solve(&start)));
                let choice = self.describe(&found);
                consider(&choice.skin);
                let least = best.as_ref().map_or(f64::INFINITY, |b| b.0);
                if found.distance < least * (1.0 - WORTHWHILE) || best.is_none() {
                    best = Some((found.distance, choice));
                }
            }
        }
        consider(previous);
        let unpolished = best.map(|b| b.1);
        match (polished, unpolished) {
            (None, Some(choice)) => choice,
            (polished, _) => Choice {
                skin: polished.map_or_else(|| previous.clone(), |p| p.1),
                losses: Losses::new(),
            },
        }
    }

    /// Lets only the heaviest own bones and their helpers take part.
    fn keep(&mut self, count: usize) {
        let weights = &self.columns.weights[..count];
        let sum: f64 = weights.iter().sum();
        self.totals = weights.iter().map(|w| w / sum).collect();
    }

    /// Returns the columns of groups that take part.
    fn usable(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.right.len()).filter(|&c| self.group(c) < self.totals.len())
    }

    #[inline]
    fn group(&self, column: usize) -> usize {
        match self.groups.get(column) {
            Some(group) => *group,
            None => column - self.groups.len(),
        }
    }

    #[inline]
    fn gram(&self, i: usize, j: usize) -> f64 {
        self.columns.gram[i * self.columns.right.len() + j]
    }

    /// Returns the columns of a skin; groups that have lost theirs get the own bone.
    fn columns_of(&self, skin: &VertexSkin) -> Vec<usize> {
        let candidates = &self.columns.candidates;
        let column = |h: &(u32, f64)| candidates.iter().position(|&c| c == h.0 as usize);
        let mut columns: Vec<usize> = skin.helpers.iter().filter_map(column).collect();
        for (group, w) in skin.own.iter().enumerate() {
            if *w > 0.0 || columns.iter().all(|&c| self.group(c) != group) {
                columns.push(self.groups.len() + group);
            }
        }
        columns
    }

    /// Returns chosen columns as bones and weights, and what each helper is worth.
    fn describe(&self, chosen: &Chosen) -> Choice {
        let helpers = self.groups.len();
        let mut skin = VertexSkin {
            own: smallvec::smallvec![0.0; self.totals.len()],
            ..VertexSkin::default()
        };
        let mut losses = Losses::new();
        for (at, (&c, &w)) in chosen.columns.iter().zip(&chosen.weights).enumerate() {
            if c >= helpers {
                skin.own[c - helpers] = w;
                continue;
            }
            let helper = self.columns.candidates[c] as u32;
            skin.helpers.push((helper, w));
            let mut columns = chosen.columns.clone();
            columns[at] = helpers + self.group(c);
            if chosen.columns.contains(&columns[at]) {
                columns.remove(at);
            }
            let without = self.solve(&columns).distance;
            losses.push((helper, (without - chosen.distance).max(0.0)));
        }
        Choice { skin, losses }
    }

    /// Adds bones one by one while they are worth it.
    fn grow(&self, chosen: Chosen) -> Chosen {
        let has_room = |c: &Chosen| c.columns.len() < self.influences;
        let addition = |c: &Chosen| has_room(c).then(|| self.best_addition(c)).flatten();
        chosen.grow(addition, |columns| self.solve(columns))
    }

    /// Replaces one bone after another by what fits better.
    fn exchange(&self, mut chosen: Chosen) -> Chosen {
        for _ in 0..PASSES {
            let before = chosen.distance;
            for at in 0..chosen.columns.len() {
                let Some(found) = self.without(&chosen, at) else {
                    continue;
                };
                let found = self.grow(found);
                if found.distance < chosen.distance * (1.0 - WORTHWHILE) {
                    chosen = found;
                }
            }
            if chosen.distance >= before {
                break;
            }
        }
        chosen
    }

    /// Returns the best choice without one column: another of its group takes its place where it is the last one there.
    fn without(&self, chosen: &Chosen, at: usize) -> Option<Chosen> {
        let left = *chosen.columns.get(at)?;
        let group = self.group(left);
        let mut columns = chosen.columns.clone();
        columns.remove(at);
        if columns.iter().any(|&c| self.group(c) == group) {
            return Some(self.solve(&columns));
        }
        let others = (self.usable()).filter(|&c| c != left && self.group(c) == group);
        let with = |c: usize| {
            let mut columns = columns.clone();
            columns.push(c);
            self.solve(&columns)
        };
        others
            .map(with)
            .min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// Returns the bone that brings the blend nearest if the weight of its group moves to it from all others of the group.
    fn best_addition(&self, chosen: &Chosen) -> Option<usize> {
        let (columns, w) = (&chosen.columns, &chosen.weights);
        let slope = |c: usize| -> f64 {
            let along: f64 = (columns.iter().zip(w))
                .map(|(&a, w)| w * self.gram(c, a))
                .sum();
            self.columns.right[c] - along
        };
        let slopes: Vec<f64> = columns.iter().map(|&c| slope(c)).collect();
        let mut best = (0.0, None);
        for c in self.usable().filter(|c| !columns.contains(c)) {
            let group = self.group(c);
            let members = || (0..columns.len()).filter(|&i| self.group(columns[i]) == group);
            let total = self.totals[group];
            let mut along = total * slope(c);
            let mut length = total * total * self.gram(c, c);
            for i in members() {
                along -= w[i] * slopes[i];
                length -= 2.0 * total * w[i] * self.gram(c, columns[i]);
                for j in members() {
                    length += w[i] * w[j] * self.gram(columns[i], columns[j]);
                }
            }
            let gain = gain_towards(along, length);
            if gain > best.0 {
                best = (gain, Some(c));
            }
        }
        best.1
    }

    fn solve(&self, columns: &[usize]) -> Chosen {
        let columns = &columns[..columns.len().min(MAX_WEIGHTS)];
        let right = |c: usize| self.columns.right[c];
        let mut system = SmallSystem::gather(columns, |i, j| self.gram(i, j), right);
        for (i, &c) in columns.iter().enumerate() {
            system.groups[i] = self.group(c);
        }
        system.totals[..self.totals.len()].copy_from_slice(&self.totals);
        Chosen::solve(&system, columns, self.columns.square)
    }
}
