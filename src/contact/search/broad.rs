// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for points that may come into cells within a frame.
//!
//! Boxes are swept over the frame, from the flesh at the start to where its bones carry it by the end, and slightly enlarged. The mean motion of all
//! flesh is subtracted. Cells that share a vertex are not paired, nor are cells that lie beside each other as at rest. Points that stay beyond one
//! side of a cell at both ends of the frame do not come into it.

use crate::contact::search::boxes::{NumberedBoxes, boxes_meet, enclosing_box};
use crate::contact::search::path::{BodyPath, SweptBody};
use crate::contact::search::warped_cells::{WarpedLattice, origin_and_edges};
use crate::contact::skin::ContactSkin;
use crate::geometry::aabb;
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Largest displacement of a cell from rest, in the axes of another cell, at which it still lies beside that one as at rest, in cells: half of the
/// distance from its own position at which a point can touch.
pub(in crate::contact) const MAX_REST_DISPLACEMENT: f64 = 0.25;

/// A point of one body that may come into a cell of another body or of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ContactCandidate {
    /// Index of the body, and number of the proxy on its skin.
    pub body: u32,
    pub proxy: u32,
    /// Index of the other body, and of its cell.
    pub other: u32,
    pub cell: u32,
}

/// Candidates within a frame.
#[derive(Default)]
pub(crate) struct FrameCandidates {
    /// Sorted candidates.
    pub candidates: Vec<ContactCandidate>,
    /// Displacements with which each lattice carries the displayed skin at the start of the frame, `[nodes]`, metres: valid where candidates may come
    /// into its cells.
    pub warps: Vec<Vec<Vec3>>,
}

/// Number of clusters, and largest number of pairs of cells, per task. Results do not depend on the number of threads.
const CLUSTERS_PER_TASK: usize = 12;
const MAX_TASK_PAIRS: usize = 128;

/// Finds all candidates.
pub(crate) fn find_candidates(bodies: &[SweptBody]) -> FrameCandidates {
    if let [body] = bodies
        && !body.itself
    {
        return FrameCandidates {
            candidates: Vec::new(),
            warps: vec![Vec::new()],
        };
    }
    let drift = mean_drift(bodies);
    let ends = if bodies.iter().all(|b| b.to.is_none()) {
        1
    } else {
        2
    };
    let paths: Vec<BodyPath> = bodies
        .iter()
        .map(|b| BodyPath::new(b, drift, ends))
        .collect();
    let near = find_near_cells(bodies, &paths);
    let mut reached: Vec<Vec<bool>> = paths.iter().map(|p| vec![false; p.cells.len()]).collect();
    for NearCells { body, other, pairs } in &near {
        for &(cell, into) in pairs {
            reached[*body][cell as usize] = true;
            reached[*other][into as usize] = true;
        }
    }
    let numbers = |reached: &Vec<bool>| -> Vec<u32> {
        let numbers = (0u32..).zip(reached).filter(|(_, reached)| **reached);
        numbers.map(|(cell, _)| cell).collect()
    };
    let cells: Vec<Vec<u32>> = reached.iter().map(numbers).collect();
    let warped = bodies.iter().zip(&paths).zip(&cells);
    let warped: Vec<WarpedLattice> = warped
        .map(|((b, p), c)| WarpedLattice::new(b, p, c))
        .collect();
    let found: Vec<Vec<ContactCandidate>> = near
        .par_iter()
        .flat_map(|near| {
            near.pairs
                .par_chunks(MAX_TASK_PAIRS)
                .map(move |pairs| (near, pairs))
        })
        .map(|(near, pairs)| near.candidates(pairs, bodies, &paths, &warped))
        .collect();
    let mut candidates = Vec::with_capacity(found.iter().map(Vec::len).sum());
    candidates.extend(found.into_iter().flatten());
    candidates.sort_unstable();
    FrameCandidates {
        candidates,
        warps: warped.into_iter().map(|w| w.warps).collect(),
    }
}

/// Finds the pairs of cells of which one has points whose boxes meet the other, except neighbours and cells that lie beside each other as at rest.
/// Boxes of clusters of cells are compared first.
fn find_near_cells(bodies: &[SweptBody], paths: &[BodyPath]) -> Vec<NearCells> {
    let trees = bodies.iter().zip(paths).map(|(body, path)| {
        let clusters = body.from.skin.clusters().iter();
        let clusters =
            clusters.map(|all| enclosing_box(all.iter().map(|&c| &path.cells[c as usize])));
        aabb::hierarchy(clusters)
    });
    let trees: Vec<Bvh> = trees.collect();
    let mut near = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let (skin, path) = (body.from.skin, &paths[i]);
        let moved = body.itself.then(|| RelativeMotion::new(skin, path));
        for (j, other) in bodies.iter().enumerate() {
            if i == j && !body.itself {
                continue;
            }
            let pair = BodyPair {
                numbers: (i, j),
                skins: (skin, other.from.skin),
                paths: (path, &paths[j]),
                tree: &trees[j],
                moved: moved.as_ref().filter(|_| i == j),
            };
            let tasks = skin.clusters().par_chunks(CLUSTERS_PER_TASK);
            let found = tasks.map(|clusters| NearCells {
                body: i,
                other: j,
                pairs: pair.near_cells(clusters),
            });
            near.par_extend(found);
        }
    }
    near
}

/// Cells with points of one body near cells of another, or of its own, as one task finds them. Of a body at rest their points are millions.
struct NearCells {
    body: usize,
    other: usize,
    pairs: Vec<(u32, u32)>,
}

impl NearCells {
    /// Returns the points of pairs of cells that may come into the other cell.
    fn candidates(
        &self,
        pairs: &[(u32, u32)],
        bodies: &[SweptBody],
        paths: &[BodyPath],
        warped: &[WarpedLattice],
    ) -> Vec<ContactCandidate> {
        let (path, into_path) = (&paths[self.body], &paths[self.other]);
        let (warped, into_warped) = (&warped[self.body], &warped[self.other]);
        let skin = bodies[self.body].from.skin;
        let lattice = skin.body().lattice().cells();
        let mut found = Vec::new();
        for &(cell, into) in pairs {
            let around = &into_path.cells[into as usize];
            // The whole cell that embeds the points is tested at most once.
            let mut cell_parted = None;
            let mut is_cell_parted = || {
                let corners = lattice[cell as usize].corners().iter();
                let corners = corners.map(|&a| &warped.nodes[a as usize]);
                into_warped.are_beyond_face(into, corners)
            };
            for proxy in skin.proxies_in(cell) {
                let point = &path.points[proxy as usize];
                if !boxes_meet(around, &aabb::bounds(*point))
                    || into_warped.are_beyond_face(into, std::iter::once(point))
                {
                    continue;
                }
                if *cell_parted.get_or_insert_with(&mut is_cell_parted) {
                    break;
                }
                found.push(ContactCandidate {
                    body: self.body as u32,
                    proxy,
                    other: self.other as u32,
                    cell: into,
                });
            }
        }
        found
    }
}

/// Points of one body and cells of another, or of its own.
struct BodyPair<'a> {
    numbers: (usize, usize),
    skins: (&'a ContactSkin, &'a ContactSkin),
    paths: (&'a BodyPath, &'a BodyPath),
    /// Clusters of the other's cells.
    tree: &'a Bvh,
    /// Relative positions of the cells, if they are of one body.
    moved: Option<&'a RelativeMotion<'a>>,
}

impl BodyPair<'_> {
    /// Finds the cells of some clusters with points whose boxes meet the other's cells, each with that cell.
    fn near_cells(&self, clusters: &[Vec<u32>]) -> Vec<(u32, u32)> {
        let ((body, other), (path, into_path)) = (self.numbers, self.paths);
        let skin = self.skins.0;
        let mut found = Vec::new();
        let mut neighbour_of = vec![u32::MAX; path.cells.len()];
        let (mut close, mut points) = (NumberedBoxes::default(), Vec::new());
        for cluster in clusters {
            let with_points = cluster.iter().filter(|&&c| !skin.proxies_in(c).is_empty());
            let cells: Vec<u32> = with_points.copied().collect();
            self.set_close(&cells, &mut close);
            for cell in cells {
                if body == other {
                    for &c in skin.neighbours(cell) {
                        neighbour_of[c as usize] = cell;
                    }
                }
                let own = &path.cells[cell as usize];
                points.clear();
                let proxies = skin.proxies_in(cell);
                points.extend(proxies.map(|proxy| aabb::bounds(path.points[proxy as usize])));
                let near = close
                    .find_meeting(&path.skins[cell as usize])
                    .filter(|&into| {
                        let around = &into_path.cells[into as usize];
                        (body != other || neighbour_of[into as usize] != cell)
                            && boxes_meet(own, around)
                            && points.iter().any(|point| boxes_meet(around, point))
                            && self.moved.is_none_or(|m| m.differs_from_rest(cell, into))
                    });
                found.extend(near.map(|into| (cell, into)));
            }
        }
        found
    }

    /// Collects in `close` the other's cells whose boxes meet the skin in some cells of a cluster.
    fn set_close(&self, cells: &[u32], close: &mut NumberedBoxes) {
        close.clear();
        if cells.is_empty() {
            return;
        }
        let around = enclosing_box(cells.iter().map(|&c| &self.paths.0.skins[c as usize]));
        let bounds = aabb::to_parry(&around.0, &around.1);
        let near = self.tree.intersect_aabb(&bounds);
        for &c in near.flat_map(|c| &self.skins.1.clusters()[c as usize]) {
            let bounds = &self.paths.1.cells[c as usize];
            if boxes_meet(bounds, &around) {
                close.push(bounds, c);
            }
        }
    }
}

/// Affine map that carries the surroundings of a cell back to rest: posed origin, matrix, rest origin; `None` for a flat cell.
type RestMap = Option<(Vec3, Mat3, Vec3)>;

/// Relative positions of cells of one body at both ends of a frame, compared with those at rest. A cell does not come into another beside which it
/// lies as at rest.
struct RelativeMotion<'a> {
    body: &'a ContactSkin,
    path: &'a BodyPath,
    still: f64,
    backs: Vec<OnceLock<[RestMap; 2]>>,
}

impl<'a> RelativeMotion<'a> {
    fn new(body: &'a ContactSkin, path: &'a BodyPath) -> Self {
        Self {
            still: (MAX_REST_DISPLACEMENT * body.cell_size()).powi(2),
            backs: vec![OnceLock::new(); path.cells.len()],
            path,
            body,
        }
    }

    fn rest_maps(&self, into: u32) -> [RestMap; 2] {
        let lattice = self.body.body().lattice();
        let corners = lattice.cells()[into as usize].corners();
        let (at, shape) = origin_and_edges(corners, |a| lattice.vertices()[a]);
        [0, 1].map(|end| {
            if end >= self.path.ends {
                return None;
            }
            let (origin, now) = origin_and_edges(corners, |a| self.path.nodes[a][end]);
            Some((origin, shape * now.try_inverse()?, at))
        })
    }

    /// Returns whether the position of a cell relative to another differs from rest at an end of the frame.
    fn differs_from_rest(&self, cell: u32, into: u32) -> bool {
        let lattice = self.body.body().lattice();
        let corners = lattice.cells()[cell as usize].corners();
        let backs = self.backs[into as usize].get_or_init(|| self.rest_maps(into));
        (0..self.path.ends).any(|end| {
            let Some((origin, map, at)) = &backs[end] else {
                return true;
            };
            corners.iter().any(|&a| {
                let a = a as usize;
                let moved = at + map * (self.path.nodes[a][end] - origin) - lattice.vertices()[a];
                moved.norm_squared() > self.still
            })
        })
    }
}

/// Returns the mean displacement of all lattice vertices in the frame, metres.
fn mean_drift(bodies: &[SweptBody]) -> Vec3 {
    let (mut sum, mut count) = (Vec3::zeros(), 0);
    for body in bodies {
        for a in 0..body.from.base.len() {
            sum += body.end().node(a) - body.from.node(a);
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::ShapedBar;
    use nalgebra::Rotation3;

    fn rotate_and_shift(x: &Vec3) -> Vec3 {
        Rotation3::from_euler_angles(0.4, -1.1, 0.7) * x + Vec3::new(2.0, -1.0, 0.5)
    }

    /// The drift is the mean motion of all bodies, so bodies that move together drift by that motion.
    #[test]
    fn mean_drift_equals_common_motion() {
        let shift = Vec3::new(0.3, -0.2, 0.9);
        let [from, to] = [Vec3::zeros(), shift].map(|by| ShapedBar::new(|x| x + by, 0.0));
        let swept = || SweptBody {
            from: from.posed_flesh(),
            to: Some(to.posed_flesh()),
            itself: true,
        };
        let still = || SweptBody {
            to: None,
            ..swept()
        };
        assert!((mean_drift(&[swept()]) - shift).norm() < 1e-12);
        assert!((mean_drift(&[swept(), swept()]) - shift).norm() < 1e-12);
        assert!((mean_drift(&[swept(), still()]) - shift / 2.0).norm() < 1e-12);
        assert_eq!(mean_drift(&[still()]), Vec3::zeros());
    }

    /// Pairs of cells that lie beside each other as at rest do not count as moved, wherever the body moves; pairs of
    /// a bent body do.
    #[test]
    fn differs_from_rest_ignores_rigid_motion() {
        let rolled = |x: &Vec3| {
            let angle = 3.0 * x.z;
            Vec3::new((0.3 + x.x) * angle.cos(), x.y, (0.3 + x.x) * angle.sin())
        };
        let (rest, away) = (
            ShapedBar::new(|x| *x, 0.0),
            ShapedBar::new(rotate_and_shift, 0.0),
        );
        let bent = ShapedBar::new(rolled, 0.0);
        let count = rest.skin.body().lattice().cells().len() as u32;
        for (from, to, wanted) in [(&rest, &away, false), (&rest, &bent, true)] {
            let body = SweptBody {
                from: from.posed_flesh(),
                to: Some(to.posed_flesh()),
                itself: true,
            };
            let path = BodyPath::new(&body, Vec3::zeros(), 2);
            let moved = RelativeMotion::new(&from.skin, &path);
            // A cell at one end of the bar beside one at the other end, and a cell beside itself.
            for (cell, into) in [(0, count - 1), (count - 1, 0), (count / 2, 0)] {
                assert_eq!(moved.differs_from_rest(cell, into), wanted, "{cell} {into}");
            }
            assert!(!moved.differs_from_rest(3, 3) || wanted);
        }
    }
}
