// SPDX-License-Identifier: MIT OR Apache-2.0
//! Belts: a ring of skin around a bone, held at a girth by pins that follow the bone. [capell2006, §5, Fig. 10]
//!
//! The ring is the section of the skin at rest across the bone ([`Surface::ring`](crate::surface::Surface::ring)). Tightening scales it about its own
//! centre, across the bone. Of its vertices those are pinned whose pins are independent. In every frame the bone's map from rest carries the
//! targets.
//!
//! Deviation: the paper does not say how its belt is found. Its constraints hold points of the lattice (§4.4 of capell2002), as ours do.

use super::PinTrack;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{PinPoint, SimulationError, independent_vertices};
use crate::skeleton::Pose;

/// Settings of a belt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeltSettings {
    /// Height along the bone: 0 at its head, 1 at its tail. Beyond both is allowed.
    pub along: f64,
    /// Girth as a share of that at rest: less than 1 is tighter.
    pub girth: f64,
    /// Width of the belt, m; 0: one row of vertices.
    pub width: f64,
    /// Most pins.
    pub most: usize,
}

impl Default for BeltSettings {
    fn default() -> Self {
        Self {
            along: 0.5,
            girth: 1.0,
            width: 0.0,
            most: usize::MAX,
        }
    }
}

/// Range of [`BeltSettings::girth`]: flesh is shown six tenths of its thickness away from the skin at most, which is less than half a girth.
const GIRTHS: (f64, f64) = (0.5, 1.5);
/// Range of [`BeltSettings::along`]: the flesh of a bone ends within two of its lengths beyond it.
const HEIGHTS: (f64, f64) = (-2.0, 3.0);

/// A ring of skin and where its points are held.
#[derive(Debug, Clone, PartialEq)]
pub struct Belt {
    bone: u32,
    vertices: Vec<u32>,
    /// Targets in the rest pose, m.
    targets: Vec<Vec3>,
    girth: f64,
}

impl Belt {
    /// Finds the ring of a body's skin around a bone.
    ///
    /// # Errors
    /// A bone that the skeleton lacks; a setting out of range; no skin goes around the bone at the height; bones hold the whole ring.
    pub fn new(body: &Body, bone: u32, settings: &BeltSettings) -> Result<Self, SimulationError> {
        settings.check()?;
        let skeleton = body.skeleton();
        let Some(name) = skeleton.names().get(bone as usize) else {
            let bones = skeleton.len();
            return Err(SimulationError::BeltBone { bone, bones });
        };
        let (head, tail) = (
            skeleton.heads()[bone as usize],
            skeleton.tails()[bone as usize],
        );
        let (axis, surface) = (tail - head, body.surface());
        let point = head + axis * settings.along;
        let missing = || SimulationError::BeltRing {
            bone: name.clone(),
            along: settings.along,
        };
        let ring = surface
            .ring(point, axis, settings.width)
            .ok_or_else(missing)?;
        let vertices = independent_vertices(body, &ring.vertices, settings.most)?;
        if vertices.is_empty() {
            return Err(SimulationError::BeltHeld { bone: name.clone() });
        }
        let axis = axis.normalize();
        let tightened = |&v: &u32| {
            let x = surface.vertices()[v as usize];
            let out = x - ring.centre;
            x + (out - axis * axis.dot(&out)) * (settings.girth - 1.0)
        };
        Ok(Self {
            bone,
            targets: vertices.iter().map(tightened).collect(),
            vertices,
            girth: ring.girth,
        })
    }

    /// Returns the pinned vertices of the body's surface.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Returns the girth of the skin at rest, m.
    pub fn girth(&self) -> f64 {
        self.girth
    }

    /// Returns the targets at a pose, one per vertex, m, world axes. The pose is one of the body's skeleton.
    pub fn targets(&self, pose: &Pose) -> Vec<Vec3> {
        let map = &pose.maps()[self.bone as usize];
        self.targets.iter().map(|x| map.apply(*x)).collect()
    }

    /// Returns a track for each vertex over the poses of a clip, with a strength for each frame, 0 to 1; none: 1 throughout.
    ///
    /// # Errors
    /// A pose with another number of bones.
    pub fn tracks(
        &self,
        body: &Body,
        poses: &[Pose],
        strengths: &[f64],
    ) -> Result<Vec<PinTrack>, SimulationError> {
        let mut tracks: Vec<PinTrack> = self
            .vertices
            .iter()
            .map(|&v| PinTrack {
                point: PinPoint::Vertex(v),
                targets: Vec::with_capacity(poses.len()),
                strengths: strengths.to_vec(),
            })
            .collect();
        for pose in poses {
            pose.check(body.skeleton())?;
            for (track, target) in tracks.iter_mut().zip(self.targets(pose)) {
                track.targets.push(target);
            }
        }
        Ok(tracks)
    }
}

impl BeltSettings {
    fn check(&self) -> Result<(), SimulationError> {
        for (what, value, (least, most), range) in [
            (
                "along",
                self.along,
                HEIGHTS,
                "between -2 and 3 lengths of the bone",
            ),
            (
                "girth",
                self.girth,
                GIRTHS,
                "between 0.5 and 1.5 of the girth at rest",
            ),
            (
                "width",
                self.width,
                (0.0, f64::MAX),
                "a length of 0 or more",
            ),
        ] {
            if !(least..=most).contains(&value) {
                return Err(SimulationError::Setting { what, range, value });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::clip::ClipSettings;
    use crate::dynamics::SimulationSettings;
    use crate::present::SurfaceId;
    use crate::progress::Silent;
    use crate::shot::Shot;
    use crate::skeleton::Affine;
    use crate::{Mat3, Vec3};

    fn settings(girth: f64) -> BeltSettings {
        BeltSettings {
            along: 0.5,
            girth,
            ..BeltSettings::default()
        }
    }

    /// A belt holds a ring around its bone, at its girth, and follows the bone through a clip.
    #[test]
    fn belt_follows_bone() {
        let body = BarOptions::default().build();
        let belt = Belt::new(&body, 1, &settings(0.95)).unwrap();
        approx::assert_relative_eq!(belt.girth(), 8.0 * 0.2, max_relative = 1e-9);
        let rest = body.surface().vertices();
        let height = |v: &u32| rest[*v as usize].z;
        assert!(
            belt.vertices()
                .iter()
                .all(|v| (height(v) - 1.2).abs() < 1e-9)
        );
        assert!(belt.vertices().len() >= 4);
        for (v, target) in belt.vertices().iter().zip(&belt.targets) {
            let x = rest[*v as usize];
            assert!((target - Vec3::new(0.95 * x.x, 0.95 * x.y, x.z)).norm() < 1e-9);
        }
        let pose = |i: usize| {
            let turn =
                crate::geometry::rotation_vector::rotation(&Vec3::new(0.1 * i as f64, 0.0, 0.0));
            let joint = Vec3::new(0.0, 0.0, 0.8);
            let upper = Affine {
                linear: turn,
                translation: joint - turn * joint,
            };
            let still = Affine {
                linear: Mat3::identity(),
                translation: Vec3::zeros(),
            };
            Pose::new(vec![still, upper]).unwrap()
        };
        let poses: Vec<Pose> = (0..6).map(pose).collect();
        let tracks = belt.tracks(&body, &poses, &[]).unwrap();
        let shot = Shot {
            pins: tracks.clone(),
            ..Shot::new(
                body.clone(),
                poses.clone(),
                ClipSettings::new(24.0, SimulationSettings::with_default_damping()),
            )
        };
        let (clip, _) = shot.simulate(&Silent).unwrap();
        for (f, pose) in poses.iter().enumerate() {
            let shown = clip.positions(f as i64, SurfaceId::OWN).unwrap();
            for (v, target) in belt.vertices().iter().zip(belt.targets(pose)) {
                let at = 3 * *v as usize;
                let p = [0, 1, 2].map(|k| f64::from(shown[at + k]));
                assert!((Vec3::from(p) - target).norm() < 1e-4, "frame {f}");
            }
        }
    }

    /// Bones without skin around them, unknown bones and settings out of range are refused in a sentence.
    #[test]
    fn bad_belts_are_refused() {
        let body = BarOptions::default().build();
        let error = |bone: u32, settings: BeltSettings| {
            Belt::new(&body, bone, &settings).unwrap_err().to_string()
        };
        assert!(error(7, settings(1.0)).contains("bone"));
        let high = BeltSettings {
            along: 2.5,
            ..settings(1.0)
        };
        assert!(error(1, high).contains("upper"));
        for (bad, what) in [
            (settings(f64::NAN), "girth"),
            (settings(0.1), "girth"),
            (
                BeltSettings {
                    along: f64::INFINITY,
                    ..settings(1.0)
                },
                "along",
            ),
            (
                BeltSettings {
                    width: -1.0,
                    ..settings(1.0)
                },
                "width",
            ),
        ] {
            assert!(error(1, bad).contains(what));
        }
        let belt = Belt::new(&body, 0, &settings(1.0)).unwrap();
        assert!(belt.tracks(&body, &[Pose::rest(5)], &[]).is_err());
    }
}
