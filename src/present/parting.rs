// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parting of modal flesh: overlaps of the shown surface are found, and displacements that part them are added.

use super::{Instant, ModalPose, OutputSpace, PresentError, Presenter, SurfaceId};
use crate::Vec3;
use crate::contact::{Parting, PartingOffsets};
use crate::kernel::LocalPositions;

impl Presenter {
    /// Returns the displacements that part the body's own surface as shown by modes. `lattice` holds the nodes under the same modes, and
    /// colliders are at an entry of their motions. The result depends on the arguments alone.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn part_surface(
        &self,
        parting: &Parting,
        (posed, max_offset): (ModalPose<'_>, Option<f64>),
        lattice: &LocalPositions,
        entry: usize,
    ) -> Result<PartingOffsets, PresentError> {
        let (own, at) = (SurfaceId::OWN, Instant::Modal(posed, max_offset));
        let origin = self.nearby_point(own, at)?;
        let mut shown = vec![0.0; 3 * self.vertices(own)?];
        // Positions are relative to an origin near the body, so that those far from the world's origin keep their digits.
        self.positions(own, at, &OutputSpace::WORLD.with_origin(origin), &mut shown)?;
        let origin = Vec3::from(origin.map(f64::from));
        let place = |p: &[f32]| Vec3::new(p[0].into(), p[1].into(), p[2].into()) + origin;
        let vertices: Vec<Vec3> = shown.chunks_exact(3).map(place).collect();
        let nodes: Vec<Vec3> = (0..lattice.points.len())
            .map(|v| lattice.world(v))
            .collect();
        Ok(parting.part(posed.1, &nodes, &vertices, entry))
    }
}
