// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of whole bodies, on bars of flesh.

use super::fixture::BarOptions;
use super::*;
use crate::dynamics::{Method, Simulation, SimulationSettings};
use crate::lattice::{BoneChains, Cell};
use crate::skeleton::{Affine, Pose};
use crate::surface::SurfaceError;
use approx::assert_relative_eq;

fn rows(w: &SkinWeights) -> Vec<Vec<(u32, f64)>> {
    (0..w.offsets.len() - 1)
        .map(|v| w.row(v).collect())
        .collect()
}

fn bar_volume(bar: &BarOptions) -> f64 {
    4.0 * bar.half * bar.half * bar.length
}

#[test]
fn volume_mass_weight_agree() {
    for hexahedra in [false, true] {
        let bar = BarOptions {
            hexahedra,
            ..Default::default()
        };
        let body = bar.build();
        assert_relative_eq!(body.volume(), bar_volume(&bar), max_relative = 1e-10);
        let mass: f64 = body.mass_matrix().data().iter().sum();
        let weight: f64 = body.blocks().iter().flat_map(|c| c.weight).sum();
        assert_relative_eq!(mass, 1000.0 * bar_volume(&bar), max_relative = 1e-10);
        assert_relative_eq!(weight, mass, max_relative = 1e-10);
        let csr = body.mass();
        assert_eq!(csr.indptr().len(), 3 * body.node_count() + 1);
        assert_relative_eq!(
            csr.data().iter().sum::<f64>(),
            3.0 * mass,
            max_relative = 1e-10
        );
    }
}

/// Rows of weights are nonnegative and sum to one, and a vertex on a bone follows that bone alone.
#[test]
fn region_weights_are_normalised() {
    for painted in [false, true] {
        let mut bar = BarOptions::default();
        if painted {
            bar.settings.region_weights = Some(bar.painted_weights());
        }
        let body = bar.build();
        for row in rows(body.region_weights())
            .iter()
            .chain(&rows(body.cell_weights()))
        {
            assert_relative_eq!(
                row.iter().map(|r| r.1).sum::<f64>(),
                1.0,
                max_relative = 1e-12
            );
        }
        let bones: Vec<u32> = body.bone_vertices().collect();
        assert_eq!(bones.len(), 9);
        for v in bones {
            let bone = body.bone_of_vertex()[v as usize].unwrap();
            assert_eq!(rows(body.region_weights())[v as usize], vec![(bone, 1.0)]);
        }
        assert!(body.loose_parts().is_empty());
    }
}

/// Painted region weights reach the nodes at which they were painted.
#[test]
fn painted_weights_keep_place() {
    let mut bar = BarOptions::default();
    let painted = bar.painted_weights();
    bar.settings.region_weights = Some(painted.clone());
    let body = bar.build();
    // The surface's samples are the lattice's own vertices here: each keeps its own weights.
    for v in 0..body.node_count() {
        if body.bone_of_vertex()[v].is_none() {
            let wanted = painted.weights[2 * v + 1];
            let got: f64 = body
                .region_weights()
                .row(v)
                .filter(|r| r.0 == 1)
                .map(|r| r.1)
                .sum();
            assert!((wanted - got).abs() < 2e-3);
        }
    }
}

/// Vertices without painted weights receive them by diffusion from painted ones.
#[test]
fn unpainted_weights_diffuse() {
    let mut bar = BarOptions::default();
    let mut weights = bar.painted_weights();
    // Only the two ends are painted.
    for k in 1..8 {
        for j in 0..3 {
            for i in 0..3 {
                let v = bar.vertex(i, j, k);
                weights.weights[2 * v] = 0.0;
                weights.weights[2 * v + 1] = 0.0;
            }
        }
    }
    bar.settings.region_weights = Some(weights);
    let body = bar.build();
    let upper = |k: usize| -> f64 {
        let row = body.region_weights().row(bar.vertex(0, 0, k));
        row.filter(|r| r.0 == 1).map(|r| r.1).sum()
    };
    for k in 0..8 {
        assert!(upper(k + 1) > upper(k) - 1e-3);
        assert!((0.0..=1.0 + 1e-12).contains(&upper(k)));
    }
    assert!(upper(1) < 0.2 && upper(7) > 0.8);
}

/// Painted factors scale the stiffness and the mass of the flesh.
#[test]
fn paint_scales_stiffness_and_mass() {
    let plain = BarOptions::default().build();
    let mut bar = BarOptions::default();
    bar.settings.stiffness = Some(vec![2.0; plain.node_count()]);
    bar.settings.density = Some(vec![0.5; plain.node_count()]);
    let painted = bar.build();
    for (a, b) in plain.blocks().iter().zip(painted.blocks().iter()) {
        assert!((a.stiffness[1] * 2.0 - b.stiffness[1]).norm() < 1e-9 * a.stiffness[1].norm());
        assert_relative_eq!(a.weight[0] * 0.5, b.weight[0], max_relative = 1e-12);
    }
}

/// The twist stiffness of a bone follows the painted stiffness around it.
#[test]
fn twist_stiffness_follows_paint() {
    let spin = |bar: &BarOptions| bar.build().twist_matrix().data().to_vec();
    let plain = spin(&BarOptions::default());
    let mut bar = BarOptions::default();
    let vertices = bar.build().surface().vertices().to_vec();
    // Paint all over the body acts like another material.
    bar.settings.stiffness = Some(vec![4.0; vertices.len()]);
    for (painted, plain) in spin(&bar).iter().zip(&plain) {
        assert_relative_eq!(*painted, 4.0 * plain, max_relative = 1e-9);
    }
    // Paint at one end makes that end firm, and leaves the other as it was.
    let ends = |x: &Vec3| if x.z < 0.8 { 4.0 } else { 1.0 };
    bar.settings.stiffness = Some(vertices.iter().map(ends).collect());
    let (body, plain) = (bar.build(), BarOptions::default().build());
    let ratio = |v: usize| {
        let of = |body: &Body| body.twist_matrix().get(v, v).copied().unwrap_or_default();
        of(&body) / of(&plain)
    };
    for (k, wanted) in [(1, 4.0), (7, 1.0)] {
        assert_relative_eq!(ratio(bar.vertex(1, 1, k)), wanted, max_relative = 1e-6);
    }
}

/// Returns settings with the twist of one bone.
fn twist(bone: &str, radius: Option<f64>, strength: f64) -> BodySettings {
    BodySettings {
        twist: [(bone.to_owned(), BoneTwist { radius, strength })].into(),
        ..Default::default()
    }
}

/// The builder refuses input of wrong length or value, with a sentence that names it.
#[test]
fn build_refuses_bad_input() {
    let n = BarOptions::default().build().node_count();
    let mut far = BarOptions::default().painted_weights();
    far.bones[3] = 7;
    let cases: Vec<(BodySettings, &str)> = vec![
        (
            BodySettings {
                stiffness: Some(vec![1.0; 3]),
                ..Default::default()
            },
            "painted stiffness: expected 81 numbers",
        ),
        (
            BodySettings {
                density: Some(vec![f64::NAN; n]),
                ..Default::default()
            },
            "painted density at vertex of the mesh 0 is NaN",
        ),
        (
            BodySettings {
                poisson: Some(vec![1.3; n]),
                ..Default::default()
            },
            "painted Poisson factor at vertex 0 is 1.3: times the material's Poisson's ratio, 0.4, it makes 0.52",
        ),
        (
            twist("elbow", None, 1.0),
            "the twist names bone 'elbow', but the skeleton has no bone of that name",
        ),
        (
            twist("upper", Some(0.0), 1.0),
            "the twist radius of bone 'upper' is 0 m, but must be above 0 and at most the body's size",
        ),
        (
            twist("upper", Some(5.0), 1.0),
            "the twist radius of bone 'upper' is 5 m, but must",
        ),
        (
            twist("lower", None, -1.0),
            "the twist strength of bone 'lower' is -1, but must be between 0, off, and 1e6",
        ),
        (
            twist("lower", None, f64::NAN),
            "the twist strength of bone 'lower' is NaN, but must",
        ),
        (
            BodySettings {
                region_weights: Some(far),
                ..Default::default()
            },
            "the region weights name bone 7",
        ),
        (
            BodySettings {
                region_weights: Some(SkinWeights::default()),
                ..Default::default()
            },
            "region weights: expected 81",
        ),
        (
            BodySettings {
                level: 9,
                ..Default::default()
            },
            "level must lie",
        ),
    ];
    for (settings, sentence) in cases {
        let error = BarOptions {
            settings,
            ..Default::default()
        }
        .try_build()
        .unwrap_err();
        assert!(error.to_string().starts_with(sentence), "{error}");
    }
}

/// Builds two boxes: one with a chain of bone edges, skinned to the head, and one without, skinned by a share to the eye.
fn head_and_eye(share: f64) -> Body {
    let cube = |shift: f64| {
        (0..8).map(move |i| Vec3::new((i & 1) as f64 + shift, (i >> 1 & 1) as f64, (i >> 2) as f64))
    };
    let vertices: Vec<Vec3> = cube(0.0).chain(cube(5.0)).collect();
    let cells = vec![
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        Cell::Hexahedron([8, 9, 10, 11, 12, 13, 14, 15]),
    ];
    let mut bones = BoneChains {
        used_bones: vec![0],
        chains: vec![vec![0, 1]],
        tip_bones: Vec::new(),
        bone_of_vertex: vec![None; 16],
    };
    for v in [0, 1, 2] {
        bones.bone_of_vertex[v] = Some(0);
    }
    let lattice = Arc::new(Lattice::with_bones(vertices, cells, bones).unwrap());
    let skeleton = Skeleton::new(
        vec!["Head".into(), "Eye".into()],
        vec![None, None],
        vec![Vec3::zeros(), Vec3::new(5.5, 0.5, 0.5)],
        vec![Vec3::x(), Vec3::new(5.5, 0.5, 0.9)],
    );
    let surface = Arc::new(boxes(&[0.0, 5.0]).unwrap());
    let eye = |v: &Vec3| if v.x > 3.0 { share } else { 0.0 };
    let all = surface.vertices().iter();
    let weights = SkinWeights {
        offsets: (0..=16).map(|i| 2 * i).collect(),
        bones: [0, 1].repeat(16),
        weights: all.flat_map(|v| [1.0 - eye(v), eye(v)]).collect(),
        bone_count: 2,
    };
    let settings = BodySettings {
        region_weights: Some(weights),
        ..Default::default()
    };
    Body::new(
        &surface,
        &Arc::new(skeleton.unwrap()),
        &lattice,
        Material::default(),
        &settings,
        &crate::progress::Silent,
    )
    .unwrap()
}

/// A part without bones whose weights two bones share follows its skin; no single bone holds it.
#[test]
fn torn_part_follows_skin() {
    let torn = head_and_eye(0.6);
    assert!(torn.loose_parts()[0].sentence.contains("skin weights"));
    assert!((8..16).all(|v| torn.is_skinned(v)));
    assert!(torn.bone_vertices().all(|v| v < 8));
    assert_eq!(torn.pattern().vertex_of_node(), &[3, 4, 5, 6, 7]);
    let raised = Affine {
        translation: Vec3::y(),
        ..Affine::identity()
    };
    let pose = Pose::new(vec![Affine::identity(), raised]).unwrap();
    let torn = Arc::new(torn);
    let mut motion = Simulation::new(
        torn.clone(),
        SimulationSettings::with_default_damping().with_method(Method::Warped),
    )
    .unwrap();
    motion.reset(&pose, false, None).unwrap();
    for v in 8..16 {
        let skin = torn.lattice().vertices()[v] + Vec3::y() * 0.6;
        assert_relative_eq!(motion.carried_positions()[v], skin, epsilon = 1e-12);
    }
}

/// A part without bones is pinned to a bone and reported.
#[test]
fn boneless_part_is_pinned() {
    let body = head_and_eye(0.97);
    assert!((8..16).all(|v| body.bone_vertices().any(|b| b == v)));
    assert_relative_eq!(body.volume(), 2.0 * 0.8f64.powi(3), max_relative = 0.03);
    let [part] = body.loose_parts() else {
        panic!("{:?}", body.loose_parts())
    };
    assert_eq!((part.bone, part.cells.as_slice()), (1, &[1][..]));
    assert_eq!(part.vertices, (8..16).collect::<Vec<u32>>());
    assert!(part.sentence.contains("'Eye' rigidly"));
    assert!((8..16).all(|v| body.bone_of_vertex()[v] == Some(1)));
    assert_eq!(body.pattern().vertex_of_node(), &[3, 4, 5, 6, 7]);
    assert_eq!(body.embedding().len(), 16);
}

/// Builds closed boxes of side 0.8 in the middle of unit cells.
fn boxes(shifts: &[f64]) -> Result<Surface, SurfaceError> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for &shift in shifts {
        let o = vertices.len() as u32;
        let side = |bit: usize| if bit & 1 == 1 { 0.9 } else { 0.1 };
        vertices.extend((0..8).map(|i| Vec3::new(side(i) + shift, side(i >> 1), side(i >> 2))));
        for q in [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ] {
            let q = q.map(|c: u32| c + o);
            triangles.extend([[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
        }
    }
    Surface::new(vertices, triangles)
}

/// A body that is stored and read again is the same, and damaged bytes are refused.
#[test]
fn body_survives_storage() {
    let mut bar = BarOptions::default();
    bar.settings.region_weights = Some(bar.painted_weights());
    bar.settings.twist = twist("lower", None, 2.0).twist;
    let body = bar.build();
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(&*body, config).unwrap();
    let (again, _): (Body, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_eq!(again.blocks(), body.blocks());
    assert_eq!(again.twist_loads(), body.twist_loads());
    assert_eq!(again.twist_regions(), body.twist_regions());
    let own = [&again, &body].map(|body| body.own_twist().unwrap());
    assert_eq!(own[0].matrix, own[1].matrix);
    assert_eq!(own[0].loads, own[1].loads);
    assert!(own[0].loads.iter().all(|load| load.bone == 0));
    assert_eq!(again.region_weights(), body.region_weights());
    assert_eq!(again.bone_of_vertex(), body.bone_of_vertex());
    assert_eq!(again.stiffness(true), body.stiffness(true));
    assert_eq!(again.embedding(), body.embedding());
    // A bone number that leads nowhere is noticed.
    let at = bytes.windows(5).position(|w| w == b"upper").unwrap();
    let mut bad = bytes.clone();
    bad.truncate(at);
    assert!(bincode::serde::decode_from_slice::<Body, _>(&bad, config).is_err());
}

/// The pieces of the elements add up to the stiffness matrix of the body.
#[test]
fn pieces_match_stiffness() {
    for hexahedra in [false, true] {
        let bar = BarOptions {
            hexahedra,
            ..Default::default()
        };
        let body = bar.build().with_scaled_stiffness(1.7).unwrap();
        let (whole, pieces) = (
            body.stiffness(false),
            body.elements().stiffness_matrix().expand(),
        );
        assert_eq!(whole.structure_view(), pieces.structure_view());
        let largest = whole.data().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (a, b) in whole.data().iter().zip(pieces.data()) {
            assert!((a - b).abs() < 1e-12 * largest);
        }
    }
}

/// Levels whose integrals do not fit in memory are refused before anything is computed, with the largest number that fits.
#[test]
fn levels_beyond_memory_are_refused() {
    let bar = BarOptions {
        cells_along: 64,
        cells_across: 4,
        settings: BodySettings {
            basis_levels: 3,
            ..BodySettings::default()
        },
        ..BarOptions::default()
    };
    let error = bar.try_build().unwrap_err();
    let BodyError::Memory {
        levels: 3,
        cells,
        possible,
        ..
    } = error
    else {
        panic!("{error}");
    };
    let bytes = |levels| {
        let plain = BarOptions {
            settings: BodySettings::default(),
            ..BarOptions::default()
        };
        let body = plain.build();
        let of_bar = Basis::integral_bytes(body.lattice(), levels, levels);
        of_bar / body.lattice().cells().len() as u64 * cells as u64
    };
    assert!(bytes(possible) < 5 << 30 && bytes(possible + 1) > 4 << 30);
    assert!(
        error.to_string().contains(&format!("at most {possible}")),
        "{error}"
    );
}

/// A body that is rebuilt with another material, paint or number of pieces has the bits of one that is built anew.
#[test]
fn rebuilt_bodies_have_the_bits_of_new_ones() {
    let bar = BarOptions::default();
    let of = |flesh: Option<f64>| {
        let n = bar.build().surface().vertices().len();
        BodySettings {
            region_weights: Some(bar.painted_weights()),
            flesh: flesh.map(|f| (0..n).map(|i| f / (1.0 + 0.1 * i as f64)).collect()),
            ..BodySettings::default()
        }
    };
    let fixture = bar.build();
    let new = |material: Material, settings: &BodySettings| {
        let (surface, skeleton) = (fixture.surface(), fixture.skeleton());
        Body::new(
            surface,
            skeleton,
            fixture.lattice(),
            material,
            settings,
            &Silent,
        )
        .unwrap()
    };
    let soft = Material::new(9e3, 0.3, 800.0).unwrap();
    let finer = BodySettings {
        level: 2,
        ..of(None)
    };
    let plain = new(Material::default(), &of(None));
    let painted = new(Material::default(), &of(Some(0.9)));
    for former in [&plain, &painted] {
        for settings in [
            of(None),
            of(Some(0.5)),
            finer.clone(),
            BodySettings::default(),
        ] {
            for material in [Material::default(), soft] {
                let rebuilt = former.rebuilt(material, &settings, &Silent).unwrap();
                let anew = new(material, &settings);
                let bits = |body: &Body| {
                    let stored = body.to_stored(std::iter::empty());
                    bincode::serde::encode_to_vec(&stored, bincode::config::standard()).unwrap()
                };
                assert_eq!(bits(&rebuilt), bits(&anew));
                assert_eq!(rebuilt.size().to_bits(), anew.size().to_bits());
            }
        }
    }
}
