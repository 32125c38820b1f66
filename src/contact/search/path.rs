// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motion of a body within a frame: lattice vertices, proxies, and boxes around both.

use crate::Vec3;
use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::search::boxes::Bounds;
use crate::contact::skin::{ContactSkin, Proxy};
use crate::geometry::aabb;
use crate::lattice::Cell;
use rayon::prelude::*;

/// Margin of the boxes around cells, in cells of the body. With half and twice the value a limb on a floor stays the same, and a folding elbow to
/// within 0.2 % of the size.
pub(crate) const BOX_MARGIN: f64 = 0.1;
/// Least number of points per task.
const MIN_TASK_POINTS: usize = 256;

/// A body over the swept time.
pub(crate) struct SweptBody<'a> {
    pub from: PosedFlesh<'a>,
    /// Expected lattice and skin at the end; `None`: the body stands still.
    pub to: Option<PosedFlesh<'a>>,
    /// `true`: the body may touch itself.
    pub itself: bool,
}

impl<'a> SweptBody<'a> {
    /// Returns the body at the end.
    pub fn end(&self) -> &PosedFlesh<'a> {
        self.to.as_ref().unwrap_or(&self.from)
    }
}

/// A body at both ends of a frame, less the mean motion of all flesh.
pub(in crate::contact) struct BodyPath {
    /// Number of ends of the frame: 1 where all stands still.
    pub ends: usize,
    pub nodes: Vec<[Vec3; 2]>,
    /// Displayed position of each proxy, metres.
    pub points: Vec<[Vec3; 2]>,
    /// Boxes around each cell, slightly enlarged, and around its proxies.
    pub cells: Vec<Bounds>,
    pub skins: Vec<Bounds>,
}

impl BodyPath {
    pub fn new(body: &SweptBody, drift: Vec3, ends: usize) -> Self {
        let (from, to, skin) = (&body.from, body.end(), body.from.skin);
        let nodes = (0..from.base.len()).map(|a| [from.node(a), to.node(a) - drift]);
        let nodes: Vec<[Vec3; 2]> = nodes.collect();
        let shown = |proxy: &Proxy| match ends {
            1 => [from.point(&proxy.point); 2],
            _ => [from.point(&proxy.point), to.point(&proxy.point) - drift],
        };
        let points = skin
            .proxies()
            .par_iter()
            .with_min_len(MIN_TASK_POINTS)
            .map(shown);
        let points: Vec<[Vec3; 2]> = points.collect();
        let lattice = skin.body().lattice().cells();
        let around = |cell: &Cell| {
            let corners = cell.corners().iter();
            cell_bounds(skin, corners.flat_map(|&a| &nodes[a as usize]))
        };
        let cells = lattice.iter().map(around).collect();
        let skins = (0..lattice.len() as u32).map(|c| {
            let own = skin.proxies_in(c);
            aabb::bounds(
                points[own.start as usize..own.end as usize]
                    .iter()
                    .flatten(),
            )
        });
        Self {
            ends,
            skins: skins.collect(),
            cells,
            points,
            nodes,
        }
    }
}

/// Returns the slightly enlarged box around corners of a cell.
pub(in crate::contact) fn cell_bounds<'a>(
    body: &ContactSkin,
    corners: impl IntoIterator<Item = &'a Vec3>,
) -> Bounds {
    let (lo, hi) = aabb::bounds(corners);
    let wider = Vec3::repeat(BOX_MARGIN * body.cell_size());
    (lo - wider, hi + wider)
}
