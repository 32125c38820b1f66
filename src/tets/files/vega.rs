// SPDX-License-Identifier: MIT OR Apache-2.0
//! Format of Vega's `.veg` files.
//!
//! Sections begin with `*`. `*VERTICES`: `<count> 3 0 0`, then `<number> x y z`. `*ELEMENTS`: `TET` or `CUBIC`,
//! `<count> <corners> 0`, then `<number> v₁ v₂ …`. Materials, sets and regions are skipped; included files are
//! not followed. A cube's corners run around its bottom, then around its top.

use super::scan::{LineWords, Scanner, shorten_word, syntax_error};
use super::{MeshContent, append_row, format_coordinates};
use crate::elasticity::Material;
use crate::tets::{TetError, TetMesh};
use std::path::Path;

/// Position of our corner `i + 2j + 4k` in the file's order, and vice versa.
const CORNER_ORDER: [usize; 8] = [0, 1, 3, 2, 4, 5, 7, 6];

/// Parses a mesh from the text of its file.
pub fn parse(path: &Path, text: &str) -> Result<MeshContent, TetError> {
    let mut scan = Scanner::new(path, text);
    let mut content = MeshContent::default();
    let mut base = None;
    while let Some(line) = scan.next() {
        let mut words = LineWords::new(path, &line);
        let section = words.word("a section")?.to_ascii_uppercase();
        match section.as_str() {
            "*VERTICES" => {
                if base.is_some() {
                    return Err(words.error("a second section of vertices".into()));
                }
                base = Some(read_vertices(&mut scan, &mut content)?);
            }
            "*ELEMENTS" => {
                let Some(base) = base else {
                    return Err(words.error("elements before the vertices".into()));
                };
                read_elements(&mut scan, &mut content, base)?;
            }
            "*MATERIAL" | "*SET" | "*REGION" | "*MATERIALS" | "*SETS" | "*REGIONS" => {
                while scan.peek().is_some_and(|l| !l.text.starts_with('*')) {
                    scan.next();
                }
            }
            "*INCLUDE" => {
                return Err(words.error(
                    "it includes another file, which is not followed: paste that file here in its place"
                        .into(),
                ));
            }
            _ if section.starts_with('*') => {
                return Err(
                    words.error(format!("section '{}' is not known", shorten_word(&section)))
                );
            }
            _ => {
                return Err(words.error(format!(
                    "'{}' where a section should begin: the one before it has more entries than it says",
                    shorten_word(line.text)
                )));
            }
        }
    }
    if !content.tets.is_empty() && !content.cubes.is_empty() {
        let what = "tetrahedra and cubes in one mesh: only one kind at a time is read";
        return Err(syntax_error(path, 1, what.into()));
    }
    Ok(content)
}

/// Reads the vertices, and returns the number of the first.
fn read_vertices(scan: &mut Scanner<'_>, content: &mut MeshContent) -> Result<usize, TetError> {
    let mut head = next_content_line(scan, "the number of vertices")?;
    let count = head.count("the number of vertices")?;
    let dimension = head.count("the dimension").unwrap_or(3);
    if dimension != 3 {
        return Err(head.error(format!("vertices of dimension {dimension}, not 3")));
    }
    content.vertices.reserve(scan.capacity(count));
    let mut base = 1;
    for i in 0..count {
        let mut line = next_content_line(scan, &format!("vertex {i} of {count}"))?;
        let number = line.count("the vertex's number")?;
        if i == 0 && number <= 1 {
            base = number;
        }
        if number != base + i {
            return Err(line.error(format!(
                "vertex {number} comes where {} should: vertices are numbered in order, from 0 or 1",
                base + i
            )));
        }
        content.vertices.push(line.point()?);
    }
    Ok(base)
}

fn read_elements(
    scan: &mut Scanner<'_>,
    content: &mut MeshContent,
    base: usize,
) -> Result<(), TetError> {
    let mut line = next_content_line(scan, "the kind of elements")?;
    let kind = line.word("the kind of elements")?.to_ascii_uppercase();
    let corners = match kind.as_str() {
        "TET" | "TETS" => 4,
        "CUBIC" | "CUBE" | "CUBES" => 8,
        _ => {
            let kind = shorten_word(&kind);
            return Err(line.error(format!(
                "elements of kind '{kind}': only TET and CUBIC are read"
            )));
        }
    };
    let mut head = next_content_line(scan, "the number of elements")?;
    let count = head.count("the number of elements")?;
    let each = head.count("the number of corners each").unwrap_or(corners);
    if each != corners {
        return Err(head.error(format!("{kind} elements of {each} corners, not {corners}")));
    }
    let vertices = content.vertices.len();
    if corners == 4 {
        content.tets.reserve(scan.capacity(count));
    } else {
        content.cubes.reserve(scan.capacity(count));
    }
    for i in 0..count {
        let mut line = next_content_line(scan, &format!("element {i} of {count}"))?;
        line.count("the element's number")?;
        if corners == 4 {
            content.tets.push(line.corners(base, vertices)?);
        } else {
            let c: [u32; 8] = line.corners(base, vertices)?;
            content.cubes.push(CORNER_ORDER.map(|k| c[k]));
        }
    }
    Ok(())
}

/// Returns the next line of a section's content; fails at a new section, which ends the content too early.
fn next_content_line<'a>(scan: &mut Scanner<'a>, what: &str) -> Result<LineWords<'a>, TetError> {
    let path = scan.path;
    if let Some(line) = scan.peek().filter(|l| l.text.starts_with('*')) {
        let found = shorten_word(line.text);
        let include = if found.to_ascii_uppercase().starts_with("*INCLUDE") {
            "; included files are not followed: paste that file here in its place"
        } else {
            ""
        };
        let what = format!("section '{found}' begins before {what}{include}");
        return Err(syntax_error(path, line.number, what));
    }
    scan.expect(what)
}

/// Formats the file: tetrahedra, or the cubes that they were split from.
pub fn format_mesh(mesh: &TetMesh, cubic: bool, material: &Material) -> String {
    let mut out = format!("*VERTICES\n{} 3 0 0\n", mesh.vertices().len());
    for (i, x) in mesh.vertices().iter().enumerate() {
        let [x, y, z] = format_coordinates(x);
        append_row(&mut out, [(i + 1).to_string(), x, y, z]);
    }
    if cubic {
        out.push_str(&format!("\n*ELEMENTS\nCUBIC\n{} 8 0\n", mesh.cubes().len()));
        for (i, c) in (1u32..).zip(mesh.cubes()) {
            append_row(
                &mut out,
                [i].into_iter().chain(CORNER_ORDER.map(|k| c[k] + 1)),
            );
        }
    } else {
        out.push_str(&format!("\n*ELEMENTS\nTET\n{} 4 0\n", mesh.tets().len()));
        for (i, t) in (1u32..).zip(mesh.tets()) {
            append_row(&mut out, [i].into_iter().chain(t.map(|v| v + 1)));
        }
    }
    let (density, young, poisson) = (material.density(), material.young(), material.poisson());
    out.push_str(&format!(
        "\n*MATERIAL flesh\nENU, {density:?}, {young:?}, {poisson:?}\n\n*REGION\nallElements, flesh\n"
    ));
    out
}
