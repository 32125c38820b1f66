// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static balance of a bent arm, the forces that hold another shape, and the derivative of a shape by all forces.

#[path = "shapes/arm.rs"]
#[allow(dead_code, reason = "each example uses its part")]
mod arm;

use thew::Vec3;
use thew::dynamics::{Equilibrium, Method};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = arm::body()?;
    let gravity = Vec3::new(0.0, 0.0, -9.81);
    let mut balance = Equilibrium::new(&body, Method::Warped)?;
    balance.set_pose(&arm::bent(0.8)?)?;
    let sagging = balance.solve(gravity, None, None)?;

    let mut wanted = sagging.clone();
    let free = body.pattern().vertex_of_node().to_vec();
    for &v in &free {
        wanted[v as usize].z += 0.004;
    }
    let forces = balance.forces_at(gravity, &wanted)?;
    let again = balance.solve(gravity, Some(&forces), None)?;
    let missed = again.iter().zip(&wanted).map(|(a, b)| (a - b).norm());
    println!(
        "the shape that was wanted, to {:.1e} m",
        missed.fold(0.0, f64::max)
    );

    let mut g = vec![Vec3::zeros(); body.node_count()];
    g[free[0] as usize].z = 1.0;
    let slope = balance.adjoint(&g)?;
    let foretold: f64 = slope.iter().zip(&forces).map(|(s, f)| s.dot(f)).sum();
    println!(
        "one vertex rises by {:.6} mm, as the adjoint predicts: {:.6} mm",
        4.0,
        1e3 * foretold
    );
    assert!((foretold - 0.004).abs() < 1e-9);
    Ok(())
}
