// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of the lattice that no bone holds: eyes, buttons, shells.
//!
//! Cells that share a face move at least as one rigid body. Such a *part* is held by three points that are not
//! collinear and that are pinned or have twist energy. A point counts as pinned if it lies on a
//! bone or belongs to a part that is held. The remaining parts would float or spin freely and make the
//! stiffness singular. Their vertices are pinned rigidly to one bone, or to the skin if no bone carries
//! most of the part, and the artist is warned.

use crate::Vec3;
use crate::basis::Basis;
use crate::geometry::sets::DisjointSets;
use crate::lattice::Lattice;

/// A connected part of the lattice that no bone holds; it follows one bone rigidly, or its skin.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LoosePart {
    /// Cells of the part.
    pub cells: Vec<u32>,
    /// Nodes pinned because the part is loose.
    pub vertices: Vec<u32>,
    /// The bone it follows, or that carries most of it.
    pub bone: u32,
    /// One sentence that tells the artist.
    #[serde(deserialize_with = "crate::store::text")]
    pub sentence: String,
}

/// Returns cells and nodes of each loose part. `tied`: cells and places of the points with twist energy.
pub(super) fn find(
    basis: &Basis,
    pinned: &[bool],
    tied: &[(u32, Vec3)],
) -> Vec<(Vec<u32>, Vec<u32>)> {
    let part = parts_by_faces(basis.lattice());
    let parts = part.iter().max().map_or(0, |p| p + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); parts];
    for (c, &p) in part.iter().enumerate() {
        members[p].push(c);
    }
    let mut tied_points: Vec<Vec<Vec3>> = vec![Vec::new(); parts];
    for &(cell, place) in tied {
        tied_points[part[cell as usize]].push(place);
    }
    let mut fixed = pinned.to_vec();
    let mut held = vec![false; parts];
    loop {
        let mut grown = false;
        for p in 0..parts {
            if held[p] {
                continue;
            }
            let nodes = cell_nodes(basis, &members[p]);
            let pinned = nodes.iter().filter(|&&v| fixed[v as usize]);
            let places = pinned.map(|&v| basis.centres()[v as usize]);
            let points: Vec<Vec3> = places.chain(tied_points[p].iter().copied()).collect();
            if span_plane(&points) {
                held[p] = true;
                grown = true;
                nodes.iter().for_each(|&v| fixed[v as usize] = true);
            }
        }
        if !grown {
            break;
        }
    }
    // Loose parts that touch each other count as one part.
    let mut groups = DisjointSets::new(basis.len());
    for c in 0..part.len() {
        if !held[part[c]] {
            let corners = basis.lattice().cells()[c].corners();
            corners.windows(2).for_each(|w| _ = groups.join(w[0], w[1]));
        }
    }
    let mut found: Vec<(usize, Vec<u32>, Vec<u32>)> = Vec::new();
    for c in 0..part.len() {
        if held[part[c]] {
            continue;
        }
        let functions = basis.cell_functions(c as u32);
        let root = groups.root(functions[0]) as usize;
        let at = match found.iter().position(|f| f.0 == root) {
            Some(at) => at,
            None => {
                found.push((root, Vec::new(), Vec::new()));
                found.len() - 1
            }
        };
        found[at].1.push(c as u32);
        found[at]
            .2
            .extend(functions.into_iter().filter(|&v| !fixed[v as usize]));
    }
    found
        .into_iter()
        .map(|(_, cells, mut vertices)| {
            vertices.sort_unstable();
            vertices.dedup();
            (cells, vertices)
        })
        .collect()
}

/// Returns the number of the face-connected part of each cell.
fn parts_by_faces(lattice: &Lattice) -> Vec<usize> {
    let cells = lattice.cells();
    let mut faces: Vec<([u32; 4], usize)> = Vec::new();
    for (c, cell) in cells.iter().enumerate() {
        for f in cell.faces() {
            let mut key = [u32::MAX; 4];
            for (k, &i) in key.iter_mut().zip(f.iter()) {
                *k = cell.corners()[i];
            }
            key.sort_unstable();
            faces.push((key, c));
        }
    }
    faces.sort_unstable();
    let mut sets = DisjointSets::new(cells.len());
    for pair in faces.windows(2) {
        if pair[0].0 == pair[1].0 {
            sets.join(pair[0].1 as u32, pair[1].1 as u32);
        }
    }
    let numbers = sets.set_numbers();
    numbers.into_iter().map(|n| n as usize).collect()
}

fn cell_nodes(basis: &Basis, cells: &[usize]) -> Vec<u32> {
    let functions = cells.iter().map(|&c| basis.cell_functions(c as u32));
    let mut nodes: Vec<u32> = functions.flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Returns whether three of the points are not collinear.
fn span_plane(points: &[Vec3]) -> bool {
    let Some(&a) = points.first() else {
        return false;
    };
    let far = |p: &Vec3| (p - a).norm_squared();
    let Some(&b) = points.iter().max_by(|p, q| far(p).total_cmp(&far(q))) else {
        return false;
    };
    let length = (b - a).norm();
    points
        .iter()
        .any(|p| (p - a).cross(&(b - a)).norm() > 1e-3 * length * length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Cell;

    /// Builds a basis on two tetrahedra that share a face, and one apart.
    fn basis() -> Basis {
        let v = Vec3::new;
        let x = vec![
            v(0.0, 0.0, 0.0),
            v(1.0, 0.0, 0.0),
            v(0.0, 1.0, 0.0),
            v(0.0, 0.0, 1.0),
            v(1.0, 1.0, 1.0),
            v(5.0, 0.0, 0.0),
            v(6.0, 0.0, 0.0),
            v(5.0, 1.0, 0.0),
            v(5.0, 0.0, 1.0),
        ];
        let cells = vec![
            Cell::Tetrahedron([0, 1, 2, 3]),
            Cell::Tetrahedron([1, 2, 3, 4]),
            Cell::Tetrahedron([5, 6, 7, 8]),
        ];
        Basis::new(Lattice::new(x, cells).unwrap().into())
    }

    fn pins(vertices: &[usize]) -> Vec<bool> {
        (0..9).map(|v| vertices.contains(&v)).collect()
    }

    /// Three pinned points hold a part, and two leave it loose.
    #[test]
    fn two_pins_leave_part_loose() {
        let all = find(&basis(), &pins(&[0, 1, 2, 5, 6]), &[]);
        assert_eq!(all, vec![(vec![2], vec![7, 8])]);
        let all = find(&basis(), &pins(&[0, 1]), &tied(2, 3));
        assert_eq!(all, vec![(vec![0, 1], vec![2, 3, 4])]);
    }

    /// Returns so many points with twist energy in a cell, not collinear from three on.
    fn tied(cell: u32, count: usize) -> Vec<(u32, Vec3)> {
        let points = [[5.1, 0.1, 0.1], [5.3, 0.1, 0.1], [5.1, 0.3, 0.1]];
        let in_cell = |p: &[f64; 3]| {
            (
                cell,
                Vec3::from(*p) - Vec3::new(if cell < 2 { 5.0 } else { 0.0 }, 0.0, 0.0),
            )
        };
        points[..count].iter().map(in_cell).collect()
    }

    #[test]
    fn twist_holds_straight_chain() {
        let points = [tied(0, 3), tied(2, 3)].concat();
        assert!(find(&basis(), &pins(&[0, 1, 5, 6]), &points).is_empty());
    }

    /// One point with twist energy leaves a part free to turn, and two leave it free to turn about their line, as pinned points do.
    #[test]
    fn few_twisted_points_leave_part_loose() {
        for count in 0..3 {
            let all = find(&basis(), &pins(&[0, 1, 2]), &tied(2, count));
            assert_eq!(all, vec![(vec![2], vec![5, 6, 7, 8])], "{count}");
        }
        assert!(find(&basis(), &pins(&[0, 1, 2]), &tied(2, 3)).is_empty());
        assert!(find(&basis(), &pins(&[0, 1, 2, 5]), &tied(2, 2)).is_empty());
    }

    /// A part that shares only an edge with a held part is loose.
    #[test]
    fn hinged_part_is_loose() {
        // The second tetrahedron hangs on an edge of the first only.
        let x = basis().rest_shape().to_vec();
        let cells = vec![
            Cell::Tetrahedron([0, 1, 2, 3]),
            Cell::Tetrahedron([0, 1, 5, 8]),
        ];
        let hinge = Basis::new(Lattice::new(x, cells).unwrap().into());
        let all = find(&hinge, &pins(&[0, 1, 2]), &[]);
        assert_eq!(all, vec![(vec![1], vec![5, 8])]);
    }
}
