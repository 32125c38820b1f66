//! Triangle surfaces as they come, and the domain Ω that they bound.
use crate::Vec3;

/// A triangle surface, kept as given; the physics uses its welded, oriented copy.
#[derive(Debug, Clone)]
pub struct Surface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    welded: Welded,
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
}

/// Why a surface was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// No triangle with area.
    #[error("the mesh has no triangles with area: there is no surface to give flesh to")]
    Empty,
}

impl Surface {
    /// Takes a surface as it comes.
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, SurfaceError> {
        let welded = Welded {
            of_vertex: (0..vertices.len() as u32).collect(),
            source: (0..triangles.len() as u32).collect(),
            vertices: vertices.clone(),
            triangles: triangles.clone(),
        };
        Ok(Self {
            vertices,
            triangles,
            welded,
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
        let mut lo = Vec3::repeat(f64::INFINITY);
        let mut hi = -lo;
        for v in &self.welded.vertices {
            lo = lo.inf(v);
            hi = hi.sup(v);
        }
        (lo, hi)
    }
    /// Size: diagonal of the bounding box.
    pub fn size(&self) -> f64 {
        let (lo, hi) = self.bounds();
        (hi - lo).norm()
    }
    /// Nearest point of the welded surface.
    pub fn closest_point(&self, _p: Vec3) -> Closest {
        unreachable!()
    }
    /// Generalised winding number of the oriented, welded surface.
    pub fn winding_number(&self, _p: Vec3) -> f64 {
        unreachable!()
    }
    /// Whether a point lies in the domain Ω.
    pub fn contains(&self, _p: Vec3) -> bool {
        unreachable!()
    }
    /// Distance to the boundary of Ω, negative inside.
    pub fn signed_distance(&self, _p: Vec3) -> f64 {
        unreachable!()
    }
    /// Volume of Ω.
    pub fn volume(&self) -> f64 {
        unreachable!()
    }
}
