// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of touches and of cells: their derivatives, the distances that they keep, and their largest forces.

use super::*;
use crate::contact::instant::ContactInstant;
use crate::contact::response::rows::{PairParameters, largest_pressure, tangents};
use crate::contact::search::narrow::Touch;

const OPTIONS: ContactSettings = ContactSettings {
    self_contact: true,
    thickness: 0.004,
    friction: 0.5,
    compliance: 0.02,
    response: ContactResponse::Complementarity,
};

fn touch_row(
    pairing: &PairParameters,
    touch: &Touch,
    at: &ContactInstant,
) -> (Constraint, Vec<ConstraintEntry>) {
    let mut all = ConstraintSet::default();
    // The step is so long that all overlap may be parted in it.
    pairing.add_row(touch, (at, at), None, 10.0, &mut all);
    let row = all.rows.remove(0);
    let entries = all.entries(&row.normal).to_vec();
    (row, entries)
}

/// Returns the flesh with another sway.
fn with_sway<'a>(
    posed: PosedFlesh<'a>,
    sway: &'a [Vec3],
    shown: &'a DisplayedVertices,
) -> PosedFlesh<'a> {
    PosedFlesh {
        sway,
        shown,
        ..posed
    }
}

/// The entries of a row are the derivatives of its gap, and its tangents are unit vectors across the normal.
#[test]
fn row_is_gap_derivative() {
    let bent = ShapedBar::from_turns(1.2);
    let posed = [bent.posed_flesh()];
    let at = ContactInstant {
        bodies: &posed,
        colliders: &[],
    };
    let pairing = PairParameters::new(&[OPTIONS]);
    let pattern = bent.skin.body().pattern();
    for touch in find_touches(&bent).iter().step_by(5) {
        let (row, entries) = touch_row(&pairing, touch, &at);
        let gap = pairing.gap(touch, &at);
        assert!(
            (row.gap - gap).abs() < 1e-12,
            "the flesh is far apart at rest"
        );
        assert_eq!((row.compliance, row.force), (0.02, 0.0));
        assert_eq!(row.friction.as_ref().map(|f| f.coefficient), Some(0.5));
        for k in 0..3 {
            let by = 1e-6 * (k as f64 + 1.0);
            let way = |node: u32| Vec3::ith(k, (f64::from(node)).cos());
            let moved = |sign: f64| {
                let mut sway = bent.sway.clone();
                for (node, &v) in (0u32..).zip(pattern.vertex_of_node()) {
                    sway[v as usize] += way(node) * (sign * by);
                }
                let mut shown = DisplayedVertices::default();
                shown.clear(bent.skin.body().surface().vertices().len());
                let posed = [with_sway(bent.posed_flesh(), &sway, &shown)];
                let at = ContactInstant {
                    bodies: &posed,
                    colliders: &[],
                };
                pairing.gap(touch, &at)
            };
            let slope = (moved(1.0) - moved(-1.0)) / (2.0 * by);
            let derivative: f64 = entries.iter().map(|e| e.direction.dot(&way(e.node))).sum();
            assert!((slope - derivative).abs() < 1e-6, "{slope} {derivative}");
        }
        let [a, b] = tangents(&at, touch);
        let across = [a.dot(&touch.normal), b.dot(&touch.normal), a.dot(&b)];
        assert!(across.iter().all(|x| x.abs() < 1e-9));
        assert!((a.norm() - 1.0).abs() < 1e-9 && (b.norm() - 1.0).abs() < 1e-9);
    }
}

/// Skin that lies nearer to itself at rest than the thickness may stay so; skin of another body may not.
#[test]
fn gap_allows_rest_proximity() {
    let (bar, twin) = (ShapedBar::new(|x| *x, 0.0), ShapedBar::new(|x| *x, 0.0));
    let posed = [bar.posed_flesh(), twin.posed_flesh()];
    let at = ContactInstant {
        bodies: &posed,
        colliders: &[],
    };
    let thick = ContactSettings {
        thickness: 0.2,
        ..OPTIONS
    };
    let pairing = PairParameters::new(&[thick, thick]);
    let proxies = bar.skin.proxies();
    let (first, second) = (&proxies[0], &proxies[proxies.len() / 2]);
    let apart = first.rest - second.rest;
    for far in [1.0, 0.5] {
        let thick = far * apart.norm();
        let pairing = PairParameters::new(&[
            ContactSettings {
                thickness: 2.0 * thick,
                ..OPTIONS
            },
            ContactSettings {
                thickness: 2.0 * thick,
                ..OPTIONS
            },
        ]);
        let touch = |other: u32| Touch {
            body: 0,
            proxy: 0,
            other,
            target: second.point,
            normal: apart.normalize(),
            depth: 0.0,
            side: 1.0,
        };
        let own = touch_row(&pairing, &touch(0), &at).0.gap;
        // A body's own flesh may stay as near as at rest; only a positive gap remains.
        let wanted = (pairing.gap(&touch(0), &at)).max(0.0);
        assert!((own - wanted).abs() < 1e-9, "{own} {wanted}");
        // For flesh of another body the whole gap counts.
        let others = touch_row(&pairing, &touch(1), &at).0.gap;
        assert!((others - pairing.gap(&touch(1), &at)).abs() < 1e-12);
        assert!(others < 0.0 || far < 1.0);
    }
    // Skin between points is kept apart by a little of a cell.
    let touch = Touch {
        body: 0,
        proxy: 0,
        other: 1,
        target: second.point,
        normal: apart.normalize(),
        depth: 0.0,
        side: 1.0,
    };
    let besides = pairing.reported_gap(&touch, &at) - pairing.gap(&touch, &at);
    assert!(besides > 0.0 && besides < 0.02 * bar.skin.cell_size());
    assert!((pairing.reported_gap(&touch, &at) - (apart.norm() - 0.2)).abs() < 1e-9);
}

/// Contact forces are limited by the pressure that flesh bears, and the limit rises with the share of elastic joints.
#[test]
fn force_limit_follows_elastic_joints() {
    let young = 3e4;
    assert_eq!(largest_pressure(young, 0.0), young);
    assert!(largest_pressure(young, 1.0) > 2.0 * young);
    let middle = 0.5 * (largest_pressure(young, 0.0) + largest_pressure(young, 1.0));
    assert!((largest_pressure(young, 0.5) - middle).abs() < 1e-9 * middle);

    let (mut bar, twin) = (ShapedBar::new(|x| *x, 0.0), ShapedBar::new(|x| *x, 0.0));
    bar.joints = 0.25;
    let nodes = bar.base.len();
    let own = bar.skin.body().material().young();
    for fold in [0.0, 0.6] {
        let folds = vec![fold; nodes];
        let posed = [
            PosedFlesh {
                folds: &folds,
                ..bar.posed_flesh()
            },
            twin.posed_flesh(),
        ];
        let joints = 0.25 + 0.75 * fold;
        let at = ContactInstant {
            bodies: &posed,
            colliders: &[],
        };
        let pairing = PairParameters::new(&[OPTIONS, OPTIONS]);
        let proxy = &bar.skin.proxies()[5];
        assert!((posed[0].elastic_joints_at(&proxy.point) - joints).abs() < 1e-12);
        assert!((posed[0].elastic_joints_of_node(3) - joints).abs() < 1e-12);
        let target = bar.skin.proxies()[60].point;
        for (other, joints) in [(0, joints), (1, 1.0)] {
            let touch = Touch {
                body: 0,
                proxy: 5,
                other,
                target,
                normal: Vec3::x(),
                depth: 0.0,
                side: 1.0,
            };
            let limit = touch_row(&pairing, &touch, &at).0.limit;
            let wanted = largest_pressure(own, joints) * proxy.area;
            assert!((limit - wanted).abs() < 1e-6 * wanted, "{limit} {wanted}");
        }
    }
}

/// Volume that a cell had lost before the step is won back at the given rate; new loss is undone at once.
#[test]
fn lost_cell_volume_recovers_slowly() {
    let squeezed = |z: f64| ShapedBar::new(move |x| Vec3::new(x.x, x.y, z * x.z), 0.0);
    let after = squeezed(0.05);
    let every: Vec<u32> = (0..after.skin.body().lattice().cells().len() as u32).collect();
    let recovery = 1e-4;
    let rows = |before: &ShapedBar, recovery: f64| {
        let mut all = ConstraintSet::default();
        let (before, after) = (before.posed_flesh(), after.posed_flesh());
        cells::add_cell_rows((0, &every), (&before, &after), (recovery, 0.03), &mut all);
        all.rows.iter().map(|row| row.gap).collect::<Vec<f64>>()
    };
    // Without a limit all missing volume is restored; volume lost before is restored at the rate of recovery.
    let whole = rows(&after, f64::INFINITY);
    assert!(whole.len() > 9);
    for (gap, whole) in rows(&after, recovery).iter().zip(&whole) {
        assert!(*whole < -recovery && (gap + recovery).abs() < 1e-12);
    }
    // Cells that had more volume before get back the volume that the step takes, up to the missing volume.
    let missing = cells::MIN_DETERMINANT - 0.05;
    for (z, taken) in [(0.06, 0.01), (0.5, 0.45)] {
        for (gap, whole) in rows(&squeezed(z), recovery).iter().zip(&whole) {
            let wanted = (whole * taken / missing - recovery).max(*whole);
            assert!((gap - wanted).abs() < 1e-9, "{z}: {gap} {wanted}");
        }
    }
}

/// Friction forces vanish together with the normal force.
#[test]
fn friction_ends_with_normal_force() {
    for forces in [[0.0, 0.1], [0.2, 0.0], [0.0, 0.0]] {
        let mut springs = CoupledSprings {
            inverse: DMatrix::identity(3, 3),
            column_factor: 1.0,
        };
        let mut all = ConstraintSet::default();
        let tangents = [Vec3::x(), Vec3::y()].map(|t| all.add_entries([entry(0, t)]));
        let made = Constraint {
            friction: Some(Friction {
                tangents,
                slides: [0.0; 2],
                coefficient: 0.5,
                forces,
            }),
            ..constraint(&mut all, &[entry(0, Vec3::z())], 0.3)
        };
        all.rows.push(made);
        let moved = solve_springs(&mut springs, &mut all, 0.03);
        assert_eq!(all.rows[0].force, 0.0);
        assert_eq!(all.rows[0].friction.as_ref().unwrap().forces, [0.0; 2]);
        assert!(moved[0].norm() < 1e-9);
    }
}

/// A cell without any direction in which its volume grows is counted once and has no row.
#[test]
fn degenerate_cell_counts_once() {
    // All flesh in one line: no corner of a hexahedron has a direction in which its volume grows.
    let line = ShapedBar::with_cells(true, |x| Vec3::z() * x.z, 0.0);
    let posed = line.posed_flesh();
    let cells = line.skin.body().lattice().cells().len();
    let every: Vec<u32> = (0..cells as u32).collect();
    let mut all = ConstraintSet::default();
    let held = crate::contact::response::cells::add_cell_rows(
        (0, &every),
        (&posed, &posed),
        (0.0, 0.03),
        &mut all,
    );
    assert_eq!((held, all.rows.len()), (cells, 0));
}
