// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volumes of surfaces that cross themselves, end in nothing or fan out: right, soon there, and to be stopped.

use std::sync::Mutex;
use std::time::{Duration, Instant};
use thew::Vec3;
use thew::progress::{Cancelled, Silent};
use thew::surface::Surface;

/// Returns a generator of numbers from 0 to 1.
fn random_numbers() -> impl FnMut() -> f64 {
    let mut seed = 1u64;
    move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Builds pieces of random points with the given faces, all across one another.
fn crossing_pieces(pieces: u32, points: u32, faces: &[[u32; 3]]) -> Surface {
    let mut next = random_numbers();
    let vertices = (0..pieces * points)
        .map(|_| Vec3::from_fn(|_, _| next()))
        .collect();
    let triangles = (0..pieces)
        .flat_map(|i| faces.iter().map(move |f| f.map(|k| points * i + k)))
        .collect();
    Surface::new(vertices, triangles).expect("a surface")
}

fn random_triangles() -> Surface {
    crossing_pieces(1000, 3, &[[0, 1, 2]])
}

fn random_tetrahedra() -> Surface {
    crossing_pieces(250, 4, &[[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]])
}

/// Builds triangles around a point above the middle of a circle.
fn triangle_fan(count: u32, height: f64) -> Surface {
    let mut vertices = vec![Vec3::new(0.0, 0.0, height)];
    vertices.extend((0..count).map(|i| {
        let a = std::f64::consts::TAU * f64::from(i) / f64::from(count);
        Vec3::new(a.cos(), a.sin(), 0.0)
    }));
    let triangles = (0..count)
        .map(|i| [0, 1 + i, 1 + (i + 1) % count])
        .collect();
    Surface::new(vertices, triangles).expect("a surface")
}

/// Estimates the volume by one random point in each of many small boxes.
fn sampled_volume(surface: &Surface) -> f64 {
    let pad = Vec3::repeat(surface.layer_half_thickness());
    let (lo, hi) = surface.bounds();
    let (lo, hi) = (lo - pad, hi + pad);
    let n = 40;
    let mut next = random_numbers();
    let mut inside = 0;
    for i in 0..n * n * n {
        let cell = [i % n, i / n % n, i / (n * n)];
        let at = Vec3::from_fn(|k, _| (f64::from(cell[k]) + next()) / f64::from(n));
        inside += i32::from(surface.contains(lo + (hi - lo).component_mul(&at)));
    }
    (hi - lo).product() * f64::from(inside) / f64::from(n * n * n)
}

/// The volume of a bad surface is that of its domain and does not take long.
#[test]
fn bad_surface_volume_is_fast() {
    for (name, surface) in [
        ("triangles", random_triangles()),
        ("tetrahedra", random_tetrahedra()),
        ("flat fan", triangle_fan(2000, 0.0)),
        ("cone", triangle_fan(2000, 1.0)),
    ] {
        let start = Instant::now();
        let volume = surface.volume();
        let took = start.elapsed();
        // A second where nothing else runs.
        assert!(took < Duration::from_secs(5), "{name}: {took:?}");
        let asked = sampled_volume(&surface);
        // Few of the points lie in a flat layer.
        let close = if name == "flat fan" { 0.03 } else { 0.015 };
        assert!(
            (volume / asked - 1.0).abs() < close,
            "{name}: {volume} {asked}"
        );
    }
}

/// The measurement of the volume can be cancelled at any report, and succeeds afterwards.
#[test]
fn volume_cancels_at_any_report() {
    for surface in [
        random_triangles(),
        random_tetrahedra(),
        triangle_fan(300, 1.0),
    ] {
        let count = Mutex::new(0);
        let stopping_at = |stop: usize| {
            *count.lock().expect("no panic") = 0;
            surface.clone().measure_volume(&|_: f64, _: &str| {
                let mut n = count.lock().expect("no panic");
                *n += 1;
                *n <= stop
            })
        };
        let whole = stopping_at(usize::MAX).expect("not stopped");
        let reports = *count.lock().expect("no panic");
        assert!(reports > 5);
        for stop in [0, 1, reports / 2, reports - 1] {
            assert_eq!(stopping_at(stop), Err(Cancelled), "{stop} of {reports}");
        }
        assert_eq!(surface.measure_volume(&Silent), Ok(whole));
    }
}
