// SPDX-License-Identifier: MIT OR Apache-2.0
//! The regions of blended local linearisation as printed, for comparison. [capell2002, §4.5, eq. 22]
//!
//! A region's cells are those all of whose nodes have a weight for its bone, and its stiffness is that of these cells alone. It
//! does not turn (lines 2 and 5). As a region does not feel the flesh beyond its border, the shape is wrong to first order in the bend.
//! As its stiffness does not turn, flesh on a turned bone answers a load as if it were not turned.
//!
//! Cells without a region go to the region with the largest weight in them, or their nodes would fly off. Rows of M and Mt stay whole.

use super::regions::Region;
use crate::Mat3;
use crate::body::Body;
use crate::solve::{BlockMatrix, NodeMatrix, SolveError};
use std::sync::Arc;

/// Returns the regions for the `weights[bones][nodes]`.
pub(super) fn regions(body: &Body, weights: &[Vec<f64>]) -> Result<Vec<Region>, SolveError> {
    let mut regions = Vec::new();
    for (bone, cells) in region_cells(body, weights).iter().enumerate() {
        let mut inside: Vec<bool> = weights[bone].iter().map(|&w| w > 0.0).collect();
        for &c in cells {
            let nodes = body.blocks().cell(c).nodes;
            nodes.iter().for_each(|&v| inside[v as usize] = true);
        }
        let stiffness = Arc::new(cut_stiffness(body, cells));
        let region = Region::new(body, (bone, false), &weights[bone], &inside, &stiffness)?;
        regions.extend(region);
    }
    Ok(regions)
}

/// Returns the cells of each bone's region.
fn region_cells(body: &Body, weights: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut cells = vec![Vec::new(); weights.len()];
    for (cell, nodes) in body.basis().all_functions().enumerate() {
        let is_whole = |&b: &usize| nodes.iter().all(|&v| weights[b][v as usize] > 0.0);
        let mut owners: Vec<usize> = (0..weights.len()).filter(is_whole).collect();
        if owners.is_empty() {
            let share = |b: usize| nodes.iter().map(|&v| weights[b][v as usize]).sum::<f64>();
            let best = (0..weights.len()).max_by(|&a, &b| share(a).total_cmp(&share(b)));
            owners.extend(best);
        }
        owners.into_iter().for_each(|b| cells[b].push(cell));
    }
    cells
}

/// Returns the stiffness of some cells at rest, with the sparsity of the mass.
fn cut_stiffness(body: &Body, cells: &[usize]) -> BlockMatrix {
    let mut stiffness = body.mass_matrix().map(|_| Mat3::zeros());
    for &c in cells {
        let cell = body.blocks().cell(c);
        let mut blocks = cell.stiffness.iter();
        for (i, &a) in cell.nodes.iter().enumerate() {
            for (&b, block) in cell.nodes[i..].iter().zip(&mut blocks) {
                stiffness.add_pair(a, b, block);
            }
        }
    }
    stiffness
}
