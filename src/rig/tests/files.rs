// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs as text: rigs that are written come back to the last bit, and errors name the line.

use super::*;
use crate::progress::Silent;
use std::path::PathBuf;

/// Writes a file of the test's own.
fn write_file(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thew-rigs-{name}-{}.toml", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

fn load_text(name: &str, text: &str, body: Option<&Body>) -> Result<Vec<Rig>, RigError> {
    let path = write_file(name, text.as_bytes());
    let rigs = load(&path, body, &Silent);
    std::fs::remove_file(path).unwrap();
    rigs
}

/// Returns the text of a rig with the `yields` of its template, and `second` in its second sample.
fn rig_text_with_yields(second: &str) -> String {
    format!(
        r#"format = 1

[[rigs]]
name = "push"

[rigs.template]
kind = "bump"
radius = 0.19
yields = 0.01

[rigs.guide]
kind = "bone"
bone = 1
distance = 0.1

[[rigs.samples]]
control = 0.0

[[rigs.samples]]
control = 1.0
{second}
"#
    )
}

/// Rigs that are written come back bit for bit.
#[test]
fn rig_file_round_trip() {
    let body = BarOptions::default().build();
    let mut rigs = Vec::new();
    for (i, guide) in guides(&body).into_iter().enumerate() {
        for &kind in TemplateKind::ALL {
            let plain = rig(template(kind, 1.0 / 3.0), guide.clone());
            let sample = |control: f64| Sample {
                control,
                parameters: plain
                    .own_parameters()
                    .iter()
                    .map(|p| p * (1.0 + 0.1 * control))
                    .collect(),
            };
            let samples = (0..i).map(|k| sample(k as f64 / 7.0)).collect();
            let name = format!("\"{i}\" of {kind:?}\n");
            rigs.push(Rig::new(name, *plain.template().unwrap(), guide.clone(), samples).unwrap());
        }
    }
    let text = format_rigs(&rigs).unwrap();
    assert_eq!(parse_rigs("rigs", &text).unwrap(), rigs);
    let path = write_file("back", b"");
    save(&path, &rigs, None, &Silent).unwrap();
    assert_eq!(load(&path, None, &Silent).unwrap(), rigs);
    std::fs::remove_file(path).unwrap();
}

/// Errors of rig files name the line at fault.
#[test]
fn rig_file_errors_name_line() {
    let good = rig_text_with_yields("strength = 5.0").replace("yields = 0.01", "strength = 3.0");
    assert!(parse_rigs("rigs", &good).is_ok());
    for (from, to, wanted) in [
        ("format = 1", "format = 2", 1),
        ("name = \"push\"", "nam = \"push\"", 4),
        ("kind = \"bump\"", "kind = \"bomp\"", 7),
        ("radius = 0.19", "radius = -0.19", 8),
        ("bone = 1", "bone = -1", 13),
        ("distance = 0.1", "distance = \"far\"", 14),
        ("control = 1.0", "control = nan", 20),
        ("strength = 5.0", "strenght = 5.0", 21),
        ("strength = 5.0", "strength = ", 21),
    ] {
        let text = good.replacen(from, to, 1);
        match parse_rigs("rigs", &text) {
            Err(RigError::File { line, path, .. }) => {
                assert_eq!((line, path), (wanted, PathBuf::from("rigs")), "{to}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    let path = write_file("bytes", b"format = 1\n# ab\n\n# \xff\xfe\n");
    let error = load(&path, None, &Silent).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error, RigError::File { line: 4, .. }), "{error}");
}

/// A sample with a strength of its own does not use the peak displacement of the template.
#[test]
fn sample_strength_overrides_yield() {
    let body = BarOptions::default().build();
    let text = rig_text_with_yields("strength = 1234.5");
    assert!(parse_rigs("rigs", &text).is_err(), "yields need a body");
    let rigs = load_text("own", &text, Some(&body)).unwrap();
    let strength = |k: usize| rigs[0].samples()[k].parameters[1];
    assert_eq!(strength(1), 1234.5);
    let yields = rigs[0].peak_displacements(&body, &Silent).unwrap();
    assert!((yields[0] - 0.01).abs() < 1e-9);
    assert!((yields[1] / yields[0] - strength(1) / strength(0)).abs() < 1e-9);
    // A second sample without a value takes the template's; with `yields` of its own it takes those.
    for (second, wanted) in [("", 0.01), ("yields = -0.02", -0.02)] {
        let rigs = load_text("both", &rig_text_with_yields(second), Some(&body)).unwrap();
        let yields = rigs[0].peak_displacements(&body, &Silent).unwrap();
        assert!((yields[0] - 0.01).abs() < 1e-9 && (yields[1] - wanted).abs() < 1e-9);
    }
}

/// Returns the text of a sculpted rig of two points.
fn sculpted_text() -> String {
    "format = 1

[[rigs]]
name = \"Elbow\"
kind = \"sculpted\"

[[rigs.samples]]
control = 0.0

[[rigs.samples]]
control = 1.0
smoothness = 0.0312345678
turns = { upper = [1.0, 0.0, 0.5] }
points = [[0.2, 0.1, 0.400000123], [0.2, -0.1, 0.5]]
areas = [0.01, 0.02]
bones = [\"lower\", \"upper\"]
offsets = [[0.05, 0.0, 0.0], [0.0, 0.0123456789, 0.0]]
"
    .to_owned()
}

/// A sculpted rig comes back from text bit for bit, and from a file with five digits, with which its forces hardly differ.
#[test]
fn sculpted_file_round_trip() {
    let body = BarOptions::default().build();
    let rigs = parse_rigs("rigs", &sculpted_text()).unwrap();
    assert_eq!(rigs[0].kind().name(), "sculpted");
    assert_eq!(
        parse_rigs("rigs", &format_rigs(&rigs).unwrap()).unwrap(),
        rigs
    );
    let path = write_file("sculpted", b"");
    save(&path, &rigs, Some(&body), &Silent).unwrap();
    let kept = load(&path, Some(&body), &Silent).unwrap();
    save(&path, &kept, None, &Silent).unwrap();
    assert_eq!(load(&path, None, &Silent).unwrap(), kept);
    std::fs::remove_file(path).unwrap();
    assert_ne!(kept, rigs);
    let [own, kept] = [&rigs[0], &kept[0]].map(|rig| rig.forces(&body, &[1.0]).unwrap());
    let largest = own.iter().map(Vec3::norm).fold(0.0, f64::max);
    let apart = own.iter().zip(&kept).map(|(a, b)| (a - b).norm());
    assert!(largest > 0.0 && apart.fold(0.0, f64::max) < 1e-3 * largest);
}

/// Errors of sculpted rigs in files name the line at fault.
#[test]
fn sculpted_file_errors_name_line() {
    for (from, to, wanted) in [
        ("\"sculpted\"", "\"carved\"", 5),
        ("areas = [0.01, 0.02]", "areas = [0.01]", 15),
        ("areas = [0.01, 0.02]", "areas = [0.01, -0.02]", 14),
        ("\"upper\"]", "3]", 16),
        ("[0.2, -0.1, 0.5]", "[0.2, -0.1]", 14),
        ("[0.05, 0.0, 0.0]", "[nan, 0.0, 0.0]", 17),
        ("[1.0, 0.0, 0.5]", "\"left\"", 13),
        ("smoothness = 0.0312345678", "smoothness = -1.0", 12),
        ("control = 0.0", "control = 1.0", 1),
        ("turns", "turn", 13),
    ] {
        let text = sculpted_text().replacen(from, to, 1);
        match parse_rigs("rigs", &text) {
            Err(RigError::File { line, .. }) => {
                assert!(line == wanted || wanted == 1, "{to}: line {line}")
            }
            other => panic!("{to}: {other:?}"),
        }
    }
}
