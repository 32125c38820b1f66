// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skin of a body, prepared for contact: points to test, triangles to test against, depths at rest.
//!
//! Only triangles that bound Ω touch; eyes, inner shells and the inner layer of doubled sheets do not. **Proxies** are the points that are looked up
//! in other flesh, one for each cube of a fifth of a cell. They are vertices and, in larger triangles, points inside.

use super::ContactError;
use crate::Vec3;
use crate::body::Body;
use crate::contact::bone_points::{BonePoint, bones_above};
use crate::geometry::groups::Groups;
use crate::kernel::SwayBound;
use crate::progress::{Cancelled, Progress};
use crate::surface::{DistanceGrid, TriangleRole};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Edge of the cubes that hold one proxy each, in cells. At twice the value skin of an elbow at 136° lies 2.6 % of the size deep in other skin
/// instead of 0.5. At half there are four times as many contacts, and skin lies as deep.
const PROXY_SPACING: f64 = 0.2;
/// Spacing of the grid of depths, in cells. Half and twice the value give the same depths.
const DEPTH_GRID_SPACING: f64 = 0.25;

/// A point on a skin: a triangle and barycentric coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SkinPoint {
    /// Index among the triangles of the welded surface.
    pub triangle: u32,
    pub weights: [f64; 3],
}

impl SkinPoint {
    /// Returns the corner with the largest weight.
    pub fn heaviest_corner(&self) -> usize {
        (1..3).fold(0, |best, k| match self.weights[k] > self.weights[best] {
            true => k,
            false => best,
        })
    }
}

/// A sample point of the skin, looked up in other flesh and in colliders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proxy {
    pub point: SkinPoint,
    /// Position at rest, metres.
    pub rest: Vec3,
    /// Vertex of the given surface with the largest weight; reports name this vertex.
    pub vertex: u32,
    /// Area of skin that the proxy stands for, m².
    pub area: f64,
}

/// Data about a body that contact needs and that no motion changes.
#[derive(Debug, Clone)]
pub struct ContactSkin {
    body: Arc<Body>,
    /// Vertices of the given surface at rest, as the lattice embeds them, metres.
    rest: Vec<Vec3>,
    /// Welded triangles over vertices of the given surface.
    triangles: Vec<[u32; 3]>,
    /// Mask of the triangles that can be touched.
    skin: Vec<bool>,
    /// Skin triangles around each vertex that `triangles` names.
    around: Groups,
    bounds: Option<Vec<SwayBound>>,
    /// Proxies, sorted by the cell that embeds them; and the index of each cell's first.
    proxies: Vec<Proxy>,
    starts: Vec<u32>,
    /// Cells that share a vertex with each cell, itself included, ascending.
    neighbours: Groups,
    /// Groups of cells that lie together at rest.
    clusters: Vec<Vec<u32>>,
    depths: DistanceGrid,
    bones: Vec<BonePoint>,
    /// Next bone above each bone that holds flesh.
    bones_above: Vec<Option<u32>>,
    /// Size of the cells, metres.
    cell: f64,
}

impl ContactSkin {
    /// Prepares the skin of a body. `regions` has one number per vertex of its surface; vertices with 0 touch nothing. `None`: all may touch.
    ///
    /// # Errors
    /// Regions for another number of vertices than the surface has; cancellation by the progress.
    pub fn new(
        body: &Arc<Body>,
        regions: Option<&[u32]>,
        progress: &dyn Progress,
    ) -> Result<Self, ContactError> {
        let surface = body.surface();
        let count = surface.vertices().len();
        if let Some(given) = regions.map(<[_]>::len).filter(|&given| given != count) {
            return Err(ContactError::Regions {
                expected: count,
                given,
            });
        }
        let welded = surface.welded();
        let given = welded.first_input_vertices();
        let of_given = |t: &[u32; 3]| t.map(|w| given[w as usize]);
        let triangles: Vec<[u32; 3]> = welded.triangles.iter().map(of_given).collect();
        surface.prepare_alone(progress)?;
        let touches = |t: &[u32; 3]| match regions {
            Some(regions) => t.iter().all(|&v| regions[v as usize] != 0),
            None => true,
        };
        let roles = surface.triangle_roles().iter().zip(&triangles);
        let skin: Vec<bool> = roles
            .map(|(role, t)| *role == TriangleRole::Skin && touches(t))
            .collect();
        let of_skin = (0u32..).zip(&triangles).filter(|&(t, _)| skin[t as usize]);
        let around = Groups::new(
            count,
            of_skin.flat_map(|(t, corners)| corners.map(|v| (v, t))),
        );
        let place = |v| body.embedding().position(v, body.rest_shape());
        let rest: Vec<Vec3> = (0..count).map(place).collect();
        let cell = cell_size(body);
        let mut contact = Self {
            rest,
            triangles,
            skin,
            around,
            bounds: body.flesh().map(|map| map.bounds(body.size())),
            proxies: Vec::new(),
            starts: Vec::new(),
            neighbours: cell_neighbours(body),
            clusters: cluster_cells(body, cell),
            depths: DistanceGrid::new(surface, DEPTH_GRID_SPACING * cell, cell, progress)?,
            bones: Vec::new(),
            bones_above: Vec::new(),
            cell,
            body: body.clone(),
        };
        contact.bones = BonePoint::for_body(body, |rest| contact.depths.distance_at(rest));
        contact.bones_above = bones_above(body, &contact.bones);
        contact.choose_proxies(progress)?;
        Ok(contact)
    }

    fn choose_proxies(&mut self, progress: &dyn Progress) -> Result<(), Cancelled> {
        crate::progress::report_progress(progress, 0.9, "choosing points that may touch")?;
        let cube = PROXY_SPACING * self.cell;
        let mut chosen: BTreeMap<[i64; 3], (f64, Proxy)> = BTreeMap::new();
        let mut areas: BTreeMap<[i64; 3], f64> = BTreeMap::new();
        for t in (0..self.triangles.len()).filter(|&t| self.skin[t]) {
            let corners = self.triangles[t].map(|v| self.rest[v as usize]);
            let [a, b, c] = corners;
            let area = 0.5 * (b - a).cross(&(c - a)).norm();
            let edge = (0..3).map(|k| (corners[k] - corners[(k + 1) % 3]).norm());
            let parts = (edge.fold(0.0, f64::max) / (2.0 * cube))
                .ceil()
                .clamp(1.0, 64.0) as usize;
            // Each of its points stands for an equal share of its area.
            let share = 2.0 / ((parts + 1) * (parts + 2)) as f64;
            for i in 0..=parts {
                for j in 0..=parts - i {
                    let weight = |n: usize| n as f64 / parts as f64;
                    let weights = [weight(parts - i - j), weight(i), weight(j)];
                    let proxy = self.build_proxy(t as u32, weights);
                    let at = proxy.rest / cube;
                    let key = [0, 1, 2].map(|k| at[k].floor() as i64);
                    *areas.entry(key).or_default() += area * share;
                    let centre = Vec3::from(key.map(|k| k as f64 + 0.5));
                    // Keep the one nearest to the centre of the cube, whatever the numbering.
                    let far = (at - centre).norm_squared();
                    let nearer = |(other, _): &(f64, Proxy)| far < other - 1e-9;
                    if chosen.get(&key).is_none_or(nearer) {
                        chosen.insert(key, (far, proxy));
                    }
                }
            }
        }
        let with_area = |(key, (_, proxy))| {
            let area = areas.get(&key).copied().unwrap_or_default();
            Proxy { area, ..proxy }
        };
        self.store_proxies(chosen.into_iter().map(with_area).collect());
        Ok(())
    }

    /// Stores proxies, sorted by the cell that embeds them.
    fn store_proxies(&mut self, mut proxies: Vec<Proxy>) {
        let cells = self.body.embedding().cells();
        let cell = |proxy: &Proxy| cells[proxy.vertex as usize];
        proxies.sort_by_key(cell);
        let count = self.body.lattice().cells().len();
        self.starts = vec![0; count + 1];
        for proxy in &proxies {
            self.starts[cell(proxy) as usize + 1] += 1;
        }
        for c in 0..count {
            self.starts[c + 1] += self.starts[c];
        }
        self.proxies = proxies;
    }

    /// Returns a copy with a proxy at every vertex of skin that may touch, and the proxies inside large triangles.
    pub(crate) fn with_all_vertices(&self) -> Self {
        let mut all = self.clone();
        let inside = |p: &&Proxy| p.point.weights.iter().all(|&w| w < 1.0);
        let mut proxies: Vec<Proxy> = self.proxies.iter().filter(inside).copied().collect();
        for v in 0..self.rest.len() as u32 {
            let Some(&triangle) = self.vertex_triangles(v).first() else {
                continue;
            };
            let weights = self
                .corners(triangle)
                .map(|c| if c == v { 1.0 } else { 0.0 });
            proxies.push(self.build_proxy(triangle, weights));
        }
        all.store_proxies(proxies);
        all
    }

    fn build_proxy(&self, triangle: u32, weights: [f64; 3]) -> Proxy {
        let point = SkinPoint { triangle, weights };
        Proxy {
            rest: self.rest_point(&point),
            vertex: self.vertex_at(&point),
            area: 0.0,
            point,
        }
    }

    /// Returns the same skin of a body with other functions, on the same surface and lattice.
    pub(crate) fn with_body(&self, body: &Arc<Body>) -> Self {
        Self {
            body: body.clone(),
            ..self.clone()
        }
    }

    /// Returns the body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Returns the size of its cells, metres: about the edge of a cell of median volume.
    pub fn cell_size(&self) -> f64 {
        self.cell
    }

    /// Returns the approximate distance between proxies, metres.
    pub(crate) fn proxy_distance(&self) -> f64 {
        PROXY_SPACING * self.cell
    }

    /// Returns all proxies.
    pub(crate) fn proxies(&self) -> &[Proxy] {
        &self.proxies
    }

    /// Returns the numbers of the proxies that are embedded in a cell.
    pub(crate) fn proxies_in(&self, cell: u32) -> Range<u32> {
        self.starts[cell as usize]..self.starts[cell as usize + 1]
    }

    /// Returns the cell that embeds a proxy.
    pub(crate) fn cell_of(&self, proxy: u32) -> u32 {
        self.body.embedding().cells()[self.proxies[proxy as usize].vertex as usize]
    }

    /// Returns the cells that share a vertex with a cell, itself included, ascending.
    pub(crate) fn neighbours(&self, cell: u32) -> &[u32] {
        self.neighbours.members(cell as usize)
    }

    /// Returns all cells in groups that lie together at rest.
    pub(crate) fn clusters(&self) -> &[Vec<u32>] {
        &self.clusters
    }

    /// Returns the points at which bones hold the flesh from inside.
    pub(super) fn bone_points(&self) -> &[BonePoint] {
        &self.bones
    }

    /// Returns the next bone above `bone` that holds flesh.
    pub(super) fn bone_above(&self, bone: u32) -> Option<u32> {
        self.bones_above[bone as usize]
    }

    /// Returns the number of triangles, skin or not.
    pub(crate) fn triangles(&self) -> usize {
        self.triangles.len()
    }

    /// Returns the corners of a triangle: vertices of the given surface.
    pub(crate) fn corners(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize]
    }

    /// Returns whether a triangle can be touched.
    pub(crate) fn is_skin(&self, triangle: u32) -> bool {
        self.skin[triangle as usize]
    }

    /// Returns all vertices of the given surface at rest, metres.
    pub(crate) fn rest_vertices(&self) -> &[Vec3] {
        &self.rest
    }

    /// Returns the skin triangles around a vertex.
    pub(crate) fn vertex_triangles(&self, vertex: u32) -> &[u32] {
        self.around.members(vertex as usize)
    }

    /// Returns a vertex at rest, metres.
    pub(crate) fn rest_vertex(&self, vertex: u32) -> Vec3 {
        self.rest[vertex as usize]
    }

    /// Returns a point of the skin at rest, metres.
    pub(crate) fn rest_point(&self, point: &SkinPoint) -> Vec3 {
        self.blend(point, &self.rest)
    }

    /// Interpolates values at vertices of the given surface to a point.
    pub(crate) fn blend(&self, point: &SkinPoint, of: &[Vec3]) -> Vec3 {
        let corners = self.corners(point.triangle).into_iter();
        let weighed = corners.zip(point.weights);
        weighed.map(|(v, weight)| of[v as usize] * weight).sum()
    }

    /// Returns the outward normal at rest of the triangle of a point; zero for a degenerate triangle.
    pub(crate) fn rest_normal(&self, point: &SkinPoint) -> Vec3 {
        let [a, b, c] = self.corners(point.triangle).map(|v| self.rest_vertex(v));
        let n = (b - a).cross(&(c - a));
        n.try_normalize(0.0).unwrap_or_else(Vec3::zeros)
    }

    /// Returns the corner of a point's triangle that has the largest weight.
    pub(crate) fn vertex_at(&self, point: &SkinPoint) -> u32 {
        self.corners(point.triangle)[point.heaviest_corner()]
    }

    /// Returns the bound on the sway that a vertex shows.
    pub(crate) fn sway_bound(&self, vertex: u32) -> SwayBound {
        self.bounds
            .as_ref()
            .map_or(SwayBound::UNLIMITED, |bounds| bounds[vertex as usize])
    }

    /// Returns the approximate signed distance of a rest position from the skin, negative inside, metres.
    pub(crate) fn rest_distance(&self, rest: Vec3) -> f64 {
        self.depths.distance_at(rest)
    }

    /// Returns the point of the skin nearest to a rest position; `None` if its triangle cannot be touched.
    pub(crate) fn nearest_point(&self, rest: Vec3) -> Option<SkinPoint> {
        let found = self.body.surface().closest_skin_point(rest)?;
        self.is_skin(found.triangle).then_some(SkinPoint {
            triangle: found.triangle,
            weights: found.barycentric,
        })
    }
}

/// Returns for each cell of a body the cells that share a vertex with it, itself included, ascending.
fn cell_neighbours(body: &Body) -> Groups {
    let cells = body.lattice().cells();
    let corners = (0u32..)
        .zip(cells)
        .flat_map(|(c, cell)| cell.corners().iter().map(move |&v| (v, c)));
    let around_vertex = Groups::new(body.lattice().vertices().len(), corners);
    let (mut links, mut of_cell) = (Vec::new(), Vec::new());
    for (c, cell) in (0u32..).zip(cells) {
        let beside = cell.corners().iter();
        of_cell.extend(beside.flat_map(|&v| around_vertex.members(v as usize)));
        of_cell.sort_unstable();
        of_cell.dedup();
        links.extend(of_cell.drain(..).map(|beside| (c, beside)));
    }
    Groups::new(cells.len(), links.into_iter())
}

/// Groups the cells of a body by the cube, one cell size wide, that holds their centre.
fn cluster_cells(body: &Body, size: f64) -> Vec<Vec<u32>> {
    let lattice = body.lattice();
    let mut cubes: BTreeMap<[i64; 3], Vec<u32>> = BTreeMap::new();
    for c in 0..lattice.cells().len() as u32 {
        let corners = lattice.corners(c);
        let middle = corners.iter().sum::<Vec3>() / corners.len() as f64;
        let cube = [0, 1, 2].map(|k| (middle[k] / size).floor() as i64);
        cubes.entry(cube).or_default().push(c);
    }
    cubes.into_values().collect()
}

/// Returns the approximate edge of a cell of median volume, metres.
fn cell_size(body: &Body) -> f64 {
    let lattice = body.lattice();
    let cells = (0u32..).zip(lattice.cells());
    let volume = |(c, cell): (u32, &crate::lattice::Cell)| cell.volume(&lattice.corners(c)).abs();
    let mut volumes: Vec<f64> = cells.map(volume).collect();
    volumes.sort_by(f64::total_cmp);
    // A tetrahedron of edge a has a volume of about a³/8.
    let middle = volumes.get(volumes.len() / 2).copied().unwrap_or(1.0);
    let tetrahedra = lattice.cells().iter().filter(|c| c.corners().len() == 4);
    let part = if 2 * tetrahedra.count() > lattice.cells().len() {
        8.0
    } else {
        1.0
    };
    (part * middle).cbrt().max(f64::MIN_POSITIVE)
}
