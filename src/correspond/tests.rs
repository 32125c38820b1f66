// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests with a person made of capsules: what its copies are mapped to, paired with, and carry.

use super::*;
use crate::body::BodySettings;
use crate::elasticity::Material;
use crate::geometry::marching;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::lattice::{EncloseSettings, Lattice};
use crate::progress::Silent;
use crate::rig::{
    Guide, MusclePlace, MuscleRig, Rig, RigKind, Sample, Sculpt, SculptPoint, Template,
    TemplateKind,
};
use crate::skeleton::{Affine, Pose, Skeleton, SkinWeights};
use crate::surface::Surface;
use std::sync::OnceLock;

/// Name, head, tail, radius and parent of a bone.
type BoneSpec = (&'static str, [f64; 3], [f64; 3], f64, Option<u32>);

/// A person who looks along −y, with the arms held out. Its left is at +x.
const PERSON: [BoneSpec; 17] = [
    ("Hips", [0.0, 0.0, 0.9], [0.0, 0.0, 1.1], 0.15, None),
    ("Spine", [0.0, 0.0, 1.1], [0.0, 0.0, 1.4], 0.15, Some(0)),
    ("Head", [0.0, 0.0, 1.5], [0.0, -0.05, 1.75], 0.12, Some(1)),
    (
        "UpperArm.L",
        [0.18, 0.0, 1.38],
        [0.45, 0.0, 1.38],
        0.07,
        Some(1),
    ),
    (
        "Forearm.L",
        [0.45, 0.0, 1.38],
        [0.7, -0.02, 1.38],
        0.06,
        Some(3),
    ),
    (
        "Hand.L",
        [0.7, -0.02, 1.38],
        [0.83, -0.04, 1.38],
        0.06,
        Some(4),
    ),
    (
        "UpperArm.R",
        [-0.18, 0.0, 1.38],
        [-0.45, 0.0, 1.38],
        0.07,
        Some(1),
    ),
    (
        "Forearm.R",
        [-0.45, 0.0, 1.38],
        [-0.7, -0.02, 1.38],
        0.06,
        Some(6),
    ),
    (
        "Hand.R",
        [-0.7, -0.02, 1.38],
        [-0.83, -0.04, 1.38],
        0.06,
        Some(7),
    ),
    (
        "Thigh.L",
        [0.14, 0.0, 0.9],
        [0.2, -0.02, 0.5],
        0.09,
        Some(0),
    ),
    (
        "Shin.L",
        [0.2, -0.02, 0.5],
        [0.24, 0.02, 0.12],
        0.07,
        Some(9),
    ),
    (
        "Foot.L",
        [0.24, 0.02, 0.12],
        [0.25, -0.16, 0.07],
        0.06,
        Some(10),
    ),
    (
        "Thigh.R",
        [-0.14, 0.0, 0.9],
        [-0.2, -0.02, 0.5],
        0.09,
        Some(0),
    ),
    (
        "Shin.R",
        [-0.2, -0.02, 0.5],
        [-0.24, 0.02, 0.12],
        0.07,
        Some(12),
    ),
    (
        "Foot.R",
        [-0.24, 0.02, 0.12],
        [-0.25, -0.16, 0.07],
        0.06,
        Some(13),
    ),
    // A tail tells front from back, and the root leads no skin.
    ("Tail", [0.0, 0.1, 0.95], [0.0, 0.5, 0.9], 0.07, Some(0)),
    ("Root", [0.0, 0.0, 0.0], [0.0, 0.0, 0.1], 0.0, None),
];

/// A character before it has flesh.
#[derive(Clone)]
struct Figure {
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    rows: Vec<Vec<(u32, f64)>>,
}

impl Figure {
    fn person() -> Self {
        const EDGE: f64 = 0.04;
        let low = Vec3::new(-1.0, -0.32, -0.08);
        let nodes = [51, 26, 51];
        let at = |n: usize| {
            let [x, y, z] = [
                n % nodes[0],
                n / nodes[0] % nodes[1],
                n / nodes[0] / nodes[1],
            ];
            low + Vec3::new(x as f64, y as f64, z as f64) * EDGE
        };
        let values: Vec<f64> = (0..nodes.iter().product())
            .map(|n| nearness(&at(n)).into_iter().fold(f64::INFINITY, f64::min))
            .collect();
        let (vertices, triangles) = marching::tetrahedra(&values, nodes);
        let vertices: Vec<Vec3> = vertices.iter().map(|x| low + x * EDGE).collect();
        let row = |x: &Vec3| {
            let all = nearness(x);
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let weight = |d: f64| (1.0 - (d - least) / 0.06).max(0.0);
            let row = (0u32..).zip(all.iter().map(|&d| weight(d)));
            row.filter(|r| r.1 > 0.0).collect()
        };
        Self {
            names: PERSON.iter().map(|b| b.0.to_owned()).collect(),
            parents: PERSON
                .iter()
                .map(|b| b.4.or((b.0 == "Hips").then_some(16)))
                .collect(),
            heads: PERSON.iter().map(|b| b.1.into()).collect(),
            tails: PERSON.iter().map(|b| b.2.into()).collect(),
            rows: vertices.iter().map(row).collect(),
            vertices,
            triangles,
        }
    }

    fn map_points(&self, to: impl Fn(&Vec3) -> Vec3) -> Self {
        let all = |points: &[Vec3]| points.iter().map(&to).collect();
        Self {
            vertices: all(&self.vertices),
            heads: all(&self.heads),
            tails: all(&self.tails),
            ..self.clone()
        }
    }

    /// Returns the figure with its bones in the reverse order, under other names.
    fn renumbered(&self) -> Self {
        let n = self.names.len();
        let back = |b: u32| (n - 1) as u32 - b;
        let mut other = self.clone();
        other.names = (0..n).map(|b| format!("b{b:02}")).collect();
        other.parents.iter_mut().for_each(|p| *p = p.map(back));
        other
            .rows
            .iter_mut()
            .flatten()
            .for_each(|r| r.0 = back(r.0));
        other.parents.reverse();
        other.heads.reverse();
        other.tails.reverse();
        other
    }

    fn skeleton(&self) -> Arc<Skeleton> {
        let (names, parents) = (self.names.clone(), self.parents.clone());
        let skeleton = Skeleton::new(names, parents, self.heads.clone(), self.tails.clone());
        Arc::new(skeleton.unwrap())
    }

    /// Builds the body, in a lattice of its own or in a given one.
    fn body(&self, lattice: Option<Arc<Lattice>>, young: f64) -> Arc<Body> {
        let surface = Surface::new(self.vertices.clone(), self.triangles.clone()).unwrap();
        let (surface, skeleton) = (Arc::new(surface), self.skeleton());
        let rows = self.rows.iter().cloned();
        let weights = SkinWeights::from_rows(self.names.len(), rows).unwrap();
        let settings = EncloseSettings {
            cells_across: 6.0,
            ..EncloseSettings::default()
        };
        let lattice = lattice.unwrap_or_else(|| {
            let made = Lattice::enclose(&surface, &skeleton, Some(&weights), settings, &Silent);
            Arc::new(made.unwrap())
        });
        let settings = BodySettings {
            region_weights: Some(weights),
            ..BodySettings::default()
        };
        let material = Material::new(young, 0.4, 1000.0).unwrap();
        Arc::new(Body::new(&surface, &skeleton, &lattice, material, &settings, &Silent).unwrap())
    }
}

/// Returns the distance of a point from each bone's capsule; the root has none.
fn nearness(x: &Vec3) -> Vec<f64> {
    let capsules = PERSON.iter().filter(|bone| bone.3 > 0.0);
    capsules
        .map(|bone| {
            let (near, _) = closest_on_segment(bone.1.into(), bone.2.into(), *x);
            (x - near).norm() - bone.3
        })
        .collect()
}

fn person() -> &'static (Figure, Arc<Body>) {
    static PERSON: OnceLock<(Figure, Arc<Body>)> = OnceLock::new();
    PERSON.get_or_init(|| {
        let figure = Figure::person();
        let body = figure.body(None, 2e4);
        (figure, body)
    })
}

/// A turn about a skew axis, as large as s, and away.
struct Moved {
    scale: f64,
    turn: Mat3,
    shift: Vec3,
}

impl Moved {
    fn new(scale: f64, turn: Vec3, shift: Vec3) -> Self {
        let turn = nalgebra::Rotation3::new(turn).into_inner();
        Self { scale, turn, shift }
    }

    fn apply(&self, x: &Vec3) -> Vec3 {
        self.turn * x * self.scale + self.shift
    }

    /// Returns a body moved with its lattice.
    fn body(&self, figure: &Figure, body: &Body, young: f64) -> Arc<Body> {
        let lattice = body.lattice();
        let x = lattice.vertices().iter().map(|x| self.apply(x)).collect();
        let moved = Lattice::with_bones(x, lattice.cells().to_vec(), lattice.bones().clone());
        let moved = Arc::new(moved.unwrap());
        figure
            .map_points(|x| self.apply(x))
            .body(Some(moved), young)
    }
}

fn link(
    source: &Arc<Body>,
    target: &Arc<Body>,
    settings: &CorrespondenceSettings,
) -> Correspondence {
    Correspondence::new(source, target, settings, &Silent).unwrap()
}

fn without_names() -> CorrespondenceSettings {
    CorrespondenceSettings {
        names: false,
        ..CorrespondenceSettings::default()
    }
}

/// Returns rigs on a bone, under the skin and free, each with a second sample.
fn rigs(body: &Body) -> Vec<Rig> {
    let thigh = BoneRef::Name("Thigh.L".into());
    let bump = Template::new(TemplateKind::Bump, &[0.12, 3e4]).unwrap();
    let bulge = Template::new(TemplateKind::Bulge, &[0.1, -2e4]).unwrap();
    let face = body
        .surface()
        .closest_point(Vec3::new(0.05, -0.15, 1.2))
        .triangle;
    let face = body.surface().welded().source[face as usize];
    let turn = nalgebra::Rotation3::new(Vec3::new(0.3, -0.2, 0.5)).into_inner();
    let frame = crate::rig::GuideFrame {
        rotation: turn,
        origin: Vec3::new(0.4, 0.01, 1.37),
    };
    let guides = [
        (bump, Guide::bone(thigh, [0.4, 0.7, 0.03, 0.2]).unwrap()),
        (
            bulge,
            Guide::skin(face, [0.5, 0.2, 0.3], [0.02, 0.4, 0.3]).unwrap(),
        ),
        (
            bump,
            Guide::free(frame, [0.01, 0.0, -0.02, 0.1, 0.2, 0.0]).unwrap(),
        ),
    ];
    guides
        .into_iter()
        .map(|(template, guide)| {
            let plain = Rig::new("Rig", template, guide, Vec::new()).unwrap();
            let mut wide = plain.own_parameters();
            wide[0] *= 1.2;
            wide[2] += 0.05;
            let samples = [plain.own_parameters(), wide].into_iter().zip([0.0, 1.0]);
            let samples = samples.map(|(parameters, control)| Sample {
                control,
                parameters,
            });
            plain.with_samples(samples.collect()).unwrap()
        })
        .collect()
}

fn bent_pose(skeleton: &Skeleton) -> Pose {
    let mut maps = vec![Affine::identity(); skeleton.len()];
    for &b in skeleton.topological_order() {
        let b = b as usize;
        let turn = nalgebra::Rotation3::new(Vec3::new(0.1 * b as f64, 0.3, -0.05 * b as f64));
        let head = skeleton.heads()[b];
        let own = Affine {
            linear: turn.into_inner(),
            translation: head - turn * head,
        };
        let base = skeleton.parents()[b].map_or_else(Affine::identity, |p| maps[p as usize]);
        maps[b] = base.compose(&own);
    }
    maps.iter_mut()
        .for_each(|map| map.translation += Vec3::new(0.2, 0.1, -0.3));
    Pose::new(maps).unwrap()
}

/// A character is mapped to itself, its rigs stay as they are, and so do poses.
#[test]
fn same_character_is_identity() {
    let (figure, body) = person();
    let link = link(body, body, &without_names());
    for pair in link.pairs() {
        assert_eq!(pair.source, pair.target);
        assert!(pair.cost.unwrap().abs() < 1e-12);
    }
    assert_eq!(link.pairs().len(), figure.names.len());
    for (place, x) in link.places().iter().zip(&figure.vertices) {
        assert!((place - x).norm() < 1e-9);
    }
    assert!(link.report().most_distance < 1e-9 && link.report().inverted == 0);
    for rig in rigs(body) {
        let carried = link.carry_rig(&rig).unwrap();
        for control in [0.0, 1.0] {
            let own = rig.forces(body, &rig.parameters(control)).unwrap();
            let other = carried.forces(body, &carried.parameters(control)).unwrap();
            let most = own.iter().map(|f| f.norm()).fold(0.0, f64::max);
            assert!(
                own.iter()
                    .zip(&other)
                    .all(|(a, b)| (a - b).norm() < 1e-9 * most)
            );
        }
    }
    let pose = bent_pose(body.skeleton());
    let carried = link.carry_pose(&pose).unwrap();
    for (a, b) in pose.maps().iter().zip(carried.maps()) {
        assert!((a.to_matrix() - b.to_matrix()).amax() < 1e-12);
    }
}

/// Of a body scaled by s and turned by R the map is exact, and so are frames and numbers of carried rigs, with the moduli's
/// ratio. Their forces are `s² R Q`, as the points of flesh turn with the body.
#[test]
fn scaled_and_turned_character_is_exact() {
    let (figure, body) = person();
    let moved = Moved::new(0.37, Vec3::new(1.1, -0.4, 2.0), Vec3::new(3.0, -1.0, 0.5));
    let other = moved.body(figure, body, 6e4);
    let link = link(body, &other, &without_names());
    assert!(link.report().turned);
    for pair in link.pairs() {
        assert_eq!(pair.source, pair.target);
    }
    for (place, x) in link.places().iter().zip(&figure.vertices) {
        assert!((place - moved.apply(x)).norm() < 1e-9);
    }
    let scale = moved.scale;
    for rig in rigs(body) {
        let carried = link.carry_rig(&rig).unwrap();
        for control in [0.0, 0.5] {
            let (one, two) = (rig.parameters(control), carried.parameters(control));
            let [from, to] = [(&rig, body, &one), (&carried, &other, &two)]
                .map(|(rig, body, eta)| rig.frame(body, eta).unwrap());
            assert!((moved.apply(&from.origin) - to.origin).norm() < 1e-9);
            assert!((moved.turn * from.rotation - to.rotation).amax() < 1e-9);
            assert!((two[0] - scale * one[0]).abs() < 1e-9);
            assert!((two[1] - 3.0 / scale * one[1]).abs() < 1e-6 * two[1].abs());
            let own = rig.forces(body, &one).unwrap();
            let theirs = carried.forces(&other, &two).unwrap();
            let expected = own.iter().map(|f| moved.turn * f * (3.0 * scale * scale));
            let apart: f64 = expected.zip(&theirs).map(|(a, b)| (a - b).norm()).sum();
            let whole: f64 = theirs.iter().map(|f| f.norm()).sum();
            assert!(apart < 1e-6 * whole, "{apart} of {whole}");
        }
    }
    let pose = bent_pose(body.skeleton());
    let carried = link.carry_pose(&pose).unwrap();
    for (b, (a, found)) in pose.maps().iter().zip(carried.maps()).enumerate() {
        let expected = moved.turn * a.linear * moved.turn.transpose();
        assert!((expected - found.linear).amax() < 1e-9);
        let head = figure.heads[b];
        let moved_head = moved.apply(&a.apply(head));
        assert!((found.apply(moved.apply(&head)) - moved_head).norm() < 1e-9);
    }
}

/// Points of the skin are carried to their places, with areas, offsets and turns as the body is larger and turned.
#[test]
fn points_and_turns_are_carried() {
    let (figure, body) = person();
    let moved = Moved::new(2.0, Vec3::new(0.0, 0.0, 0.4), Vec3::new(1.0, 0.0, 0.0));
    let other = moved.body(figure, body, 2e4);
    let link = link(body, &other, &CorrespondenceSettings::default());
    let bone_of = |row: &[(u32, f64)]| row.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    let offset = Vec3::new(0.01, -0.02, 0.005);
    let points: Vec<SkinPoint> = (0..figure.vertices.len())
        .step_by(37)
        .map(|v| SkinPoint {
            position: figure.vertices[v],
            area: 1e-3,
            bone: bone_of(&figure.rows[v]),
            offset,
        })
        .collect();
    for (point, carried) in points.iter().zip(link.carry_points(&points).unwrap()) {
        assert!((carried.position - moved.apply(&point.position)).norm() < 1e-9);
        assert!((carried.area - 4e-3).abs() < 1e-9 && carried.bone == point.bone);
        assert!((carried.offset - moved.turn * offset * 2.0).norm() < 1e-9);
    }
    let turn = Vec3::new(0.2, 1.0, -0.4);
    let carried = link.carry_turns(&[(4, turn), (99, turn)]);
    assert!(carried.len() == 1 && carried[0].0 == 4);
    assert!((carried[0].1 - moved.turn * turn).norm() < 1e-12);
    let nan = SkinPoint {
        position: Vec3::repeat(f64::NAN),
        ..points[0]
    };
    assert_eq!(
        link.carry_points(&[points[0], nan]),
        Err(CorrespondenceError::PointNonFinite { point: 1 })
    );
    let beyond = SkinPoint {
        bone: 99,
        ..points[0]
    };
    assert!(matches!(
        link.carry_points(&[beyond]),
        Err(CorrespondenceError::NoPartner { .. })
    ));
}

/// Of a body scaled by s and turned by R, forces of a carried sculpted rig are `s² R Q` on the same lattice. Both lattices are rebuilt from
/// their cells, which drops how cells share the flesh where they overlap.
#[test]
fn sculpted_rig_is_carried() {
    let (figure, body) = person();
    let still = Moved::new(1.0, Vec3::zeros(), Vec3::zeros());
    let body = &still.body(figure, body, 2e4);
    let moved = Moved::new(1.7, Vec3::new(0.0, 0.3, 1.0), Vec3::new(0.5, 0.0, 0.2));
    let other = moved.body(figure, body, 2e4);
    let link = link(body, &other, &CorrespondenceSettings::default());
    let rig = flexed_forearm(figure);
    let carried = link.carry_rig(&rig).unwrap();
    let forces = |rig: &Rig, body: &Body| rig.forces(body, &rig.parameters(1.0)).unwrap();
    let (one, two) = (forces(&rig, body), forces(&carried, &other));
    let most = two.iter().map(|f| f.norm()).fold(0.0, f64::max);
    assert!(most > 0.0);
    let expected = one.iter().map(|f| moved.turn * f * (1.7 * 1.7));
    let apart = expected.zip(&two).map(|(a, b)| (a - b).norm());
    let apart = apart.fold(0.0, f64::max);
    assert!(apart < 1e-6 * most, "{apart} of {most}");
}

/// Returns a rig that swells the skin of a forearm at a bent elbow.
fn flexed_forearm(figure: &Figure) -> Rig {
    let own = |v: &usize| figure.rows[*v].iter().any(|r| r.0 == 4 && r.1 > 0.9);
    let points = (0..figure.vertices.len()).filter(own).map(|v| SculptPoint {
        place: figure.vertices[v],
        area: 1e-3,
        bone: 0,
        offset: Vec3::new(0.0, 0.01, 0.02),
    });
    let turns = vec![("Forearm.L".to_owned(), Vec3::new(0.0, 0.0, 0.6))];
    let sculpt = Sculpt::new(turns, vec!["Forearm.L".into()], points.collect(), 1e-4).unwrap();
    Rig::sculpted("Flex", vec![(1.0, 1.0, sculpt)]).unwrap()
}

/// Returns a person with longer legs, a thicker trunk and arms that hang a little.
fn other_build(figure: &Figure) -> Figure {
    figure.map_points(|x| {
        let low = (0.9 - x.z).max(0.0);
        let arm = (x.x.abs() - 0.2).max(0.0);
        let thick = 1.0 + 0.25 * (-((x.z - 1.15) / 0.25).powi(2) - (x.x / 0.25).powi(2)).exp();
        Vec3::new(x.x * thick, x.y * thick, x.z - 0.25 * low - 0.35 * arm)
    })
}

/// Another build of the same mesh: all bones right without names, no side exchanged, and the map near the true vertices.
#[test]
fn other_build_is_near_true_vertices() {
    let (figure, body) = person();
    let build = other_build(figure);
    let other = build.body(None, 2e4);
    let link = link(body, &other, &without_names());
    assert!(!link.report().turned);
    assert!(link.pairs().iter().all(|pair| pair.source == pair.target));
    assert_eq!(link.pairs().len(), figure.names.len());
    let away: Vec<f64> = (link.places().iter().zip(&build.vertices))
        .map(|(place, x)| (place - x).norm() / other.size())
        .collect();
    let mean = away.iter().sum::<f64>() / away.len() as f64;
    assert!(mean < 0.02, "{mean}");
    assert!(link.report().mean_distance < 0.003 * other.size());
    // Rigs arrive in the flesh.
    for rig in rigs(body) {
        let carried = link.carry_rig(&rig).unwrap();
        assert_eq!(carried.check(&other), Vec::<String>::new());
    }
}

/// Pairs do not depend on names or the order of bones, and the result not on the number of threads.
#[test]
fn order_names_and_threads_do_not_matter() {
    let (figure, body) = person();
    let build = other_build(figure);
    let other = build.body(None, 2e4);
    let renumbered = build.renumbered().body(None, 2e4);
    let plain = link(body, &other, &without_names());
    let n = figure.names.len() as u32;
    let renamed = link(body, &renumbered, &without_names());
    let pairs = |link: &Correspondence| -> Vec<[u32; 2]> {
        link.pairs().iter().map(|p| [p.source, p.target]).collect()
    };
    let back: Vec<[u32; 2]> = pairs(&renamed)
        .iter()
        .map(|p| [p[0], n - 1 - p[1]])
        .collect();
    assert_eq!(pairs(&plain), back);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let alone = one.install(|| link(body, &other, &without_names()));
    assert_eq!(plain.places(), alone.places());
    assert_eq!(plain.pairs(), alone.pairs());
}

/// Pairs that are passed stay, whatever shapes and names say; exchanged sides exchange the bones of both sides.
#[test]
fn given_pairs_win() {
    let (_, body) = person();
    let given = [["UpperArm.L", "UpperArm.R"], ["Thigh.L", "Thigh.R"]];
    let bones = given.map(|pair| pair.map(|name| BoneRef::Name(name.into())));
    let settings = CorrespondenceSettings {
        bones: bones.to_vec(),
        ..CorrespondenceSettings::default()
    };
    let forced = link(body, body, &settings);
    let partner = |link: &Correspondence, bone: u32| {
        let mut pairs = link.pairs().iter();
        pairs.find(|p| p.source == bone).map(|p| (p.target, p.cost))
    };
    assert_eq!(partner(&forced, 3), Some((6, None)));
    assert_eq!(partner(&forced, 9), Some((12, None)));
    let plain = link(body, body, &CorrespondenceSettings::default());
    let swapped = plain.pairs_with_sides_swapped();
    assert!(swapped.contains(&[3, 6]) && swapped.contains(&[14, 11]) && swapped.contains(&[0, 0]));
    let bones = swapped
        .iter()
        .map(|pair| pair.map(BoneRef::Index))
        .collect();
    let mirrored = link(
        body,
        body,
        &CorrespondenceSettings {
            bones,
            ..without_names()
        },
    );
    assert_eq!(partner(&mirrored, 5).unwrap().0, 8);
}

/// Landmarks move the map: the source's point comes nearer to the target's by most of the way.
#[test]
fn landmarks_pull_the_map() {
    let (_, body) = person();
    let on_skin = |p: Vec3| body.surface().closest_point(p).point;
    let (from, to) = (
        on_skin(Vec3::new(0.3, -0.1, 1.38)),
        on_skin(Vec3::new(0.36, -0.1, 1.38)),
    );
    let settings = CorrespondenceSettings {
        landmarks: vec![[from, to]],
        ..CorrespondenceSettings::default()
    };
    let pulled = link(body, body, &settings);
    let away = (pulled.map_point(from) - to).norm();
    assert!(away < 0.35 * (from - to).norm(), "{away}");
}

/// Landmarks inside large triangles, whose corners lie in several cells, are solved: on the same character all stay where they are.
#[test]
fn landmarks_inside_triangles_are_solved() {
    let (_, body) = person();
    let surface = body.surface();
    let middle = |t: &[u32; 3]| {
        t.iter()
            .map(|&v| surface.vertices()[v as usize])
            .sum::<Vec3>()
            / 3.0
    };
    let points: Vec<Vec3> = surface.triangles().iter().step_by(7).map(middle).collect();
    assert!(points.len() > 20);
    let settings = CorrespondenceSettings {
        landmarks: points.iter().map(|&p| [p, p]).collect(),
        ..CorrespondenceSettings::default()
    };
    let found = link(body, body, &settings);
    let away = |(&p, q): (&Vec3, &Vec3)| (p - q).norm();
    let moved = surface.vertices().iter().zip(found.places()).map(away);
    assert!(moved.fold(0.0, f64::max) < 1e-9 * body.size());
}

/// Bad input is refused with its kind of error, which names what is wrong.
#[test]
fn bad_input_is_refused() {
    let (_, body) = person();
    let refused = |settings: CorrespondenceSettings| {
        Correspondence::new(body, body, &settings, &Silent).unwrap_err()
    };
    let with_bones = |bones: Vec<[BoneRef; 2]>| {
        refused(CorrespondenceSettings {
            bones,
            ..CorrespondenceSettings::default()
        })
    };
    let name = |name: &str| BoneRef::Name(name.into());
    let unknown = with_bones(vec![[name("Head"), name("Horn")]]);
    assert_eq!(
        unknown.to_string(),
        "pair 0 names the bone 'Horn', which the target character does not have"
    );
    let beyond = with_bones(vec![[BoneRef::Index(99), name("Head")]]);
    assert!(matches!(
        beyond,
        CorrespondenceError::BoneIndex {
            bone: 99,
            side: Side::Source,
            ..
        }
    ));
    let twice = with_bones(vec![
        [name("Head"), name("Head")],
        [name("Spine"), BoneRef::Index(2)],
    ]);
    assert!(matches!(
        twice,
        CorrespondenceError::BoneTwice {
            pair: 1,
            side: Side::Target,
            ..
        }
    ));
    let with_landmark = |landmark: [Vec3; 2]| {
        refused(CorrespondenceSettings {
            landmarks: vec![landmark],
            ..CorrespondenceSettings::default()
        })
    };
    let skin = body.surface().vertices()[0];
    let nan = with_landmark([skin, Vec3::new(0.0, f64::NAN, 0.0)]);
    assert_eq!(
        nan,
        CorrespondenceError::LandmarkNonFinite {
            landmark: 0,
            side: Side::Target
        }
    );
    let off = with_landmark([Vec3::new(0.0, 0.0, 9.0), skin]);
    assert!(matches!(
        off,
        CorrespondenceError::LandmarkOffSkin {
            side: Side::Source,
            ..
        }
    ));
    let stopped = Correspondence::new(
        body,
        body,
        &CorrespondenceSettings::default(),
        &|_, _: &str| false,
    );
    assert!(matches!(stopped, Err(CorrespondenceError::Cancelled(_))));
    let link = link(body, body, &CorrespondenceSettings::default());
    let template = Template::new(TemplateKind::Bump, &[0.1, 1.0]).unwrap();
    let foreign = Guide::bone(name("Wing"), [0.5, 0.0, 0.0, 0.0]).unwrap();
    let foreign = Rig::new("Flap", template, foreign, Vec::new()).unwrap();
    let error = link.carry_rig(&foreign).unwrap_err().to_string();
    assert!(
        error.starts_with("the rig 'Flap' does not belong to the source character"),
        "{error}"
    );
    assert!(link.carry_pose(&Pose::rest(3)).is_err());
}

/// Returns a muscle over the left elbow, in front of the arm, that contracts with its control.
fn biceps() -> Rig {
    let place = |bone: &str, along| MusclePlace {
        bone: BoneRef::Name(bone.into()),
        values: [along, 0.2, 0.02],
    };
    let muscle = MuscleRig::new(
        place("UpperArm.L", 0.3),
        place("Forearm.L", 0.3),
        [0.3, 0.05, 0.01],
    )
    .unwrap();
    let samples = muscle.full_samples();
    Rig::muscle("Biceps", muscle, samples).unwrap()
}

/// A muscle keeps its contraction; its ends go to the partners of its bones, its sizes with the thickness of the limbs. Its
/// forces come from the other flesh by themselves: `s² R Q` times the ratio of moduli.
#[test]
fn muscle_is_carried() {
    let (figure, body) = person();
    let rig = biceps();
    let same = link(body, body, &without_names()).carry_rig(&rig).unwrap();
    for (a, b) in rig.parameters(0.7).iter().zip(same.parameters(0.7)) {
        assert!((a - b).abs() < 1e-9);
    }
    let moved = Moved::new(0.37, Vec3::new(1.1, -0.4, 2.0), Vec3::new(3.0, -1.0, 0.5));
    let other = moved.body(figure, body, 6e4);
    let carried = link(body, &other, &without_names())
        .carry_rig(&rig)
        .unwrap();
    let [from, to] = [(&rig, body), (&carried, &other)].map(|(rig, body)| {
        let RigKind::Muscle(muscle) = rig.kind() else {
            panic!("{:?}", rig.kind());
        };
        muscle.line(body, 9).unwrap()
    });
    for ((x, radius), (y, other)) in from.iter().zip(&to) {
        assert!((moved.apply(x) - y).norm() < 1e-9);
        assert!((moved.scale * radius - other).abs() < 1e-9);
    }
    let samples = rig.samples().iter().zip(carried.samples());
    for (one, two) in samples {
        assert_eq!(one.control, two.control);
        assert!((one.parameters[0] - two.parameters[0]).abs() < 1e-12);
    }
    let [own, theirs] = [(&rig, body), (&carried, &other)]
        .map(|(rig, body)| rig.forces(body, &rig.parameters(1.0)).unwrap());
    let factor = 3.0 * moved.scale * moved.scale;
    let expected = own.iter().map(|f| moved.turn * f * factor);
    let apart: f64 = expected.zip(&theirs).map(|(a, b)| (a - b).norm()).sum();
    let whole: f64 = theirs.iter().map(|f| f.norm()).sum();
    assert!(whole > 0.0 && apart < 1e-6 * whole, "{apart} of {whole}");
}

/// A muscle of another character, or of bones without a partner, is refused with its name.
#[test]
fn foreign_muscle_is_refused() {
    let (_, body) = person();
    let link = link(body, body, &without_names());
    let place = |bone: BoneRef| MusclePlace {
        bone,
        values: [0.5, 0.0, 0.02],
    };
    let refuse = |one: BoneRef, two: BoneRef| -> String {
        let muscle = MuscleRig::new(place(one), place(two), [0.3, 0.05, 0.0]).unwrap();
        let rig = Rig::muscle("Odd", muscle, Vec::new()).unwrap();
        link.carry_rig(&rig).unwrap_err().to_string()
    };
    let arm = || BoneRef::Name("UpperArm.L".into());
    let text = refuse(arm(), BoneRef::Name("Wing".into()));
    assert!(text.contains("'Odd'") && text.contains("'Wing'"), "{text}");
    let text = refuse(BoneRef::Index(40), arm());
    assert!(text.contains("'Odd'") && text.contains("40"), "{text}");
    assert!(refuse(arm(), arm()).contains("one place"));
}
