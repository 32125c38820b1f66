// SPDX-License-Identifier: MIT OR Apache-2.0
//! s-reps: round trips, rotations, leaning spokes, elliptical and damaged files.

use super::*;
use crate::mrep::fixture::ellipsoid;
use std::f64::consts::TAU;

const AXES: [f64; 3] = [2.0, 1.2, 0.6];

fn slab() -> Figure {
    ellipsoid(AXES, 3, 5, 0.8)
}

fn vector_value(v: Vec3) -> Value {
    json!({"CoordinateSystem": "RAS", "Value": [v.x, v.y, v.z]})
}

fn spoke(start: Vec3, direction: Vec3) -> Value {
    json!({"SkeletalPoint": vector_value(start), "Direction": vector_value(direction)})
}

/// Returns the file of a slab as a JSON value that tests can change.
fn slab_file(figure: &Figure) -> Value {
    serde_json::from_str(&write_text(figure).unwrap()).unwrap()
}

fn point_mut(file: &mut Value, row: usize, col: usize) -> &mut Value {
    &mut file["RectangularGridSRep"]["Skeleton"][row][col]
}

/// Builds an ellipsoid as an elliptical s-rep: spine, straight lines to the fold, which is the border of its whole medial sheet.
fn elliptical_file(around: usize, steps: usize) -> Value {
    let [a, b, c] = AXES;
    let [mx, my] = [(a * a - c * c) / a, (b * b - c * c) / b];
    let share = 1.0 - (my / mx).powi(2);
    let line = |i: usize| -> Vec<Value> {
        let (sin, cos) = (TAU * i as f64 / around as f64).sin_cos();
        let at = |s: usize| {
            let t = s as f64 / steps as f64;
            let (x, y) = (cos * (share + (1.0 - share) * t), sin * t);
            let hub = Vec3::new(mx * x, my * y, 0.0);
            let z = c * (1.0 - x * x - y * y).max(0.0).sqrt();
            let (up, down) = (Vec3::new(a * x, b * y, z), Vec3::new(a * x, b * y, -z));
            let mut out =
                json!({"UpSpoke": spoke(hub, up - hub), "DownSpoke": spoke(hub, down - hub)});
            if s == steps {
                out["CrestSpoke"] = spoke(hub, Vec3::new(a * cos, b * sin, 0.0) - hub);
            }
            out
        };
        (0..=steps).map(at).collect()
    };
    let skeleton: Vec<_> = (0..around).map(line).collect();
    json!({"EllipticalSRep": {"CrestPoints": around, "Steps": steps, "Skeleton": skeleton}})
}

/// Returns the largest distance between hubs and spokes of two slabs of one shape, end spokes included.
fn max_difference(a: &Figure, b: &Figure) -> f64 {
    let kind = a.kind();
    let pairs = a.atoms().iter().zip(b.atoms()).enumerate();
    let of = |(i, (a, b)): (usize, (&Atom, &Atom))| {
        let role = kind.role(i);
        let counts = if role.is_closing() { 4 } else { 3 };
        let (p, q) = (a.vectors(role), b.vectors(role));
        let off = p.iter().zip(&q).take(counts).map(|(p, q)| (p - q).norm());
        off.fold(0.0, f64::max)
    };
    pairs.map(of).fold(0.0, f64::max)
}

/// A slab that is written as an s-rep and read again is the same slab.
#[test]
fn srep_slab_round_trip() {
    for slab in [slab(), ellipsoid(AXES, 5, 9, 0.8)] {
        let back = parse(&write_text(&slab).unwrap()).unwrap();
        assert!(max_difference(&slab, &back) < 1e-12);
        for (i, (a, b)) in slab.atoms().iter().zip(back.atoms()).enumerate() {
            assert!((a.radius - b.radius).abs() < 1e-12 && (a.angle - b.angle).abs() < 1e-9);
            // Where the spokes are opposite, an s-rep does not determine the rotation about n.
            assert!((a.frame.column(2) - b.frame.column(2)).norm() < 1e-9);
            if slab.kind().role(i).is_closing() {
                assert!((a.frame - b.frame).amax() < 1e-9 && (a.end - b.end).abs() < 1e-12);
            }
        }
    }
    let said = write_text(&crate::mrep::fixture::helix(5, 6)).unwrap_err();
    assert!(said.contains("tube"), "{said}");
}

/// The s-rep of a figure that is moved, turned and scaled gives that figure.
#[test]
fn srep_read_is_equivariant() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 0.7)).matrix();
    let shift = Vec3::new(1.0, -4.0, 2.0);
    let turned = |f: &Figure| f.apply_similarity(3.0, &turn, shift);
    let (one, other) = (
        parse(&write_text(&slab()).unwrap()),
        parse(&write_text(&turned(&slab())).unwrap()),
    );
    let (one, other) = (turned(&one.unwrap()), other.unwrap());
    for (a, b) in one.atoms().iter().zip(other.atoms()) {
        assert!((a.frame - b.frame).amax() < 1e-9 && (a.hub - b.hub).norm() < 1e-9);
        assert!((a.angle - b.angle).abs() < 1e-9 && (a.end - b.end).abs() < 1e-9);
    }
}

/// Coordinates marked LPS are converted; plain numbers without a mark are taken as they are.
#[test]
fn srep_converts_lps() {
    let ras = slab_file(&slab());
    let as_written = parse(&ras.to_string()).unwrap();
    fn visit_vectors(value: &mut Value, change: &dyn Fn(&mut Value)) {
        if value.get("CoordinateSystem").is_some() {
            return change(value);
        }
        match value {
            Value::Object(all) => all.values_mut().for_each(|v| visit_vectors(v, change)),
            Value::Array(all) => all.iter_mut().for_each(|v| visit_vectors(v, change)),
            _ => {}
        }
    }
    let lps = |v: &mut Value| {
        let [x, y, z] = [0, 1, 2].map(|k| v["Value"][k].as_f64().unwrap());
        *v = json!({"CoordinateSystem": "LPS", "Value": [-x, -y, z]});
    };
    for change in [&lps as &dyn Fn(&mut Value), &|v| *v = v["Value"].clone()] {
        let mut other = ras.clone();
        visit_vectors(&mut other, change);
        assert_ne!(other, ras);
        assert!(max_difference(&parse(&other.to_string()).unwrap(), &as_written) < 1e-15);
    }
}

/// Border atoms keep their side even if their spokes lean away from the crest.
#[test]
fn srep_border_atoms_keep_side() {
    let slab = slab();
    let atom = &slab.atoms()[2];
    let [b, n] = [0, 2].map(|k| atom.frame.column(k).into_owned());
    let legality = slab.legality();
    for lean in [-0.02, -1e-5, -1e-9, 0.0, 1e-7, 1e-3] {
        let mut file = slab_file(&slab);
        for (key, way) in [("UpSpoke", n), ("DownSpoke", -n)] {
            let direction = (way + b * lean) * atom.radius;
            point_mut(&mut file, 0, 2)[key] = spoke(atom.hub, direction);
        }
        let read = parse(&file.to_string()).unwrap();
        let turned = read.atoms()[2].frame.column(0).dot(&b);
        assert!(turned > 0.999, "{lean}: {turned}");
        assert!(read.legality() > 0.3 * legality, "{lean}");
    }
}

/// A crest spoke that begins away from its atom still ends at the stated point.
#[test]
fn srep_keeps_crest_spoke_end() {
    let slab = slab();
    let atom = &slab.atoms()[2];
    let way = atom.frame.column(0) * (0.5 * atom.end * atom.radius);
    let mut file = slab_file(&slab);
    point_mut(&mut file, 0, 2)["CrestSpoke"] = spoke(atom.hub + way, way);
    assert!(max_difference(&parse(&file.to_string()).unwrap(), &slab) < 1e-12);
    // The up and down spokes of one point must begin at the same place.
    point_mut(&mut file, 1, 2)["DownSpoke"]["SkeletalPoint"] =
        vector_value(Vec3::new(5.0, 0.0, 0.0));
    let said = parse(&file.to_string()).unwrap_err();
    assert!(
        said.contains("row 1, column 2") && said.contains("different places"),
        "{said}"
    );
}

/// An elliptical s-rep of an ellipsoid converges to the ellipsoid's known grid.
#[test]
fn elliptical_srep_matches_ellipsoid() {
    let known = ellipsoid(AXES, SAMPLE_GRID[0], SAMPLE_GRID[1], 0.8);
    let mut last = f64::INFINITY;
    for (around, steps, most) in [(24, 2, 0.1), (24, 4, 1e-2), (48, 8, 1e-3)] {
        let read = parse(&elliptical_file(around, steps).to_string()).unwrap();
        let off = max_difference(&read, &known) / known.size();
        println!(
            "{around} {steps}: {off:.1e}, legality {:.3}",
            read.legality()
        );
        assert!(off < most && off < last, "{around} {steps}: {off}");
        assert!(read.legality() > 0.5 * known.legality());
        last = off;
    }
}

/// The error for an invalid elliptical s-rep explains the fault.
#[test]
fn elliptical_srep_errors_explain() {
    let said = |change: &dyn Fn(&mut Value)| {
        let mut file = elliptical_file(8, 2);
        change(&mut file["EllipticalSRep"]);
        parse(&file.to_string()).unwrap_err()
    };
    let odd = said(&|f| {
        f["CrestPoints"] = json!(7);
        f["Skeleton"].as_array_mut().unwrap().pop();
    });
    assert!(odd.contains("even"), "{odd}");
    let crest = said(&|f| {
        let point = f["Skeleton"][3][2].as_object_mut().unwrap();
        point.remove("CrestSpoke");
    });
    assert!(
        crest.contains("row 3, column 2") && crest.contains("fold"),
        "{crest}"
    );
    let flat = said(&|f| {
        let first = f["Skeleton"][0].clone();
        f["Skeleton"].as_array_mut().unwrap().fill(first);
    });
    assert!(flat.contains("coincide"), "{flat}");
}

/// No single change in a file leads to a figure with numbers that are not finite.
#[test]
fn srep_mutations_give_no_nan() {
    fn collect_paths(value: &Value, at: String, all: &mut Vec<String>) {
        all.push(at.clone());
        match value {
            Value::Object(of) => of
                .iter()
                .for_each(|(k, v)| collect_paths(v, format!("{at}/{k}"), all)),
            Value::Array(of) => (0..)
                .zip(of)
                .for_each(|(k, v)| collect_paths(v, format!("{at}/{k}"), all)),
            _ => {}
        }
    }
    let others = [
        json!(null),
        json!(0),
        json!("x"),
        json!([]),
        json!(1e300),
        json!(-1e11),
        json!(1e-300),
        json!({}),
    ];
    let mut read = 0;
    for whole in [elliptical_file(8, 2), slab_file(&slab())] {
        let mut all = Vec::new();
        collect_paths(&whole, String::new(), &mut all);
        for at in all.iter().step_by(3) {
            for other in &others {
                let mut damaged = whole.clone();
                *damaged.pointer_mut(at).unwrap() = other.clone();
                let Ok(figure) = parse(&damaged.to_string()) else {
                    continue;
                };
                read += 1;
                for atom in figure.atoms() {
                    let numbers = atom.hub.iter().chain(&atom.frame).chain(&atom.lengths);
                    let more = [&atom.radius, &atom.angle, &atom.end];
                    assert!(numbers.chain(more).all(|x| x.is_finite()), "{at} {other}");
                }
            }
        }
    }
    assert!(read > 0);
}
