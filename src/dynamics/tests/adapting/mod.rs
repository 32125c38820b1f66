// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptation: a soft bar with details that come and go, and what is shown of it.

use super::*;

mod contact;
mod fading;
mod led;
mod strain;
mod subsets;
mod switching;
mod within;

/// Builds a soft bar with two levels of details.
fn soft_bar(hexahedra: bool) -> BarOptions {
    BarOptions {
        hexahedra,
        cells_along: 4,
        material: Material::new(8e3, 0.4, 1000.0).unwrap(),
        settings: BodySettings {
            basis_levels: 2,
            level: 2,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn one_level() -> BodySettings {
    BodySettings {
        basis_levels: 1,
        level: 1,
        ..Default::default()
    }
}

fn adapting_settings(method: Method) -> SimulationSettings {
    SimulationSettings {
        adapt: Adaptation::Strain,
        adapt_strain: Vec3::new(0.02, 0.05, 0.1),
        rate: 48.0,
        ..settings().with_method(method)
    }
}

/// Returns the pose of a bar that is shaken and then held.
fn shaken_pose(bar: &BarOptions, frame: usize) -> Pose {
    let angle = match frame {
        0..12 => 0.7 * (0.6 * frame as f64).sin(),
        _ => 0.0,
    };
    bent_pose(bar, angle)
}

/// Returns what a simulation shows: positions, sway and joints, at the skin.
fn shown(sim: &Simulation) -> Vec<Vec<Vec3>> {
    let embedding = sim.body().embedding();
    let none = Vec::new();
    let parts = [
        sim.lattice_positions(),
        sim.sway().unwrap_or(&none),
        sim.joint_volume(),
    ];
    let at_skin = |nodes: &&[Vec3]| -> Vec<Vec3> {
        let points = 0..embedding.len();
        points.map(|v| embedding.position(v, nodes)).collect()
    };
    let parts = parts.iter().filter(|nodes| !nodes.is_empty());
    parts.map(at_skin).collect()
}
