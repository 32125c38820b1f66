// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every mesh in `THEW_DATA` (default `../shared/data`) gives a surface whose queries make sense, or one
//! sentence that says why not.
use std::path::{Path, PathBuf};
use thew::Vec3;
use thew::progress::Silent;
use thew::surface::{DistanceGrid, Surface, SurfaceError, TriangleRole};

fn data_folder() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    std::env::var_os("THEW_DATA").map_or(default, PathBuf::from)
}

/// Returns the OBJ files of a folder by name, or an empty list if the folder is missing.
fn obj_files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data_folder().join(folder))
        .into_iter()
        .flatten();
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("obj"))
        })
        .collect();
    paths.sort();
    paths
}

/// Reads vertices and faces of an OBJ file as fans of triangles. Text that cannot be read becomes an index out of
/// range, or a coordinate that is NaN.
fn read_obj(path: &Path) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut next = || {
                    words
                        .next()
                        .and_then(|w| w.parse().ok())
                        .unwrap_or(f64::NAN)
                };
                vertices.push(Vec3::new(next(), next(), next()));
            }
            Some("f") => {
                let index = |w: &str| match w.split('/').next().and_then(|w| w.parse::<i64>().ok())
                {
                    Some(i) if i > 0 => (i - 1) as u32,
                    Some(i) if i < 0 => (vertices.len() as i64 + i) as u32,
                    _ => u32::MAX,
                };
                let corners: Vec<u32> = words.map(index).collect();
                triangles
                    .extend((2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]));
            }
            _ => {}
        }
    }
    (vertices, triangles)
}

fn load_surface(path: &Path) -> Result<Surface, SurfaceError> {
    let (vertices, triangles) = read_obj(path);
    Surface::new(vertices, triangles)
}

/// Asserts the conditions of every surface.
fn check_surface(name: &str, surface: &Surface) {
    let (lo, hi) = surface.bounds();
    let size = surface.size();
    let welded = surface.welded();
    let roles = surface.triangle_roles();
    assert_eq!(roles.len(), welded.triangles.len(), "{name}");
    let volume = surface.volume();
    assert!(
        volume.is_finite() && volume > 0.0,
        "{name}: volume {volume}"
    );

    // Skin has Ω on one side (but for triangles partly inside others, and folds of fans over concave
    // polygons); sheets lie in Ω.
    let step = size * 1e-5;
    let (mut right, mut asked) = (0, 0);
    for (i, t) in welded
        .triangles
        .iter()
        .enumerate()
        .step_by(1 + roles.len() / 500)
    {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
        let (centre, normal) = ((a + b + c) / 3.0, (b - a).cross(&(c - a)).normalize());
        match roles[i] {
            TriangleRole::Thin => assert!(surface.contains(centre), "{name}: thin triangle {i}"),
            TriangleRole::Interior => {}
            TriangleRole::Skin => {
                asked += 1;
                let sides =
                    [centre - normal * step, centre + normal * step].map(|p| surface.contains(p));
                right += (sides[0] != sides[1]) as usize;
            }
        }
    }
    assert!(
        right as f64 >= 0.75 * asked as f64,
        "{name}: {right} of {asked}"
    );

    let extent = (hi - lo).add_scalar(0.2 * size);
    for i in 0..200u32 {
        let fraction = |base: f64| (0.5 + i as f64 * base).fract() - 0.5;
        let shift = Vec3::new(
            fraction(0.8191725134),
            fraction(0.6710436067),
            fraction(0.5497004779),
        );
        let p = (lo + hi) * 0.5 + shift.component_mul(&extent);
        let closest = surface.closest_point(p);
        assert!(
            ((p - closest.point).norm() - closest.distance).abs() < 1e-6 * size,
            "{name}"
        );
        assert!(surface.winding_number(p).is_finite(), "{name}");
        let d = surface.signed_distance(p);
        assert!(d.is_finite(), "{name}");
        if d.abs() > 1e-9 * size {
            assert_eq!(d < 0.0, surface.contains(p), "{name}: {d}");
        }
    }
    let Ok(grid) = DistanceGrid::new(surface, size / 40.0, 0.05 * size, &Silent) else {
        unreachable!("nobody cancels")
    };
    let node = grid.nodes().map(|n| n / 2);
    assert!(
        grid.value(node).is_finite() && grid.distance_at(hi + (hi - lo)).is_finite(),
        "{name}"
    );
    assert!(!surface.report().to_string().contains("NaN"));
}

/// Every mesh file gives a surface or is refused with a sentence.
#[test]
fn mesh_files_load_or_explain() {
    let (mut run, mut refused) = (0, 0);
    for folder in ["meshes", "nasty", "targets", "morphs"] {
        for path in obj_files(folder) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            run += 1;
            match load_surface(&path) {
                Ok(surface) => {
                    check_surface(&name, &surface);
                    println!(
                        "{folder}/{name}: volume {:.6e}. {}",
                        surface.volume(),
                        surface.report()
                    );
                }
                Err(error) => {
                    refused += 1;
                    let sentence = error.to_string();
                    assert!(sentence.len() > 20 && !sentence.contains("NaN"));
                    println!("{folder}/{name}: refused: {sentence}");
                }
            }
        }
    }
    println!("{run} files, {refused} refused");
}

/// The volume of a damaged or moved copy of the low resolution cow is that of the cow.
#[test]
fn damaged_copies_keep_volume() {
    let original = data_folder().join("meshes/spot_low_resolution.obj");
    let Ok(cow) = load_surface(&original) else {
        println!("0 files: no {}", original.display());
        return;
    };
    // Factor on the volume, and what the damage may change.
    let copies = [
        ("gen_half_flipped", 1.0, 1e-9),
        ("gen_inverted", 1.0, 1e-9),
        ("gen_unwelded", 1.0, 1e-9),
        ("gen_loose_vertices", 1.0, 1e-9),
        ("gen_duplicate_faces", 1.0, 1e-9),
        ("gen_repeated_index_faces", 1.0, 1e-9),
        ("gen_scale_1e4", 1e12, 1e-4),
        ("gen_scale_1e-4", 1e-12, 1e-4),
        ("gen_far_offset_1e6", 1.0, 0.05),
        ("gen_crack_1e-5", 1.0, 0.015),
        ("gen_holes", 1.0, 0.03),
        ("gen_nonmanifold_fins", 1.0, 0.25),
        ("gen_nonmanifold_vertex", 2.0, 0.01),
        ("gen_zero_area", 1.0, 0.02),
    ];
    let mut run = 0;
    for (name, factor, tolerance) in copies {
        let Ok(surface) = load_surface(&data_folder().join(format!("nasty/{name}.obj"))) else {
            continue;
        };
        run += 1;
        let ratio = surface.volume() / (cow.volume() * factor);
        println!("{name}: {ratio:.5}");
        assert!((ratio - 1.0).abs() <= tolerance, "{name}: {ratio}");
    }
    println!("{run} files");
}
