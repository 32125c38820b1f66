// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files there and back, and damaged ones.

use super::super::fixture::{ellipsoid, helix};
use super::*;
use proptest::prelude::*;

fn folder() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("thew-mrep-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn model() -> Model {
    let tube = helix(5, 6);
    let tube = Figure::tube_with(
        tube.atoms().to_vec(),
        Some(tube.knots().to_vec()),
        vec![0.0, 0.4, 1.0],
    );
    let slab = ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8);
    Model::new(vec![
        ("tail \"x\"".into(), tube.unwrap()),
        ("body".into(), slab),
    ])
    .unwrap()
}

#[test]
fn what_was_written_comes_back_to_the_last_bit() {
    let path = folder().join("both.mrep.toml");
    model().save(&path).unwrap();
    assert_eq!(Model::load(&path, 1.0).unwrap(), model());
    let small = Model::load(&path, 1e-3).unwrap();
    let whole = model();
    let (a, b) = (&whole.figures()[0].1, &small.figures()[0].1);
    assert!((a.size() * 1e-3 - b.size()).abs() < 1e-12);
}

#[test]
fn a_slab_goes_through_an_s_rep_and_back() {
    let slab = ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8);
    let path = folder().join("body.srep.json");
    Model::from(slab.clone()).save(&path).unwrap();
    let back = Model::load(&path, 1.0).unwrap();
    for (i, (a, b)) in slab
        .atoms()
        .iter()
        .zip(back.one().unwrap().atoms())
        .enumerate()
    {
        assert!((a.hub - b.hub).norm() < 1e-12 && (a.radius - b.radius).abs() < 1e-12);
        assert!(
            (a.angle - b.angle).abs() < 1e-9,
            "{i} {} {}",
            a.angle,
            b.angle
        );
        if slab.kind().role(i).closes() {
            assert!(
                (a.frame - b.frame).amax() < 1e-9 && (a.end - b.end).abs() < 1e-12,
                "{i} {a:?} {b:?}"
            );
        } else {
            // What is exactly across may turn about n, which no s-rep tells.
            assert!((a.frame.column(2) - b.frame.column(2)).norm() < 1e-9);
        }
    }
    let said = Model::from(helix(5, 6))
        .save(&path)
        .unwrap_err()
        .to_string();
    assert!(said.contains("tube"), "{said}");
}

#[test]
fn lps_and_old_files_are_turned_round() {
    let plain = |v: [f64; 3]| format!("[{}, {}, {}]", -v[0], -v[1], v[2]);
    let named = |v: [f64; 3]| format!("{{\"CoordinateSystem\": \"LPS\", \"Value\": {}}}", plain(v));
    for vector in [&plain as &dyn Fn([f64; 3]) -> String, &named] {
        let spoke = |p: [f64; 3], d: [f64; 3]| {
            format!(
                "{{\"SkeletalPoint\": {}, \"Direction\": {}}}",
                vector(p),
                vector(d)
            )
        };
        let point = |x: f64, y: f64| {
            let p = [x, y, 0.0];
            let (a, b) = (x - 0.5, y - 0.5);
            format!(
                "{{\"UpSpoke\": {}, \"DownSpoke\": {}, \"CrestSpoke\": {}}}",
                spoke(p, [0.1 * a, 0.1 * b, 0.3]),
                spoke(p, [0.1 * a, 0.1 * b, -0.3]),
                spoke(p, [0.4 * a, 0.4 * b, 0.0])
            )
        };
        let rows: Vec<String> = (0..2)
            .map(|i| {
                format!(
                    "[{}, {}]",
                    point(f64::from(i), 0.0),
                    point(f64::from(i), 1.0)
                )
            })
            .collect();
        let text = format!(
            "{{\"RectangularGridSRep\": {{\"Rows\": 2, \"Cols\": 2, \"Skeleton\": [{}]}}}}",
            rows.join(",")
        );
        let figure = srep::parsed(&text).unwrap();
        assert!((figure.atoms()[2].hub - Vec3::new(1.0, 0.0, 0.0)).norm() < 1e-12);
        assert!(
            figure.atoms()[0].frame.column(0).x < -0.5 && figure.atoms()[0].frame.column(2).z > 0.9
        );
    }
}

#[test]
fn damaged_files_are_told_by_line_or_place() {
    let path = folder().join("damaged.mrep.toml");
    let whole = model().written();
    let said = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Model::load(&path, 1.0).unwrap_err().to_string()
    };
    assert!(said(&whole.replace("spokes = 6", "spokes = \"six\"")).contains("line"));
    assert!(said(&whole.replace("\nangle", "\nangel")).contains("angel"));
    assert!(said(&whole.replace("atoms = 5", "atoms = 4")).contains("4 atoms, but there are 5"));
    assert!(said(&whole.replace("kind = \"tube\"", "kind = \"tub\"")).contains("'tub'"));
    assert!(said(&whole.replace("format = 1", "format = 9")).contains("format 9"));
    assert!(said(&whole[..whole.len() / 2]).contains("damaged.mrep.toml"));
    assert!(said(&whole.replacen("r = 0.5", "r = nan", 1)).contains("radius"));
    assert!(said("").contains("format"));
    let other = Model::load(&folder().join("x.obj"), 1.0)
        .unwrap_err()
        .to_string();
    assert!(other.contains(".mrep.toml"));
    let none = Model::load(&folder().join("none.mrep.toml"), 1.0).unwrap_err();
    assert!(matches!(none, MRepError::Disk { .. }));
    for (text, part) in [
        ("{", "no JSON"),
        ("{}", "no s-rep"),
        ("{\"RectangularGridSRep\": {\"Rows\": 2}}", "'Cols'"),
        (
            "{\"RectangularGridSRep\": {\"Rows\": 2, \"Cols\": 2, \"Skeleton\": [[], []]}}",
            "row 0",
        ),
        (
            "{\"EllipticalSRep\": {\"CrestPoints\": 8, \"Steps\": 2, \"Skeleton\": 3}}",
            "Skeleton",
        ),
    ] {
        let said = srep::parsed(text).unwrap_err();
        assert!(said.contains(part), "{said}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", from in 0_usize..4000, to in 0_usize..4000) {
        let _ = Model::parsed(&text);
        let _ = srep::parsed(&text);
        // Pieces of good ones, too.
        let whole = model().written();
        let cut = |at: usize| (0..=at.min(whole.len())).rev().find(|k| whole.is_char_boundary(*k)).unwrap_or(0);
        let (a, b) = (cut(from.min(to)), cut(from.max(to)));
        let _ = Model::parsed(&format!("{}{}", &whole[..a], &whole[b..]));
    }
}
