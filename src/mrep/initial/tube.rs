// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tube along a body without bones: through the centres of rings between its two farthest ends.
//!
//! Rings are level sets of the difference of the distances along the skin from both ends. The inner side of a bend is shorter from either end, so
//! that such rings stand upright where those of one end's distance would lean.

use crate::Vec3;
use crate::geometry::geodesic::{GeodesicMesh, farthest_index};
use crate::geometry::moments::vertex_areas;
use crate::geometry::polyline::{arc_lengths, resample, smooth};
use crate::geometry::sets::DisjointSets;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::initial::line_tube::HubLine;
use crate::mrep::initial::rings::{Ring, Rings};
use crate::mrep::initial::skin::FigureSkin;
use crate::surface::{Surface, TriangleRole};

/// Least number of rings, and rings per atom. 32 rings lie 3 % of the length apart. With three per atom every hub is within about a sixth of the way
/// to the next of a ring.
const RING_COUNTS: [usize; 2] = [32, 3];
/// Length of a second ring over the first, and share of such levels, above which the body branches. Half and twice of both leave a tube in a
/// superquadric the same.
const BRANCH_LIMITS: [f64; 2] = [0.35, 0.2];
/// Distance of the outermost hubs from the ends, in radii. With half of it a tube misses a superquadric by 0.030 % of the size instead of 0.018,
/// with twice by 0.023.
const END_HUB_DISTANCE: f64 = 0.8;
/// Rounds of centring hubs in the skin around them. Half and twice of them leave what a tube misses a superquadric by the same.
const CENTRING_ROUNDS: usize = 4;
/// Relative difference of the mean distances from both ends below which both count as equally thick. Far above rounding, and less than anybody
/// sees.
const THICKNESS_TOLERANCE: f64 = 1e-4;
/// Share of the skin that has to be connected. More than half: at most one piece has it.
const MIN_CONNECTED_SHARE: f64 = 0.6;

impl Figure {
    /// Builds a tube in a tubular body, bent or not. It follows the centres of rings between the ends, from the thicker end to the thinner; hubs
    /// are centred, and spokes measured by rays.
    ///
    /// # Errors
    /// A body that branches or closes to a ring, one in pieces, one without an inside; too few or too many atoms or spokes.
    pub fn tube_around(surface: &Surface, atoms: usize, spokes: usize) -> Result<Self, MRepError> {
        FigureKind::Tube { atoms, spokes }.check()?;
        let mesh = main_piece(surface)?;
        let centre_line = centre_line(&mesh, RING_COUNTS[0].max(RING_COUNTS[1] * atoms))?;
        let skin = FigureSkin::from_surface(surface);
        let (hubs, ring_radii) = centre_line.hubs(atoms);
        let mut line = HubLine {
            hubs,
            joints: Vec::new(),
            ring_radii,
            spokes,
        };
        for _ in 0..CENTRING_ROUNDS {
            line.hubs = line.centred_hubs(&skin).map_err(tube_error)?;
        }
        let made = line.tube(&skin).map_err(tube_error)?;
        Ok(made.figure)
    }
}

/// Returns the refusal of a line, in terms of a body without bones.
fn tube_error(why: MRepError) -> MRepError {
    MRepError::Target(match why {
        MRepError::Bones(_) => {
            "the surface has no inside along its middle: close it before a tube is put into it"
                .into()
        }
        MRepError::Sharp { .. } => {
            "the body turns back on itself within less than its thickness: no tube fits into it"
                .into()
        }
        other => return other,
    })
}

/// Returns the largest connected piece of a surface's skin.
///
/// # Errors
/// A surface without skin, or without a piece that is most of it.
pub(in crate::mrep) fn main_piece(surface: &Surface) -> Result<GeodesicMesh, MRepError> {
    let welded = surface.welded();
    let roles = surface.triangle_roles();
    let skin: Vec<[u32; 3]> = (welded.triangles.iter().zip(roles))
        .filter(|(_, role)| **role == TriangleRole::Skin)
        .map(|(t, _)| *t)
        .collect();
    if skin.is_empty() {
        return Err(MRepError::Target(
            "the surface bounds no volume (it is a sheet): close it, or give it thickness, before a figure is put into it".into(),
        ));
    }
    let mut sets = DisjointSets::new(welded.vertices.len());
    for [a, b, c] in &skin {
        sets.join(*a, *b);
        sets.join(*b, *c);
    }
    let numbers = sets.set_numbers();
    let mut areas = vec![0.0; welded.vertices.len()];
    let mut total = 0.0;
    for t in &skin {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
        let area = (b - a).cross(&(c - a)).norm();
        areas[numbers[t[0] as usize] as usize] += area;
        total += area;
    }
    let largest = farthest_index(&areas);
    if areas[largest as usize] < MIN_CONNECTED_SHARE * total {
        return Err(MRepError::Target(
            "the surface is in pieces, none of which is most of it: join them (a remesh does) before a figure is put into it".into(),
        ));
    }
    let mut place = vec![u32::MAX; welded.vertices.len()];
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for t in skin.iter().filter(|t| numbers[t[0] as usize] == largest) {
        triangles.push(t.map(|v| {
            let place = &mut place[v as usize];
            if *place == u32::MAX {
                *place = vertices.len() as u32;
                vertices.push(welded.vertices[v as usize]);
            }
            *place
        }));
    }
    Ok(GeodesicMesh::new(vertices, triangles))
}

/// Returns the two ends that are farthest apart, as two sweeps find them, with the distances from each; the thicker end first.
pub(in crate::mrep) fn end_distances(mesh: &GeodesicMesh) -> [(u32, Vec<f64>); 2] {
    let areas = vertex_areas(&mesh.vertices, &mesh.triangles);
    let total: f64 = areas.iter().sum();
    let weighted = |x: Vec3, area: &f64| x * (area / total);
    let centre: Vec3 = (mesh.vertices.iter().zip(&areas))
        .map(|(x, area)| weighted(*x, area))
        .sum();
    let away: Vec<f64> = mesh.vertices.iter().map(|x| (x - centre).norm()).collect();
    let one = farthest_index(&mesh.distances(farthest_index(&away)));
    let from_one = mesh.distances(one);
    let other = farthest_index(&from_one);
    let from_other = mesh.distances(other);
    let mean = |far: &[f64]| {
        far.iter()
            .zip(&areas)
            .map(|(d, a)| d * a / total)
            .sum::<f64>()
    };
    let (a, b) = (mean(&from_one), mean(&from_other));
    let ends = [(one, from_one), (other, from_other)];
    let [p, q] = [one, other].map(|v| mesh.vertices[v as usize]);
    // Among equal ends the one with the larger coordinates comes first.
    let first = if (a - b).abs() > THICKNESS_TOLERANCE * (a + b) {
        a < b
    } else {
        (p - q)[(p - q).iamax()] > 0.0
    };
    if first {
        ends
    } else {
        let [one, other] = ends;
        [other, one]
    }
}

/// Centres of rings between two ends, with their radii.
struct CentreLine {
    centres: Vec<Vec3>,
    radii: Vec<f64>,
}

fn centre_line(mesh: &GeodesicMesh, count: usize) -> Result<CentreLine, MRepError> {
    let [(first, from_first), (last, from_last)] = end_distances(mesh);
    let between: Vec<f64> = (from_first.iter().zip(&from_last))
        .map(|(a, b)| 0.5 * (a - b))
        .collect();
    let reach = 0.5 * from_first[last as usize];
    let levels: Vec<f64> = (0..count)
        .map(|i| reach * (2.0 * (i as f64 + 0.5) / count as f64 - 1.0))
        .collect();
    let rings = Rings::new(mesh, &between, &levels).rings;
    let mut line: Vec<Ring> = Vec::new();
    let mut branched = 0;
    for level in 0..count {
        let mut here: Vec<&Ring> = rings.iter().filter(|r| r.level == level).collect();
        here.sort_by(|a, b| b.length.total_cmp(&a.length));
        let Some(ring) = here.first() else {
            continue;
        };
        branched += usize::from(
            here.get(1)
                .is_some_and(|r| r.length > BRANCH_LIMITS[0] * ring.length),
        );
        line.push(**ring);
    }
    if branched as f64 > BRANCH_LIMITS[1] * count as f64 {
        return Err(MRepError::Target(
            "the body branches or closes to a ring: a tube has two ends; use one limb of it, or have bones suggested".into(),
        ));
    }
    if line.len() < 3 {
        return Err(MRepError::Target(
            "the surface is too coarse for rings around it: subdivide it before a tube is put into it"
                .into(),
        ));
    }
    let mut centres: Vec<Vec3> = line.iter().map(|r| r.centre).collect();
    smooth(&mut centres, 4);
    // Extends the line straight to both ends, since the farthest vertices may lie on rims.
    let n = centres.len();
    let reach = [(first, 0, 2), (last, n - 1, n - 3)].map(|(end, i, inner)| {
        let way = (centres[i] - centres[inner])
            .try_normalize(0.0)
            .unwrap_or_default();
        let far = (mesh.vertices[end as usize] - centres[i])
            .dot(&way)
            .max(0.0);
        centres[i] + way * far
    });
    let mut radii: Vec<f64> = line.iter().map(Ring::radius).collect();
    centres.insert(0, reach[0]);
    centres.push(reach[1]);
    radii.insert(0, 0.0);
    radii.push(0.0);
    Ok(CentreLine { centres, radii })
}

impl CentreLine {
    /// Returns hubs at even steps between points nearly a radius inside the ends, and the radius of the nearest ring beyond each.
    fn hubs(&self, count: usize) -> (Vec<Vec3>, Vec<f64>) {
        let along = arc_lengths(&self.centres);
        let n = along.len();
        let total = along[n - 1];
        let least = 0.25 * total / (count as f64 - 1.0);
        let inset = |order: &mut dyn Iterator<Item = usize>, from: f64| {
            let fits = |i: &usize| (along[*i] - from).abs() >= END_HUB_DISTANCE * self.radii[*i];
            let i = order.skip(1).find(|i| fits(i)).unwrap_or(n / 2);
            (END_HUB_DISTANCE * self.radii[i]).clamp(least, 0.3 * total)
        };
        let begin = inset(&mut (0..n), 0.0);
        let end = total - inset(&mut (0..n).rev(), total);
        let step = (end - begin) / (count as f64 - 1.0);
        let ring_radius = |i: usize| {
            let way = begin + step * i as f64;
            // The ends have no rings of their own.
            self.radii[along.partition_point(|x| *x < way).clamp(1, n - 2)]
        };
        let ring_radii = (0..count).map(ring_radius).collect();
        (resample(&self.centres, [begin, end], count), ring_radii)
    }
}

#[cfg(test)]
mod tests;
