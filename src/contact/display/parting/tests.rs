// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rolled up bar whose ends overlap, parted on its surface.

use super::*;
use crate::contact::Contact;
use crate::contact::tests::ShapedBar;
use crate::progress::Silent;
use crate::surface::Surface;
use nalgebra::{Isometry3, Point3};
use std::f64::consts::TAU;

/// Builds a bar, 0.1 thick, rolled up by `turns`, each `pitch` farther out than the one before.
fn rolled_bar(turns: f64, pitch: f64) -> ShapedBar {
    let place = move |x: &Vec3| {
        if turns == 0.0 {
            return *x;
        }
        let angle = (x.z / 1.6 - 0.5) * turns * TAU;
        let out = 1.6 / (turns * TAU) + x.x + pitch * angle / TAU;
        Vec3::new(out * angle.cos(), x.y, out * angle.sin())
    };
    ShapedBar::new(place, 0.0)
}

fn displayed_vertices(bar: &ShapedBar) -> Vec<Vec3> {
    let body = bar.skin.body();
    let place = |v| body.embedding().position(v, &bar.base);
    (0..body.surface().vertices().len()).map(place).collect()
}

fn part_bar(bar: &ShapedBar, contact: &Contact) -> PartingOffsets {
    let contact = contact.prepare(bar.skin.body(), &Silent).unwrap();
    Parting::new(&contact).part(&bar.pose, &bar.base, &displayed_vertices(bar), 0)
}

fn parted_vertices(bar: &ShapedBar, parted: &PartingOffsets) -> Vec<Vec3> {
    let mut places = displayed_vertices(bar);
    parted
        .moves
        .iter()
        .for_each(|(v, d)| places[*v as usize] += d);
    places
}

/// Counts the triangles whose middles lie in other flesh, by the winding number a little outside of them. Triangles on the sides, along which the
/// ends slide, do not count: they lie neither inside nor outside.
fn count_buried_triangles(bar: &ShapedBar, places: &[Vec3]) -> usize {
    let triangles = bar.skin.body().surface().triangles();
    let surface = Surface::new(places.to_vec(), triangles.to_vec()).unwrap();
    let welded = surface.welded();
    let outside = |t: &&[u32; 3]| {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
        let n = (b - a).cross(&(c - a)).normalize();
        n.y.abs() < 0.9 && surface.winding_number((a + b + c) / 3.0 + n * 1e-4) > 0.5
    };
    welded.triangles.iter().filter(outside).count()
}

fn largest_move(moves: &[(u32, Vec3)]) -> f64 {
    moves.iter().map(|(_, d)| d.norm()).fold(0.0, f64::max)
}

/// Skin that does not overlap, or that may pass through itself, is not moved.
#[test]
fn part_moves_nothing_without_overlap() {
    for turns in [0.0, 0.3, 0.9] {
        let parted = part_bar(&rolled_bar(turns, 0.05), &Contact::default());
        assert_eq!(parted, PartingOffsets::default(), "{turns}");
    }
    // Skin without self-contact is not moved either.
    let mut contact = Contact::default();
    contact.options.self_contact = false;
    assert_eq!(
        part_bar(&rolled_bar(1.2, 0.05), &contact),
        PartingOffsets::default()
    );
}

/// Both sides of an overlap give way by half of its depth, and skin far away stays.
#[test]
fn part_splits_overlap_evenly() {
    let bar = rolled_bar(1.2, 0.08);
    let parted = part_bar(&bar, &Contact::default());
    let before = count_buried_triangles(&bar, &displayed_vertices(&bar));
    let after = count_buried_triangles(&bar, &parted_vertices(&bar, &parted));
    assert!(before > 8 && 10 * after <= before, "{before} {after}");
    // Half of two centimetres, and a hair; both ends give way.
    let most = largest_move(&parted.moves);
    assert!((0.005..0.02).contains(&most), "{most}");
    let far: Vec<f64> = parted
        .moves
        .iter()
        .filter(|(_, d)| d.norm() > 0.005)
        .map(|(v, _)| bar.skin.rest_vertex(*v).z)
        .collect();
    assert!(far.iter().any(|z| *z < 0.3) && far.iter().any(|z| *z > 1.3));
    assert!(far.iter().all(|z| (z - 0.8).abs() > 0.3));
    assert!(!parted.points.is_empty());
    assert!(parted.points.iter().all(|p| p.force == Vec3::zeros()));
}

/// Displacements vanish with the depth of the overlap and change in proportion to it.
#[test]
fn part_is_continuous_in_depth() {
    let deepest =
        |pitch: f64| largest_move(&part_bar(&rolled_bar(1.2, pitch), &Contact::default()).moves);
    // Where the ends begin to touch.
    let (mut in_touch, mut apart) = (0.095, 0.12);
    assert!(deepest(in_touch) > 0.0 && deepest(apart) == 0.0);
    while apart - in_touch > 1e-6 {
        let middle = 0.5 * (in_touch + apart);
        *(if deepest(middle) > 0.0 {
            &mut in_touch
        } else {
            &mut apart
        }) = middle;
    }
    for depth in [2e-3, 5e-4, 1e-4, 2e-5] {
        let moved = deepest(in_touch - depth);
        assert!(moved < 2.5 * depth + 1e-5, "{depth} {moved}");
    }
    // The largest change of a vertex halves with the steps in which the ends go through each other.
    let change = |steps: usize| {
        let at = |i: usize| {
            let bar = rolled_bar(1.2, 0.11 - 0.03 * i as f64 / steps as f64);
            let mut all = vec![Vec3::zeros(); bar.skin.rest_vertices().len()];
            for (v, d) in part_bar(&bar, &Contact::default()).moves {
                all[v as usize] = d;
            }
            all
        };
        let frames: Vec<Vec<Vec3>> = (0..=steps).map(at).collect();
        let step = |pair: &[Vec<Vec3>]| {
            let ends = pair[0].iter().zip(&pair[1]);
            ends.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
        };
        frames.windows(2).map(step).fold(0.0, f64::max)
    };
    let (coarse, fine) = (change(10), change(20));
    assert!(fine < 0.7 * coarse, "{coarse} {fine}");
}

/// Displacements move and turn with the whole body.
#[test]
fn part_is_rigid_invariant() {
    let bar = rolled_bar(1.2, 0.085);
    let by = Isometry3::new(Vec3::new(30.0, -4.0, 7.0), Vec3::new(0.4, -1.1, 0.7));
    let mut gone = rolled_bar(1.2, 0.085);
    for x in &mut gone.base {
        *x = by.transform_point(&Point3::from(*x)).coords;
    }
    let (here, there) = (
        part_bar(&bar, &Contact::default()),
        part_bar(&gone, &Contact::default()),
    );
    let (here, there) = (parted_vertices(&bar, &here), parted_vertices(&gone, &there));
    for (a, b) in here.iter().zip(&there) {
        assert!((by.transform_point(&Point3::from(*a)).coords - b).norm() < 1e-6);
    }
}

/// The number of threads does not change a bit of the displacements.
#[test]
fn part_same_bits_across_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| part_bar(&rolled_bar(1.2, 0.06), &Contact::default()))
    };
    assert_eq!(with(1), with(3));
}

/// Skin of region zero takes no part in contact and is not moved.
#[test]
fn part_skips_region_zero() {
    let bar = rolled_bar(1.2, 0.05);
    let rest = bar.skin.rest_vertices().iter();
    let contact = Contact {
        regions: Some(rest.map(|x| u32::from(x.z < 0.8)).collect()),
        ..Contact::default()
    };
    assert!(part_bar(&bar, &contact).moves.is_empty());
}

/// Skin below a plane is brought to its surface, and skin far from the plane stays.
#[test]
fn part_pushes_out_of_plane() {
    let bar = rolled_bar(0.0, 0.0);
    let plane = Collider::plane(Vec3::new(0.0, 0.0, 0.02), Vec3::z()).unwrap();
    let contact = Contact {
        colliders: vec![Arc::new(plane)],
        ..Contact::default()
    };
    let parted = part_bar(&bar, &contact);
    let places = parted_vertices(&bar, &parted);
    let lowest = places.iter().map(|p| p.z).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.02 - 1e-6, "{lowest}");
    assert!(largest_move(&parted.moves) < 0.021);
    let far = |v: &u32| bar.skin.rest_vertex(*v).z > 1.5;
    assert!(!parted.moves.iter().any(|(v, _)| far(v)));
    assert!(
        parted
            .points
            .iter()
            .all(|p| p.other_body == 1 && p.gap > -1e-6)
    );
}
