// SPDX-License-Identifier: MIT OR Apache-2.0
//! Discrete shells: the elastic energy of any triangle mesh. [grinspun2003; hildebrandt2012, §5]
//!
//! `W = k_L Σ (1 − |e|/|ē|)² |ē| + k_A Σ (1 − A/Ā)² Ā + k_B Σ 3 |ē|²/(Ā₁ + Ā₂) (θ − θ̄)²`, over edges, triangles and hinges (pairs of
//! triangles at an edge). A bar marks quantities at rest. θ is 0 where a hinge is flat; its change lies in (−π, π]. The bending energy
//! of a sheet bent to a cylinder of the curvature c tends to `3 k_B c²` per area. (The weight of a hinge is `|ē|` over a third of the
//! mean height; [hildebrandt2012, §5] does not say which height is meant.)
//!
//! ```
//! use thew::Vec3;
//! use thew::progress::Silent;
//! use thew::shell::{Shell, ShellMaterial};
//!
//! // Two triangles of a sheet; a corner is lifted.
//! let corners = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]].map(Vec3::from);
//! let shell = Shell::new(corners.to_vec(), vec![[0, 1, 2], [0, 2, 3]], &ShellMaterial::default())?;
//! let mut x = shell.rest().to_vec();
//! assert_eq!(shell.energy(&x), 0.0);
//! x[3].z = 0.4;
//! let relaxed = shell.relax(&x, 0.1, None, &Silent)?;
//! assert!(relaxed.after < relaxed.before && relaxed.positions[3].z < 0.4);
//! # Ok::<(), thew::shell::ShellError>(())
//! ```
//!
//! Lengths are metres, masses kilograms. The stiffnesses refer to one size of body, whatever its size in metres: see
//! [`ShellMaterial::unit`]. Any mesh is accepted: with borders and holes, edges of more than two triangles, inconsistent orientation,
//! doubled triangles, loose parts and vertices. The weights of slivers are limited so that they do not outweigh the rest.
//! [`Shell::report`] lists irregularities.
//!
//! Guarantees: finite results for any positions within 1e12, the same bits for any number of threads, Hessians of one structure for all
//! shells of a mesh. Not guaranteed: derivatives where an edge has no length, a triangle has no area, or a hinge is folded by π from
//! rest; the energy is not differentiable there.

mod error;
mod hinge;
mod material;
mod membrane;
mod mesh;
mod relax;
mod rest;
mod size;
mod slots;
mod stored;
mod sums;
mod term;
#[cfg(test)]
mod tests;

pub use error::ShellError;
pub use material::{ShellMaterial, ShellParameter};
pub use relax::RelaxedShape;
pub use slots::ShellPattern;
pub use term::ShellTerm;

use crate::Vec3;
use crate::range::is_position;
use crate::solve::BlockMatrix;
use crate::solve::newton::RoundedSum;
use mesh::ShellMesh;
use rest::ShellRest;
use std::sync::Arc;
use sums::ShellSums;

/// A triangle mesh with a rest shape and an elastic energy.
#[derive(Debug, Clone)]
pub struct Shell {
    vertices: Vec<Vec3>,
    mesh: Arc<ShellMesh>,
    material: Arc<ShellMaterial>,
    pattern: Arc<ShellPattern>,
    masses: Arc<Vec<f64>>,
    /// Number of vertices whose mass was raised.
    light: usize,
    rest: ShellRest,
}

impl Shell {
    /// Builds a shell whose vertices are at rest.
    ///
    /// # Errors
    /// [`ShellError`]: no triangles, corners that do not exist, positions or material parameters out of range, maps of another length,
    /// edges without length throughout, more pairs of triangles at edges than the limit.
    pub fn new(
        vertices: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        material: &ShellMaterial,
    ) -> Result<Self, ShellError> {
        check_finite(&vertices, "the mesh")?;
        let mesh = ShellMesh::new(vertices.len(), triangles)?;
        material.check(vertices.len())?;
        let material = ShellMaterial {
            unit: Some(size::unit(material, &mesh, &vertices)),
            ..material.clone()
        };
        let rest = build_rest(&mesh, &material, &vertices)?;
        let (masses, light) = rest.masses(&mesh, &material);
        Ok(Self {
            pattern: Arc::new(ShellPattern::new(&mesh)),
            mesh: Arc::new(mesh),
            material: Arc::new(material),
            masses: Arc::new(masses),
            vertices,
            light,
            rest,
        })
    }

    /// Returns a shell of the same mesh, material, unit and masses that is at rest at `x[nodes]`. It shares all data that do not depend
    /// on positions, including its [`pattern`](Self::pattern).
    ///
    /// # Errors
    /// [`ShellError::Length`], [`ShellError::Place`], [`ShellError::Extent`].
    pub fn with_rest_positions(&self, x: &[Vec3]) -> Result<Self, ShellError> {
        self.check(x, "the shape at rest")?;
        Ok(Self {
            rest: build_rest(&self.mesh, &self.material, x)?,
            vertices: x.to_vec(),
            ..self.clone()
        })
    }

    /// Returns the number of vertices.
    pub fn node_count(&self) -> usize {
        self.vertices.len()
    }

    /// Returns the rest positions of the vertices.
    pub fn rest(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Returns the triangles as passed in.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.mesh.triangles
    }

    /// Returns the mass of each vertex, positive: density times a third of the rest area of each triangle around it.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Returns the length unit of the energy, m: the material's, or a tenth of the diameter of the original mesh.
    pub fn unit(&self) -> f64 {
        self.material.unit.unwrap_or(1.0)
    }

    /// Returns the index of each vertex's connected part; parts are numbered in order of appearance. Vertices of no triangle are parts of
    /// their own.
    pub fn pieces(&self) -> &[u32] {
        &self.mesh.pieces
    }

    /// Returns the structure of all Hessians. Shells made by [`with_rest_positions`](Self::with_rest_positions) share one object.
    pub fn pattern(&self) -> &Arc<ShellPattern> {
        &self.pattern
    }

    /// Checks that `x` holds one valid position per vertex. The methods below assume this.
    ///
    /// # Errors
    /// [`ShellError::Length`], [`ShellError::Place`], with `what` as the name.
    pub fn check(&self, x: &[Vec3], what: &'static str) -> Result<(), ShellError> {
        if x.len() != self.node_count() {
            return Err(ShellError::Length {
                what,
                found: x.len(),
                expected: self.node_count(),
            });
        }
        check_finite(x, what)
    }

    fn sums<'a>(&'a self, x: &'a [Vec3]) -> ShellSums<'a> {
        ShellSums {
            mesh: &self.mesh,
            rest: &self.rest,
            pattern: &self.pattern,
            x,
        }
    }

    /// Returns the energy at positions `x[nodes]`.
    pub fn energy(&self, x: &[Vec3]) -> f64 {
        self.sums(x).energy().value
    }

    /// Returns the energy with a bound on its rounding error.
    pub fn rounded_energy(&self, x: &[Vec3]) -> RoundedSum {
        self.sums(x).energy()
    }

    /// Writes the energy's derivative with respect to each vertex.
    pub fn gradient(&self, x: &[Vec3], out: &mut [Vec3]) {
        out.fill(Vec3::zeros());
        self.sums(x).add_gradient(out);
    }

    /// Returns the energy's second derivative: symmetric, in general indefinite away from rest.
    pub fn hessian(&self, x: &[Vec3]) -> BlockMatrix {
        self.pattern.matrix(self.sums(x).hessian(false))
    }

    /// Returns a positive semi-definite matrix near the second derivative, equal to it at rest.
    pub fn convex_hessian(&self, x: &[Vec3]) -> BlockMatrix {
        self.pattern.matrix(self.sums(x).hessian(true))
    }

    /// Returns the irregularities of the mesh, one sentence each; empty for a regular mesh.
    pub fn report(&self) -> Vec<String> {
        let counts = &self.mesh.counts;
        let parts = if counts.parts == 1 { 0 } else { counts.parts };
        let found = [
            (
                counts.repeated_corners,
                "triangle names a vertex twice and is left out",
                "triangles name a vertex twice and are left out",
            ),
            (
                counts.doubled,
                "triangle lies on another one with the same corners and counts in addition to it",
                "triangles lie on another one with the same corners and count in addition to it",
            ),
            (
                counts.crowded,
                "edge belongs to more than two triangles: each pair of them bends against each other",
                "edges belong to more than two triangles: each pair of them bends against each other",
            ),
            (
                counts.unused,
                "vertex belongs to no triangle and moves by itself",
                "vertices belong to no triangle and move by themselves",
            ),
            (
                self.light,
                "vertex has hardly any mass and is given a small share of the mean",
                "vertices have hardly any mass and are given a small share of the mean",
            ),
            (
                self.rest.short,
                "edge has hardly any length and weighs as if it were a little longer",
                "edges have hardly any length and weigh as if they were a little longer",
            ),
            (
                self.rest.thin,
                "triangle is thinner than a thousandth of its length: it weighs as if it were thicker, and hardly bends",
                "triangles are thinner than a thousandth of their length: they weigh as if they were thicker, and hardly bend",
            ),
            (
                parts,
                "",
                "parts of the mesh share no vertex and move each by itself",
            ),
        ];
        let say = |&(count, one, many): &(usize, &str, &str)| match count {
            0 => None,
            1 => Some(format!("1 {one}.")),
            _ => Some(format!("{count} {many}.")),
        };
        found.iter().filter_map(say).collect()
    }
}

fn check_finite(x: &[Vec3], what: &'static str) -> Result<(), ShellError> {
    match x.iter().position(|x| !is_position(x)) {
        Some(vertex) => Err(ShellError::Place { what, vertex }),
        None => Ok(()),
    }
}

fn build_rest(
    mesh: &ShellMesh,
    material: &ShellMaterial,
    x: &[Vec3],
) -> Result<ShellRest, ShellError> {
    /// Shortest mean edge for which products of four lengths stay in range.
    const MIN_MEAN_EDGE: f64 = 1e-50;
    let rest = ShellRest::new(mesh, material, x);
    if rest.length < MIN_MEAN_EDGE {
        return Err(ShellError::Extent(rest.length));
    }
    Ok(rest)
}
