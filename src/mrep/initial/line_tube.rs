// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tube around a given line: frames of minimal rotation, spokes by rays to a skin.
//!
//! Lengths that rays do not find are interpolated from neighbours around, then along. An initial tube has to be free of folds, as a fit cannot remove
//! them. Spoke lengths therefore stay near the median of their atom, and where neighbouring spokes cross, atoms shrink.

use crate::geometry::{frames, polyline};
use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Atom;
use crate::mrep::figures::figure::{Figure, hub_distances};
use crate::mrep::initial::skin::FigureSkin;
use crate::{Mat3, Vec3};
use rayon::prelude::*;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Least trust in a ray that is used. With half and twice of it tubes miss limbs of five known characters by no more.
const MIN_TRUST: f64 = 0.3;
/// Range of the relative lengths of spokes in an initial tube.
const RELATIVE_LENGTH_RANGE: [f64; 2] = [0.5, 1.6];
/// Widths over which corners of the line may be rounded, in radii, in order of trial.
const ROUNDING_WIDTHS: [f64; 6] = [0.8, 1.2, 0.5, 0.3, 0.15, 0.02];
/// Share of the radii that counts as not shrunk.
const FULL_RADIUS_SHARE: f64 = 0.999;
/// Largest length of a hit, in medians of its atom; farther hits belong to another part. With half of it a tube misses a horse's leg by 0.16 %
/// of the size instead of 0.13, with twice by 0.19.
const MAX_HIT_LENGTH: f64 = 2.5;
/// Legality at which a tube stops shrinking; below half of it the tube is refused. A fit needs more room than
/// [`MIN_LEGALITY`](crate::mrep::figures::legality::MIN_LEGALITY) to begin. With half of it tubes miss limbs of five known characters by as much;
/// with twice a bull's leg by 0.16 % of the size instead of 0.31.
const TARGET_LEGALITY: f64 = 0.2;

/// Returns the distance along a unit direction at which a ray leaves the skin; `aside` is perpendicular to it. `None`: no exit with enough trust.
fn exit_distance(
    skin: &FigureSkin<'_>,
    origin: &Vec3,
    direction: &Vec3,
    aside: &Vec3,
) -> Option<f64> {
    let exit = skin.find_exit(origin, direction, aside)?;
    (exit.trust >= MIN_TRUST).then_some(exit.distance)
}

/// Returns the direction of spoke `q` of `count`: the first points along n, the next ones turn towards b⊥.
pub(in crate::mrep) fn spoke_direction(frame: &Mat3, q: usize, count: usize) -> Vec3 {
    let (sin, cos) = (TAU * q as f64 / count as f64).sin_cos();
    frame.column(2) * cos + frame.column(1) * sin
}

/// Input of a tube: its line of hubs, before spokes.
pub(in crate::mrep) struct HubLine {
    pub hubs: Vec<Vec3>,
    /// Indices of the hubs at joints.
    pub joints: Vec<usize>,
    /// Radius of the ring around each hub, metres; empty: thickness is known from rays alone. Where an open skin ends, rays meet little of it.
    pub ring_radii: Vec<f64>,
    pub spokes: usize,
}

/// A tube, with the amount by which it shrank to become legal.
pub(in crate::mrep) struct ShrunkTube {
    pub figure: Figure,
    /// Sum of the radii over that before shrinking.
    pub left: f64,
    /// u of the atom that shrank the most.
    pub tightest: f64,
}

impl ShrunkTube {
    fn new(figure: Figure, whole: &Figure) -> Self {
        let radii = |f: &Figure| f.atoms().iter().map(|a| a.radius).collect::<Vec<_>>();
        let (now, before) = (radii(&figure), radii(whole));
        let part = |i: &usize| now[*i] / before[*i];
        let tightest = (0..now.len()).min_by(|i, j| part(i).total_cmp(&part(j)));
        Self {
            left: now.iter().sum::<f64>() / before.iter().sum::<f64>(),
            tightest: figure.knots()[tightest.unwrap_or(0)],
            figure,
        }
    }
}

impl HubLine {
    /// Builds the tube whose spokes reach the skin.
    ///
    /// # Errors
    /// No ray meets the skin; the line bends too sharply; an atom with invalid numbers.
    pub fn tube(&self, skin: &FigureSkin<'_>) -> Result<ShrunkTube, MRepError> {
        let radius = median(&self.radii(skin)?);
        // With the thickness known, the rounding of corners that keeps the most of the body is chosen.
        let mut best: Option<ShrunkTube> = None;
        let mut sharpest = None;
        for rounding in ROUNDING_WIDTHS {
            let frames = frames::hub_frames(&self.hubs, rounding * radius);
            let lengths = self.lengths(&frames, skin)?;
            let whole = self.build_figure(&frames, &lengths, skin)?;
            let figure = shrink_until_legal(whole.clone());
            let worst = figure.legality_minimum();
            if worst.legality <= TARGET_LEGALITY / 2.0 {
                sharpest.get_or_insert(worst.at[0]);
                continue;
            }
            let made = ShrunkTube::new(figure, &whole);
            if best
                .as_ref()
                .is_none_or(|known| made.left > known.left + 1e-9)
            {
                best = Some(made);
            }
            if best
                .as_ref()
                .is_some_and(|known| known.left >= FULL_RADIUS_SHARE)
            {
                break;
            }
        }
        best.ok_or(MRepError::Sharp {
            u: sharpest.unwrap_or(0.0),
        })
    }

    /// Returns the thickness around each hub, the median of its spokes, metres.
    ///
    /// # Errors
    /// No ray meets the skin.
    pub fn radii(&self, skin: &FigureSkin<'_>) -> Result<Vec<f64>, MRepError> {
        let lengths = self.lengths(&frames::hub_frames(&self.hubs, 1e-3 * self.spacing()), skin)?;
        Ok(lengths.iter().map(|row| median(row)).collect())
    }

    /// Returns hubs moved across the line until opposite spokes are equally long, by half of the shortest spoke at most, and then spread evenly.
    ///
    /// # Errors
    /// No ray meets the skin.
    pub fn centred_hubs(&self, skin: &FigureSkin<'_>) -> Result<Vec<Vec3>, MRepError> {
        let radius = median(&self.radii(skin)?);
        let frames = frames::hub_frames(&self.hubs, ROUNDING_WIDTHS[0] * radius);
        let lengths = self.lengths(&frames, skin)?;
        let moved = |((hub, frame), row): ((&Vec3, &Mat3), &Vec<f64>)| {
            let spokes = row.iter().enumerate();
            let sum = spokes.map(|(q, far)| spoke_direction(frame, q, row.len()) * *far);
            let shift = sum.sum::<Vec3>() * (2.0 / row.len() as f64);
            let least = row.iter().copied().fold(f64::INFINITY, f64::min);
            hub + shift * (0.5 * least / shift.norm()).clamp(0.0, 1.0)
        };
        let hubs = self.hubs.iter().zip(&frames).zip(&lengths);
        let hubs: Vec<Vec3> = hubs.map(moved).collect();
        let total = polyline::arc_lengths(&hubs)[hubs.len() - 1];
        Ok(polyline::resample(&hubs, [0.0, total], hubs.len()))
    }

    /// Returns the mean distance between successive hubs, metres.
    fn spacing(&self) -> f64 {
        let last = self.hubs.len() - 1;
        polyline::arc_lengths(&self.hubs)[last] / last as f64
    }

    /// Returns the lengths of the spokes of each atom, metres, with gaps filled.
    fn lengths(&self, frames: &[Mat3], skin: &FigureSkin<'_>) -> Result<Vec<Vec<f64>>, MRepError> {
        let reach = |(hub, frame): (&Vec3, &Mat3)| -> Vec<Option<f64>> {
            let spoke = |q: usize| {
                let direction = spoke_direction(frame, q, self.spokes);
                exit_distance(skin, hub, &direction, &frame.column(0).into_owned())
            };
            (0..self.spokes).map(spoke).collect()
        };
        let found: Vec<Vec<Option<f64>>> = self.hubs.par_iter().zip(frames).map(reach).collect();
        fill_gaps(found, &self.ring_radii).ok_or_else(|| {
            let outside = self.hubs.iter().filter(|hub| !skin.contains(hub)).count();
            let why = if 2 * outside > self.hubs.len() {
                "they lie outside the body: move them into the middle of the limb, or give others"
            } else {
                "the skin around them follows other bones: give those, or give these the weight of the skin around them"
            };
            MRepError::Bones(why.into())
        })
    }

    fn build_figure(
        &self,
        frames: &[Mat3],
        lengths: &[Vec<f64>],
        skin: &FigureSkin<'_>,
    ) -> Result<Figure, MRepError> {
        let last = self.hubs.len() - 1;
        let atom = |(i, lengths): (usize, &Vec<f64>)| {
            let radius = median(lengths);
            let relative =
                |x: &f64| (x / radius).clamp(RELATIVE_LENGTH_RANGE[0], RELATIVE_LENGTH_RANGE[1]);
            let ahead = match i {
                0 => Some(-frames[0].column(0)),
                _ if i == last => Some(frames[i].column(0).into_owned()),
                _ => None,
            };
            // An end that no skin closes continues inside the body for half a radius.
            let aside = frames[i].column(1).into_owned();
            let end = ahead.and_then(|ahead| exit_distance(skin, &self.hubs[i], &ahead, &aside));
            let end = end.map_or(0.5, |far| (far / radius).clamp(0.3, 2.0));
            Atom {
                end,
                lengths: lengths.iter().map(relative).collect(),
                ..Atom::new(self.hubs[i], radius, frames[i], FRAC_PI_2, self.spokes)
            }
        };
        let atoms: Vec<Atom> = lengths.iter().enumerate().map(atom).collect();
        let knots = hub_distances(&atoms)?;
        let joints = self.joints.iter().map(|i| knots[*i]).collect();
        Figure::tube_with_knots(atoms, Some(knots), joints)
    }
}

/// Returns the median.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    0.5 * (sorted[n / 2] + sorted[(n - 1) / 2])
}

/// Fills lengths that rays did not find or that are outliers: from neighbours around, else from the nearest atoms along.
fn fill_gaps(mut found: Vec<Vec<Option<f64>>>, ring_radii: &[f64]) -> Option<Vec<Vec<f64>>> {
    // Outliers are too far for the atom and the atoms beside it.
    let known = |row: &[Option<f64>]| -> Vec<f64> { row.iter().flatten().copied().collect() };
    let medians: Vec<Option<f64>> = found
        .iter()
        .map(|row| {
            Some(known(row))
                .filter(|k| !k.is_empty())
                .map(|k| median(&k))
        })
        .collect();
    for (i, row) in found.iter_mut().enumerate() {
        let near: Vec<f64> = medians[i.saturating_sub(1)..(i + 2).min(medians.len())]
            .iter()
            .flatten()
            .copied()
            .collect();
        if near.is_empty() {
            continue;
        }
        let ring = ring_radii.get(i).copied().unwrap_or(0.0);
        let usual = median(&near).max(ring);
        for slot in row.iter_mut() {
            *slot = slot.filter(|far| {
                *far < MAX_HIT_LENGTH * usual && *far > usual / (2.0 * MAX_HIT_LENGTH)
            });
        }
    }
    let around: Vec<Option<Vec<f64>>> = found.iter().map(|row| interpolate_gaps(row)).collect();
    let rows: Vec<usize> = (0..around.len()).filter(|i| around[*i].is_some()).collect();
    let (first, last) = (*rows.first()?, *rows.last()?);
    let along = |i: usize| -> Vec<f64> {
        let before = rows
            .iter()
            .rev()
            .find(|r| **r <= i)
            .copied()
            .unwrap_or(first);
        let after = rows.iter().find(|r| **r >= i).copied().unwrap_or(last);
        let row = |r: usize| around[r].clone().unwrap_or_default();
        if before == after {
            return row(before);
        }
        let share = (i as f64 - before as f64) / (after as f64 - before as f64);
        let mix = |(a, b): (f64, f64)| a + (b - a) * share;
        row(before).into_iter().zip(row(after)).map(mix).collect()
    };
    Some((0..around.len()).map(along).collect())
}

/// Interpolates the gaps around one atom linearly. `None`: fewer than a third are known.
fn interpolate_gaps(row: &[Option<f64>]) -> Option<Vec<f64>> {
    let n = row.len();
    let known: Vec<usize> = (0..n).filter(|q| row[*q].is_some()).collect();
    if 3 * known.len() < n || known.is_empty() {
        return None;
    }
    let value = |q: usize| row[q % n].unwrap_or(0.0);
    let fill = |q: usize| {
        let before = (0..n).find(|d| row[(q + n - d) % n].is_some()).unwrap_or(0);
        let after = (0..n).find(|d| row[(q + d) % n].is_some()).unwrap_or(0);
        if before + after == 0 {
            return value(q);
        }
        let share = before as f64 / (before + after) as f64;
        value(q + n - before) * (1.0 - share) + value(q + after) * share
    };
    Some((0..n).map(fill).collect())
}

/// Shrinks atoms and evens out their spokes where neighbouring spokes cross.
fn shrink_until_legal(mut figure: Figure) -> Figure {
    /// Largest number of rounds. Each takes 4 % of an atom's radius, so that of a tube of nine atoms every one could lose three fifths. A tube that
    /// still folds is refused.
    const MAX_SHRINK_ROUNDS: usize = 200;
    /// Largest number of times that spokes are evened out. This helps where lengths change so suddenly along the tube that splines through them
    /// fall below zero. More often the line itself turns back, and nothing helps. Half and twice of them leave fits to limbs of five known characters the same.
    const MAX_EVENING_ROUNDS: usize = 30;
    let mut evened = 0;
    for _ in 0..MAX_SHRINK_ROUNDS {
        let worst = figure.legality_minimum();
        if worst.legality > TARGET_LEGALITY {
            break;
        }
        let atom = figure.nearest_atom(worst.at[0], 0.0);
        let mut atoms = figure.atoms().to_vec();
        if worst.legality < 0.0 && worst.at[3] == 0.0 {
            evened += 1;
            if evened > MAX_EVENING_ROUNDS {
                break;
            }
            even_out(&mut atoms, atom);
        } else {
            let (from, to) = (atom.saturating_sub(1), (atom + 2).min(atoms.len()));
            for atom in &mut atoms[from..to] {
                atom.radius *= 0.96;
                atom.lengths.iter_mut().for_each(|x| *x = x.powf(0.95));
            }
        }
        figure = figure.with_atoms(atoms);
    }
    figure
}

/// Moves the radii of an atom and its neighbours towards the geometric means of the radii beside them, and evens out their spokes.
fn even_out(atoms: &mut [Atom], atom: usize) {
    let radii: Vec<f64> = atoms.iter().map(|a| a.radius.ln()).collect();
    let last = atoms.len() - 1;
    for i in atom.saturating_sub(2)..(atom + 3).min(atoms.len()) {
        let around = 0.5 * (radii[i.saturating_sub(1)] + radii[(i + 1).min(last)]);
        atoms[i].radius = (0.5 * (radii[i] + around)).exp();
        atoms[i].lengths.iter_mut().for_each(|x| *x = x.powf(0.9));
    }
}

#[cfg(test)]
mod tests {
    use super::fill_gaps;

    /// Lengths far below the ring's radius, at the end of an open skin, are outliers, and the row takes its neighbour's.
    #[test]
    fn fill_gaps_drops_lengths_below_ring_radius() {
        let rim = [Some(0.03), Some(0.05), None, None, Some(0.04), None];
        let full = |x: f64| vec![Some(x); 6];
        let rows = || vec![full(1.0), full(0.9), rim.to_vec(), rim.to_vec()];
        let lengths = fill_gaps(rows(), &[1.0, 0.9, 0.8, 0.8]).unwrap();
        assert_eq!(lengths[2..], [vec![0.9; 6], vec![0.9; 6]]);
        // Bones have no rings: what rays found is all that is known.
        assert!(fill_gaps(rows(), &[]).unwrap()[2][0] < 0.9);
    }
}
