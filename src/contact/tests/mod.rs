// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact by itself: the problem, its rows by finite differences, and the search.

mod levels;
mod pieces;
mod rows;
mod search;
mod sweeps;

use super::response::{cells, shorten};
use super::search::narrow;
use super::*;
use crate::body::fixture::BarOptions;
use crate::contact::response::cells::DeformedPlace;
use crate::contact::response::complementarity::{
    Constraint, ConstraintEntry, ConstraintSet, Friction, ProjectedGaussSeidel,
};
use crate::contact::response::compliance::ComplianceColumns;
use crate::contact::search::broad::find_candidates;
use crate::progress::Silent;
use crate::skeleton::Pose;
use crate::{Mat3, Vec3};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Nodes on coupled springs with a dense A. Its columns of A⁻¹ are multiplied by a factor, to imitate an outdated compliance.
pub(super) struct CoupledSprings {
    inverse: DMatrix<f64>,
    column_factor: f64,
}

impl CoupledSprings {
    pub(super) fn new(nodes: usize, column_factor: f64) -> Self {
        let n = 3 * nodes;
        let wave = DMatrix::from_fn(n, n, |i, j| ((7 * i + 3 * j) as f64).sin());
        let matrix = &wave * wave.transpose() * 0.2 + DMatrix::identity(n, n) * 3.0;
        let inverse = matrix.try_inverse().unwrap();
        Self {
            inverse,
            column_factor,
        }
    }
}

impl FlexibleBody for CoupledSprings {
    fn displace(&mut self, forces: &mut [Vec3]) {
        let flat =
            nalgebra::DVector::from_iterator(3 * forces.len(), forces.iter().flatten().copied());
        let moved = &self.inverse * flat;
        for (i, f) in forces.iter_mut().enumerate() {
            *f = Vec3::new(moved[3 * i], moved[3 * i + 1], moved[3 * i + 2]);
        }
    }

    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64> {
        let at = |j: usize| 3 * nodes[j / 3] as usize + j % 3;
        DMatrix::from_fn(self.inverse.nrows(), 3 * nodes.len(), |i, j| {
            self.inverse[(i, at(j))] * self.column_factor
        })
    }
}

fn entry(node: u32, direction: Vec3) -> ConstraintEntry {
    ConstraintEntry {
        body: 0,
        node,
        direction,
    }
}

fn constraint(all: &mut ConstraintSet, entries: &[ConstraintEntry], gap: f64) -> Constraint {
    Constraint {
        normal: all.add_entries(entries.iter().copied()),
        gap,
        give: 1.0,
        limit: f64::INFINITY,
        ..Constraint::default()
    }
}

fn solve_springs(
    springs: &mut CoupledSprings,
    constraints: &mut ConstraintSet,
    compliance: f64,
) -> Vec<Vec3> {
    let nodes = springs.inverse.nrows() / 3;
    (constraints.rows.iter_mut()).for_each(|row| row.compliance = compliance);
    let mut all = [ComplianceColumns::default()];
    // The nodes are added in two parts, and out of order.
    let (late, early): (Vec<u32>, Vec<u32>) =
        (0..nodes as u32).rev().partition(|node| node % 2 == 0);
    all[0].add_nodes(&early, nodes, springs);
    all[0].add_nodes(&late, nodes, springs);
    let (mut moved, mut pushes) = (Vec::new(), Vec::new());
    ProjectedGaussSeidel::default().solve(
        constraints,
        &all,
        &mut [springs],
        &[nodes],
        (&mut moved, &mut pushes),
    );
    moved.remove(0)
}

fn entry_displacement(entries: &[ConstraintEntry], moved: &[Vec3]) -> f64 {
    let part = |e: &ConstraintEntry| e.direction.dot(&moved[e.node as usize]);
    entries.iter().map(part).sum()
}

/// Contact forces are never negative, and they act only where the gap is closed.
#[test]
fn forces_push_only_closed_gaps() {
    let mut springs = CoupledSprings::new(5, 1.0);
    let mut all = ConstraintSet::default();
    for i in 0..12 {
        let n = Vec3::new((i as f64).sin(), (2.0 * i as f64).cos(), 0.3).normalize();
        let (a, b) = (i % 5, (i + 2) % 5);
        let gap = 0.4 - 0.1 * f64::from(i);
        let made = constraint(&mut all, &[entry(a, n), entry(b, -n)], gap);
        all.rows.push(made);
    }
    let compliance = 0.03;
    let moved = solve_springs(&mut springs, &mut all, compliance);
    let pushing = all.rows.iter().filter(|c| c.force > 0.0).count();
    assert!(pushing > 2 && pushing < all.rows.len(), "{pushing}");
    for c in &all.rows {
        let normal = all.entries(&c.normal);
        let own = {
            let mut forces = vec![Vec3::zeros(); 5];
            normal
                .iter()
                .for_each(|e| forces[e.node as usize] += e.direction);
            springs.displace(&mut forces);
            entry_displacement(normal, &forces)
        };
        let left = c.gap + entry_displacement(normal, &moved) + compliance * own * c.force;
        assert!(c.force >= 0.0 && left > -2e-4, "{left}");
        assert!(
            c.force * left < 2e-4 * (1.0 + c.force),
            "{} {left}",
            c.force
        );
    }
}

/// The error of an outdated compliance falls to its square after the correction.
#[test]
fn stale_compliance_is_corrected() {
    let make = || {
        let mut all = ConstraintSet::default();
        for node in 0..4 {
            let made = constraint(&mut all, &[entry(node, Vec3::z())], -0.1);
            all.rows.push(made);
        }
        all
    };
    let mut exact = make();
    let moved = solve_springs(&mut CoupledSprings::new(4, 1.0), &mut exact, 1e-3);
    let mut old = make();
    let corrected = solve_springs(&mut CoupledSprings::new(4, 1.05), &mut old, 1e-3);
    for ((a, b), node) in moved.iter().zip(&corrected).zip(0..) {
        // A compliance 5 % off would leave an error of 5 mm in 100; the correction leaves its square.
        assert!((a - b).norm() < 4e-4, "{node} {a} {b}");
    }
}

/// Flesh that friction holds stays in place over a hundred steps.
#[test]
fn friction_holds_without_creep() {
    // Flesh that would return by 0.1 in every step is held for good.
    let mut springs = CoupledSprings {
        inverse: DMatrix::identity(3, 3),
        column_factor: 1.0,
    };
    let (mut place, mut forces, mut slips) = (0.0, [0.0; 2], Vec::new());
    for _ in 0..100 {
        let mut all = ConstraintSet::default();
        let tangents = [Vec3::x(), Vec3::y()].map(|t| all.add_entries([entry(0, t)]));
        let made = Constraint {
            friction: Some(Friction {
                tangents,
                slides: [-0.1 - place, 0.0],
                coefficient: 1.0,
                forces,
            }),
            ..constraint(&mut all, &[entry(0, Vec3::z())], -0.5)
        };
        all.rows.push(made);
        let moved = solve_springs(&mut springs, &mut all, 0.03);
        forces = all.rows[0].friction.as_ref().unwrap().forces;
        let step = -0.1 - place + moved[0].x;
        place += step;
        slips.push(step.abs());
    }
    assert!(slips[0] > 1e-3, "{}", slips[0]);
    let later: f64 = slips[5..].iter().sum();
    assert!(later < 1e-3 * slips[0], "{later} after {}", slips[0]);
    assert!((forces[0] - 0.1).abs() < 0.05 * 0.1, "{forces:?}");
}

/// Friction holds within its cone, and beyond it acts against the motion with the cone's force.
#[test]
fn friction_obeys_its_cone() {
    for (pull, slides) in [(0.02, false), (0.5, true)] {
        let mut springs = CoupledSprings {
            inverse: DMatrix::identity(3, 3),
            column_factor: 1.0,
        };
        let mut all = ConstraintSet::default();
        let tangents = [Vec3::x(), Vec3::y()].map(|t| all.add_entries([entry(0, t)]));
        let made = Constraint {
            friction: Some(Friction {
                tangents,
                slides: [0.6 * pull, 0.8 * pull],
                coefficient: 0.3,
                forces: [0.0; 2],
            }),
            ..constraint(&mut all, &[entry(0, Vec3::z())], -0.5)
        };
        all.rows.push(made);
        let moved = solve_springs(&mut springs, &mut all, 1e-6);
        let [x, y] = all.rows[0].friction.as_ref().unwrap().forces;
        assert!((moved[0].z - 0.5).abs() < 1e-4 && (all.rows[0].force - 0.5).abs() < 1e-4);
        if slides {
            assert!((x.hypot(y) - 0.15).abs() < 1e-4, "{x} {y}");
            assert!((x / y - 0.75).abs() < 1e-6 && x < 0.0);
        } else {
            let left = (0.6 * pull + moved[0].x).hypot(0.8 * pull + moved[0].y);
            assert!(left < 1e-5, "{left}");
        }
    }
}

/// A bar of flesh in a shape of its own.
pub(crate) struct ShapedBar {
    pub(crate) skin: Arc<ContactSkin>,
    pub(crate) pose: Pose,
    pub(crate) base: Vec<Vec3>,
    sway: Vec<Vec3>,
    vertices: DisplayedVertices,
    joints: f64,
}

impl ShapedBar {
    /// Builds a bar along z whose lattice is moved to `place`, with a sway of this size.
    pub(crate) fn new(place: impl Fn(&Vec3) -> Vec3, sway: f64) -> Self {
        Self::with_cells(false, place, sway)
    }

    /// Builds the bar of [`new`](Self::new) of hexahedra or tetrahedra.
    fn with_cells(hexahedra: bool, place: impl Fn(&Vec3) -> Vec3, sway: f64) -> Self {
        let bar = BarOptions {
            cells_along: 32,
            half: 0.05,
            hexahedra,
            ..BarOptions::default()
        };
        let body = bar.build();
        let skin = ContactSkin::new(&body, None, &Silent).unwrap();
        let mut vertices = DisplayedVertices::default();
        vertices.clear(body.surface().vertices().len());
        let rest = body.lattice().vertices();
        Self {
            base: rest.iter().map(place).collect(),
            sway: (0..rest.len())
                .map(|v| Vec3::new((v as f64).sin(), (2.0 * v as f64).sin(), 0.5) * sway)
                .collect(),
            skin: Arc::new(skin),
            pose: Pose::rest(2),
            vertices,
            joints: 1.0,
        }
    }

    /// Builds a bar rolled up by `turns`, each farther out by the bar's half thickness.
    pub(crate) fn from_turns(turns: f64) -> Self {
        let place = |x: &Vec3| {
            let angle = (x.z / 1.6 - 0.5) * turns * std::f64::consts::TAU;
            if turns == 0.0 {
                return *x;
            }
            let radius = 1.6 / (turns * std::f64::consts::TAU);
            let out = radius + x.x + 0.05 * angle / std::f64::consts::TAU;
            Vec3::new(out * angle.cos(), x.y, out * angle.sin())
        };
        Self::new(place, 0.0)
    }

    pub(crate) fn posed_flesh(&self) -> PosedFlesh<'_> {
        PosedFlesh {
            skin: &self.skin,
            pose: &self.pose,
            base: &self.base,
            sway: &self.sway,
            joints: self.joints,
            lifts: SkinLifts::ZERO,
            folds: &[],
            bounded: self.joints < 1.0,
            shown: &self.vertices,
        }
    }
}

/// The slopes of posed skin agree with finite differences of its displayed position.
#[test]
fn posed_slopes_match_differences() {
    let mut bent = ShapedBar::new(|x| x + Vec3::x() * (3.0 * x.z).sin() * 0.2, 0.05);
    bent.joints = 0.4;
    let posed = bent.posed_flesh();
    for proxy in bent.skin.proxies().iter().step_by(17) {
        let mut slopes = posed_flesh::SwayDerivatives::new();
        posed.add_derivatives(&proxy.point, 1.0, &mut slopes);
        for (node, slope) in slopes {
            for k in 0..3 {
                let place = |sign: f64| {
                    let mut sway = bent.sway.clone();
                    sway[node as usize] += Vec3::ith(k, sign * 1e-6);
                    let mut shown = DisplayedVertices::default();
                    shown.clear(bent.skin.body().surface().vertices().len());
                    let moved = PosedFlesh {
                        sway: &sway,
                        shown: &shown,
                        ..posed
                    };
                    moved.point(&proxy.point)
                };
                let change = (place(1.0) - place(-1.0)) / 2e-6;
                assert!((change - slope.column(k)).norm() < 1e-6);
            }
        }
    }
}

pub(crate) fn find_touches(bent: &ShapedBar) -> Vec<narrow::Touch> {
    let swept = || SweptBody {
        from: bent.posed_flesh(),
        to: None,
        itself: true,
    };
    let posed = [bent.posed_flesh()];
    let (mut narrow, mut touches) = (narrow::NarrowPhase::default(), Vec::new());
    narrow.begin(&posed, find_candidates(&[swept()]));
    narrow.find_touches(&posed, &|_, _| Mat3::identity(), &mut touches);
    touches
}

/// A body that stands still and one that sweeps to its own place give the same candidates.
#[test]
fn candidates_same_still_or_swept() {
    let bent = ShapedBar::from_turns(1.2);
    let [still, swept] = [None, Some(bent.posed_flesh())].map(|to| {
        let from = bent.posed_flesh();
        let body = SweptBody {
            from,
            to,
            itself: true,
        };
        find_candidates(&[body])
    });
    assert!(!still.candidates.is_empty());
    assert_eq!(still.candidates, swept.candidates);
    assert_eq!(still.warps, swept.warps);
}

/// A bar that does not meet itself has no touches.
#[test]
fn no_touches_without_overlap() {
    for turns in [0.0, 0.3, 0.9] {
        assert!(
            find_touches(&ShapedBar::from_turns(turns)).is_empty(),
            "{turns}"
        );
    }
}

/// A bar that is rolled up touches itself where its ends meet, with normals that part them.
#[test]
fn rolled_bar_touches_at_ends() {
    let bent = ShapedBar::from_turns(1.2);
    let found = find_touches(&bent);
    assert!(found.len() > 10, "{}", found.len());
    let posed = bent.posed_flesh();
    for touch in &found {
        let proxy = &bent.skin.proxies()[touch.proxy as usize];
        let corners = bent
            .skin
            .corners(touch.target.triangle)
            .map(|v| bent.skin.rest_vertex(v));
        let target: Vec3 = (0..3).map(|k| corners[k] * touch.target.weights[k]).sum();
        // A turn is four thirds long.
        assert!(((proxy.rest.z - target.z).abs() - 4.0 / 3.0).abs() < 0.15);
        assert!(posed.normal(&proxy.point).dot(&touch.normal) < 0.3);
        let apart = posed.point(&proxy.point) - posed.point(&touch.target);
        assert!(apart.dot(&touch.normal) < 0.02, "{apart}");
    }
}

/// The rows that keep cells from collapsing are the derivatives of their determinants.
#[test]
fn cell_rows_match_determinant_derivatives() {
    let bent = ShapedBar::new(|x| Vec3::new(x.x, x.y, 0.15 * x.z), 2e-4);
    let posed = bent.posed_flesh();
    let body = bent.skin.body();
    let every: Vec<u32> = (0..body.lattice().cells().len() as u32).collect();
    let mut all = ConstraintSet::default();
    cells::add_cell_rows(
        (0, &every),
        (&posed, &posed),
        (f64::INFINITY, 0.03),
        &mut all,
    );
    // The corners that rows are made for, in their order.
    let mut near: Vec<(u32, [u32; 4])> = Vec::new();
    for cell in 0..body.lattice().cells().len() as u32 {
        cells::visit_determinants(&posed, cell, |place, j| {
            let DeformedPlace::Corner(corners, _) = place else {
                panic!("a body without details has corners");
            };
            let free = corners
                .iter()
                .any(|&v| body.pattern().node_of_vertex(v as usize).is_some());
            if j < cells::ACTIVE_DETERMINANT && free {
                near.push((cell, corners));
            }
        });
    }
    assert!(all.rows.len() > 3 && all.rows.len() == near.len());
    for (row, (cell, corners)) in all.rows.iter().zip(near) {
        let normal = all.entries(&row.normal);
        let determinant = |v: u32, k: usize, step: f64| {
            let mut sway = bent.sway.clone();
            sway[v as usize] += Vec3::ith(k, step);
            let moved = PosedFlesh {
                sway: &sway,
                ..posed
            };
            let mut found = f64::NAN;
            cells::visit_determinants(&moved, cell, |place, j| {
                if matches!(place, DeformedPlace::Corner(of, _) if of == corners) {
                    found = j;
                }
            });
            found
        };
        let slope = |e: &ConstraintEntry| {
            let v = body.pattern().vertex_of_node()[e.node as usize];
            Vec3::from_fn(|k, _| (determinant(v, k, 1e-7) - determinant(v, k, -1e-7)) / 2e-7)
        };
        let slopes: Vec<Vec3> = normal.iter().map(slope).collect();
        let size = slopes.iter().map(Vec3::norm_squared).sum::<f64>().sqrt();
        for (entry, slope) in normal.iter().zip(slopes) {
            assert!((slope / size - entry.direction).norm() < 1e-6);
        }
    }
}

/// The contact points of the skin do not depend on the numbering of the mesh.
#[test]
fn proxies_independent_of_numbering() {
    let plain = BarOptions::default().build();
    let reversed = BarOptions {
        reversed: true,
        ..BarOptions::default()
    };
    let sorted = |body: &Arc<crate::body::Body>| {
        let skin = ContactSkin::new(body, None, &Silent).unwrap();
        let mut all: Vec<[i64; 3]> = skin
            .proxies()
            .iter()
            .map(|p| [0, 1, 2].map(|k| (p.rest[k] * 1e6).round() as i64))
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(&plain), sorted(&reversed.build()));
}

/// Regions of another mesh are refused, and skin of region zero has no contact points.
#[test]
fn skin_refuses_wrong_region_count() {
    let body = BarOptions::default().build();
    let count = body.surface().vertices().len();
    let wrong = ContactSkin::new(&body, Some(&vec![1; count + 1]), &Silent);
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("one number per vertex")
    );
    let none = ContactSkin::new(&body, Some(&vec![0; count]), &Silent).unwrap();
    assert!(none.proxies().is_empty());
}

/// The error for a setting out of range names that setting.
#[test]
fn settings_errors_name_option() {
    let good = ContactSettings::default();
    assert!(good.check().is_ok());
    for (what, options) in [
        (
            "thickness",
            ContactSettings {
                thickness: -1.0,
                ..good
            },
        ),
        (
            "friction",
            ContactSettings {
                friction: f64::NAN,
                ..good
            },
        ),
        (
            "compliance",
            ContactSettings {
                compliance: 0.0,
                ..good
            },
        ),
    ] {
        let error = options.check().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
