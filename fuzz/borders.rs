// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every entry point for numbers: surfaces, skeletons and poses, lattices and tetrahedra, whole bodies, settings and motion.

use crate::numbers::{Bytes, finite};
use crate::targets::{FACES, brick, use_body, use_mesh};
use std::sync::Arc;
use thew::Vec3;
use thew::body::{Body, BodySettings};
use thew::dynamics::{Method, Simulation, SimulationSettings};
use thew::elasticity::Material;
use thew::lattice::{Cell, EncloseSettings, Lattice};
use thew::progress::Silent;
use thew::skeleton::{BonePoses, Pose, Skeleton, SkinWeights};
use thew::surface::Surface;
use thew::tets::{FillSettings, MeshRepairs, TetMesh};

fn surface_of(bytes: &mut Bytes<'_>) -> Option<Surface> {
    let count = bytes.up_to(40);
    let vertices = bytes.places(count);
    let triangles = (0..bytes.up_to(60))
        .map(|_| std::array::from_fn(|_| bytes.index(count)))
        .collect();
    Surface::new(vertices, triangles).ok()
}

pub fn surface(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let Some(surface) = surface_of(&mut bytes) else {
        return;
    };
    assert!(surface.volume() >= 0.0 && surface.volume().is_finite() && surface.size().is_finite());
    let _ = surface.report().to_string();
    for point in bytes.places(4) {
        let wound = surface.winding_number(point);
        assert!(
            wound.is_finite() || !point.iter().all(|x| x.is_finite()),
            "winding number {wound} at {point:?}"
        );
        let _ = (
            surface.closest_point(point),
            surface.signed_distance(point),
            surface.contains(point),
        );
        let _ = surface.intersect_ray(point, bytes.place());
    }
    let _ = TetMesh::fill(
        &surface,
        FillSettings {
            cells_across: Some(4.0),
            nodes: None,
        },
        &Silent,
    );
}

/// The brick, in the bytes that [`surface_of`] reads.
pub fn box_bytes() -> Vec<Vec<u8>> {
    let mut bytes = vec![8];
    for i in 0..8u8 {
        bytes.extend([
            110 + 40 * (i & 1),
            110 + 20 * (i >> 1 & 1),
            110 + 20 * (i >> 2),
        ]);
    }
    bytes.push(12);
    bytes.extend(FACES.iter().flatten().map(|&v| v as u8));
    bytes.extend([2, 115, 120, 120, 120, 120, 120, 140, 120, 120, 255, 0, 1]);
    vec![bytes]
}

pub fn some_bytes() -> Vec<Vec<u8>> {
    (0..4u8)
        .map(|seed| {
            (0..200u8)
                .map(|i| i.wrapping_mul(37).wrapping_add(seed.wrapping_mul(91)) % 251)
                .collect()
        })
        .collect()
}

fn skeleton_of(bytes: &mut Bytes<'_>) -> Option<Skeleton> {
    let bones = 1 + bytes.up_to(5);
    let names = (0..bones)
        .map(|_| format!("bone {}", bytes.up_to(3)))
        .collect();
    let parents = (0..bones)
        .map(|_| (bytes.byte() > 80).then(|| bytes.index(bones)))
        .collect();
    let (heads, tails) = (bytes.places(bones), bytes.places(bones));
    Skeleton::new(names, parents, heads, tails).ok()
}

pub fn skeleton(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let Some(skeleton) = skeleton_of(&mut bytes) else {
        return;
    };
    let matrices: Vec<_> = (0..skeleton.len()).map(|_| bytes.matrix()).collect();
    let Ok(pose) = Pose::from_matrices(&matrices) else {
        return;
    };
    let Ok(ready) = BonePoses::new(&skeleton, &pose) else {
        return;
    };
    let points = bytes.places(3);
    let rows: Vec<Vec<(u32, f64)>> = points
        .iter()
        .map(|_| {
            (0..skeleton.len())
                .map(|_| (bytes.index(skeleton.len()), bytes.number()))
                .collect()
        })
        .collect();
    let Ok(skin) = SkinWeights::from_rows(skeleton.len(), rows) else {
        return;
    };
    // The largest of some numbers says nothing of those that are none.
    let near = |p: &Vec3| p.iter().all(|x| x.abs() < 1e9);
    for (i, &point) in points.iter().enumerate().filter(|(_, p)| near(p)) {
        let place = ready.place(skin.row(i), point);
        finite("a place", [&place]);
    }
}

pub fn meshes(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let count = bytes.up_to(20);
    let vertices = bytes.places(count);
    let mend = MeshRepairs {
        orient: bytes.byte() & 1 == 1,
        drop_unused: bytes.byte() & 1 == 1,
    };
    let mut cells = Vec::new();
    let (mut tets, mut cubes) = (Vec::new(), Vec::new());
    for _ in 0..bytes.up_to(8) {
        let corners: [u32; 8] = std::array::from_fn(|_| bytes.index(count));
        let [a, b, c, d, e, f, ..] = corners;
        match bytes.up_to(3) {
            0 => cells.push(Cell::Prism([a, b, c, d, e, f])),
            1 => {
                cells.push(Cell::Hexahedron(corners));
                cubes.push(corners);
            }
            _ => {
                cells.push(Cell::Tetrahedron([a, b, c, d]));
                tets.push([a, b, c, d]);
            }
        }
    }
    for mesh in [
        TetMesh::with_repairs(vertices.clone(), tets, mend),
        TetMesh::from_cubes(vertices.clone(), cubes),
    ]
    .into_iter()
    .flatten()
    {
        use_mesh(&mesh);
    }
    if let Ok(lattice) = Lattice::new(vertices, cells) {
        let embedding = lattice.embed(&bytes.places(3));
        for i in 0..3 {
            let _ = embedding.position(i, lattice.vertices());
        }
        if let (Some(surface), Some(skeleton)) = (surface_of(&mut bytes), skeleton_of(&mut bytes)) {
            let _ = lattice.check(&surface, &skeleton);
        }
    }
}

pub fn enclose(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (Some(surface), Some(skeleton)) = (surface_of(&mut bytes), skeleton_of(&mut bytes)) else {
        return;
    };
    let settings = EncloseSettings {
        cells_across: 2.0 + bytes.up_to(4) as f64,
        ..EncloseSettings::default()
    };
    let Ok(lattice) = Lattice::enclose(&surface, &skeleton, None, settings, &Silent) else {
        return;
    };
    finite("lattice vertex", lattice.vertices());
    let options = BodySettings {
        level: 0,
        ..BodySettings::default()
    };
    let (surface, skeleton) = (Arc::new(surface), Arc::new(skeleton));
    if let Ok(body) = Body::new(
        &surface,
        &skeleton,
        &Arc::new(lattice),
        Material::default(),
        &options,
        &Silent,
    ) {
        use_body(&Arc::new(body));
    }
}

pub fn motion(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let methods = [
        Method::Hyperelastic,
        Method::Warped,
        Method::WarpedVertex,
        Method::Linear,
        Method::Blended,
        Method::BlendedPrinted,
        Method::Linearised,
    ];
    let method = methods[bytes.up_to(6)];
    let mut settings = SimulationSettings {
        rate: 120.0,
        ..SimulationSettings::for_method(method)
    };
    if bytes.byte() > 200 {
        (settings.rate, settings.mass_damping) = (bytes.number(), Some(bytes.number()));
        (settings.stiffness_damping, settings.gravity) = (Some(bytes.number()), bytes.place());
        (settings.max_offset, settings.elastic_joints) = (Some(bytes.number()), bytes.number());
    }
    let Ok(mut simulation) = Simulation::new(brick().clone(), settings) else {
        return;
    };
    let pose = |bytes: &mut Bytes<'_>| Pose::from_matrices(&[bytes.matrix(), bytes.matrix()]);
    let Ok(first) = pose(&mut bytes) else { return };
    if simulation
        .reset(&first, bytes.byte() & 1 == 0, None)
        .is_err()
    {
        return;
    }
    for _ in 0..2 {
        let forces = (bytes.byte() > 200).then(|| vec![bytes.place(); brick().node_count()]);
        let seconds = bytes.number() / 100.0;
        let short = if seconds.abs() < 0.2 || !seconds.is_finite() {
            seconds
        } else {
            0.04
        };
        let Ok(next) = pose(&mut bytes) else { return };
        let moved = simulation.advance(&next, short, forces.as_deref(), None);
        // Refused or not, what is kept is a state.
        finite("lattice vertex", simulation.lattice_positions());
        if moved.is_err() {
            return;
        }
    }
}
