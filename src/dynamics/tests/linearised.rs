// SPDX-License-Identifier: MIT OR Apache-2.0
//! The method linearised once a step, against the equation that it solves. [capell2002, eqs 15 and 16, corrected]
//!
//! The equation is evaluated from energies and matrices of the body alone.

use super::local_linear::{painted_bar, strike};
use super::*;

/// St. Venant-Kirchhoff forces at positions of all nodes, and their change along a direction.
struct ElasticForces<'a> {
    body: &'a Body,
    positions: &'a [Vec3],
}

impl ElasticForces<'_> {
    /// Returns V' at `positions + s · line`.
    fn gradient(&self, s: f64, line: &[Vec3]) -> Vec<Vec3> {
        let places = self.positions.iter().zip(line).zip(self.body.rest_shape());
        let q: Vec<Vec3> = places.map(|((p, d), x)| p + d * s - x).collect();
        let mut gradient = vec![Vec3::zeros(); q.len()];
        let model = ElasticModel::StVenantKirchhoff;
        self.body.elements().gradient(model, &q, &mut gradient);
        gradient
    }

    /// Returns `V'' line`. V' is a cubic polynomial of the positions, so that these differences are exact up to rounding.
    fn stiffness_times(&self, line: &[Vec3]) -> Vec<Vec3> {
        let [near, back, far, behind] = [1.0, -1.0, 2.0, -2.0].map(|s| self.gradient(s, line));
        (0..line.len())
            .map(|v| ((near[v] - back[v]) * 8.0 - (far[v] - behind[v])) / 12.0)
            .collect()
    }
}

/// With bones at rest a step solves the paper's equation: forces and stiffness are those at the step's start. Bend and strike are small:
/// cells farther from rest take a convex stiffness.
#[test]
fn step_solves_equation_16() {
    let bar = painted_bar();
    let body = bar.build();
    let (at, h) = (bent_pose(&bar, 0.02), 1.0 / 240.0);
    let (alpha, beta) = (3.0, 0.01);
    let settings = SimulationSettings {
        rate: 240.0,
        mass_damping: Some(alpha),
        // Backward Euler itself damps as much as h.
        stiffness_damping: Some(beta + h),
        gravity: Vec3::zeros(),
        solver: Solver::Factor,
        ..settings()
    };
    let method = settings.with_method(Method::Linearised);
    let mut sim = Simulation::new(body.clone(), method).unwrap();
    sim.reset(&at, true, None).unwrap();
    // The first frame after a reset starts with the velocity of the bones: this one is a later one.
    sim.history.as_mut().unwrap().duration = h;
    strike(&mut sim, &body, 0.0005);
    let swing = wobble_displacements(&body, 0.02);
    for (v, bone) in body.bone_of_vertex().iter().enumerate() {
        if bone.is_none() {
            sim.nodes.velocities[v] = swing[v];
        }
    }
    let (p, before) = (sim.nodes.positions.clone(), sim.nodes.velocities.clone());
    sim.advance(&at, h, None, None).unwrap();
    let after = &sim.nodes.velocities;

    // Equation (15): the step's displacement is h times the new velocity.
    let moved: Vec<Vec3> = after.iter().map(|v| v * h).collect();
    let ends: Vec<Vec3> = p.iter().zip(&moved).map(|(p, d)| p + d).collect();
    assert!(max_difference(&ends, &sim.nodes.positions) < 1e-12);
    let change: Vec<Vec3> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let flesh = ElasticForces {
        body: &body,
        positions: &p,
    };
    let (force, stiff) = (flesh.gradient(0.0, &moved), flesh.stiffness_times(&moved));
    let mass = body.mass_matrix();
    let (mut left, mut size) = (0.0f64, 0.0f64);
    for v in 0..body.node_count() {
        if body.bone_of_vertex()[v].is_some() {
            continue;
        }
        let twist = body.twist_matrix().row_times(v, &ends) - sim.now.twist_loads[v];
        let damped = (stiff[v] + body.twist_matrix().row_times(v, &moved)) * (beta / h);
        let inertia = mass.row_times(v, &change) / h;
        let drag = mass.row_times(v, after) * alpha;
        let sum = inertia + drag + force[v] + stiff[v] + twist + damped;
        left = left.max(sum.norm());
        size = size.max(inertia.norm());
    }
    assert!(size > 1e-3 && left < 1e-7 * size, "{left} {size}");
}
