// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few bones of one vertex: own bones and helpers whose blend is nearest to where the vertex is seen.
//!
//! Own bones are one column, of the heaviest of them in their proportions; all numbers of them are tried. The helper that brings the
//! blend nearest joins, and all weights are fitted again, until no helper is worth it or no influence is left. Then each helper is
//! replaced by what fits better.

use super::alignment::dot;
use super::rig::VertexSkin;
use super::simplex::{MAX_WEIGHTS, SmallSystem, gain_towards};
use smallvec::SmallVec;

/// A bone joins if it lowers the square distance by this part.
pub(super) const WORTHWHILE: f64 = 1e-4;

/// By how much the square distance of a vertex grows without each of its helpers.
pub(super) type Losses = SmallVec<[(u32, f64); 4]>;

/// Refits the weights of few bones towards the least largest error, and returns a score of what is left, and the weights.
pub(super) type Polish<'p> = &'p dyn Fn(&VertexSkin) -> (f64, VertexSkin);

/// The bones of a vertex, and what each helper is worth to it.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub skin: VertexSkin,
    pub losses: Losses,
}

/// Gram matrix and right side of one vertex, over candidates among the helpers and its own bones.
pub(super) struct Columns<'a> {
    pub candidates: Vec<usize>,
    /// Weights of the own bones, the heaviest first.
    pub weights: &'a [f64],
    /// Lower triangle until a search begins.
    pub gram: Vec<f64>,
    pub right: Vec<f64>,
    pub square: f64,
}

impl<'a> Columns<'a> {
    /// Takes the lower triangle of the Gram matrix, the products with the target, and its square.
    pub(super) fn new(
        candidates: Vec<usize>,
        weights: &'a [f64],
        gram: Vec<f64>,
        right: Vec<f64>,
        square: f64,
    ) -> Self {
        Self {
            candidates,
            weights,
            gram,
            right,
            square,
        }
    }

    /// Adds a frame with a weight. `place` gives where a helper, or else an own bone, puts the vertex.
    pub(super) fn add_frame(
        &mut self,
        weight: f64,
        target: &[f64; 3],
        place: impl Fn(Option<usize>, usize) -> [f64; 3],
    ) {
        let (size, helpers) = (self.right.len(), self.candidates.len());
        let at: Vec<[f64; 3]> = (0..size)
            .map(|i| match i.checked_sub(helpers) {
                None => place(Some(self.candidates[i]), 0),
                Some(own) => place(None, own),
            })
            .collect();
        for i in 0..size {
            for j in 0..=i {
                self.gram[i * size + j] += weight * dot(&at[i], &at[j]);
            }
            self.right[i] += weight * dot(&at[i], target);
        }
        self.square += weight * dot(target, target);
    }

    /// Copies the lower triangle to the upper one.
    pub(super) fn fill_triangle(&mut self) {
        let size = self.right.len();
        for i in 0..size {
            for j in 0..i {
                self.gram[j * size + i] = self.gram[i * size + j];
            }
        }
    }

    /// Returns the best choice over all numbers of own bones that may stay. With `polish`, the least of its
    /// scores decides. With `keep`, only the present number is tried.
    pub(super) fn choose(
        mut self,
        previous: &VertexSkin,
        influences: usize,
        polish: Option<Polish<'_>>,
        keep: bool,
    ) -> Choice {
        self.fill_triangle();
        let mut polished: Option<(f64, VertexSkin)> = None;
        let mut best: Option<(Reduced<'_>, Chosen)> = None;
        let counts = match keep {
            true => previous.own.len()..=previous.own.len(),
            false => 0..=self.weights.len(),
        };
        for kept in counts.rev() {
            let reduced = Reduced::new(&self, kept);
            let Some(found) = reduced.search(previous, influences, keep) else {
                continue;
            };
            if let Some(polish) = polish {
                let (score, skin) = polish(&reduced.describe(&found).skin);
                if polished.as_ref().is_none_or(|p| score < p.0) {
                    polished = Some((score, skin));
                }
            }
            let least = best.as_ref().map_or(f64::INFINITY, |b| b.1.distance);
            if found.distance < least * (1.0 - WORTHWHILE) || best.is_none() {
                best = Some((reduced, found));
            }
        }
        if let (Some(polish), Some((score, skin))) = (polish, polished) {
            let again = polish(previous);
            let skin = if again.0 < score { again.1 } else { skin };
            return Choice {
                skin,
                losses: Losses::new(),
            };
        }
        let unchanged = || Choice {
            skin: previous.clone(),
            losses: Losses::new(),
        };
        best.map_or_else(unchanged, |(reduced, chosen)| reduced.describe(&chosen))
    }
}

/// Columns of helpers, and one of the own bones that stay: column `helpers`.
struct Reduced<'a> {
    columns: &'a Columns<'a>,
    kept: usize,
    /// Products of the own column with all helpers and itself.
    own: Vec<f64>,
    own_right: f64,
}

impl<'a> Reduced<'a> {
    fn new(columns: &'a Columns<'a>, kept: usize) -> Self {
        let (size, helpers) = (columns.right.len(), columns.candidates.len());
        let mut own = vec![0.0; helpers + 1];
        let mut own_right = 0.0;
        let sum: f64 = columns.weights[..kept].iter().sum();
        for (i, w) in columns.weights[..kept].iter().enumerate() {
            let (w, row) = (w / sum, &columns.gram[(helpers + i) * size..][..size]);
            for (to, x) in own[..helpers].iter_mut().zip(row) {
                *to += w * x;
            }
            for (j, v) in columns.weights[..kept].iter().enumerate() {
                own[helpers] += w * v / sum * row[helpers + j];
            }
            own_right += w * columns.right[helpers + i];
        }
        Self {
            columns,
            kept,
            own,
            own_right,
        }
    }

    #[inline]
    fn gram(&self, i: usize, j: usize) -> f64 {
        let helpers = self.columns.candidates.len();
        match (i < helpers, j < helpers) {
            (true, true) => self.columns.gram[i * self.columns.right.len() + j],
            (true, false) => self.own[i],
            (false, _) => self.own[j],
        }
    }

    #[inline]
    fn right(&self, i: usize) -> f64 {
        if i < self.columns.candidates.len() {
            self.columns.right[i]
        } else {
            self.own_right
        }
    }

    /// Returns the best weights found.
    fn search(&self, previous: &VertexSkin, influences: usize, keep: bool) -> Option<Chosen> {
        let helpers = self.columns.candidates.len();
        let room = influences - self.kept;
        let first = if self.kept > 0 {
            helpers
        } else {
            let distance = |h: usize| self.gram(h, h) - 2.0 * self.right(h);
            (0..helpers).min_by(|&a, &b| distance(a).total_cmp(&distance(b)))?
        };
        let again = keep && !previous.helpers.is_empty();
        let mut chosen = self.solve(&[first]);
        if !again {
            chosen = self.grow(chosen, room);
        }
        if previous.own.len() == self.kept && !previous.helpers.is_empty() {
            let column = |h: u32| (self.columns.candidates.iter()).position(|&c| c == h as usize);
            let before = previous.helpers.iter().filter_map(|h| column(h.0));
            let columns: Vec<usize> = before.chain((self.kept > 0).then_some(helpers)).collect();
            if !columns.is_empty() {
                let again = self.grow(self.solve(&columns), room);
                if again.distance < chosen.distance {
                    chosen = again;
                }
            }
        }
        Some(self.exchange(chosen, room))
    }

    /// Returns chosen columns as bones and weights.
    fn describe(&self, chosen: &Chosen) -> Choice {
        let helpers = self.columns.candidates.len();
        let own = chosen.columns.contains(&helpers);
        let (mut kept, mut losses) = (SmallVec::new(), Losses::new());
        for (at, (&c, &w)) in chosen.columns.iter().zip(&chosen.weights).enumerate() {
            if c == helpers {
                continue;
            }
            let helper = self.columns.candidates[c] as u32;
            kept.push((helper, w));
            let mut columns = chosen.columns.clone();
            columns.remove(at);
            let without = match columns.len() {
                0 => self.columns.square,
                _ => self.solve(&columns).distance,
            };
            losses.push((helper, (without - chosen.distance).max(0.0)));
        }
        let own = if own { self.kept } else { 0 };
        let skin = VertexSkin::proportional(self.columns.weights, own, kept);
        Choice { skin, losses }
    }

    /// Adds helpers one by one while they are worth it.
    fn grow(&self, chosen: Chosen, room: usize) -> Chosen {
        let helpers = self.columns.candidates.len();
        let count = |c: &Chosen| c.columns.iter().filter(|&&c| c < helpers).count();
        let addition = |c: &Chosen| (count(c) < room).then(|| self.best_addition(c)).flatten();
        chosen.grow(addition, |columns| self.solve(columns))
    }

    /// Replaces one helper after another by what fits better.
    fn exchange(&self, mut chosen: Chosen, room: usize) -> Chosen {
        let helpers = self.columns.candidates.len();
        for at in 0..chosen.columns.len() {
            if at >= chosen.columns.len() || chosen.columns[at] == helpers {
                continue;
            }
            let mut columns = chosen.columns.clone();
            columns.remove(at);
            if columns.is_empty() {
                continue;
            }
            let without = self.solve(&columns);
            let found = self.grow(without, room);
            if found.distance < chosen.distance * (1.0 - WORTHWHILE) {
                chosen = found;
            }
        }
        chosen
    }

    /// Returns the helper towards which the blend comes nearest.
    fn best_addition(&self, chosen: &Chosen) -> Option<usize> {
        let (columns, w) = (&chosen.columns, &chosen.weights);
        let mut square = 0.0;
        let mut along = 0.0;
        for (&a, wa) in columns.iter().zip(w) {
            along += wa * self.right(a);
            for (&b, wb) in columns.iter().zip(w) {
                square += wa * wb * self.gram(a, b);
            }
        }
        let (helpers, size) = (self.columns.candidates.len(), self.columns.right.len());
        let mut with: SmallVec<[f64; 32]> = smallvec::smallvec![0.0; helpers];
        for (&a, w) in columns.iter().zip(w) {
            let row = match a < helpers {
                true => &self.columns.gram[a * size..][..helpers],
                false => &self.own[..helpers],
            };
            for (sum, x) in with.iter_mut().zip(row) {
                *sum += w * x;
            }
        }
        let mut best = (0.0, None);
        for (h, with) in with.iter().enumerate() {
            let slope = self.columns.right[h] - with - along + square;
            if slope <= 0.0 || columns.contains(&h) {
                continue;
            }
            let length = self.columns.gram[h * size + h] - 2.0 * with + square;
            let gain = gain_towards(slope, length);
            if gain > best.0 {
                best = (gain, Some(h));
            }
        }
        best.1
    }

    fn solve(&self, columns: &[usize]) -> Chosen {
        let columns = &columns[..columns.len().min(MAX_WEIGHTS)];
        let system = SmallSystem::gather(columns, |i, j| self.gram(i, j), |i| self.right(i));
        Chosen::solve(&system, columns, self.columns.square)
    }
}

/// Chosen columns, their weights, and the square distance.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    pub columns: SmallVec<[usize; MAX_WEIGHTS]>,
    pub weights: SmallVec<[f64; MAX_WEIGHTS]>,
    pub distance: f64,
}

impl Chosen {
    /// Solves a system for the weights of columns and keeps those that are not 0. `square`: its value at no weights.
    pub(super) fn solve(system: &SmallSystem, columns: &[usize], square: f64) -> Self {
        let w = system.solve();
        let kept = (0..columns.len()).filter(|&i| w[i] > 0.0);
        Self {
            distance: (system.value(&w) + square).max(0.0),
            columns: kept.clone().map(|i| columns[i]).collect(),
            weights: kept.map(|i| w[i]).collect(),
        }
    }

    /// Adds one column after another while `addition` names one and it is worth its place.
    pub(super) fn grow(
        mut self,
        addition: impl Fn(&Self) -> Option<usize>,
        solve: impl Fn(&[usize]) -> Self,
    ) -> Self {
        while let Some(next) = addition(&self) {
            let mut columns = self.columns.clone();
            columns.push(next);
            let found = solve(&columns);
            if found.distance >= self.distance * (1.0 - WORTHWHILE) {
                break;
            }
            self = found;
        }
        self
    }
}
