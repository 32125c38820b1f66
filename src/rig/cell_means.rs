// SPDX-License-Identifier: MIT OR Apache-2.0
//! Means over the flesh of cells.

use crate::body::Body;

/// Returns the mean over the flesh of each cell of a share that is given at points, `[cells]`, each with the number of its element, its volume
/// in m³ and the share there; it is zero elsewhere. `None` without points.
pub(super) fn mean_over_cells(
    body: &Body,
    points: impl Iterator<Item = (u32, f64, f64)>,
) -> Option<Vec<f64>> {
    let mut sums = vec![0.0; body.blocks().len()];
    let mut any = false;
    for (element, volume, share) in points {
        any = true;
        sums[element as usize] += volume * share;
    }
    let volumes = body.blocks().volumes();
    let mean = |cell: u32| {
        let elements = body.basis().elements(cell);
        let elements = elements.start as usize..elements.end as usize;
        let sum: f64 = sums[elements.clone()].iter().sum();
        let volume: f64 = volumes[elements].iter().sum();
        // Points of a thin cut of a cell may have more volume than its integrals.
        if volume > 0.0 {
            (sum / volume).clamp(-1.0, 1.0)
        } else {
            0.0
        }
    };
    any.then(|| (0..body.lattice().cells().len() as u32).map(mean).collect())
}
