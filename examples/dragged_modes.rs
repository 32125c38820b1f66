// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bar of jelly without a skeleton: its slowest vibration modes, warped, one corner dragged round a circle.

use std::sync::Arc;
use thew::Vec3;
use thew::elasticity::Material;
use thew::modal::{Damping, Hold, HoldTarget, ModalSettings, ModalSimulation, ModalSystem, Modes};
use thew::progress::Silent;
use thew::tets::{MassKind, TetMesh};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bar = TetMesh::grid([10, 3, 3], [1.0, 0.2, 0.2])?;
    let jelly = Material::new(1e5, 0.4, 1000.0)?;
    let fixed: Vec<usize> = (0..16).collect(); // the nodes at x = 0 come first
    let end = bar.vertices().len() - 1;
    let system = ModalSystem::for_tets(&bar, &jelly, MassKind::Consistent, &fixed)?;
    let modes = Arc::new(Modes::compute(&system, 16, None, &Silent)?);
    println!(
        "{:.3} Hz, none missing: {}",
        modes.frequencies()[0],
        modes.is_verified()
    );

    let settings = ModalSettings {
        step: 1.0 / 60.0,
        gravity: Vec3::new(0.0, 0.0, -5.0),
        damping: Damping::Proportional {
            mass: 2.0,
            stiffness: 0.01,
        },
        ..Default::default()
    };
    let mut motion = ModalSimulation::new(modes, settings)?;
    for step in 1..=120 {
        let (s, c) = (std::f64::consts::TAU * step as f64 / 120.0).sin_cos();
        let target = HoldTarget::Position(0.2 * Vec3::new(0.0, s, 1.0 - c));
        motion.constrain(&[Hold { node: end, target }], None)?;
        motion.advance(None)?;
        assert!(motion.constraint_accuracy().distance < 1e-6);
    }
    println!(
        "held to {:.1e} m after one turn",
        motion.constraint_accuracy().distance
    );
    Ok(())
}
