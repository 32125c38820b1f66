// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a surface and what was done about it, in numbers and in sentences.
use std::fmt;

/// What was found in a surface as given. Edges and components are those of the welded surface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// No edge belongs to one triangle only.
    pub closed: bool,
    /// No edge belongs to more than two triangles.
    pub manifold: bool,
    /// Neighbouring triangles were all turned the same way. A mesh that is wholly inside out is oriented too;
    /// its triangles count as flipped.
    pub oriented: bool,
    /// Pieces not connected by any vertex.
    pub components: usize,
    /// Edges of one triangle only.
    pub boundary_edges: usize,
    /// Edges of more than two triangles.
    pub non_manifold_edges: usize,
    /// Used vertices that coincide with an earlier one.
    pub duplicate_vertices: usize,
    /// Triangles with a repeated corner or without area, left out.
    pub degenerate_triangles: usize,
    /// Triangles over the same three vertices as an earlier one, left out.
    pub duplicate_triangles: usize,
    /// Triangles that were turned round.
    pub flipped_triangles: usize,
    /// Vertices that no triangle refers to.
    pub unused_vertices: usize,
    /// Triangles that bound the domain.
    pub skin_triangles: usize,
    /// Triangles inside the domain, which do not bound it.
    pub interior_triangles: usize,
    /// Triangles that enclose nothing and are given a layer.
    pub thin_triangles: usize,
    /// Vertices of the welded surface.
    pub vertices: usize,
    /// Triangles of the welded surface.
    pub triangles: usize,
}

impl Report {
    /// Whether there is nothing to say.
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

    /// One sentence for each thing found; empty when the surface is clean.
    pub fn sentences(&self) -> Vec<String> {
        let mixed = "Neighbouring faces point in opposite directions.";
        let found = [
            say(
                self.duplicate_vertices,
                "vertex lies on top of another and is treated as one with it",
                "vertices lie on top of another and are treated as one with it",
            ),
            say(
                self.unused_vertices,
                "vertex belongs to no face and is ignored by the simulation",
                "vertices belong to no face and are ignored by the simulation",
            ),
            say(
                self.degenerate_triangles,
                "triangle has no area and is left out",
                "triangles have no area and are left out",
            ),
            say(
                self.duplicate_triangles,
                "triangle repeats another and is left out",
                "triangles repeat another and are left out",
            ),
            say(
                self.boundary_edges,
                "edge is open; what the surface mostly surrounds counts as its inside",
                "edges are open; what the surface mostly surrounds counts as its inside",
            ),
            say(
                self.non_manifold_edges,
                "edge joins more than two faces",
                "edges join more than two faces",
            ),
            (!self.oriented).then(|| mixed.to_owned()),
            say(
                self.flipped_triangles,
                "triangle faces the wrong way and is turned round inside Thew",
                "triangles face the wrong way and are turned round inside Thew",
            ),
            say(
                self.interior_triangles,
                "triangle lies inside the body and does not bound the flesh",
                "triangles lie inside the body and do not bound the flesh",
            ),
            say(
                self.thin_triangles,
                "triangle encloses nothing and is given a thin layer of flesh",
                "triangles enclose nothing and are given a thin layer of flesh",
            ),
        ];
        found.into_iter().flatten().collect()
    }
}

/// A sentence with its number, or nothing for none.
fn say(n: usize, one: &str, many: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {}.", if n == 1 { one } else { many }))
}

/// "1 piece", "3 pieces".
fn counted(n: usize, noun: &str, plural: &str) -> String {
    format!("{n} {}", if n == 1 { noun } else { plural })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            write!(f, "The mesh is closed and clean: ")?;
        }
        let vertices = counted(self.vertices, "vertex", "vertices");
        let triangles = counted(self.triangles, "triangle", "triangles");
        let pieces = counted(self.components, "piece", "pieces");
        write!(f, "{vertices} and {triangles} in {pieces}.")?;
        self.sentences().iter().try_for_each(|s| write!(f, " {s}"))
    }
}
