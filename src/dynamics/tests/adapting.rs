// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptation: matrices of subsets, continuity of the shape, states, and refusals.

use super::*;
use crate::elasticity::Material;
use crate::surface::shapes::Random;

/// Builds a soft bar with two levels of details.
fn soft_bar(hexahedra: bool) -> BarOptions {
    BarOptions {
        hexahedra,
        cells_along: 4,
        material: Material::new(8e3, 0.4, 1000.0).unwrap(),
        settings: BodySettings {
            basis_levels: 2,
            level: 2,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn adapting_settings(method: Method) -> SimulationSettings {
    SimulationSettings {
        adapt: Adaptation::Strain,
        adapt_strain: Vec3::new(0.02, 0.05, 0.1),
        rate: 48.0,
        ..settings().with_method(method)
    }
}

/// Returns the pose of a bar that is shaken for a second and then held.
fn shaken_pose(bar: &BarOptions, frame: usize) -> Pose {
    let angle = match frame {
        0..24 => 0.7 * (0.6 * frame as f64).sin(),
        _ => 0.0,
    };
    bent_pose(bar, angle)
}

/// The matrices of a subset are rows and columns of the whole body's, whatever its elements.
#[test]
fn subset_picks_rows_and_columns() {
    for hexahedra in [false, true] {
        let whole = soft_bar(hexahedra).build();
        let mut random = Random(7);
        let coarse = whole.basis().coarse_len() as u32;
        for kept in [0.0, 0.1, 0.5] {
            let details = coarse..whole.node_count() as u32;
            // Details of one end of the bar only, so that elements of all sizes occur.
            let chosen = details
                .filter(|&a| whole.basis().centres()[a as usize].z < 0.8 && random.next() < kept);
            let set = whole.basis().coarse_set().with_details(chosen).unwrap();
            let part = whole.with_active(&set, None).unwrap();
            assert_eq!(part.node_count(), set.count());
            assert!((part.volume() / whole.volume() - 1.0).abs() < 1e-12);
            let functions: Vec<u32> = set.functions().collect();
            let (own, all) = (part.stiffness_matrix(true), whole.stiffness_matrix(true));
            let scale = all.data().iter().map(|b| b.norm()).fold(0.0, f64::max);
            let entry = |m: &crate::solve::BlockMatrix, a: usize, b: u32| {
                let row = m.row_range(a);
                let at = m.indices()[row.clone()].binary_search(&b);
                at.map_or(Mat3::zeros(), |at| m.data()[row.start + at])
            };
            for (a, &old_a) in functions.iter().enumerate() {
                for (b, &old_b) in (0u32..).zip(&functions) {
                    let (x, y) = (entry(&own, a, b), entry(&all, old_a as usize, old_b));
                    assert!((x - y).norm() < 1e-12 * scale, "{hexahedra} {kept} {a} {b}");
                }
                assert_eq!(part.carried_mass(a), whole.carried_mass(old_a as usize));
                assert_eq!(
                    part.basis().level_of(a),
                    whole.basis().level_of(old_a as usize)
                );
            }
            check_pieces(&part, &mut random);
            // Sums that a former subset lends are those that are made anew.
            let few = functions
                .iter()
                .copied()
                .filter(|&a| a >= coarse && a % 3 > 0);
            let former = whole.basis().coarse_set().with_details(few).unwrap();
            let lender = whole.with_active(&former, None).unwrap();
            let again = whole.with_active(&set, Some((&former, &lender))).unwrap();
            assert_eq!(again.blocks(), part.blocks());
            assert_eq!(again.elements(), part.elements());
        }
    }
}

/// Checks that pieces and blocks are the same flesh: equal forces in affine motions, and nearly the energy of the blocks in any other.
fn check_pieces(part: &Body, random: &mut Random) {
    let (pieces, blocks) = (
        part.elements().stiffness_matrix(),
        part.stiffness_matrix(false),
    );
    let times = |matrix: &crate::solve::BlockMatrix, q: &[Vec3]| {
        let mut forces = vec![Vec3::zeros(); q.len()];
        matrix.times(q, &mut forces);
        forces
    };
    let strain = Mat3::from_fn(|_, _| random.next() - 0.5);
    let affine: Vec<Vec3> = part.rest_shape().iter().map(|x| strain * x).collect();
    let (own, exact) = (times(&pieces, &affine), times(&blocks, &affine));
    let largest = exact.iter().map(|f| f.norm()).fold(0.0, f64::max);
    for (a, b) in own.iter().zip(&exact) {
        assert!((a - b).norm() < 1e-10 * largest);
    }
    let mut any = || Vec3::from_fn(|_, _| random.next() - 0.5);
    let q: Vec<Vec3> = (0..part.node_count()).map(|_| any()).collect();
    let energy = |matrix| -> f64 {
        times(matrix, &q)
            .iter()
            .zip(&q)
            .map(|(f, q)| f.dot(q))
            .sum()
    };
    let ratio = energy(&pieces) / energy(&blocks);
    assert!((0.5..1.0 + 1e-9).contains(&ratio), "{ratio}");
}

/// Elements and unknowns follow the number of active functions.
#[test]
fn size_follows_active_functions() {
    let whole = soft_bar(false).build();
    let coarse = whole
        .with_active(&whole.basis().coarse_set(), None)
        .unwrap();
    assert_eq!(coarse.blocks().len(), whole.lattice().cells().len());
    assert_eq!(coarse.node_count(), whole.basis().coarse_len());
    let pieces = |body: &Body| -> Vec<usize> {
        let elements = 0..body.elements().len();
        elements
            .map(|e| body.elements().pieces(e).count())
            .collect()
    };
    let hexahedra = soft_bar(true).build();
    let coarse_set = hexahedra.basis().coarse_set();
    let plain = hexahedra.with_active(&coarse_set, None).unwrap();
    assert!(pieces(&plain).iter().all(|&count| count == 8));
    assert!(pieces(&coarse).iter().all(|&count| count == 1));
    assert!(pieces(&whole).iter().sum::<usize>() > 100 * coarse.blocks().len());
    let again = whole.with_active(&whole.basis().whole_set(), None).unwrap();
    assert_eq!(again.blocks(), whole.blocks());
    assert_eq!(again.elements(), whole.elements());
    assert_eq!(again.mass_matrix(), whole.mass_matrix());
}

/// Returns what a simulation shows: positions, sway and joints, at the skin.
fn shown(sim: &Simulation) -> Vec<Vec<Vec3>> {
    let embedding = sim.body().embedding();
    let none = Vec::new();
    let parts = [
        sim.lattice_positions(),
        sim.sway().unwrap_or(&none),
        sim.joint_volume(),
    ];
    let at_skin = |nodes: &&[Vec3]| -> Vec<Vec3> {
        let points = 0..embedding.len();
        points.map(|v| embedding.position(v, nodes)).collect()
    };
    let parts = parts.iter().filter(|nodes| !nodes.is_empty());
    parts.map(at_skin).collect()
}

/// Details come with the strain and leave after it, and the shape does not jump when they do.
#[test]
fn shape_never_jumps() {
    for (method, share) in [
        (Method::Hyperelastic, 1.0),
        (Method::Warped, 1.0),
        (Method::Warped, 0.3),
        (Method::NeoHookean, 1.0),
    ] {
        let bar = soft_bar(true);
        let body = bar.build();
        // One step a frame: sets change at its end alone.
        let own = SimulationSettings {
            elastic_joints: share,
            rate: 24.0,
            ..adapting_settings(method)
        };
        let build = || Simulation::new(body.clone(), own.clone()).unwrap();
        let (mut sim, mut frozen) = (build(), build());
        for sim in [&mut sim, &mut frozen] {
            sim.reset(&shaken_pose(&bar, 0), true, None).unwrap();
        }
        frozen.adapting.as_mut().unwrap().freeze();
        let (mut grown, mut shrunk) = (0, 0);
        let frames = if method == Method::NeoHookean { 12 } else { 96 };
        for frame in 1..frames {
            let (before, state) = (sim.active_functions(), sim.state());
            let pose = shaken_pose(&bar, frame);
            sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            if sim.active_functions() == before {
                continue;
            }
            grown += usize::from(sim.active_functions() > before);
            shrunk += usize::from(sim.active_functions() < before);
            frozen.restore(&state).unwrap();
            frozen.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            assert_eq!(frozen.active_functions(), before);
            for (a, b) in shown(&sim).iter().zip(&shown(&frozen)) {
                let jump = max_difference(a, b);
                assert!(jump < 1e-6 * body.size(), "{method:?} {frame} {jump}");
            }
        }
        assert!(grown > 0, "{method:?}");
        if method != Method::NeoHookean {
            assert!(shrunk > 0, "{method:?}");
            let coarse = body.basis().coarse_len();
            assert_eq!(sim.active_functions(), coarse, "{method:?} {share}");
        }
    }
}

/// A state continues with the same bits, whichever functions were active before it was restored, for any number of threads.
#[test]
fn states_keep_active_functions() {
    let bar = soft_bar(false);
    let body = bar.build();
    for method in [Method::Hyperelastic, Method::Warped] {
        let build = || {
            let mut sim = Simulation::new(body.clone(), adapting_settings(method)).unwrap();
            sim.reset(&shaken_pose(&bar, 0), true, None).unwrap();
            sim
        };
        let run = || {
            let mut sim = build();
            let mut states = vec![sim.state()];
            for frame in 1..40 {
                let pose = shaken_pose(&bar, frame);
                sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
                states.push(sim.state());
            }
            states
        };
        let in_pool = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(run)
        };
        let states = in_pool(1);
        assert!(states == in_pool(3));
        let mut sim = build();
        let mut counts = Vec::new();
        for frame in [20, 3, 38, 11, 27] {
            sim.restore(&states[frame]).unwrap();
            assert!(sim.state() == states[frame]);
            let pose = shaken_pose(&bar, frame + 1);
            sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            assert!(sim.state() == states[frame + 1], "{method:?} {frame}");
            counts.push(sim.active_functions());
        }
        counts.sort_unstable();
        counts.dedup();
        assert!(counts.len() > 1);
    }
}

/// Where the whole set is active from the beginning, motion has the bits of a body whose details always act.
#[test]
fn whole_set_equals_uniform_levels() {
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 1,
            level: 1,
            rest_includes_gravity: false,
            ..Default::default()
        },
        ..soft_bar(false)
    };
    let body = bar.build();
    for method in [Method::Hyperelastic, Method::Warped, Method::Linear] {
        let adapting = SimulationSettings {
            adapt_strain: Vec3::repeat(1e-12),
            ..adapting_settings(method)
        };
        let uniform = SimulationSettings {
            adapt: Adaptation::None,
            ..adapting.clone()
        };
        let run = |own: &SimulationSettings| {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&bent_pose(&bar, 0.3), true, None).unwrap();
            for frame in 0..6 {
                let pose = bent_pose(&bar, 0.3 + 0.1 * f64::from(frame));
                sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
                assert_eq!(sim.active_functions(), body.node_count());
            }
            (
                sim.lattice_positions().to_vec(),
                sim.lattice_velocities().to_vec(),
            )
        };
        assert!(run(&adapting) == run(&uniform), "{method:?}");
    }
}

/// Details around a pulled point bring the shape nearer to that of the whole body, and others stay away.
#[test]
fn pull_activates_details_around_it() {
    let bar = soft_bar(true);
    let body = bar.build();
    // The skin's vertices are the lattice's.
    let tip = bar.vertex(0, 0, bar.cells_along);
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    for (a, w) in body.embedding().row(tip) {
        forces[a] = Vec3::new(10.0, 0.0, 0.0) * w;
    }
    let run = |threshold: Option<f64>| {
        let own = SimulationSettings {
            adapt: match threshold {
                Some(_) => Adaptation::Strain,
                None => Adaptation::None,
            },
            adapt_strain: Vec3::repeat(threshold.unwrap_or(1.0)),
            ..adapting_settings(Method::Warped)
        };
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for _ in 0..36 {
            sim.advance(&rest_pose(), 1.0 / 24.0, Some(&forces), None)
                .unwrap();
        }
        let count = sim.active_functions();
        (shown(&sim).swap_remove(0), count)
    };
    let (uniform, all) = run(None);
    let (adapted, some) = run(Some(0.005));
    let (coarse, few) = run(Some(1e6));
    assert_eq!((all, few), (body.node_count(), body.basis().coarse_len()));
    assert!(few < some && 4 * some < 3 * all, "{few} {some} {all}");
    let (near, far) = (
        max_difference(&uniform, &adapted),
        max_difference(&uniform, &coarse),
    );
    assert!(near < 0.3 * far, "{near} {far}");
}

/// Details come after the step that strains the flesh, not at the end of its frame, and pins hold with them.
#[test]
fn details_come_within_frames() {
    let bar = soft_bar(true);
    let body = bar.build();
    let point = PinPoint::Vertex(bar.vertex(0, 0, bar.cells_along) as u32);
    for (method, share) in [(Method::Warped, 1.0), (Method::Hyperelastic, 0.5)] {
        let own = SimulationSettings {
            elastic_joints: share,
            rate: 240.0,
            adapt_strain: Vec3::repeat(0.005),
            ..adapting_settings(method)
        };
        let uniform = SimulationSettings {
            adapt: Adaptation::None,
            ..own.clone()
        };
        let run = |own: &SimulationSettings, frozen: bool| {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&rest_pose(), false, None).unwrap();
            if frozen {
                sim.adapting.as_mut().unwrap().freeze();
            }
            let target = sim.point_position(point).unwrap() + Vec3::new(0.02, 0.0, 0.0);
            sim.pin_point(point, Some(target), 1.0).unwrap();
            sim.advance(&bent_pose(&bar, 0.05), 1.0 / 24.0, None, None)
                .unwrap();
            let gap = (sim.point_position(point).unwrap() - target).norm();
            // What fades is shown at the point, too.
            assert!(gap < 1e-5 * body.size(), "{method:?} {gap}");
            (shown(&sim).swap_remove(0), sim.active_functions())
        };
        let (exact, all) = run(&uniform, false);
        let (adapted, some) = run(&own, false);
        let (coarse, few) = run(&own, true);
        assert!(few < some && some < all, "{method:?} {few} {some} {all}");
        let (near, far) = (
            max_difference(&exact, &adapted),
            max_difference(&exact, &coarse),
        );
        assert!(near < 0.3 * far, "{method:?} {near} {far}");
    }
}

/// Flesh in contact with itself adapts, and continues from its states.
#[test]
fn contact_goes_on_with_other_functions() {
    let bar = soft_bar(false);
    let body = bar.build();
    let contact = crate::contact::Contact::default()
        .prepare(&body, &crate::progress::Silent)
        .unwrap();
    let build = || {
        let own = adapting_settings(Method::Hyperelastic);
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.set_contact(Some(contact.clone())).unwrap();
        sim.reset(&bent_pose(&bar, 1.2), true, None).unwrap();
        sim
    };
    let mut sim = build();
    let (mut states, mut touched, mut counts) = (vec![sim.state()], 0, Vec::new());
    for frame in 1..14 {
        let pose = bent_pose(&bar, 1.2 + 0.12 * f64::from(frame));
        sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
        touched += usize::from(!sim.contacts().is_empty());
        counts.push(sim.active_functions());
        states.push(sim.state());
    }
    counts.dedup();
    assert!(touched > 2 && counts.len() > 1, "{touched} {counts:?}");
    let mut again = build();
    for frame in [9, 4] {
        again.restore(&states[frame]).unwrap();
        let pose = bent_pose(&bar, 1.2 + 0.12 * (frame + 1) as f64);
        again.advance(&pose, 1.0 / 24.0, None, None).unwrap();
        assert!(again.state() == states[frame + 1], "{frame}");
    }
}

/// Returns a scene of two bars that press each other, of which the first has levels of details.
fn adapting_scene(bar: &BarOptions) -> Scene {
    let fine = adapting_settings(Method::Hyperelastic);
    let plain = SimulationSettings {
        adapt: Adaptation::None,
        ..fine.clone()
    };
    let member = |body: Arc<Body>, own: SimulationSettings| {
        let contact = crate::contact::Contact::default();
        let prepared = contact.prepare(&body, &crate::progress::Silent).unwrap();
        (Simulation::new(body, own).unwrap(), prepared)
    };
    let other = BarOptions::default().build();
    Scene::new(vec![member(bar.build(), fine), member(other, plain)]).unwrap()
}

/// Bodies of a scene adapt while they touch each other, and continue from their states.
#[test]
fn bodies_of_scenes_adapt() {
    let bar = soft_bar(false);
    let across = |frame: usize| {
        let aside = Translation3::new(0.36 - 0.01 * frame as f64, 0.0, 0.0);
        let turn = UnitQuaternion::from_axis_angle(&Vec3::x_axis(), 1.2);
        let middle = Translation3::new(0.0, 0.0, 0.8);
        pose(
            &[Isometry3::from_parts(aside, UnitQuaternion::identity())
                * middle
                * turn
                * middle.inverse(); 2],
        )
    };
    let silent = crate::progress::Silent;
    let advance = |scene: &mut Scene, frame: usize| {
        let poses = [bent_pose(&bar, 0.02 * frame as f64), across(frame)];
        let free = [(None, None); 2];
        scene.advance(&poses, 1.0 / 24.0, &free, &silent).unwrap();
    };
    let mut scene = adapting_scene(&bar);
    let poses = [bent_pose(&bar, 0.0), across(0)];
    scene.reset(&poses, true, &[None, None], &silent).unwrap();
    let (mut states, mut counts, mut touched) = (vec![scene.state()], Vec::new(), 0);
    for frame in 1..10 {
        advance(&mut scene, frame);
        touched += usize::from(!scene.contacts().is_empty());
        let [first, second] = scene.bodies() else {
            unreachable!()
        };
        counts.push(first.active_functions());
        assert_eq!(second.active_functions(), second.body().node_count());
        let forces = scene.contact_forces(0).unwrap();
        assert_eq!(forces.len(), first.body().node_count());
        states.push(scene.state());
    }
    let all = scene.bodies()[0].body().node_count();
    let coarse = scene.bodies()[0].body().basis().coarse_len();
    assert!(touched > 4, "{touched}");
    assert!(counts.iter().all(|&c| c < all) && counts.iter().any(|&c| c > coarse));
    counts.dedup();
    assert!(counts.len() > 1, "{counts:?}");
    for frame in [5, 2] {
        scene.restore(&states[frame]).unwrap();
        assert!(scene.state() == states[frame], "{frame}");
        advance(&mut scene, frame + 1);
        assert!(scene.state() == states[frame + 1], "{frame}");
    }
    let before = scene.state();
    assert!(scene.restore(&states[8][..states[8].len() - 8]).is_err());
    assert!(scene.state() == before);
    advance(&mut scene, 4);
    assert!(scene.state() == states[4]);
}

/// What cannot adapt says why.
#[test]
fn refusals_name_the_reason() {
    let bar = soft_bar(false);
    let body = bar.build();
    let own = adapting_settings(Method::Warped);
    let refused = |body: &Arc<Body>, own: SimulationSettings| {
        Simulation::new(body.clone(), own)
            .err()
            .unwrap()
            .to_string()
    };
    let negative = SimulationSettings {
        adapt_strain: Vec3::new(0.1, 0.0, 0.1),
        ..own.clone()
    };
    assert!(refused(&body, negative).contains("adapt_strain"));
    assert!(
        "strains"
            .parse::<Adaptation>()
            .unwrap_err()
            .to_string()
            .contains("'strain'")
    );
    // Where nothing can adapt, all functions act.
    let coarse = BarOptions::default().build();
    let plain = Simulation::new(coarse.clone(), own.clone()).unwrap();
    assert_eq!(plain.active_functions(), coarse.node_count());
    // A state of a run that did not adapt, and of one that did, are told apart.
    let state = |own: &SimulationSettings| {
        let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
        sim.reset(&bent_pose(&bar, 0.4), true, None).unwrap();
        sim.advance(&bent_pose(&bar, 0.5), 1.0 / 24.0, None, None)
            .unwrap();
        (sim.state(), sim)
    };
    let plain = SimulationSettings {
        adapt: Adaptation::None,
        ..own.clone()
    };
    let ((adapted, mut adapting), (uniform, mut whole)) = (state(&own), state(&plain));
    assert!(whole.restore(&adapted).is_err() && adapting.restore(&uniform).is_err());
    assert!(whole.state() == uniform && adapting.state() == adapted);
    for cut in [8, 100, adapted.len() / 2, adapted.len() - 1] {
        assert!(adapting.restore(&adapted[..cut]).is_err());
        assert!(adapting.state() == adapted);
    }
}
