// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blended boundaries of bodies with limbs, and names.

use super::*;
use crate::mrep::Boundary;
use crate::mrep::fixture::creature;
use crate::progress::Silent;
use crate::surface::Surface;

fn mesh(model: &Model, level: u32, blend: f64) -> Surface {
    let (vertices, triangles) = model.boundary(level, blend, &Silent).unwrap();
    Surface::new(vertices, triangles).unwrap()
}

/// The boundary of a body with limbs is one closed surface without holes, at every strength of blending.
#[test]
fn model_boundary_is_closed() {
    let model = creature();
    let volumes = [0.0, 0.5, 1.0].map(|blend| {
        let surface = mesh(&model, 2, blend);
        let report = surface.report();
        assert!(
            report.closed && report.manifold && report.oriented,
            "{blend}"
        );
        assert_eq!(
            (report.components, report.flipped_triangles),
            (1, 0),
            "{blend}"
        );
        // Euler's formula: a surface like a sphere, without holes.
        let edges = report.triangles * 3 / 2;
        assert_eq!(report.vertices + report.triangles, edges + 2, "{blend}");
        // All skin of a figure lies on it or, where another one is, inside.
        for (_, figure) in model.figures() {
            let boundary = Boundary::new(figure, 1).unwrap();
            for p in boundary.positions(figure) {
                assert!(
                    surface.signed_distance(p) < 0.1 * figure.mean_radius(),
                    "{blend}"
                );
            }
        }
        surface.volume()
    });
    assert!(
        volumes[0] < volumes[1] && volumes[1] < volumes[2],
        "{volumes:?}"
    );
    assert!(volumes[2] < 1.1 * volumes[0], "{volumes:?}");
}

/// Figures that lie beside each other without overlap are not blended.
#[test]
fn separate_figures_are_not_blended() {
    let whole = creature();
    let [(_, body), ..] = whole.figures() else {
        panic!("it has a body");
    };
    let r = body.mean_radius();
    let size = body.size();
    let beside = body.apply_similarity(1.0, &Mat3::identity(), Vec3::z() * (2.2 * r));
    let apart = body.apply_similarity(1.0, &Mat3::identity(), Vec3::z() * (3.0 * size));
    let names = |n: usize| (0..n).map(|i| i.to_string()).collect();
    let volume = |figures: Vec<Figure>| {
        let n = figures.len();
        mesh(&Model::from_figures(figures, names(n)).unwrap(), 2, 1.0).volume()
    };
    let both = volume(vec![body.clone(), beside]);
    let far = volume(vec![body.clone(), apart]);
    assert!((both / far - 1.0).abs() < 0.02, "{both} {far}");
}

/// The boundary of a model that is moved, turned and scaled is the boundary moved likewise.
#[test]
fn model_boundary_is_equivariant() {
    let model = creature();
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    let (plain, faces) = model.boundary(1, 1.0, &Silent).unwrap();
    let moved = model.apply_similarity(20.0, &turn, shift).unwrap();
    let (other, same) = moved.boundary(1, 1.0, &Silent).unwrap();
    assert_eq!(faces, same);
    for (a, b) in plain.iter().zip(&other) {
        assert!(
            (turn * a * 20.0 + shift - b).norm() < 20.0 * 1e-9,
            "{a} {b}"
        );
    }
}

/// Names and settings that are not valid are refused.
#[test]
fn model_refuses_bad_names_and_settings() {
    let model = creature();
    let figures: Vec<Figure> = model.figures().iter().map(|f| f.1.clone()).collect();
    let join = |figures: &[Figure], names: &[&str]| {
        let names = names.iter().map(|n| n.to_string()).collect();
        Model::from_figures(figures.to_vec(), names)
            .unwrap_err()
            .to_string()
    };
    assert!(join(&figures[..2], &["a"]).contains("list of names"));
    assert!(join(&figures[..2], &["a", "a"]).contains("'a'"));
    assert!(join(&figures[..1], &[""]).contains("no name"));
    assert!(join(&[], &[]).contains("at least one figure"));
    let said = |level, blend| {
        model
            .boundary(level, blend, &Silent)
            .unwrap_err()
            .to_string()
    };
    assert!(said(1, -1.0).contains("blend"));
    assert!(said(1, f64::NAN).contains("blend"));
    assert!(said(9, 1.0).contains("level"));
    assert!(matches!(
        model.boundary(1, 1.0, &|_: f64, _: &str| false),
        Err(MRepError::Cancelled(_))
    ));
}

/// A model of one figure has the boundary of that figure.
#[test]
fn single_figure_keeps_boundary() {
    let (name, figure) = creature().figures()[1].clone();
    let boundary = Boundary::new(&figure, 2).unwrap();
    let own = boundary.positions(&figure);
    let model = Model::from_figures(vec![figure], vec![name]).unwrap();
    assert_eq!(model.boundary(2, 1.0, &Silent).unwrap().0, own);
}
