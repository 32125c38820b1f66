// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dial: a number between 0 and 1 that means the same whatever the size of a body.

#[path = "shapes/arm.rs"]
#[allow(dead_code, reason = "each example uses its part")]
mod arm;

use thew::dynamics::{soften, softness};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = arm::body()?;
    for dial in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let soft = std::sync::Arc::new(soften(&body, dial)?);
        let young = soft.material().young();
        let share = 100.0 * softness(&soft)?;
        println!(
            "{dial:.2}: {young:8.0} Pa; one g moves the farthest vertex by {share:.2} % of the size"
        );
    }
    Ok(())
}
