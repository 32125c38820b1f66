// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stiffness of the flesh that is led from outside, compared with bodies of another stiffness.

use super::*;
use crate::body::STIFFNESS_FACTORS;

/// Methods whose stiffness may change in motion.
const METHODS: [Method; 6] = [
    Method::Hyperelastic,
    Method::Warped,
    Method::Linear,
    Method::Linearised,
    Method::Nonlinear,
    Method::NeoHookean,
];

/// A bar whose lower end is held as a whole, without twist energy.
fn clamped_bar() -> BarOptions {
    BarOptions {
        cells_along: 6,
        bones: false,
        ..BarOptions::default()
    }
}

fn cell_count(body: &Body) -> usize {
    body.lattice().cells().len()
}

/// Returns factors that grow along the bar from 1 to `most`.
fn graded_factors(body: &Body, most: f64) -> Vec<f64> {
    let lattice = body.lattice();
    let middle = |corners: &[u32]| {
        let sum: f64 = corners
            .iter()
            .map(|&v| lattice.vertices()[v as usize].norm())
            .sum();
        sum / corners.len() as f64 / 1.6
    };
    let cells = lattice.cells().iter();
    cells
        .map(|cell| 1.0 + (most - 1.0) * middle(cell.corners()).clamp(0.0, 1.0))
        .collect()
}

/// Returns the pose of both bones shaken sideways at a frame.
fn shaken(by: &Isometry3<f64>, frame: usize) -> Pose {
    let aside = Vec3::new(0.06 * (0.9 * frame as f64).sin(), 0.0, 0.0);
    pose(&[by * Translation3::from(aside) * by.inverse(); 2])
}

/// Plays some frames with factors at each, after a start with the first ones.
fn play(
    body: &Arc<Body>,
    method: Method,
    frames: std::ops::Range<usize>,
    factors: impl Fn(usize) -> Option<Vec<f64>>,
) -> Simulation {
    let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
    sim.set_stiffness(factors(frames.start).as_deref()).unwrap();
    let still = Isometry3::identity();
    sim.reset(&shaken(&still, frames.start), true, None)
        .unwrap();
    for frame in frames.skip(1) {
        sim.set_stiffness(factors(frame).as_deref()).unwrap();
        let next = shaken(&still, frame);
        sim.advance(&next, 1.0 / 24.0, None, None).unwrap();
    }
    sim
}

/// Flesh with one factor for all cells moves as that of a body of so many times its Young's modulus.
#[test]
fn uniform_factor_equals_young() {
    for hexahedra in [false, true] {
        let bar = BarOptions {
            hexahedra,
            ..clamped_bar()
        };
        let body = bar.build();
        assert!(body.twist_matrix().data().iter().all(|k| *k == 0.0));
        let young = 2.5 * body.material().young();
        let firm = Arc::new(body.with_young(young).unwrap());
        let factors = vec![2.5; cell_count(&body)];
        for method in METHODS {
            let led = play(&body, method, 0..6, |_| Some(factors.clone()));
            let plain = play(&firm, method, 0..6, |_| None);
            let soft = play(&body, method, 0..6, |_| None);
            let positions = |sim: &Simulation| sim.lattice_positions().to_vec();
            let apart = max_difference(&positions(&led), &positions(&plain));
            assert!(apart < 1e-9 * SIZE, "{} {apart:e}", method.name());
            assert!(max_difference(&positions(&led), &positions(&soft)) > 1e-3);
        }
    }
}

/// With bones the twist energy goes along with one factor for all cells: flesh whose factor is led there moves as the firm body does, and rests where
/// that rests. Factors of a part leave the twist, and bones can be freed after as well as before.
#[test]
fn common_factor_scales_twist() {
    let body = BarOptions {
        settings: BodySettings {
            rest_includes_gravity: false,
            ..BodySettings::default()
        },
        ..BarOptions::default()
    }
    .build();
    assert!(body.twist_matrix().data().iter().any(|k| *k != 0.0));
    let firm = Arc::new(body.with_young(2.5 * body.material().young()).unwrap());
    let cells = cell_count(&body);
    for method in METHODS {
        let positions = |sim: &Simulation| sim.lattice_positions().to_vec();
        let at_once = play(&body, method, 0..4, |_| Some(vec![2.5; cells]));
        let plain = play(&firm, method, 0..4, |_| None);
        let apart = max_difference(&positions(&at_once), &positions(&plain));
        assert!(apart < 1e-9 * SIZE, "{} {apart:e}", method.name());
        // Led there within a frame, then at rest for two seconds.
        let settled = |body: &Arc<Body>, factor: f64| {
            let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
            sim.reset(&rest_pose(), true, None).unwrap();
            let start = sim.lattice_positions().to_vec();
            for _ in 0..48 {
                sim.set_stiffness(Some(&vec![factor; cells])).unwrap();
                sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
            }
            (start, sim.lattice_positions().to_vec())
        };
        let ((soft, led), (_, own)) = (settled(&body, 2.5), settled(&firm, 1.0));
        let way = max_difference(&soft, &own);
        let apart = max_difference(&led, &own);
        // What still swings after two seconds.
        assert!(apart < 0.01 * way, "{} {apart:e} {way:e}", method.name());
    }
    for (part, factor) in [(cells / 3, 9.0), (cells - 1, 9.0), (cells - 1, 0.2)] {
        let mut local = vec![1.0; cells];
        local[..part].fill(factor);
        let local = body.with_cell_stiffness(&local).unwrap();
        assert_eq!(local.twist_matrix().data(), body.twist_matrix().data());
        assert_eq!(local.twist_loads(), body.twist_loads());
    }
    let firmer = body.with_cell_stiffness(&vec![2.5; cells]).unwrap();
    for (own, other) in firmer.twist_loads().iter().zip(firm.twist_loads()) {
        approx::assert_relative_eq!(own.sum, other.sum, max_relative = 1e-12);
    }
    let freed = [&firmer, &firm].map(|body| body.with_free_bones(&[1]).unwrap());
    let [own, other] = freed.each_ref().map(|body| body.twist_matrix().data());
    for (own, other) in own.iter().zip(other) {
        approx::assert_relative_eq!(own, other, max_relative = 1e-12);
    }
}

/// A body with one factor for all cells balances as one of so many times its Young's modulus, by every method.
#[test]
fn uniform_body_equals_young() {
    let body = BarOptions {
        settings: BodySettings {
            rest_includes_gravity: false,
            ..BodySettings::default()
        },
        ..clamped_bar()
    }
    .build();
    let firm = Arc::new(body.with_young(3.0 * body.material().young()).unwrap());
    let led = Arc::new(
        body.with_cell_stiffness(&vec![3.0; cell_count(&body)])
            .unwrap(),
    );
    let gravity = Vec3::new(2.0, 0.0, -3.0);
    let balance = |body: &Arc<Body>, method| {
        equilibrium(body, &rest_pose(), None, None, gravity, method).unwrap()
    };
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Modal) {
        let apart = max_difference(&balance(&led, method), &balance(&firm, method));
        assert!(apart < 1e-9 * SIZE, "{} {apart:e}", method.name());
    }
    // Linear flesh sags by a third.
    let (soft, stiff) = (
        balance(&body, Method::Warped),
        balance(&led, Method::Warped),
    );
    let third: Vec<Vec3> = soft.iter().map(|q| q / 3.0).collect();
    assert!(max_difference(&third, &stiff) < 1e-9 * SIZE);
}

/// Factors of one change no bit of a motion.
#[test]
fn factors_of_one_change_nothing() {
    let bar = BarOptions::default();
    let body = bar.build();
    for method in METHODS {
        let run = |led: bool| {
            let ones = vec![1.0; cell_count(&body)];
            let sim = play(&body, method, 0..5, |_| led.then(|| ones.clone()));
            (
                sim.lattice_positions().to_vec(),
                sim.lattice_velocities().to_vec(),
            )
        };
        assert_eq!(run(true), run(false), "{}", method.name());
    }
}

/// The energy of firm flesh is the sum of its cells' energies times their factors, and its force the derivative of the energy.
#[test]
fn energy_scales_by_cell() {
    let body = BarOptions {
        cells_along: 2,
        ..BarOptions::default()
    }
    .build();
    let factors = graded_factors(&body, 5.0);
    let firm = body.with_cell_stiffness(&factors).unwrap();
    let (model, q) = (ElasticModel::Yeoh, wobble_displacements(&body, 0.02));
    let energy = |body: &Body, q: &[Vec3]| body.elements().energy(model, q);
    let soft = energy(&body, &q);
    let gained = |cell: usize| {
        let mut one = vec![1.0; factors.len()];
        one[cell] = 2.0;
        energy(&body.with_cell_stiffness(&one).unwrap(), &q) - soft
    };
    let sum: f64 = (0..factors.len()).map(|c| factors[c] * gained(c)).sum();
    approx::assert_relative_eq!(energy(&firm, &q), sum, max_relative = 1e-9);
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    firm.elements().gradient(model, &q, &mut forces);
    let way = wobble_displacements(&body, 1.0);
    let at = |t: f64| {
        let moved: Vec<Vec3> = q.iter().zip(&way).map(|(q, d)| q + d * t).collect();
        energy(&firm, &moved)
    };
    let slope: f64 = forces.iter().zip(&way).map(|(f, d)| f.dot(d)).sum();
    approx::assert_relative_eq!((at(1e-6) - at(-1e-6)) / 2e-6, slope, max_relative = 1e-6);
    // The linear stiffness is that of the energy at rest.
    let stiffness = firm.stiffness_matrix(false);
    let mut linear = vec![Vec3::zeros(); body.node_count()];
    stiffness.times(&way, &mut linear);
    let tiny: Vec<Vec3> = way.iter().map(|d| d * 1e-7).collect();
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    firm.elements().gradient(model, &tiny, &mut forces);
    let forces: Vec<Vec3> = forces.iter().map(|f| f * 1e7).collect();
    let size = linear.iter().map(Vec3::norm).fold(0.0, f64::max);
    assert!(max_difference(&forces, &linear) < 1e-5 * size);
}

/// A turned and moved character with changing stiffness moves as the plain one does, turned and moved.
#[test]
fn changing_stiffness_is_objective() {
    let by = Isometry3::new(Vec3::new(3.0, -1.0, 2.0), Vec3::new(0.5, 1.1, -0.7));
    let still = Isometry3::identity();
    for method in [Method::Hyperelastic, Method::Warped] {
        let run = |frame: &Isometry3<f64>| {
            let bar = BarOptions {
                cells_along: 6,
                frame: *frame,
                ..BarOptions::default()
            };
            let body = bar.build();
            let turned = SimulationSettings {
                gravity: frame.rotation * settings().gravity,
                ..settings().with_method(method)
            };
            let factors = graded_factors(
                &BarOptions {
                    frame: still,
                    ..bar
                }
                .build(),
                4.0,
            );
            let mut sim = Simulation::new(body, turned).unwrap();
            sim.reset(&shaken(frame, 0), true, None).unwrap();
            for i in 1..5 {
                let part = |f: &f64| 1.0 + (f - 1.0) * 0.25 * i as f64;
                let now: Vec<f64> = factors.iter().map(part).collect();
                sim.set_stiffness(Some(&now)).unwrap();
                sim.advance(&shaken(frame, i), 1.0 / 24.0, None, None)
                    .unwrap();
            }
            sim.lattice_positions().to_vec()
        };
        let carried: Vec<Vec3> = run(&still)
            .iter()
            .map(|p| by.transform_point(&(*p).into()).coords)
            .collect();
        assert!(max_difference(&carried, &run(&by)) < 1e-8);
    }
}

/// Firm flesh whose bones stop sways less far and swings back sooner.
#[test]
fn firm_flesh_sways_less_and_sooner() {
    let body = BarOptions {
        // It swings about one and a half times a second.
        material: Material::new(4e6, 0.45, 1000.0).unwrap(),
        ..clamped_bar()
    }
    .build();
    let sway = |factor: f64| -> (f64, usize) {
        let mut sim = Simulation::new(body.clone(), undamped_settings(240.0)).unwrap();
        sim.set_stiffness(Some(&vec![factor; cell_count(&body)]))
            .unwrap();
        let at = |x: f64| pose(&[Isometry3::translation(x, 0.0, 0.0); 2]);
        sim.reset(&at(-0.2), true, None).unwrap();
        sim.advance(&at(-0.1), 0.05, None, None).unwrap();
        sim.advance(&at(0.0), 0.05, None, None).unwrap();
        let tip = clamped_bar().vertex(1, 1, 6);
        let mut xs = Vec::new();
        for _ in 0..120 {
            sim.advance(&at(0.0), 1.0 / 240.0, None, None).unwrap();
            xs.push(sim.lattice_positions()[tip].x - body.rest_shape()[tip].x);
        }
        let most = xs.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let turned = xs
            .windows(2)
            .position(|w| w[0].abs() > 0.3 * most && w[1].abs() < w[0].abs());
        (most, turned.unwrap())
    };
    let (soft, firm) = (sway(1.0), sway(6.0));
    assert!(
        firm.0 < 0.7 * soft.0 && firm.1 < soft.1,
        "{soft:?} {firm:?}"
    );
}

/// Flesh at rest stays at rest while its stiffness changes, and comes back to the same balance.
#[test]
fn changing_stiffness_moves_no_flesh_at_rest() {
    let body = BarOptions::default().build();
    for method in METHODS {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for factors in [Some(graded_factors(&body, 8.0)), None] {
            sim.set_stiffness(factors.as_deref()).unwrap();
            for _ in 0..4 {
                sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
            }
            assert!(max_difference(sim.lattice_positions(), body.rest_shape()) < 1e-12);
        }
        let ones = |factors: &[f64]| factors.iter().all(|f| *f == 1.0);
        assert!(sim.stiffness().is_some_and(ones));
    }
}

/// A state with led stiffness continues to the bit, also in a simulation whose stiffness was never led.
#[test]
fn state_keeps_stiffness() {
    let body = BarOptions::default().build();
    let factors = |frame: usize| Some(graded_factors(&body, 1.0 + frame as f64));
    for method in METHODS {
        let whole = play(&body, method, 0..7, factors);
        let part = play(&body, method, 0..4, factors);
        let mut rest = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        rest.restore(&part.state()).unwrap();
        assert_eq!(rest.stiffness(), part.stiffness());
        let mut others = [part, rest];
        for frame in 4..7 {
            for sim in &mut others {
                sim.set_stiffness(factors(frame).as_deref()).unwrap();
                let next = shaken(&Isometry3::identity(), frame);
                sim.advance(&next, 1.0 / 24.0, None, None).unwrap();
            }
        }
        for sim in others {
            assert_eq!(sim.state(), whole.state(), "{}", method.name());
        }
        // A state without factors is one of flesh at ease.
        let mut led = play(&body, method, 0..3, factors);
        let plain = play(&body, method, 0..3, |_| None);
        led.restore(&plain.state()).unwrap();
        assert!(led.stiffness().unwrap().iter().all(|f| *f == 1.0));
        assert_eq!(led.lattice_positions(), plain.lattice_positions());
    }
}

/// A simulation hands out the body at ease, and pins and contact take it.
#[test]
fn body_stays_at_ease() {
    let body = BarOptions::default().build();
    let mut sim = play(&body, Method::Hyperelastic, 0..3, |frame| {
        Some(graded_factors(&body, 2.0 + frame as f64))
    });
    assert!(Arc::ptr_eq(sim.body(), &body));
    let place = Vec3::new(0.15, 0.1, 1.2);
    let pin = crate::dynamics::PinPoint::Place(place);
    let at = sim.point_position(pin).unwrap() + Vec3::new(0.01, 0.0, 0.0);
    sim.pin_point(pin, Some(at), 1.0).unwrap();
    sim.set_stiffness(Some(&graded_factors(&body, 9.0)))
        .unwrap();
    sim.advance(&shaken(&Isometry3::identity(), 3), 1.0 / 24.0, None, None)
        .unwrap();
    assert!((sim.point_position(pin).unwrap() - at).norm() < 1e-8);
}

/// Methods whose matrices never change, details and factors that do not fit are refused in a sentence, and nothing changes.
#[test]
fn bad_stiffness_is_refused() {
    let body = BarOptions::default().build();
    let ones = vec![1.0; cell_count(&body)];
    for method in Method::ALL {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        let done = sim.set_stiffness(Some(&ones));
        assert_eq!(done.is_ok(), METHODS.contains(&method), "{}", method.name());
        if let Err(error) = done {
            assert!(error.to_string().contains(method.name()) && sim.stiffness().is_none());
        }
    }
    let mut sim = Simulation::new(body.clone(), settings()).unwrap();
    let sentence = |sim: &mut Simulation, factors: &[f64]| {
        sim.set_stiffness(Some(factors)).unwrap_err().to_string()
    };
    assert!(sentence(&mut sim, &ones[1..]).contains("one per cell of the lattice"));
    for bad in [
        0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        2.0 * STIFFNESS_FACTORS.1,
    ] {
        let mut factors = ones.clone();
        factors[3] = bad;
        assert!(sentence(&mut sim, &factors).contains("stiffness at cell 3"));
        assert!(body.with_cell_stiffness(&factors).is_err());
    }
    assert!(sim.stiffness().is_none());
    let fine = BarOptions {
        cells_along: 2,
        settings: BodySettings {
            basis_levels: 1,
            ..BodySettings::default()
        },
        ..BarOptions::default()
    }
    .build();
    let mut sim = Simulation::new(fine.clone(), settings()).unwrap();
    assert!(sentence(&mut sim, &vec![1.0; cell_count(&fine)]).contains("basis_levels 0"));
    // A balance of a body with details takes them.
    assert!(
        fine.with_cell_stiffness(&vec![2.0; cell_count(&fine)])
            .is_ok()
    );
}
