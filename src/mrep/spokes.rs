// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tube from hubs and frames, its spokes as long as rays to the skin: gaps filled, gentle, legal.
//!
//! Where no ray tells, lengths are those that change least from spoke to spoke: a membrane over the tube, held by rays as far as
//! they are trusted.

use super::atom::Atom;
use super::error::MRepError;
use super::figure::Figure;
use super::skin::{Exit, Skin};
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, TAU};

/// How the membrane resists differences around the tube; along it resists them by the mean length over the distance of the hubs.
/// Around less, as limbs change less along than across.
const AROUND: f64 = 0.3;
/// A ray that is trusted wholly holds the membrane as stiffly as one over this: rays of hubs that are much nearer to each other than
/// their spokes are long tell no more than few.
const SLACK: f64 = 0.004;
/// Stiffer it is not, however near hubs are.
const STIFFEST: f64 = 1e3;
/// Relative lengths at first, and where the tube stays folded with those: rounder.
const GENTLE: [[f64; 2]; 3] = [[0.7, 1.4], [0.85, 1.2], [1.0, 1.0]];
/// End factor where the body goes on beyond the figure, and its range where a ray tells.
const STUMP: f64 = 0.5;
const ENDS: [f64; 2] = [0.3, 2.0];
/// Half the angle of the cone of rays beyond an end, radians.
const CONE: f64 = 0.35;
/// Farther out than this part of the radius no half ellipsoid is taken through a point.
const FLATTEST: f64 = 0.8;
/// Legality that a first figure has to have: what a fit keeps.
const LEAST_LEGALITY: f64 = 0.035;
/// What spokes that cross are shortened by at a time, and how often at most.
const SHORTER: f64 = 0.93;
const ROUNDS: usize = 80;
/// Where spokes are shortened, lengths change along the tube by this part of the way at most: splines through hubs that are close to
/// each other and lengths that are not overshoot far behind them. Where that is not enough, by the second.
const STEEPEST: [f64; 2] = [0.8, 0.25];

/// Hubs and frames of a tube.
pub(super) struct Axis {
    pub hubs: Vec<Vec3>,
    pub frames: Vec<Mat3>,
}

impl Axis {
    /// From each hub to the next.
    fn steps(&self) -> Vec<f64> {
        self.hubs.windows(2).map(|w| (w[1] - w[0]).norm()).collect()
    }
}

/// Lengths of spokes, and of rays beyond both ends, with how far each is to be trusted.
pub(super) struct Lengths {
    /// `[atom][spoke]`, filled.
    filled: Vec<Vec<f64>>,
    /// Length beyond the first and the last hub.
    beyond: [Exit; 2],
}

/// Direction of spoke `q` of `count`, and the one at right angles to it and to b.
pub(super) fn spoke(frame: &Mat3, q: usize, count: usize) -> [Vec3; 2] {
    let (sin, cos) = (TAU * q as f64 / count as f64).sin_cos();
    let [side, n] = [1, 2].map(|k| frame.column(k).into_owned());
    [n * cos + side * sin, side * cos - n * sin]
}

/// A little between all directions across a spoke: rays through an edge are turned there.
fn aside(frame: &Mat3, across: &Vec3) -> Vec3 {
    frame.column(0) * 0.8 + across * 0.6
}

/// Rays around one hub.
pub(super) fn around(skin: &Skin, hub: &Vec3, frame: &Mat3, count: usize) -> Vec<Option<Exit>> {
    let one = |q: usize| {
        let [direction, across] = spoke(frame, q, count);
        skin.exit(hub, &direction, &aside(frame, &across))
    };
    (0..count).map(one).collect()
}

/// How far the skin reaches from a hub along b (`facing` 1) or against it (−1): the median over a narrow cone, of half ellipsoids of
/// `radius` across through where its rays leave; trusted as far as its rays are.
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

/// The middle one, or the mean of the middle two; zero of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}

impl Lengths {
    /// Sends the rays of all spokes; none where none of them tells anything.
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

    /// The median at each hub.
    pub fn radii(&self) -> Vec<f64> {
        self.filled.iter().map(|x| median(x.clone())).collect()
    }

    /// The tube: gentle, and shrunk until it is legal.
    ///
    /// # Errors
    /// One that cannot be legal: the axis turns back on itself.
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
            // There is a range.
            None => Err(MRepError::Bones("the chain has no tube".into())),
        }
    }

    /// The tube with relative lengths in a range.
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

/// Shortens spokes where they cross, until none do or it is of no use.
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
                // Neighbours go along by half, or the shortened ones would be dents.
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

/// Shortens spokes that are longer than a gentle slope from those before and after them allows.
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

/// Lengths everywhere from rays where there are any, `steps` between the hubs: the least of `Σ w (x − told)² + Σ stiffness (x_i − x_j)²`,
/// by conjugate gradients.
fn fill(exits: &[Vec<Option<Exit>>], steps: &[f64]) -> Vec<Vec<f64>> {
    let (rows, cols) = (exits.len(), exits[0].len());
    let hold = |exit: &Option<Exit>| exit.map_or(0.0, |e| e.trust / (1.0 - e.trust + SLACK));
    let all: Vec<Option<Exit>> = exits.iter().flatten().copied().collect();
    let holds: Vec<f64> = all.iter().map(hold).collect();
    let told: Vec<f64> = all.iter().map(|e| e.map_or(0.0, |e| e.distance)).collect();
    let total: f64 = holds.iter().sum();
    let mean = holds.iter().zip(&told).map(|(w, x)| w * x).sum::<f64>() / total;
    let along: Vec<f64> = steps
        .iter()
        .map(|step| (mean / step).min(STIFFEST))
        .collect();
    let neighbours = |k: usize| {
        let (i, q) = (k / cols, k % cols);
        let around = [(q + 1) % cols, (q + cols - 1) % cols].map(|q| (i * cols + q, AROUND));
        let before = (i > 0).then(|| (k - cols, along[i - 1]));
        let after = (i + 1 < rows).then(|| (k + cols, along[i]));
        around.into_iter().chain(before).chain(after)
    };
    let apply = |x: &[f64]| -> Vec<f64> {
        let row = |k: usize| {
            let differences = neighbours(k).map(|(j, c)| c * (x[k] - x[j]));
            holds[k] * x[k] + differences.sum::<f64>()
        };
        (0..x.len()).map(row).collect()
    };
    let diagonal: Vec<f64> = (0..all.len())
        .map(|k| holds[k] + neighbours(k).map(|(_, c)| c).sum::<f64>())
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    // From the mean on: what is everywhere the same is at once right.
    let mut x = vec![mean; all.len()];
    let right: Vec<f64> = holds.iter().zip(&told).map(|(w, x)| w * x).collect();
    let mut residual: Vec<f64> = (right.iter().zip(apply(&x))).map(|(b, y)| b - y).collect();
    let precondition =
        |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
    let mut scaled = precondition(&residual);
    let mut way = scaled.clone();
    let mut energy = dot(&residual, &scaled);
    let least = energy * 1e-30;
    for _ in 0..4 * (rows + cols) + 100 {
        if energy <= least || energy <= 1e-30 * total * mean * mean {
            break;
        }
        let image = apply(&way);
        let step = energy / dot(&way, &image);
        for k in 0..x.len() {
            x[k] += step * way[k];
            residual[k] -= step * image[k];
        }
        scaled = precondition(&residual);
        let next = dot(&residual, &scaled);
        for k in 0..x.len() {
            way[k] = scaled[k] + next / energy * way[k];
        }
        energy = next;
    }
    // Rounding aside, a membrane stays between what holds it.
    let (least, most) = (all.iter().flatten().filter(|e| e.trust > 0.0))
        .fold((f64::INFINITY, 0.0_f64), |(lo, hi), e| {
            (lo.min(e.distance), hi.max(e.distance))
        });
    x.chunks(cols)
        .map(|row| row.iter().map(|x| x.clamp(least, most)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(distance: f64, trust: f64) -> Option<Exit> {
        Some(Exit { distance, trust })
    }

    #[test]
    fn rays_are_kept_and_gaps_filled_between_them() {
        let mut exits = vec![vec![None; 6]; 5];
        for q in 0..6 {
            exits[0][q] = told(1.0, 1.0);
            exits[4][q] = told(2.0, 1.0);
        }
        exits[2][3] = told(7.0, 0.0);
        let filled = fill(&exits, &[1.0; 4]);
        for (i, row) in filled.iter().enumerate() {
            for x in row {
                assert!((x - (1.0 + 0.25 * i as f64)).abs() < 0.02, "{filled:?}");
            }
        }
        // Half a trust holds half.
        exits[2][3] = told(2.5, 0.5);
        let held = fill(&exits, &[1.0; 4])[2][3];
        assert!(held > 1.6 && held < 2.4, "{held}");
    }

    #[test]
    fn gaps_do_not_depend_on_the_unit() {
        let exits = |scale: f64| -> Vec<Vec<Option<Exit>>> {
            (0..7)
                .map(|i| {
                    let told = |q: usize| {
                        (!(i * 8 + q).is_multiple_of(3))
                            .then(|| {
                                told(scale * (1.0 + 0.1 * (i * q) as f64), 0.1 * (2 + q) as f64)
                            })
                            .flatten()
                    };
                    (0..8).map(told).collect()
                })
                .collect()
        };
        let (plain, large) = (fill(&exits(1.0), &[2.0; 6]), fill(&exits(1e3), &[2e3; 6]));
        for (a, b) in plain.iter().flatten().zip(large.iter().flatten()) {
            assert!((a - b / 1e3).abs() < 1e-12, "{a} {b}");
        }
    }
}
