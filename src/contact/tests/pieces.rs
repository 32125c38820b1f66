// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of contact by themselves: the prepared skin, shortened displacements, the checks of settings.

use super::*;
use crate::contact::response::shorten::DisplacementLimiter;
use crate::surface::Surface;
use crate::surface::shapes::cuboid;

/// A thickness that is too large for the body is refused.
#[test]
fn prepare_refuses_excessive_thickness() {
    let body = BarOptions::default().build();
    let prepared = |thickness: f64| {
        let mut contact = Contact::default();
        contact.options.thickness = thickness;
        contact.prepare(&body, &Silent).map(|_| ())
    };
    assert_eq!(prepared(0.01 * body.size()), Ok(()));
    for (thickness, size) in [(0.7 * body.size(), body.size()), (9.0, body.size())] {
        assert_eq!(
            prepared(thickness),
            Err(ContactError::Thickness { thickness, size })
        );
    }
}

/// The neighbours of a cell are the cells that share a vertex with it.
#[test]
fn skin_neighbours_share_a_vertex() {
    for hexahedra in [false, true] {
        let bar = BarOptions {
            hexahedra,
            ..BarOptions::default()
        };
        let body = bar.build();
        let skin = ContactSkin::new(&body, None, &Silent).unwrap();
        let cells = body.lattice().cells();
        for (c, cell) in (0u32..).zip(cells) {
            let shares = |other: &crate::lattice::Cell| {
                other.corners().iter().any(|a| cell.corners().contains(a))
            };
            let wanted: Vec<u32> = (0u32..)
                .zip(cells)
                .filter(|(_, other)| shares(other))
                .map(|(c, _)| c)
                .collect();
            assert_eq!(skin.neighbours(c), wanted);
        }
    }
}

/// Each cube of the grid has one contact point: the skin's point nearest to its middle.
#[test]
fn proxies_one_per_grid_cube() {
    // Its triangles are long and thin: many corners share a cube.
    let bar = BarOptions {
        cells_along: 2,
        cells_across: 12,
        ..BarOptions::default()
    };
    let body = bar.build();
    let skin = ContactSkin::new(&body, None, &Silent).unwrap();
    let cube = skin.proxy_distance();
    let key = |x: &Vec3| [0, 1, 2].map(|k| (x[k] / cube).floor() as i64);
    let far = |x: &Vec3| {
        let middle = Vec3::from(key(x).map(|k| k as f64 + 0.5));
        (x / cube - middle).norm_squared()
    };
    let mut proxies = std::collections::BTreeMap::new();
    for proxy in skin.proxies() {
        let known = proxies.insert(key(&proxy.rest), far(&proxy.rest));
        assert!(known.is_none(), "one of each cube");
    }
    // The corners of triangles are among the candidates.
    for triangle in 0..skin.triangles() as u32 {
        for x in skin.corners(triangle).map(|v| skin.rest_vertex(v)) {
            assert!(proxies[&key(&x)] <= far(&x) + 2e-9);
        }
    }
    let area: f64 = skin.proxies().iter().map(|p| p.area).sum();
    let whole: f64 = (0..skin.triangles() as u32)
        .map(|t| {
            let [a, b, c] = skin.corners(t).map(|v| skin.rest_vertex(v));
            0.5 * (b - a).cross(&(c - a)).norm()
        })
        .sum();
    assert!((area - whole).abs() < 1e-9 * whole, "they share the skin");
}

/// A displacement that would flatten cells is halved until it does not.
#[test]
fn step_halved_before_flattening() {
    let bar = ShapedBar::new(|x| *x, 0.0);
    let body = bar.skin.body().clone();
    let pressed = |by: f64| -> Vec<Vec3> {
        let nodes = body.pattern().vertex_of_node().iter();
        let rest = body.lattice().vertices();
        nodes
            .map(|&v| Vec3::new(0.0, 0.0, -by * (rest[v as usize].z - 0.8)))
            .collect()
    };
    let least = |moved: &[Vec3]| {
        let mut sway = Vec::new();
        shorten::displace_sway(&bar.posed_flesh(), moved, &mut sway);
        let end = PosedFlesh {
            sway: &sway,
            ..bar.posed_flesh()
        };
        let cells = 0..body.lattice().cells().len() as u32;
        cells
            .map(|c| cells::min_determinant(&end, c))
            .fold(f64::INFINITY, f64::min)
    };
    for by in [0.5, 1.5, 5.0] {
        let whole = pressed(by);
        let mut moved = [whole.clone()];
        let mut shortening = DisplacementLimiter::default();
        shortening.shorten(&[bar.posed_flesh()], &mut moved);
        let part = shortening.parts[0];
        assert_eq!(part, 2.0f64.powi(part.log2().round() as i32), "{by}");
        assert_eq!(part < 1.0, by > 1.0, "{by}");
        for (moved, whole) in moved[0].iter().zip(&whole) {
            assert!((moved - whole * part).norm() < 1e-12);
        }
        assert!(least(&moved[0]) >= narrow::FLAT_DETERMINANT);
        let twice: Vec<Vec3> = moved[0].iter().map(|d| d * 2.0).collect();
        assert!(part == 1.0 || least(&twice) < narrow::FLAT_DETERMINANT);
    }
}

/// The normal at a corner of a block is its diagonal, however the sides are cut into triangles.
#[test]
fn block_corner_normal_is_symmetric() {
    // However its sides are cut into triangles.
    let shape = cuboid(Vec3::repeat(1.0));
    let surface = Arc::new(Surface::new(shape.vertices.clone(), shape.triangles).unwrap());
    let block = Arc::new(Collider::mesh(surface, ColliderMotion::Still).unwrap());
    let tree = collider_span::build_rest_tree(&block);
    let moving = collider_span::MovingCollider::new(
        &block,
        tree.as_ref(),
        &collider_span::ColliderSpan::between_entries(0, 0),
    );
    let at = moving.place_at(0.0);
    for corner in &shape.vertices {
        let near = at.nearest_point(corner, 0, &|_, _, _| 1.0).unwrap();
        assert!((near.normal - corner.normalize()).norm() < 1e-9, "{corner}");
    }
}
