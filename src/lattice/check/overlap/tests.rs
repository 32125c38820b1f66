// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the overlap of pairs of cells with many sampled points of both.

use super::*;
use crate::lattice::check::folding::find_fold;
use crate::lattice::corner_volume;
use crate::lattice::limb::crumpled_cell;
use crate::surface::shapes::Random;

fn solid<'a>(cell: &'a Cell, x: &[Vec3]) -> CellSolid<'a> {
    CellSolid::new(cell, Corners::from_slice(x))
}

/// Builds a cell that folds nowhere.
fn sound_cell(kind: usize, jitter: f64, random: &mut Random) -> (Cell, Vec<Vec3>) {
    loop {
        let (cell, x) = crumpled_cell(kind, jitter, random);
        let mut frames = cell.corner_frames().iter();
        let corners = frames.all(|frame| corner_volume(*frame, |i| x[i]) > 1e-3);
        if corners && find_fold(&cell, &x, 1e-6).is_none() {
            return (cell, x);
        }
    }
}

/// Returns the largest depth, in local coordinates, at which a sampled point lies in both cells; negative if none does.
fn deepest_overlap(a: &(Cell, Vec<Vec3>), b: &(Cell, Vec<Vec3>), n: usize) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for (of, within) in [(a, b), (b, a)] {
        for c in 0..n * n * n {
            let part = |i: usize| (i as f64 + 0.5) / n as f64;
            let l = Vec3::new(part(c % n), part(c / n % n), part(c / (n * n)));
            let mine = of.0.inside_margin(l);
            if mine <= best {
                continue;
            }
            let p = of.0.position(&of.1, l);
            let its = within.0.local_coordinates(&within.1, p);
            best = best.max(mine.min(its.map_or(-1.0, |l| within.0.inside_margin(l))));
        }
    }
    best
}

/// Returns whether a point lies in a cell, by the cell's map alone.
fn cell_contains((cell, x): &(Cell, Vec<Vec3>), p: Vec3) -> bool {
    let l = cell.local_coordinates(x, p).expect("found");
    (cell.position(x, l) - p).norm() < 1e-9 && cell.inside_margin(l) > -1e-9
}

const PAIR_COUNT: usize = 300;

/// The overlap of random pairs of cells agrees with a test of many sampled points.
#[test]
fn overlap_agrees_with_sampling() {
    let mut random = Random(11);
    let (mut overlapping, mut apart, mut close) = (0, 0, 0);
    for i in 0..PAIR_COUNT {
        let jitter = 0.45 * random.next();
        let a = sound_cell(i % 2, jitter, &mut random);
        let mut b = sound_cell(i / 2 % 3, jitter, &mut random);
        let turn = Vec3::from_fn(|_, _| 6.0 * random.next());
        let turn = nalgebra::Rotation3::new(turn);
        let shift = Vec3::from_fn(|_, _| 2.4 * random.next() - 1.2);
        b.1.iter_mut().for_each(|p| *p = turn * *p + shift);
        let depth = deepest_overlap(&a, &b, 20);
        match common_point(&solid(&a.0, &a.1), &solid(&b.0, &b.1)) {
            Some(p) => {
                assert!(cell_contains(&a, p) && cell_contains(&b, p), "{a:?} {b:?}");
                overlapping += 1;
            }
            None => {
                // Cores are a thousandth smaller.
                assert!(depth < 2e-3, "{depth}: {a:?} {b:?}");
                apart += 1;
                close += usize::from(depth > -0.05);
            }
        }
    }
    assert!(overlapping > PAIR_COUNT / 20 && apart > PAIR_COUNT / 20 && close > 0);
}

/// Builds two hexahedra or prisms on a common face of four corners, warped; the second has corners of its own.
fn neighbours(i: usize, jitter: f64, random: &mut Random) -> [(Cell, Vec<Vec3>); 2] {
    let (first, second): (&[usize], &[usize]) = match i % 3 {
        0 => (&[0, 1, 2, 3, 4, 5, 6, 7], &[1, 8, 3, 9, 5, 10, 7, 11]),
        1 => (&[0, 1, 2, 3, 4, 5, 6, 7], &[1, 8, 3, 5, 10, 7]),
        _ => (&[0, 1, 3, 4, 5, 7], &[1, 8, 3, 5, 10, 7]),
    };
    loop {
        let grid: Vec<Vec3> = (0..12)
            .map(|v: usize| {
                let (i, rest) = if v < 8 { (v & 1, v >> 1) } else { (2, v - 8) };
                let regular = Vec3::new(i as f64, (rest & 1) as f64, (rest >> 1) as f64);
                regular + Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * jitter)
            })
            .collect();
        let cell = |corners: &[usize]| {
            let numbers: Vec<u32> = (0..corners.len() as u32).collect();
            let cell = Cell::from_corners(&numbers).expect("a cell");
            (cell, corners.iter().map(|&v| grid[v]).collect::<Vec<_>>())
        };
        let pair = [cell(first), cell(second)];
        let is_sound = |(cell, x): &(Cell, Vec<Vec3>)| {
            let mut frames = cell.corner_frames().iter();
            frames.all(|frame| corner_volume(*frame, |i| x[i]) > 1e-3)
                && find_fold(cell, x, 1e-6).is_none()
        };
        if pair.iter().all(is_sound) {
            return pair;
        }
    }
}

/// Cells that share a face do not overlap until one is pushed into the other.
#[test]
fn neighbours_overlap_only_when_pushed() {
    let mut random = Random(3);
    for i in 0..300 {
        let jitter = 0.4 * random.next();
        let [a, b] = neighbours(i, jitter, &mut random);
        let found = common_point(&solid(&a.0, &a.1), &solid(&b.0, &b.1));
        if let Some(p) = found {
            // Neighbours so crumpled that they do overlap, past their common face.
            assert!(
                cell_contains(&a, p) && cell_contains(&b, p) && deepest_overlap(&a, &b, 24) > 0.0
            );
            continue;
        }
        assert!(deepest_overlap(&a, &b, 16) < 2e-3);
        for part in [0.01, 0.03, 0.1] {
            let moved: Vec<Vec3> = b.1.iter().map(|p| p - Vec3::x() * part).collect();
            let found = common_point(&solid(&a.0, &a.1), &solid(&b.0, &moved));
            let p = found.unwrap_or_else(|| panic!("{part}: {a:?} {b:?}"));
            assert!(cell_contains(&a, p) && cell_contains(&(b.0, moved), p));
        }
    }
}

/// Builds a cell between a flat face and a saddle over a rhombus with its corners on the axes, `z = gap + h (x²/a² − y²/b²)`,
/// which it lies above or below.
fn saddle(h: f64, [a, b]: [f64; 2], gap: f64, above: bool) -> (Cell, Vec<Vec3>) {
    let corners = |z: f64, h: f64| {
        [
            Vec3::new(a, 0.0, z + h),
            Vec3::new(0.0, b, z - h),
            Vec3::new(0.0, -b, z - h),
            Vec3::new(-a, 0.0, z + h),
        ]
    };
    let bent = corners(gap, h);
    let x = if above {
        [bent, corners(2.0, 0.0)]
    } else {
        [corners(-2.0, 0.0), bent]
    };
    (Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]), x.concat())
}

/// Two cells whose warped faces cut each other are found even if no edge crosses a face.
#[test]
fn overlap_without_edge_crossing() {
    // The lower is wider along x, the upper along y, so that the gap is least on the axis, where it equals `gap`.
    let mut random = Random(7);
    for i in 0..200 {
        let mut wide = || [1.1 + 0.3 * random.next(), 0.5 + 0.25 * random.next()];
        let (lower, [b, a]) = (wide(), wide());
        let h = 0.2 + 0.2 * random.next();
        let size = 2.0 * lower[0];
        let gap = size * [0.003, 0.0002, -0.004, -0.01][i % 4];
        let mut cells = [saddle(h, lower, 0.0, false), saddle(h, [a, b], gap, true)];
        let turn = nalgebra::Rotation3::new(Vec3::from_fn(|_, _| 6.0 * random.next()));
        for p in cells.iter_mut().flat_map(|c| &mut c.1) {
            *p = turn * *p;
        }
        let [a, b] = cells.each_ref().map(|(cell, x)| solid(cell, x));
        let edges = find_edge_inside(&a, &b, 1e-7).or_else(|| find_edge_inside(&b, &a, 1e-7));
        assert_eq!(edges, None);
        assert_eq!(common_point(&a, &b).is_some(), gap < 0.0, "{gap}");
    }
}

/// A cell that lies inside another overlaps it.
#[test]
fn overlap_of_nested_cells() {
    let mut random = Random(2);
    for i in 0..50 {
        let (cell, x) = sound_cell(i, 0.3, &mut random);
        let whole = solid(&cell, &x);
        // Between a fifth and almost all of it, still within.
        let shrunk = |l: Vec3| {
            let (middle, _) = whole.reference_points();
            cell.position(&x, middle + (l - middle) * (0.2 + 0.79 * (i as f64 / 50.0)))
        };
        let inner: Vec<Vec3> = whole.reference_points().1[..x.len()]
            .iter()
            .map(|l| shrunk(*l))
            .collect();
        assert!(common_point(&whole, &solid(&cell, &inner)).is_some());
        assert!(common_point(&solid(&cell, &inner), &whole).is_some());
    }
}
