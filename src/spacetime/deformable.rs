// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies that can be moved through keyframes: anything with an energy, its derivatives and a lumped mass.

use super::SpacetimeError;
use crate::body::Body;
use crate::elasticity::elements::ElementPiece;
use crate::elasticity::{Curvature, ElasticModel, Elements, Material};
use crate::range::{is_position, is_storable};
use crate::shell::Shell;
use crate::solve::matrix::zeros;
use crate::solve::{BlockMatrix, NodeMatrix};
use crate::tets::{MassKind, TetMesh};
use crate::{Mat3, Vec3};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// A deformable body of nodes.
pub trait Deformable: Any + Send + Sync {
    /// Returns the rest positions of the nodes.
    fn rest(&self) -> &[Vec3];

    /// Returns the mass of each node, positive.
    fn masses(&self) -> &[f64];

    /// Returns the elastic energy at positions.
    fn energy(&self, x: &[Vec3]) -> f64;

    /// Returns the energy's derivative with respect to each node's position.
    fn gradient(&self, x: &[Vec3]) -> Vec<Vec3>;

    /// Returns the energy's exact second derivative, possibly indefinite. All have one pattern.
    fn hessian(&self, x: &[Vec3]) -> BlockMatrix;

    /// Returns the same body with rest positions `x` and matrices of the same pattern; `None` where `x` is not a valid rest
    /// shape.
    fn with_rest_shape(&self, x: &[Vec3]) -> Option<Arc<dyn Deformable>>;

    /// Returns the positive semi-definite second derivative at positions `x` of the same body at rest there.
    fn hessian_at_rest(&self, x: &[Vec3]) -> Option<BlockMatrix> {
        self.with_rest_shape(x).map(|body| body.hessian(x))
    }
}

impl Deformable for Shell {
    fn rest(&self) -> &[Vec3] {
        Shell::rest(self)
    }

    fn masses(&self) -> &[f64] {
        Shell::masses(self)
    }

    fn energy(&self, x: &[Vec3]) -> f64 {
        Shell::energy(self, x)
    }

    fn gradient(&self, x: &[Vec3]) -> Vec<Vec3> {
        let mut gradient = vec![Vec3::zeros(); x.len()];
        Shell::gradient(self, x, &mut gradient);
        gradient
    }

    fn hessian(&self, x: &[Vec3]) -> BlockMatrix {
        Shell::hessian(self, x)
    }

    fn with_rest_shape(&self, x: &[Vec3]) -> Option<Arc<dyn Deformable>> {
        let shell = self.with_rest_positions(x).ok()?;
        Some(Arc::new(shell))
    }
}

/// Permitted units of length, m: those of shells.
const UNITS: std::ops::RangeInclusive<f64> = 1e-50..=1e12;

/// A solid of elements: tetrahedra, or the lattice of a body.
#[derive(Debug, Clone)]
pub struct ElasticSolid {
    rest: Vec<Vec3>,
    masses: Vec<f64>,
    elements: Elements,
    model: ElasticModel,
}

/// File format of a solid.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredSolid<'a> {
    rest: Cow<'a, [Vec3]>,
    masses: Cow<'a, [f64]>,
    elements: Cow<'a, Elements>,
    model: ElasticModel,
}

impl<'a> StoredSolid<'a> {
    pub fn new(solid: &'a ElasticSolid) -> Self {
        Self {
            rest: Cow::Borrowed(&solid.rest),
            masses: Cow::Borrowed(&solid.masses),
            elements: Cow::Borrowed(&solid.elements),
            model: solid.model,
        }
    }

    /// Builds the solid. Returns a sentence for parts that do not fit together.
    pub fn into_solid(self) -> Result<ElasticSolid, &'static str> {
        let nodes = self.rest.len();
        let good = self.rest.iter().all(is_position)
            && self.masses.len() == nodes
            && self.masses.iter().all(|&m| m > 0.0 && is_storable(m))
            && self.elements.is_consistent(nodes);
        if !good {
            return Err("its body is damaged");
        }
        Ok(ElasticSolid {
            rest: self.rest.into_owned(),
            masses: self.masses.into_owned(),
            elements: self.elements.into_owned(),
            model: self.model,
        })
    }
}

impl ElasticSolid {
    /// Builds a solid from tetrahedra of one material.
    pub fn from_tets(mesh: &TetMesh, material: &Material, model: ElasticModel) -> Self {
        let mass = mesh.mass_matrix(material, MassKind::Lumped);
        Self {
            rest: mesh.vertices().to_vec(),
            masses: (0..mesh.vertices().len())
                .map(|v| mass.row_sum(v))
                .collect(),
            elements: mesh.elements(material),
            model,
        }
    }

    /// Builds a solid from the control lattice of a body. Its nodes are the lattice vertices.
    ///
    /// # Errors
    /// A body with details, whose nodes have no positions.
    pub fn from_body(body: &Arc<Body>, model: ElasticModel) -> Result<Self, SpacetimeError> {
        if let levels @ 1.. = body.basis().levels() {
            return Err(SpacetimeError::Details { levels });
        }
        Ok(Self {
            rest: body.rest_shape().to_vec(),
            masses: (0..body.node_count())
                .map(|v| body.carried_mass(v))
                .collect(),
            elements: body.elements().clone(),
            model,
        })
    }

    /// Returns the same solid with `metres` as its unit of length. Positions stay in that unit, masses are kilograms.
    ///
    /// Compared with the same numbers as metres, masses are `metres³` times as large. Energies are `metres` times as large: joules per
    /// square of the unit, so that force over mass is an acceleration in it.
    ///
    /// # Errors
    /// A unit out of range.
    pub fn in_unit(&self, metres: f64) -> Result<Self, SpacetimeError> {
        if !UNITS.contains(&metres) {
            return Err(SpacetimeError::Setting {
                name: "the unit",
                range: "a length from 1e-50 to 1e12",
                value: metres,
            });
        }
        let volume = metres.powi(3);
        Ok(Self {
            masses: self.masses.iter().map(|m| m * volume).collect(),
            elements: self.elements.with_scaled_stiffness(metres),
            ..self.clone()
        })
    }

    fn displacements(&self, x: &[Vec3]) -> Vec<Vec3> {
        x.iter().zip(&self.rest).map(|(x, r)| x - r).collect()
    }
}

impl Deformable for ElasticSolid {
    fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    fn masses(&self) -> &[f64] {
        &self.masses
    }

    fn energy(&self, x: &[Vec3]) -> f64 {
        self.elements.energy(self.model, &self.displacements(x))
    }

    fn gradient(&self, x: &[Vec3]) -> Vec<Vec3> {
        let mut gradient = vec![Vec3::zeros(); x.len()];
        let u = self.displacements(x);
        self.elements.add_gradient(self.model, &u, &mut gradient);
        gradient
    }

    fn hessian(&self, x: &[Vec3]) -> BlockMatrix {
        let mut hessian = zeros(self.elements.node_count(), self.elements.all_corners());
        let u = self.displacements(x);
        self.elements
            .hessian(self.model, &u, Curvature::Exact, &mut hessian);
        hessian
    }

    fn with_rest_shape(&self, x: &[Vec3]) -> Option<Arc<dyn Deformable>> {
        Some(Arc::new(Self {
            rest: x.to_vec(),
            masses: self.masses.clone(),
            elements: self.elements.rest_elements_at(&self.displacements(x)),
            model: self.model,
        }))
    }
}

impl Elements {
    /// Returns the same elements at rest in the displaced configuration: gradients by `F⁻ᵀ`, volumes by det F. Pieces that are
    /// inverted or nearly flat there are unchanged.
    fn rest_elements_at(&self, u: &[Vec3]) -> Self {
        /// Ratio of volumes below which gradients are meaningless.
        const MIN_VOLUME_RATIO: f64 = 1e-3;
        let mut carried = Self::new(self.node_count());
        for e in 0..self.len() {
            let corners = self.corners(e);
            let moved: Vec<(Vec<Vec3>, f64)> = self
                .pieces(e)
                .map(|piece| {
                    let mut f = Mat3::identity();
                    for (&a, g) in corners.iter().zip(piece.gradients) {
                        f += u[a as usize] * g.transpose();
                    }
                    let volume = f.determinant();
                    match f.try_inverse() {
                        Some(inverse) if volume > MIN_VOLUME_RATIO => {
                            let turned = piece.gradients.iter().map(|g| inverse.tr_mul(g));
                            (turned.collect(), volume * piece.volume)
                        }
                        _ => (piece.gradients.to_vec(), piece.volume),
                    }
                })
                .collect();
            let pieces = self.pieces(e).zip(&moved);
            let pieces: Vec<ElementPiece> = pieces
                .map(|(piece, (gradients, volume))| ElementPiece {
                    gradients,
                    volume: *volume,
                    ..piece
                })
                .collect();
            carried.push(corners, pieces);
        }
        carried
    }
}
