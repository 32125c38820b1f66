// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tube from hubs and frames, with spokes measured by rays to the skin, gaps filled, and shortened until legal.

use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Atom;
use crate::mrep::figures::figure::Figure;
use crate::mrep::initial::membrane::fill;
use crate::mrep::initial::skin::{Exit, Skin};
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, TAU};

/// Ranges of relative lengths, in order of trial while the tube folds: ever rounder.
const GENTLE: [[f64; 2]; 3] = [[0.7, 1.4], [0.85, 1.2], [1.0, 1.0]];
/// End factor where the body continues beyond the figure, and range of measured end factors. Half and twice of the first leave fits to limbs of
/// five known characters the same.
const STUMP: f64 = 0.5;
const ENDS: [f64; 2] = [0.3, 2.0];
/// Half angle of the cone of rays beyond an end, radians. Half and twice of it leave fits to limbs of five known characters the same.
const CONE: f64 = 0.35;
/// Upper bound of a point's distance from the axis, in radii, in the half ellipsoid through it. Half and twice of it leave fits to limbs of five
/// known characters the same.
const FLATTEST: f64 = 0.8;
/// Least legality of an initial figure, which a fit preserves. It is just above the 0.03 that a fit's steps have to keep.
const LEAST_LEGALITY: f64 = 0.035;
/// Factor by which crossing spokes are shortened per round: halving takes ten rounds, and no more than 7 % is lost beyond need.
const SHORTER: f64 = 0.93;
/// Largest number of rounds: one spoke could fall to three thousandths; figures that still cross are refused.
const ROUNDS: usize = 80;
/// Largest slopes of lengths along the tube while spokes are shortened: splines through close hubs with very different lengths overshoot far
/// behind them. The second applies in the second half of the rounds.
const STEEPEST: [f64; 2] = [0.8, 0.25];

/// Hubs and frames of a tube.
pub(in crate::mrep) struct Axis {
    pub hubs: Vec<Vec3>,
    pub frames: Vec<Mat3>,
}

impl Axis {
    /// Returns the distances between successive hubs.
    fn steps(&self) -> Vec<f64> {
        self.hubs.windows(2).map(|w| (w[1] - w[0]).norm()).collect()
    }
}

/// Measured lengths of spokes, and of rays beyond both ends.
pub(in crate::mrep) struct Lengths {
    /// Lengths `[atom][spoke]`, gaps filled, metres.
    filled: Vec<Vec<f64>>,
    /// Exits beyond the first and the last hub.
    beyond: [Exit; 2],
}

/// Returns the direction of spoke `q` of `count`, and the direction perpendicular to it and to b.
pub(in crate::mrep) fn spoke(frame: &Mat3, q: usize, count: usize) -> [Vec3; 2] {
    let (sin, cos) = (TAU * q as f64 / count as f64).sin_cos();
    let [side, n] = [1, 2].map(|k| frame.column(k).into_owned());
    [n * cos + side * sin, side * cos - n * sin]
}

/// Returns a direction between b and the other one across a spoke, in which rays through an edge are turned.
fn aside(frame: &Mat3, across: &Vec3) -> Vec3 {
    frame.column(0) * 0.8 + across * 0.6
}

/// Returns the exits of the rays around one hub.
pub(in crate::mrep) fn around(
    skin: &Skin,
    hub: &Vec3,
    frame: &Mat3,
    count: usize,
) -> Vec<Option<Exit>> {
    let one = |q: usize| {
        let [direction, across] = spoke(frame, q, count);
        skin.exit(hub, &direction, &aside(frame, &across))
    };
    (0..count).map(one).collect()
}

/// Returns the extent of the skin from a hub along b (`facing` 1) or against it (−1). It is the median over a narrow cone of rays: each exit
/// defines a half ellipsoid with `radius` across. Its trust is the mean of the rays'.
fn beyond(skin: &Skin, hub: &Vec3, frame: &Mat3, facing: f64, count: usize, radius: f64) -> Exit {
    let b = frame.column(0) * facing;
    let (sin, cos) = CONE.sin_cos();
    let centre = skin.exit(hub, &b, &aside(frame, &frame.column(1).into_owned()));
    let ring = (0..count).map(|q| {
        let [direction, across] = spoke(frame, q, count);
        let exit = skin.exit(hub, &(b * cos + direction * sin), &across)?;
        let out = (exit.distance * sin / radius).min(FLATTEST);
        Some(Exit {
            distance: exit.distance * cos / (1.0 - out * out).sqrt(),
            ..exit
        })
    });
    let exits: Vec<Option<Exit>> = ring.chain([centre]).collect();
    let told: Vec<f64> = (exits.iter().flatten())
        .filter(|exit| exit.trust > 0.0)
        .map(|exit| exit.distance)
        .collect();
    let trust = exits.iter().flatten().map(|exit| exit.trust).sum::<f64>();
    Exit {
        distance: median(told),
        trust: trust / exits.len() as f64,
    }
}

/// Returns the median; zero if there are no values.
pub(in crate::mrep) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}

impl Lengths {
    /// Sends the rays of all spokes. `None`: no ray has at least half trust.
    pub fn measure(skin: &Skin, axis: &Axis, spokes: usize) -> Option<Self> {
        let exits: Vec<Vec<Option<Exit>>> = (axis.hubs.iter().zip(&axis.frames))
            .map(|(hub, frame)| around(skin, hub, frame, spokes))
            .collect();
        let told = exits.iter().flatten().flatten();
        if told.filter(|exit| exit.trust >= 0.5).count() == 0 {
            return None;
        }
        let filled = fill(&exits, &axis.steps());
        let ends = [(0, -1.0), (axis.hubs.len() - 1, 1.0)].map(|(i, facing)| {
            let radius = median(filled[i].clone());
            beyond(skin, &axis.hubs[i], &axis.frames[i], facing, spokes, radius)
        });
        Some(Self {
            filled,
            beyond: ends,
        })
    }

    /// Returns the median length at each hub.
    pub fn radii(&self) -> Vec<f64> {
        self.filled.iter().map(|x| median(x.clone())).collect()
    }

    /// Builds the tube, with spokes evened out and shortened until it is legal.
    ///
    /// # Errors
    /// A tube that cannot be legal: the axis turns back on itself.
    pub fn tube(&self, axis: &Axis, joints: &[usize]) -> Result<Figure, MRepError> {
        let mut best = None;
        for range in GENTLE {
            let figure = legal(self.within(range, axis, joints)?);
            let worst = figure.worst();
            let done = worst.legality >= LEAST_LEGALITY;
            if best
                .as_ref()
                .is_none_or(|(_, least)| worst.legality > *least)
            {
                best = Some((figure, worst.legality));
            }
            if done {
                break;
            }
        }
        match best {
            Some((figure, legality)) if legality > 0.0 => Ok(figure),
            Some((figure, legality)) => Err(MRepError::Folded {
                legality,
                what: figure.worst().sentence(&figure),
            }),
            // Unreachable: there are ranges.
            None => Err(MRepError::Bones("the chain has no tube".into())),
        }
    }

    /// Builds the tube with relative lengths clamped to a range.
    fn within(
        &self,
        [least, most]: [f64; 2],
        axis: &Axis,
        joints: &[usize],
    ) -> Result<Figure, MRepError> {
        let mut atoms: Vec<Atom> = (self.filled.iter())
            .zip(axis.hubs.iter().zip(&axis.frames))
            .map(|(lengths, (hub, frame))| {
                let radius = median(lengths.clone());
                let relative = lengths.iter().map(|x| (x / radius).clamp(least, most));
                Atom {
                    lengths: relative.collect(),
                    ..Atom::new(*hub, radius, *frame, FRAC_PI_2, lengths.len())
                }
            })
            .collect();
        let last = atoms.len() - 1;
        for (i, exit) in [0, last].into_iter().zip(&self.beyond) {
            let [least, most] = ENDS;
            let told = (exit.distance / atoms[i].radius).clamp(least, most);
            atoms[i].end = STUMP + exit.trust * (told - STUMP);
        }
        let figure = Figure::tube(atoms.clone())?;
        let joints = joints.iter().map(|&i| figure.knots()[i]).collect();
        Figure::tube_with(atoms, Some(figure.knots().to_vec()), joints)
    }
}

/// Shortens spokes where they cross, until none do or the rounds are used up.
fn legal(mut figure: Figure) -> Figure {
    let count = figure.kind().spokes();
    for round in 0..ROUNDS {
        let folds = figure.folds(LEAST_LEGALITY);
        if folds.is_empty() {
            return figure;
        }
        let mut atoms = figure.atoms().to_vec();
        let last = atoms.len() - 1;
        let mut factors = vec![vec![1.0_f64; count]; atoms.len()];
        let mut ends = [1.0_f64; 2];
        for fold in folds {
            let [u, _, around, _] = fold.at;
            let i = figure.knots().partition_point(|&k| k <= u);
            let (i, j) = (i.saturating_sub(1).min(last), i.min(last));
            if u < 0.0 {
                ends[0] = SHORTER;
            } else if u > 1.0 {
                ends[1] = SHORTER;
            }
            let q = around / TAU * count as f64;
            for k in [q.floor() as usize % count, q.ceil() as usize % count] {
                factors[i][k] = SHORTER;
                factors[j][k] = SHORTER;
            }
        }
        for (i, atom) in atoms.iter_mut().enumerate() {
            for q in 0..count {
                // Neighbours are shortened by half as much (in logarithms), or the shortened spokes would be dents.
                let beside = [(q + 1) % count, (q + count - 1) % count].map(|k| factors[i][k]);
                let along = [i.saturating_sub(1), (i + 1).min(last)].map(|k| factors[k][q]);
                let near = beside.into_iter().chain(along).fold(1.0, f64::min);
                atom.lengths[q] *= factors[i][q].min(near.sqrt());
            }
        }
        flatten(&mut atoms, STEEPEST[usize::from(2 * round > ROUNDS)]);
        for atom in &mut atoms {
            let middle = median(atom.lengths.clone());
            atom.radius *= middle;
            atom.end /= middle;
            atom.lengths.iter_mut().for_each(|x| *x /= middle);
        }
        atoms[0].end *= ends[0];
        atoms[last].end *= ends[1];
        figure = figure.with_atoms(atoms);
    }
    figure
}

/// Shortens spokes that are longer than a slope from those before and after them allows.
fn flatten(atoms: &mut [Atom], steepest: f64) {
    let n = atoms.len();
    for (i, j) in (1..n)
        .map(|i| (i - 1, i))
        .chain((1..n).rev().map(|i| (i, i - 1)))
    {
        let step = (atoms[j].hub - atoms[i].hub).norm();
        let from = atoms[i].clone();
        let radius = atoms[j].radius;
        for (to, from_length) in atoms[j].lengths.iter_mut().zip(&from.lengths) {
            *to = to.min((from_length * from.radius + steepest * step) / radius);
        }
    }
}
