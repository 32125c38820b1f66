// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs of bones: the two trees aligned by dynamic programming.
//!
//! An alignment pairs bones so that ancestors stay ancestors. It earns `0.75 − cost` a pair. Bones without a partner cost
//! by their skin: one in the middle of a chain is skipped, and a branch is dropped whole. `V(a, b)` is the best sum over
//! the branches of a and b:
//!
//! `V(a, b) = max( pair: 0.75 − cost(a, b) + assignment of the children,  skip a: max_c V(c, b),  skip b: max_d V(a, d) )`
//!
//! less what skips and drops cost. Children are assigned for the largest sum; one child of either may be skipped so that its own
//! children are assigned in its place, as rigs branch at different bones. O(a b d³) for a and b bones of at most d children.
//!
//! A body that is only an arm has its places, skin and chain elsewhere than the arm of a person, so that pairs cost more than they
//! earn. So bones that stay without a partner although one of the same name, or else one of the same part and side, has none either
//! are paired first, as far as the trees allow, in further alignments.
//!
//! A character may lie or look another way. So the alignment is repeated with the 24 turns that take the principal axes of
//! one skin to those of the other, and one of these counts where it is far better than none.

use super::assignment::assign;
use super::bones::{BoneFeatures, CharacterBones};
use super::names::BoneName;
use crate::Mat3;
use rayon::prelude::*;

/// Gain of a pair. In 24 pairs of eight known characters without names it pairs 526 bones of one part and 60 of others,
/// most a bone off; half of it 384 and 54, twice 516 and 88.
const MATCH_GAIN: f64 = 0.75;
/// Costs of a pair: places of head, own skin and skin beyond, each saturating at [`PLACE_SCALE`]; heading; share of the
/// chain; ratio of skin. Chosen on twelve known characters.
const HEAD_COST: f64 = 0.25;
const CENTRE_COST: f64 = 0.35;
const BEYOND_COST: f64 = 0.25;
const HEADING_COST: f64 = 0.12;
const CHAIN_COST: f64 = 1.0;
const SHARE_COST: f64 = 0.03;
/// Distance at which a place costs half of the most, relative to the skin's radius: arms that hang and arms held out stay
/// comparable. Half of it pairs 458 of those bones rightly, twice 546.
const PLACE_SCALE: f64 = 0.6;
/// Upper bound of a squared logarithm of skin shares that counts, own and beyond.
const MAX_SHARE: [f64; 2] = [4.0, 6.0];
/// Smallest share of skin, below which it does not matter how little it is.
const MIN_SHARE: f64 = 1e-4;
/// Costs of a bone without a partner: of each, and of all skin; and of a skip. Halving or doubling the last two changes at
/// most 4 of those bones.
const BONE_PENALTY: f64 = 0.05;
const SKIN_PENALTY: f64 = 1.0;
const SKIP_PENALTY: f64 = 0.05;
/// A turn counts where its sum is larger by this share and by this much than without one.
const TURN_SHARE: f64 = 0.25;
const TURN_GAIN: f64 = 1.0;
/// Gain of a pair that was passed, and cost of all others of its bones: nothing outweighs it.
const GIVEN_GAIN: f64 = 100.0;
/// Further gain of a pair of namesakes, where shapes leave some without partners. It outweighs all that 200 dropped bones cost.
const NAMESAKE_GAIN: f64 = 12.0;

/// Most alignments with more and more namesakes. A hand whose fingers were paired crosswise takes two.
const NAMESAKE_ROUNDS: usize = 4;

/// A pair of bones by their numbers in the two skeletons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BonePair {
    pub source: usize,
    pub target: usize,
}

/// Pairs of bones, and the turn from the source's axes to the target's with which they were found.
pub(super) struct Alignment {
    pub pairs: Vec<BonePair>,
    /// Cost of each pair, 0 for equal bones; `None`: the pair was passed.
    pub costs: Vec<Option<f64>>,
    pub turn: Mat3,
    /// `true`: the identity was far worse than [`turn`](Self::turn).
    pub turned: bool,
    score: f64,
}

/// Aligns the bones of two characters; `given` pairs are kept, and `names` count if they are to.
pub(super) fn align_bones(
    source: &CharacterBones,
    target: &CharacterBones,
    given: &[BonePair],
    names: bool,
) -> Alignment {
    let mut wishes = Wishes {
        given,
        namesakes: Vec::new(),
        names,
    };
    let mut found = best_alignment(source, target, &wishes);
    let alike = match names {
        true => namesakes([&source.list, &target.list]),
        false => Vec::new(),
    };
    for _ in 0..NAMESAKE_ROUNDS {
        let (mut lone, together) = lone_and_together(&alike, &found.pairs);
        lone.retain(|pair| !wishes.namesakes.contains(pair));
        if lone.is_empty() {
            break;
        }
        wishes.namesakes.extend(lone);
        // Those that are pairs already are not to be lost to others.
        wishes.namesakes.extend(together);
        found = best_alignment(source, target, &wishes);
    }
    found
}

/// Constraints on pairs other than shapes.
struct Wishes<'a> {
    given: &'a [BonePair],
    /// Pairs of bones of one name that are to be paired where the trees allow it.
    namesakes: Vec<BonePair>,
    /// `true`: names count.
    names: bool,
}

/// Returns bones of the same name, and of the others those of the same part and side; each name is that of one bone of either list.
fn namesakes(lists: [&[BoneFeatures]; 2]) -> Vec<BonePair> {
    let mut found: Vec<BonePair> = Vec::new();
    for is_same in [BoneName::is_same, BoneName::is_same_part] {
        for one in lists[0] {
            let [Some(own), Some(other)] = lists.map(|list| {
                let mut alike = list.iter().filter(|bone| is_same(&bone.name, &one.name));
                alike.next().filter(|_| alike.next().is_none())
            }) else {
                continue;
            };
            let (source, target) = (own.bone, other.bone);
            if !found
                .iter()
                .any(|pair| pair.source == source || pair.target == target)
            {
                found.push(BonePair { source, target });
            }
        }
    }
    found
}

/// Returns the namesakes of which neither has a partner, and those that are partners.
fn lone_and_together(namesakes: &[BonePair], pairs: &[BonePair]) -> (Vec<BonePair>, Vec<BonePair>) {
    let is_lone = |own: &BonePair| {
        let shares = |pair: &BonePair| pair.source == own.source || pair.target == own.target;
        !pairs.iter().any(shares)
    };
    let (lone, others): (Vec<BonePair>, Vec<BonePair>) = namesakes.iter().partition(|p| is_lone(p));
    let together = others.into_iter().filter(|pair| pairs.contains(pair));
    (lone, together.collect())
}

/// Aligns the bones of two characters with the turn that pairs them best.
fn best_alignment(
    source: &CharacterBones,
    target: &CharacterBones,
    wishes: &Wishes<'_>,
) -> Alignment {
    let aligned = |turn: Mat3| Table::new(source, target, wishes, turn).alignment();
    let plain = aligned(Mat3::identity());
    let turned: Vec<Alignment> = axis_turns(&source.axes, &target.axes)
        .into_par_iter()
        .map(aligned)
        .collect();
    let best = turned
        .into_iter()
        .reduce(|best, next| if next.score > best.score { next } else { best });
    // What given pairs and namesakes earn is in all sums.
    let namesakes = (plain.pairs.iter()).filter(|pair| wishes.namesakes.contains(pair));
    let own = plain.score
        - GIVEN_GAIN * wishes.given.len() as f64
        - NAMESAKE_GAIN * namesakes.count() as f64;
    let needed = plain.score + TURN_GAIN + TURN_SHARE * own.max(0.0);
    match best.filter(|best| best.score > needed) {
        Some(best) => Alignment {
            turned: true,
            ..best
        },
        None => plain,
    }
}

/// Returns the 24 rotations that take axes to axes, in any order and direction.
fn axis_turns(from: &Mat3, to: &Mat3) -> Vec<Mat3> {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let mut turns = Vec::with_capacity(24);
    for order in ORDERS {
        for signs in 0..8 {
            let mut permuted = Mat3::zeros();
            for (column, &row) in order.iter().enumerate() {
                permuted[(row, column)] = if signs >> column & 1 == 0 { 1.0 } else { -1.0 };
            }
            let turn = to * permuted * from.transpose();
            if turn.determinant() > 0.0 {
                turns.push(turn);
            }
        }
    }
    turns
}

/// The best step at a pair of bones.
#[derive(Clone)]
enum Step {
    /// They are a pair; so are these children, or children of theirs.
    Pair(Vec<(usize, usize)>),
    /// The source's bone is skipped for this child.
    SkipSource(usize),
    /// The target's bone is skipped for this child.
    SkipTarget(usize),
}

/// The table of the dynamic program.
struct Table<'a> {
    source: &'a [BoneFeatures],
    target: &'a [BoneFeatures],
    /// Cost of each pair `[source, target]`.
    costs: Vec<f64>,
    wishes: &'a Wishes<'a>,
    turn: Mat3,
    /// Cost of each bone without a partner, and of its whole branch.
    alone: [Vec<f64>; 2],
    dropped: [Vec<f64>; 2],
    values: Vec<f64>,
    steps: Vec<Step>,
}

impl<'a> Table<'a> {
    fn new(
        source: &'a CharacterBones,
        target: &'a CharacterBones,
        wishes: &'a Wishes<'a>,
        turn: Mat3,
    ) -> Self {
        let (a, b) = (&source.list[..], &target.list[..]);
        let alone = [a, b].map(|list| {
            let penalty = |bone: &BoneFeatures| BONE_PENALTY + SKIN_PENALTY * bone.share;
            list.iter().map(penalty).collect::<Vec<f64>>()
        });
        let mut dropped = alone.clone();
        for (list, dropped) in [a, b].iter().zip(&mut dropped) {
            for i in (0..list.len()).rev() {
                dropped[i] += list[i].children.iter().map(|&k| dropped[k]).sum::<f64>();
            }
        }
        let cost = |one: &BoneFeatures, other: &BoneFeatures| {
            let own = |p: &BonePair| (p.source == one.bone, p.target == other.bone);
            match wishes
                .given
                .iter()
                .map(own)
                .find(|found| found.0 || found.1)
            {
                Some((true, true)) => MATCH_GAIN - GIVEN_GAIN,
                Some(_) => GIVEN_GAIN,
                None if wishes.names => pair_cost(one, other, &turn) + one.name.cost(&other.name),
                None => pair_cost(one, other, &turn),
            }
        };
        let costs = a
            .iter()
            .flat_map(|one| b.iter().map(move |other| cost(one, other)));
        let mut table = Self {
            source: a,
            target: b,
            costs: costs.collect(),
            wishes,
            turn,
            alone,
            dropped,
            values: vec![0.0; a.len() * b.len()],
            steps: vec![Step::Pair(Vec::new()); a.len() * b.len()],
        };
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                let (value, step) = table.best_step(i, j);
                let at = table.at(i, j);
                (table.values[at], table.steps[at]) = (value, step);
            }
        }
        table
    }

    fn at(&self, i: usize, j: usize) -> usize {
        i * self.target.len() + j
    }

    /// Returns the best sum over the branches of two bones, and the step that leads to it. Children come later in the lists.
    fn best_step(&self, i: usize, j: usize) -> (f64, Step) {
        let (children, others) = (&self.source[i].children, &self.target[j].children);
        let (sum, pairs) = self.best_children(children, others);
        let mut best = (
            MATCH_GAIN + self.namesake_gain(i, j) - self.costs[self.at(i, j)] + sum,
            Step::Pair(pairs),
        );
        let [all, all_others] =
            [(0, children), (1, others)].map(|(side, list)| self.drop_all(side, list));
        for &k in children {
            let rest = all - self.dropped[0][k] + self.alone[0][i] + SKIP_PENALTY;
            let value = self.values[self.at(k, j)] - rest;
            if value > best.0 {
                best = (value, Step::SkipSource(k));
            }
        }
        for &k in others {
            let rest = all_others - self.dropped[1][k] + self.alone[1][j] + SKIP_PENALTY;
            let value = self.values[self.at(i, k)] - rest;
            if value > best.0 {
                best = (value, Step::SkipTarget(k));
            }
        }
        best
    }

    /// Returns the further gain of a pair of namesakes.
    fn namesake_gain(&self, i: usize, j: usize) -> f64 {
        let is_namesake = self.wishes.namesakes.contains(&self.pair(i, j));
        if is_namesake { NAMESAKE_GAIN } else { 0.0 }
    }

    fn pair(&self, i: usize, j: usize) -> BonePair {
        BonePair {
            source: self.source[i].bone,
            target: self.target[j].bone,
        }
    }

    fn drop_all(&self, side: usize, list: &[usize]) -> f64 {
        list.iter().map(|&k| self.dropped[side][k]).sum()
    }

    /// Returns the best sum over children, with at most one of them skipped for its own children.
    fn best_children(&self, children: &[usize], others: &[usize]) -> (f64, Vec<(usize, usize)>) {
        let mut best = self.assigned(children, others);
        for (side, list) in [children, others].into_iter().enumerate() {
            let bones = [self.source, self.target][side];
            for &k in list.iter().filter(|&&k| bones[k].children.len() > 1) {
                let kept = list.iter().copied().filter(|&other| other != k);
                let opened: Vec<usize> = kept.chain(bones[k].children.iter().copied()).collect();
                let (sum, pairs) = match side {
                    0 => self.assigned(&opened, others),
                    _ => self.assigned(children, &opened),
                };
                let sum = sum - self.alone[side][k] - SKIP_PENALTY;
                if sum > best.0 {
                    best = (sum, pairs);
                }
            }
        }
        best
    }

    /// Returns the best sum over an assignment of bones to bones; those left over are dropped.
    fn assigned(&self, bones: &[usize], others: &[usize]) -> (f64, Vec<(usize, usize)>) {
        let gain = |i: usize, j: usize| {
            let (i, j) = (bones[i], others[j]);
            self.values[self.at(i, j)] + self.dropped[0][i] + self.dropped[1][j]
        };
        let mut sum = -self.drop_all(0, bones) - self.drop_all(1, others);
        let mut pairs = Vec::new();
        for (i, j) in assign(bones.len(), others.len(), gain)
            .into_iter()
            .enumerate()
        {
            if let Some(j) = j {
                sum += gain(i, j);
                pairs.push((bones[i], others[j]));
            }
        }
        (sum, pairs)
    }

    /// Follows the best steps from the roots.
    fn alignment(self) -> Alignment {
        let mut open = vec![(0, 0)];
        let mut found = Vec::new();
        if self.values.is_empty() {
            open.clear();
        }
        while let Some((i, j)) = open.pop() {
            match &self.steps[self.at(i, j)] {
                Step::SkipSource(k) => open.push((*k, j)),
                Step::SkipTarget(k) => open.push((i, *k)),
                Step::Pair(next) => {
                    open.extend(next);
                    let pair = self.pair(i, j);
                    let cost = self.costs[self.at(i, j)];
                    // Where branches fit, their roots are a step of the table even if the pair itself earns nothing.
                    let counts = cost < MATCH_GAIN + self.namesake_gain(i, j);
                    if counts && !self.wishes.given.contains(&pair) {
                        found.push((pair, Some(cost)));
                    }
                }
            }
        }
        found.extend(self.wishes.given.iter().map(|&pair| (pair, None)));
        found.sort_by_key(|(pair, _)| *pair);
        let (pairs, costs) = found.into_iter().unzip();
        Alignment {
            pairs,
            costs,
            turn: self.turn,
            turned: false,
            score: self.values.first().copied().unwrap_or(0.0),
        }
    }
}

/// Returns the cost of a pair by its shape.
fn pair_cost(one: &BoneFeatures, other: &BoneFeatures, turn: &Mat3) -> f64 {
    let place = |a: &crate::Vec3, b: &crate::Vec3| {
        let apart = (turn * a - b).norm_squared();
        apart / (apart + PLACE_SCALE * PLACE_SCALE)
    };
    let share = |a: f64, b: f64, most: f64| {
        let ratio = (a.max(MIN_SHARE) / b.max(MIN_SHARE)).ln();
        (ratio * ratio).min(most)
    };
    let chain = one.chain - other.chain;
    HEAD_COST * place(&one.head, &other.head)
        + CENTRE_COST * place(&one.centre, &other.centre)
        + BEYOND_COST * place(&one.centre_beyond, &other.centre_beyond)
        + HEADING_COST * (1.0 - (turn * one.heading).dot(&other.heading))
        + (CHAIN_COST * chain * chain).min(0.5 * CHAIN_COST)
        + SHARE_COST * share(one.share, other.share, MAX_SHARE[0])
        + SHARE_COST * share(one.share_beyond, other.share_beyond, MAX_SHARE[1])
}
