// SPDX-License-Identifier: MIT OR Apache-2.0
//! Iterative solvers with a preconditioner P, an approximate inverse: conjugate gradients for symmetric positive definite
//! systems, GMRES for any. [hestenes1952; saad1986]
//!
//! Both start from zero, so that a solution depends on the system alone. They stop when the true residual of `A x = b` falls
//! below a share of b. Vectors are one triple per node; buffers are kept from call to call.

use super::nodal::{dot, norm};
use crate::Vec3;

/// A matrix and its preconditioner.
pub trait PreconditionedSystem {
    /// Computes `y = A x`.
    fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]);
    /// Applies the preconditioner: `x ← P x`.
    fn precondition(&mut self, x: &mut [Vec3]);
}

/// Stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingCriteria {
    /// Largest residual, as a share of the right-hand side.
    pub tolerance: f64,
    /// Maximum number of multiplications by A.
    pub iterations: usize,
}

/// Conjugate gradients with buffers of its own.
#[derive(Debug, Clone)]
pub struct ConjugateGradients {
    x: Vec<Vec3>,
    residual: Vec<Vec3>,
    conditioned: Vec<Vec3>,
    direction: Vec<Vec3>,
    image: Vec<Vec3>,
}

impl ConjugateGradients {
    /// Allocates buffers for systems of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        let zero = vec![Vec3::zeros(); nodes];
        Self {
            x: zero.clone(),
            residual: zero.clone(),
            conditioned: zero.clone(),
            direction: zero.clone(),
            image: zero,
        }
    }

    /// Solves in place: right-hand side in, solution out. Returns the number of iterations; `None` without convergence, which
    /// leaves `b` unchanged.
    pub fn solve(
        &mut self,
        system: &mut impl PreconditionedSystem,
        b: &mut [Vec3],
        stop: StoppingCriteria,
    ) -> Option<usize> {
        let small = stop.tolerance * norm(b);
        self.x.fill(Vec3::zeros());
        self.residual.copy_from_slice(b);
        let mut before = 0.0;
        for i in 0..=stop.iterations {
            if norm(&self.residual) <= small {
                b.copy_from_slice(&self.x);
                return Some(i);
            }
            self.conditioned.copy_from_slice(&self.residual);
            system.precondition(&mut self.conditioned);
            let now = dot(&self.residual, &self.conditioned);
            let along = if i == 0 { 0.0 } else { now / before };
            for (d, z) in self.direction.iter_mut().zip(&self.conditioned) {
                *d = *d * along + z;
            }
            system.apply(&self.direction, &mut self.image);
            let curvature = dot(&self.direction, &self.image);
            // Written so that NaN returns too.
            if !(now > 0.0 && curvature > 0.0) {
                return None;
            }
            add_scaled(&mut self.x, now / curvature, &self.direction);
            add_scaled(&mut self.residual, -now / curvature, &self.image);
            before = now;
        }
        None
    }
}

/// GMRES, right-preconditioned, restarted after [`Gmres::RESTART_LENGTH`] iterations; buffers grow with use.
#[derive(Debug, Clone)]
pub struct Gmres {
    basis: Vec<Vec<Vec3>>,
    /// Columns of the triangular matrix after the Givens rotations.
    upper: Vec<[f64; Gmres::RESTART_LENGTH + 1]>,
    rotations: Vec<(f64, f64)>,
    x: Vec<Vec3>,
    residual: Vec<Vec3>,
    image: Vec<Vec3>,
}

impl Gmres {
    /// Residual that is accepted where rounding prevents a smaller one, as a share of the right-hand side.
    const ROUNDING_TOLERANCE: f64 = 1e-10;

    /// Krylov vectors before a restart.
    pub const RESTART_LENGTH: usize = 64;

    /// Allocates buffers for systems of `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        let zero = vec![Vec3::zeros(); nodes];
        Self {
            basis: Vec::new(),
            upper: Vec::new(),
            rotations: Vec::new(),
            x: zero.clone(),
            residual: zero.clone(),
            image: zero,
        }
    }

    /// Solves in place and returns the number of multiplications by A; otherwise as [`ConjugateGradients::solve`].
    pub fn solve(
        &mut self,
        system: &mut impl PreconditionedSystem,
        b: &mut [Vec3],
        stop: StoppingCriteria,
    ) -> Option<usize> {
        let size = norm(b);
        let small = stop.tolerance * size;
        self.x.fill(Vec3::zeros());
        self.residual.copy_from_slice(b);
        let (mut done, mut last, mut reached) = (0, f64::INFINITY, false);
        loop {
            let left = norm(&self.residual);
            // A pass that ended below the bound is right up to rounding.
            if left <= small || (reached && left <= Self::ROUNDING_TOLERANCE * size) {
                b.copy_from_slice(&self.x);
                return Some(done);
            }
            // NaN does not count as a gain either.
            let gains = left < 0.5 * last;
            if !gains || done >= stop.iterations {
                return None;
            }
            last = left;
            let most = Self::RESTART_LENGTH.min(stop.iterations - done);
            let count;
            (count, reached) = self.run_cycle(system, left, small, most);
            done += count;
            system.apply(&self.x, &mut self.image);
            for ((r, b), y) in self.residual.iter_mut().zip(&*b).zip(&self.image) {
                *r = b - y;
            }
        }
    }

    /// Improves x in at most `most` iterations until the residual, of norm `left`, falls to half of `small`. Returns the
    /// number of iterations and whether the estimated residual got there.
    fn run_cycle(
        &mut self,
        system: &mut impl PreconditionedSystem,
        left: f64,
        small: f64,
        most: usize,
    ) -> (usize, bool) {
        let mut target = [0.0; Self::RESTART_LENGTH + 1];
        target[0] = left;
        self.store_basis_vector(0, 1.0 / left);
        let (mut count, mut reached) = (0, false);
        while count < most {
            let k = count;
            self.residual.copy_from_slice(&self.basis[k]);
            system.precondition(&mut self.residual);
            system.apply(&self.residual, &mut self.image);
            let mut column = [0.0; Self::RESTART_LENGTH + 1];
            for (h, v) in column.iter_mut().zip(&self.basis[..=k]) {
                *h = dot(v, &self.image);
                add_scaled(&mut self.image, -*h, v);
            }
            let below = norm(&self.image);
            for (i, &(c, s)) in self.rotations[..k].iter().enumerate() {
                (column[i], column[i + 1]) = (
                    c * column[i] + s * column[i + 1],
                    c * column[i + 1] - s * column[i],
                );
            }
            let length = column[k].hypot(below);
            let regular = length > 0.0;
            if !regular {
                break;
            }
            let (c, s) = (column[k] / length, below / length);
            column[k] = length;
            if self.rotations.len() == k {
                self.rotations.push((c, s));
                self.upper.push(column);
            } else {
                (self.rotations[k], self.upper[k]) = ((c, s), column);
            }
            (target[k], target[k + 1]) = (c * target[k], -s * target[k]);
            count += 1;
            reached = target[count].abs() <= 0.5 * small;
            if reached || count == Self::RESTART_LENGTH {
                break;
            }
            std::mem::swap(&mut self.residual, &mut self.image);
            self.store_basis_vector(count, 1.0 / below);
        }
        for k in (0..count).rev() {
            let known: f64 = (k + 1..count).map(|j| self.upper[j][k] * target[j]).sum();
            target[k] = (target[k] - known) / self.upper[k][k];
        }
        self.residual.fill(Vec3::zeros());
        for (y, v) in target[..count].iter().zip(&self.basis) {
            add_scaled(&mut self.residual, *y, v);
        }
        system.precondition(&mut self.residual);
        add_scaled(&mut self.x, 1.0, &self.residual);
        (count, reached)
    }

    /// Stores the scaled residual as basis vector `k`.
    fn store_basis_vector(&mut self, k: usize, scale: f64) {
        if self.basis.len() == k {
            self.basis.push(vec![Vec3::zeros(); self.x.len()]);
        }
        for (v, r) in self.basis[k].iter_mut().zip(&self.residual) {
            *v = r * scale;
        }
    }
}

fn add_scaled(to: &mut [Vec3], factor: f64, x: &[Vec3]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += x * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// A dense matrix, preconditioned by its diagonal.
    struct DenseSystem(DMatrix<f64>);

    impl PreconditionedSystem for DenseSystem {
        fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
            let x = DVector::from_iterator(3 * x.len(), x.iter().flat_map(|v| v.iter().copied()));
            let product = &self.0 * x;
            for (y, p) in y.iter_mut().zip(product.as_slice().chunks_exact(3)) {
                *y = Vec3::new(p[0], p[1], p[2]);
            }
        }
        fn precondition(&mut self, x: &mut [Vec3]) {
            for (i, x) in x.iter_mut().enumerate() {
                for r in 0..3 {
                    x[r] /= self.0[(3 * i + r, 3 * i + r)];
                }
            }
        }
    }

    fn right_hand_side(nodes: usize) -> Vec<Vec3> {
        let at = |i: usize| Vec3::new(1.0, (i as f64).sin(), 0.1 * i as f64);
        (0..nodes).map(at).collect()
    }

    /// Builds a symmetric positive definite matrix plus `skew` times a part that is not symmetric.
    fn build_matrix(nodes: usize, skew: f64) -> DMatrix<f64> {
        let n = 3 * nodes;
        let b = DMatrix::from_fn(n, n, |i, j| ((i * 7 + j * 13) as f64).sin());
        let k = DMatrix::from_fn(n, n, |i, j| ((i * 3 + j * 5) as f64).cos());
        let lift = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 1.0 + (i % 5) as f64));
        &b * b.transpose() / n as f64 + lift + (&k - k.transpose()) * skew
    }

    fn residual(system: &mut DenseSystem, x: &[Vec3], b: &[Vec3]) -> f64 {
        let mut y = vec![Vec3::zeros(); b.len()];
        system.apply(x, &mut y);
        let off: Vec<Vec3> = y.iter().zip(b).map(|(y, b)| y - b).collect();
        norm(&off) / norm(b)
    }

    const CRITERIA: StoppingCriteria = StoppingCriteria {
        tolerance: 1e-12,
        iterations: 500,
    };

    /// Conjugate gradients and GMRES meet the tolerance of the residual.
    #[test]
    fn residuals_meet_tolerance() {
        for nodes in [1, 7, 40] {
            let mut symmetric = DenseSystem(build_matrix(nodes, 0.0));
            let mut x = right_hand_side(nodes);
            let mut cg = ConjugateGradients::new(nodes);
            cg.solve(&mut symmetric, &mut x, CRITERIA).unwrap();
            assert!(residual(&mut symmetric, &x, &right_hand_side(nodes)) < 2e-12);
            let mut gmres = Gmres::new(nodes);
            for skew in [0.0, 0.3, 2.0] {
                let mut system = DenseSystem(build_matrix(nodes, skew));
                let mut x = right_hand_side(nodes);
                gmres.solve(&mut system, &mut x, CRITERIA).unwrap();
                assert!(
                    residual(&mut system, &x, &right_hand_side(nodes)) < 2e-12,
                    "{nodes} {skew}"
                );
            }
        }
    }

    /// Systems that cannot be solved return `None` and leave the right-hand side unchanged.
    #[test]
    fn unsolvable_systems_return_none() {
        let nodes = 5;
        let mut cg = ConjugateGradients::new(nodes);
        let mut gmres = Gmres::new(nodes);
        // Indefinite for the one, singular for the other, not a number for both.
        let mut negative = DenseSystem(-build_matrix(nodes, 0.0));
        let mut x = right_hand_side(nodes);
        assert_eq!(cg.solve(&mut negative, &mut x, CRITERIA), None);
        let mut flat = build_matrix(nodes, 0.0);
        flat.row_mut(0).fill(0.0);
        flat[(0, 0)] = 1e-300;
        let mut flat = DenseSystem(flat);
        assert_eq!(gmres.solve(&mut flat, &mut x, CRITERIA), None);
        assert_eq!(x, right_hand_side(nodes));
        let mut nan = vec![Vec3::repeat(f64::NAN); nodes];
        let mut good = DenseSystem(build_matrix(nodes, 0.0));
        assert_eq!(cg.solve(&mut good, &mut nan, CRITERIA), None);
        assert_eq!(gmres.solve(&mut good, &mut nan, CRITERIA), None);
        // The solution of a right-hand side of zero is zero, without an iteration.
        let mut zero = vec![Vec3::zeros(); nodes];
        assert_eq!(cg.solve(&mut good, &mut zero, CRITERIA), Some(0));
        assert_eq!(gmres.solve(&mut good, &mut zero, CRITERIA), Some(0));
        let few = StoppingCriteria {
            iterations: 2,
            ..CRITERIA
        };
        assert_eq!(cg.solve(&mut good, &mut x, few), None);
        assert_eq!(gmres.solve(&mut good, &mut x, few), None);
    }
}
