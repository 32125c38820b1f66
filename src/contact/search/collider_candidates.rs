// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points that may touch colliders: chosen once a frame, looked up in each step.

use crate::Vec3;
use crate::contact::instant::ContactInstant;
use crate::contact::placed_collider::PlacedCollider;
use crate::contact::posed_flesh::PosedFlesh;
use crate::contact::record::LiveContact;
use crate::contact::search::narrow::Touch;
use crate::contact::skin::SkinPoint;
use crate::geometry::aabb;

/// Margin beyond the distance by which points and colliders approach in a frame, in cells: sway goes on within the frame. Half and twice the value
/// lay a limb on a floor alike.
const APPROACH_MARGIN: f64 = 0.25;
/// Least depth at which the flesh behind skin is sampled, in cells: thinner flesh has no side. Half and twice the value lay a limb on a floor alike.
const MIN_INWARD_DEPTH: f64 = 0.1;

/// A point that may touch a collider within a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ColliderCandidate {
    /// Index of the body, and number of the proxy on its skin.
    pub body: u32,
    pub proxy: u32,
    /// Index of the collider, counted after the bodies.
    pub other: u32,
}

/// Finds all points that may touch colliders between two instants, in order. `thickness` is the distance kept from skin, metres.
pub(crate) fn find_collider_candidates(
    from: &ContactInstant,
    to: &ContactInstant,
    thickness: f64,
) -> Vec<ColliderCandidate> {
    let mut found = Vec::new();
    for (i, (body, end)) in from.bodies.iter().zip(to.bodies).enumerate() {
        for (k, (collider, later)) in from.colliders.iter().zip(to.colliders).enumerate() {
            let other = (from.bodies.len() + k) as u32;
            let margin = APPROACH_MARGIN * body.skin.cell_size()
                + thickness
                + collider.collider().thickness();
            let bounds = collider.bounds().zip(later.bounds()).map(|(a, b)| {
                let wider = Vec3::repeat(margin);
                (a.0.inf(&b.0) - wider, a.1.sup(&b.1) + wider)
            });
            for (proxy, point) in (0u32..).zip(body.skin.proxies()) {
                let (x, after) = (body.point(&point.point), end.point(&point.point));
                if let Some((lo, hi)) = bounds {
                    let (a, b) = aabb::bounds([x, after]);
                    if (0..3).any(|k| a[k] > hi[k] || b[k] < lo[k]) {
                        continue;
                    }
                }
                let near = |at: &PlacedCollider, x: &Vec3| {
                    at.nearest_point(x, i, &|_, _, height| height.signum())
                        .map(|near| (near.normal.dot(&(x - near.point)), near))
                };
                // Keep points that are inside at the start, or nearer than the two approach in the frame.
                let Some((height, at)) = near(collider, &x) else {
                    continue;
                };
                let gone = (after - x) - (later.position(&at.target) - at.point);
                if height < margin + gone.norm() {
                    found.push(ColliderCandidate {
                        body: i as u32,
                        proxy,
                        other,
                    });
                }
            }
        }
    }
    found
}

/// Adds the touches of chosen points with colliders at the end of a step. `former` returns the contact of the last step.
pub(crate) fn add_touches<'a>(
    candidates: &[ColliderCandidate],
    before: &ContactInstant,
    after: &ContactInstant,
    former: impl Fn(&ColliderCandidate) -> Option<&'a LiveContact>,
    touches: &mut Vec<Touch>,
) {
    for candidate in candidates {
        let Some((was, now)) = before
            .collider(candidate.other)
            .zip(after.collider(candidate.other))
        else {
            continue;
        };
        let began = before.proxy_position(candidate.body, candidate.proxy);
        let x = after.proxy_position(candidate.body, candidate.proxy);
        let body = &after.bodies[candidate.body as usize];
        let side = |target: &SkinPoint, outward: &Vec3, height: f64| match former(candidate) {
            Some(live) => live.side,
            None => {
                let before = was.height(target, &began);
                if before * height < 0.0 {
                    // The point came through within the step.
                    before.signum()
                } else {
                    flesh_side(body, candidate.proxy, outward, height)
                }
            }
        };
        let Some(near) = now.nearest_point(&x, candidate.body as usize, &side) else {
            continue;
        };
        touches.push(Touch {
            body: candidate.body,
            proxy: candidate.proxy,
            other: candidate.other,
            target: near.target,
            normal: near.normal,
            depth: near.normal.dot(&(x - near.point)),
            side: near.side,
        });
    }
}

/// Returns the side of a sheet on which a new point of skin belongs: the side of the flesh behind it. `height` is the point's signed distance in
/// front of the sheet, metres. If the skin came through the sheet, there is flesh as far behind the sheet as the skin is before it.
fn flesh_side(body: &PosedFlesh, proxy: u32, outward: &Vec3, height: f64) -> f64 {
    let here = if height < 0.0 { -1.0 } else { 1.0 };
    let proxy = &body.skin.proxies()[proxy as usize];
    if body.normal(&proxy.point).dot(outward) * here <= 0.0 {
        return here;
    }
    let inward = (2.0 * height.abs()).max(MIN_INWARD_DEPTH * body.skin.cell_size());
    let behind = proxy.rest - body.skin.rest_normal(&proxy.point) * inward;
    let deeper = body.skin.rest_distance(proxy.rest) - body.skin.rest_distance(behind);
    if deeper > 0.5 * inward { -here } else { here }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::collider_span::{ColliderSpan, MovingCollider, build_rest_tree};
    use crate::contact::tests::ShapedBar;
    use crate::contact::{Collider, ColliderMotion};
    use crate::surface::Surface;
    use crate::surface::shapes::cuboid;
    use std::sync::Arc;

    fn moving_mesh(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> MovingCollider {
        let surface = Arc::new(Surface::new(vertices, triangles).unwrap());
        let collider = Arc::new(Collider::mesh(surface, ColliderMotion::Still).unwrap());
        let tree = build_rest_tree(&collider);
        MovingCollider::new(
            &collider,
            tree.as_ref(),
            &ColliderSpan::between_entries(0, 0),
        )
    }

    /// Builds a block whose side toward −x is at `x`.
    fn block(x: f64) -> MovingCollider {
        let shape = cuboid(Vec3::repeat(0.3));
        let middle = Vec3::new(x + 0.3, 0.0, 0.8);
        let vertices = shape.vertices.iter().map(|v| v + middle).collect();
        moving_mesh(vertices, shape.triangles)
    }

    /// Builds a sheet across the x axis at `x`, larger than the bar.
    fn sheet(x: f64) -> MovingCollider {
        let corner = |y: f64, z: f64| Vec3::new(x, y, z);
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 3.0), (-1.0, 3.0)];
        let vertices = corners.map(|(y, z)| corner(y, z)).to_vec();
        moving_mesh(vertices, vec![[0, 1, 2], [0, 2, 3]])
    }

    fn find_touches(
        before: &ShapedBar,
        after: &ShapedBar,
        collider: &MovingCollider,
    ) -> (Vec<ColliderCandidate>, Vec<Touch>) {
        let (before, after) = ([before.posed_flesh()], [after.posed_flesh()]);
        let colliders = [collider.place_at(0.0)];
        let instant = |bodies| ContactInstant {
            bodies,
            colliders: &colliders,
        };
        let (before, after) = (instant(&before), instant(&after));
        let candidates = find_collider_candidates(&before, &after, 0.0);
        let mut found = Vec::new();
        add_touches(&candidates, &before, &after, |_| None, &mut found);
        (candidates, found)
    }

    /// The points that may hit a block are those near it or on their way to it.
    #[test]
    fn bumps_find_near_or_approaching() {
        // The bar is 5 cm thick to each side.
        let bar = |aside: f64| ShapedBar::new(move |x| x + Vec3::x() * aside, 0.0);
        let (here, away) = (bar(0.0), bar(-0.4));
        assert!(find_touches(&here, &here, &block(0.5)).0.is_empty());
        let margin = APPROACH_MARGIN * here.skin.cell_size();
        for (before, after, x) in [(&here, &here, 0.04), (&away, &here, 0.04)] {
            let (candidates, _) = find_touches(before, after, &block(x));
            let is_met = |proxy: u32| candidates.iter().any(|b| b.proxy == proxy);
            assert!(candidates.iter().all(|b| (b.body, b.other) == (0, 1)));
            for (number, proxy) in (0u32..).zip(here.skin.proxies()) {
                let p = proxy.rest;
                let beside = (p.z - 0.8).abs() < 0.3 && p.y.abs() < 0.3;
                if beside && p.x > x - margin {
                    assert!(is_met(number), "{p}");
                }
                // For a block that comes from far away the whole way counts.
                let reach = margin
                    + if std::ptr::eq(before, after) {
                        0.0
                    } else {
                        0.4
                    };
                let apart = (x - p.x).max((p.z - 0.8).abs() - 0.3);
                if apart > reach + 1e-9 {
                    assert!(!is_met(number), "{p}");
                }
            }
        }
    }

    /// Skin that crosses a sheet is pushed back to the side from which its flesh comes.
    #[test]
    fn bumps_push_back_to_flesh_side() {
        let bar = |aside: f64| ShapedBar::new(move |x| x + Vec3::x() * aside, 0.0);
        let here = bar(0.0);
        // The skin is through the sheet from the start, or comes through within the step, or is still in front of it.
        let cases = [
            (bar(0.0), 0.04, true),
            (bar(-0.04), 0.04, true),
            (bar(0.0), 0.055, false),
        ];
        for (before, x, through) in cases {
            let (_, found) = find_touches(&before, &here, &sheet(x));
            // Touches of the face toward +x, which has flesh behind it.
            let side = |t: &&Touch| {
                let proxy = &here.skin.proxies()[t.proxy as usize];
                let inside = proxy.rest.y.abs() < 0.02 && (proxy.rest.z - 0.8).abs() < 0.7;
                inside && here.skin.rest_normal(&proxy.point).x > 0.99
            };
            let front: Vec<&Touch> = found.iter().filter(side).collect();
            assert!(front.len() > 10);
            for touch in front {
                // The normal leads back to the side of the flesh.
                assert!((touch.normal + Vec3::x()).norm() < 1e-9, "{x}");
                assert!((touch.depth - (x - 0.05)).abs() < 1e-9);
                assert_eq!(touch.depth < 0.0, through);
            }
        }
    }
}
