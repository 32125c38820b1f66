// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of a simulation as others see it: with an entry for each of the body's nodes, whichever are active.

use super::Simulation;
use crate::Vec3;
use crate::present::Snapshot;

impl Simulation {
    /// Returns the positions of the lattice's vertices, `[nodes]`, metres.
    pub fn lattice_positions(&self) -> &[Vec3] {
        match &self.adapting {
            Some(adapting) => &adapting.shown().places,
            None => &self.shape.places,
        }
    }

    /// Returns the sway of the lattice's vertices, `[nodes]`, metres, world axes: the displacement from the balance without loads
    /// in which the bones alone hold the flesh. `None` if it is not computed: always with the modal method, and with `elastic_joints`
    /// 1 for all methods but the hyperelastic and the blended one.
    pub fn sway(&self) -> Option<&[Vec3]> {
        let sway = match &self.adapting {
            Some(adapting) => &adapting.shown().sway,
            None => &self.shape.sway,
        };
        (!sway.is_empty()).then_some(sway)
    }

    /// Returns the folds at the lattice's vertices, `[nodes]`, 0 to 1: larger where the skin carried by the bones alone intersects
    /// itself, so that more of the joints' elastic shape is shown there. Empty without contact, or if all of that shape is shown.
    pub fn folds(&self) -> &[f64] {
        match &self.adapting {
            Some(adapting) => &adapting.shown().folds,
            None => &self.shape.folds,
        }
    }

    /// Returns the displacements that restore the volume of bent joints where they are shown, `[nodes]`, metres, world axes.
    /// Empty with methods other than the hyperelastic one, or with `elastic_joints` 0.
    pub fn joint_volume(&self) -> &[Vec3] {
        match &self.adapting {
            Some(adapting) => &adapting.shown().joints,
            None => &self.shape.joints,
        }
    }

    /// Returns the velocities of the lattice's vertices, `[nodes]`, m/s.
    pub fn lattice_velocities(&self) -> &[Vec3] {
        match &self.adapting {
            Some(adapting) => &adapting.shown().velocities,
            None => &self.nodes.velocities,
        }
    }

    /// Returns a snapshot for display: the lattice and its presentation at the current pose. A modal simulation is shown from its
    /// amplitudes instead.
    pub fn snapshot(&self) -> Snapshot {
        let (positions, sway) = (self.lattice_positions(), self.sway());
        let showing = self.settings.display_settings();
        Snapshot::new(self.body(), positions, sway, self.pose(), showing)
            .with_folds(self.folds())
            .with_joints(self.joint_volume())
    }

    /// Returns the positions to which the bones alone carry the lattice's vertices, `[nodes]`, metres.
    pub fn carried_positions(&self) -> &[Vec3] {
        match &self.adapting {
            Some(adapting) => &adapting.shown().carried,
            None => &self.now.places,
        }
    }

    /// Returns the number of cells that are inverted at present.
    pub fn inverted_cells(&self) -> usize {
        self.body.inverted_cell_count(&self.shape.places)
    }
}
