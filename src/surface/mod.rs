// SPDX-License-Identifier: MIT OR Apache-2.0
//! Triangle surfaces as imported, with their defects, and the domain Ω that they bound.
//!
//! ```
//! use thew::{Vec3, surface::Surface};
//!
//! // A tetrahedron with corners at the origin and on the axes.
//! let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
//! let faces = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
//! let surface = Surface::new(corners.to_vec(), faces)?;
//! assert!((surface.volume() - 1.0 / 6.0).abs() < 1e-12);
//! let (inside, outside) = (Vec3::new(0.1, 0.1, 0.1), Vec3::new(1.0, 1.0, 1.0));
//! assert!((surface.winding_number(inside) - 1.0).abs() < 1e-6 && surface.winding_number(outside).abs() < 1e-6);
//! assert!((surface.closest_point(outside).distance - 2.0 / 3.0_f64.sqrt()).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Surface`] keeps its input and computes on a welded, oriented copy ([`WeldedSurface`]). Queries use the input's
//! coordinates. Internally everything is in a local frame of unit size, so that neither the position nor the scale of a
//! character matters. The structures behind the queries are built on first use.
//!
//! Source: docs/methods/volumes.md for Ω; the files of this module name theirs.
mod diameter;
mod domain;
mod grid;
mod heading;
mod intake;
mod local_units;
mod moments;
mod nearest;
mod needles;
mod node_distances;
mod orient;
mod report;
mod ring;
mod scan;
#[cfg(test)]
pub(crate) mod shapes;
#[cfg(test)]
mod tests;
mod unit;
mod volume;
mod welding;
mod winding;

pub use domain::{LAYER_HALF_THICKNESS, TriangleRole};
pub use grid::DistanceGrid;
pub(crate) use heading::Heading;
pub use intake::SurfaceError;
pub(crate) use nearest::{
    closest_leaf, closest_leaf_towards, closest_of_triangle, closest_point_leaf,
};
pub use report::SurfaceReport;
pub use ring::SkinRing;
pub use scan::{cast_ray, closest_point};
pub(crate) use unit::{OwnUnit, QUANTUM};

use crate::Vec3;
use crate::progress::{Cancelled, Progress, Silent, report_progress};
use domain::Domain;
use local_units::LocalUnits;
use nearest::{TriangleHierarchy, TriangleHit};
use orient::SurfacePatch;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
pub(crate) use winding::WindingTree;

/// A triangle surface: the unchanged input, and the welded, oriented copy that the physics uses.
#[derive(Debug, Clone)]
pub struct Surface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    welded: WeldedSurface,
    /// Smallest and largest coordinates of the welded vertices.
    bounds: (Vec3, Vec3),
    heading: Heading,
    size: f64,
    frame: LocalUnits,
    /// Welded vertices in the local frame.
    local: Vec<Vec3>,
    patches: Vec<SurfacePatch>,
    /// Defects found by welding and orienting; the counts of roles are added in [`report`](Self::report).
    report: SurfaceReport,
    nearest: OnceLock<TriangleHierarchy>,
    winding: OnceLock<Arc<WindingTree>>,
    domain: OnceLock<Domain>,
    volume: OnceLock<f64>,
    /// Surface in its [`OwnUnit`]; the inner `None` if this one is in that unit already or cannot be converted.
    own: OnceLock<Option<Arc<Surface>>>,
}

/// Welded copy of a surface: coincident vertices are merged, degenerate and duplicate triangles dropped, components
/// oriented outward, unused vertices left out.
#[derive(Debug, Clone, Default)]
pub struct WeldedSurface {
    /// Distinct positions, in input coordinates.
    pub vertices: Vec<Vec3>,
    /// Triangles over `vertices`.
    pub triangles: Vec<[u32; 3]>,
    /// For each input vertex, its welded vertex; `u32::MAX` if no kept triangle uses it.
    pub of_vertex: Vec<u32>,
    /// For each welded triangle, its input triangle.
    pub source: Vec<u32>,
}

impl WeldedSurface {
    /// Returns for each welded vertex the first input vertex merged into it.
    pub(crate) fn first_input_vertices(&self) -> Vec<u32> {
        let mut first = vec![u32::MAX; self.vertices.len()];
        for (v, &w) in (0u32..).zip(&self.of_vertex) {
            if let Some(first) = first.get_mut(w as usize) {
                *first = v.min(*first);
            }
        }
        first
    }
}

/// Nearest point of a surface.
#[derive(Debug, Clone, Copy)]
pub struct ClosestPoint {
    /// The point.
    pub point: Vec3,
    /// Distance to the point.
    pub distance: f64,
    /// Index of the triangle; in a [`Surface`], of the welded triangle.
    pub triangle: u32,
    /// Barycentric coordinates of the point in the triangle.
    pub barycentric: [f64; 3],
}

/// First intersection of a ray with a surface.
#[derive(Debug, Clone, Copy)]
pub struct RayHit {
    /// The point.
    pub point: Vec3,
    /// Distance from the ray's origin.
    pub distance: f64,
    /// Index of the triangle; in a [`Surface`], of the welded triangle.
    pub triangle: u32,
    /// Barycentric coordinates of the point in the triangle.
    pub barycentric: [f64; 3],
    /// Whether the ray hits the outer side.
    pub front: bool,
}

impl Surface {
    /// Builds a surface from any triangles: `vertices` in any unit, `triangles` by vertex index.
    ///
    /// Input that cannot be computed with is an error that names the index. Everything else is repaired in the welded
    /// copy and listed in the [`report`](Self::report).
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, SurfaceError> {
        intake::check(&vertices, &triangles)?;
        let proper = triangles
            .iter()
            .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]);
        let used = proper.flatten().map(|&v| vertices[v as usize]);
        let (lo, hi) = crate::geometry::aabb::bounds(used.clone());
        let frame = LocalUnits::from_points(used).ok_or(SurfaceError::Empty)?;
        let mut joined = welding::weld(&vertices, &triangles, frame, (hi - lo).norm());
        let oriented = orient::orient(&joined.local, &mut joined.triangles);
        let mut report = SurfaceReport {
            closed: oriented.boundary_edges == 0,
            manifold: oriented.non_manifold_edges == 0,
            oriented: oriented.consistent,
            boundary_edges: oriented.boundary_edges,
            non_manifold_edges: oriented.non_manifold_edges,
            duplicate_vertices: joined.duplicate_vertices,
            degenerate_triangles: joined.degenerate_triangles,
            duplicate_triangles: joined.duplicate_triangles,
            unused_vertices: joined.unused_vertices,
            ..SurfaceReport::default()
        };
        let intake::CleanSurface {
            welded,
            local,
            patches,
            flipped,
        } = intake::drop_flat_triangles(&vertices, joined, oriented.patches, &oriented.flipped);
        if welded.triangles.is_empty() {
            return Err(SurfaceError::Empty);
        }
        report.degenerate_triangles =
            triangles.len() - welded.triangles.len() - report.duplicate_triangles;
        report.flipped_triangles = flipped;
        report.components = intake::count_components(local.len(), &welded.triangles);
        report.vertices = welded.vertices.len();
        report.triangles = welded.triangles.len();
        let heading = Heading::from_triangles(&local, &welded.triangles);
        let mut surface = Self {
            bounds: crate::geometry::aabb::bounds(&welded.vertices),
            heading,
            size: 0.0,
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
            own: OnceLock::new(),
        };
        surface.set_heading(heading);
        Ok(surface)
    }

    /// Sets the surface's own axes, and its size along them.
    fn set_heading(&mut self, heading: Heading) {
        self.heading = heading;
        let (lo, hi) = self.box_along(heading);
        self.size = (hi - lo).norm();
    }

    /// Returns the same surface without cavities: space enclosed by inner walls counts as inside.
    ///
    /// The inner walls' triangles are turned outward. A surface without inner walls is returned unchanged.
    pub fn fill_cavities(&self) -> Self {
        let mut triangles = self.triangles.clone();
        let walls = self.patches.iter().filter(|patch| patch.is_cavity());
        let mut any = false;
        for &t in walls.flat_map(|patch| &patch.triangles) {
            triangles[self.welded.source[t as usize] as usize].swap(1, 2);
            any = true;
        }
        // The input was valid before, so it is valid again.
        let turned = any.then(|| Self::new(self.vertices.clone(), triangles).ok());
        turned.flatten().unwrap_or_else(|| self.clone())
    }

    /// Returns the input vertices.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Returns the input triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Returns the welded copy that the physics uses.
    pub fn welded(&self) -> &WeldedSurface {
        &self.welded
    }

    /// Returns the outward unit normal of an input triangle; `None` if the welded copy left it out.
    pub fn outward_normal(&self, triangle: u32) -> Option<Vec3> {
        // Sources are in ascending order.
        let at = self.welded.source.binary_search(&triangle).ok()?;
        let [a, b, c] = self.welded.triangles[at].map(|v| self.local[v as usize]);
        (b - a).cross(&(c - a)).try_normalize(0.0)
    }

    /// Returns the smallest and largest coordinates of the welded surface.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        self.bounds
    }

    /// Returns the size: the diagonal of the bounding box along the surface's own horizontal axes.
    ///
    /// These are the principal axes of its area, projected along z, so the size is unchanged when the surface turns
    /// about z. For a surface with a mirror plane across x or y they are x and y, and the size is the diagonal of
    /// [`bounds`](Self::bounds).
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Returns the surface's heading: the rotation from its own horizontal axes to the world's.
    pub(crate) fn heading(&self) -> Heading {
        self.heading
    }

    /// Returns the smallest and largest coordinates of the welded surface along the axes of `heading`.
    pub(crate) fn box_along(&self, heading: Heading) -> (Vec3, Vec3) {
        match heading {
            Heading::ALIGNED => self.bounds,
            _ => crate::geometry::aabb::bounds(
                self.welded.vertices.iter().map(|p| heading.to_own(p)),
            ),
        }
    }

    /// Returns the defects of the surface and their repairs.
    pub fn report(&self) -> SurfaceReport {
        let [skin_triangles, interior_triangles, thin_triangles] =
            domain::count_roles(&self.domain().roles);
        SurfaceReport {
            skin_triangles,
            interior_triangles,
            thin_triangles,
            ..self.report.clone()
        }
    }

    /// Returns the nearest point of the welded surface; for a query that is not finite, a corner at infinite distance.
    pub fn closest_point(&self, p: Vec3) -> ClosestPoint {
        match self
            .hierarchy()
            .closest(&self.frame.to_local(&p), f64::INFINITY)
        {
            Some(found) => self.to_closest_point(&found),
            None => ClosestPoint {
                point: self.welded.vertices[self.welded.triangles[0][0] as usize],
                distance: f64::INFINITY,
                triangle: 0,
                barycentric: [1.0, 0.0, 0.0],
            },
        }
    }

    /// Returns the nearest point of the triangles that bound Ω; `None` without such triangles, or if `p` is not finite.
    pub fn closest_skin_point(&self, p: Vec3) -> Option<ClosestPoint> {
        let skin = self.domain().skin.as_ref()?;
        let found = skin.closest(&self.frame.to_local(&p), f64::INFINITY)?;
        Some(self.to_closest_point(&found))
    }

    fn to_closest_point(&self, found: &TriangleHit) -> ClosestPoint {
        ClosestPoint {
            point: self.frame.to_given(&found.point),
            distance: found.distance * self.frame.scale,
            triangle: found.triangle,
            barycentric: found.barycentric,
        }
    }

    /// Returns the first intersection, front or back, of a ray with the welded surface; `direction` has any length.
    pub fn intersect_ray(&self, origin: Vec3, direction: Vec3) -> Option<RayHit> {
        let length = direction.norm();
        if !(length.is_finite() && length > 0.0 && origin.iter().all(|x| x.is_finite())) {
            return None;
        }
        let direction = direction / length;
        let TriangleHit {
            point,
            distance,
            triangle,
            barycentric,
        } = self
            .hierarchy()
            .intersect_ray(&self.frame.to_local(&origin), &direction)?;
        let [a, b, c] = self.welded.triangles[triangle as usize].map(|v| self.local[v as usize]);
        Some(RayHit {
            point: self.frame.to_given(&point),
            distance: distance * self.frame.scale,
            triangle,
            barycentric,
            front: (b - a).cross(&(c - a)).dot(&direction) < 0.0,
        })
    }

    /// Appends the welded triangles whose bounding boxes meet a box, in ascending order, as candidates for an exact
    /// test.
    pub fn triangles_in_box(&self, lo: Vec3, hi: Vec3, found: &mut Vec<u32>) {
        // Rounding to the local frame must not lose a triangle that touches the box.
        let slack = Vec3::repeat(1e-12 + self.frame.origin.amax() / self.frame.scale * 1e-15);
        let (lo, hi) = (
            self.frame.to_local(&lo) - slack,
            self.frame.to_local(&hi) + slack,
        );
        self.hierarchy().triangles_in_box(&lo, &hi, found);
    }

    /// Returns the generalised winding number of the oriented, welded surface, to about 0.01.
    pub fn winding_number(&self, p: Vec3) -> f64 {
        self.winding_tree().winding_number(&self.frame.to_local(&p))
    }

    /// Returns whether the winding number at a point is above one half, faster than the number itself.
    pub(crate) fn is_wound(&self, p: Vec3) -> bool {
        self.winding_tree().is_wound(&self.frame.to_local(&p))
    }

    /// Returns the [`winding_number`](Self::winding_number) of many points, in parallel.
    pub fn winding_numbers(&self, points: &[Vec3]) -> Vec<f64> {
        let tree = self.winding_tree();
        let number = |p: &Vec3| tree.winding_number(&self.frame.to_local(p));
        points.par_iter().with_min_len(64).map(number).collect()
    }

    /// Finds the domain Ω now instead of in the first query; on millions of triangles this takes a while.
    ///
    /// # Errors
    /// [`Cancelled`] if the progress stops it.
    pub fn prepare(&self, progress: &dyn Progress) -> Result<(), Cancelled> {
        if self.domain.get().is_none() {
            let own = self.in_own_unit().map(|own| &**own);
            let _ = self.domain.set(self.find_domain(own, progress)?);
        }
        Ok(())
    }

    /// Finds the domain Ω and keeps nothing of the surface in its own unit that is not kept yet. Only a lattice to be built needs that, and it is as
    /// large as this surface with its domain.
    pub(crate) fn prepare_alone(&self, progress: &dyn Progress) -> Result<(), Cancelled> {
        if self.domain.get().is_none() {
            let own = match self.own.get() {
                Some(own) => own.clone(),
                None => self.to_own_unit(),
            };
            let _ = self.domain.set(self.find_domain(own.as_deref(), progress)?);
        }
        Ok(())
    }

    /// Returns whether a point lies in the domain Ω.
    pub fn contains(&self, p: Vec3) -> bool {
        self.domain().contains(&self.frame.to_local(&p))
    }

    /// Returns the distance to the boundary of Ω, negative inside; surface inside the body does not count.
    ///
    /// Where Ω is not bounded by triangles (across a hole), and inside overlapping pieces, the value is the distance to
    /// the nearest piece of skin. Its sign is right everywhere.
    pub fn signed_distance(&self, p: Vec3) -> f64 {
        self.domain().signed_distance(&self.frame.to_local(&p)) * self.frame.scale
    }

    /// Returns the volume of Ω: exact for a closed surface without overlap, else within about one percent.
    pub fn volume(&self) -> f64 {
        self.measure_volume(&Silent).unwrap_or(f64::NAN)
    }

    /// Measures the [`volume`](Self::volume) with progress; later calls return the stored value.
    ///
    /// # Errors
    /// [`Cancelled`] if the progress stops it.
    pub fn measure_volume(&self, progress: &dyn Progress) -> Result<f64, Cancelled> {
        let local = match self.volume.get() {
            Some(&volume) => volume,
            None => {
                report_progress(progress, 0.0, "measuring the volume")?;
                let (domain, triangles) = (self.domain(), &self.welded.triangles);
                let volume = volume::volume(&self.local, triangles, domain, progress)?;
                *self.volume.get_or_init(|| volume)
            }
        };
        Ok(local * self.frame.scale.powi(3))
    }

    /// Returns the role of each welded triangle.
    pub fn triangle_roles(&self) -> &[TriangleRole] {
        &self.domain().roles
    }

    /// Returns half the thickness of the layer around [thin](TriangleRole::Thin) triangles.
    pub fn layer_half_thickness(&self) -> f64 {
        LAYER_HALF_THICKNESS * self.size()
    }

    fn hierarchy(&self) -> &TriangleHierarchy {
        self.nearest.get_or_init(|| {
            TriangleHierarchy::new(&self.local, &self.welded.triangles, self.all_triangles())
        })
    }

    fn winding_tree(&self) -> &Arc<WindingTree> {
        self.winding.get_or_init(|| {
            Arc::new(WindingTree::new(
                &self.local,
                &self.welded.triangles,
                self.all_triangles(),
            ))
        })
    }

    /// Returns the surface in its own unit; `None` if it is in that unit already or cannot be converted.
    pub(crate) fn in_own_unit(&self) -> Option<&Arc<Surface>> {
        self.own.get_or_init(|| self.to_own_unit()).as_ref()
    }

    fn to_own_unit(&self) -> Option<Arc<Surface>> {
        let own = OwnUnit::from_surface(self).convert_surface(self);
        own.ok().map(Arc::new)
    }

    fn domain(&self) -> &Domain {
        let own = || self.in_own_unit().map(|own| &**own);
        let find = || self.find_domain(own(), &Silent);
        self.domain
            .get_or_init(|| find().expect("the silent progress never cancels"))
    }

    /// Finds the triangles that bound Ω in the own unit, so that the result does not depend on the scale.
    fn find_domain(
        &self,
        own: Option<&Surface>,
        progress: &dyn Progress,
    ) -> Result<Domain, Cancelled> {
        let mesh = (&self.local[..], &self.welded.triangles[..]);
        let size = self.size() / self.frame.scale;
        match own {
            Some(own) if own.welded.triangles == self.welded.triangles => {
                own.prepare(progress)?;
                Ok(own.domain().with_vertices(mesh, self.winding_tree(), size))
            }
            _ => Domain::new(mesh, &self.patches, self.winding_tree(), size, progress),
        }
    }

    fn all_triangles(&self) -> Vec<u32> {
        (0..self.welded.triangles.len() as u32).collect()
    }
}
