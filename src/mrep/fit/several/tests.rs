// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trunk and an arm that is fitted with it.

use super::*;
use crate::Mat3;
use crate::mrep::Atom;
use crate::progress::Silent;
use nalgebra::Rotation3;

/// Spokes around.
const SPOKES: usize = 8;
/// Width of the blend between figures in the skin, in radii of the thinner one; blended skin is neither figure's.
const BLEND_WIDTH: f64 = 0.2;

/// A straight tube with a joint in its middle.
fn tube(from: Vec3, to: Vec3, radius: f64, atoms: usize) -> Figure {
    let b = (to - from).normalize();
    let side = b.cross(&Vec3::new(0.3, 0.9, 0.2)).normalize();
    let frame = Mat3::from_columns(&[b, side, b.cross(&side)]);
    let knots: Vec<f64> = (0..atoms).map(|i| i as f64 / (atoms - 1) as f64).collect();
    let atom = |s: &f64| {
        let quarter = std::f64::consts::FRAC_PI_2;
        Atom::new(from.lerp(&to, *s), radius, frame, quarter, SPOKES)
    };
    let atoms = knots.iter().map(atom).collect();
    Figure::tube_with_knots(atoms, Some(knots), vec![0.0, 0.5, 1.0]).expect("a tube")
}

/// Turns all atoms beyond `at` in u about the hub there, and the atom at that hub by half the angle.
fn bend_tube(figure: &Figure, at: f64, angle: f64) -> Figure {
    let joint = figure.knots().iter().position(|u| (u - at).abs() < 1e-9);
    let joint = joint.expect("an atom is there");
    let about = figure.atoms()[joint].hub;
    let turned = |i: usize, atom: &Atom| {
        let angle = match i.cmp(&joint) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5 * angle,
            std::cmp::Ordering::Greater => angle,
        };
        let turn: Mat3 = *Rotation3::new(Vec3::y() * angle).matrix();
        Atom {
            hub: about + turn * (atom.hub - about),
            frame: turn * atom.frame,
            ..atom.clone()
        }
    };
    let atoms = figure.atoms().iter().enumerate();
    figure.with_atoms(atoms.map(|(i, atom)| turned(i, atom)).collect())
}

/// A trunk, and an arm that hangs on it.
fn model(raised: f64, elbow: f64) -> Model {
    let trunk = tube(Vec3::new(0.0, 0.0, -1.5), Vec3::new(0.0, 0.0, 1.5), 0.6, 7);
    let arm = tube(Vec3::new(0.3, 0.0, 1.0), Vec3::new(3.3, 0.0, 1.0), 0.3, 9);
    let arm = bend_tube(&bend_tube(&arm, 0.0, raised), 0.5, elbow);
    Model::from_figures(vec![trunk, arm], vec!["trunk".into(), "arm".into()]).expect("two figures")
}

fn skin(model: &Model) -> Surface {
    let (vertices, triangles) = model.boundary(2, BLEND_WIDTH, &Silent).expect("a boundary");
    Surface::new(vertices, triangles).expect("a surface")
}

fn settings(stages: &[&str]) -> FigureFitSettings {
    FigureFitSettings {
        similarity: stages.contains(&"similarity"),
        sections: stages.contains(&"sections"),
        atoms: stages.contains(&"atoms"),
        boundary: stages.contains(&"boundary"),
        ..FigureFitSettings::default()
    }
}

fn fit_figures(model: &Model, surface: &Surface, stages: &[&str]) -> Vec<FigureFit> {
    model
        .fit_surface(surface, None, &settings(stages), &Silent)
        .expect("a fit")
}

fn mean_distance(fit: &FigureFit, stage: &str) -> f64 {
    let found = fit.stages.iter().find(|s| s.name == stage);
    found.expect("the stage").report.mean
}

/// Figures that were moved as one are found by one similarity.
#[test]
fn similarity_stage_recovers_whole() {
    let here = model(0.0, 0.0);
    let turn: Mat3 = *Rotation3::new(Vec3::new(0.2, -0.3, 0.25)).matrix();
    let shift = Vec3::new(0.7, -0.4, 0.5);
    let there = here.apply_similarity(1.3, &turn, shift).expect("moved");
    let fits = fit_figures(&here, &skin(&there), &["similarity"]);
    for (fit, (_, truth)) in fits.iter().zip(there.figures()) {
        for (a, b) in fit.figure.atoms().iter().zip(truth.atoms()) {
            assert!(
                (a.hub - b.hub).norm() < BLEND_WIDTH * b.radius,
                "{}",
                (a.hub - b.hub).norm()
            );
        }
        let names: Vec<&str> = fit.stages.iter().map(|s| &s.name[..]).collect();
        assert_eq!(names, ["similarity", "object"]);
    }
    // Both move as one, so their energies are the same.
    assert_eq!(fits[0].stages[0].energies, fits[1].stages[0].energies);
}

/// Each stage of a fit comes nearer to the skin, and every step lowers the energy.
#[test]
fn stages_refine_and_descend() {
    let there = model(0.35, -0.9);
    let all = ["similarity", "sections", "atoms", "boundary"];
    let fits = fit_figures(&model(0.0, 0.0), &skin(&there), &all);
    for fit in &fits {
        for stage in &fit.stages {
            let falls = stage.energies.windows(2).all(|w| w[1] < w[0]);
            assert!(falls, "{} {:?}", stage.name, stage.energies);
        }
        assert!(fit.figure.legality() > 0.0);
    }
    let [trunk, arm] = &fits[..] else {
        panic!("two fits");
    };
    // Moving the arm as one cannot bend its elbow.
    assert!(
        mean_distance(arm, "sections") < 0.5 * mean_distance(arm, "object"),
        "{} {}",
        mean_distance(arm, "sections"),
        mean_distance(arm, "object")
    );
    for (fit, radius) in [(trunk, 0.6), (arm, 0.3)] {
        assert!(
            mean_distance(fit, "atoms") < 0.05 * radius,
            "{}",
            mean_distance(fit, "atoms")
        );
        assert!(mean_distance(fit, "boundary") <= mean_distance(fit, "atoms"));
    }
    // The shoulder stays in the trunk, where nothing of the arm is to be seen.
    let (_, truth) = &there.figures()[1];
    let off = (arm.figure.atoms()[0].hub - truth.atoms()[0].hub).norm();
    assert!(off < 0.5 * 0.3, "{off}");
}

/// A fit in a world that is moved, turned and scaled is the fit moved likewise.
#[test]
fn fit_is_equivariant() {
    let (here, there) = (model(0.0, 0.0), model(0.3, -0.4));
    let turn: Mat3 = *Rotation3::new(Vec3::new(1.0, 0.4, -2.0)).matrix();
    let moved = |model: &Model| model.apply_similarity(0.01, &turn, Vec3::new(3.0, 1.0, 2.0));
    let (vertices, triangles) = there.boundary(2, BLEND_WIDTH, &Silent).expect("a boundary");
    let skin = |x: Vec<Vec3>| Surface::new(x, triangles.clone()).expect("a surface");
    let away = vertices
        .iter()
        .map(|x| turn * x * 0.01 + Vec3::new(3.0, 1.0, 2.0));
    let away = skin(away.collect());
    let stages = ["similarity", "sections", "atoms"];
    let first = fit_figures(&here, &skin(vertices), &stages);
    let second = fit_figures(&moved(&here).expect("moved"), &away, &stages);
    for (a, b) in first.iter().zip(&second) {
        let a = a
            .figure
            .apply_similarity(0.01, &turn, Vec3::new(3.0, 1.0, 2.0));
        for (a, b) in a.atoms().iter().zip(b.figure.atoms()) {
            assert!(
                (a.hub - b.hub).norm() < 1e-6 * b.radius,
                "{}",
                (a.hub - b.hub).norm() / b.radius
            );
        }
    }
}

/// Weights assign skin to figures, and weights that miss a figure are refused.
#[test]
fn weights_assign_skin_to_figures() {
    let (here, there) = (model(0.0, 0.0), model(0.2, -0.3));
    let surface = skin(&there);
    let of_arm = |x: &Vec3| f64::from(u8::from(x.x > 0.6));
    let arm: Vec<f64> = surface.vertices().iter().map(of_arm).collect();
    let trunk = arm.iter().map(|w| 1.0 - w).collect();
    let told = [trunk, arm];
    let fit = |weights: &[Vec<f64>]| {
        here.fit_surface(
            &surface,
            Some(weights),
            &settings(&["similarity", "atoms"]),
            &Silent,
        )
    };
    for fit in fit(&told).expect("a fit") {
        assert!(mean_distance(&fit, "atoms") < 0.1 * fit.figure.mean_radius());
    }
    // Weights are needed for all figures or for none of them.
    assert!(matches!(fit(&told[..1]), Err(MRepError::Length { .. })));
    let nothing = [told[0].clone(), vec![0.0; surface.vertices().len()]];
    let refused = fit(&nothing).expect_err("nothing is the arm's").to_string();
    assert!(refused.contains("figure 'arm'"), "{refused}");
    let held = FigureFitSettings {
        held: vec![0],
        ..FigureFitSettings::default()
    };
    let refused = here.fit_surface(&surface, None, &held, &Silent);
    assert!(refused.is_err_and(|e| e.to_string().contains("one figure")));
}

/// A model of one figure is fitted as the figure alone.
#[test]
fn single_figure_fit_is_same() {
    let figure = tube(Vec3::zeros(), Vec3::x() * 3.0, 0.4, 7);
    let one = Model::from_figures(vec![figure.clone()], vec!["one".into()]).expect("a model");
    let surface = skin(&model(0.0, 0.0));
    let settings = settings(&["similarity", "atoms"]);
    let alone = figure.fit_surface(&surface, None, &settings, &Silent);
    let alone = alone.expect("a fit");
    let [fit] = &one
        .fit_surface(&surface, None, &settings, &Silent)
        .expect("a fit")[..]
    else {
        panic!("one fit");
    };
    assert_eq!(fit.figure, alone.figure);
    assert_eq!(fit.stages, alone.stages);
}
