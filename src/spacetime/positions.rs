// SPDX-License-Identifier: MIT OR Apache-2.0
//! Positions of a motion's vertices at any times.

use super::motion::Spacetime;
use super::rigid::RigidPlacement;
use faer::Mat;

impl Spacetime {
    /// Returns the positions at times, frame by frame: `[times][n][3]`. Beyond the ends the end keyframes apply; cycles repeat.
    pub fn positions(&self, times: &[f64]) -> Vec<f32> {
        let mut out = vec![0.0; 3 * self.node_count() * times.len()];
        self.positions_into(times, &mut out);
        out
    }

    /// Writes the positions of [`positions`](Self::positions) into `out[times · n · 3]`.
    pub fn positions_into(&self, times: &[f64], out: &mut [f32]) {
        self.write_positions(&self.coordinates_at(times), times, out);
    }

    /// Returns the positions of cubic splines through the same keyframes with the same prescribed velocities, for comparison.
    pub fn cubic_positions(&self, times: &[f64]) -> Vec<f32> {
        let mut out = vec![0.0; 3 * self.node_count() * times.len()];
        self.cubic_positions_into(times, &mut out);
        out
    }

    /// Writes the positions of [`cubic_positions`](Self::cubic_positions) into `out[times · n · 3]`.
    pub fn cubic_positions_into(&self, times: &[f64], out: &mut [f32]) {
        self.write_positions(&self.cubic_coordinates_at(times), times, out);
    }

    fn write_positions(&self, coordinates: &Mat<f64>, times: &[f64], out: &mut [f32]) {
        let places = self.rigid_motion_path().map(|path| {
            let at = |&t: &f64| path.placement_at(self.wrap_time(t));
            (
                times.iter().map(at).collect::<Vec<RigidPlacement>>(),
                path.pivot,
            )
        });
        let places = places.as_ref().map(|(all, pivot)| (all.as_slice(), *pivot));
        self.shown.write_frames(coordinates, places, out);
    }
}
