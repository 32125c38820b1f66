// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signed distances at the nodes of a grid, from coarse to fine.
//!
//! Nodes are computed from coarse to fine. A cell whose corners are all farther from the boundary than one
//! and a half of its edges is filled by interpolation. All others are split and their nodes computed. The
//! value is therefore exact at nodes near the boundary (within three spacings) and good to about 15 % far
//! from it. The sign is that of Ω everywhere.
use super::domain::Domain;
use crate::Vec3;
use crate::progress::{Cancelled, Progress, report_progress};
use rayon::prelude::*;

/// Edge of the coarsest cells, in spacings; the grid's size is a multiple of it along every axis.
const COARSEST_EDGE: usize = 8;
/// Distance of a corner from the boundary, in multiples of the cell's edge, below which the cell is split.
const SPLIT_DISTANCE: f64 = 1.5;
/// Largest number of nodes; a spacing that needs more is coarsened.
const MAX_NODES: f64 = 3.0e7;

/// Signed distances at grid nodes, local units, x fastest.
pub(super) struct NodeDistances {
    pub lo: Vec3,
    pub spacing: f64,
    pub nodes: [usize; 3],
    pub values: Vec<f32>,
}

impl NodeDistances {
    /// Samples a box, enlarged to whole coarsest cells.
    pub fn sample(
        domain: &Domain,
        lo: Vec3,
        hi: Vec3,
        spacing: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let extent = (hi - lo).sup(&Vec3::repeat(1e-9));
        let wanted = if spacing.is_finite() && spacing > 0.0 {
            spacing
        } else {
            extent.norm() * 0.01
        };
        let spacing = limit_spacing(wanted, &extent);
        let cells = [0, 1, 2].map(|k| {
            ((extent[k] / spacing).ceil().max(1.0) as usize).next_multiple_of(COARSEST_EDGE)
        });
        let nodes = cells.map(|n| n + 1);
        // Both ends share the excess of rounding up.
        let added = Vec3::from_fn(|k, _| cells[k] as f64 * spacing) - extent;
        let mut samples = Self {
            lo: lo - added * 0.5,
            spacing,
            nodes,
            values: vec![0.0; nodes[0] * nodes[1] * nodes[2]],
        };
        let mut edge = COARSEST_EDGE;
        samples.fill(edge, domain, None, progress)?;
        while edge > 1 {
            let near = samples.find_near_cells(edge);
            edge /= 2;
            samples.fill(edge, domain, Some(&near), progress)?;
        }
        report_progress(progress, 1.0, "measuring distances")?;
        Ok(samples)
    }

    fn point(&self, at: [usize; 3]) -> Vec3 {
        self.lo + Vec3::from_fn(|k, _| at[k] as f64) * self.spacing
    }

    fn index(&self, at: [usize; 3]) -> usize {
        (at[2] * self.nodes[1] + at[1]) * self.nodes[0] + at[0]
    }

    /// Finds the cells of edge `edge` that may hold the boundary or lie close to it.
    fn find_near_cells(&self, edge: usize) -> LevelCells {
        let count = self.nodes.map(|n| (n - 1) / edge);
        let reach = (SPLIT_DISTANCE * edge as f64 * self.spacing) as f32;
        let near = (0..count[0] * count[1] * count[2])
            .into_par_iter()
            .with_min_len(1024)
            .map(|c| {
                let cell = [
                    c % count[0],
                    c / count[0] % count[1],
                    c / (count[0] * count[1]),
                ];
                let value = |corner: usize| {
                    self.values[self.index([0, 1, 2].map(|k| (cell[k] + (corner >> k & 1)) * edge))]
                };
                let positive = value(0) > 0.0;
                (0..8)
                    .any(|corner| value(corner).abs() < reach || (value(corner) > 0.0) != positive)
            })
            .collect();
        LevelCells { edge, count, near }
    }

    /// Computes the nodes that are multiples of `edge` but not of the parent cells' edge.
    fn fill(
        &mut self,
        edge: usize,
        domain: &Domain,
        parents: Option<&LevelCells>,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let layers: Vec<usize> = (0..self.nodes[2]).step_by(edge).collect();
        let share = 1.0 / (edge * edge) as f64;
        for (done, group) in layers.chunks(8).enumerate() {
            let within = (done * 8) as f64 / layers.len() as f64;
            report_progress(
                progress,
                share * (0.25 + 0.75 * within),
                "measuring distances",
            )?;
            let found: Vec<Vec<(usize, f32)>> = group
                .par_iter()
                .flat_map_iter(|&k| (0..self.nodes[1]).step_by(edge).map(move |j| (j, k)))
                .map(|(j, k)| self.compute_row(j, k, edge, domain, parents))
                .collect();
            for (at, value) in found.into_iter().flatten() {
                self.values[at] = value;
            }
        }
        Ok(())
    }

    /// Computes the new values of one row of nodes.
    fn compute_row(
        &self,
        j: usize,
        k: usize,
        edge: usize,
        domain: &Domain,
        parents: Option<&LevelCells>,
    ) -> Vec<(usize, f32)> {
        let rows = (0..self.nodes[0]).step_by(edge).map(|i| [i, j, k]);
        let Some(parents) = parents else {
            return rows
                .map(|at| {
                    (
                        self.index(at),
                        domain.signed_distance(&self.point(at)) as f32,
                    )
                })
                .collect();
        };
        rows.filter(|at| at.iter().any(|x| x % parents.edge != 0))
            .map(|at| {
                let value = if parents.is_near_node(at) {
                    let from = at.map(|x| x / parents.edge * parents.edge);
                    let known = self.values[self.index(from)] as f64;
                    distance_from(domain, &self.point(at), &self.point(from), known) as f32
                } else {
                    self.interpolate(at, edge, parents.edge)
                };
                (self.index(at), value)
            })
            .collect()
    }

    /// Returns the mean of the parent cell's corners around a node at the centre of its edge, face or inside.
    fn interpolate(&self, at: [usize; 3], edge: usize, parent: usize) -> f32 {
        let shift = at.map(|x| if x % parent == 0 { 0 } else { edge });
        let mut sum = 0.0;
        for corner in 0..8 {
            let end = [0, 1, 2].map(|k| {
                if corner >> k & 1 == 1 {
                    at[k] + shift[k]
                } else {
                    at[k] - shift[k]
                }
            });
            sum += self.values[self.index(end)];
        }
        sum / 8.0
    }
}

/// Cells of one level, each marked if near the boundary.
struct LevelCells {
    edge: usize,
    count: [usize; 3],
    near: Vec<bool>,
}

impl LevelCells {
    /// Returns whether any cell that a node belongs to is near.
    fn is_near_node(&self, at: [usize; 3]) -> bool {
        let range = |k: usize| {
            let cell = at[k] / self.edge;
            let low = if at[k].is_multiple_of(self.edge) {
                cell.saturating_sub(1)
            } else {
                cell
            };
            low..=cell.min(self.count[k] - 1)
        };
        range(2).any(|z| {
            range(1)
                .any(|y| range(0).any(|x| self.near[(z * self.count[1] + y) * self.count[0] + x]))
        })
    }
}

/// Computes the signed distance at `x` with the help of the (perhaps interpolated) value `known` at `from`. That
/// value bounds the search. If the surface is watertight, a ball that the boundary does not enter has one sign.
fn distance_from(domain: &Domain, x: &Vec3, from: &Vec3, known: f64) -> f64 {
    let (Some(skin), None, true) = (&domain.skin, &domain.thin, domain.watertight) else {
        return domain.signed_distance(x);
    };
    let apart = (x - from).norm();
    let reach = 1.25 * known.abs() + 1.01 * apart;
    let Some(found) = skin
        .closest(x, reach)
        .or_else(|| skin.closest(x, f64::INFINITY))
    else {
        return domain.signed_distance(x);
    };
    let one_ball = found.distance > 1.001 * apart || 0.8 * known.abs() > apart;
    let inside = if one_ball {
        known < 0.0
    } else {
        domain.is_wound(x)
    };
    if inside {
        -found.distance
    } else {
        found.distance
    }
}

/// Returns the spacing, coarsened to the largest allowed number of nodes.
fn limit_spacing(spacing: f64, extent: &Vec3) -> f64 {
    let count = |h: f64| {
        extent
            .map(|e| (e / h).ceil() + COARSEST_EDGE as f64)
            .product()
    };
    let mut spacing = spacing;
    while count(spacing) > MAX_NODES {
        spacing *= 1.1;
    }
    spacing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spacing that needs too many nodes is coarsened, and others are kept.
    #[test]
    fn limit_spacing_coarsens_fine_spacing() {
        let extent = Vec3::repeat(1.0);
        let coarsened = limit_spacing(1e-9, &extent);
        assert!(
            (1.0 / coarsened).powi(3) < MAX_NODES && (1.0 / coarsened).powi(3) > 0.5 * MAX_NODES
        );
        assert_eq!(limit_spacing(0.1, &extent), 0.1);
    }
}
