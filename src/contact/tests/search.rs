// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search: cells that contact depends on, and lattices warped to carry the displayed skin.

use super::*;
use crate::contact::search::broad::ContactCandidate;
use crate::contact::search::warped_cells::node_warps;
use std::collections::BTreeSet;

/// The cells around touching points are those that share a vertex with the cells of these points.
#[test]
fn cells_beside_touches_share_vertices() {
    let bar = ShapedBar::new(|x| *x, 0.0);
    let posed = [bar.posed_flesh()];
    let points = [(0, 3), (0, 40), (0, 3)];
    let found = cells::find_dependent_cells([&posed, &posed], &[], points.into_iter());
    let mut wanted: BTreeSet<u32> = BTreeSet::new();
    for (_, proxy) in points {
        wanted.extend(bar.skin.neighbours(bar.skin.cell_of(proxy)));
    }
    assert_eq!(found.len(), 1);
    assert!(found[0].iter().eq(&wanted));
    assert!(cells::find_dependent_cells([&posed, &posed], &[], std::iter::empty())[0].is_empty());
}

/// The cells that contact examines include every cell of a touching point, but not all cells.
#[test]
fn dependent_cells_include_touching() {
    let bent = ShapedBar::from_turns(1.2);
    let posed = [bent.posed_flesh()];
    let swept = SweptBody {
        from: bent.posed_flesh(),
        to: None,
        itself: true,
    };
    let candidates = find_candidates(&[swept]).candidates;
    let found = cells::find_dependent_cells([&posed, &posed], &candidates, std::iter::empty());
    let met: BTreeSet<u32> = found[0].iter().copied().collect();
    let touching = super::find_touches(&bent);
    assert!(!touching.is_empty());
    for touch in &touching {
        assert!(met.contains(&bent.skin.cell_of(touch.proxy)));
    }
    assert!(met.len() < bent.skin.body().lattice().cells().len());
    // Flesh at its own position is in no other cell.
    let rest = ShapedBar::new(|x| *x, 0.0);
    let posed = [rest.posed_flesh()];
    let own = |c: &ContactCandidate| ContactCandidate {
        cell: rest.skin.cell_of(c.proxy),
        ..*c
    };
    let own: Vec<ContactCandidate> = candidates.iter().map(own).collect();
    let found = cells::find_dependent_cells([&posed, &posed], &own, std::iter::empty());
    assert!(found[0].is_empty());
}

/// The lattice is warped by the offset between it and the displayed skin.
#[test]
fn warp_equals_display_offset() {
    // Joints are shown as the artist's skin: the lattice is displaced, the skin is not.
    let shift = Vec3::new(0.02, -0.01, 0.03);
    let mut bar = ShapedBar::new(|x| x + shift, 0.0);
    bar.joints = 0.0;
    let posed = bar.posed_flesh();
    let lattice = bar.skin.body().lattice().cells();
    let wanted: Vec<u32> = vec![0, 1, 7];
    let corners: BTreeSet<u32> = wanted
        .iter()
        .flat_map(|&c| lattice[c as usize].corners())
        .copied()
        .collect();
    let found = node_warps(&posed, &wanted);
    let mut carried = 0;
    for &a in &corners {
        let warp = found[a as usize];
        if warp != Vec3::zeros() {
            assert!((warp + shift).norm() < 1e-9, "{warp}");
            carried += 1;
        }
    }
    assert!(carried > 3);
    bar.joints = 1.0;
    assert!(
        node_warps(&bar.posed_flesh(), &wanted)
            .iter()
            .all(|w| w.norm() == 0.0)
    );
}
