// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices of a motion at any times.

use super::motion::Spacetime;
use super::rigid::Place;
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
        self.write(&self.coordinates_at(times), times, out);
    }

    /// Returns the positions of cubic splines through the same keyframes with the same prescribed velocities, for comparison.
    pub fn plain(&self, times: &[f64]) -> Vec<f32> {
        let mut out = vec![0.0; 3 * self.node_count() * times.len()];
        self.plain_into(times, &mut out);
        out
    }

    /// Writes the positions of [`plain`](Self::plain) into `out[times · n · 3]`.
    pub fn plain_into(&self, times: &[f64], out: &mut [f32]) {
        self.write(&self.plain_coordinates_at(times), times, out);
    }

    fn write(&self, coordinates: &Mat<f64>, times: &[f64], out: &mut [f32]) {
        let places = self.rigid().map(|path| {
            let at = |&t: &f64| path.at(self.shown_time(t));
            (times.iter().map(at).collect::<Vec<Place>>(), path.pivot)
        });
        let places = places.as_ref().map(|(all, pivot)| (all.as_slice(), *pivot));
        self.shown.write(coordinates, places, out);
    }
}
