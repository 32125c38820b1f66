// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tense flesh of rigs, compared with closed integrals of their windows.

use super::*;
use crate::clip::{Clip, ClipSettings, FrameForces};
use crate::disk::tests::TestFolder;
use crate::dynamics::{Method, Simulation, SimulationSettings};
use crate::progress::Silent;
use crate::rig::{format_rigs, parse_rigs, sum_stiffness};
use crate::shot::Shot;
use crate::skeleton::{Affine, Pose};
use std::sync::Arc;

fn template_rig(kind: TemplateKind, parameters: &[f64], along: f64) -> Rig {
    let template = Template::new(kind, parameters).unwrap();
    let guide = Guide::bone(BoneRef::Index(1), [along, 0.0, 0.0, 0.0]).unwrap();
    Rig::new("firm", template, guide, Vec::new()).unwrap()
}

/// Summed over the flesh, the share of tense flesh is the integral of the template's window, `4π R³ 8/105` for balls.
#[test]
fn shares_integrate_window() {
    let body = BarOptions::default().build();
    let integral = |rig: &Rig| -> f64 {
        let tension = rig.tension(&body, 1.0).unwrap().unwrap();
        assert!(tension.iter().all(|t| (0.0..=1.0).contains(t)));
        let volumes = body.blocks().volumes().iter();
        tension.iter().zip(volumes).map(|(t, v)| t * v).sum()
    };
    for kind in [
        TemplateKind::Bump,
        TemplateKind::Radial,
        TemplateKind::Bulge,
    ] {
        let found = integral(&template_rig(kind, &[0.15, 2e4], 0.5));
        let wanted = 4.0 * PI * 0.15_f64.powi(3) * 8.0 / 105.0;
        approx::assert_relative_eq!(found, wanted, max_relative = 0.01);
    }
    let found = integral(&template_rig(TemplateKind::Torus, &[0.1, 0.08, 2e4], 0.5));
    let wanted = 2.0 * PI * 0.1 * PI * 0.08_f64.powi(2) / 3.0;
    approx::assert_relative_eq!(found, wanted, max_relative = 0.02);
}

/// Factors are one plus firmness times control times share, summed over rigs, within their range.
#[test]
fn factors_sum_over_rigs() {
    let body = BarOptions::default().build();
    let firm = |along, firmness: f64| {
        let rig = template_rig(TemplateKind::Radial, &[0.3, 2e4], along);
        rig.with_firmness(firmness).unwrap()
    };
    let rigs = [firm(0.2, 3.0), firm(0.6, 0.5), firm(0.4, 0.0)];
    let controls = [0.5, 2.0, 1.0];
    let factors = sum_stiffness(&rigs, &body, &controls).unwrap();
    let shares: Vec<Vec<f64>> = rigs
        .iter()
        .map(|r| r.tension(&body, 1.0).unwrap().unwrap())
        .collect();
    for (c, factor) in factors.iter().enumerate() {
        let wanted = 1.0 + 3.0 * 0.5 * shares[0][c] + 0.5 * 2.0 * shares[1][c];
        approx::assert_relative_eq!(*factor, wanted, max_relative = 1e-12);
    }
    assert!(factors.iter().any(|f| *f > 1.2) && factors.contains(&1.0));
    let still = sum_stiffness(&rigs, &body, &[0.0; 3]).unwrap();
    assert!(still.iter().all(|f| *f == 1.0));
    for (control, end) in [(1e6, 100.0), (-1e6, 0.1)] {
        let factors = sum_stiffness(&rigs[..1], &body, &[control]).unwrap();
        assert!(factors.contains(&end) && factors.iter().all(|f| (0.1..=100.0).contains(f)));
    }
    assert!(sum_stiffness(&rigs, &body, &[1.0]).is_err());
    let error = sum_stiffness(&rigs[..1], &body, &[f64::NAN]).unwrap_err();
    assert!(error.to_string().contains("firm"));
    let outside = firm(30.0, 1.0);
    assert_eq!(outside.tension(&body, 1.0).unwrap(), None);
}

/// A firmness stays through samples, files and clamped strengths. A sculpted rig has none.
#[test]
fn firmness_stays_with_rig() {
    let body = BarOptions::default().build();
    let plain = template_rig(TemplateKind::Bulge, &[0.15, 2e7], 0.5);
    assert_eq!(plain.firmness(), 0.0);
    assert!(
        !format_rigs(std::slice::from_ref(&plain))
            .unwrap()
            .contains("firmness")
    );
    let rig = plain.clone().with_firmness(1.25).unwrap();
    let text = format_rigs(std::slice::from_ref(&rig)).unwrap();
    assert_eq!(parse_rigs("text", &text).unwrap(), vec![rig.clone()]);
    let (lowered, changed) = rig.with_clamped_strengths(&body, &Silent).unwrap();
    assert!(!changed.is_empty() && lowered.firmness() == 1.25);
    assert_eq!(rig.with_samples(Vec::new()).unwrap().firmness(), 1.25);
    for bad in [f64::NAN, f64::INFINITY] {
        let error = plain.clone().with_firmness(bad).unwrap_err();
        assert!(error.to_string().contains("firmness"));
    }
    let wrong = text.replace("firmness = 1.25", "firmness = \"much\"");
    assert!(
        parse_rigs("text", &wrong)
            .unwrap_err()
            .to_string()
            .contains("firmness")
    );
    let sculpted = Rig::sculpted("shape", Vec::new()).unwrap();
    assert!(sculpted.clone().with_firmness(0.0).is_ok());
    assert!(
        sculpted
            .with_firmness(1.0)
            .unwrap_err()
            .to_string()
            .contains("sculpted")
    );
}

fn swing_poses(frames: std::ops::Range<usize>) -> Vec<Pose> {
    let pose = |i: usize| {
        let aside = Affine {
            linear: Mat3::identity(),
            translation: Vec3::new(0.08 * (0.9 * i as f64).sin(), 0.0, 0.0),
        };
        Pose::new(vec![aside; 2]).unwrap()
    };
    frames.map(pose).collect()
}

/// Builds a rig that only makes flesh firm, and the led forces of some frames.
fn led(body: &Arc<Body>, frames: std::ops::Range<usize>) -> RigForces {
    let rig = template_rig(TemplateKind::Radial, &[0.5, 0.0], 0.3);
    let rig = Arc::new(rig.with_firmness(4.0).unwrap());
    let controls: Vec<f64> = frames
        .clone()
        .map(|i| (0.4 * i as f64).sin().abs())
        .collect();
    RigForces::new(
        body.clone(),
        vec![rig],
        frames.len(),
        Some(controls),
        &Silent,
    )
    .unwrap()
}

/// A clip with a firm rig is the motion with its factors, in parts as at once, and from a file too.
#[test]
fn clip_follows_firm_rig() {
    let body = BarOptions::default().build();
    let settings = ClipSettings {
        preroll: 0,
        ..ClipSettings::new(24.0, SimulationSettings::with_default_damping())
    };
    let simulate = |frames: usize| -> Clip {
        let shot = Shot::new(body.clone(), swing_poses(0..frames), settings.clone());
        let led = led(&body, 0..frames);
        shot.simulate_with_forces(Some(&led as &dyn FrameForces), &Silent)
            .unwrap()
    };
    let whole = simulate(11);
    let part = simulate(8);
    let folder = TestFolder::new();
    let path = folder.0.join("clip.thew");
    part.save(&path).unwrap();
    let again = Clip::load(&path).unwrap();
    for clip in [&part, &again] {
        let more = led(&body, 8..11);
        clip.extend(&swing_poses(8..11), Some(&more), &Silent)
            .unwrap();
        for f in 0..11 {
            assert_eq!(clip.lattice(f), whole.lattice(f), "frame {f}");
        }
    }
    let plain = Shot::new(body.clone(), swing_poses(0..11), settings.clone());
    let plain = plain.simulate_with_forces(None, &Silent).unwrap();
    let apart = |a: &Clip, b: &Clip, f: i64| {
        let (a, b) = (a.lattice(f), b.lattice(f));
        let nodes = 0..body.node_count();
        nodes
            .map(|v| (a.world(v) - b.world(v)).norm())
            .fold(0.0, f64::max)
    };
    assert!(apart(&whole, &plain, 9) > 1e-3);
    // A control of zero leaves every bit.
    let rig = template_rig(TemplateKind::Radial, &[0.5, 0.0], 0.3)
        .with_firmness(4.0)
        .unwrap();
    let slack = RigForces::new(
        body.clone(),
        vec![Arc::new(rig)],
        11,
        Some(vec![0.0; 11]),
        &Silent,
    );
    let shot = Shot::new(body.clone(), swing_poses(0..11), settings.clone());
    let slack = shot
        .simulate_with_forces(Some(&slack.unwrap()), &Silent)
        .unwrap();
    assert!((0..11).all(|f| slack.lattice(f) == plain.lattice(f)));
    // By hand, frame by frame.
    let mut sim = Simulation::new(body.clone(), settings.simulation.clone()).unwrap();
    let (forces, poses) = (led(&body, 0..2), swing_poses(0..2));
    let mut factors = vec![1.0; body.lattice().cells().len()];
    forces.write_stiffness(0, &mut factors).unwrap();
    sim.set_stiffness(Some(&factors)).unwrap();
    sim.reset(&poses[0], true, None).unwrap();
    let at = whole.lattice(0);
    for (v, p) in sim.lattice_positions().iter().enumerate() {
        assert!((at.world(v) - p).norm() < 1e-6);
    }
}

/// A firm rig with a method that cannot follow it is refused in a sentence.
#[test]
fn firm_rig_needs_method() {
    let body = BarOptions::default().build();
    for method in [Method::Blended, Method::Modal] {
        let simulation = SimulationSettings::with_default_damping().with_method(method);
        let shot = Shot::new(
            body.clone(),
            swing_poses(0..3),
            ClipSettings::new(24.0, simulation),
        );
        let led = led(&body, 0..3);
        let error = shot.simulate_with_forces(Some(&led), &Silent).unwrap_err();
        assert!(error.to_string().contains(method.name()), "{error}");
    }
}
