// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saved states, and states after errors.

use super::*;

/// A restored state is exact, and the motion from it has the same bits.
#[test]
fn restore_is_exact() {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    let never = sim.state();
    sim.reset(&rest_pose(), true, None).unwrap();
    sim.advance(&bent_pose(&bar, 0.4), 0.1, None, None).unwrap();
    let kept = sim.state();
    assert_eq!(kept.len(), 120 + 48 * body.node_count() + 384);
    sim.advance(&bent_pose(&bar, 0.9), 0.1, None, None).unwrap();
    let first = sim.state();
    let mut other = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    other.restore(&kept).unwrap();
    other
        .advance(&bent_pose(&bar, 0.9), 0.1, None, None)
        .unwrap();
    assert!(other.state() == first);
    for bad in [&kept[..20], &kept[..kept.len() - 8], &[0u8; 64][..]] {
        assert!(matches!(other.restore(bad), Err(SimulationError::State(_))));
        assert!(other.state() == first);
    }
    other.restore(&never).unwrap();
    assert_eq!(
        other.advance(&rest_pose(), 0.1, None, None),
        Err(SimulationError::NotReset)
    );
}

/// A step that fails keeps the last good state.
#[test]
fn explosion_keeps_last_state() {
    let body = BarOptions::default().build();
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    let before = sim.state();
    let refused = vec![Vec3::repeat(1e308); body.node_count()];
    let error = sim.advance(&rest_pose(), 0.1, Some(&refused), None);
    assert_eq!(error, Err(SimulationError::Vector { index: 0 }));
    let huge = vec![Vec3::repeat(1e99); body.node_count()];
    let error = sim
        .advance(&rest_pose(), 0.1, Some(&huge), None)
        .unwrap_err();
    assert!(matches!(error, SimulationError::NonFinite { .. }));
    assert!(sim.state() == before);
    sim.advance(&rest_pose(), 0.1, None, None).unwrap();
    let nan = vec![Vec3::repeat(f64::NAN); body.node_count()];
    assert_eq!(
        sim.advance(&rest_pose(), 0.1, Some(&nan), None),
        Err(SimulationError::Vector { index: 0 })
    );
    assert!(
        sim.advance(&rest_pose(), f64::INFINITY, None, None)
            .is_err()
    );
    assert!(sim.advance(&rest_pose(), 0.1, Some(&[]), None).is_err());
    assert!(
        sim.advance(&pose(&[Isometry3::identity()]), 0.1, None, None)
            .is_err()
    );
}

/// Errors about settings and methods name them.
#[test]
fn bad_settings_are_named() {
    let body = BarOptions::default().build();
    for (settings, name) in [
        (
            SimulationSettings {
                rate: 0.0,
                ..settings()
            },
            "rate",
        ),
        (
            SimulationSettings {
                mass_damping: Some(-1.0),
                ..settings()
            },
            "mass_damping",
        ),
        (
            SimulationSettings {
                stiffness_damping: Some(f64::NAN),
                ..settings()
            },
            "stiffness_damping",
        ),
        (
            SimulationSettings {
                gravity: Vec3::repeat(f64::NAN),
                ..settings()
            },
            "gravity",
        ),
    ] {
        let error = Simulation::new(body.clone(), settings.with_method(Method::Warped))
            .err()
            .unwrap();
        assert!(error.to_string().starts_with(name));
    }
    let error = "explicit".parse::<Method>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no method 'explicit'; there are: 'hyperelastic', 'warped', 'blended', 'linear', 'linearised', 'nonlinear', 'neohookean', 'modal', 'warped_vertex', 'blended_printed'"
    );
    assert_eq!("linear".parse::<Method>().unwrap(), Method::Linear);
}
