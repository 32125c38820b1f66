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
    /// Vertices and triangles of the welded surface.
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
        let mut out = Vec::new();
        let mut say = |n: usize, what: &str, then: &str| {
            if n > 0 {
                out.push(format!("{} {then}.", counted(n, what)));
            }
        };
        say(
            self.duplicate_vertices,
            "vertex|vertices",
            "lie on top of another and are treated as one with it",
        );
        say(
            self.unused_vertices,
            "vertex|vertices",
            "belong to no face and are ignored by the simulation",
        );
        say(
            self.degenerate_triangles,
            "triangle|triangles",
            "have no area and are left out",
        );
        say(
            self.duplicate_triangles,
            "triangle|triangles",
            "repeat another and are left out",
        );
        say(
            self.boundary_edges,
            "open edge|open edges",
            "were found; the inside is where the surface mostly surrounds a point",
        );
        say(
            self.non_manifold_edges,
            "edge|edges",
            "join more than two faces",
        );
        if !self.oriented {
            out.push("Neighbouring faces point in opposite directions.".into());
        }
        let mut say = |n: usize, what: &str, then: &str| {
            if n > 0 {
                out.push(format!("{} {then}.", counted(n, what)));
            }
        };
        say(
            self.flipped_triangles,
            "triangle|triangles",
            "face the wrong way and are turned round inside Thew",
        );
        say(
            self.interior_triangles,
            "triangle|triangles",
            "lie inside the body and do not bound the flesh",
        );
        say(
            self.thin_triangles,
            "triangle|triangles",
            "enclose nothing and are given a thin layer of flesh",
        );
        out
    }
}

/// "1 vertex", "3 vertices".
fn counted(n: usize, names: &str) -> String {
    let (one, many) = names.split_once('|').unwrap_or((names, names));
    format!("{n} {}", if n == 1 { one } else { many })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = counted(self.components, "piece|pieces");
        if self.is_clean() {
            write!(f, "The mesh is closed and clean: ")?;
        }
        write!(
            f,
            "{} and {} in {pieces}.",
            counted(self.vertices, "vertex|vertices"),
            counted(self.triangles, "triangle|triangles")
        )?;
        self.sentences().iter().try_for_each(|s| write!(f, " {s}"))
    }
}
