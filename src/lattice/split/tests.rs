// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies made of cubes in a plain lattice: what comes apart, what stays whole.

use super::space::{Place, Space};
use super::*;
use crate::lattice::delaunay::delaunay;
use crate::lattice::tetrahedron::{closest_on_segment, meets_triangle, volume};
use crate::progress::Silent;
use nalgebra::Rotation3;
use std::collections::{BTreeMap, BTreeSet};

/// Edge of a cube.
const UNIT: f64 = 0.1;

/// A body of cubes, turned so that nothing is aligned with the axes.
struct Cubes {
    filled: BTreeSet<[i32; 3]>,
    /// A cube counts as this wide along x: gaps between cubes are narrower or wider than they.
    gap: f64,
    turn: Rotation3<f64>,
}

impl Cubes {
    fn new(boxes: &[[std::ops::Range<i32>; 3]]) -> Self {
        let mut filled = BTreeSet::new();
        for [x, y, z] in boxes {
            for i in x.clone() {
                for j in y.clone() {
                    filled.extend(z.clone().map(|k| [i, j, k]));
                }
            }
        }
        Self {
            filled,
            gap: 1.0,
            turn: Rotation3::from_euler_angles(0.3, -0.5, 0.8),
        }
    }

    /// Odd layers along x are `gap` wide, even ones fill up to two.
    fn x(&self, i: i32) -> f64 {
        f64::from(i.div_euclid(2) * 2) + f64::from(i.rem_euclid(2)) * (2.0 - self.gap)
    }

    /// From cube coordinates to the place.
    fn place(&self, p: [i32; 3]) -> Vec3 {
        self.turn * Vec3::new(self.x(p[0]), f64::from(p[1]), f64::from(p[2])) * UNIT
    }

    /// The cube at a place.
    fn cube(&self, p: Vec3) -> [i32; 3] {
        let q = self.turn.inverse() * p / UNIT;
        let even = (q.x / 2.0).floor() as i32 * 2;
        let x = if q.x < self.x(even + 1) {
            even
        } else {
            even + 1
        };
        [x, q.y.floor() as i32, q.z.floor() as i32]
    }

    fn contains(&self, p: Vec3) -> bool {
        self.filled.contains(&self.cube(p))
    }

    /// Boundary squares as two triangles each.
    fn mesh(&self) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let mut number = BTreeMap::new();
        let mut vertices = Vec::new();
        let mut triangles = Vec::new();
        for &cube in &self.filled {
            for axis in 0..3 {
                for side in 0..2 {
                    let mut beyond = cube;
                    beyond[axis] += 2 * side - 1;
                    if self.filled.contains(&beyond) {
                        continue;
                    }
                    let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[u, v]| {
                        let mut p = cube;
                        p[axis] += side;
                        p[(axis + 1) % 3] += u;
                        p[(axis + 2) % 3] += v;
                        *number.entry(p).or_insert_with(|| {
                            vertices.push(self.place(p));
                            vertices.len() as u32 - 1
                        })
                    });
                    let [a, b, c, d] = corners;
                    let square = [[a, b, c], [a, c, d]];
                    triangles.extend(
                        square.map(|[a, b, c]| if side == 1 { [a, b, c] } else { [a, c, b] }),
                    );
                }
            }
        }
        (vertices, triangles)
    }

    fn surface(&self) -> Surface {
        let (vertices, triangles) = self.mesh();
        Surface::new(vertices, triangles).expect("has area")
    }
}

/// A body-centred cubic lattice around a surface with bones on its edges.
struct Fixture {
    surface: Surface,
    vertices: Vec<Vec3>,
    cells: Vec<[u32; 4]>,
    bones: Vec<(u32, u32, u32)>,
    h: f64,
}

impl Fixture {
    fn new(surface: Surface, h: f64, chains: &[Vec<Vec3>]) -> Self {
        let mut points: Vec<Vec3> = Vec::new();
        let mut bones = Vec::new();
        for (bone, chain) in chains.iter().enumerate() {
            let mut last = None;
            for &p in chain {
                let at = points.iter().position(|q| (p - q).norm() < 1e-9);
                let at = at.unwrap_or(points.len());
                if at == points.len() {
                    points.push(p);
                }
                if let Some(l) = last.replace(at as u32) {
                    bones.push((l, at as u32, bone as u32));
                }
            }
        }
        let fixed = points.len();
        let (lo, hi) = surface.bounds();
        let n = ((hi - lo) / h).map(|x| x.ceil() as i32 + 3);
        for i in -3..=n.x {
            for j in -3..=n.y {
                for k in -3..=n.z {
                    for half in [0.0, 0.5] {
                        let p = Vec3::new(f64::from(i), f64::from(j), f64::from(k));
                        // Off the exact grid, whose cospherical points would give slivers.
                        let off = (p * 12.9898 + Vec3::new(half, 0.3, 0.7)).map(f64::sin) * 0.04;
                        let p = lo + (p + Vec3::repeat(half) + off) * h;
                        let on = |e: &(u32, u32, u32)| {
                            let (a, b) = (points[e.0 as usize], points[e.1 as usize]);
                            (closest_on_segment(a, b, p).0 - p).norm() < 0.55 * h
                        };
                        if !bones.iter().any(on) {
                            points.push(p);
                        }
                    }
                }
            }
        }
        let kept = |t: &[u32; 4]| {
            let x = t.map(|v| points[v as usize]);
            let bone = bones.iter().any(|e| t.contains(&e.0) && t.contains(&e.1));
            let welded = surface.welded();
            let mut near = Vec::new();
            let lo = x.iter().fold(x[0], |lo, p| lo.inf(p));
            let hi = x.iter().fold(x[0], |hi, p| hi.sup(p));
            surface.triangles_in_box(lo, hi, &mut near);
            bone || surface.contains(x.iter().sum::<Vec3>() / 4.0)
                || near.iter().any(|&c| {
                    let corners = welded.triangles[c as usize];
                    meets_triangle(&x, &corners.map(|v| welded.vertices[v as usize]), 1e-9)
                })
        };
        let tets = delaunay(&points).expect("spans space");
        let tets: Vec<[u32; 4]> = tets.into_iter().filter(kept).collect();
        // Used vertices only, those on bones first.
        let mut number: Vec<u32> = (0..points.len() as u32)
            .map(|v| if v < fixed as u32 { v } else { NONE })
            .collect();
        let mut vertices = points[..fixed].to_vec();
        let cells = tets
            .iter()
            .map(|t| {
                t.map(|v| {
                    if number[v as usize] == NONE {
                        number[v as usize] = vertices.len() as u32;
                        vertices.push(points[v as usize]);
                    }
                    number[v as usize]
                })
            })
            .collect();
        Self {
            surface,
            vertices,
            cells,
            bones,
            h,
        }
    }

    fn split(&self) -> Split {
        let input = SplitInput {
            vertices: &self.vertices,
            cells: &self.cells,
            surface: &self.surface,
            h: self.h,
            bone_edges: &self.bones,
        };
        split(input, &Silent).expect("not cancelled")
    }

    /// The split, after testing all that always has to hold.
    fn checked(&self) -> Split {
        let s = self.split();
        let (n, m) = (self.vertices.len(), self.cells.len());
        assert_eq!(s.vertices[..n], self.vertices[..]);
        assert_eq!(s.vertices.len(), s.original.len());
        assert_eq!(s.cells.len(), s.group.len());
        for (v, &o) in s.original.iter().enumerate() {
            assert_eq!(s.vertices[v], self.vertices[o as usize]);
            assert!(v >= n || v == o as usize);
        }
        let mut faces: BTreeMap<[u32; 3], Vec<usize>> = BTreeMap::new();
        for (c, (cell, &g)) in s.cells.iter().zip(&s.group).enumerate() {
            assert!(c >= m || c == g as usize);
            assert_eq!(cell.map(|v| s.original[v as usize]), self.cells[g as usize]);
            assert!(volume(&cell.map(|v| s.vertices[v as usize])) > 0.0);
            for k in 0..4 {
                let mut f = [1, 2, 3].map(|i| cell[(k + i) % 4]);
                f.sort_unstable();
                faces.entry(f).or_default().push(c);
            }
        }
        assert!(faces.values().all(|cells| cells.len() <= 2));
        for e in &self.bones {
            let held = s.cells.iter().any(|c| c.contains(&e.0) && c.contains(&e.1));
            assert!(held, "bone edge {e:?} is lost");
        }
        let mut used = vec![false; s.vertices.len()];
        s.cells
            .iter()
            .flatten()
            .for_each(|&v| used[v as usize] = true);
        assert!(used[n..].iter().all(|&u| u));
        s
    }

    /// Lattice vertices that carry the surface vertices at which a condition holds.
    fn carriers(&self, s: &Split, at: impl Fn(Vec3) -> bool) -> BTreeSet<u32> {
        let owners = s
            .flesh
            .vertex_owner(&self.surface)
            .expect("the same surface");
        let welded = &self.surface.welded().vertices;
        let chosen = welded.iter().zip(owners).filter(|(p, _)| at(**p));
        chosen.flat_map(|(_, &c)| s.cells[c as usize]).collect()
    }
}

/// Number of parts that are connected through vertices.
fn count_parts(cells: &[[u32; 4]]) -> usize {
    parts(cells, 1).len()
}

/// Cells connected through faces.
fn rigid_parts(cells: &[[u32; 4]]) -> Vec<Vec<usize>> {
    parts(cells, 3)
}

/// Cells connected by having some corners in common.
fn parts(cells: &[[u32; 4]], common: usize) -> Vec<Vec<usize>> {
    let mut sets = copies::Sets::new(cells.len());
    let mut around: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for (i, c) in cells.iter().enumerate() {
        for mask in (1..15u32).filter(|m| m.count_ones() as usize == common) {
            let mut key: Vec<u32> = (0..4)
                .filter(|k| mask >> k & 1 == 1)
                .map(|k| c[k])
                .collect();
            key.sort_unstable();
            sets.join(*around.entry(key).or_insert(i as u32), i as u32);
        }
    }
    let mut by_root: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for i in 0..cells.len() {
        by_root.entry(sets.root(i as u32)).or_default().push(i);
    }
    by_root.into_values().collect()
}

/// Two legs with a gap between them, hanging from a hip.
fn legs() -> Cubes {
    let mut cubes = Cubes::new(&[
        [0..3, 0..3, 0..20],
        [4..7, 0..3, 0..20],
        [0..7, 0..3, 20..26],
    ]);
    cubes.gap = 0.4;
    cubes
}

fn leg_bones(cubes: &Cubes) -> Vec<Vec<Vec3>> {
    let at = |x: f64, z: f64| cubes.turn * Vec3::new(x, 1.5, z) * UNIT;
    let leg = |x: f64| {
        (0..=4)
            .map(|i| at(x, 2.0 + 5.0 * f64::from(i)))
            .collect::<Vec<_>>()
    };
    let (left, right) = (leg(1.6), leg(5.2));
    let hip = vec![left[4], right[4]];
    vec![left, right, hip]
}

#[test]
fn legs_come_apart_and_stay_joined_at_the_hip() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let s = f.checked();
    for z in [4.0, 10.0, 14.0] {
        let side = |right: bool| {
            f.carriers(&s, |p| {
                let q = cubes.turn.inverse() * p / UNIT;
                q.z < z && (q.x > 3.8) == right
            })
        };
        assert!(!side(false).is_empty() && !side(true).is_empty());
        assert!(side(false).is_disjoint(&side(true)), "below {z}");
    }
    assert!(s.cells.len() > f.cells.len(), "no cell was shared");
    assert_eq!(count_parts(&s.cells), 1);
}

#[test]
fn points_belong_to_the_leg_they_are_in() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let s = f.checked();
    let side = |right: bool| {
        f.carriers(&s, |p| {
            let q = cubes.turn.inverse() * p / UNIT;
            q.z < 14.0 && (q.x > 3.8) == right
        })
    };
    let sides = [side(false), side(true)];
    let tiling = Tiling::new(&f.vertices, &f.cells);
    let mut shared = 0;
    for i in 0..4000u64 {
        let unit = |k: u64| ((i * 3 + k + 1) as f64 * 0.754877666).fract();
        let right = i % 2 == 1;
        let x = if right {
            4.0 + unit(0) * 2.4
        } else {
            0.2 + unit(0) * 3.2
        };
        let p = cubes.turn * Vec3::new(x, 0.2 + 2.6 * unit(1), 13.0 * unit(2)) * UNIT;
        assert!(cubes.contains(p));
        let cell = tiling.locate(p);
        let owner = s.flesh.owner(cell, p);
        let copies = s.group.iter().filter(|&&g| g == cell).count();
        shared += usize::from(copies > 1);
        assert!(
            s.cells[owner as usize]
                .iter()
                .any(|v| sides[usize::from(right)].contains(v))
        );
        assert!(
            s.cells[owner as usize]
                .iter()
                .all(|v| !sides[usize::from(!right)].contains(v))
        );
    }
    assert!(shared > 500, "{shared}");
}

#[test]
fn a_body_without_gaps_comes_out_as_it_went_in() {
    // A ball, a rod and a box.
    let ball = |radius: [f64; 3]| {
        let (vertices, triangles) = Cubes::new(&[[0..8, 0..8, 0..8]]).mesh();
        let middle = vertices.iter().sum::<Vec3>() / vertices.len() as f64;
        let round = |p: &Vec3| (p - middle).normalize().component_mul(&Vec3::from(radius));
        Surface::new(vertices.iter().map(round).collect(), triangles).expect("has area")
    };
    let block = Cubes::new(&[[0..4, 0..6, 0..9]]).surface();
    for surface in [
        ball([1.0, 1.0, 1.0]),
        ball([0.2, 0.25, 1.4]),
        ball([1.0, 1.1, 0.1]),
        block,
    ] {
        for h in [0.25, 0.4, 0.7] {
            let f = Fixture::new(
                surface.clone(),
                h,
                &[vec![Vec3::new(0.0, 0.0, 0.1), Vec3::zeros()]],
            );
            let s = f.checked();
            assert_eq!(s.vertices, f.vertices);
            assert_eq!(s.cells, f.cells);
            let owners = s.flesh.vertex_owner(&f.surface).expect("the same surface");
            assert!(owners.iter().all(|&c| c != NONE));
        }
    }
}

#[test]
fn fingers_a_hair_apart_come_apart() {
    // Four fingers in the width of a cell; the gaps are a hundredth of a finger.
    let mut boxes = vec![[0..7, 0..2, 0..5]];
    boxes.extend((0..4).map(|i| [2 * i..2 * i + 1, 0..2, 5..34]));
    let mut cubes = Cubes::new(&boxes);
    cubes.gap = 0.02;
    let bone = |i: i32| {
        let at = |z: f64| cubes.turn * Vec3::new(f64::from(2 * i) + 0.98, 1.0, z) * UNIT;
        [3.0, 8.0, 13.0, 18.0, 23.0, 28.0]
            .map(|z| at(z + 0.3 * f64::from(i)))
            .to_vec()
    };
    let chains: Vec<Vec<Vec3>> = (0..4).map(bone).collect();
    for h in [0.5, 0.9] {
        let f = Fixture::new(cubes.surface(), h, &chains);
        let s = f.checked();
        let finger = |i: i32| {
            f.carriers(&s, |p| {
                let q = cubes.turn.inverse() * p / UNIT;
                q.z > 5.5 + 1.8 * h / UNIT && (q.x - f64::from(2 * i) - 0.99).abs() < 1.0
            })
        };
        for i in 0..4 {
            assert!(!finger(i).is_empty());
            for j in 0..i {
                assert!(
                    finger(i).is_disjoint(&finger(j)),
                    "fingers {i} and {j}, h {h}"
                );
            }
        }
        assert_eq!(count_parts(&s.cells), 1);
    }
}

#[test]
fn parts_without_bones_do_not_hang_on_edges() {
    // The comb again, but only its palm has a bone: a tooth that hung on an edge would swing.
    let mut boxes = vec![[0..7, 0..2, 0..5]];
    boxes.extend((0..4).map(|i| [2 * i..2 * i + 1, 0..2, 5..16]));
    let mut cubes = Cubes::new(&boxes);
    cubes.gap = 0.1;
    let at = |x: f64| cubes.turn * Vec3::new(x, 1.0, 2.0) * UNIT;
    for h in [0.35, 0.6, 0.9] {
        let f = Fixture::new(cubes.surface(), h, &[vec![at(1.0), at(4.0), at(7.0)]]);
        let s = f.checked();
        assert_eq!(count_parts(&s.cells), 1);
        assert!(s.cells.len() > f.cells.len());
        for part in rigid_parts(&s.cells) {
            let inside: BTreeSet<u32> = part.iter().flat_map(|&c| s.cells[c]).collect();
            let others = (0..s.cells.len()).filter(|c| !part.contains(c));
            let outside: BTreeSet<u32> = others.flat_map(|c| s.cells[c]).collect();
            let held: Vec<Vec3> = inside
                .intersection(&outside)
                .map(|&v| s.vertices[v as usize])
                .collect();
            let spans = held.iter().any(|p| {
                let (a, b) = (held[0], held[held.len() - 1]);
                (b - a).cross(&(p - a)).norm() > 1e-3 * h * h
            });
            assert!(
                outside.is_empty() || spans,
                "h {h}: a part of {} cells hangs",
                part.len()
            );
        }
    }
}

#[test]
fn loose_pieces_float_free_unless_one_cell_holds_them() {
    let body = [0..6, 0..6, 0..10];
    // A button above the face of the box, small or longer than a cell.
    for (button, parts) in [([2..4, 8..10, 4..5], 1), ([0..6, 8..10, 0..10], 2)] {
        let cubes = Cubes::new(&[body.clone(), button]);
        let at = |z: f64| cubes.turn * Vec3::new(3.0, 3.0, z) * UNIT;
        let f = Fixture::new(cubes.surface(), 0.6, &[vec![at(2.0), at(7.0)]]);
        let s = f.checked();
        let mine =
            |y: f64, up: bool| f.carriers(&s, |p| ((cubes.turn.inverse() * p).y / UNIT > y) == up);
        if parts == 2 {
            assert!(mine(7.0, true).is_disjoint(&mine(7.0, false)));
        }
        assert!(count_parts(&s.cells) <= 2);
    }
}

#[test]
fn the_order_of_triangles_does_not_matter() {
    let cubes = legs();
    let chains = leg_bones(&cubes);
    let f = Fixture::new(cubes.surface(), 0.55, &chains);
    let (a, again) = (f.split(), f.split());
    assert_eq!(
        (&a.vertices, &a.cells, &a.flesh),
        (&again.vertices, &again.cells, &again.flesh)
    );
    let (vertices, mut triangles) = cubes.mesh();
    let n = triangles.len();
    triangles = (0..n).map(|i| triangles[i * 37 % n]).collect();
    for (i, t) in triangles.iter_mut().enumerate() {
        t.rotate_left(i % 3);
    }
    let mut other = Fixture {
        surface: Surface::new(vertices, triangles).expect("has area"),
        ..f
    };
    let b = other.split();
    assert_eq!(
        (&a.vertices, &a.cells, &a.group),
        (&b.vertices, &b.cells, &b.group)
    );
    other.surface = cubes.surface();
    let by_place = |s: &Surface, split: &Split| -> Vec<(String, u32)> {
        let owners = split.flesh.vertex_owner(s).expect("the same surface");
        let welded = &s.welded().vertices;
        let mut all: Vec<_> = welded
            .iter()
            .zip(owners)
            .map(|(p, &o)| (format!("{p:?}"), o))
            .collect();
        all.sort();
        all
    };
    let (vertices, mut triangles) = cubes.mesh();
    triangles.reverse();
    let reversed = Surface::new(vertices, triangles).expect("has area");
    let c = Fixture {
        surface: reversed.clone(),
        ..other
    };
    assert_eq!(
        by_place(&cubes.surface(), &a),
        by_place(&reversed, &c.split())
    );
}

#[test]
fn cancelling_stops_it() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let input = SplitInput {
        vertices: &f.vertices,
        cells: &f.cells,
        surface: &f.surface,
        h: f.h,
        bone_edges: &f.bones,
    };
    assert_eq!(
        split(input, &|at: f64, _: &str| at < 0.5).err(),
        Some(Cancelled)
    );
}

#[test]
fn voxels_and_segments_agree_with_the_body() {
    let cubes = legs();
    let surface = cubes.surface();
    let space = Space::new(&surface, 0.07);
    let mut count = [0; 2];
    for v in 0..space.len() {
        assert_eq!(space.is_inside(v), cubes.contains(space.centre(v)));
        count[usize::from(space.is_inside(v))] += 1;
    }
    assert!(count[0] > 500 && count[1] > 500);
    let inside: Vec<usize> = (0..space.len()).filter(|&v| space.is_inside(v)).collect();
    let mut stayed = [0; 2];
    for i in 0..2000 {
        let place = |i: usize| Place {
            at: space.centre(inside[i % inside.len()]),
            interior: true,
        };
        let (a, b) = (place(i * 7919), place(i * 104_729 + 13));
        // The gap is 0.04 wide: at this step none of it is missed, and corners cut by less do not count.
        let n = ((b.at - a.at).norm() / 0.002) as usize + 1;
        let outside = (0..=n)
            .filter(|&k| !cubes.contains(a.at + (b.at - a.at) * (k as f64 / n as f64)))
            .count();
        let stays = space.stays(a, b);
        assert!(outside < 2 || !stays);
        assert!(outside > 0 || stays);
        stayed[usize::from(stays)] += 1;
    }
    assert!(stayed[0] > 100 && stayed[1] > 100);
}

#[test]
fn an_open_surface_has_the_same_voxels() {
    // Without a tenth of its faces the body is bounded by the winding number in the holes.
    let cubes = legs();
    let (vertices, triangles) = cubes.mesh();
    let left: Vec<[u32; 3]> = (0..)
        .zip(triangles)
        .filter(|(i, _)| i % 10 != 3)
        .map(|t| t.1)
        .collect();
    let surface = Surface::new(vertices, left).expect("has area");
    let space = Space::new(&surface, 0.06);
    let wrong = (0..space.len())
        .filter(|&v| space.is_inside(v) != surface.contains(space.centre(v)))
        .count();
    assert!(wrong * 200 < space.len(), "{wrong} of {}", space.len());
}
