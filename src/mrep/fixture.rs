// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures with known medial sheets, and limbs with known radii, for tests.

use crate::geometry::{frames, polyline};
use crate::mrep::figures::atom::Atom;
use crate::mrep::figures::figure::Figure;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use crate::surface::shapes::TestMesh;
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, TAU};

/// The medial sheet of an ellipsoid with half axes a ≥ b > c, its border at `reach` of the sheet's.
pub fn ellipsoid(axes: [f64; 3], rows: usize, cols: usize, reach: f64) -> Figure {
    crate::mrep::initial::ellipsoid::slab(axes, rows, cols, reach)
        .expect("an ellipsoid has a medial sheet")
}

/// A tube along a helix, its radius swelling once.
pub fn helix(atoms: usize, spokes: usize) -> Figure {
    let along = |i: usize| {
        let s = i as f64 / (atoms - 1) as f64;
        let (sin, cos) = (s * 2.0).sin_cos();
        let hub = Vec3::new(2.0 * cos, 2.0 * sin, 1.5 * s);
        let b = Vec3::new(-4.0 * sin, 4.0 * cos, 1.5).normalize();
        let n = Vec3::new(cos, sin, 0.0);
        let frame = Mat3::from_columns(&[b, n.cross(&b), n]);
        Atom::new(
            hub,
            0.5 + 0.2 * (s * TAU / 2.0).sin(),
            frame,
            TAU / 4.0,
            spokes,
        )
    };
    Figure::tube((0..atoms).map(along).collect()).expect("a helix is a tube")
}

/// A limb of radius `r` around a row of joints: cylinders that meet in mitres, half balls at both ends, of `around` corners.
pub fn limb(joints: &[Vec3], r: f64, around: usize) -> TestMesh {
    let ways: Vec<Vec3> = (joints.windows(2))
        .map(|w| (w[1] - w[0]).normalize())
        .collect();
    let last = joints.len() - 1;
    let any = ways[0].cross(&Vec3::new(0.3, 0.5, -0.8)).normalize();
    // The corners of a cylinder go on along the next one from where the mitre cuts them.
    let mut corners: Vec<Vec3> = (0..around)
        .map(|k| {
            let (sin, cos) = (TAU * k as f64 / around as f64).sin_cos();
            (any * cos + ways[0].cross(&any) * sin) * r
        })
        .collect();
    let mut rings: Vec<Vec<Vec3>> = Vec::new();
    let cap = |corners: &[Vec3], centre: Vec3, way: Vec3, turn: f64| -> Vec<Vec3> {
        let (sin, cos) = turn.sin_cos();
        corners
            .iter()
            .map(|c| centre + c * cos + way * (r * sin))
            .collect()
    };
    let quarter = around / 4;
    let turn = |k: usize| FRAC_PI_2 * k as f64 / quarter as f64;
    for k in (1..quarter).rev() {
        rings.push(cap(&corners, joints[0], -ways[0], turn(k)));
    }
    for (k, joint) in joints.iter().enumerate() {
        let before = ways[k.max(1) - 1];
        let after = ways[k.min(last - 1)];
        let mitre = before + after;
        let cut = |c: &Vec3| c - before * (c.dot(&mitre) / before.dot(&mitre));
        let ring: Vec<Vec3> = corners.iter().map(cut).collect();
        corners = ring.iter().map(|c| c - after * c.dot(&after)).collect();
        rings.push(ring.iter().map(|c| joint + c).collect());
        if k < last {
            let long = (joints[k + 1] - joint).norm();
            for i in 1..12 {
                let shift = after * (long * f64::from(i) / 12.0);
                rings.push(corners.iter().map(|c| joint + c + shift).collect());
            }
        }
    }
    for k in 1..quarter {
        rings.push(cap(&corners, joints[last], ways[last - 1], turn(k)));
    }
    let mut vertices = rings.concat();
    let mut triangles = Vec::new();
    let at = |i: usize, k: usize| (i * around + k % around) as u32;
    for i in 1..rings.len() {
        for k in 0..around {
            let [a, b, c, d] = [at(i - 1, k), at(i - 1, k + 1), at(i, k + 1), at(i, k)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    for (end, centre, way) in [
        (0, joints[0], -ways[0]),
        (rings.len() - 1, joints[last], ways[last - 1]),
    ] {
        let pole = vertices.len() as u32;
        vertices.push(centre + way * r);
        for k in 0..around {
            let (a, b) = (at(end, k), at(end, k + 1));
            triangles.push(if end == 0 { [pole, b, a] } else { [pole, a, b] });
        }
    }
    TestMesh {
        vertices,
        triangles,
    }
}

/// A body along x with a tail and four legs, each a tube: joined.
pub fn creature() -> crate::mrep::figures::model::Model {
    let tube = |row: &[Vec3], radii: [f64; 2]| {
        let n = 7;
        let total = polyline::arc_lengths(row)[row.len() - 1];
        let hubs = polyline::resample(row, [0.0, total], n);
        let frames = frames::hub_frames(&hubs, 0.2);
        let atoms = hubs.iter().zip(frames).enumerate();
        let atom = |(i, (hub, frame)): (usize, (&Vec3, Mat3))| {
            let share = i as f64 / (n - 1) as f64;
            let r = radii[0] + (radii[1] - radii[0]) * share;
            Atom::new(*hub, r, frame, FRAC_PI_2, 8)
        };
        Figure::tube(atoms.map(atom).collect()).expect("a tube")
    };
    let at = Vec3::new;
    let body = tube(&[at(-1.0, 0.0, 0.0), at(1.0, 0.0, 0.05)], [0.45, 0.4]);
    let mut figures = vec![
        body,
        tube(&[at(1.0, 0.0, 0.1), at(2.4, 0.0, 0.5)], [0.2, 0.08]),
    ];
    for (k, x) in [-0.9, 0.9].into_iter().enumerate() {
        for y in [-0.25, 0.27] {
            let long = 1.2 + 0.1 * k as f64 + 0.2 * y;
            let leg = [
                at(x, y, -0.1),
                at(x, 1.3 * y, -0.75),
                at(x + 0.3, 1.3 * y, -long),
            ];
            figures.push(tube(&leg, [0.17, 0.12]));
        }
    }
    let names = [
        "body",
        "tail",
        "hind right",
        "hind left",
        "fore right",
        "fore left",
    ];
    let names = names.iter().map(|n| n.to_string()).collect();
    crate::mrep::figures::model::Model::from_figures(figures, names).expect("names")
}

/// Returns the largest distance between two figures' atoms, in radii.
pub fn figure_distance(a: &Figure, b: &Figure) -> f64 {
    let each = a.atoms().iter().zip(b.atoms()).map(|(a, b)| {
        let lengths = a.lengths.iter().zip(&b.lengths).map(|(x, y)| (x - y).abs());
        let numbers = [
            (a.hub - b.hub).norm() / a.radius,
            (a.radius / b.radius - 1.0).abs(),
            (a.frame - b.frame).amax(),
            (a.end - b.end).abs(),
        ];
        lengths.chain(numbers).fold(0.0, f64::max)
    });
    each.fold(0.0, f64::max)
}

/// An arm of three bones in the plane of x and z that bends upward by `angle` at each joint, of a radius that shrinks along it; its
/// skin beyond the first joint follows the bones, what lies before it a body.
pub fn arm(angle: f64, map: impl Fn(Vec3) -> Vec3) -> (Surface, Skeleton, SkinWeights) {
    let directions: Vec<Vec3> = (0..4)
        .map(|k| {
            Vec3::new(
                (angle * f64::from(k)).cos(),
                0.0,
                (angle * f64::from(k)).sin(),
            )
        })
        .collect();
    let mut ends = vec![Vec3::new(-1.0, 0.0, 0.0)];
    for d in &directions {
        ends.push(ends[ends.len() - 1] + d);
    }
    let place = |s: f64| {
        let k = (s.max(0.0) as usize).min(3);
        ends[k] + directions[k] * (s - k as f64)
    };
    let (rows, around) = (120, 24);
    let (mut vertices, mut triangles, mut table) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..=rows {
        let s = 4.0 * i as f64 / rows as f64;
        // The direction between those of neighbours, so that rings do not cross at the joints.
        let along = (place((s + 0.3).min(4.0)) - place((s - 0.3).max(0.0))).normalize();
        let across = along.cross(&Vec3::y());
        for j in 0..around {
            let (sin, cos) = (TAU * j as f64 / around as f64).sin_cos();
            vertices.push(map(
                place(s) + (across * -cos + Vec3::y() * sin) * (0.3 - 0.03 * s)
            ));
            let bone = (s.min(3.999)) as usize;
            table.push(
                (0..4)
                    .map(|b| f64::from(u8::from(b == bone)))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let at = |i: usize, j: usize| (i * around + j % around) as u32;
    for i in 0..rows {
        for j in 0..around {
            triangles.push([at(i, j), at(i + 1, j + 1), at(i + 1, j)]);
            triangles.push([at(i, j), at(i, j + 1), at(i + 1, j + 1)]);
        }
    }
    for (i, flip) in [(0, true), (rows, false)] {
        let middle = vertices.len() as u32;
        vertices.push(map(place(4.0 * i as f64 / rows as f64)));
        table.push(
            (0..4)
                .map(|b| f64::from(u8::from(b == if i == 0 { 0 } else { 3 })))
                .collect(),
        );
        for j in 0..around {
            let (a, b) = (at(i, j), at(i, j + 1));
            triangles.push(if flip { [middle, b, a] } else { [middle, a, b] });
        }
    }
    let names = ["body", "upper", "lower", "hand"]
        .map(String::from)
        .to_vec();
    let parents = vec![None, Some(0), Some(1), Some(2)];
    let ends: Vec<Vec3> = ends.into_iter().map(map).collect();
    let skeleton = Skeleton::new(names, parents, ends[..4].to_vec(), ends[1..].to_vec()).unwrap();
    let n = vertices.len();
    let surface = Surface::new(vertices, triangles).unwrap();
    let weights = SkinWeights::from_dense(n, 4, &table.concat()).unwrap();
    (surface, skeleton, weights)
}
