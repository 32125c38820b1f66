// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts of the skin across limbs: the skin between a limb's ends, and the rest, closed at the cuts.
//!
//! A limb's skin is the set of vertices reached from seeds that surely are its own, without crossing the discs at its ends.

use crate::Vec3;
use crate::lattice::NO_CELL;
use crate::mrep::error::MRepError;
use crate::surface::Surface;
use std::collections::BTreeMap;

/// A plane across a limb at a hub. Skin farther before it than `aside` belongs to the rest.
#[derive(Debug, Clone, Copy)]
pub(in crate::mrep) struct Disc {
    pub hub: Vec3,
    /// Unit normal of the plane, into the limb.
    pub inward: Vec3,
    /// Radius around the hub within which skin is cut, metres.
    pub reach: f64,
    /// Distance before the plane at which the rest ends, metres, so that nothing of it lies in the plane.
    pub aside: f64,
}

impl Disc {
    fn height(&self, p: &Vec3) -> f64 {
        (p - self.hub).dot(&self.inward)
    }

    fn is_near(&self, p: &Vec3) -> bool {
        (p - self.hub).norm() <= self.reach
    }

    /// Returns the fraction of the way from `p` in the limb to `q` in the rest at which the rest begins. `None`: the edge does not
    /// cross the disc.
    fn crossing(&self, p: &Vec3, q: &Vec3) -> Option<f64> {
        let (a, b) = (self.height(p) + self.aside, self.height(q) + self.aside);
        if !(a >= 0.0 && b < 0.0) {
            return None;
        }
        let t = a / (a - b);
        self.is_near(&(p + (q - p) * t)).then_some(t)
    }

    /// Returns whether a point of a limb's skin is in front of the plane, on the side of the limb's cells.
    pub fn is_in_front(&self, p: &Vec3) -> bool {
        self.height(p) >= 0.0 || !self.is_near(p)
    }

    /// Returns the intersection of the edge from `p` in the limb to `q` in the rest with the plane; `p` if it is behind the plane.
    fn plane_crossing(&self, p: &Vec3, q: &Vec3) -> Vec3 {
        let (a, b) = (self.height(p), self.height(q));
        if a <= 0.0 {
            *p
        } else {
            p + (q - p) * (a / (a - b))
        }
    }
}

/// A welded surface with the neighbours of each vertex.
pub(in crate::mrep) struct WeldedMesh<'a> {
    pub surface: &'a Surface,
    neighbours: Vec<Vec<u32>>,
}

impl<'a> WeldedMesh<'a> {
    pub fn new(surface: &'a Surface) -> Self {
        let welded = surface.welded();
        let mut neighbours = vec![Vec::new(); welded.vertices.len()];
        for t in &welded.triangles {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                neighbours[a as usize].push(b);
                neighbours[b as usize].push(a);
            }
        }
        for of in &mut neighbours {
            of.sort_unstable();
            of.dedup();
        }
        Self {
            surface,
            neighbours,
        }
    }

    /// Returns for each welded vertex whether it can be reached from seeds without crossing a disc.
    pub fn reachable_vertices(&self, seeds: &[bool], discs: &[Disc]) -> Vec<bool> {
        let x = &self.surface.welded().vertices;
        let mut reached = seeds.to_vec();
        let mut todo: Vec<u32> = (0u32..).zip(seeds).filter(|s| *s.1).map(|s| s.0).collect();
        while let Some(v) = todo.pop() {
            for &w in &self.neighbours[v as usize] {
                let crosses = |d: &Disc| d.crossing(&x[v as usize], &x[w as usize]).is_some();
                if !reached[w as usize] && !discs.iter().any(crosses) {
                    reached[w as usize] = true;
                    todo.push(w);
                }
            }
        }
        reached
    }
}

/// Result of cutting a surface.
pub(in crate::mrep) struct CutSurfaces {
    /// Points of each limb's skin that its cells have to contain: vertices, cut points, and points of large triangles.
    pub limbs: Vec<Vec<Vec3>>,
    /// Vertices and triangles of the rest, closed.
    pub rest: (Vec<Vec3>, Vec<[u32; 3]>),
    /// Index in the rest of each welded vertex; [`NO_CELL`] in limbs.
    pub in_rest: Vec<u32>,
}

/// A cut point on an edge: its vertex in the rest, the disc's index, and the point on the disc's plane.
type CutPoint = (u32, usize, Vec3);

/// State of a cut: the pieces so far.
struct SurfaceCutter<'a> {
    x: &'a [Vec3],
    discs: &'a [Vec<Disc>],
    spacing: f64,
    pieces: CutSurfaces,
    /// Cut points by limb vertex and other vertex.
    on_edge: BTreeMap<(u32, u32), CutPoint>,
    /// Vertex in the middle of each limb's disc.
    centres: BTreeMap<(usize, usize), u32>,
}

impl SurfaceCutter<'_> {
    fn add_vertex(&mut self, x: Vec3) -> u32 {
        let vertices = &mut self.pieces.rest.0;
        vertices.push(x);
        vertices.len() as u32 - 1
    }

    /// Returns the cut point between a limb's vertex and another.
    ///
    /// # Errors
    /// No disc separates them.
    fn cut_point(
        &mut self,
        limb: usize,
        limb_vertex: u32,
        other: u32,
    ) -> Result<CutPoint, MRepError> {
        if let Some(&found) = self.on_edge.get(&(limb_vertex, other)) {
            return Ok(found);
        }
        let (p, q) = (self.x[limb_vertex as usize], self.x[other as usize]);
        let met = |(i, d): (usize, &Disc)| Some((i, d.crossing(&p, &q)?));
        let met = (0..).zip(&self.discs[limb]).find_map(met);
        let (disc, there) = met.ok_or_else(|| {
            MRepError::Target("its ends do not part its skin from the rest".into())
        })?;
        let here = self.discs[limb][disc].plane_crossing(&p, &q);
        self.pieces.limbs[limb].push(here);
        let found = (self.add_vertex(p + (q - p) * there), disc, here);
        self.on_edge.insert((limb_vertex, other), found);
        Ok(found)
    }

    /// Cuts a triangle between a limb and the rest. The first vertex is alone on its side: the limb's or the rest's.
    fn cut_triangle(
        &mut self,
        limb: usize,
        [a, b, c]: [u32; 3],
        in_limb: bool,
    ) -> Result<(), MRepError> {
        let x = self.x;
        let at = |v: u32| x[v as usize];
        let (from, to, disc, mine) = if in_limb {
            let (p, disc, x) = self.cut_point(limb, a, b)?;
            let (q, _, y) = self.cut_point(limb, a, c)?;
            let [b, c] = [b, c].map(|v| self.pieces.in_rest[v as usize]);
            self.pieces.rest.1.extend([[p, b, c], [p, c, q]]);
            (q, p, disc, vec![[at(a), x, y]])
        } else {
            let (p, disc, x) = self.cut_point(limb, b, a)?;
            let (q, _, y) = self.cut_point(limb, c, a)?;
            let a = self.pieces.in_rest[a as usize];
            self.pieces.rest.1.push([a, p, q]);
            (p, q, disc, vec![[x, at(b), at(c)], [x, at(c), y]])
        };
        for triangle in mine {
            sample_triangle(triangle, self.spacing, &mut self.pieces.limbs[limb]);
        }
        let centre = match self.centres.get(&(limb, disc)) {
            Some(centre) => *centre,
            None => {
                let d = &self.discs[limb][disc];
                let centre = self.add_vertex(d.hub - d.inward * d.aside);
                self.centres.insert((limb, disc), centre);
                centre
            }
        };
        self.pieces.rest.1.push([to, from, centre]);
        Ok(())
    }
}

/// Cuts a surface. `part`: for each welded vertex 0 (rest) or 1 plus the index of its limb. `discs`: those of each limb. Points of a
/// limb's triangle are at most `spacing` apart, metres.
///
/// # Errors
/// Triangles that span two limbs, or that no disc separates.
pub(in crate::mrep) fn cut_surface(
    surface: &Surface,
    part: &[u16],
    discs: &[Vec<Disc>],
    spacing: f64,
) -> Result<CutSurfaces, MRepError> {
    let welded = surface.welded();
    let x = &welded.vertices;
    let mut cutting = SurfaceCutter {
        x,
        discs,
        spacing,
        pieces: CutSurfaces {
            limbs: vec![Vec::new(); discs.len()],
            rest: Default::default(),
            in_rest: vec![NO_CELL; x.len()],
        },
        on_edge: BTreeMap::new(),
        centres: BTreeMap::new(),
    };
    for (v, &part) in part.iter().enumerate() {
        match usize::from(part).checked_sub(1) {
            Some(limb) => cutting.pieces.limbs[limb].push(x[v]),
            None => cutting.pieces.in_rest[v] = cutting.add_vertex(x[v]),
        }
    }
    for t in &welded.triangles {
        let of = t.map(|v| part[v as usize]);
        let part = of.into_iter().max().unwrap_or(0);
        let Some(limb) = usize::from(part).checked_sub(1) else {
            let in_rest = t.map(|v| cutting.pieces.in_rest[v as usize]);
            cutting.pieces.rest.1.push(in_rest);
            continue;
        };
        if of.iter().any(|&p| p != 0 && p != part) {
            return Err(MRepError::Target(
                "two limbs have skin in common: end one of them before the other".into(),
            ));
        }
        if of == [part; 3] {
            let corners = t.map(|v| x[v as usize]);
            sample_triangle(corners, spacing, &mut cutting.pieces.limbs[limb]);
            continue;
        }
        // Rotates the triangle so that the vertex on its own side comes first.
        let alone = (0..3).find(|&k| of[(k + 1) % 3] == of[(k + 2) % 3]);
        let alone = alone.unwrap_or(0);
        let turned = [0, 1, 2].map(|k| t[(alone + k) % 3]);
        cutting.cut_triangle(limb, turned, of[alone] != 0)?;
    }
    let mut pieces = cutting.pieces;
    for (points, discs) in pieces.limbs.iter_mut().zip(discs) {
        // Points behind the plane by rounding count as on it.
        let lift = |p: &Vec3, d: &Disc| p + d.inward * (1e-9 * d.reach);
        points.retain(|p| discs.iter().all(|d| d.is_in_front(&lift(p, d))));
    }
    Ok(pieces)
}

/// Adds points of a triangle at most `spacing` apart, without its corners.
pub(in crate::mrep) fn sample_triangle([a, b, c]: [Vec3; 3], spacing: f64, out: &mut Vec<Vec3>) {
    let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
    let n = ((longest / spacing).ceil() as usize).clamp(1, 24);
    for i in 0..=n {
        for j in 0..=n - i {
            if ![i, j, n - i - j].contains(&n) {
                let [u, v] = [i, j].map(|k| k as f64 / n as f64);
                out.push(a + (b - a) * u + (c - a) * v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::sphere;

    /// A sphere without its cap is closed and has the remaining volume.
    #[test]
    fn cut_sphere_is_closed() {
        let shape = sphere(1.0, 24);
        let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
        let disc = Disc {
            hub: Vec3::new(0.31, 0.0, 0.0),
            inward: Vec3::x(),
            reach: 2.0,
            aside: 0.0,
        };
        let mesh = WeldedMesh::new(&surface);
        let x = &surface.welded().vertices;
        let seeds: Vec<bool> = x.iter().map(|p| p.x > 0.9).collect();
        let reached = mesh.reachable_vertices(&seeds, &[disc]);
        for (p, reached) in x.iter().zip(&reached) {
            assert_eq!(p.x >= 0.31, *reached);
        }
        let part: Vec<u16> = reached.iter().map(|r| u16::from(*r)).collect();
        let pieces = cut_surface(&surface, &part, &[vec![disc]], 0.1).unwrap();
        let (vertices, triangles) = pieces.rest;
        assert!(vertices.iter().all(|p| p.x <= 0.31 + 1e-12));
        assert!(pieces.limbs[0].iter().all(|p| p.x >= 0.31 - 1e-12));
        let mut sides: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        let mut volume = 0.0;
        for t in &triangles {
            let [a, b, c] = t.map(|v| vertices[v as usize]);
            volume += a.dot(&b.cross(&c)) / 6.0;
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                *sides.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
            }
        }
        assert!(sides.values().all(|s| *s == 0), "closed");
        // A ball without its cap of height 1 - 0.31.
        let cap = std::f64::consts::PI * 0.69_f64.powi(2) * (3.0 - 0.69) / 3.0;
        let whole = 4.0 / 3.0 * std::f64::consts::PI;
        assert!((volume / (whole - cap) - 1.0).abs() < 0.02, "{volume}");
        for (v, part) in part.iter().enumerate() {
            assert_eq!(pieces.in_rest[v] == NO_CELL, *part == 1);
        }
    }

    /// Skin that no disc separates is refused with an explanation.
    #[test]
    fn cut_refuses_unparted_skin() {
        let shape = sphere(1.0, 12);
        let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
        let part: Vec<u16> = (surface.welded().vertices.iter())
            .map(|p| u16::from(p.x > 0.3))
            .collect();
        let said = cut_surface(&surface, &part, &[vec![]], 0.1)
            .map(|_| ())
            .unwrap_err();
        assert!(said.to_string().contains("do not part"));
    }
}
