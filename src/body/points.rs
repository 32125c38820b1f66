// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quadrature points of the flesh, for integrands that vary faster than the cells do. [capell2006, eq. 6]
//!
//! Space is divided into voxels of spacing `s/2^level`, with s a part of the body's size, along the skin's own axes around its
//! centroid ([`PointGrid`]), so that points turn, move and scale with the body. A voxel wholly in the flesh is one point at its centre. A voxel that the skin cuts is halved along each
//! axis. Each of its parts counts by a share from the signed distance d: `½ − d/side`, clamped to 0 and 1. The parts
//! in one element become one point at their centre of mass. Each point carries its volume, its element and the values of
//! that element's functions; of overlapping virtual copies, the cell is the one that owns the flesh there.
//!
//! Points do not depend on the integrand, so an integral over them is as smooth as its integrand. They are built on
//! first use in bricks of 4³ voxels, bit for bit the same in any order, and kept.
//!
//! Flesh outside the lattice is left out, as from the body's own integrals.

use super::brick_cube::BrickCube;
use super::point_grid::PointGrid;
use crate::Vec3;
use crate::basis::Basis;
use crate::surface::Surface;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A quadrature point: a piece of flesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleshPoint {
    /// Centre of mass at rest, metres.
    pub place: Vec3,
    /// Volume, m³.
    pub volume: f64,
    /// Element of the body's basis.
    pub element: u32,
}

/// The flesh in a cube of space, by cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brick {
    /// Points, grouped by element.
    points: Vec<FleshPoint>,
    /// Values of the functions of each point's element, in the element's order, consecutively.
    values: Vec<f64>,
}

/// Points of a brick in one element.
#[derive(Debug, Clone, Copy)]
pub struct ElementPoints<'a> {
    /// The functions that live on the element.
    pub functions: &'a [u32],
    points: &'a [FleshPoint],
    values: &'a [f64],
}

impl Brick {
    /// Returns the points, grouped by element.
    pub fn points(&self) -> &[FleshPoint] {
        &self.points
    }

    /// Returns the points element by element.
    pub fn runs<'a>(&'a self, basis: &'a Basis) -> impl Iterator<Item = ElementPoints<'a>> {
        let mut rest = &self.values[..];
        self.points
            .chunk_by(|a, b| a.element == b.element)
            .map(move |points| {
                let functions = basis.functions(points[0].element);
                let (values, others) = rest.split_at(points.len() * functions.len());
                rest = others;
                ElementPoints {
                    functions,
                    points,
                    values,
                }
            })
    }
}

impl<'a> ElementPoints<'a> {
    /// Returns the points, each with the values of the element's functions.
    pub fn points(&self) -> impl Iterator<Item = (&'a FleshPoint, &'a [f64])> {
        self.points
            .iter()
            .zip(self.values.chunks_exact(self.functions.len()))
    }
}

/// All the flesh of a body, built brick by brick on first use.
#[derive(Debug)]
pub struct FleshPoints {
    surface: Arc<Surface>,
    basis: Basis,
    /// `true`: every edge of the surface has two triangles.
    closed: OnceLock<bool>,
    grid: OnceLock<PointGrid>,
    cache: RwLock<BrickCache>,
}

/// Bricks built so far, and their number of points.
#[derive(Debug, Default)]
struct BrickCache {
    bricks: BTreeMap<BrickKey, Arc<Brick>>,
    points: usize,
}

/// Level and position of a brick, counted in bricks from the middle.
type BrickKey = (u32, [i32; 3]);

/// Finest level.
pub const MAX_LEVEL: u32 = 24;
/// Voxels along the diagonal of the grid's box at level 0. The diagonal is at most √3 times the surface's size, so half a voxel, the part of one
/// that the skin cuts, is thinner than the layer around sheets.
const VOXELS_ACROSS: f64 = 64.0;
/// Voxels along an edge of a brick.
const BRICK_SIDE: i32 = 4;
/// Number of points, about 200 MB, beyond which all are discarded. A brick counts as at least four.
const MAX_POINTS: usize = 2_000_000;

impl FleshPoints {
    /// Refers to the flesh inside a surface, in the cells of a basis; computes nothing yet.
    pub fn new(surface: Arc<Surface>, basis: Basis) -> Self {
        Self {
            surface,
            basis,
            closed: OnceLock::new(),
            grid: OnceLock::new(),
            cache: RwLock::default(),
        }
    }

    /// Returns the side of a voxel at a level, metres.
    pub fn spacing(&self, level: u32) -> f64 {
        self.grid().size() / VOXELS_ACROSS / f64::from(level.min(MAX_LEVEL)).exp2()
    }

    /// Returns the coarsest level with voxels no larger than a length, metres, or else the finest.
    pub fn level(&self, longest: f64) -> u32 {
        let halvings = (self.spacing(0) / longest).log2().ceil();
        halvings.clamp(0.0, f64::from(MAX_LEVEL)) as u32
    }

    /// Returns the bricks of a level that meet a box and that `keep` accepts. `keep` gets the middle of a cube and
    /// the radius of the sphere around it. If it rejects a cube, it must reject every cube inside: blocks of bricks
    /// are skipped as a whole, so that the cost of a thin ring depends on what it meets, not on its box.
    pub fn bricks_in_box(
        &self,
        level: u32,
        (lo, hi): (Vec3, Vec3),
        keep: impl Fn(Vec3, f64) -> bool,
    ) -> Vec<Arc<Brick>> {
        let level = level.min(MAX_LEVEL);
        let side = self.spacing(level) * f64::from(BRICK_SIDE);
        let radius = 0.5 * 3f64.sqrt() * side;
        let grid = self.grid();
        // Clipped to the body, with the thin layers around the surface, so numbers of bricks are small.
        let (lo, hi) = grid.own_box((lo, hi), self.spacing(0));
        let [first, last] = [lo, hi].map(|end| end.map(|x| (x / side).floor() as i32));
        let wanted = |block: &BrickCube| {
            let size = f64::from(1u32 << block.doublings);
            let at = Vec3::from(block.first.map(f64::from)) + Vec3::repeat(0.5 * size);
            // The slack keeps rounding from rejecting a block with an accepted brick.
            let slack = if block.doublings > 0 { 1.0 + 1e-9 } else { 1.0 };
            keep(grid.position(&(at * side)), radius * size * slack)
        };
        let mut keys = Vec::new();
        let mut left = vec![BrickCube::from_range(first.into(), last.into())];
        while let Some(block) = left.pop() {
            if !block.meets(first.into(), last.into()) || !wanted(&block) {
                continue;
            }
            match block.doublings {
                0 => keys.push((level, block.first)),
                _ => left.extend(block.halves()),
            }
        }
        keys.sort_unstable_by_key(|(_, [i, j, k])| (*k, *j, *i));
        self.bricks(&keys)
    }

    /// Returns the bricks of the keys; builds those that are missing.
    fn bricks(&self, keys: &[BrickKey]) -> Vec<Arc<Brick>> {
        let mut found: Vec<Option<Arc<Brick>>> = {
            let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
            keys.iter().map(|k| cache.bricks.get(k).cloned()).collect()
        };
        let missing: Vec<usize> = (0..keys.len()).filter(|&i| found[i].is_none()).collect();
        if !missing.is_empty() {
            // The surface builds its own caches before the work is shared out.
            self.surface
                .signed_distance(self.grid().position(&Vec3::zeros()));
            self.is_closed();
            let new: Vec<Arc<Brick>> = missing
                .par_iter()
                .map(|&i| Arc::new(self.build_brick(keys[i])))
                .collect();
            let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
            for (&i, brick) in missing.iter().zip(new) {
                if cache.points > MAX_POINTS {
                    *cache = BrickCache::default();
                }
                // Another thread may have been quicker, with the same bits.
                if cache.bricks.insert(keys[i], brick.clone()).is_none() {
                    cache.points += brick.points.len().max(4);
                }
                found[i] = Some(brick);
            }
        }
        found.into_iter().flatten().collect()
    }

    fn grid(&self) -> &PointGrid {
        self.grid.get_or_init(|| PointGrid::new(&self.surface))
    }

    /// Returns whether every edge of the surface has two triangles; computed on first use.
    fn is_closed(&self) -> bool {
        *self.closed.get_or_init(|| self.surface.report().closed)
    }

    /// Builds the points of one brick.
    fn build_brick(&self, (level, place): BrickKey) -> Brick {
        let h = self.spacing(level);
        let (grid, first) = (
            self.grid(),
            Vec3::from(place.map(|i| f64::from(i * BRICK_SIDE))),
        );
        let side = f64::from(BRICK_SIDE) * h;
        let whole = self.uniform_state(grid.position(&(first * h).add_scalar(0.5 * side)), side);
        if whole == Some(false) {
            return Brick::default();
        }
        let mut points = Vec::new();
        for voxel in cube(BRICK_SIDE) {
            let centre = grid.position(&((first + voxel).add_scalar(0.5) * h));
            match whole.or_else(|| self.uniform_state(centre, h)) {
                Some(true) => points.extend(self.full_voxel_point(centre, h)),
                Some(false) => {}
                None => self.add_cut_points(centre, h, &mut points),
            }
        }
        points.sort_by_key(|p| p.element);
        let of = |p: &FleshPoint| self.basis.values(p.element, p.place);
        let values = points.iter().flat_map(of).collect();
        Brick { points, values }
    }

    /// Returns whether a cube is entirely inside or outside the flesh. `None`: the skin may cut it.
    fn uniform_state(&self, centre: Vec3, side: f64) -> Option<bool> {
        let distance = self.surface.signed_distance(centre);
        if distance.abs() <= 0.5 * 3f64.sqrt() * side {
            return None;
        }
        let inside = distance < 0.0;
        // Without skin nearby, flesh can still end at a hole.
        let same = |c: Vec3| {
            let corner = centre + self.grid().vector(c.add_scalar(-0.5) * side);
            self.surface.contains(corner) == inside
        };
        (self.is_closed() || cube(2).all(same)).then_some(inside)
    }

    /// Returns the point of a voxel full of flesh; `None` outside the lattice.
    fn full_voxel_point(&self, place: Vec3, h: f64) -> Option<FleshPoint> {
        Some(FleshPoint {
            place,
            volume: h.powi(3),
            element: self.element_at(place)?,
        })
    }

    /// Adds the points of a voxel that the skin cuts.
    fn add_cut_points(&self, centre: Vec3, h: f64, points: &mut Vec<FleshPoint>) {
        let side = 0.5 * h;
        let offset = |part: Vec3| self.grid().vector(part.add_scalar(-0.5) * side);
        let parts = || cube(2).map(offset);
        let mut distances = [0.0; 8];
        let mut slope = Vec3::zeros();
        for (distance, offset) in distances.iter_mut().zip(parts()) {
            *distance = self.surface.signed_distance(centre + offset);
            slope += offset * *distance;
        }
        let outward = slope.try_normalize(0.0).unwrap_or_default();
        // Volume and first moment about the centre by element, then those of parts in no cell.
        let mut sums: Vec<(u32, f64, Vec3)> = Vec::new();
        let (mut volume, mut moment) = (0.0, Vec3::zeros());
        for (&distance, offset) in distances.iter().zip(parts()) {
            let share = (0.5 - distance / side).clamp(0.0, 1.0) * side.powi(3);
            if share <= 0.0 {
                continue;
            }
            // The flesh of a part reaches from its far side to the skin.
            let offset = offset - outward * (0.5 * distance + 0.25 * side).max(0.0);
            let Some(element) = self.element_at(centre + offset) else {
                volume += share;
                moment += offset * share;
                continue;
            };
            match sums.iter_mut().find(|s| s.0 == element) {
                Some(sum) => {
                    sum.1 += share;
                    sum.2 += offset * share;
                }
                None => sums.push((element, share, offset * share)),
            }
        }
        // Parts just outside the lattice are shared out among the elements, whatever their order.
        let within: f64 = sums.iter().map(|s| s.1).sum();
        for (element, own, own_moment) in sums {
            let (all, all_moment) = (
                own + volume * own / within,
                own_moment + moment * (own / within),
            );
            points.push(FleshPoint {
                place: centre + all_moment / all,
                volume: all,
                element,
            });
        }
    }

    /// Returns the element that owns the flesh at a point; `None` outside the lattice.
    fn element_at(&self, place: Vec3) -> Option<u32> {
        let lattice = self.basis.lattice();
        let cell = lattice.owner(lattice.locate(place)?, place);
        Some(self.basis.element_at(cell, place))
    }
}

/// Returns the positions in a cube of n³, x fastest.
fn cube(n: i32) -> impl Iterator<Item = Vec3> {
    (0..n * n * n).map(move |i| {
        Vec3::new(
            f64::from(i % n),
            f64::from(i / n % n),
            f64::from(i / (n * n)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::BarOptions;
    use super::*;
    use approx::assert_relative_eq;

    fn all_points(points: &FleshPoints, level: u32) -> Vec<FleshPoint> {
        let everywhere = (Vec3::repeat(-1e9), Vec3::repeat(1e9));
        let bricks = points.bricks_in_box(level, everywhere, |_, _| true);
        bricks.iter().flat_map(|b| b.points.clone()).collect()
    }

    /// The points have the total volume and the centroid of the flesh.
    #[test]
    fn points_keep_volume_and_centroid() {
        for hexahedra in [false, true] {
            let bar = BarOptions {
                hexahedra,
                frame: nalgebra::Isometry3::new(
                    Vec3::new(3.0, -2.0, 1.0),
                    Vec3::new(0.4, 0.3, 1.0),
                ),
                ..Default::default()
            };
            let body = bar.build();
            let middle = bar.frame * nalgebra::Point3::new(0.0, 0.0, 0.5 * bar.length);
            for level in 0..2 {
                let points = all_points(body.points(), level);
                let volume: f64 = points.iter().map(|p| p.volume).sum();
                assert_relative_eq!(volume, 4.0 * 0.04 * 1.6, max_relative = 3e-3);
                let mean: Vec3 = points.iter().map(|p| p.place * p.volume).sum::<Vec3>() / volume;
                assert_relative_eq!(mean, middle.coords, epsilon = 1e-3);
            }
        }
    }

    /// Each point lies in the lattice, at the place that the values of its cell give.
    #[test]
    fn point_place_matches_cell() {
        let body = BarOptions::default().build();
        let everywhere = (Vec3::repeat(-1e9), Vec3::repeat(1e9));
        let rest = body.basis().rest_shape();
        for brick in body.points().bricks_in_box(1, everywhere, |_, _| true) {
            for run in brick.runs(body.basis()) {
                for (p, values) in run.points() {
                    let terms = run.functions.iter().zip(values);
                    let place: Vec3 = terms.map(|(&a, w)| rest[a as usize] * *w).sum();
                    assert_relative_eq!(place, p.place, epsilon = 1e-12);
                    assert!(body.lattice().locate(p.place).is_some());
                }
            }
        }
    }

    /// Builds the points of a surface in one cell around everything near the origin.
    fn flesh_points(surface: Surface) -> FleshPoints {
        let far = crate::surface::shapes::cuboid(Vec3::repeat(3.0)).vertices;
        let cell = crate::lattice::Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]);
        let lattice = crate::lattice::Lattice::new(far, vec![cell]).unwrap();
        FleshPoints::new(Arc::new(surface), Basis::new(Arc::new(lattice)))
    }

    fn surface(shape: crate::surface::shapes::TestMesh) -> Surface {
        Surface::new(shape.vertices, shape.triangles).unwrap()
    }

    /// The points of an open sheet fill its layer of flesh with a round rim.
    #[test]
    fn sheet_volume_includes_layer() {
        let mut sheet = crate::surface::shapes::plane(8);
        let turn = crate::geometry::rotation_vector::rotation(&Vec3::new(0.4, 0.9, 0.2));
        sheet.vertices.iter_mut().for_each(|v| *v = turn * *v);
        let sheet = surface(sheet);
        // A round rim around the square of side 2.
        let t = sheet.layer_half_thickness();
        let expected = 2.0 * t * 4.0 + 0.5 * std::f64::consts::PI * t * t * 8.0;
        let points = flesh_points(sheet);
        for level in 0..2 {
            let volume: f64 = all_points(&points, level).iter().map(|p| p.volume).sum();
            assert_relative_eq!(volume, expected, max_relative = 0.02);
        }
    }

    /// Flesh ends at a hole of its surface, where the winding number falls to one half.
    #[test]
    fn volume_ends_at_hole() {
        // A cube whose top is missing: its flesh is where the winding number exceeds one half.
        let mut open = crate::surface::shapes::cuboid(Vec3::repeat(1.0));
        open.triangles.retain(|t| !t.iter().all(|&v| v > 3));
        let open = surface(open);
        let expected = open.volume();
        let points = flesh_points(open);
        for level in 0..2 {
            let volume: f64 = all_points(&points, level).iter().map(|p| p.volume).sum();
            assert_relative_eq!(volume, expected, max_relative = 0.02);
        }
    }

    /// Each level halves the spacing of the points, up to the finest level.
    #[test]
    fn levels_halve_spacing() {
        let body = BarOptions::default().build();
        let points = body.points();
        assert_eq!(points.level(f64::INFINITY), 0);
        assert_eq!(points.level(0.0), MAX_LEVEL);
        for level in 1..6 {
            let h = points.spacing(level);
            assert_relative_eq!(2.0 * h, points.spacing(level - 1));
            assert_eq!(points.level(1.001 * h), level);
            assert_eq!(points.level(0.999 * h), level + 1);
        }
    }

    /// The search for the bricks that meet a ring finds all of them with few tests.
    #[test]
    fn bricks_in_box_finds_ring() {
        let body = BarOptions::default().build();
        let points = body.points();
        let (level, ring, tube) = (3, 0.1 * body.size(), 0.003 * body.size());
        let meets =
            |middle: Vec3, radius: f64| (middle.xy().norm() - ring).hypot(middle.z) - tube < radius;
        let box_around = (Vec3::repeat(-1e9), Vec3::repeat(1e9));
        let test_count = std::cell::Cell::new(0);
        let found = points.bricks_in_box(level, box_around, |middle, radius| {
            test_count.set(test_count.get() + 1);
            meets(middle, radius)
        });
        // One brick after the other.
        let side = points.spacing(level) * f64::from(BRICK_SIDE);
        let brute_force_count = std::cell::Cell::new(0);
        let radius = 0.5 * 3f64.sqrt() * side;
        let one_by_one = points.bricks_in_box(level, box_around, |middle, r| {
            brute_force_count.set(brute_force_count.get() + 1);
            r > 1.5 * radius || meets(middle, r)
        });
        assert!(!found.is_empty() && found == one_by_one);
        assert!(
            10 * test_count.get() < brute_force_count.get(),
            "{test_count:?} {brute_force_count:?}"
        );
    }

    /// The points have the same bits for any order and any number of threads of the queries.
    #[test]
    fn points_ignore_query_order() {
        let (a, b) = (BarOptions::default().build(), BarOptions::default().build());
        let few = (Vec3::repeat(-0.05), Vec3::new(0.05, 0.05, 0.7));
        a.points().bricks_in_box(1, few, |_, _| true);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| assert_eq!(all_points(a.points(), 1), all_points(b.points(), 1)));
            }
        });
    }
}
