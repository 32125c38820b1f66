// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sample sites on the implied boundary of a figure, and the triangles between them.
//!
//! At level l each interval between atoms, and each fan, is cut into 2^l parts. The sites depend on the kind of figure, its knots
//! and the level alone.

use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::pieces::{EDGES, SlabEdge, VolumePart, handedness};
use std::f64::consts::TAU;

/// Largest number of vertices of a boundary mesh. Their positions and triangles take 100 MB.
const MAX_VERTICES: usize = 2_000_000;
/// Highest level, for any figure. At it any figure has more than [`MAX_VERTICES`] vertices.
const MAX_LEVEL: u32 = 10;

/// A sample site on the boundary: a part, and parameters in it.
#[derive(Debug, Clone, Copy)]
pub(in crate::mrep) struct Site {
    pub part: VolumePart,
    pub s: f64,
    pub t: f64,
}

/// Sites, and triangles over them.
type SiteMesh = (Vec<Site>, Vec<[u32; 3]>);

/// Counts the vertices of a figure's boundary at a level, before memory is allocated for them.
///
/// # Errors
/// A level that needs too many vertices.
pub(in crate::mrep) fn vertex_count(figure: &Figure, level: u32) -> Result<usize, MRepError> {
    let n = f64::from(1u32 << level.min(MAX_LEVEL));
    let vertices = match figure.kind() {
        FigureKind::Slab { rows, cols } => {
            let (a, b) = ((rows - 1) as f64 * n, (cols - 1) as f64 * n);
            2.0 * (a + 1.0) * (b + 1.0) + (2.0 * n - 1.0) * 2.0 * (a + b)
        }
        FigureKind::Tube { atoms, spokes } => {
            spokes as f64 * n * ((atoms + 1) as f64 * n - 1.0) + 2.0
        }
    };
    if level > MAX_LEVEL || vertices > MAX_VERTICES as f64 {
        return Err(MRepError::Level {
            level,
            vertices,
            most: MAX_VERTICES,
        });
    }
    Ok(vertices as usize)
}

/// Returns the sites of a figure's boundary at a level, and the triangles over them.
///
/// # Errors
/// See [`vertex_count`].
pub(in crate::mrep) fn build_sites(figure: &Figure, level: u32) -> Result<SiteMesh, MRepError> {
    let count = vertex_count(figure, level)?;
    let parts = 1usize << level;
    let mesh = (
        Vec::with_capacity(count),
        // A closed mesh like a sphere has about twice as many triangles as vertices.
        Vec::with_capacity(2 * count),
    );
    let (sites, mut triangles) = match figure.kind() {
        FigureKind::Slab { rows, cols } => add_slab_sites(rows, cols, parts, mesh),
        FigureKind::Tube { spokes, .. } => add_tube_sites(figure.knots(), spokes, parts, mesh),
    };
    if handedness(figure) < 0.0 {
        triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    Ok((sites, triangles))
}

/// Returns (u, v, φ, 1) of a site.
pub(in crate::mrep) fn coordinates(site: &Site) -> [f64; 4] {
    let side = |up: bool| if up { 1.0 } else { -1.0 };
    let (s, t) = (site.s, site.t);
    match site.part {
        VolumePart::Sheet { up } => [s, t, side(up), 1.0],
        VolumePart::Rim { edge, up } => {
            let [u, v] = edge.coordinates_at(s);
            [u, v, side(up) * (1.0 - t), 1.0]
        }
        VolumePart::Body => [s, 0.0, t, 1.0],
        VolumePart::Cap { last: true } => [1.0 + s, 0.0, t, 1.0],
        VolumePart::Cap { last: false } => [-s, 0.0, t, 1.0],
    }
}

/// Adds both sheets, then rings around the border from the upper one to the lower.
fn add_slab_sites(
    rows: usize,
    cols: usize,
    parts: usize,
    (mut sites, mut triangles): SiteMesh,
) -> SiteMesh {
    let (a, b) = ((rows - 1) * parts, (cols - 1) * parts);
    for up in [true, false] {
        let first = sites.len();
        for i in 0..=a {
            for j in 0..=b {
                sites.push(Site {
                    part: VolumePart::Sheet { up },
                    s: i as f64 / a as f64,
                    t: j as f64 / b as f64,
                });
            }
        }
        let at = |i: usize, j: usize| first + i * (b + 1) + j;
        for i in 0..a {
            for j in 0..b {
                let quad = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                push_quad(&mut triangles, quad, !up);
            }
        }
    }
    // Once around the border: from (0, 0) along the first row, the last column, the last row and the first column.
    let around: Vec<(usize, usize, SlabEdge, f64)> = {
        let [first_row, last_row, first_column, last_column] = EDGES;
        let u = |i: usize| i as f64 / a as f64;
        let v = |j: usize| j as f64 / b as f64;
        let there = (0..b).map(|j| (0, j, first_row, v(j)));
        let down = (0..a).map(|i| (i, b, last_column, u(i)));
        let back = (0..b).map(|j| (a, b - j, last_row, v(b - j)));
        let home = (0..a).map(|i| (a - i, 0, first_column, u(a - i)));
        there.chain(down).chain(back).chain(home).collect()
    };
    let sheet = (a + 1) * (b + 1);
    let mut ring: Vec<usize> = around.iter().map(|&(i, j, ..)| i * (b + 1) + j).collect();
    let below: Vec<usize> = ring.iter().map(|&v| sheet + v).collect();
    for k in 1..=2 * parts {
        let next: Vec<usize> = if k == 2 * parts {
            below.clone()
        } else {
            let up = k <= parts;
            let p = if up { k } else { 2 * parts - k } as f64 / parts as f64;
            let first = sites.len();
            sites.extend(around.iter().map(|&(.., edge, s)| Site {
                part: VolumePart::Rim { edge, up },
                s,
                t: p,
            }));
            (first..sites.len()).collect()
        };
        for i in 0..ring.len() {
            let j = (i + 1) % ring.len();
            push_quad(&mut triangles, [ring[i], ring[j], next[j], next[i]], false);
        }
        ring = next;
    }
    (sites, triangles)
}

/// Adds rings along the tube, then those of both caps and their poles.
fn add_tube_sites(
    knots: &[f64],
    spokes: usize,
    parts: usize,
    (mut sites, mut triangles): SiteMesh,
) -> SiteMesh {
    let m = spokes * parts;
    let angle = |j: usize| TAU * j as f64 / m as f64;
    let mut along: Vec<f64> = Vec::new();
    for pair in knots.windows(2) {
        along.extend((0..parts).map(|k| pair[0] + (pair[1] - pair[0]) * k as f64 / parts as f64));
    }
    along.push(1.0);
    let ring = |sites: &mut Vec<Site>, part: VolumePart, s: f64| -> usize {
        let first = sites.len();
        sites.extend((0..m).map(|j| Site {
            part,
            s,
            t: angle(j),
        }));
        first
    };
    let band = |triangles: &mut Vec<[u32; 3]>, a: usize, b: usize| {
        for j in 0..m {
            let k = (j + 1) % m;
            push_quad(triangles, [a + j, b + j, b + k, a + k], false);
        }
    };
    let body: Vec<usize> = along
        .iter()
        .map(|&u| ring(&mut sites, VolumePart::Body, u))
        .collect();
    for pair in body.windows(2) {
        band(&mut triangles, pair[0], pair[1]);
    }
    for last in [false, true] {
        let part = VolumePart::Cap { last };
        let mut from = if last { body[body.len() - 1] } else { body[0] };
        for k in 1..parts {
            let to = ring(&mut sites, part, k as f64 / parts as f64);
            if last {
                band(&mut triangles, from, to);
            } else {
                band(&mut triangles, to, from);
            }
            from = to;
        }
        let pole = sites.len();
        sites.push(Site {
            part,
            s: 1.0,
            t: 0.0,
        });
        for j in 0..m {
            let k = (j + 1) % m;
            let [a, b] = if last { [j, k] } else { [k, j] };
            triangles.push([from + a, pole, from + b].map(|v| v as u32));
        }
    }
    (sites, triangles)
}

/// Adds two triangles, split at the diagonal from the first corner; `turned` reverses them.
fn push_quad(triangles: &mut Vec<[u32; 3]>, corners: [usize; 4], turned: bool) {
    let [a, b, c, d] = corners.map(|v| v as u32);
    if turned {
        triangles.extend([[a, c, b], [a, d, c]]);
    } else {
        triangles.extend([[a, b, c], [a, c, d]]);
    }
}
