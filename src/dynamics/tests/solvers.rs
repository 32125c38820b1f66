// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of the default method by iterations, compared with steps by factors.

use super::*;

fn flesh() -> (BarOptions, Arc<Body>) {
    let bar = BarOptions {
        cells_along: 4,
        length: 0.8,
        half: 0.15,
        ..Default::default()
    };
    let body = bar.build();
    (bar, body)
}

fn simulation(body: &Arc<Body>, solver: Solver) -> Simulation {
    let settings = SimulationSettings {
        solver,
        ..settings()
    };
    let mut sim =
        Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    sim
}

/// Plays frames in which the bar bends to and fro by the given angle.
fn simulate_frames(
    sim: &mut Simulation,
    bar: &BarOptions,
    angle: f64,
    frames: std::ops::Range<usize>,
) -> Vec<Vec3> {
    let mut path = Vec::new();
    for i in frames {
        let to = bent_pose(bar, angle * (0.9 * (i + 1) as f64).sin());
        sim.advance(&to, 1.0 / 24.0, None, None).unwrap();
        path.extend_from_slice(sim.lattice_positions());
    }
    path
}

/// The iterative solver moves flesh as the direct one does, also if steps are corrected.
#[test]
fn iterations_match_factors() {
    let (bar, body) = flesh();
    // Slowly, and so hard that single steps strain cells by more than one linearisation is good for.
    for angle in [0.1, 1.5] {
        let of = |solver| simulate_frames(&mut simulation(&body, solver), &bar, angle, 0..24);
        let (factored, iterated) = (of(Solver::Factor), of(Solver::Iterate));
        let own = max_difference(&factored, &body.rest_shape().repeat(24));
        let apart = max_difference(&factored, &iterated);
        assert!(own > 0.01 && apart < 1e-5 * SIZE, "{own} {apart}");
    }
}

/// A restored simulation with the iterative solver continues with the same bits.
#[test]
fn iterations_keep_bits() {
    let (bar, body) = flesh();
    let mut sim = simulation(&body, Solver::Iterate);
    simulate_frames(&mut sim, &bar, 0.8, 0..5);
    let mut other = simulation(&body, Solver::Iterate);
    other.restore(&sim.state()).unwrap();
    let ends = [&mut sim, &mut other].map(|sim| {
        simulate_frames(sim, &bar, 0.8, 5..9);
        sim.state()
    });
    assert!(ends[0] == ends[1]);
}

/// Firm flesh in long steps moves alike by the automatic, the direct and the iterative solver.
#[test]
fn firm_flesh_solvers_agree() {
    let bar = BarOptions {
        material: Material::new(20e6, 0.4, 1000.0).unwrap(),
        ..Default::default()
    };
    let body = bar.build();
    let of = |solver| {
        let settings = SimulationSettings {
            solver,
            rate: 24.0,
            ..settings()
        };
        let mut sim =
            Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        simulate_frames(&mut sim, &bar, 0.4, 0..12)
    };
    let (automatic, factored, iterated) = (
        of(Solver::Automatic),
        of(Solver::Factor),
        of(Solver::Iterate),
    );
    assert!(max_difference(&factored, &iterated) < 1e-5 * SIZE);
    assert!(max_difference(&automatic, &iterated) < 1e-5 * SIZE);
}
