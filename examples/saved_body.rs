// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built once, kept: a body in a file, and a simulation's state as bytes.

#[path = "shapes/arm.rs"]
#[allow(dead_code, reason = "each example uses its part")]
mod arm;

use std::sync::Arc;
use thew::body::Body;
use thew::dynamics::{Simulation, SimulationSettings};
use thew::store;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::temp_dir().join(format!("thew-example-{}.thew", std::process::id()));
    store::save(&file, "body", &*arm::body()?)?;
    println!("{} bytes", std::fs::metadata(&file)?.len());
    let body: Arc<Body> = Arc::new(store::load(&file, "body")?);
    std::fs::remove_file(&file)?;

    let mut simulation = Simulation::new(body, SimulationSettings::default())?;
    simulation.reset(&arm::bent(0.0)?, true, None)?;
    simulation.advance(&arm::bent(0.2)?, 1.0 / 24.0, None, None)?;
    let kept = simulation.state();
    simulation.advance(&arm::bent(0.4)?, 1.0 / 24.0, None, None)?;
    let once = simulation.lattice_positions().to_vec();
    simulation.restore(&kept)?;
    simulation.advance(&arm::bent(0.4)?, 1.0 / 24.0, None, None)?;
    assert_eq!(simulation.lattice_positions(), once);
    println!(
        "the same motion to the bit, from a state of {} bytes",
        kept.len()
    );
    Ok(())
}
