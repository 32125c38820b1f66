// SPDX-License-Identifier: MIT OR Apache-2.0
//! A character is the same at any scale of its file: its lattice, and how its flesh moves.

use crate::common::{Character, biped, character, gltf};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thew::body::{Body, BodySettings};
use thew::clip::ClipSettings;
use thew::dynamics::{Method, SimulationSettings};
use thew::elasticity::Material;
use thew::lattice::{EncloseSettings, Lattice};
use thew::present::SurfaceId;
use thew::progress::Silent;
use thew::shot::Shot;
use thew::skeleton::{Affine, Pose, Skeleton};
use thew::surface::Surface;
use thew::{Mat3, Vec3};

const SCALES: [f64; 2] = [370.0, 0.01];

fn scale_character(c: &Character, by: f64) -> Character {
    let all = |points: &[Vec3]| points.iter().map(|x| x * by).collect();
    Character {
        surface: Surface::new(all(c.surface.vertices()), c.surface.triangles().to_vec())
            .expect("valid"),
        skeleton: Skeleton::new(
            c.skeleton.names().to_vec(),
            c.skeleton.parents().to_vec(),
            all(c.skeleton.heads()),
            all(c.skeleton.tails()),
        )
        .expect("valid"),
        skin: c.skin.clone(),
    }
}

fn enclose(c: &Character) -> Lattice {
    let settings = EncloseSettings::default();
    Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent).expect("encloses")
}

/// Returns a synthetic character, and those of the real ones that `THEW_DATA` (default `../shared/data`) has.
fn characters(real: &[&'static str]) -> Vec<(&'static str, Character)> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("THEW_DATA").map_or(default, PathBuf::from);
    let mut all = vec![("biped", character(&biped(), 0.05))];
    for &name in real {
        let path = data.join("characters").join(name).with_extension("glb");
        all.extend(gltf::read(&path).map(|c| (name, c)));
    }
    all
}

/// The lattice of a scaled character is the scaled lattice.
#[test]
fn lattice_ignores_scale() {
    for (name, c) in characters(&["q_frog", "m2m_horse", "Fox"]) {
        let plain = enclose(&c);
        let size = c.surface.size();
        for by in SCALES {
            let other = enclose(&scale_character(&c, by));
            assert_eq!(plain.cells(), other.cells(), "{name} times {by}");
            assert_eq!(plain.bones(), other.bones(), "{name} times {by}");
            let apart = plain.vertices().iter().zip(other.vertices());
            let apart = apart.map(|(a, b)| (a - b / by).norm()).fold(0.0, f64::max);
            assert!(
                apart <= 1e-9 * size,
                "{name} times {by}: {:e}",
                apart / size
            );
        }
    }
}

/// Returns a pose in which each bone swings about its head, `t` in frames, and the whole moves aside; lengths in
/// metres.
fn swing_pose(skeleton: &Skeleton, size: f64, t: f64) -> Pose {
    let mut of_bone: Vec<Affine> = vec![Affine::identity(); skeleton.len()];
    for &b in skeleton.topological_order() {
        let b = b as usize;
        let phase = 0.4 * t + b as f64;
        let turn = Vec3::new(0.2 * phase.sin() - 0.2 * (b as f64).sin(), 0.0, 0.0);
        let linear: Mat3 = nalgebra::Rotation3::from_scaled_axis(turn).into_inner();
        let head = skeleton.heads()[b];
        let own = Affine {
            linear,
            translation: head - linear * head,
        };
        of_bone[b] = match skeleton.parents()[b] {
            Some(p) => {
                let above = &of_bone[p as usize];
                Affine {
                    linear: above.linear * own.linear,
                    translation: above.linear * own.translation + above.translation,
                }
            }
            None => Affine {
                translation: own.translation + Vec3::y() * (0.05 * size * (0.5 * t).sin()),
                ..own
            },
        };
    }
    Pose::new(of_bone).expect("finite")
}

/// Returns the skin over some frames, in metres, with the file's coordinates scaled to a real height.
fn skin_motion(file: &Character, height: f64) -> (Vec<Vec<f32>>, f64) {
    let (lo, hi) = file.surface.bounds();
    let c = scale_character(file, height / (hi - lo).z);
    let size = c.surface.size();
    let poses: Vec<Pose> = (0..10)
        .map(|t| swing_pose(&c.skeleton, size, f64::from(t)))
        .collect();
    let options = BodySettings {
        region_weights: Some(c.skin.clone()),
        ..Default::default()
    };
    let lattice = Arc::new(enclose(&c));
    let (surface, skeleton) = (Arc::new(c.surface), Arc::new(c.skeleton));
    let material = Material::default();
    let body =
        Body::new(&surface, &skeleton, &lattice, material, &options, &Silent).expect("a body");
    let damped = SimulationSettings {
        mass_damping: Some(4.4),
        stiffness_damping: Some(0.004),
        ..SimulationSettings::for_method(Method::Warped)
    };
    let shot = Shot::new(Arc::new(body), poses, ClipSettings::new(24.0, damped));
    let (clip, _) = shot.simulate(&Silent).expect("a motion");
    let frames =
        (0..clip.len() as i64).map(|t| clip.positions(t, SurfaceId::OWN).expect("a surface"));
    (frames.collect(), size)
}

/// Flesh of a given real height moves alike for any scale of the file.
#[test]
fn motion_ignores_file_scale() {
    for (name, c) in characters(&["Fox"]) {
        let (plain, size) = skin_motion(&c, 1.5);
        for by in SCALES {
            let (other, _) = skin_motion(&scale_character(&c, by), 1.5);
            let apart = plain.iter().flatten().zip(other.iter().flatten());
            let apart = apart
                .map(|(a, b)| f64::from((a - b).abs()))
                .fold(0.0, f64::max);
            assert!(
                apart <= 1e-6 * size,
                "{name} times {by}: {:e}",
                apart / size
            );
        }
    }
}
