// SPDX-License-Identifier: MIT OR Apache-2.0
//! Format of TetGen's `.node` and `.ele` files.
//!
//! `.node`: `<points> <dimension = 3> <attributes> <markers>`, then `<number> x y z …` per point, numbered from zero
//! or one. `.ele`: `<tetrahedra> <nodes each = 4 or 10> <attributes>`, then `<number> n₁ n₂ n₃ n₄ …`. Only the four
//! corners of ten-node tetrahedra are kept. [TetGen 1.5 manual, §5.2]

use super::scan::Scanner;
use super::{MeshContent, append_row, format_coordinates};
use crate::Vec3;
use crate::tets::{TetError, TetMesh};
use std::path::Path;

/// Parses a mesh from the texts of its two files.
pub fn parse(node: (&Path, &str), ele: (&Path, &str)) -> Result<MeshContent, TetError> {
    let (vertices, base) = parse_points(node.0, node.1)?;
    let mut scan = Scanner::new(ele.0, ele.1);
    let mut head = scan.expect("the number of tetrahedra")?;
    let count = head.count("the number of tetrahedra")?;
    let corners = head.count("the number of nodes each").unwrap_or(4);
    if corners != 4 && corners != 10 {
        return Err(head.error(format!(
            "tetrahedra of {corners} nodes: only 4 and 10 are known"
        )));
    }
    let mut tets = Vec::with_capacity(scan.capacity(count));
    for i in 0..count {
        let mut line = scan.expect(&format!("tetrahedron {i} of {count}"))?;
        line.count("the tetrahedron's number")?;
        tets.push(line.corners(base, vertices.len())?);
    }
    Ok(MeshContent {
        vertices,
        tets,
        middles: corners == 10,
        ..MeshContent::default()
    })
}

/// Parses the points, and returns them with the number of the first.
fn parse_points(path: &Path, text: &str) -> Result<(Vec<Vec3>, usize), TetError> {
    let mut scan = Scanner::new(path, text);
    let mut head = scan.expect("the number of points")?;
    let count = head.count("the number of points")?;
    let dimension = head.count("the dimension").unwrap_or(3);
    if dimension != 3 {
        return Err(head.error(format!("points of dimension {dimension}, not 3")));
    }
    let mut vertices = Vec::with_capacity(scan.capacity(count));
    let mut base = 0;
    for i in 0..count {
        let mut line = scan.expect(&format!("point {i} of {count}"))?;
        let number = line.count("the point's number")?;
        if i == 0 && number <= 1 {
            base = number;
        }
        if number != base + i {
            return Err(line.error(format!(
                "point {number} comes where {} should: points are numbered in order, from 0 or 1",
                base + i
            )));
        }
        vertices.push(line.point()?);
    }
    Ok((vertices, base))
}

/// Formats the `.node` file.
pub fn format_nodes(mesh: &TetMesh) -> String {
    let mut out = format!("{} 3 0 0\n", mesh.vertices().len());
    for (i, x) in mesh.vertices().iter().enumerate() {
        let [x, y, z] = format_coordinates(x);
        append_row(&mut out, [i.to_string(), x, y, z]);
    }
    out
}

/// Formats the `.ele` file.
pub fn format_elements(mesh: &TetMesh) -> String {
    let mut out = format!("{} 4 0\n", mesh.tets().len());
    for (i, t) in (0u32..).zip(mesh.tets()) {
        append_row(&mut out, [i, t[0], t[1], t[2], t[3]]);
    }
    out
}
