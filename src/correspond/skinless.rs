// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs of bones that lead no skin: roots that carry the whole body, ends of chains, helpers.
//!
//! Two of them are a pair if the nearest paired bones above them are one, and if they are near or their names agree. The
//! cheapest go first, and each may make others possible.

use super::align::{Alignment, BonePair};
use super::bones::CharacterBones;
use super::names::BoneName;
use crate::Vec3;
use crate::body::Body;

/// Largest cost of a pair: distance of the heads, relative to the skin's radius, and cost of the names.
const MAX_COST: f64 = 0.3;

/// Adds pairs of bones that lead no skin to an alignment.
pub(super) fn pair_rest(
    sides: [(&Body, &CharacterBones); 2],
    alignment: &mut Alignment,
    names: bool,
) {
    let [left, other] = [0, 1].map(|side| {
        let (body, bones) = sides[side];
        (0..body.skeleton().len())
            .filter(|b| !bones.tree.order.contains(b))
            .map(|b| SkinlessBone {
                bone: b,
                head: bones.relative(&body.skeleton().heads()[b]),
                name: BoneName::new(&body.skeleton().names()[b]),
            })
            .collect::<Vec<_>>()
    });
    let turn = alignment.turn;
    let mut candidates = Vec::new();
    for a in &left {
        for b in &other {
            let said = if names { a.name.cost(&b.name) } else { 0.0 };
            let cost = (turn * a.head - b.head).norm().min(1.0) + said;
            if cost <= MAX_COST {
                candidates.push((
                    cost,
                    BonePair {
                        source: a.bone,
                        target: b.bone,
                    },
                ));
            }
        }
    }
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    while let Some(next) = candidates
        .iter()
        .position(|(_, pair)| fits(sides, alignment, *pair))
    {
        let (cost, pair) = candidates.remove(next);
        let at = alignment.pairs.partition_point(|p| *p < pair);
        alignment.pairs.insert(at, pair);
        alignment.costs.insert(at, Some(cost));
    }
}

struct SkinlessBone {
    bone: usize,
    head: Vec3,
    name: BoneName,
}

/// Returns whether both bones are free, and the nearest paired bones above them in the files are a pair, or both have none.
fn fits(sides: [(&Body, &CharacterBones); 2], alignment: &Alignment, pair: BonePair) -> bool {
    let pairs = &alignment.pairs;
    let taken = |p: &BonePair| p.source == pair.source || p.target == pair.target;
    let above = |side: usize, bone: usize| {
        let parents = sides[side].0.skeleton().parents();
        let mut at = parents[bone];
        while let Some(b) = at {
            let own = |p: &BonePair| [p.source, p.target][side] == b as usize;
            if let Some(found) = pairs.iter().position(own) {
                return Some(found);
            }
            at = parents[b as usize];
        }
        None
    };
    !pairs.iter().any(taken) && above(0, pair.source) == above(1, pair.target)
}
