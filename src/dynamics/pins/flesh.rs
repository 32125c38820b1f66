// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh that pins hold, for contact.

use super::system::PinSystem;
use crate::Vec3;
use crate::contact::FlexibleBody;
use nalgebra::DMatrix;

/// Flesh, some of whose points pins may hold.
pub(in crate::dynamics) struct PinnedFlesh<'a, F> {
    pub flesh: F,
    /// `None`: no pins.
    pub pins: Option<&'a mut PinSystem>,
}

impl<F: FlexibleBody> FlexibleBody for PinnedFlesh<'_, F> {
    fn displace(&mut self, forces: &mut [Vec3]) {
        self.flesh.displace(forces);
        if let Some(pins) = &mut self.pins {
            pins.solver.hold(forces);
        }
    }

    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64> {
        let mut columns = self.flesh.columns(nodes);
        if let Some(pins) = &mut self.pins {
            let mut x = vec![Vec3::zeros(); columns.nrows() / 3];
            for mut column in columns.column_iter_mut() {
                for (x, numbers) in x.iter_mut().zip(column.as_slice().chunks_exact(3)) {
                    *x = Vec3::from_column_slice(numbers);
                }
                pins.solver.hold(&mut x);
                for (to, x) in column.iter_mut().zip(x.iter().flat_map(|x| x.iter())) {
                    *to = *x;
                }
            }
        }
        columns
    }
}
