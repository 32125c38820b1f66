// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defects of a surface and their repairs, in numbers and in sentences.
use std::fmt;

/// Defects found in the input surface. Edges and components are those of the welded surface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurfaceReport {
    /// Whether every edge belongs to at least two triangles.
    pub closed: bool,
    /// Whether every edge belongs to at most two triangles.
    pub manifold: bool,
    /// True if all neighbouring triangles were oriented consistently. That also holds for a mesh that is wholly
    /// inside out; its triangles count as flipped.
    pub oriented: bool,
    /// Number of pieces that share no vertex.
    pub components: usize,
    /// Number of edges with one triangle only.
    pub boundary_edges: usize,
    /// Number of edges with more than two triangles.
    pub non_manifold_edges: usize,
    /// Number of used vertices that coincide with an earlier one.
    pub duplicate_vertices: usize,
    /// Number of triangles with a repeated corner or without area, left out.
    pub degenerate_triangles: usize,
    /// Number of triangles over the same three vertices as an earlier one, left out.
    pub duplicate_triangles: usize,
    /// Number of triangles whose orientation was reversed.
    pub flipped_triangles: usize,
    /// Number of vertices that no triangle refers to.
    pub unused_vertices: usize,
    /// Number of triangles that bound the domain.
    pub skin_triangles: usize,
    /// Number of triangles inside the domain, which do not bound it.
    pub interior_triangles: usize,
    /// Number of triangles that enclose nothing and get a layer of flesh.
    pub thin_triangles: usize,
    /// Number of vertices of the welded surface.
    pub vertices: usize,
    /// Number of triangles of the welded surface.
    pub triangles: usize,
}

impl SurfaceReport {
    /// Returns whether the surface has no defects.
    pub fn is_clean(&self) -> bool {
        self.closed
            && self.manifold
            && self.oriented
            && self.duplicate_vertices == 0
            && self.degenerate_triangles == 0
            && self.duplicate_triangles == 0
            && self.flipped_triangles == 0
            && self.unused_vertices == 0
            && self.interior_triangles == 0
            && self.thin_triangles == 0
    }

    /// Returns one sentence for each defect; empty if the surface is clean.
    pub fn sentences(&self) -> Vec<String> {
        let mixed = "Neighbouring faces point in opposite directions.";
        let found = [
            count_sentence(
                self.duplicate_vertices,
                "vertex lies on top of another and is treated as one with it",
                "vertices lie on top of another and are treated as one with it",
            ),
            count_sentence(
                self.unused_vertices,
                "vertex belongs to no face and is ignored by the simulation",
                "vertices belong to no face and are ignored by the simulation",
            ),
            count_sentence(
                self.degenerate_triangles,
                "triangle has no area and is left out",
                "triangles have no area and are left out",
            ),
            count_sentence(
                self.duplicate_triangles,
                "triangle repeats another and is left out",
                "triangles repeat another and are left out",
            ),
            count_sentence(
                self.boundary_edges,
                "edge is open; what the surface mostly surrounds counts as its inside",
                "edges are open; what the surface mostly surrounds counts as its inside",
            ),
            count_sentence(
                self.non_manifold_edges,
                "edge joins more than two faces",
                "edges join more than two faces",
            ),
            (!self.oriented).then(|| mixed.to_owned()),
            count_sentence(
                self.flipped_triangles,
                "triangle faces the wrong way and is turned round inside Thew",
                "triangles face the wrong way and are turned round inside Thew",
            ),
            count_sentence(
                self.interior_triangles,
                "triangle lies inside the body and does not bound the flesh",
                "triangles lie inside the body and do not bound the flesh",
            ),
            count_sentence(
                self.thin_triangles,
                "triangle encloses nothing and is given a thin layer of flesh",
                "triangles enclose nothing and are given a thin layer of flesh",
            ),
        ];
        found.into_iter().flatten().collect()
    }
}

/// Returns a sentence with its number; `None` for zero.
fn count_sentence(n: usize, one: &str, many: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {}.", if n == 1 { one } else { many }))
}

/// Formats a number with its noun: "1 piece", "3 pieces".
fn format_count(n: usize, noun: &str, plural: &str) -> String {
    format!("{n} {}", if n == 1 { noun } else { plural })
}

impl fmt::Display for SurfaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            write!(f, "The mesh is closed and clean: ")?;
        }
        let vertices = format_count(self.vertices, "vertex", "vertices");
        let triangles = format_count(self.triangles, "triangle", "triangles");
        let pieces = format_count(self.components, "piece", "pieces");
        write!(f, "{vertices} and {triangles} in {pieces}.")?;
        self.sentences().iter().try_for_each(|s| write!(f, " {s}"))
    }
}
