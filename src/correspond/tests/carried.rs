// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carried things: poses, points of the skin, and rigs of all kinds.

use super::*;

/// Returns rigs on a bone, under the skin and free, each with a second sample.
pub(super) fn rigs(body: &Body) -> Vec<Rig> {
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

pub(super) fn bent_pose(skeleton: &Skeleton) -> Pose {
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

/// The map of a body scaled by s and turned by R is exact, and so are frames and numbers of carried rigs, with the moduli's
/// ratio. Their forces are `s² R Q`, as the points of flesh turn with the body.
#[test]
fn scaled_and_turned_character_is_exact() {
    let (figure, body) = &rebuilt_person();
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

/// Forces of a sculpted rig carried to a body scaled by s and turned by R are `s² R Q` on the same lattice.
#[test]
fn sculpted_rig_is_carried() {
    let (figure, body) = &rebuilt_person();
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
    let (figure, body) = &rebuilt_person();
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
