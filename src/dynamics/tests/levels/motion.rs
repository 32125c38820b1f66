// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh with details in motion: rigid poses, modes, saved states, threads.

use super::*;
use crate::basis::Basis;
use crate::kernel::WarpForm;
use crate::modal::DeformSettings;
use crate::store;

/// Under a rigid motion of all bones every method carries flesh with details exactly.
#[test]
fn rigid_motion_is_exact() {
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 2,
            level: 2,
            ..Default::default()
        },
        cells_along: 2,
        hexahedra: true,
        ..Default::default()
    };
    let body = bar.build();
    assert!(body.node_count() > 500);
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
        sim.advance(&there, 1.0 / 24.0, None, None).unwrap();
        let carried = max_difference(sim.lattice_positions(), sim.carried_positions());
        assert!(carried < 1e-8, "{method:?} {carried}");
        assert_eq!(sim.inverted_cells(), 0);
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
