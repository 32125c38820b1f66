// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy terms: potentials of the nodes, with value, gradient and Hessian.
//!
//! Statics and implicit steps minimise a sum of terms ([`Potential`](super::Potential)), or solve one linearisation of it. A
//! solver calls a term as a whole, never by element. A term has its own loop and its own caches (slots of its blocks, a fused
//! pass for gradient and Hessian). A new term needs no change anywhere else.
//!
//! Held nodes are part of a [`Configuration`] like others. Their gradient is not read, and the [`Assembly`] leaves out their
//! blocks.

use super::newton::{ForceMagnitude, RoundedSum};
use super::{BlockSlot, Pattern, ScalarMatrix, SparseCholesky};
use crate::{Mat3, Vec3};

/// Positions of the nodes; each array holds one vector per node.
#[derive(Debug, Clone, Copy)]
pub struct Configuration<'a> {
    /// Origin of the displacements, m: rest positions, or the positions to which a skeleton carries the nodes. `None`:
    /// displacements are positions.
    pub origin: Option<&'a [Vec3]>,
    /// Displacements, m.
    pub displacements: &'a [Vec3],
    /// Displacements from the start of the solution, m; `None`: zero. Terms that count from the start use these, as differences
    /// of displacements lose digits far from the origin.
    pub increment: Option<&'a [Vec3]>,
}

impl Configuration<'_> {
    /// Returns the position of a node, m, in world axes.
    #[inline]
    pub fn position(&self, node: usize) -> Vec3 {
        match self.origin {
            Some(origin) => origin[node] + self.displacements[node],
            None => self.displacements[node],
        }
    }
}

/// One energy of the nodes' displacements, J.
///
/// ```
/// use thew::solve::newton::{ForceMagnitude, RoundedSum};
/// use thew::solve::term::{Assembly, Configuration, EnergyTerm};
/// use thew::{Mat3, Vec3};
///
/// /// A spring without length that ties a node to a point, `½ k |x − a|²`.
/// struct Pin {
///     node: usize,
///     place: Vec3,
///     stiffness: f64,
/// }
///
/// impl EnergyTerm for Pin {
///     fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
///         sum.value += 0.5 * self.stiffness * (at.position(self.node) - self.place).norm_squared();
///     }
///     fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
///         let pull = (at.position(self.node) - self.place) * self.stiffness;
///         gradient[self.node] += pull;
///         ForceMagnitude { size: pull.norm(), rounding: f64::EPSILON * self.stiffness * at.position(self.node).amax() }
///     }
///     fn add_hessian(&self, _at: &Configuration, _convex: bool, into: &mut Assembly) {
///         into.add(self.node, self.node, &Mat3::from_diagonal_element(self.stiffness));
///     }
///     fn add_product(&self, _at: &Configuration, _convex: bool, x: &[Vec3], y: &mut [Vec3]) {
///         y[self.node] += x[self.node] * self.stiffness;
///     }
///     fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
///         visit(self.node, self.node);
///     }
/// }
/// ```
pub trait EnergyTerm: Send + Sync {
    /// Adds the energy (up to a constant) and a bound on its rounding error.
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum);

    /// Adds the derivative by each node's displacement, N: minus the forces. Returns the magnitude of the forces that add up to
    /// it.
    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude;

    /// Adds the second derivative, N/m: the exact one, or with `convex` a positive semi-definite one near it.
    fn add_hessian(&self, at: &Configuration, convex: bool, into: &mut Assembly);

    /// Adds the product of the Hessian of [`add_hessian`](Self::add_hessian) with `x[nodes]` to `y[nodes]`.
    fn add_product(&self, at: &Configuration, convex: bool, x: &[Vec3], y: &mut [Vec3]);

    /// Adds gradient and Hessian. Override it for terms that compute both in one pass.
    fn linearise(
        &self,
        at: &Configuration,
        convex: bool,
        gradient: &mut [Vec3],
        into: &mut Assembly,
    ) {
        self.add_gradient(at, gradient);
        self.add_hessian(at, convex, into);
    }

    /// Returns whether the Hessian is constant and positive semi-definite. It is then assembled once.
    fn is_quadratic(&self) -> bool {
        false
    }

    /// Calls `visit` with the pairs of nodes for which the Hessian has blocks, including each node with itself; repetitions are
    /// allowed. Serves to check that the nodes exist and that a [`Pattern`] has room.
    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize));

    /// Returns whether its nodes exist and all its pairs have an entry in a pattern.
    fn fits_pattern(&self, pattern: &Pattern) -> bool {
        let mut fits = true;
        self.visit_pairs(&mut |a, b| fits &= pattern.has_entry(a, b));
        fits
    }
}

/// A sum of Hessians: the values of a factorisation, and a factor that multiplies new blocks.
pub struct Assembly<'a> {
    pattern: &'a Pattern,
    solver: &'a mut SparseCholesky,
    factor: f64,
}

impl<'a> Assembly<'a> {
    /// Starts an assembly that adds to the current values of the solver, with factor 1.
    pub fn new(pattern: &'a Pattern, solver: &'a mut SparseCholesky) -> Self {
        Self {
            pattern,
            solver,
            factor: 1.0,
        }
    }

    /// Returns an assembly whose blocks are also multiplied by `factor`.
    pub fn scaled_by(&mut self, factor: f64) -> Assembly<'_> {
        Assembly {
            pattern: self.pattern,
            solver: self.solver,
            factor: self.factor * factor,
        }
    }

    /// Returns the factor of the blocks.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Adds the block of row node `a`, column node `b`. Of the two blocks of a pair of nodes only one is added; a diagonal
    /// block is added whole. Does nothing where a node is held.
    pub fn add(&mut self, a: usize, b: usize, block: &Mat3) {
        let nodes = self
            .pattern
            .node_of_vertex(a)
            .zip(self.pattern.node_of_vertex(b));
        let slot = nodes.and_then(|(a, b)| self.pattern.symbolic().slot(a as usize, b as usize));
        self.add_at(slot, block);
    }

    /// Adds a block at a slot that was looked up before, for example from [`Pattern::pair_slots`].
    #[inline]
    pub fn add_at(&mut self, slot: Option<BlockSlot>, block: &Mat3) {
        if let Some(slot) = slot {
            self.solver.add(slot, &(block * self.factor));
        }
    }

    /// Adds a block that already contains the factor.
    #[inline]
    pub fn add_multiplied_at(&mut self, slot: Option<BlockSlot>, block: &Mat3) {
        if let Some(slot) = slot {
            self.solver.add(slot, block);
        }
    }

    /// Adds a matrix of the pattern, each entry on all three axes.
    pub fn add_scalars(&mut self, matrix: &ScalarMatrix) {
        for (slot, value) in self.pattern.entry_slots().iter().zip(matrix.data()) {
            if let Some(slot) = slot {
                self.solver.add_scalar(*slot, self.factor * value);
            }
        }
    }

    /// Adds values in the layout of [`SparseCholesky::values`] that already contain the factor.
    pub fn add_values(&mut self, values: &[f64]) {
        self.solver.add_values(values);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::solve::ConjugateGradients;
    use crate::solve::krylov::{PreconditionedSystem, StoppingCriteria};
    use crate::solve::matrix::zeros;
    use crate::solve::nodal::norm;

    /// Asserts that a term's gradient is the derivative of its value and its Hessian that of its gradient. Also
    /// asserts that the Hessian is the same applied, assembled and in one pass with the gradient. Errors are parts of
    /// the size.
    pub(crate) fn check_derivatives(
        term: &dyn EnergyTerm,
        at: Configuration,
        pattern: &Pattern,
        step: f64,
    ) {
        let nodes = at.displacements.len();
        let free = pattern.vertex_of_node();
        let zero = vec![Vec3::zeros(); nodes];
        let mut direction = zero.clone();
        for (i, &v) in free.iter().enumerate() {
            direction[v as usize] = Vec3::new(
                (3.0 * i as f64).sin(),
                (5.0 * i as f64).cos(),
                (7.0 * i as f64).sin(),
            );
        }
        let start = at.increment.unwrap_or(&zero);
        let moved = |s: f64, visit: &mut dyn FnMut(&Configuration)| {
            let add = |x: &[Vec3]| -> Vec<Vec3> {
                x.iter().zip(&direction).map(|(x, d)| x + d * s).collect()
            };
            visit(&Configuration {
                displacements: &add(at.displacements),
                increment: Some(&add(start)),
                ..at
            });
        };
        let value = |s: f64| {
            let mut sum = RoundedSum::default();
            moved(s, &mut |at| term.add_value(at, &mut sum));
            sum.value
        };
        let gradient = |s: f64| {
            let mut sum = zero.clone();
            moved(s, &mut |at| {
                term.add_gradient(at, &mut sum);
            });
            sum
        };
        let here = gradient(0.0);
        let slope: f64 = here.iter().zip(&direction).map(|(g, d)| g.dot(d)).sum();
        let difference = (value(step) - value(-step)) / (2.0 * step);
        let size = norm(&here) * norm(&direction) + f64::MIN_POSITIVE;
        assert!(
            (slope - difference).abs() < 1e-5 * size,
            "{slope} {difference}"
        );
        let mut rounded = RoundedSum::default();
        term.add_value(&at, &mut rounded);
        let most = rounded.value.abs() + norm(&here) * norm(at.displacements);
        assert!(
            (0.0..=1e-9 * most).contains(&rounded.rounding),
            "{} of {most}",
            rounded.rounding
        );

        let mut product = zero.clone();
        term.add_product(&at, false, &direction, &mut product);
        let size = norm(&product) + f64::MIN_POSITIVE;
        let (up, down) = (gradient(step), gradient(-step));
        for &v in free {
            let v = v as usize;
            let difference = (up[v] - down[v]) / (2.0 * step);
            assert!((difference - product[v]).norm() < 1e-5 * size);
        }

        assert_matrices(term, &at, pattern, (&direction, &here), size);
        assert!(term.fits_pattern(pattern));
    }

    /// Asserts that the product with the matrix is that of the assembled matrix, alone and in one pass with the gradient.
    fn assert_matrices(
        term: &dyn EnergyTerm,
        at: &Configuration,
        pattern: &Pattern,
        (direction, gradient): (&[Vec3], &[Vec3]),
        size: f64,
    ) {
        for convex in [false, true] {
            let mut product = vec![Vec3::zeros(); direction.len()];
            term.add_product(at, convex, direction, &mut product);
            let mut solver = SparseCholesky::new(pattern.symbolic().clone()).unwrap();
            let mut assembly = Assembly::new(pattern, &mut solver);
            term.add_hessian(at, convex, &mut assembly);
            let mut sum = vec![Vec3::zeros(); direction.len()];
            term.linearise(at, convex, &mut sum, &mut assembly.scaled_by(1.0));
            assert_eq!(sum, gradient);
            assert_product(&mut solver, pattern, direction, &product, 1e-10 * size);
        }
    }

    /// Asserts that half of an assembled matrix maps `x` to `y` on the free nodes.
    fn assert_product(
        solver: &mut SparseCholesky,
        pattern: &Pattern,
        x: &[Vec3],
        y: &[Vec3],
        tolerance: f64,
    ) {
        let free = pattern.vertex_of_node();
        let x: Vec<Vec3> = free.iter().map(|&v| x[v as usize]).collect();
        let mut twice = x.clone();
        solver.multiply(&x, &mut twice);
        for (twice, &v) in twice.iter().zip(free) {
            assert!((twice * 0.5 - y[v as usize]).norm() < tolerance);
        }
    }

    /// A spring from a node to a point.
    pub(crate) struct Pin {
        pub node: usize,
        pub place: Vec3,
        pub stiffness: f64,
    }

    impl EnergyTerm for Pin {
        fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
            let off = at.position(self.node) - self.place;
            let value = 0.5 * self.stiffness * off.norm_squared();
            sum.value += value;
            sum.rounding += 4.0 * f64::EPSILON * value;
        }
        fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
            let x = at.position(self.node);
            let pull = (x - self.place) * self.stiffness;
            gradient[self.node] += pull;
            ForceMagnitude {
                size: pull.norm(),
                rounding: f64::EPSILON * self.stiffness * x.amax(),
            }
        }
        fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
            let block = Mat3::from_diagonal_element(self.stiffness);
            into.add(self.node, self.node, &block);
        }
        fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
            y[self.node] += x[self.node] * self.stiffness;
        }
        fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
            visit(self.node, self.node);
        }
    }

    /// Conjugate gradients on terms that are applied, never assembled.
    struct AppliedTerms<'a> {
        terms: &'a [&'a dyn EnergyTerm],
        at: Configuration<'a>,
    }

    impl PreconditionedSystem for AppliedTerms<'_> {
        fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
            y.fill(Vec3::zeros());
            for term in self.terms {
                term.add_product(&self.at, false, x, y);
            }
        }
        fn precondition(&mut self, _: &mut [Vec3]) {}
    }

    /// The gradient and Hessian of a pin are derivatives of its energy, and its balance is the same applied as assembled.
    #[test]
    fn pin_matches_derivatives() {
        let rest: Vec<Vec3> = (0..4).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect();
        let cells: [&[u32]; 2] = [&[0, 1, 2], &[1, 2, 3]];
        let matrix = zeros(4, cells);
        let pattern = Pattern::new(cells, &matrix, &[false; 4], &rest).unwrap();
        let displacements = vec![Vec3::new(0.1, 0.2, -0.3); 4];
        let at = Configuration {
            origin: Some(&rest),
            displacements: &displacements,
            increment: None,
        };
        let pins: Vec<Pin> = (0..4)
            .map(|node| Pin {
                node,
                place: Vec3::new(0.0, node as f64, 1.0),
                stiffness: 3.0 + node as f64,
            })
            .collect();
        for pin in &pins {
            check_derivatives(pin, at, &pattern, 1e-3);
        }
        let terms: Vec<&dyn EnergyTerm> = pins.iter().map(|p| p as &dyn EnergyTerm).collect();
        let mut down = vec![Vec3::zeros(); 4];
        for term in &terms {
            term.add_gradient(&at, &mut down);
        }
        let mut step: Vec<Vec3> = down.iter().map(|g| -g).collect();
        let mut system = AppliedTerms { terms: &terms, at };
        let stop = StoppingCriteria {
            tolerance: 1e-13,
            iterations: 20,
        };
        ConjugateGradients::new(4)
            .solve(&mut system, &mut step, stop)
            .unwrap();
        for (pin, (d, x)) in pins.iter().zip(step.iter().zip(0..)) {
            assert!((at.position(x) + d - pin.place).norm() < 1e-12);
        }
        // Nodes that share no cell have no room for a block.
        assert!(pattern.has_entry(0, 2) && !pattern.has_entry(0, 3) && !pattern.has_entry(0, 4));
    }
}
