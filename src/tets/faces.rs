// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faces that tetrahedra share, boundary faces, and pieces connected by whole faces.
//!
//! Faces are grouped by their lowest node, so that only the few of one node are sorted at a time. The work is linear in
//! the number of faces, and can be stopped between groups.

use crate::geometry::sets::DisjointSets;
use crate::lattice::Cell;
use crate::progress::{Cancelled, Progress, Silent, report_progress};

/// Stage of the progress, which is polled at the end of its part.
const STAGE: &str = "looking for loose pieces";
/// Number of nodes between polls of the progress.
const POLL_NODES: usize = 1 << 16;

/// A face of a group: its other two nodes ascending, and 4 times its tetrahedron plus its index there.
type GroupFace = ([u32; 2], u32);

/// Calls `f` with the faces of each lowest node in turn, sorted.
fn for_each_group(
    tets: &[[u32; 4]],
    progress: &dyn Progress,
    mut f: impl FnMut(&[GroupFace]),
) -> Result<(), Cancelled> {
    let ask = || report_progress(progress, 1.0, STAGE);
    let corners = Cell::Tetrahedron([0; 4]).faces();
    let faces = |&tet: &[u32; 4]| {
        corners.iter().map(move |face| {
            let mut key = [tet[face[0]], tet[face[1]], tet[face[2]]];
            key.sort_unstable();
            key
        })
    };
    ask()?;
    let nodes = tets.iter().flatten().max().map_or(0, |&v| v as usize + 1);
    // First the end of each node's faces; once these are in place, their beginning.
    let mut begin = vec![0usize; nodes + 1];
    for [lowest, ..] in tets.iter().flat_map(faces) {
        begin[lowest as usize] += 1;
    }
    let mut sum = 0;
    for n in &mut begin {
        sum += *n;
        *n = sum;
    }
    ask()?;
    let mut of_node: Vec<GroupFace> = vec![([0; 2], 0); sum];
    for (i, [lowest, middle, highest]) in (0u32..).zip(tets.iter().flat_map(faces)) {
        let at = &mut begin[lowest as usize];
        *at -= 1;
        of_node[*at] = ([middle, highest], i);
    }
    for (v, range) in begin.windows(2).enumerate() {
        if v % POLL_NODES == 0 {
            ask()?;
        }
        let group = &mut of_node[range[0]..range[1]];
        group.sort_unstable();
        f(group);
    }
    Ok(())
}

/// Returns for each tetrahedron its piece connected by whole faces, numbered in order of appearance.
///
/// # Errors
/// [`Cancelled`] if the progress stops it.
pub(super) fn pieces(tets: &[[u32; 4]], progress: &dyn Progress) -> Result<Vec<u32>, Cancelled> {
    let mut sets = DisjointSets::new(tets.len());
    for_each_group(tets, progress, |group| {
        for pair in group.windows(2).filter(|w| w[0].0 == w[1].0) {
            sets.join(pair[0].1 / 4, pair[1].1 / 4);
        }
    })?;
    Ok(sets.set_numbers())
}

/// Returns the faces with one tetrahedron only, counter-clockwise seen from outside, in the order of the tetrahedra.
pub(super) fn boundary(tets: &[[u32; 4]]) -> Vec<[u32; 3]> {
    boundary_with_progress(tets, &Silent).unwrap_or_default()
}

/// Finds the [`boundary`] with a progress.
///
/// # Errors
/// [`Cancelled`] if the progress stops it.
pub(super) fn boundary_with_progress(
    tets: &[[u32; 4]],
    progress: &dyn Progress,
) -> Result<Vec<[u32; 3]>, Cancelled> {
    let mut single: Vec<u32> = Vec::new();
    for_each_group(tets, progress, |group| {
        let alone = group
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|same| same.len() == 1);
        single.extend(alone.map(|same| same[0].1));
    })?;
    single.sort_unstable();
    let corners = Cell::Tetrahedron([0; 4]).faces();
    let triangle = |i: u32| {
        let (tet, face) = (tets[i as usize / 4], corners[i as usize % 4]);
        [tet[face[0]], tet[face[1]], tet[face[2]]]
    };
    Ok(single.into_iter().map(triangle).collect())
}

#[cfg(test)]
mod tests {
    use super::super::TetMesh;
    use super::*;
    use std::collections::BTreeMap;

    /// Returns the tetrahedra of a bar, without every seventh.
    fn holed_bar() -> Vec<[u32; 4]> {
        let bar = TetMesh::grid([5, 3, 2], [5.0, 3.0, 2.0]).unwrap();
        let kept = bar.tets().iter().enumerate().filter(|(i, _)| i % 7 != 0);
        kept.map(|(_, t)| *t).collect()
    }

    /// Groups tetrahedra by the nodes of their faces.
    fn group_by_nodes(tets: &[[u32; 4]]) -> BTreeMap<[u32; 3], Vec<usize>> {
        let mut all: BTreeMap<[u32; 3], Vec<usize>> = BTreeMap::new();
        for (t, tet) in tets.iter().enumerate() {
            for left_out in 0..4 {
                let mut face: Vec<u32> =
                    (0..4).filter(|&k| k != left_out).map(|k| tet[k]).collect();
                face.sort_unstable();
                all.entry([face[0], face[1], face[2]]).or_default().push(t);
            }
        }
        all
    }

    /// The boundary consists of the faces that belong to one tetrahedron only.
    #[test]
    fn boundary_faces_belong_to_one() {
        let tets = holed_bar();
        let mut found = boundary(&tets);
        found.iter_mut().for_each(|f| f.sort_unstable());
        found.sort_unstable();
        let single = group_by_nodes(&tets)
            .into_iter()
            .filter(|(_, of)| of.len() == 1);
        assert_eq!(found, single.map(|(face, _)| face).collect::<Vec<_>>());
    }

    /// A piece contains all tetrahedra that are connected through faces.
    #[test]
    fn pieces_join_face_neighbours() {
        let tets = holed_bar();
        let mut piece: Vec<usize> = (0..tets.len()).collect();
        // Each takes the lowest number of its neighbours until none changes.
        let pairs: Vec<[usize; 2]> = group_by_nodes(&tets)
            .into_values()
            .filter_map(|of| <[usize; 2]>::try_from(of).ok())
            .collect();
        while pairs.iter().fold(false, |changed, &[a, b]| {
            let least = piece[a].min(piece[b]);
            let changes = piece[a] != least || piece[b] != least;
            (piece[a], piece[b]) = (least, least);
            changed || changes
        }) {}
        let mut order: Vec<usize> = Vec::new();
        let expected = piece.iter().map(|p| {
            let known = order.iter().position(|q| q == p);
            known.unwrap_or_else(|| {
                order.push(*p);
                order.len() - 1
            }) as u32
        });
        let expected: Vec<u32> = expected.collect();
        assert_eq!(pieces(&tets, &Silent).unwrap(), expected);
        assert_eq!(pieces(&tets, &|_: f64, _: &str| false), Err(Cancelled));
    }
}
