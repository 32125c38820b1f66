// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips of files, and damaged files.

use super::*;
use crate::mrep::fixture::{ellipsoid, helix};
use proptest::prelude::*;

/// A temporary folder that is removed when dropped.
struct ScratchFolder(std::path::PathBuf);

impl ScratchFolder {
    fn new(test: &str) -> Self {
        let name = format!("thew-mrep-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn join(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn model() -> Model {
    let tube = helix(5, 6);
    let tube = Figure::tube_with_knots(
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

/// A model that is saved and loaded comes back bit for bit, and loading can scale it.
#[test]
fn model_file_round_trip() {
    let folder = ScratchFolder::new("bits");
    let path = folder.join("both.mrep.toml");
    model().save(&path).unwrap();
    assert_eq!(Model::load(&path, 1.0).unwrap(), model());
    let small = Model::load(&path, 1e-3).unwrap();
    let whole = model();
    let (a, b) = (&whole.figures()[0].1, &small.figures()[0].1);
    assert!((a.size() * 1e-3 - b.size()).abs() < 1e-12);
}

/// The error for a damaged file names the line or the entry at fault.
#[test]
fn damaged_file_names_place() {
    let folder = ScratchFolder::new("damaged");
    let path = folder.join("damaged.mrep.toml");
    let whole = model().to_text();
    let said = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Model::load(&path, 1.0).unwrap_err().to_string()
    };
    assert!(said(&whole.replace("spokes = 6", "spokes = \"six\"")).contains("line"));
    assert!(said(&whole.replace("\nangle", "\nangel")).contains("angel"));
    assert!(said(&whole.replace("atoms = 5", "atoms = 4")).contains("4 atoms, but there are 5"));
    assert!(said(&whole.replace("kind = \"tube\"", "kind = \"tub\"")).contains("'tub'"));
    let format = said(&whole.replace("format = 1", "format = 9"));
    assert!(
        format.contains("format 9") && format.contains("line 2"),
        "{format}"
    );
    let foreign = said(&whole.replace("kind = \"slab\"", "kind = \"slab\"\nspokes = 2"));
    let at = 1 + whole[..whole.find("name = \"body\"").unwrap()]
        .matches('\n')
        .count();
    let near = (at - 1..=at).any(|line| foreign.contains(&format!("line {line}")));
    assert!(
        near && foreign.contains("a slab has no key 'spokes'"),
        "{foreign}"
    );
    assert!(said(&whole[..whole.len() / 2]).contains("damaged.mrep.toml"));
    assert!(said(&whole.replacen("r = 0.5", "r = nan", 1)).contains("radius"));
    assert!(said("").contains("format"));
    let other = Model::load(&folder.join("x.obj"), 1.0)
        .unwrap_err()
        .to_string();
    assert!(other.contains(".mrep.toml"));
    let none = Model::load(&folder.join("none.mrep.toml"), 1.0).unwrap_err();
    assert!(matches!(none, MRepError::Disk { .. }));
    for (text, part) in [
        ("{", "not JSON"),
        ("{}", "not an s-rep"),
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
        let said = srep::parse(text).unwrap_err();
        assert!(said.contains(part), "{said}");
    }
}

proptest! {
    /// No text, and no piece of a valid file, makes the parsers panic.
    #[test]
    fn parsing_never_panics(text in "\\PC{0,200}", from in 0_usize..4000, to in 0_usize..4000) {
        let _ = Model::parse(&text);
        let _ = srep::parse(&text);
        // Pieces of valid files.
        let whole = model().to_text();
        let cut = |at: usize| (0..=at.min(whole.len())).rev().find(|k| whole.is_char_boundary(*k)).unwrap_or(0);
        let (a, b) = (cut(from.min(to)), cut(from.max(to)));
        let _ = Model::parse(&format!("{}{}", &whole[..a], &whole[b..]));
    }
}
