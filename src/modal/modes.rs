// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vibration modes and the rotations of the flesh in them. [choi2003, §3.2]

use super::packed::PackedModes;
use super::{ModalError, ModalSystem};
use crate::Vec3;
use crate::body::Body;
use crate::geometry::rotation_vector::mean_rotation;
use crate::progress::{Progress, report_progress};
use crate::range::is_sound;
use crate::solve::NodeMatrix;
use crate::solve::eigen::{EigenSettings, lowest_eigenpairs};
use crate::tets::MassKind;
use std::sync::Arc;

/// The lowest vibration modes of a body, mass-orthonormal: `K Φ = M Φ Λ`, `ΦᵀMΦ = I`, `Ψ = W Φ`.
#[derive(Debug, Clone)]
pub struct Modes {
    /// Functions whose coefficients the nodes are.
    pub(super) functions: crate::basis::Basis,
    pub(super) body: Option<Arc<Body>>,
    pub(super) fixed: Vec<bool>,
    /// Λ, 1/s², ascending.
    pub(super) eigenvalues: Vec<f64>,
    /// True if a count of the eigenvalues below a bound proves that no mode is missing.
    pub(super) verified: bool,
    pub(super) basis: Arc<ModeShapes>,
}

/// The part of modes that does not depend on the flesh's stiffness.
#[derive(Debug)]
pub(super) struct ModeShapes {
    /// Φ, `[modes][nodes]`, 1/√kg.
    pub(super) shapes: Vec<Vec<Vec3>>,
    /// Ψ, `[modes][nodes]`.
    pub(super) rotations: Vec<Vec<Vec3>>,
    /// Nodes that share an element with each node, itself included, ascending.
    pub(super) neighbours: Vec<Vec<u32>>,
    /// Row sums of M over the functions that sum to one, kg.
    pub(super) masses: Vec<f64>,
    pub(super) packed: PackedModes,
}

impl ModeShapes {
    pub fn new(
        rotations: Vec<Vec<Vec3>>,
        momenta: Vec<Vec<Vec3>>,
        shapes: Vec<Vec<Vec3>>,
        neighbours: Vec<Vec<u32>>,
        masses: Vec<f64>,
    ) -> Self {
        Self {
            packed: PackedModes::new(&shapes, &rotations, &momenta),
            shapes,
            rotations,
            neighbours,
            masses,
        }
    }
}

/// Checks that `free` nodes with mass have `count` modes.
fn check_count(system: &ModalSystem, free: &[u32], count: usize) -> Result<(), ModalError> {
    if count == 0 {
        return Err(ModalError::NoModes);
    }
    if free.is_empty() {
        return Err(ModalError::NothingFree {
            nodes: system.fixed.len(),
        });
    }
    if count > 3 * free.len() {
        return Err(ModalError::TooMany {
            asked: count,
            free: free.len(),
            most: 3 * free.len(),
        });
    }
    let massless = |&&v: &&u32| {
        let mass = system.mass.get(v as usize, v as usize);
        mass.is_none_or(|m| *m <= 0.0)
    };
    match free.iter().find(massless) {
        Some(&node) => Err(ModalError::NoMass {
            node: node as usize,
        }),
        None => Ok(()),
    }
}

impl Modes {
    /// Computes the `count` lowest modes of a system. `tolerance`: largest residual relative to `λ ‖M φ‖`.
    ///
    /// # Errors
    /// More modes than degrees of freedom, a node without mass, no free node, a stop by the progress.
    pub fn compute(
        system: &ModalSystem,
        count: usize,
        tolerance: Option<f64>,
        progress: &dyn Progress,
    ) -> Result<Self, ModalError> {
        let free = system.free_nodes();
        let nodes = system.fixed.len();
        check_count(system, &free, count)?;
        let centres = system.functions.centres();
        let centres: Vec<Vec3> = free.iter().map(|&v| centres[v as usize]).collect();
        let mut settings = EigenSettings::new(count);
        if let Some(tolerance) = tolerance {
            if !(tolerance > 0.0 && tolerance.is_finite()) {
                return Err(ModalError::Setting {
                    what: "the tolerance",
                    range: "a positive number",
                    value: tolerance,
                });
            }
            settings.tolerance = tolerance;
        }
        let (stiffness, mass) = system.eigenproblem(&free);
        let mut pairs = lowest_eigenpairs(
            &stiffness,
            &mass,
            &centres,
            &settings,
            &|f: f64, stage: &str| progress.report(0.95 * f, stage),
        )?;
        if let Some(form) = &system.nodal {
            let values = form.values.restrict_to(&free);
            for vector in &mut pairs.vectors {
                values.to_coefficients(&vector.clone(), vector);
            }
        }
        report_progress(progress, 0.95, "Rotations of the modes")?;
        let spread = |vector: &Vec<Vec3>| {
            let mut shape = vec![Vec3::zeros(); nodes];
            for (&v, x) in free.iter().zip(vector) {
                shape[v as usize] = *x;
            }
            shape
        };
        let shapes: Vec<Vec<Vec3>> = pairs.vectors.iter().map(spread).collect();
        let product = |shape: &Vec<Vec3>| {
            let row = |v| system.mass.row_times(v, shape);
            (0..nodes).map(row).collect()
        };
        let turns = |shape: &Vec<Vec3>| system.elements.rotations(shape);
        let basis = ModeShapes::new(
            shapes.iter().map(turns).collect(),
            shapes.iter().map(product).collect(),
            shapes,
            node_neighbours(system),
            (0..nodes).map(|v| system.carried_mass(v)).collect(),
        );
        report_progress(progress, 1.0, "done")?;
        Ok(Self {
            functions: system.functions.clone(),
            body: system.body.clone(),
            fixed: system.fixed.clone(),
            eigenvalues: pairs.values,
            verified: pairs.verified,
            basis: Arc::new(basis),
        })
    }

    /// Computes the `count` lowest modes of a body of flesh.
    ///
    /// # Errors
    /// More modes than degrees of freedom; a stop by the progress.
    pub fn for_body(
        body: &Arc<Body>,
        count: usize,
        progress: &dyn Progress,
    ) -> Result<Self, ModalError> {
        let system = ModalSystem::for_body(body, MassKind::default(), &[])?;
        Self::compute(&system, count, None, progress)
    }

    /// Returns the modes of the same flesh made stiffer by a factor: equal shapes, scaled eigenvalues.
    ///
    /// # Errors
    /// A factor that is not positive, or that makes eigenvalues too large.
    pub fn scale_stiffness(&self, factor: f64) -> Result<Self, ModalError> {
        let sound = |l: &f64| is_sound(l * factor);
        if !(factor > 0.0 && is_sound(factor) && self.eigenvalues.iter().all(sound)) {
            return Err(ModalError::Setting {
                what: "the factor of stiffness",
                range: "a positive number with which no eigenvalue exceeds 1e100 1/s²",
                value: factor,
            });
        }
        Ok(Self {
            eigenvalues: self.eigenvalues.iter().map(|l| l * factor).collect(),
            ..self.clone()
        })
    }

    /// Returns the first `count` of these modes, or all if there are fewer.
    ///
    /// # Errors
    /// A `count` of zero.
    pub fn lowest_modes(&self, count: usize) -> Result<Self, ModalError> {
        if count == 0 {
            return Err(ModalError::NoModes);
        }
        let count = count.min(self.len());
        let first = |all: &Vec<Vec<Vec3>>| all[..count].to_vec();
        Ok(Self {
            eigenvalues: self.eigenvalues[..count].to_vec(),
            basis: Arc::new(ModeShapes::new(
                first(&self.basis.rotations),
                self.basis.packed.momenta(count, self.node_count()),
                first(&self.basis.shapes),
                self.basis.neighbours.clone(),
                self.basis.masses.clone(),
            )),
            ..self.clone()
        })
    }

    /// Returns Λ, 1/s², ascending.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Returns whether a count of the eigenvalues below a bound proves that no mode is missing.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// Returns the undamped frequencies, Hz, ascending.
    pub fn frequencies(&self) -> Vec<f64> {
        let hertz = |l: &f64| l.max(0.0).sqrt() / std::f64::consts::TAU;
        self.eigenvalues.iter().map(hertz).collect()
    }

    /// Returns Φ: per mode one vector per node, 1/√kg; zero at fixed nodes.
    pub fn shapes(&self) -> &[Vec<Vec3>] {
        &self.basis.shapes
    }

    /// Returns Ψ: per mode one rotation vector per node.
    pub fn rotations(&self) -> &[Vec<Vec3>] {
        &self.basis.rotations
    }

    /// Returns the mass of each node, kg: the row sums of M, over the functions that sum to one.
    pub fn masses(&self) -> &[f64] {
        &self.basis.masses
    }

    pub(super) fn packed_modes(&self) -> &PackedModes {
        &self.basis.packed
    }

    /// Returns the number of modes.
    pub fn len(&self) -> usize {
        self.eigenvalues.len()
    }

    /// Returns whether the set of modes is empty.
    pub fn is_empty(&self) -> bool {
        self.eigenvalues.is_empty()
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.fixed.len()
    }

    /// Returns the mask of fixed nodes.
    pub fn fixed_mask(&self) -> &[bool] {
        &self.fixed
    }

    /// Returns the nodes that share an element with a node, itself included, ascending.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.basis.neighbours[node]
    }

    /// Returns the functions whose coefficients the nodes are; they embed points.
    pub fn functions(&self) -> &crate::basis::Basis {
        &self.functions
    }

    /// Returns whether these are modes of a body with these functions and these held nodes, whatever its stiffness.
    pub fn belong_to(&self, body: &Body) -> bool {
        let same = |own: &Arc<Body>| {
            own.basis() == body.basis()
                && own.mass_matrix() == body.mass_matrix()
                && own.held_vertices().eq(body.held_vertices())
        };
        self.body.as_ref().is_some_and(same)
    }

    /// Returns the body of flesh; `None` for a tetrahedral body.
    pub fn body(&self) -> Option<&Arc<Body>> {
        self.body.as_ref()
    }

    /// Returns `Φ q` at one node.
    #[inline]
    pub fn displacement(&self, amplitudes: &[f64], node: usize) -> Vec3 {
        weighted_sum(&self.basis.shapes, amplitudes, node)
    }

    /// Returns `Ψ q` at one node.
    #[inline]
    pub fn rotation(&self, amplitudes: &[f64], node: usize) -> Vec3 {
        weighted_sum(&self.basis.rotations, amplitudes, node)
    }

    /// Returns the displacement of one node, metres: `R̃(Ψq) Φq`, or `Φq` without the warp.
    pub fn warped_displacement(&self, amplitudes: &[f64], node: usize, warp: bool) -> Vec3 {
        let u = self.displacement(amplitudes, node);
        if warp {
            mean_rotation(&self.rotation(amplitudes, node)) * u
        } else {
            u
        }
    }

    /// Returns the displacements of all nodes, metres: see [`warped_displacement`](Self::warped_displacement).
    pub fn displacements(&self, amplitudes: &[f64], warp: bool) -> Vec<Vec3> {
        let node = |node| self.warped_displacement(amplitudes, node, warp);
        (0..self.node_count()).map(node).collect()
    }
}

#[inline]
fn weighted_sum(columns: &[Vec<Vec3>], amplitudes: &[f64], node: usize) -> Vec3 {
    let pairs = columns.iter().zip(amplitudes);
    pairs.fold(Vec3::zeros(), |sum, (c, q)| sum + c[node] * *q)
}

fn node_neighbours(system: &ModalSystem) -> Vec<Vec<u32>> {
    let row = |v| system.stiffness.indices()[system.stiffness.row_range(v)].to_vec();
    (0..system.fixed.len()).map(row).collect()
}
