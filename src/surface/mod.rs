// SPDX-License-Identifier: MIT OR Apache-2.0
//! Triangle surfaces as they come, and the domain Ω that they bound.
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
//! A [`Surface`] keeps what it was given and works on a welded, oriented copy ([`Welded`]). Queries speak the
//! given coordinates; inside, everything is computed in a local frame of unit size, so that neither the position
//! nor the scale of a character matters. The structures behind the queries are built when first asked for.
//!
//! Source: math.md 1 for Ω; the files of this module name theirs.
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
mod scan;
#[cfg(test)]
pub(crate) mod shapes;
#[cfg(test)]
mod tests;
mod unit;
mod volume;
mod welding;
mod winding;

pub use domain::{LAYER, TriangleRole};
pub use grid::DistanceGrid;
pub(crate) use heading::Heading;
pub use intake::SurfaceError;
pub(crate) use nearest::{
    closest_leaf, closest_leaf_towards, closest_of_triangle, closest_point_leaf,
};
pub use report::Report;
pub use scan::{cast_ray, closest_point};
pub(crate) use unit::{OwnUnit, QUANTUM};

use crate::Vec3;
use crate::progress::{Cancelled, Progress, Silent, step};
use domain::Domain;
use local_units::LocalUnits;
use nearest::{Found, Nearest};
use orient::Patch;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
pub(crate) use winding::WindingTree;

/// A triangle surface, kept as given; the physics uses its welded, oriented copy.
#[derive(Debug, Clone)]
pub struct Surface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    welded: Welded,
    /// Smallest and largest coordinates of the welded vertices.
    bounds: (Vec3, Vec3),
    heading: Heading,
    size: f64,
    frame: LocalUnits,
    /// Welded vertices in the local frame.
    local: Vec<Vec3>,
    patches: Vec<Patch>,
    /// Found while welding and orienting; roles are added when asked.
    report: Report,
    nearest: OnceLock<Nearest>,
    winding: OnceLock<Arc<WindingTree>>,
    domain: OnceLock<Domain>,
    volume: OnceLock<f64>,
    /// The same surface in its [`OwnUnit`], where it stands in that already: none.
    own: OnceLock<Option<Arc<Surface>>>,
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

impl Welded {
    /// For each welded vertex the first of the vertices as given that it stands for.
    pub(crate) fn given(&self) -> Vec<u32> {
        let mut given = vec![u32::MAX; self.vertices.len()];
        for (v, &w) in (0u32..).zip(&self.of_vertex) {
            if let Some(given) = given.get_mut(w as usize) {
                *given = v.min(*given);
            }
        }
        given
    }
}

/// Nearest point of a surface.
#[derive(Debug, Clone, Copy)]
pub struct Closest {
    /// The point.
    pub point: Vec3,
    /// Distance to it.
    pub distance: f64,
    /// Index of the triangle: of the welded one in a [`Surface`].
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
}

/// First point where a ray meets a surface.
#[derive(Debug, Clone, Copy)]
pub struct RayHit {
    /// The point.
    pub point: Vec3,
    /// Distance from the ray's origin.
    pub distance: f64,
    /// Index of the triangle: of the welded one in a [`Surface`].
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
    /// The ray met the outer side.
    pub front: bool,
}

impl Surface {
    /// Takes a surface as it comes: `vertices` in any unit, `triangles` by vertex index.
    ///
    /// Refuses, by index, what cannot be computed with; everything else is repaired in the welded copy and
    /// reported in the [`report`](Self::report).
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, SurfaceError> {
        intake::check(&vertices, &triangles)?;
        let proper = triangles
            .iter()
            .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]);
        let used = proper.flatten().map(|&v| vertices[v as usize]);
        let (lo, hi) = crate::aabb::bounds(used.clone());
        let frame = LocalUnits::around(used).ok_or(SurfaceError::Empty)?;
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
        let intake::Kept {
            welded,
            local,
            patches,
            flipped,
        } = intake::keep_areas(&vertices, joined, oriented.patches, &oriented.flipped);
        if welded.triangles.is_empty() {
            return Err(SurfaceError::Empty);
        }
        report.degenerate_triangles =
            triangles.len() - welded.triangles.len() - report.duplicate_triangles;
        report.flipped_triangles = flipped;
        report.components = intake::components(local.len(), &welded.triangles);
        report.vertices = welded.vertices.len();
        report.triangles = welded.triangles.len();
        let heading = Heading::of_skin(&local, &welded.triangles);
        let mut surface = Self {
            bounds: crate::aabb::bounds(&welded.vertices),
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
        surface.stand(heading);
        Ok(surface)
    }

    /// Takes axes for its own.
    fn stand(&mut self, heading: Heading) {
        self.heading = heading;
        let (lo, hi) = self.box_along(heading);
        self.size = (hi - lo).norm();
    }

    /// The same surface without cavities: what its inner walls enclose counts as inside.
    ///
    /// Their triangles are turned outward; one without inner walls is given back as it is.
    pub fn filled(&self) -> Self {
        let mut triangles = self.triangles.clone();
        let walls = self.patches.iter().filter(|patch| patch.is_cavity());
        let mut any = false;
        for &t in walls.flat_map(|patch| &patch.triangles) {
            triangles[self.welded.source[t as usize] as usize].swap(1, 2);
            any = true;
        }
        // What was taken before is taken again.
        let turned = any.then(|| Self::new(self.vertices.clone(), triangles).ok());
        turned.flatten().unwrap_or_else(|| self.clone())
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

    /// Outward unit normal of a triangle as given; none where the welded copy left it out.
    pub fn outward(&self, triangle: u32) -> Option<Vec3> {
        // Sources ascend.
        let at = self.welded.source.binary_search(&triangle).ok()?;
        let [a, b, c] = self.welded.triangles[at].map(|v| self.local[v as usize]);
        (b - a).cross(&(c - a)).try_normalize(0.0)
    }

    /// Smallest and largest coordinates of the welded surface.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        self.bounds
    }

    /// Size: diagonal of the bounding box along the surface's own horizontal axes.
    ///
    /// Those are the principal axes of its area seen along z, so the size stays as the surface is turned about z. What is its
    /// own mirror image in x or y has them along x and y, and its size is the diagonal of [`bounds`](Self::bounds).
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Tells which way the surface faces.
    pub(crate) fn heading(&self) -> Heading {
        self.heading
    }

    /// Smallest and largest coordinates of the welded surface along these axes.
    pub(crate) fn box_along(&self, heading: Heading) -> (Vec3, Vec3) {
        match heading {
            Heading::ALONG => self.bounds,
            _ => crate::aabb::bounds(self.welded.vertices.iter().map(|p| heading.to_own(p))),
        }
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
            Some(found) => self.closest(&found),
            None => Closest {
                point: self.welded.vertices[self.welded.triangles[0][0] as usize],
                distance: f64::INFINITY,
                triangle: 0,
                barycentric: [1.0, 0.0, 0.0],
            },
        }
    }

    /// Nearest point of the triangles that bound Ω; none where there are none, or for a point that is not finite.
    pub fn closest_skin_point(&self, p: Vec3) -> Option<Closest> {
        let skin = self.domain().skin.as_ref()?;
        let found = skin.closest(&self.frame.to_local(&p), f64::INFINITY)?;
        Some(self.closest(&found))
    }

    fn closest(&self, found: &Found) -> Closest {
        Closest {
            point: self.frame.to_given(&found.point),
            distance: found.distance * self.frame.scale,
            triangle: found.triangle,
            barycentric: found.barycentric,
        }
    }

    /// First point, front or back, where a ray meets the welded surface; `direction` of any length.
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

    /// Tells whether the winding number at a point is above one half, in less time than the number takes.
    pub(crate) fn is_wound(&self, p: Vec3) -> bool {
        self.winding().is_wound(&self.frame.to_local(&p))
    }

    /// [`winding_number`](Self::winding_number) of many points, in parallel.
    pub fn winding_numbers(&self, points: &[Vec3]) -> Vec<f64> {
        let tree = self.winding();
        let number = |p: &Vec3| tree.at(&self.frame.to_local(p));
        points.par_iter().with_min_len(64).map(number).collect()
    }

    /// Finds the domain Ω now, where queries would when they are first asked: on millions of triangles it takes a while.
    ///
    /// # Errors
    /// A stop by the progress.
    pub fn prepare(&self, progress: &dyn Progress) -> Result<(), Cancelled> {
        if self.domain.get().is_none() {
            let _ = self.domain.set(self.find_domain(progress)?);
        }
        Ok(())
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
        self.measure_volume(&Silent).unwrap_or(f64::NAN)
    }

    /// [`volume`](Self::volume), with progress; measured once.
    ///
    /// # Errors
    /// [`Cancelled`] when the progress says so.
    pub fn measure_volume(&self, progress: &dyn Progress) -> Result<f64, Cancelled> {
        let local = match self.volume.get() {
            Some(&volume) => volume,
            None => {
                step(progress, 0.0, "measuring the volume")?;
                let (domain, triangles) = (self.domain(), &self.welded.triangles);
                let volume = volume::volume(&self.local, triangles, domain, progress)?;
                *self.volume.get_or_init(|| volume)
            }
        };
        Ok(local * self.frame.scale.powi(3))
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

    /// The surface in its own unit; none where it stands in that, or cannot.
    pub(crate) fn in_own_unit(&self) -> Option<&Arc<Surface>> {
        let own = || OwnUnit::of(self).surface(self).ok().map(Arc::new);
        self.own.get_or_init(own).as_ref()
    }

    fn domain(&self) -> &Domain {
        let find = || self.find_domain(&Silent);
        // Nobody cancels.
        self.domain
            .get_or_init(|| find().unwrap_or_else(|_| unreachable!()))
    }

    /// Which triangles bound Ω is decided in the own unit, so that it does not depend on the scale.
    fn find_domain(&self, progress: &dyn Progress) -> Result<Domain, Cancelled> {
        let mesh = (&self.local[..], &self.welded.triangles[..]);
        let size = self.size() / self.frame.scale;
        match self.in_own_unit() {
            Some(own) if own.welded.triangles == self.welded.triangles => {
                own.prepare(progress)?;
                Ok(own.domain().over(mesh, self.winding(), size))
            }
            _ => Domain::new(mesh, &self.patches, self.winding(), size, progress),
        }
    }

    fn all(&self) -> Vec<u32> {
        (0..self.welded.triangles.len() as u32).collect()
    }
}
