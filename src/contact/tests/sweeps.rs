// SPDX-License-Identifier: MIT OR Apache-2.0
//! Convergence of forces where many rows push flesh that yields far more in one direction than in others.

use super::*;

/// Returns the largest violation of a row's condition: the distance of a pushing row's value from zero, the negative part of any other row's value,
/// the slip of a tangent that holds. The compliance acts on the whole force, because there was no force before.
fn row_residual(
    springs: &mut CoupledSprings,
    all: &ConstraintSet,
    moved: &[Vec3],
    compliance: f64,
) -> f64 {
    let own = |springs: &mut CoupledSprings, of: &[ConstraintEntry]| {
        let mut forces = vec![Vec3::zeros(); moved.len()];
        let add = |e: &ConstraintEntry| forces[e.node as usize] += e.direction;
        of.iter().for_each(add);
        springs.displace(&mut forces);
        entry_displacement(of, &forces)
    };
    let mut largest = 0.0_f64;
    for row in &all.rows {
        let normal = all.entries(&row.normal);
        let give = compliance * own(springs, normal);
        let value = row.gap + entry_displacement(normal, moved) + give * row.force;
        let off = if row.force > 0.0 {
            value.abs()
        } else {
            (-value).max(0.0)
        };
        largest = largest.max(off);
        let friction = row.friction.as_ref().unwrap();
        let held =
            friction.forces[0].hypot(friction.forces[1]) < 0.999 * friction.coefficient * row.force;
        if held {
            let gives = friction
                .tangents
                .clone()
                .map(|t| compliance * own(springs, all.entries(&t)));
            let give = gives[0].max(gives[1]);
            for ((tangent, slide), force) in friction
                .tangents
                .iter()
                .zip(friction.slides)
                .zip(friction.forces)
            {
                let slid = slide + entry_displacement(all.entries(tangent), moved) + give * force;
                largest = largest.max(slid.abs());
            }
        }
    }
    largest
}

/// Sweeps reach the balance of rows that push nearly the same soft direction of the flesh.
#[test]
fn coupled_rows_reach_balance() {
    // Flesh yields almost only in one direction of 24. All rows push that way, and sweeps alone would pass the force on from row to row.
    let nodes = 8;
    let mut springs = CoupledSprings::new(nodes, 1.0);
    let soft = DMatrix::from_fn(3 * nodes, 1, |i, _| 1.0 + 0.2 * (i as f64).cos());
    springs.inverse += &soft * soft.transpose() * 4.0;
    let (mut all, compliance) = (ConstraintSet::default(), 0.01);
    for i in 0..60_u32 {
        let (t, node) = (f64::from(i), |k: u32| (i + k) % 8);
        let n = Vec3::new(1.0 + 0.2 * t.sin(), 1.0, 1.0 + 0.2 * t.cos()).normalize();
        let mut made = constraint(
            &mut all,
            &[entry(node(0), n), entry(node(3), 0.5 * n)],
            -0.1 - 0.02 * t.sin(),
        );
        let across = n.cross(&Vec3::z()).normalize();
        let tangents = [across, n.cross(&across)].map(|d| all.add_entries([entry(node(0), d)]));
        let slides = [0.02 * t.cos(), 0.01];
        made.friction = Some(Friction {
            tangents,
            slides,
            coefficient: 0.4,
            forces: [0.0; 2],
        });
        all.rows.push(made);
    }
    let moved = solve_springs(&mut springs, &mut all, compliance);
    let left = row_residual(&mut springs, &all, &moved, compliance);
    assert!(all.rows.iter().any(|row| row.force > 0.0));
    assert!(left < 1e-4, "{left}");
}
