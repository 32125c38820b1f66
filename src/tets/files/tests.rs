// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of tetrahedra: round trips to the last bit, content that is skipped, and damaged files.

use super::*;
use crate::disk::tests::TestFolder;
use proptest::prelude::*;
use std::fs;

/// Builds a bar with coordinates that need all their digits.
fn bar() -> TetMesh {
    let bar = TetMesh::grid([3, 2, 1], [1.0, 0.7, 1.0 / 3.0]).unwrap();
    let crooked =
        |x: &Vec3| x.map(|c| (c * 1.1 + 1.0 / 7.0) * (1.0 + 1e-9 * c.sin()) - 1e5_f64.sqrt());
    TetMesh::from_cubes(
        bar.vertices().iter().map(crooked).collect(),
        bar.cubes().to_vec(),
    )
    .unwrap()
}

fn read(path: &Path) -> Result<TetMesh, TetError> {
    TetMesh::read(path, MeshRepairs::default())
}

/// A mesh that is written is read back bit for bit, in every format.
#[test]
fn read_keeps_written_bits() {
    let (folder, mesh) = (TestFolder::new(), bar());
    for name in ["a.node", "b.ele", "c.mesh", "d.veg"] {
        let path = folder.0.join(name);
        mesh.write(&path, WriteSettings::default()).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.vertices(), mesh.vertices(), "{name}");
        assert_eq!(back.tets(), mesh.tets(), "{name}");
        assert!(back.cubes().is_empty());
    }
    let cubic = WriteSettings {
        elements: ElementKind::Cubic,
        ..WriteSettings::default()
    };
    let path = folder.0.join("e.veg");
    mesh.write(&path, cubic).unwrap();
    assert_eq!(read(&path).unwrap(), mesh);
    // A path without ending finds the pair.
    assert_eq!(read(&folder.0.join("a")).unwrap().tets(), mesh.tets());
    assert_eq!(
        folder.names(),
        [
            "a.ele", "a.node", "b.ele", "b.node", "c.mesh", "d.veg", "e.veg"
        ]
    );
}

/// Extreme numbers are read back bit for bit.
#[test]
fn extreme_numbers_survive_files() {
    let folder = TestFolder::new();
    let x = vec![
        Vec3::new(-0.0, 5e-324, 1e-300),
        Vec3::new(1.0 + f64::EPSILON, 0.0, 1e-5),
        Vec3::new(0.0, 1e16 / 3.0, 0.0),
        Vec3::new(0.1, 0.2, 123456789012345680.0),
    ];
    let mesh = TetMesh::with_repairs(
        x,
        vec![[0, 1, 2, 3]],
        MeshRepairs {
            orient: true,
            ..MeshRepairs::default()
        },
    );
    // Flat by our measure (edges of very different lengths), so only the text is looked at.
    assert!(mesh.is_err());
    for x in [-0.0, 5e-324, 1.0 + f64::EPSILON, f64::MAX, 1e16 / 3.0, 0.1] {
        let text = format_coordinates(&Vec3::repeat(x))[0].clone();
        assert_eq!(
            scan::parse_real(&text).map(f64::to_bits),
            Some(f64::to_bits(x)),
            "{text}"
        );
    }
    assert!(folder.names().is_empty());
}

/// Files of TetGen are read with comments, attributes and nodes on edges.
#[test]
fn tetgen_files_are_read() {
    let folder = TestFolder::new();
    folder.write(
        "x.1.node",
        "# made by a program\n\n4 3 2 1  # attributes and a marker\n1 0 0 0 7 7 0\n2 1 0 0 7 7 1\n\
         3 0 1 0 7 7 1\n  4  0 0 1.0D+00 7 7 1\n# the end\n",
    );
    let ele = folder.write("x.1.ele", "1 4 1\n1 1 2 3 4 9\n");
    for path in [ele, folder.0.join("x.1"), folder.0.join("x.1.node")] {
        let mesh = read(&path).unwrap();
        assert_eq!(mesh.tets(), [[0, 1, 2, 3]]);
        assert_eq!(mesh.vertices()[3], Vec3::z());
    }
    // The other orientation is a convention when all have it.
    folder.write("x.1.ele", "1 4 0\n1 2 1 3 4\n");
    approx::assert_relative_eq!(read(&folder.0.join("x.1")).unwrap().volume(), 1.0 / 6.0);
    // Of ten nodes, the middles of the edges are dropped.
    let middles = "5 .5 0 0\n6 .5 .5 0\n7 0 .5 0\n8 0 0 .5\n9 .5 0 .5\n10 0 .5 .5\n";
    folder.write(
        "y.node",
        &format!("10 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n{middles}"),
    );
    let y = folder.write("y.ele", "1 10 0\n1 1 2 3 4 5 6 7 8 9 10\n");
    assert_eq!(read(&y).unwrap().vertices().len(), 4);
}

/// Files of Medit are read with sections that the reader does not need.
#[test]
fn medit_files_are_read() {
    let folder = TestFolder::new();
    let path = folder.write(
        "a.mesh",
        "MeshVersionFormatted\n1\n# comment\nDimension\n3\nEdges 1 1 2 0\nTetrahedra 1\n1 2 3 4 5\nVertices\n4\n\
         0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\nCorners\n2\n1\n2\nNormals 1\n0.5 1e-3 -2\nTriangles\n1\n1 2 3 0\nEnd\nrest",
    );
    assert_eq!(read(&path).unwrap().tets(), [[0, 1, 2, 3]]);
    let path = folder.write(
        "b.mesh",
        "MeshVersionFormatted 2\nDimension 3\nVertices 4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nTetrahedra 1\n1 2 3 4\n",
    );
    assert_eq!(read(&path).unwrap().vertices().len(), 4);
}

/// Files of Vega are read with materials, sets and cubes.
#[test]
fn vega_files_are_read() {
    let folder = TestFolder::new();
    let corners = "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n";
    let path = folder.write(
        "a.veg",
        &format!(
            "# Vega\n*VERTICES\n4 3 0 0\n{corners}*MATERIAL m\nENU, 1000, 1e7, 0.45\n*ELEMENTS\nTETS\n1 4 0\n1 1 2 3 4\n\
             *SET s\n1,\n*REGION\ns, m\n"
        ),
    );
    assert_eq!(read(&path).unwrap().tets(), [[0, 1, 2, 3]]);
    let round = "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n";
    let path = folder.write(
        "b.veg",
        &format!("*VERTICES\n8 3\n{round}*ELEMENTS\ncubic\n1 8\n1 1 2 3 4 5 6 7 8\n"),
    );
    let mesh = read(&path).unwrap();
    assert_eq!(mesh.cubes(), [[0, 1, 3, 2, 4, 5, 7, 6]]);
    approx::assert_relative_eq!(mesh.volume(), 1.0, max_relative = 1e-12);
}

/// Errors in a file name its line and the cause.
#[test]
fn errors_name_line() {
    let folder = TestFolder::new();
    let corners = "0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n";
    let head = "MeshVersionFormatted 2\nDimension 3\n";
    let refuse = |name: &str, text: &str, line: usize, word: &str| {
        let path = folder.write(name, text);
        match read(&path) {
            Err(TetError::File { line: at, what, .. }) => {
                assert!(at == line && what.contains(word), "{name}: {at}: {what}");
            }
            other => panic!("{name}: {other:?}"),
        }
    };
    refuse("a.mesh", "Dimension 3\n", 1, "MeshVersionFormatted");
    let text = format!("{head}Vertices 4\n{corners}Tetrahedra 1\n1 2 3 5 0\n");
    refuse("b.mesh", &text, 9, "corner 5");
    let text = format!("{head}Vertices 1000000000000000000\n{corners}");
    refuse("c.mesh", &text, 7, "ends before x");
    let text = format!("{head}Vertices 3\n{corners}");
    refuse("d.mesh", &text, 7, "more entries");
    let text = format!("{head}Vertices 4\n0 0 nan 1\n");
    refuse("e.mesh", &text, 4, "not a number");
    let text = "MeshVersionFormatted 2\nDimension 2\n";
    refuse("f.mesh", text, 2, "dimension 2");
    let text = "*VERTICES\n18446744073709551615 3 0 0\n1 0 0 0\n";
    refuse("g.veg", text, 3, "ends before");
    let text = "*VERTICES\n*INCLUDE a.node\n";
    refuse("h.veg", text, 2, "not followed");
    let text = "*VERTICES\n1 3 0 0\n2 0 0 0\n";
    refuse("i.veg", text, 3, "where 1 should");
    let text = "*VERTICES\n1 3 0 0\n1 0 0 0\n*ELEMENTS\nPRISM\n1 6\n";
    refuse("j.veg", text, 5, "PRISM");
    refuse("k.veg", "*ELEMENTS\nTET\n", 1, "before the vertices");
    refuse("l.veg", "hello\n", 1, "where a section");
    folder.write("m.node", "2 3 0 0\n0 0 0 0\n2 1 1 1\n");
    folder.write("m.ele", "1 4 0\n0 0 1 2 3\n");
    assert!(matches!(
        read(&folder.0.join("m.ele")),
        Err(TetError::File { line: 3, .. })
    ));
    for (name, text) in [("n.veg", ""), ("o.mesh", head)] {
        let path = folder.write(name, text);
        let refused = read(&path).unwrap_err();
        assert!(matches!(refused, TetError::Content { .. }), "{refused}");
        assert!(refused.to_string().contains("no tetrahedra"), "{refused}");
    }
    let missing = read(&folder.0.join("none.mesh")).unwrap_err();
    assert!(matches!(missing, TetError::Disk { action: "read", .. }));
    assert!(matches!(
        read(&folder.0.join("x.stl")),
        Err(TetError::Format(_))
    ));
}

/// A write that fails leaves no file behind.
#[test]
fn failed_write_leaves_no_file() {
    let (folder, mesh) = (TestFolder::new(), bar());
    fs::create_dir_all(folder.0.join("a.ele").join("inside")).unwrap();
    for name in ["a.node", "no/such.mesh", "b.stl", "a.ele"] {
        assert!(
            mesh.write(&folder.0.join(name), WriteSettings::default())
                .is_err(),
            "{name}"
        );
    }
    let cubic = WriteSettings {
        elements: ElementKind::Cubic,
        ..WriteSettings::default()
    };
    assert_eq!(
        mesh.write(&folder.0.join("b.mesh"), cubic),
        Err(TetError::NoCubes)
    );
    let parts = folder
        .names()
        .iter()
        .filter(|n| n.ends_with(".part"))
        .count();
    assert_eq!(parts, 0);
    assert_eq!(folder.names(), ["a.ele"]);
}

/// Parses a text in every format, which must end without a panic.
fn parse_all(text: &str) {
    let path = Path::new("x");
    let mend = MeshRepairs {
        orient: true,
        drop_unused: true,
    };
    let contents = [
        medit::parse(path, text),
        vega::parse(path, text),
        tetgen::parse((path, text), (path, text)),
        tetgen::parse((path, "1 3\n0 0 0 0\n"), (path, text)),
    ];
    for content in contents.into_iter().flatten() {
        let _ = content.into_mesh(mend);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Random bytes do not crash the parsers.
    #[test]
    fn parsers_survive_random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse_all(&String::from_utf8_lossy(&bytes));
    }

    /// Random words of the formats do not crash the parsers.
    #[test]
    fn parsers_survive_random_words(words in proptest::collection::vec(
        prop::sample::select(vec![
            "MeshVersionFormatted", "Dimension", "Vertices", "Tetrahedra", "End", "*VERTICES", "*ELEMENTS", "TET",
            "CUBIC", "*SET", "#", "\n", "\n", "0", "1", "2", "3", "4", "8", "-1", "1e308", "nan", "0.5", ",",
            "99999999999999999999", "4294967296", "*",
        ]), 0..120)) {
        parse_all(&words.join(" "));
    }

    /// Damaged files do not crash the parsers.
    #[test]
    fn parsers_survive_damaged_files(kind in 0..4usize, cut in 0.0..1.0f64, at in 0.0..1.0f64, with in "[ -~\n]{0,6}") {
        let mesh = bar();
        let text = match kind {
            0 => medit::format_mesh(&mesh),
            1 => vega::format_mesh(&mesh, false, &Material::default()),
            2 => vega::format_mesh(&mesh, true, &Material::default()),
            _ => format!("{}{}", tetgen::format_nodes(&mesh), tetgen::format_elements(&mesh)),
        };
        let place = |part: f64| (part * text.len() as f64) as usize;
        parse_all(&text[..place(cut)]);
        let (a, b) = (place(at), (place(at) + with.len()).min(text.len()));
        parse_all(&format!("{}{with}{}", &text[..a], &text[b..]));
    }
}
