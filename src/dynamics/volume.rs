// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh that gives way to its own volume where bones bend it: the lattice's part of a joint's shape.
//!
//! Bones that carry flesh at rest to D(x) take some of its volume on the inner side of a joint and add some on the outer. The
//! displacements u of lattice vertices that put it back minimise, over the pieces c of flesh,
//!
//! ```text
//! Σ V_c [ ½ |∇u|² / s_c² + ψ(J_c) ],   ψ'(J) = κ w(J) (J − 1),   J_c = det (∇D + ∇u) / s_c³
//! ```
//!
//! with V_c the flesh in a piece and s_c how much bones stretch it. A bend itself costs nothing, so nothing pulls the outer side in.
//! D is by dual quaternions, as the skin is shown, and ∇D is taken where the flesh of a cell has its middle, with weights that are
//! linear in it. Lattice vertices carried by the bones would do for ∇D where cells are small; large ones lose up to 17 % of a
//! joint by their straight edges, which flesh that is shown by its skin does not have: thin limbs in them would swell by as much.
//!
//! u is what [`STEPS`] steps of Gauss and Newton, not damped, make of u = 0, which is 0 at held vertices: the same for a pose
//! whatever came before, and smooth in it, where a minimum that is searched for to its end pops from one fold to another.
//! One step assembles and factors a matrix of the lattice's pattern, which is positive definite as long as bones hold the flesh.

use super::{SimulationError, lost};
use crate::body::Body;
use crate::skeleton::{BonePoses, Pose};
use crate::solve::{SolveError, SparseCholesky};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Steps from u = 0. Four to six leap by up to 3.7 % of the body's size a frame in clips; three by 2 %.
const STEPS: usize = 3;
/// κ, what volume costs beside gradients.
const VOLUME: f64 = 4.0;
/// w of flesh that has more volume than at rest: skin that is stretched may, and what is pressed shall not.
const SWOLLEN: f64 = 0.4;
/// Over which range of J w passes from one to the other.
const PASSING: f64 = 0.1;
/// Below this J w grows, up to [`CRUSHED`] times where nothing is left.
const CRUSHING: f64 = 0.3;
const CRUSHED: f64 = 3.0;
/// The farthest that J − 1 counts: what is inside out pushes no harder.
const FARTHEST: f64 = 0.6;
/// The least that bones stretch a piece, so that bones scaled to nothing leave numbers.
const LEAST_STRETCH: f64 = 1e-3;

/// Over which part of a piece ∇D is differenced: its error is of the square of that.
const DIFFERENCE: f64 = 1e-3;
/// Pieces that one task carries at least.
const SOME: usize = 128;

/// Solves for u; all buffers allocated once.
pub(super) struct VolumeBalance {
    pieces: Pieces,
    solver: SparseCholesky,
    /// Downhill, then a step, of each free node.
    nodes: Vec<Vec3>,
    /// The gradient by all lattice vertices.
    gradient: Vec<Vec3>,
}

impl VolumeBalance {
    pub fn new(body: &Body) -> Result<Self, SolveError> {
        let pattern = body.pattern();
        Ok(Self {
            pieces: Pieces::new(body),
            solver: SparseCholesky::new(pattern.symbolic().clone())?,
            nodes: vec![Vec3::zeros(); pattern.vertex_of_node().len()],
            gradient: vec![Vec3::zeros(); body.nodes()],
        })
    }

    /// Returns u `[nodes]`, metres, world axes, of a body in a pose, whose bones stand so.
    pub fn solve(
        &mut self,
        body: &Body,
        pose: &Pose,
        bones: &BonePoses,
    ) -> Result<Vec<Vec3>, SimulationError> {
        let flesh = Carried {
            body,
            carried: self.pieces.carried(bones),
            stretches: stretches(body, pose),
        };
        let mut u = vec![Vec3::zeros(); body.nodes()];
        for _ in 0..STEPS {
            self.solver.clear();
            flesh.linearise(&u, &mut self.gradient, Some(&mut self.solver));
            let free = body.pattern().vertex_of_node();
            for (node, &v) in self.nodes.iter_mut().zip(free) {
                *node = -self.gradient[v as usize];
            }
            self.solver.factor()?;
            self.solver.solve(&mut self.nodes);
            for (d, &v) in self.nodes.iter().zip(free) {
                u[v as usize] += d;
            }
        }
        lost(&u).map_or(Ok(u), Err)
    }
}

/// Where the flesh of each piece has its middle, and how bones share it there.
struct Pieces {
    middles: Vec<Middle>,
    shares: Vec<Share>,
}

struct Middle {
    place: Vec3,
    /// Over how much ∇D is differenced, metres.
    step: f64,
    /// Where its shares end.
    end: u32,
}

/// The weight of a bone, linear about a place.
#[derive(Clone, Copy)]
struct Share {
    bone: u32,
    weight: f64,
    slope: Vec3,
}

impl Pieces {
    fn new(body: &Body) -> Self {
        let (elements, rest) = (body.elements(), body.lattice().vertices());
        let (mut middles, mut shares) = (Vec::new(), Vec::new());
        for (e, cell) in body.blocks().iter().enumerate() {
            let corners = elements.corners(e);
            let total: f64 = cell.weight.iter().sum();
            let part = |i: usize| match total > 0.0 {
                true => cell.weight[i] / total,
                false => 1.0 / corners.len() as f64,
            };
            let place = corners.iter().enumerate();
            let place: Vec3 = place.map(|(i, &a)| rest[a as usize] * part(i)).sum();
            for piece in elements.pieces(e) {
                let first = shares.len();
                for (i, (&a, slope)) in corners.iter().zip(piece.gradients).enumerate() {
                    for (bone, weight) in body.region_weights().row(a as usize) {
                        let own = Share {
                            bone,
                            weight: weight * part(i),
                            slope: slope * weight,
                        };
                        match shares[first..]
                            .iter_mut()
                            .find(|s: &&mut Share| s.bone == bone)
                        {
                            Some(sum) => {
                                sum.weight += own.weight;
                                sum.slope += own.slope;
                            }
                            None => shares.push(own),
                        }
                    }
                }
                let steepest = piece.gradients.iter().map(Vec3::norm).fold(0.0, f64::max);
                middles.push(Middle {
                    place,
                    step: DIFFERENCE / steepest.max(f64::MIN_POSITIVE),
                    end: shares.len() as u32,
                });
            }
        }
        Self { middles, shares }
    }

    /// ∇D of each piece.
    fn carried(&self, bones: &BonePoses) -> Vec<Mat3> {
        let gradient = |c: usize| {
            let middle = &self.middles[c];
            let first = c.checked_sub(1).map_or(0, |c| self.middles[c].end);
            let shares = &self.shares[first as usize..middle.end as usize];
            let at = |d: Vec3| {
                let weights = shares.iter().map(|s| (s.bone, s.weight + s.slope.dot(&d)));
                bones.place(weights, middle.place + d)
            };
            let column = |k: usize| {
                let d = Vec3::ith(k, middle.step);
                (at(d) - at(-d)) / (2.0 * middle.step)
            };
            Mat3::from_columns(&[column(0), column(1), column(2)])
        };
        let pieces = (0..self.middles.len()).into_par_iter().with_min_len(SOME);
        pieces.map(gradient).collect()
    }
}

/// How much the bones stretch each cell: the cube root of by how much they multiply its volume.
fn stretches(body: &Body, pose: &Pose) -> Vec<f64> {
    let volumes: Vec<f64> = pose
        .maps()
        .iter()
        .map(|map| map.linear.determinant())
        .collect();
    let weights = body.cell_weights();
    let stretch = |c| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (bone, weight) in weights.row(c) {
            sum += volumes[bone as usize] * weight;
            total += weight;
        }
        let stretch: f64 = if total > 0.0 { sum / total } else { 1.0 };
        stretch.cbrt().abs().max(LEAST_STRETCH).copysign(stretch)
    };
    (0..body.elements().len()).map(stretch).collect()
}

/// Flesh that bones carry.
struct Carried<'a> {
    body: &'a Body,
    /// ∇D of each piece.
    carried: Vec<Mat3>,
    /// s of each cell.
    stretches: Vec<f64>,
}

impl Carried<'_> {
    /// Computes the gradient of the energy at u by all lattice vertices, and adds the matrix of Gauss and Newton's step.
    fn linearise(
        &self,
        u: &[Vec3],
        gradient: &mut [Vec3],
        mut solver: Option<&mut SparseCholesky>,
    ) {
        gradient.fill(Vec3::zeros());
        let (elements, slots) = (self.body.elements(), self.body.pattern().pair_slots());
        let (mut first, mut carried) = (0, self.carried.iter());
        for (e, s) in self.stretches.iter().enumerate() {
            let corners = elements.corners(e);
            for piece in elements.pieces(e) {
                let mut h = Mat3::zeros();
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    h += u[a as usize] * g.transpose();
                }
                let Some(carried) = carried.next() else {
                    return;
                };
                let f = (carried + h) / *s;
                let cofactor = cofactors(&f) / *s;
                let (force, stiffness) = pressure(f.determinant());
                let plain = piece.volume / (s * s);
                let stress = h * plain + cofactor * (force * piece.volume);
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    gradient[a as usize] += stress * g;
                }
                let Some(solver) = solver.as_deref_mut() else {
                    continue;
                };
                let mut pair = first;
                for (i, ga) in piece.gradients.iter().enumerate() {
                    let along = cofactor * ga * (stiffness * piece.volume);
                    for gb in &piece.gradients[i..] {
                        if let Some(slot) = slots[pair] {
                            solver.add(slot, &(along * (cofactor * gb).transpose()));
                            solver.add_scalar(slot, plain * ga.dot(gb));
                        }
                        pair += 1;
                    }
                }
            }
            first += corners.len() * (corners.len() + 1) / 2;
        }
    }
}

/// ψ' at a volume over that at rest, and what Gauss and Newton take for its derivative.
fn pressure(j: f64) -> (f64, f64) {
    let swollen = 0.5 * (1.0 + ((j - 1.0) / PASSING).tanh());
    let crushed = ((CRUSHING - j) / CRUSHING).clamp(0.0, 1.0);
    let weight = (1.0 + (SWOLLEN - 1.0) * swollen) * (1.0 + (CRUSHED - 1.0) * crushed);
    let stiffness = VOLUME * weight;
    (stiffness * (j - 1.0).clamp(-FARTHEST, FARTHEST), stiffness)
}

/// The derivative of the determinant.
fn cofactors(f: &Mat3) -> Mat3 {
    let (a, b, c) = (f.column(0), f.column(1), f.column(2));
    Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::skeleton::Affine;
    use nalgebra::Rotation3;
    use std::sync::Arc;

    fn bar() -> Arc<Body> {
        let bar = BarOptions::default();
        let weights = bar.painted_weights();
        let options = crate::body::BodyOptions {
            region_weights: Some(weights),
            ..Default::default()
        };
        BarOptions { options, ..bar }.build()
    }

    fn bent(angle: f64) -> Pose {
        let joint = Vec3::new(0.0, 0.0, 0.8);
        let turn = Rotation3::from_euler_angles(angle, 0.1 * angle, 0.2 * angle).into_inner();
        let upper = Affine {
            linear: turn,
            translation: joint - turn * joint,
        };
        Pose::new(vec![Affine::identity(), upper]).unwrap()
    }

    fn solved(body: &Body, pose: &Pose) -> Vec<Vec3> {
        let bones = BonePoses::new(body.skeleton(), pose).unwrap();
        let mut balance = VolumeBalance::new(body).unwrap();
        balance.solve(body, pose, &bones).unwrap()
    }

    fn carried<'a>(body: &'a Body, pose: &Pose) -> Carried<'a> {
        let bones = BonePoses::new(body.skeleton(), pose).unwrap();
        Carried {
            body,
            carried: Pieces::new(body).carried(&bones),
            stretches: stretches(body, pose),
        }
    }

    /// Each piece's volume, stretch, ∇u and J at u.
    fn pieces(flesh: &Carried, u: &[Vec3]) -> Vec<(f64, f64, Mat3, f64)> {
        let elements = flesh.body.elements();
        let mut carried = flesh.carried.iter();
        let mut all = Vec::new();
        for (e, s) in flesh.stretches.iter().enumerate() {
            for piece in elements.pieces(e) {
                let corners = elements.corners(e).iter().zip(piece.gradients);
                let h: Mat3 = corners.map(|(&a, g)| u[a as usize] * g.transpose()).sum();
                let f = carried.next().unwrap() + h;
                all.push((piece.volume, *s, h, (f / *s).determinant()));
            }
        }
        all
    }

    /// ψ by Simpson's rule from 1.
    fn energy(j: f64) -> f64 {
        const PIECES: usize = 400;
        let step = (j - 1.0) / PIECES as f64;
        let at = |i: f64| pressure(1.0 + i * step).0;
        let piece = |i: usize| at(i as f64) + 4.0 * at(i as f64 + 0.5) + at(i as f64 + 1.0);
        (0..PIECES).map(piece).sum::<f64>() * step / 6.0
    }

    fn value(flesh: &Carried, u: &[Vec3]) -> f64 {
        let of = |(volume, s, h, j): (f64, f64, Mat3, f64)| {
            volume * (0.5 * h.norm_squared() / (s * s) + energy(j))
        };
        pieces(flesh, u).into_iter().map(of).sum()
    }

    #[test]
    fn the_gradient_is_the_energys_derivative_for_bones_that_stretch_too() {
        let (body, mut pose) = (bar(), bent(1.2));
        for scale in [1.0, 1.7] {
            let by = Affine {
                linear: Mat3::identity() * scale,
                ..Affine::identity()
            };
            pose = pose.moved(&by);
            let flesh = carried(&body, &pose);
            let wave = |v: usize| Vec3::new((v as f64).sin(), (2.0 * v as f64).cos(), 0.3) * 0.02;
            let u: Vec<Vec3> = (0..body.nodes()).map(wave).collect();
            let mut gradient = vec![Vec3::zeros(); body.nodes()];
            flesh.linearise(&u, &mut gradient, None);
            let direction = |v: usize| Vec3::new(0.2, (3.0 * v as f64).sin(), (v as f64).cos());
            let slope: f64 = gradient
                .iter()
                .enumerate()
                .map(|(v, g)| g.dot(&direction(v)))
                .sum();
            let along = |t: f64| {
                let moved = u.iter().enumerate().map(|(v, u)| u + direction(v) * t);
                value(&flesh, &moved.collect::<Vec<_>>())
            };
            let change = (along(1e-6) - along(-1e-6)) / 2e-6;
            // Central differences of numbers near 1 keep nine digits; ψ is kept to a few less across its kinks.
            assert!(
                (change - slope).abs() < 1e-5 * slope.abs(),
                "{change} {slope}"
            );
        }
    }

    #[test]
    fn flesh_is_carried_as_its_bones_do() {
        let (body, pose) = (bar(), bent(1.2));
        // Where one bone alone has all of a cell its map is the bone's.
        let flesh = carried(&body, &pose);
        let mut rigid = 0;
        for (c, f) in flesh.carried.iter().enumerate() {
            let row: Vec<_> = body.cell_weights().row(c).filter(|p| p.1 > 0.0).collect();
            if let [(bone, _)] = row[..] {
                rigid += 1;
                assert!((f - pose.maps()[bone as usize].linear).norm() < 1e-9);
            }
        }
        assert!(rigid > 0 && rigid < flesh.carried.len());
    }

    #[test]
    fn nothing_moves_at_rest_and_held_vertices_never_do() {
        let body = bar();
        let u = solved(&body, &bent(0.0));
        assert!(u.iter().all(|u| u.norm() < 1e-12));
        let u = solved(&body, &bent(1.5));
        assert!(body.held_vertices().all(|v| u[v as usize] == Vec3::zeros()));
        assert!(u.iter().any(|u| u.norm() > 0.01));
    }

    #[test]
    fn it_turns_moves_and_grows_along_with_the_bones() {
        let body = bar();
        let alone = solved(&body, &bent(1.4));
        let turn = Rotation3::from_euler_angles(0.7, -0.4, 2.0).into_inner();
        for scale in [1.0, 2.5] {
            let by = Affine {
                linear: turn * scale,
                translation: Vec3::new(30.0, -7.0, 2.0),
            };
            let moved = solved(&body, &bent(1.4).moved(&by));
            for (a, b) in alone.iter().zip(&moved) {
                assert!((turn * a * scale - b).norm() < 1e-9);
            }
        }
    }

    #[test]
    fn volume_that_the_bend_takes_comes_back() {
        let body = bar();
        for angle in [0.8, 1.4] {
            let (flesh, u) = (carried(&body, &bent(angle)), solved(&body, &bent(angle)));
            let lost = |u: &[Vec3]| -> f64 {
                let of = |(volume, _, _, j): (f64, f64, Mat3, f64)| volume * (1.0 - j).max(0.0);
                pieces(&flesh, u).into_iter().map(of).sum()
            };
            let (before, after) = (lost(&vec![Vec3::zeros(); u.len()]), lost(&u));
            assert!(after < 0.6 * before, "{angle}: {after} of {before}");
        }
    }

    #[test]
    fn a_little_more_bend_moves_flesh_a_little_and_bones_scaled_to_nothing_leave_numbers() {
        let body = bar();
        let at = |degrees: f64| solved(&body, &bent(degrees.to_radians()));
        let mut before = at(0.0);
        let mut farthest = 0.0_f64;
        for degree in 1..=140 {
            let now = at(f64::from(degree));
            let moved = before.iter().zip(&now).map(|(a, b)| (a - b).norm());
            let moved = moved.fold(0.0, f64::max);
            farthest = farthest.max(moved);
            before = now;
        }
        // The farthest point of the bar goes by 14 mm a degree.
        assert!(farthest < 0.014, "{farthest}");
        let none = Affine {
            linear: Mat3::zeros(),
            translation: Vec3::zeros(),
        };
        let u = solved(&body, &Pose::new(vec![Affine::identity(), none]).unwrap());
        assert!(u.iter().all(|u| u.norm().is_finite()));
    }
}
