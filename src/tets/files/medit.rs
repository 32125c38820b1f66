// SPDX-License-Identifier: MIT OR Apache-2.0
//! Format of Medit's ASCII `.mesh` files.
//!
//! The file holds `MeshVersionFormatted n`, `Dimension 3`, then sections of a keyword, a count and that many entries,
//! up to `End`. Line breaks have no meaning. `Vertices`: `x y z reference`; `Tetrahedra`: four vertices from 1,
//! reference. Other sections (triangles, edges, corners, normals …) are skipped. [frey2001]

use super::scan::{parse_real, shorten_word, syntax_error, vertex_index};
use super::{MeshContent, append_row, format_coordinates};
use crate::Vec3;
use crate::tets::{TetError, TetMesh};
use std::path::Path;

/// Words with their line numbers; `line` is that of the last word.
struct WordReader<'a, I: Iterator<Item = (usize, &'a str)>> {
    path: &'a Path,
    words: std::iter::Peekable<I>,
    line: usize,
    most: usize,
}

impl<'a, I: Iterator<Item = (usize, &'a str)>> WordReader<'a, I> {
    fn next(&mut self) -> Option<&'a str> {
        let (line, word) = self.words.next()?;
        self.line = line;
        Some(word)
    }

    fn error(&self, what: String) -> TetError {
        syntax_error(self.path, self.line, what)
    }

    fn expect(&mut self, what: &str) -> Result<&'a str, TetError> {
        self.next()
            .ok_or_else(|| self.error(format!("the file ends before {what}")))
    }

    fn count(&mut self, what: &str) -> Result<usize, TetError> {
        let word = self.expect(what)?;
        word.parse()
            .map_err(|_| self.error(format!("{what} is '{}', not a count", shorten_word(word))))
    }

    fn real(&mut self, what: &str) -> Result<f64, TetError> {
        let word = self.expect(what)?;
        parse_real(word)
            .ok_or_else(|| self.error(format!("{what} is '{}', not a number", shorten_word(word))))
    }

    /// Reads the first word and the version.
    fn header(&mut self) -> Result<(), TetError> {
        let first = self.expect("its first word")?;
        if !first.eq_ignore_ascii_case("MeshVersionFormatted") {
            return Err(self.error(
                "this is not an ASCII Medit file: such files begin with MeshVersionFormatted"
                    .into(),
            ));
        }
        let version = self.count("the version")?;
        if !(1..=4).contains(&version) {
            return Err(self.error(format!("version {version} is not known")));
        }
        Ok(())
    }

    /// Skips a reference, if present: some writers leave them out.
    fn reference(&mut self) {
        let line = self.line;
        self.words
            .next_if(|(l, word)| *l == line && parse_real(word).is_some());
    }

    /// Skips to the next keyword.
    fn skip(&mut self) {
        while self
            .words
            .next_if(|(_, w)| parse_real(w).is_some())
            .is_some()
        {}
    }
}

/// Parses a mesh from the text of its file.
pub fn parse(path: &Path, text: &str) -> Result<MeshContent, TetError> {
    let words = text.lines().enumerate().flat_map(|(i, line)| {
        let content = line.split('#').next().unwrap_or_default();
        content.split_ascii_whitespace().map(move |w| (i + 1, w))
    });
    let mut words = WordReader {
        path,
        words: words.peekable(),
        line: 1,
        most: text.len() / 2 + 1,
    };
    words.header()?;
    let mut content = MeshContent::default();
    // Corners wait until the number of vertices is known: sections come in any order.
    let mut tets: Vec<([usize; 4], usize)> = Vec::new();
    while let Some(keyword) = words.next() {
        match keyword.to_ascii_lowercase().as_str() {
            "end" => break,
            "dimension" => {
                let n = words.count("the dimension")?;
                if n != 3 {
                    return Err(words.error(format!("a mesh of dimension {n}, not 3")));
                }
            }
            "vertices" => {
                if !content.vertices.is_empty() {
                    return Err(words.error("a second section of vertices".into()));
                }
                let count = words.count("the number of vertices")?;
                content.vertices.reserve(count.min(words.most));
                for _ in 0..count {
                    let x = [words.real("x")?, words.real("y")?, words.real("z")?];
                    words.reference();
                    content.vertices.push(Vec3::from(x));
                }
            }
            "tetrahedra" => {
                let count = words.count("the number of tetrahedra")?;
                tets.reserve(count.min(words.most));
                for _ in 0..count {
                    let mut corners = [0; 4];
                    for c in &mut corners {
                        *c = words.count("a corner")?;
                    }
                    tets.push((corners, words.line));
                    words.reference();
                }
            }
            _ if keyword.starts_with(|c: char| c.is_ascii_alphabetic()) => words.skip(),
            _ => {
                return Err(words.error(format!(
                    "'{}' where a keyword should be: the section before it has more entries than it says",
                    shorten_word(keyword)
                )));
            }
        }
    }
    content.tets = resolved(path, tets, content.vertices.len())?;
    Ok(content)
}

/// Returns tetrahedra with corners from 0, given the numbers in the file with their lines.
fn resolved(
    path: &Path,
    tets: Vec<([usize; 4], usize)>,
    count: usize,
) -> Result<Vec<[u32; 4]>, TetError> {
    let mut all = Vec::with_capacity(tets.len());
    for (corners, line) in tets {
        let mut tet = [0; 4];
        for (t, number) in tet.iter_mut().zip(corners) {
            *t = vertex_index(number, 1, count).ok_or_else(|| {
                let what =
                    format!("corner {number} does not exist: vertices run from 1 to {count}");
                syntax_error(path, line, what)
            })?;
        }
        all.push(tet);
    }
    Ok(all)
}

/// Formats a mesh as text, with the triangles of its surface.
pub fn format_mesh(mesh: &TetMesh) -> String {
    let mut out = format!(
        "MeshVersionFormatted 2\nDimension 3\n\nVertices\n{}\n",
        mesh.vertices().len()
    );
    for x in mesh.vertices() {
        let [x, y, z] = format_coordinates(x);
        append_row(&mut out, [x, y, z, "0".into()]);
    }
    out.push_str(&format!("\nTetrahedra\n{}\n", mesh.tets().len()));
    for t in mesh.tets() {
        append_row(&mut out, t.map(|v| v + 1).into_iter().chain([0]));
    }
    let surface = mesh.surface_triangles();
    out.push_str(&format!("\nTriangles\n{}\n", surface.len()));
    for t in surface {
        append_row(&mut out, t.map(|v| v + 1).into_iter().chain([0]));
    }
    out.push_str("\nEnd\n");
    out
}
