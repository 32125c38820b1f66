// SPDX-License-Identifier: MIT OR Apache-2.0
//! A biceps: a field of force in the upper arm, stronger the more its control says.

#[path = "shapes/arm.rs"]
#[allow(dead_code, reason = "each example uses its part")]
mod arm;

use std::f64::consts::FRAC_PI_2;
use thew::Vec3;
use thew::dynamics::{Equilibrium, Method};
use thew::rig::{BoneRef, Guide, Rig, Sample, Template, TemplateKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = arm::body()?;
    // radius in metres, strength in N/m³; along the bone, angle, distance, tilt: its axis along the bone.
    let bulge = Template::new(TemplateKind::Bulge, &[0.12, 1e5])?;
    let guide = Guide::bone(BoneRef::Name("upper".into()), [0.5, 0.0, 0.0, FRAC_PI_2])?;
    let sample = |control: f64, strength: f64| Sample {
        control,
        parameters: vec![0.12, strength, 0.5, 0.0, 0.0, FRAC_PI_2],
    };
    let samples = vec![sample(0.0, 0.0), sample(1.5, 1e5)];
    let rig = Rig::new("Biceps", bulge, guide, samples)?;

    let mut balance = Equilibrium::new(&body, Method::Warped)?;
    for control in [0.0, 0.5, 1.0, 1.5] {
        balance.set_pose(&arm::bent(control)?)?;
        let mut solve = |control: f64| -> Result<Vec<Vec3>, Box<dyn std::error::Error>> {
            let forces = rig.forces(&body, &rig.parameters(control))?;
            Ok(balance.solve(Vec3::zeros(), None, Some(&forces))?)
        };
        let (plain, pushed) = (solve(0.0)?, solve(control)?);
        let most = plain.iter().zip(&pushed).map(|(a, b)| (b - a).norm());
        println!(
            "control {control}: {:.2} mm",
            1e3 * most.fold(0.0, f64::max)
        );
    }
    Ok(())
}
