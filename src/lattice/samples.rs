// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of flesh with outward normals, in f32, which decide the ownership of flesh at a point.

use crate::Vec3;
use crate::range;
use crate::surface::{Heading, OwnUnit};
use std::ops::Range;

/// Cosine to the normal up to which a point in front of skin still counts as behind it (skin is curved).
const MAX_BEHIND_COSINE: f64 = 0.3;

/// Sample points, with unit normals on skin.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Samples {
    /// Positions relative to `origin`, in units of `scale`.
    positions: Vec<[f32; 3]>,
    origin: [f64; 3],
    scale: f64,
    /// Outward unit normals, in 127ths; zero for points inside.
    normals: Vec<[i8; 3]>,
}

impl Samples {
    /// Stores positions near `origin`, each with its outward unit normal or zero.
    pub fn new(origin: Vec3, samples: impl Iterator<Item = (Vec3, Vec3)>) -> Self {
        let rounded = |(position, normal): (Vec3, Vec3)| -> ([f32; 3], [i8; 3]) {
            let position = (position - origin).map(|x| x as f32);
            (
                position.into(),
                normal.map(|x| (x * 127.0).round() as i8).into(),
            )
        };
        let (positions, normals) = samples.map(rounded).unzip();
        Self {
            positions,
            origin: origin.into(),
            scale: 1.0,
            normals,
        }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Converts samples found in a character's own unit to the units of the input.
    pub fn into_input_unit(mut self, unit: OwnUnit) -> Self {
        self.origin = unit.to_given(&Vec3::from(self.origin)).into();
        if unit.heading != Heading::ALIGNED {
            let turned = |v: [f64; 3]| unit.heading.to_given(&Vec3::from(v));
            for p in &mut self.positions {
                *p = turned(p.map(f64::from)).map(|x| x as f32).into();
            }
            for n in &mut self.normals {
                *n = turned(n.map(f64::from)).map(|x| x.round() as i8).into();
            }
        }
        self.scale *= unit.scale;
        self
    }

    /// Appends the mirror images in x = 0 of all samples.
    pub fn add_images(&mut self) {
        let shift = (-2.0 * self.origin[0] / self.scale) as f32;
        let image = |[x, y, z]: [f32; 3]| [shift - x, y, z];
        self.positions.extend_from_within(..);
        self.normals.extend_from_within(..);
        let n = self.positions.len() / 2;
        for p in &mut self.positions[n..] {
            *p = image(*p);
        }
        for normal in &mut self.normals[n..] {
            normal[0] = -normal[0];
        }
    }

    /// Turns and moves the samples rigidly.
    pub fn into_frame(
        mut self,
        point: impl Fn(&Vec3) -> Vec3,
        direction: impl Fn(&Vec3) -> Vec3,
    ) -> Self {
        self.origin = point(&Vec3::from(self.origin)).into();
        for p in &mut self.positions {
            *p = direction(&Vec3::from(p.map(f64::from)))
                .map(|x| x as f32)
                .into();
        }
        for n in &mut self.normals {
            *n = direction(&Vec3::from(n.map(f64::from)))
                .map(|x| x.round() as i8)
                .into();
        }
        self
    }

    /// Returns whether samples read from a file are valid.
    pub fn is_valid(&self) -> bool {
        self.positions.iter().flatten().all(|x| x.is_finite())
            && range::is_position(&Vec3::from(self.origin))
            && self.scale > 0.0
            && range::is_sound(self.scale)
            && self.normals.len() == self.positions.len()
    }

    /// Returns the nearest sample of a range, ignoring skin that the point is in front of; the nearest of all if
    /// it is in front of all.
    pub fn nearest(&self, among: Range<usize>, point: Vec3) -> Option<usize> {
        let p = (point - Vec3::from(self.origin)) / self.scale;
        // Nearest of all, and nearest of those that the point is not in front of.
        let mut best = [(f64::INFINITY, None); 2];
        for s in among {
            let d = p - Vec3::from(self.positions[s].map(f64::from));
            let distance = d.norm_squared();
            if distance >= best[1].0 {
                continue;
            }
            if distance < best[0].0 {
                best[0] = (distance, Some(s));
            }
            let height = Vec3::from(self.normals[s].map(f64::from)).dot(&d) / 127.0;
            if height <= MAX_BEHIND_COSINE * distance.sqrt() {
                best[1] = (distance, Some(s));
            }
        }
        best[1].1.or(best[0].1)
    }
}
