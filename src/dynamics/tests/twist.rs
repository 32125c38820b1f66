// SPDX-License-Identifier: MIT OR Apache-2.0
//! Twist of single bones: flesh within the radius follows the moved bone, by every method.

use super::*;
use crate::body::BoneTwist;
use crate::dynamics::methods::flesh::TwistTerm;
use crate::elasticity::EnclosedFlesh;
use crate::progress::Silent;
use crate::solve::Configuration;
use crate::solve::EnergyTerm;
use crate::solve::newton::RoundedSum;
use std::collections::BTreeMap;

/// Returns twists without strength for both bones.
pub(super) fn no_twist() -> BTreeMap<String, BoneTwist> {
    twists(&["lower", "upper"], None, 0.0)
}

/// Returns twists of one radius and strength.
fn twists(bones: &[&str], radius: Option<f64>, strength: f64) -> BTreeMap<String, BoneTwist> {
    let twist = BoneTwist { radius, strength };
    bones.iter().map(|b| ((*b).to_owned(), twist)).collect()
}

/// Builds a bar of cubes whose weights pass from one bone to the other, with twists of its own.
fn bar_with(twist: BTreeMap<String, BoneTwist>) -> BarOptions {
    let mut bar = BarOptions {
        hexahedra: true,
        ..Default::default()
    };
    bar.settings.region_weights = Some(bar.painted_weights());
    bar.settings.twist = twist;
    bar
}

/// Returns the pose with the bones rolled about their common axis.
fn rolled(lower: f64, upper: f64) -> Pose {
    let roll = |angle| {
        Isometry3::from_parts(
            Translation3::identity(),
            UnitQuaternion::from_axis_angle(&nalgebra::Vector3::z_axis(), angle),
        )
    };
    pose(&[roll(lower), roll(upper)])
}

/// Returns `½ κ ∫ w |p − T(x)|²` over the tubes of the bones with a twist of their own, J, by quadrature at the points of the tubes.
fn tube_energy(body: &Body, pose: &Pose, p: &[Vec3]) -> f64 {
    let flesh = EnclosedFlesh {
        surface: body.surface(),
        lattice: body.lattice(),
    };
    let mut energy = 0.0;
    for region in body.twist_regions().iter().filter(|r| r.own) {
        let samples = region.samples(body.basis(), &flesh);
        for (row, weight) in samples.rows.iter().zip(&samples.weights) {
            let at =
                |nodes: &[Vec3]| -> Vec3 { row.iter().map(|&(v, s)| nodes[v as usize] * s).sum() };
            let follows: f64 = row
                .iter()
                .flat_map(|&(v, s)| {
                    let weights = body.region_weights().row(v as usize);
                    weights.map(move |(b, w)| (b, w * s))
                })
                .filter_map(|(b, w)| (b == region.bone).then_some(w))
                .sum();
            let there = pose.maps()[region.bone as usize].apply(at(body.rest_shape()));
            energy += 0.5 * weight * follows * (at(p) - there).norm_squared();
        }
    }
    energy
}

/// Gradient and Hessian of the twist of both bones are the derivatives of its energy about the moved bones, at rolled and displaced
/// flesh.
#[test]
fn own_twist_matches_energy() {
    let mut bar = bar_with(twists(&["lower", "upper"], Some(0.15), 3.0));
    bar.settings.region_weights = None; // the same flesh everywhere: no paint scales the stiffness
    let body = bar.build();
    let pose = rolled(0.4, 1.3);
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    skinned.set(&body, Method::Warped, &pose).unwrap();
    let wobble = wobble_displacements(&body, 0.02);
    let places: Vec<Vec3> = skinned
        .places
        .iter()
        .zip(&wobble)
        .map(|(p, d)| p + d)
        .collect();
    let moved = |v: usize, d: Vec3| {
        let mut p = places.clone();
        p[v] += d;
        p
    };
    let gradient = |p: &[Vec3]| -> Vec<Vec3> {
        let term = TwistTerm {
            body: &body,
            skinned: &skinned,
        };
        let at = Configuration {
            origin: None,
            displacements: p,
            increment: None,
        };
        let mut gradient = vec![Vec3::zeros(); p.len()];
        term.add_gradient(&at, &mut gradient);
        let mut sum = RoundedSum::default();
        term.add_value(&at, &mut sum);
        assert!(sum.value.is_finite());
        let pulls = gradient.iter().zip(&skinned.twist_pull);
        pulls.map(|(g, pull)| g - pull).collect()
    };
    let (found, size) = (gradient(&places), 1e-3);
    let largest = found.iter().map(Vec3::norm).fold(0.0, f64::max);
    assert!(largest > 0.0);
    for v in (0..body.node_count()).step_by(5) {
        for i in 0..3 {
            let mut d = Vec3::zeros();
            d[i] = size;
            let (up, down) = (moved(v, d), moved(v, -d));
            // The energy is quadratic: central differences are exact.
            let slope =
                (tube_energy(&body, &pose, &up) - tube_energy(&body, &pose, &down)) / (2.0 * size);
            assert!((found[v][i] - slope).abs() < 1e-7 * largest, "{v} {i}");
            for (w, (a, b)) in gradient(&up).iter().zip(gradient(&down)).enumerate() {
                let row = body.twist_matrix().get(w, v).copied().unwrap_or_default();
                let change = (a - b) / (2.0 * size);
                assert!((change - d / size * row).norm() < 1e-6 * largest, "{w} {v}");
            }
        }
    }
}

/// A bone with the default radius and strength set has the default twist, and only the way in which it acts differs.
#[test]
fn default_twist_set_is_default() {
    let plain = bar_with(BTreeMap::new()).build();
    let set = bar_with(twists(&["upper"], None, 1.0)).build();
    assert_eq!(plain.twist_matrix().data(), set.twist_matrix().data());
    assert_eq!(plain.twist_loads(), set.twist_loads());
    assert!(plain.own_twist().is_none() && set.own_twist().is_some());
    let pose = rolled(0.3, -0.8);
    let [plain, set] = [plain, set].map(|body| {
        let mut skinned = SkinnedLattice::new(&body).unwrap();
        skinned.set(&body, Method::Warped, &pose).unwrap();
        skinned
    });
    assert!(plain.twist_pull.is_empty());
    let size = plain.twist_loads.iter().map(Vec3::norm).fold(0.0, f64::max);
    assert!(set.twist_pull.iter().any(|p| p.norm() > 1e-3 * size));
    let all = set.twist_loads.iter().zip(&set.twist_pull);
    for ((load, pull), whole) in all.zip(&plain.twist_loads) {
        assert!((load + pull - whole).norm() < 1e-12 * size);
    }
}

/// Returns the positions of flesh settled at a pose as the steps of a method have them.
fn settled(body: &Arc<Body>, method: Method, pose: &Pose) -> Vec<Vec3> {
    let settings = SimulationSettings {
        gravity: Vec3::zeros(),
        elastic_joints: 0.0,
        ..settings().with_method(method)
    };
    let mut sim = match method {
        // All modes: what is left is what the frozen warp neglects.
        Method::Modal => {
            let modes = crate::modal::Modes::for_body(body, body.free_dofs(), &Silent).unwrap();
            Simulation::with_modes(body.clone(), Arc::new(modes), settings).unwrap()
        }
        _ => Simulation::new(body.clone(), settings).unwrap(),
    };
    sim.reset(pose, true, None).unwrap();
    sim.nodes.positions.clone()
}

/// Where one bone rolls against the next, flesh within the radius comes nearer to that bone as its strength grows, until the bone
/// carries it rigidly. By every method.
#[test]
fn flesh_follows_bone_as_strength_grows() {
    let pose = rolled(0.0, 0.5);
    for method in Method::ALL {
        let away = |strength: f64| {
            let body = bar_with(twists(&["upper"], Some(0.15), strength)).build();
            let p = settled(&body, method, &pose);
            tube_energy(&body, &pose, &p) / strength
        };
        let distances: Vec<f64> = [1e-2, 1.0, 1e2, 1e5].map(away).to_vec();
        // Modal warping turns displacements by half of their own rotation, here up to 0.25 rad. What that leaves of the way does not
        // depend on the strength any more.
        let (decreasing, limit) = match method {
            Method::Modal => (&distances[..3], 0.02),
            _ => (&distances[..], 1e-3),
        };
        for pair in decreasing.windows(2) {
            assert!(pair[1] < pair[0], "{method:?}: {distances:?}");
        }
        assert!(
            distances[3] < limit * distances[0],
            "{method:?}: {distances:?}"
        );
    }
}

/// A straight bone that rolls as a whole carries its flesh exactly, whatever the strength; without any twist flesh spins freely.
#[test]
fn rigid_roll_is_exact() {
    let pose = rolled(0.9, 0.9);
    for method in Method::ALL {
        // Without rotated frames strain is measured in the rest frame, in which a roll is no rigid motion.
        if method == Method::Linear {
            continue;
        }
        for strength in [1e-2, 1.0, 1e4] {
            let body = bar_with(twists(&["lower", "upper"], Some(0.1), strength)).build();
            let carried = body.rest_shape().iter().map(|x| pose.maps()[0].apply(*x));
            let carried: Vec<Vec3> = carried.collect();
            let off = max_difference(&settled(&body, method, &pose), &carried);
            assert!(off < 1e-9, "{method:?} {strength}: {off}");
        }
    }
    let spins = |body: &Body, twist: bool| {
        let spin = body.rest_shape().iter().map(|x| Vec3::new(-x.y, x.x, 0.0));
        let spin: Vec<f64> = spin.flat_map(|d| [d.x, d.y, d.z]).collect();
        let matrix = body.stiffness(twist);
        let product = |row: usize| {
            let entries = matrix.indptr().outer_inds_sz(row);
            let entry = |i: usize| matrix.data()[i] * spin[matrix.indices()[i] as usize];
            entries.map(entry).sum::<f64>()
        };
        (0..spin.len())
            .map(|row| spin[row] * product(row))
            .sum::<f64>()
    };
    let firm = bar_with(twists(&["lower", "upper"], None, 1.0)).build();
    let held = spins(&firm, true);
    assert!(held > 0.0 && spins(&firm, false).abs() < 1e-9 * held);
    // Nothing would stop it: it is carried as a whole, and reported.
    let free = bar_with(no_twist()).build();
    assert_eq!(free.twist_matrix().data().iter().sum::<f64>(), 0.0);
    assert_eq!(free.loose_parts().len(), 1);
}

/// The stronger the twist, the less flesh lags behind a bone that rolls, by every method.
#[test]
fn lag_falls_with_strength() {
    for method in Method::ALL {
        let lag = |strength: f64| {
            let body = bar_with(twists(&["lower", "upper"], Some(0.15), strength)).build();
            let settings = SimulationSettings {
                gravity: Vec3::zeros(),
                ..settings().with_method(method)
            };
            let mut sim = Simulation::new(body.clone(), settings).unwrap();
            sim.reset(&rest_pose(), false, None).unwrap();
            let mut most = 0.0f64;
            for frame in 1..=4 {
                let angle = 0.03 * (frame * frame) as f64;
                let pose = rolled(angle, angle);
                sim.advance(&pose, 1.0 / 60.0, None, None).unwrap();
                let energy = tube_energy(&body, &pose, &sim.nodes.positions);
                most = most.max(energy / strength);
            }
            most
        };
        let lags = [1e-1, 1e1, 1e3].map(lag);
        assert!(
            lags[1] < lags[0] && lags[2] < 0.2 * lags[1],
            "{method:?}: {lags:?}"
        );
    }
}

/// Flesh that a bone's own twist moves is shown with no share of the joints' own shape; without it the skin shows nothing of the twist.
#[test]
fn own_twist_is_shown_without_joints() {
    let pose = rolled(0.0, 0.8);
    for method in [Method::Hyperelastic, Method::Warped, Method::Linearised] {
        let sway = |twist: BTreeMap<String, BoneTwist>| {
            let settings = SimulationSettings {
                gravity: Vec3::zeros(),
                elastic_joints: 0.0,
                ..settings().with_method(method)
            };
            let mut sim = Simulation::new(bar_with(twist).build(), settings).unwrap();
            sim.reset(&pose, true, None).unwrap();
            let sway = sim.sway().unwrap();
            sway.iter().map(Vec3::norm).fold(0.0, f64::max)
        };
        assert!(sway(BTreeMap::new()) < 1e-5, "{method:?}");
        assert!(sway(twists(&["upper"], None, 10.0)) > 1e-3, "{method:?}");
    }
}

/// Balances and the forces that hold them are inverse with a twist of a bone's own.
#[test]
fn own_twist_balance_inverts() {
    let body = bar_with(twists(&["upper"], None, 5.0)).build();
    let pose = rolled(0.2, 1.0);
    let gravity = Vec3::new(1.0, 2.0, -9.0);
    let forces: Vec<Vec3> = wobble_displacements(&body, 2.0);
    for method in [
        Method::Hyperelastic,
        Method::Warped,
        Method::WarpedVertex,
        Method::Blended,
        Method::Linear,
        Method::Nonlinear,
    ] {
        let q = equilibrium(&body, &pose, Some(&forces), None, gravity, method).unwrap();
        let again = equilibrium_forces(&body, &pose, &q, gravity, method).unwrap();
        for (v, (a, b)) in again.iter().zip(&forces).enumerate() {
            let wanted = match body.bone_of_vertex()[v] {
                Some(_) => Vec3::zeros(),
                None => *b,
            };
            assert!(
                (a - wanted).norm() < 1e-4,
                "{method:?} {v}: {a:?} {wanted:?}"
            );
        }
    }
}
