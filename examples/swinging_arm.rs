// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh on two bones: an elbow bends within a third of a second and stops; the flesh goes on and comes to rest.

#[path = "shapes/arm.rs"]
#[allow(dead_code, reason = "each example uses its part")]
mod arm;

use thew::clip::ClipSettings;
use thew::dynamics::SimulationSettings;
use thew::present::SurfaceId;
use thew::progress::Silent;
use thew::shot::Shot;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = arm::body()?;
    println!(
        "{:.4} m³ of flesh, {} lattice vertices",
        body.volume(),
        body.node_count()
    );
    let poses: Result<Vec<_>, _> = (0..49)
        .map(|frame| (frame as f64 / 8.0).min(1.0))
        .map(|t| arm::bent(1.2 * t * t * (3.0 - 2.0 * t)))
        .collect();
    let settings = ClipSettings::new(24.0, SimulationSettings::default());
    let (clip, _) = Shot::new(body, poses?, settings).simulate(&Silent)?;
    let far = |frame: i64| -> Result<f32, Box<dyn std::error::Error>> {
        let offsets = clip.offsets(frame, SurfaceId::OWN)?;
        let lengths = offsets
            .chunks_exact(3)
            .map(|d| d[0].hypot(d[1]).hypot(d[2]));
        Ok(lengths.fold(0.0, f32::max))
    };
    for frame in [0, 4, 8, 9, 12, 24, 48] {
        println!(
            "frame {frame:2}: {:.1} mm from the plain skin",
            1e3 * far(frame)?
        );
    }
    assert!(clip.inverted_cells().iter().all(|&cells| cells == 0));
    Ok(())
}
