// SPDX-License-Identifier: MIT OR Apache-2.0
//! Materials: numbers, maps on the vertices, and values that are refused.

use super::shapes::{perturb, sheet};
use crate::Vec3;
use crate::shell::{Shell, ShellError, ShellMaterial, ShellParameter};

fn build_shell(material: &ShellMaterial) -> Result<Shell, ShellError> {
    let (vertices, triangles) = sheet([8, 6], [1.0, 0.8]);
    Shell::new(vertices, triangles, material)
}

fn uniform_material(k: f64) -> ShellMaterial {
    ShellMaterial {
        stretching: (2.0 * k).into(),
        area: (3.0 * k).into(),
        bending: (0.5 * k).into(),
        density: (1.5 * k).into(),
        unit: Some(1.0),
    }
}

/// Replaces each number by a map: the number times `factor` of each vertex.
fn paint_material(
    of: &ShellMaterial,
    factor: impl Fn(usize) -> f64,
    count: usize,
) -> ShellMaterial {
    let map = |painted: &ShellParameter| match painted {
        ShellParameter::Even(k) => ShellParameter::Map((0..count).map(|v| k * factor(v)).collect()),
        ShellParameter::Map(map) => {
            ShellParameter::Map(map.iter().zip(0..).map(|(k, v)| k * factor(v)).collect())
        }
    };
    ShellMaterial {
        stretching: map(&of.stretching),
        area: map(&of.area),
        bending: map(&of.bending),
        density: map(&of.density),
        unit: of.unit,
    }
}

/// Energy and mass are in proportion to the material, given as numbers or maps.
#[test]
fn material_scales_energy_and_mass() {
    let one = build_shell(&uniform_material(1.0)).unwrap();
    let x = perturb(one.rest(), 0.05, 1);
    let count = one.node_count();
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    let waves = paint_material(
        &uniform_material(1.0),
        |v| 1.0 + 0.5 * (v as f64).sin(),
        count,
    );
    let half = build_shell(&waves).unwrap();
    for (one, two) in [
        (&one, build_shell(&uniform_material(2.0)).unwrap()),
        (
            &one,
            build_shell(&paint_material(&uniform_material(1.0), |_| 2.0, count)).unwrap(),
        ),
        (
            &half,
            build_shell(&paint_material(&waves, |_| 2.0, count)).unwrap(),
        ),
    ] {
        near(two.energy(&x), 2.0 * one.energy(&x));
        for (a, b) in two.masses().iter().zip(one.masses()) {
            near(*a, 2.0 * b);
        }
    }
    // Density 1.5 times an area of 0.8.
    near(one.masses().iter().sum(), 1.5 * 0.8);
}

/// A map that makes one half stiff leaves the other half as it was.
#[test]
fn stiffness_map_is_local() {
    let soft = build_shell(&uniform_material(1.0)).unwrap();
    let left = |x: &Vec3| x.x < 0.5;
    let stiff = paint_material(
        &uniform_material(1.0),
        |v| if left(&soft.rest()[v]) { 10.0 } else { 1.0 },
        soft.node_count(),
    );
    let stiff = build_shell(&stiff).unwrap();
    let only = |on_left: bool| -> f64 {
        // A corner is lifted: all energy is in one half.
        let mut x = soft.rest().to_vec();
        let corner = if on_left { 0 } else { soft.node_count() - 1 };
        x[corner] += Vec3::new(0.02, 0.01, 0.05);
        stiff.energy(&x) / soft.energy(&x)
    };
    assert!((only(true) - 10.0).abs() < 1e-9 && (only(false) - 1.0).abs() < 1e-12);
}

/// Each weight of the material affects only its own term of the energy.
#[test]
fn material_weights_are_independent() {
    let none = ShellMaterial {
        stretching: 0.0.into(),
        area: 0.0.into(),
        bending: 0.0.into(),
        density: 1.0.into(),
        unit: Some(1.0),
    };
    let only = |set: fn(&mut ShellMaterial)| {
        let mut material = none.clone();
        set(&mut material);
        build_shell(&material).unwrap()
    };
    let [lengths, areas, angles] = [
        only(|m| m.stretching = 1.0.into()),
        only(|m| m.area = 1.0.into()),
        only(|m| m.bending = 1.0.into()),
    ];
    let rest = lengths.rest().to_vec();
    // Pulled in one direction, pressed in the other by as much: areas stay. Twice as large: angles stay.
    let sheared: Vec<Vec3> = rest
        .iter()
        .map(|x| Vec3::new(1.25 * x.x, 0.8 * x.y, 0.0))
        .collect();
    let twice: Vec<Vec3> = rest.iter().map(|x| x * 2.0).collect();
    assert!(areas.energy(&sheared) < 1e-20 && lengths.energy(&sheared) > 0.1);
    assert!(angles.energy(&twice) < 1e-20);
    // (1 − 4)² of an area of 0.8; (1 − 2)² of the sum of all lengths.
    assert!((areas.energy(&twice) - 9.0 * 0.8).abs() < 1e-12);
    let all: f64 = lengths.rest.edges.iter().map(|e| e.rest).sum();
    assert!((lengths.energy(&twice) - all).abs() < 1e-11);
}

/// A bad value of the material is refused, and the error names the setting and the vertex.
#[test]
fn material_refuses_bad_values() {
    let bad = |set: fn(&mut ShellMaterial)| {
        let mut material = ShellMaterial::default();
        set(&mut material);
        build_shell(&material).unwrap_err().to_string()
    };
    assert_eq!(
        bad(|m| m.bending = (-1.0).into()),
        "bending is -1: it must be a finite number from 0 to 1e100"
    );
    assert_eq!(
        bad(|m| m.area = vec![1.0; 3].into()),
        "area has 3 entries, but the shell has 63 vertices: give one for each"
    );
    let mut map = vec![1.0; 63];
    map[7] = f64::NAN;
    let material = ShellMaterial {
        stretching: map.into(),
        ..ShellMaterial::default()
    };
    assert!(
        build_shell(&material)
            .unwrap_err()
            .to_string()
            .starts_with("stretching at vertex 7 is NaN")
    );
    for unit in [0.0, -1.0, 1e13, f64::NAN] {
        let material = ShellMaterial {
            unit: Some(unit),
            ..ShellMaterial::default()
        };
        let told = build_shell(&material).unwrap_err().to_string();
        assert!(told.starts_with("unit is"), "{told}");
    }
    assert!(bad(|m| m.density = 0.0.into()).contains("above zero"));
    assert!(bad(|m| m.density = vec![0.0; 63].into()).contains("above zero"));
    // A map that is zero at some vertices is valid.
    let mut map = vec![1.0; 63];
    map[..30].fill(0.0);
    let material = ShellMaterial {
        density: map.into(),
        ..ShellMaterial::default()
    };
    let shell = build_shell(&material).unwrap();
    assert!(shell.masses().iter().all(|m| *m > 0.0));
    assert!(shell.report().iter().any(|s| s.contains("hardly any mass")));
}
