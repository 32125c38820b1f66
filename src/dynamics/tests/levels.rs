// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies with details: against subdivided lattices, exact solutions and rigid motions.

use super::*;
use crate::basis::{Basis, subdivided_lattice};
use crate::body::fixture::{FullSpace, body_in};
use crate::elasticity::FleshDomain;
use crate::kernel::WarpForm;
use crate::lattice::{BoneChains, Cell, Lattice};
use crate::modal::{DeformSettings, ModalError, ModalSystem, Modes};
use crate::progress::Silent;
use crate::solve::term::tests::Pin as Spring;
use crate::solve::{EnergyTerm, ScalarMatrix};
use crate::store;
use crate::tets::MassKind;

fn with_levels(levels: usize) -> BodySettings {
    BodySettings {
        basis_levels: levels,
        level: levels,
        ..unloaded()
    }
}

/// Settings of a body that sags and has no twist, which depends on how finely weights are known.
fn unloaded() -> BodySettings {
    BodySettings {
        rest_includes_gravity: false,
        twist: super::twist::no_twist(),
        ..BodySettings::default()
    }
}

/// Builds a hexahedron, a prism at its side and a tetrahedron on that; a bone holds the vertices with x = 0.
fn mixed_lattice() -> Lattice {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.1],
        [0.0, 1.1, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.1, 1.1],
        [0.0, 1.0, 1.2],
        [1.1, 1.0, 1.0],
        [2.0, 0.4, 0.1],
        [1.9, 0.5, 1.0],
        [1.4, 0.5, 2.0],
    ];
    let cells = vec![
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        Cell::Prism([1, 8, 3, 5, 9, 7]),
        Cell::Tetrahedron([5, 9, 7, 10]),
    ];
    hold_side(x.map(Vec3::from).to_vec(), cells, 0)
}

/// Builds a lattice whose vertices with a coordinate of zero along an axis hang on a bone.
fn hold_side(x: Vec<Vec3>, cells: Vec<Cell>, axis: usize) -> Lattice {
    let bone = |x: &Vec3| (x[axis].abs() < 1e-12).then_some(0);
    let bones = BoneChains {
        used_bones: vec![0],
        chains: vec![Vec::new()],
        tip_bones: Vec::new(),
        bone_of_vertex: x.iter().map(bone).collect(),
    };
    Lattice::with_bones(x, cells, bones).unwrap()
}

/// Returns positions at the vertices of the subdivided lattice, from coefficients of a basis over the whole lattice.
fn vertex_positions(body: &Body, p: &[Vec3], vertices: &[Vec3]) -> Vec<Vec3> {
    let embedding = body.basis().embed(vertices);
    (0..vertices.len())
        .map(|v| embedding.position(v, p))
        .collect()
}

/// A body with J levels deforms as one over the J-times subdivided lattice, by every method.
#[test]
fn levels_equal_subdivided_lattice() {
    for levels in 1..=2 {
        let coarse = mixed_lattice();
        let (x, cells) = subdivided_lattice(&coarse, levels);
        let fine = body_in(
            hold_side(x.clone(), cells, 0),
            &FullSpace,
            &BodySettings {
                level: 0,
                ..unloaded()
            },
        );
        let fine = Arc::new(fine.unwrap());
        let own = Arc::new(body_in(coarse, &FullSpace, &with_levels(levels)).unwrap());
        assert_eq!(own.free_dofs(), fine.free_dofs());
        // The same forces, on the nodes of either.
        let push: Vec<Vec3> = x
            .iter()
            .map(|x| Vec3::new(x.y.sin(), x.x, -x.z) * 30.0)
            .collect();
        let rows = own.basis().embed(&x);
        let mut pushed = vec![Vec3::zeros(); own.node_count()];
        for (v, f) in push.iter().enumerate() {
            rows.row(v).for_each(|(a, w)| pushed[a] += f * w);
        }
        let methods = Method::ALL.into_iter().filter(|m| *m != Method::Modal);
        for method in methods {
            let gravity = Vec3::new(1.0, 2.0, -3.0);
            let solve = |body: &Arc<Body>, forces: &[Vec3]| {
                equilibrium(body, &rest_pose(), Some(forces), None, gravity, method).unwrap()
            };
            let (wanted, found) = (solve(&fine, &push), solve(&own, &pushed));
            let found = vertex_positions(&own, &found, &x);
            let size = wanted.iter().map(|q| q.norm()).fold(0.0, f64::max);
            assert!(size > 0.01);
            let apart = max_difference(&wanted, &found);
            assert!(apart < 1e-7 * size, "{levels} {method:?} {apart} {size}");
        }
    }
}

/// Modes of a body with J levels have the frequencies of those over the J-times subdivided lattice, and the same shapes at its vertices. Lumped
/// masses are refused.
#[test]
fn modes_equal_subdivided_lattice() {
    for levels in 1..=2 {
        let coarse = mixed_lattice();
        let (x, cells) = subdivided_lattice(&coarse, levels);
        let settings = BodySettings {
            level: 0,
            ..unloaded()
        };
        let fine = body_in(hold_side(x.clone(), cells, 0), &FullSpace, &settings);
        let fine = Arc::new(fine.unwrap());
        let own = Arc::new(body_in(coarse, &FullSpace, &with_levels(levels)).unwrap());
        let [wanted, found] = [&fine, &own].map(|body| Modes::for_body(body, 6, &Silent).unwrap());
        for (a, b) in wanted.eigenvalues().iter().zip(found.eigenvalues()) {
            assert!((a - b).abs() < 1e-6 * a, "{levels} {a} {b}");
        }
        for (a, b) in wanted.shapes().iter().zip(found.shapes()) {
            let b = vertex_positions(&own, b, &x);
            let size = a.iter().map(|u| u.norm()).fold(0.0, f64::max);
            let turned: Vec<Vec3> = b.iter().map(|u| -u).collect();
            let apart = max_difference(a, &b).min(max_difference(a, &turned));
            assert!(apart < 1e-3 * size, "{levels} {apart} {size}");
        }
        let lumped = ModalSystem::for_body(&own, MassKind::Lumped, &[]);
        assert!(matches!(lumped, Err(ModalError::Details { .. })));
    }
}

/// Modal flesh with details sways, and both forms of its display lie where its functions have it.
#[test]
fn modal_flesh_with_details_moves() {
    let bar = BarOptions::default();
    let body = Arc::new(half_bar(1));
    let settings = SimulationSettings::for_method(Method::Modal);
    let mut simulation = Simulation::new(body.clone(), settings).unwrap();
    simulation.reset(&rest_pose(), false, None).unwrap();
    for frame in 1..=6 {
        let pose = bent_pose(&bar, 0.1 * f64::from(frame));
        simulation.advance(&pose, 1.0 / 24.0, None, None).unwrap();
    }
    let (modes, q) = (
        simulation.modes().unwrap().clone(),
        simulation.amplitudes().unwrap(),
    );
    assert!(q.iter().any(|q| q.abs() > 1e-6));
    let (embedding, _) = body.embed_surface(body.surface());
    let rest = body.surface().vertices();
    let shown = |form: WarpForm| {
        let settings = DeformSettings {
            form,
            ..DeformSettings::default()
        };
        let deformer = modes.deformer(&embedding, rest, None, &settings).unwrap();
        let mut out = vec![0.0; 3 * rest.len()];
        deformer.displacements_into(q, &mut out).unwrap();
        let points = out.chunks_exact(3);
        points
            .map(|p| Vec3::new(p[0].into(), p[1].into(), p[2].into()))
            .collect::<Vec<_>>()
    };
    let own = modes.displacements(q, true);
    let size = own.iter().map(|u| u.norm()).fold(0.0, f64::max);
    let wanted: Vec<Vec3> = (0..rest.len())
        .map(|v| embedding.position(v, &own))
        .collect();
    let embedded = shown(WarpForm::Embedded);
    assert!(max_difference(&wanted, &embedded) < 1e-4 * size);
    // The other form warps at the vertices: it differs by what the rotation varies around them.
    assert!(max_difference(&embedded, &shown(WarpForm::Vertex)) < 0.2 * size);
}

/// The strain energy of an uncut box under its own weight converges with the square of the elements' size.
#[test]
fn uncut_box_converges() {
    let material = Material::new(2e4, 0.0, 1000.0).unwrap();
    for hexahedra in [true, false] {
        let energies: Vec<f64> = (0..=3)
            .map(|levels| {
                let bar = BarOptions {
                    cells_along: 1,
                    cells_across: 1,
                    length: 0.5,
                    hexahedra,
                    bones: false,
                    material,
                    settings: with_levels(levels),
                    ..Default::default()
                };
                let body = bar.build();
                let pull = |v| Vec3::z() * (10.0 * body.carried_mass(v));
                let forces: Vec<Vec3> = (0..body.node_count()).map(pull).collect();
                let u = body.static_displacements(&forces).unwrap();
                u.iter().zip(&forces).map(|(u, f)| u.dot(f)).sum()
            })
            .collect();
        // Without lateral strain each column stretches alone: ρ² g² A L³ / (3 E).
        let exact = (1e4f64.powi(2)) * 0.16 * 0.125 / (3.0 * 2e4);
        let errors: Vec<f64> = energies.iter().map(|e| 1.0 - e / exact).collect();
        let order = |pair: &[f64]| (pair[0] / pair[1]).log2();
        let orders: Vec<f64> = errors.windows(2).map(order).collect();
        assert!(errors.iter().all(|&e| e > 0.0));
        // Cells of a subdivision are not parallelepipeds, so pieces are similar to those of the level before but for a part in 2^J: the error is
        // C 4^-J (1 - c 2^-J), and what an order lacks of 2 halves from level to level. An independent solver finds orders of
        // 1.38, 1.61 and 1.79 for tetrahedra from levels 1 to 4.
        let limit = 2.0 * orders[2] - orders[1];
        assert!((limit - 2.0).abs() < 0.2, "{orders:?}");
        assert!(orders[2] > orders[1] && orders[2] > 1.55, "{orders:?}");
        assert!(
            !hexahedra || orders.iter().all(|o| (o - 2.0).abs() < 0.35),
            "{orders:?}"
        );
    }
}

/// Under a rigid motion of all bones every method carries flesh with details exactly.
#[test]
fn rigid_motion_is_exact() {
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 2,
            level: 2,
            ..Default::default()
        },
        cells_along: 4,
        ..Default::default()
    };
    let body = bar.build();
    assert!(body.node_count() > 1000);
    let turn = UnitQuaternion::from_scaled_axis(nalgebra::Vector3::new(0.9, -0.7, 1.4));
    let moved = Isometry3::from_parts(Translation3::new(30.0, -4.0, 7.0), turn);
    let there = pose(&[moved; 2]);
    for method in Method::ALL
        .into_iter()
        .filter(|m| *m != Method::Modal && *m != Method::Linear)
    {
        let q = equilibrium(&body, &there, None, None, Vec3::zeros(), method).unwrap();
        for (v, (q, x)) in q.iter().zip(body.rest_shape()).enumerate() {
            let wanted = match body.is_detail(v) {
                true => Vec3::zeros(),
                false => moved * nalgebra::Point3::from(*x) - nalgebra::Point3::origin(),
            };
            assert!((q + x - wanted).norm() < 1e-9, "{method:?} {v}");
        }
        let own = settings().with_method(method);
        let mut sim = Simulation::new(
            body.clone(),
            SimulationSettings {
                gravity: Vec3::zeros(),
                rate: 48.0,
                ..own
            },
        )
        .unwrap();
        sim.reset(&there, true, None).unwrap();
        for _ in 0..3 {
            sim.advance(&there, 1.0 / 24.0, None, None).unwrap();
        }
        let carried = max_difference(sim.lattice_positions(), sim.carried_positions());
        assert!(carried < 1e-8, "{method:?} {carried}");
        assert_eq!(sim.inverted_cells(), 0);
    }
}

/// At a bend the balance with details lies near that without, and nearer the more levels both have.
#[test]
fn bent_balances_converge() {
    let bar = |levels| BarOptions {
        settings: BodySettings {
            basis_levels: levels,
            level: 2,
            ..Default::default()
        },
        hexahedra: true,
        cells_along: 4,
        ..Default::default()
    };
    for method in [
        Method::Warped,
        Method::WarpedVertex,
        Method::Hyperelastic,
        Method::NeoHookean,
    ] {
        let skin: Vec<Vec<Vec3>> = (0..=2)
            .map(|levels| {
                let body = bar(levels).build();
                let q = equilibrium(
                    &body,
                    &bent_pose(&bar(levels), 0.6),
                    None,
                    None,
                    Vec3::zeros(),
                    method,
                )
                .unwrap();
                let p: Vec<Vec3> = q
                    .iter()
                    .zip(body.rest_shape())
                    .map(|(q, x)| q + x)
                    .collect();
                let skin = body.embedding();
                (0..skin.len()).map(|v| skin.position(v, &p)).collect()
            })
            .collect();
        let (first, second) = (
            max_difference(&skin[0], &skin[1]),
            max_difference(&skin[1], &skin[2]),
        );
        assert!(
            first < 0.05 && second < 0.7 * first,
            "{method:?} {first} {second}"
        );
    }
}

/// Every method but the modal one moves flesh with details, saves its state and continues with the same bits, and a stored body does the
/// same. The modal method refuses them.
#[test]
fn states_and_files_keep_details() {
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 1,
            ..Default::default()
        },
        cells_along: 4,
        ..Default::default()
    };
    let body = bar.build();
    let path = std::env::temp_dir().join(format!("thew-levels-{}", std::process::id()));
    store::save(&path, "body", &*body).unwrap();
    let loaded: Body = store::load(&path, "body").unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(loaded.basis() == body.basis() && loaded.embedding() == body.embedding());
    let loaded = Arc::new(loaded);
    for method in Method::ALL {
        let own = SimulationSettings {
            rate: 48.0,
            ..settings().with_method(method)
        };
        let run = |body: &Arc<Body>, from: Option<&[u8]>| {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&rest_pose(), true, None).unwrap();
            if let Some(state) = from {
                sim.restore(state).unwrap();
            }
            let frames = if from.is_some() { 3..6 } else { 0..3 };
            for i in frames {
                let pose = bent_pose(&bar, 0.1 * f64::from(i));
                sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            }
            sim.state()
        };
        let half = run(&body, None);
        assert_eq!(half, run(&loaded, None));
        assert_eq!(run(&body, Some(&half)), run(&loaded, Some(&half)));
    }
}

/// Flesh on one side of a plane through a bar.
struct Half;

impl FleshDomain for Half {
    fn signed_distance(&self, p: Vec3) -> f64 {
        p.x + 0.3 * p.y - 0.05
    }
    fn contains(&self, p: Vec3) -> bool {
        self.signed_distance(p) < 0.0
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}

/// Builds half a bar, cut by a plane through its cells.
fn half_bar(levels: usize) -> Body {
    let lattice = (**BarOptions::default().build().lattice()).clone();
    let settings = BodySettings {
        basis_levels: levels,
        ..BodySettings::default()
    };
    body_in(lattice, &Half, &settings).unwrap()
}

/// Nodal values and coefficients describe the same shape: its energy, its inertia and its twist are those of the body, and nodal functions
/// are one at their own centres and zero at others.
#[test]
fn nodal_functions_describe_same_flesh() {
    for levels in 1..=2 {
        let body = half_bar(levels);
        let form = body.nodal_form().unwrap().unwrap();
        let n = body.node_count();
        let x: Vec<Vec3> = (0..n)
            .map(|a| Vec3::new((a as f64).sin(), (2.0 * a as f64).cos(), 0.3) * 0.02)
            .collect();
        let (mut y, mut back) = (x.clone(), x.clone());
        form.values.to_values(&x, &mut y);
        for (a, y) in y.iter().enumerate() {
            let row = body.basis().centre_row(a);
            let value: Vec3 = row.iter().map(|&(b, w)| x[b as usize] * w).sum();
            assert!((value - y).norm() < 1e-14);
        }
        form.values.to_coefficients(&y, &mut back);
        assert!(max_difference(&x, &back) < 1e-13);
        // Work of forces is the same.
        let mut forces = x.clone();
        form.values.to_nodal_forces(&x, &mut forces);
        let work = |f: &[Vec3], d: &[Vec3]| f.iter().zip(d).map(|(f, d)| f.dot(d)).sum::<f64>();
        let (wanted, found) = (work(&x, &x), work(&forces, &y));
        assert!((wanted - found).abs() < 1e-10 * wanted, "{wanted} {found}");
        let model = ElasticModel::Yeoh;
        let (wanted, found) = (
            body.elements().energy(model, &x),
            form.elements.energy(model, &y),
        );
        assert!((wanted - found).abs() < 1e-9 * wanted, "{wanted} {found}");
        for (own, nodal) in [
            (body.mass_matrix(), &form.mass),
            (body.twist_matrix(), &form.twist),
        ] {
            let square = |matrix: &ScalarMatrix, x: &[Vec3]| -> f64 {
                (0..n).map(|v| x[v].dot(&matrix.row_times(v, x))).sum()
            };
            let (wanted, found) = (square(own, &x), square(nodal, &y));
            assert!((wanted - found).abs() < 1e-9 * wanted, "{wanted} {found}");
        }
        // That is the point of it.
        assert!(form.mass.nnz() < body.mass_matrix().nnz());
    }
}

/// A term without force has steps and balances solved in the body's own functions: they are those solved in nodal functions. So
/// are the displacements of pins. Steps of the default method with little strain are one linear system; those with more are iterated to some
/// per cent of their change, which differs.
#[test]
fn nodal_functions_change_no_motion() {
    let bar = BarOptions::default();
    for (levels, method, pinned, bend) in [
        (1, Method::Hyperelastic, false, 0.02),
        (1, Method::Hyperelastic, true, 0.02),
        (1, Method::Warped, true, 0.2),
        (2, Method::Warped, false, 0.2),
    ] {
        let body = Arc::new(half_bar(levels));
        let last = body.node_count() - 1;
        let run = |terms: Vec<Arc<dyn EnergyTerm>>| {
            let settings = SimulationSettings {
                solver: Solver::Factor,
                rate: 96.0,
                ..SimulationSettings::for_method(method)
            };
            let mut simulation = Simulation::new(body.clone(), settings).unwrap();
            simulation.set_terms(terms).unwrap();
            simulation.reset(&rest_pose(), true, None).unwrap();
            if pinned {
                let place = Vec3::new(-0.13, 0.02, 1.13);
                let target = place + Vec3::new(0.0, 0.25, 0.1) * bend;
                let pin = Pin::new(PinPoint::Place(place), target);
                simulation.pin(pin).unwrap();
            }
            for frame in 1..=2 {
                let pose = bent_pose(&bar, bend * f64::from(frame));
                simulation.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            }
            simulation.nodes.positions.clone()
        };
        let idle = Spring {
            node: last,
            place: Vec3::zeros(),
            stiffness: 0.0,
        };
        let (nodal, own) = (run(Vec::new()), run(vec![Arc::new(idle)]));
        let apart = max_difference(&nodal, &own);
        assert!(apart < 1e-8 * body.size(), "{levels} {method:?} {apart}");
        assert!(max_difference(&nodal, body.rest_shape()) > 0.05 * bend);
    }
}

/// Half a bar of flesh, cut by a plane, has the same bits for any number of threads.
#[test]
fn cut_body_ignores_threads() {
    let bar = BarOptions::default().build();
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| half_bar(1))
    };
    let (one, three) = (in_pool(1), in_pool(3));
    let coarse = Basis::new(bar.lattice().clone());
    assert!(one.node_count() > coarse.len() && one.node_count() == three.node_count());
    assert_eq!(one.blocks(), three.blocks());
    assert_eq!(one.mass_matrix(), three.mass_matrix());
    let forces = vec![Vec3::x(); one.node_count()];
    let solved = one.static_displacements(&forces).unwrap();
    assert_eq!(solved, three.static_displacements(&forces).unwrap());
}

/// With details too the error against the nonlinear balance falls with the square of the bend, and that of the printed form with the bend.
#[test]
fn error_falls_with_bend() {
    let plain = BarOptions::default();
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 1,
            region_weights: Some(plain.painted_weights()),
            ..Default::default()
        },
        hexahedra: true,
        ..plain
    };
    let body = bar.build();
    let rest = |method: Method, angle: f64| {
        let free = SimulationSettings {
            gravity: Vec3::zeros(),
            mass_damping: Some(20.0),
            stiffness_damping: Some(0.0),
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), free.with_method(method)).unwrap();
        sim.reset(&bent_pose(&bar, angle), true, None).unwrap();
        let skin = body.embedding();
        let at = |v| skin.position(v, sim.lattice_positions());
        (0..skin.len()).map(at).collect::<Vec<Vec3>>()
    };
    let angles = [0.04, 0.02];
    let exact = angles.map(|angle| rest(Method::Nonlinear, angle));
    for (method, order) in [
        (Method::Warped, 2.0),
        (Method::WarpedVertex, 2.0),
        (Method::Hyperelastic, 2.0),
        (Method::Blended, 2.0),
        (Method::BlendedPrinted, 1.0),
    ] {
        let [far, near] = [0, 1].map(|i| max_difference(&rest(method, angles[i]), &exact[i]));
        let found = (far / near).log2();
        assert!((found - order).abs() < 0.2, "{method:?} {found} {near}");
    }
}

/// Painted material varies inside a cell: one cell whose stiffness rises from end to end yields as springs in series, the more exactly the
/// more levels it has.
#[test]
fn material_varies_inside_cell() {
    const POINTS: usize = 8;
    let bar = |levels, stiffness| BarOptions {
        cells_along: 1,
        cells_across: 1,
        length: 0.5,
        hexahedra: true,
        bones: false,
        material: Material::new(2e4, 0.0, 1000.0).unwrap(),
        settings: BodySettings {
            stiffness,
            ..with_levels(levels)
        },
        ..Default::default()
    };
    let stretch = |levels| {
        let plain = bar(0, None).build();
        let rising = |x: &Vec3| 1.0 + 3.0 * x.z / 0.5;
        let painted = plain.surface().vertices().iter().map(rising).collect();
        let body = bar(levels, Some(painted)).build();
        // One newton, spread evenly over the end.
        let at = |i: usize| ((i as f64 + 0.5) / POINTS as f64 - 0.5) * 0.4;
        let all = (0..POINTS * POINTS).map(|i| Vec3::new(at(i % POINTS), at(i / POINTS), 0.5));
        let rows = body.basis().embed(&all.collect::<Vec<_>>());
        let mut forces = vec![Vec3::zeros(); body.node_count()];
        for point in 0..rows.len() {
            let share = 1.0 / rows.len() as f64;
            rows.row(point).for_each(|(a, w)| forces[a].z += w * share);
        }
        let u = body.static_displacements(&forces).unwrap();
        u.iter().zip(&forces).map(|(u, f)| u.dot(f)).sum::<f64>()
    };
    let exact = 0.5 / (0.16 * 2e4) * 4.0_f64.ln() / 3.0;
    let errors: Vec<f64> = (0..=3)
        .map(|levels| 1.0 - stretch(levels) / exact)
        .collect();
    assert!(
        errors.windows(2).all(|e| e[1] > 0.0 && e[1] < 0.4 * e[0]),
        "{errors:?}"
    );
    assert!(errors[0] > 0.1 && errors[3] < 0.005, "{errors:?}");
}
