// SPDX-License-Identifier: MIT OR Apache-2.0
//! Triangle surfaces as they come, and the domain Ω that they bound.
//!
//! A [`Surface`] keeps what it was given and works on a welded, oriented copy ([`Welded`]). Queries speak the
//! given coordinates; inside, everything is computed in a local frame of unit size, so that neither the place
//! nor the scale of a character matters. The structures behind the queries are built when first asked for.
//!
//! Source: math.md 1 for Ω; the files of this room name theirs.
mod domain;
mod frame;
mod grid;
mod nearest;
mod orient;
mod report;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;
mod volume;
mod welding;
mod winding;

pub use domain::{LAYER, TriangleRole};
pub use grid::DistanceGrid;
pub use report::Report;

use crate::Vec3;
use domain::Domain;
use frame::Frame;
use nearest::{Found, Nearest};
use orient::Patch;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
use winding::WindingTree;

/// A triangle surface, kept as given; the physics uses its welded, oriented copy.
#[derive(Debug, Clone)]
pub struct Surface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    welded: Welded,
    /// Smallest and largest coordinates of the welded vertices.
    bounds: (Vec3, Vec3),
    frame: Frame,
    /// Welded vertices in the local frame.
    local: Vec<Vec3>,
    patches: Vec<Patch>,
    /// Found while welding and orienting; roles are added when asked.
    report: Report,
    nearest: OnceLock<Nearest>,
    winding: OnceLock<Arc<WindingTree>>,
    domain: OnceLock<Domain>,
    volume: OnceLock<f64>,
}

/// The surface with coincident vertices merged, degenerate and duplicate triangles dropped, components
/// oriented outward, unused vertices left out.
#[derive(Debug, Clone, Default)]
pub struct Welded {
    /// Distinct positions.
    pub vertices: Vec<Vec3>,
    /// Triangles over `vertices`.
    pub triangles: Vec<[u32; 3]>,
    /// For each vertex as given, its welded vertex; `u32::MAX` where no triangle that was kept uses it.
    pub of_vertex: Vec<u32>,
    /// For each welded triangle, the triangle as given.
    pub source: Vec<u32>,
}

/// Nearest point of a surface.
#[derive(Debug, Clone, Copy)]
pub struct Closest {
    /// The point.
    pub point: Vec3,
    /// Distance to it.
    pub distance: f64,
    /// Index of the welded triangle.
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
}

/// First place where a ray meets a surface.
#[derive(Debug, Clone, Copy)]
pub struct RayHit {
    /// The point.
    pub point: Vec3,
    /// Distance from the ray's origin.
    pub distance: f64,
    /// Index of the welded triangle.
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
    /// The ray met the outer side.
    pub front: bool,
}

/// Why a surface was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// No vertices at all.
    #[error("the mesh has no vertices: there is no surface to give flesh to")]
    NoVertices,
    /// Vertices, but no triangles.
    #[error("the mesh has {vertices} vertices but no faces: there is no surface to give flesh to")]
    NoTriangles {
        /// Number of vertices.
        vertices: usize,
    },
    /// No triangle with area.
    #[error("the mesh has no triangles with area: there is no surface to give flesh to")]
    Empty,
    /// Coordinates that are infinite or not a number.
    #[error(
        "vertex {vertex} has a coordinate that is infinite or not a number ({count} in all have): move or delete it"
    )]
    NonFinite {
        /// Index of the first such vertex.
        vertex: usize,
        /// How many there are.
        count: usize,
    },
    /// A triangle refers to a vertex that is not there.
    #[error(
        "triangle {triangle} refers to vertex {index}, but the mesh has only {vertices} vertices"
    )]
    IndexOutOfRange {
        /// Index of the first such triangle.
        triangle: usize,
        /// The index it holds.
        index: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// More than can be counted.
    #[error("the mesh has {count} vertices or triangles, more than the {most} that can be handled")]
    TooLarge {
        /// Vertices or triangles given.
        count: usize,
        /// Most that are taken.
        most: usize,
    },
}

/// Most vertices or triangles taken: indices of triangle corners fit in 32 bits.
const MOST: usize = u32::MAX as usize / 4;

impl Surface {
    /// Takes a surface as it comes: `vertices` in any unit, `triangles` by vertex index.
    ///
    /// Refuses, by index, what cannot be computed with; everything else is repaired in the welded copy and
    /// told in the [`report`](Self::report).
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, SurfaceError> {
        check(&vertices, &triangles)?;
        let proper = triangles
            .iter()
            .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]);
        let used = proper.flatten().map(|&v| vertices[v as usize]);
        let (lo, hi) = frame::bounds(used.clone());
        let frame = Frame::around(used).ok_or(SurfaceError::Empty)?;
        let mut joined = welding::join(&vertices, &triangles, frame, (hi - lo).norm());
        let oriented = orient::orient(&joined.local, &mut joined.triangles);
        let mut report = Report {
            closed: oriented.boundary_edges == 0,
            manifold: oriented.non_manifold_edges == 0,
            oriented: oriented.consistent,
            boundary_edges: oriented.boundary_edges,
            non_manifold_edges: oriented.non_manifold_edges,
            duplicate_vertices: joined.duplicate_vertices,
            degenerate_triangles: joined.degenerate_triangles,
            duplicate_triangles: joined.duplicate_triangles,
            unused_vertices: joined.unused_vertices,
            ..Report::default()
        };
        let Kept {
            welded,
            local,
            patches,
            flipped,
        } = keep_areas(&vertices, joined, oriented.patches, &oriented.flipped);
        if welded.triangles.is_empty() {
            return Err(SurfaceError::Empty);
        }
        report.degenerate_triangles =
            triangles.len() - welded.triangles.len() - report.duplicate_triangles;
        report.flipped_triangles = flipped;
        report.components = components(local.len(), &welded.triangles);
        report.vertices = welded.vertices.len();
        report.triangles = welded.triangles.len();
        Ok(Self {
            bounds: frame::bounds(welded.vertices.iter().copied()),
            vertices,
            triangles,
            welded,
            frame,
            local,
            patches,
            report,
            nearest: OnceLock::new(),
            winding: OnceLock::new(),
            domain: OnceLock::new(),
            volume: OnceLock::new(),
        })
    }

    /// Vertices as given.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Triangles as given.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The copy the physics uses.
    pub fn welded(&self) -> &Welded {
        &self.welded
    }

    /// Smallest and largest coordinates of the welded surface.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        self.bounds
    }

    /// Size: diagonal of the bounding box.
    pub fn size(&self) -> f64 {
        (self.bounds.1 - self.bounds.0).norm()
    }

    /// What was wrong with the surface and what was done about it.
    pub fn report(&self) -> Report {
        let [skin_triangles, interior_triangles, thin_triangles] =
            domain::count_roles(&self.domain().roles);
        Report {
            skin_triangles,
            interior_triangles,
            thin_triangles,
            ..self.report.clone()
        }
    }

    /// Nearest point of the welded surface. For a point that is not finite: a corner, infinitely far.
    pub fn closest_point(&self, p: Vec3) -> Closest {
        match self
            .nearest()
            .closest(&self.frame.to_local(&p), f64::INFINITY)
        {
            Some(found) => Closest {
                point: self.frame.to_given(&found.point),
                distance: found.distance * self.frame.scale,
                triangle: found.triangle,
                barycentric: found.barycentric,
            },
            None => Closest {
                point: self.welded.vertices[self.welded.triangles[0][0] as usize],
                distance: f64::INFINITY,
                triangle: 0,
                barycentric: [1.0, 0.0, 0.0],
            },
        }
    }

    /// First place, front or back, where a ray meets the welded surface; `direction` of any length.
    pub fn ray(&self, origin: Vec3, direction: Vec3) -> Option<RayHit> {
        let length = direction.norm();
        if !(length.is_finite() && length > 0.0 && origin.iter().all(|x| x.is_finite())) {
            return None;
        }
        let direction = direction / length;
        let Found {
            point,
            distance,
            triangle,
            barycentric,
        } = self
            .nearest()
            .ray(&self.frame.to_local(&origin), &direction)?;
        let [a, b, c] = self.welded.triangles[triangle as usize].map(|v| self.local[v as usize]);
        Some(RayHit {
            point: self.frame.to_given(&point),
            distance: distance * self.frame.scale,
            triangle,
            barycentric,
            front: (b - a).cross(&(c - a)).dot(&direction) < 0.0,
        })
    }

    /// Appends the welded triangles whose bounding boxes meet a box, in ascending order: candidates for an
    /// exact test.
    pub fn triangles_in_box(&self, lo: Vec3, hi: Vec3, found: &mut Vec<u32>) {
        // Rounding to the local frame must not lose a triangle that touches the box.
        let slack = Vec3::repeat(1e-12 + self.frame.origin.amax() / self.frame.scale * 1e-15);
        let (lo, hi) = (
            self.frame.to_local(&lo) - slack,
            self.frame.to_local(&hi) + slack,
        );
        self.nearest().in_box(&lo, &hi, found);
    }

    /// Generalised winding number of the oriented, welded surface, to about 0.01.
    pub fn winding_number(&self, p: Vec3) -> f64 {
        self.winding().at(&self.frame.to_local(&p))
    }

    /// [`winding_number`](Self::winding_number) of many points, in parallel.
    pub fn winding_numbers(&self, points: &[Vec3]) -> Vec<f64> {
        let tree = self.winding();
        let number = |p: &Vec3| tree.at(&self.frame.to_local(p));
        points.par_iter().with_min_len(64).map(number).collect()
    }

    /// Whether a point lies in the domain Ω.
    pub fn contains(&self, p: Vec3) -> bool {
        self.domain().contains(&self.frame.to_local(&p))
    }

    /// Distance to the boundary of Ω, negative inside; surface inside the body does not count.
    ///
    /// Where Ω is bounded by no triangle (across a hole) and inside overlapping pieces the value is that of
    /// the nearest piece of skin; its sign is right everywhere.
    pub fn signed_distance(&self, p: Vec3) -> f64 {
        self.domain().signed_distance(&self.frame.to_local(&p)) * self.frame.scale
    }

    /// Volume of Ω: exact for a closed surface without overlap, else within about one percent.
    pub fn volume(&self) -> f64 {
        let local = || volume::volume(&self.local, &self.welded.triangles, self.domain());
        self.volume.get_or_init(local) * self.frame.scale.powi(3)
    }

    /// What each welded triangle bounds.
    pub fn triangle_roles(&self) -> &[TriangleRole] {
        &self.domain().roles
    }

    /// Half the thickness of the layer around [thin](TriangleRole::Thin) triangles.
    pub fn layer(&self) -> f64 {
        LAYER * self.size()
    }

    fn nearest(&self) -> &Nearest {
        self.nearest
            .get_or_init(|| Nearest::new(&self.local, &self.welded.triangles, self.all()))
    }

    fn winding(&self) -> &Arc<WindingTree> {
        self.winding.get_or_init(|| {
            Arc::new(WindingTree::new(
                &self.local,
                &self.welded.triangles,
                self.all(),
            ))
        })
    }

    fn domain(&self) -> &Domain {
        self.domain.get_or_init(|| {
            let size = self.size() / self.frame.scale;
            Domain::new(
                &self.local,
                &self.welded.triangles,
                &self.patches,
                self.winding(),
                size,
            )
        })
    }

    fn all(&self) -> Vec<u32> {
        (0..self.welded.triangles.len() as u32).collect()
    }
}

/// Refuses what cannot be computed with.
fn check(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Result<(), SurfaceError> {
    if vertices.is_empty() {
        return Err(SurfaceError::NoVertices);
    }
    let count = vertices.len().max(triangles.len());
    if count > MOST {
        return Err(SurfaceError::TooLarge { count, most: MOST });
    }
    let bad = |v: &Vec3| !v.iter().all(|x| x.is_finite());
    if let Some(vertex) = vertices.iter().position(bad) {
        let count = vertices.iter().filter(|v| bad(v)).count();
        return Err(SurfaceError::NonFinite { vertex, count });
    }
    if triangles.is_empty() {
        return Err(SurfaceError::NoTriangles {
            vertices: vertices.len(),
        });
    }
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&index) = corners.iter().find(|&&v| v as usize >= vertices.len()) {
            return Err(SurfaceError::IndexOutOfRange {
                triangle,
                index,
                vertices: vertices.len(),
            });
        }
    }
    Ok(())
}

/// What is left when triangles without area are gone.
struct Kept {
    welded: Welded,
    local: Vec<Vec3>,
    patches: Vec<Patch>,
    /// Number of triangles that were turned.
    flipped: usize,
}

/// Height over longest edge, local units, below which a triangle has no area.
const NO_HEIGHT: f64 = 1e-10;

/// Leaves out triangles without area, which until here held their neighbours together, and vertices that
/// nothing uses any more.
fn keep_areas(
    given: &[Vec3],
    joined: welding::Joined,
    patches: Vec<Patch>,
    flipped: &[bool],
) -> Kept {
    let has_area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| joined.local[v as usize]);
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        (b - a).cross(&(c - a)).norm() > NO_HEIGHT * longest
    };
    let mut new_triangle = vec![u32::MAX; joined.triangles.len()];
    let mut new_vertex = vec![u32::MAX; joined.local.len()];
    let mut welded = Welded::default();
    let mut turned = 0;
    for (t, corners) in joined
        .triangles
        .iter()
        .enumerate()
        .filter(|(_, c)| has_area(c))
    {
        new_triangle[t] = welded.triangles.len() as u32;
        welded.triangles.push(*corners);
        welded.source.push(joined.source[t]);
        turned += flipped[t] as usize;
        corners.iter().for_each(|&v| new_vertex[v as usize] = 0);
    }
    let mut local = Vec::new();
    for (v, new) in new_vertex
        .iter_mut()
        .enumerate()
        .filter(|(_, new)| **new == 0)
    {
        *new = local.len() as u32;
        local.push(joined.local[v]);
        welded.vertices.push(given[joined.first[v] as usize]);
    }
    for v in welded.triangles.iter_mut().flatten() {
        *v = new_vertex[*v as usize];
    }
    let welded_of = |v: u32| {
        if v == u32::MAX {
            v
        } else {
            new_vertex[v as usize]
        }
    };
    welded.of_vertex = joined.of_vertex.iter().map(|&v| welded_of(v)).collect();
    let renumbered = |mut patch: Patch| {
        patch
            .triangles
            .iter_mut()
            .for_each(|t| *t = new_triangle[*t as usize]);
        patch.triangles.retain(|&t| t != u32::MAX);
        (!patch.triangles.is_empty()).then_some(patch)
    };
    Kept {
        patches: patches.into_iter().filter_map(renumbered).collect(),
        welded,
        local,
        flipped: turned,
    }
}

/// Number of pieces connected by vertices.
fn components(vertices: usize, triangles: &[[u32; 3]]) -> usize {
    fn root(of: &mut [u32], mut v: u32) -> u32 {
        while of[v as usize] != v {
            of[v as usize] = of[of[v as usize] as usize];
            v = of[v as usize];
        }
        v
    }
    let mut of: Vec<u32> = (0..vertices as u32).collect();
    let mut pieces = vertices;
    for t in triangles {
        for pair in [[t[0], t[1]], [t[1], t[2]]] {
            let [a, b] = pair.map(|v| root(&mut of, v));
            if a != b {
                of[a.max(b) as usize] = a.min(b);
                pieces -= 1;
            }
        }
    }
    pieces
}
