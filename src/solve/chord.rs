// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chord method: Newton's method that reuses its factor as long as steps converge.
//!
//! Each correction is `d = −A⁻¹ g` with A the Hessian adopted last, followed by the line search of [Newton's method](super::newton). A
//! correction costs one solution and two or three sums over the elements; Newton's also costs a Hessian and its factor. A correction
//! that leaves more than [`Chord::stale`] of the gradient causes A to be recomputed at the current point. In the worst case that is
//! Newton's method. [dennis1996, ch. 6]

use super::inverse::LinearSolver;
use super::newton::{
    Directions, ForceMagnitude, NewtonError, Outcome, Problem, descend, newton_direction,
};
use super::nodal::dot;
use crate::Vec3;
use crate::progress::Progress;

/// Settings: when to recompute the Hessian, and when to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chord {
    /// Largest gradient at convergence, as a share of that at the start.
    pub tolerance: f64,
    /// Share of the gradient that a correction may leave before the Hessian is recomputed.
    pub stale: f64,
    /// Maximum number of corrections.
    pub corrections: usize,
}

/// Minimises from `x`, in place, with the matrix that `solver` adopted last. At the end `x` is the minimum; after an error, the best
/// point found.
///
/// # Errors
/// As [`minimise`](super::newton::minimise).
pub fn minimise_with_factor(
    problem: &mut dyn Problem,
    solver: &mut dyn LinearSolver,
    x: &mut [Vec3],
    options: &Chord,
    progress: &dyn Progress,
) -> Result<Outcome, NewtonError> {
    let mut directions = ChordDirections {
        solver,
        limit: options.stale,
        stale: false,
        renewed: false,
    };
    let wanted = |first: f64, _: ForceMagnitude| options.tolerance * first;
    let when = (
        options.corrections,
        &wanted as &dyn Fn(f64, ForceMagnitude) -> f64,
    );
    descend(problem, &mut directions, x, when, progress)
}

/// Directions from the Hessian adopted last.
struct ChordDirections<'a> {
    solver: &'a mut dyn LinearSolver,
    /// [`Chord::stale`].
    limit: f64,
    /// Whether the Hessian must be recomputed for the next direction.
    stale: bool,
    /// Whether the last direction came from a Hessian computed for it.
    renewed: bool,
}

impl Directions for ChordDirections<'_> {
    fn write_direction(
        &mut self,
        problem: &mut dyn Problem,
        x: &[Vec3],
        gradient: &[Vec3],
        direction: &mut [Vec3],
    ) -> Result<f64, NewtonError> {
        self.renewed = self.stale;
        if !self.stale {
            for (d, g) in direction.iter_mut().zip(gradient) {
                *d = -g;
            }
            let solved = self.solver.solve(direction);
            let slope = dot(direction, gradient);
            if solved.is_ok() && slope < 0.0 && slope.is_finite() {
                return Ok(slope);
            }
            self.renewed = true;
        }
        newton_direction(problem, self.solver, x, gradient, direction)
    }

    fn note_remaining(&mut self, left: Option<f64>) -> bool {
        self.stale = left.is_none_or(|left| left > self.limit);
        left.is_some() || !self.renewed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat3;
    use crate::progress::Silent;
    use crate::solve::newton::{RoundedSum, minimise};
    use crate::solve::ordering::Graph;
    use crate::solve::{Newton, SparseCholesky, SymbolicCholesky};
    use std::sync::Arc;

    /// Points on springs that stiffen, each pulled aside: `½ k |x|² + ¼ c |x|⁴ − f · x`.
    struct StiffeningSprings {
        pulls: Vec<Vec3>,
        stiffening: f64,
        hessians: usize,
    }

    impl Problem for StiffeningSprings {
        fn value(&mut self, x: &[Vec3]) -> RoundedSum {
            let all = x.iter().zip(&self.pulls);
            let value = |(x, f): (&Vec3, &Vec3)| {
                let square = x.norm_squared();
                0.5 * square + 0.25 * self.stiffening * square * square - f.dot(x)
            };
            let value: f64 = all.map(value).sum();
            RoundedSum {
                value,
                rounding: 1e-15 * value.abs(),
            }
        }

        fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> ForceMagnitude {
            for ((g, x), f) in gradient.iter_mut().zip(x).zip(&self.pulls) {
                *g = x * (1.0 + self.stiffening * x.norm_squared()) - f;
            }
            ForceMagnitude {
                size: 1.0,
                rounding: 1e-15,
            }
        }

        fn hessian(&mut self, x: &[Vec3], _: bool, solver: &mut SparseCholesky) {
            self.hessians += 1;
            solver.clear();
            for (i, x) in x.iter().enumerate() {
                let straight = Mat3::identity() * (1.0 + self.stiffening * x.norm_squared());
                let slot = solver.symbolic().slot(i, i).unwrap();
                solver.add(
                    slot,
                    &(straight + x * x.transpose() * (2.0 * self.stiffening)),
                );
            }
        }
    }

    fn springs(pull: f64, stiffening: f64) -> (StiffeningSprings, SparseCholesky) {
        let pulls: Vec<Vec3> = (0..5)
            .map(|i| Vec3::new(pull, 0.1 * i as f64, -0.3))
            .collect();
        let graph = Graph::from_edges(pulls.len(), std::iter::empty());
        let symbolic = Arc::new(SymbolicCholesky::new(&graph, &pulls).unwrap());
        let mut springs = StiffeningSprings {
            pulls,
            stiffening,
            hessians: 0,
        };
        let mut solver = SparseCholesky::new(symbolic).unwrap();
        springs.hessian(&[Vec3::zeros(); 5], false, &mut solver);
        solver.factor().unwrap();
        springs.hessians = 0;
        (springs, solver)
    }

    const SETTINGS: Chord = Chord {
        tolerance: 1e-10,
        stale: 0.3,
        corrections: 60,
    };

    /// The chord method reaches the minimum of Newton's method and renews the factor only if it must.
    #[test]
    fn chord_reaches_newton_minimum() {
        for (pull, stiffening, renewed) in [(0.2, 0.1, false), (3.0, 2.0, true)] {
            let (mut problem, mut solver) = springs(pull, stiffening);
            let mut ours = vec![Vec3::zeros(); 5];
            minimise_with_factor(&mut problem, &mut solver, &mut ours, &SETTINGS, &Silent).unwrap();
            assert_eq!(problem.hessians > 0, renewed);
            let mut wanted = vec![Vec3::zeros(); 5];
            let newton = Newton::default();
            minimise(&mut problem, &mut solver, &mut wanted, &newton, &Silent).unwrap();
            for (a, b) in ours.iter().zip(&wanted) {
                assert!((a - b).norm() < 1e-8, "{a} {b}");
            }
        }
    }

    /// A search that does not converge is an error and ends at the best point.
    #[test]
    fn chord_failure_keeps_best_point() {
        let (mut problem, mut solver) = springs(3.0, 2.0);
        let mut x = vec![Vec3::zeros(); 5];
        let few = Chord {
            corrections: 2,
            ..SETTINGS
        };
        let start = problem.value(&x).value;
        let error = minimise_with_factor(&mut problem, &mut solver, &mut x, &few, &Silent);
        assert!(matches!(
            error,
            Err(NewtonError::NotConverged { iterations: 2, .. })
        ));
        assert!(problem.value(&x).value < start);
    }
}
