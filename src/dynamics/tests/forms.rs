// SPDX-License-Identifier: MIT OR Apache-2.0
//! The vertex form compared with the cell form, and conjugate gradients compared with factoring.

use super::*;

fn transform_rest(body: &Body, by: &Isometry3<f64>) -> Vec<Vec3> {
    let turn = |x: &Vec3| by.transform_point(&(*x).into()).coords;
    body.rest_shape().iter().map(turn).collect()
}

fn node_positions(body: &Body, q: &[Vec3]) -> Vec<Vec3> {
    let rest = body.rest_shape();
    q.iter().zip(rest).map(|(q, x)| q + x).collect()
}

/// The forms by cell and by vertex agree at rest and under a rigid motion, and differ in a bend.
#[test]
fn forms_agree_without_bend() {
    let body = BarOptions::default().build();
    let by = Isometry3::new(Vec3::new(3.0, -2.0, 5.0), Vec3::new(0.4, 1.9, -0.8));
    let forces = wobble_displacements(&body, 2.0);
    for p in [rest_pose(), pose(&[by; 2])] {
        let solve = |method| {
            equilibrium(&body, &p, Some(&forces), None, settings().gravity, method).unwrap()
        };
        let (cells, vertices) = (solve(Method::Warped), solve(Method::WarpedVertex));
        assert!(max_difference(&cells, &vertices) < 1e-10);
        assert!(max_difference(&cells, &vec![Vec3::zeros(); body.node_count()]) > 1e-3);
    }
    // In a bend they differ.
    let bent = bent_pose(&BarOptions::default(), 1.0);
    let solve = |method| equilibrium(&body, &bent, None, None, Vec3::zeros(), method).unwrap();
    assert!(max_difference(&solve(Method::Warped), &solve(Method::WarpedVertex)) > 1e-4);
}

/// If all bones move rigidly together, the flesh moves with them.
#[test]
fn forms_are_rigidly_invariant() {
    let bar = BarOptions::default();
    let body = bar.build();
    let by = Isometry3::new(Vec3::new(-70.0, 20.0, 4.0), Vec3::new(1.4, 0.3, -2.0));
    let whole = crate::skeleton::Affine {
        linear: *by.rotation.to_rotation_matrix().matrix(),
        translation: by.translation.vector,
    };
    // Forces in rest axes turn along.
    let (none, forces) = (Vec3::zeros(), wobble_displacements(&body, 2.0));
    for method in [Method::Warped, Method::WarpedVertex] {
        let still = equilibrium(&body, &pose(&[by; 2]), None, None, none, method).unwrap();
        let off = max_difference(&node_positions(&body, &still), &transform_rest(&body, &by));
        assert!(off < 1e-9, "{} {off}", method.name());
        let bent = bent_pose(&bar, 0.9);
        let solve = |pose: &Pose| {
            let q = equilibrium(&body, pose, None, Some(&forces), none, method);
            node_positions(&body, &q.unwrap())
        };
        for (a, b) in solve(&bent).iter().zip(solve(&bent.apply_map(&whole))) {
            assert!((by.transform_point(&(*a).into()).coords - b).norm() < 1e-8);
        }
    }
}

/// The form by vertex equals its published formula.
#[test]
fn vertex_form_matches_formula() {
    // f_i = − Σ_j R_i S_ij (R_iᵀ (x_j + q_j − c_i) − x_j), c_i = p'_i − R_i x_i, straight from the whole matrix.
    let bar = BarOptions::default();
    let body = bar.build();
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    let target = bent_pose(&bar, 1.1);
    skinned.set(&body, Method::WarpedVertex, &target).unwrap();
    let x = body.rest_shape();
    let q: Vec<Vec3> = skinned
        .places
        .iter()
        .zip(x)
        .zip(wobble_displacements(&body, 0.03))
        .map(|((p, x), d)| p - x + d)
        .collect();
    let mut balance = Equilibrium::new(&body, Method::WarpedVertex).unwrap();
    balance.set_pose(&target).unwrap();
    let forces = balance.forces_at(Vec3::zeros(), &q).unwrap();
    let stiffness = body.stiffness_matrix(false);
    let p = node_positions(&body, &q);
    for &v in body.pattern().vertex_of_node() {
        let v = v as usize;
        let turn = skinned.turns[v];
        let c = skinned.places[v] - turn * x[v];
        let mut elastic = Vec3::zeros();
        for i in stiffness.row_range(v) {
            let j = stiffness.indices()[i] as usize;
            elastic -= turn * stiffness.data()[i] * (turn.tr_mul(&(p[j] - c)) - x[j]);
        }
        let twist = skinned.twist_loads[v] - body.twist_matrix().row_times(v, &p);
        assert!((forces[v] + elastic + twist).norm() < 1e-9 * (1.0 + elastic.norm()));
    }
}

/// Plays a bend with a solver and returns the positions.
fn simulate_bend(body: &Arc<Body>, method: Method, solver: Solver) -> Vec<Vec3> {
    let settings = SimulationSettings {
        solver,
        ..settings()
    };
    let bar = BarOptions::default();
    let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    let forces = wobble_displacements(body, 1.0);
    for i in 1..=24 {
        let pose = bent_pose(&bar, 0.1 * f64::from(i));
        sim.advance(&pose, 1.0 / 24.0, None, Some(&forces)).unwrap();
    }
    sim.lattice_positions().to_vec()
}

/// The direct and the iterative solver give the same motion.
#[test]
fn solvers_agree() {
    let body = BarOptions::default().build();
    for method in [Method::Warped, Method::WarpedVertex, Method::Linear] {
        let factored = simulate_bend(&body, method, Solver::Factor);
        let iterated = simulate_bend(&body, method, Solver::Iterate);
        assert!(
            max_difference(&factored, &iterated) < 1e-8 * SIZE,
            "{}",
            method.name()
        );
        assert_eq!(iterated, simulate_bend(&body, method, Solver::Iterate));
    }
}

/// A step of conjugate gradients depends only on the state of the simulation.
#[test]
fn iterative_step_depends_on_state() {
    let bar = BarOptions::default();
    let body = bar.build();
    let settings = SimulationSettings {
        solver: Solver::Iterate,
        ..settings()
    };
    for method in [Method::Warped, Method::WarpedVertex] {
        let new = || Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        let mut sim = new();
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..8 {
            sim.advance(&bent_pose(&bar, 0.2 * f64::from(i)), 0.1, None, None)
                .unwrap();
        }
        let mut other = new();
        other.restore(&sim.state()).unwrap();
        for sim in [&mut sim, &mut other] {
            sim.advance(&bent_pose(&bar, 1.6), 0.1, None, None).unwrap();
            sim.advance(&bent_pose(&bar, 1.6), 0.03, None, None)
                .unwrap();
        }
        assert!(sim.state() == other.state());
    }
}

/// Every solver is found by its name, and an unknown name is refused with a list.
#[test]
fn solver_names_parse() {
    for solver in Solver::ALL {
        assert_eq!(solver.name().parse::<Solver>().unwrap(), solver);
    }
    let error = "lu".parse::<Solver>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no solver 'lu'; there are: 'auto', 'direct', 'cg'"
    );
}

/// Five bones with a common motion move a point rigidly, and with different turns they give a rotation between
/// theirs.
#[test]
fn five_bones_blend_rigidly() {
    let bar = BarOptions::default();
    let n = bar.vertex(bar.cells_across, bar.cells_across, bar.cells_along) + 1;
    let bones = 5;
    let share = |v: usize, b: usize| 1.0 + ((3 * v + 5 * b) % 7) as f64;
    let dense: Vec<f64> = (0..n * bones)
        .map(|i| share(i / bones, i % bones))
        .collect();
    let weights = crate::skeleton::SkinWeights::from_dense(n, bones, &dense).unwrap();
    let heads: Vec<Vec3> = (0..bones)
        .map(|b| Vec3::new(0.0, 0.1, 0.3 * b as f64))
        .collect();
    let tails = heads.iter().map(|h| h + Vec3::z()).collect();
    let parents = (0..bones).map(|b| (b as u32).checked_sub(1)).collect();
    let names = (0..bones).map(|b| b.to_string()).collect();
    let skeleton = crate::skeleton::Skeleton::new(names, parents, heads, tails).unwrap();
    let by = Isometry3::new(Vec3::new(0.4, 0.0, 1.0), Vec3::new(0.0, 1.3, 0.6));
    let frame = |maps: &[Isometry3<f64>], v: usize, x: Vec3| {
        let poses = crate::skeleton::BonePoses::new(&skeleton, &pose(maps)).unwrap();
        poses.frame(weights.row(v), x)
    };
    for v in 0..n {
        assert_eq!(weights.row(v).count(), bones);
        let x = Vec3::new(0.3, v as f64 / n as f64, -0.2);
        // All bones moved as one: the weights do not matter.
        let (place, turn) = frame(&[by; 5], v, x);
        assert!((place - by.transform_point(&x.into()).coords).norm() < 1e-12);
        assert!((turn - by.rotation.to_rotation_matrix().matrix()).norm() < 1e-12);
        // Each turned about one axis by another angle: a rigid frame whose angle lies among theirs.
        let spin = |a: f64| Isometry3::rotation(Vec3::new(0.0, 0.0, a));
        let angles = [0.1, 0.5, 0.2, 0.9, 0.4];
        let (_, turn) = frame(&angles.map(spin), v, x);
        assert!((turn.transpose() * turn - Mat3::identity()).norm() < 1e-12);
        let angle = turn[(1, 0)].atan2(turn[(0, 0)]);
        assert!(angle > 0.1 && angle < 0.9);
        // Every bone has an effect.
        for b in 0..bones {
            let mut other = angles;
            other[b] += 0.2;
            let (_, moved) = frame(&other.map(spin), v, x);
            assert!((moved - turn).norm() > 1e-3, "bone {b} of vertex {v}");
        }
    }
}
