// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests with a person and a machine built from voxels: which parts are soft, and that only shape and rig decide it.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::surface::shapes::cuboid;
use std::collections::BTreeMap;

/// A character before its anatomy is read: vertices, triangles, weights by bone, bones.
#[derive(Clone)]
struct Character {
    x: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    rows: Vec<Vec<(u32, f64)>>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
    elsewhere: Vec<Option<u32>>,
}

impl Character {
    fn anatomy(&self, kind: CharacterKind) -> Anatomy {
        let names = (0..self.heads.len()).map(|b| format!("b{b:03}")).collect();
        let parents = self.parents.clone();
        let skeleton = Skeleton::new(names, parents, self.heads.clone(), self.tails.clone())
            .and_then(|bones| bones.with_elsewhere(self.elsewhere.clone()))
            .unwrap();
        let rows = self.rows.iter().cloned();
        let weights = SkinWeights::from_rows(self.heads.len(), rows).unwrap();
        let surface = Surface::new(self.x.clone(), self.triangles.clone()).unwrap();
        Anatomy::new(&surface, &skeleton, &weights, kind, &Silent).unwrap()
    }

    fn flesh(&self) -> Vec<f64> {
        self.anatomy(CharacterKind::Automatic).flesh(None)
    }

    /// Returns the character with every point moved.
    fn map_points(&self, to: impl Fn(&Vec3) -> Vec3) -> Self {
        let all = |points: &[Vec3]| points.iter().map(&to).collect();
        Self {
            x: all(&self.x),
            heads: all(&self.heads),
            tails: all(&self.tails),
            ..self.clone()
        }
    }

    /// Returns the same mesh with only those bones that carry it, and the parents of the bones elsewhere.
    fn with_own_bones(&self) -> Self {
        let carries = |b: usize| self.rows.iter().flatten().any(|r| r.0 as usize == b);
        let (own, others): (Vec<usize>, Vec<usize>) =
            (0..self.heads.len()).partition(|&b| carries(b));
        let place = |b: usize| own.iter().position(|&o| o == b).map(|b| b as u32);
        let above = |b: usize| {
            let up = |b: &usize| self.parents[*b].map(|p| p as usize);
            std::iter::successors(up(&b), up).find_map(place)
        };
        let of = |ends: &[Vec3]| own.iter().map(|&b| ends[b]).collect();
        let row = |row: &Vec<(u32, f64)>| {
            let mine = row.iter();
            mine.map(|r| (place(r.0 as usize).unwrap(), r.1)).collect()
        };
        Self {
            rows: self.rows.iter().map(row).collect(),
            parents: own.iter().map(|&b| above(b)).collect(),
            heads: of(&self.heads),
            tails: of(&self.tails),
            elsewhere: others.iter().map(|&b| above(b)).collect(),
            ..self.clone()
        }
    }

    /// Adds another mesh on one bone.
    fn with_prop(mut self, half: f64, at: Vec3, bone: u32) -> Self {
        let cube = cuboid(Vec3::repeat(half));
        let base = self.x.len() as u32;
        self.x.extend(cube.vertices.iter().map(|x| x + at));
        self.rows
            .extend(cube.vertices.iter().map(|_| vec![(bone, 1.0)]));
        self.triangles
            .extend(cube.triangles.iter().map(|t| t.map(|v| v + base)));
        self
    }

    /// Returns the mean of a map over the skin that a bone mostly carries.
    fn mean_over_bone(&self, map: &[f64], bone: u32) -> f64 {
        let mine = |row: &[(u32, f64)]| row.iter().any(|r| r.0 == bone && r.1 > 0.7);
        let own: Vec<f64> = map
            .iter()
            .zip(&self.rows)
            .filter(|(_, row)| mine(row))
            .map(|(f, _)| *f)
            .collect();
        own.iter().sum::<f64>() / own.len() as f64
    }
}

/// Bones of the person, by number.
const HIPS: u32 = 0;
const HEAD: u32 = 3;
const HAND: u32 = 6;
const SHIN: u32 = 11;
const FOOT: u32 = 12;
const THIGH: u32 = 10;

/// Head, tail, radius and parent of a bone.
type BoneSpec = ([f64; 3], [f64; 3], f64, Option<u32>);

/// Returns the bones of a person who stands upright along z and looks along −y.
fn bones() -> Vec<BoneSpec> {
    let mut all = vec![
        ([0.0, 0.0, 0.95], [0.0, 0.0, 1.1], 0.17, None),
        ([0.0, 0.0, 1.1], [0.0, 0.0, 1.42], 0.17, Some(0)),
        ([0.0, 0.0, 1.5], [0.0, 0.0, 1.6], 0.06, Some(1)),
        ([0.0, 0.0, 1.66], [0.0, -0.02, 1.74], 0.11, Some(2)),
    ];
    for side in [1.0, -1.0] {
        let base = all.len() as u32;
        all.extend([
            (
                [0.2 * side, 0.0, 1.4],
                [0.45 * side, 0.0, 1.4],
                0.06,
                Some(1),
            ),
            (
                [0.45 * side, 0.0, 1.4],
                [0.7 * side, 0.0, 1.4],
                0.05,
                Some(base),
            ),
            (
                [0.7 * side, 0.0, 1.4],
                [0.82 * side, 0.0, 1.4],
                0.05,
                Some(base + 1),
            ),
        ]);
    }
    for side in [1.0, -1.0] {
        let base = all.len() as u32;
        all.extend([
            (
                [0.1 * side, 0.0, 0.88],
                [0.11 * side, 0.0, 0.5],
                0.09,
                Some(0),
            ),
            (
                [0.11 * side, 0.0, 0.5],
                [0.11 * side, 0.0, 0.1],
                0.06,
                Some(base),
            ),
            (
                [0.11 * side, 0.0, 0.06],
                [0.11 * side, -0.18, 0.05],
                0.05,
                Some(base + 1),
            ),
        ]);
    }
    all
}

fn segment_distance(p: &Vec3, a: &Vec3, b: &Vec3) -> f64 {
    let axis = b - a;
    let s = (p - a).dot(&axis) / axis.norm_squared();
    (p - a - axis * s.clamp(0.0, 1.0)).norm()
}

/// Builds the person: the smoothed skin of all voxels within the capsules of its bones and a belly, with weights by
/// distance.
fn person() -> Character {
    const VOXEL_SIZE: f64 = 0.03;
    let list: Vec<(Vec3, Vec3, f64, Option<u32>)> = bones()
        .into_iter()
        .map(|(a, b, r, p)| (Vec3::from(a), Vec3::from(b), r, p))
        .collect();
    let belly = Vec3::new(0.0, -0.1, 1.08);
    let inside = |cell: [i32; 3]| {
        // Cells lie evenly about the middle.
        let p = Vec3::from_fn(|k, _| (f64::from(cell[k]) + 0.5) * VOXEL_SIZE);
        (p - belly).norm() < 0.14
            || list
                .iter()
                .any(|(a, b, r, _)| segment_distance(&p, a, b) < *r)
    };
    let (mut x, triangles) = voxel_skin(inside, VOXEL_SIZE);
    for _ in 0..4 {
        smooth(&mut x, &triangles);
    }
    let row = |p: &Vec3| {
        let near: Vec<f64> = list
            .iter()
            .map(|(a, b, r, _)| segment_distance(p, a, b) / r.sqrt())
            .collect();
        let least = near.iter().copied().fold(f64::INFINITY, f64::min);
        let close = (0u32..).zip(&near).filter(|(_, d)| **d < 1.6 * least);
        close.map(|(b, d)| (b, (least / d).powi(6))).collect()
    };
    Character {
        rows: x.iter().map(row).collect(),
        parents: list.iter().map(|b| b.3).collect(),
        heads: list.iter().map(|b| b.0).collect(),
        tails: list.iter().map(|b| b.1).collect(),
        elsewhere: Vec::new(),
        triangles,
        x,
    }
}

/// Builds the outer faces of the voxels of a size that are inside.
fn voxel_skin(inside: impl Fn([i32; 3]) -> bool, size: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut number: BTreeMap<[i32; 3], u32> = BTreeMap::new();
    let (mut x, mut triangles) = (Vec::new(), Vec::new());
    let cells =
        (-32..32).flat_map(|i| (-14..12).flat_map(move |j| (-2..66).map(move |k| [i, j, k])));
    for cell in cells.filter(|&cell| inside(cell)) {
        for axis in 0..3 {
            for way in [0, 1] {
                let mut next = cell;
                next[axis] += 2 * way - 1;
                if inside(next) {
                    continue;
                }
                let corner = |u: i32, v: i32| {
                    let mut c = cell;
                    c[axis] += way;
                    c[(axis + 1) % 3] += u;
                    c[(axis + 2) % 3] += v;
                    c
                };
                let mut quad = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                if way == 0 {
                    quad.reverse();
                }
                let quad = quad.map(|c| {
                    *number.entry(c).or_insert_with(|| {
                        x.push(Vec3::from_fn(|k, _| f64::from(c[k]) * size));
                        x.len() as u32 - 1
                    })
                });
                triangles.push([quad[0], quad[1], quad[2]]);
                triangles.push([quad[0], quad[2], quad[3]]);
            }
        }
    }
    (x, triangles)
}

/// Moves every vertex halfway to the mean of its neighbours.
fn smooth(x: &mut [Vec3], triangles: &[[u32; 3]]) {
    let mut sum = vec![(Vec3::zeros(), 0.0); x.len()];
    for t in triangles {
        for k in 0..3 {
            let (a, b) = (t[k] as usize, t[(k + 1) % 3] as usize);
            sum[a] = (sum[a].0 + x[b], sum[a].1 + 1.0);
            sum[b] = (sum[b].0 + x[a], sum[b].1 + 1.0);
        }
    }
    for (x, (s, n)) in x.iter_mut().zip(sum) {
        *x = *x * 0.5 + s / n * 0.5;
    }
}

/// Asserts that two maps agree on average, and nowhere differ by much.
fn assert_maps_agree(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b).abs()).collect();
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    let most = apart.iter().copied().fold(0.0, f64::max);
    assert!(mean < 0.005 && most < 0.08, "mean {mean}, most {most}");
}

/// In a person the head, hands, feet and shins are hard, and the belly is soft.
#[test]
fn flesh_map_of_person() {
    let person = person();
    let anatomy = person.anatomy(CharacterKind::Automatic);
    let f = anatomy.flesh(None);
    for bone in [HEAD, HAND, FOOT] {
        assert!(
            person.mean_over_bone(&f, bone) < 0.1,
            "{bone}: {}",
            person.mean_over_bone(&f, bone)
        );
    }
    assert!(person.mean_over_bone(&f, SHIN) < 0.2 && person.mean_over_bone(&f, THIGH) > 0.2);
    let stance = anatomy.stance.as_ref().unwrap().0;
    assert!(stance.upright && stance.ventral.y < -0.9 && stance.axis().z > 0.9);
    let at = |p: Vec3| {
        let apart = |v: &usize| (person.x[*v] - p).norm();
        let all = 0..f.len();
        f[all.min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap()]
    };
    let (belly, back) = (
        at(Vec3::new(0.0, -0.24, 1.08)),
        at(Vec3::new(0.0, 0.17, 1.2)),
    );
    assert!(belly > 0.8 && back < 0.75 * belly, "{belly} {back}");
    assert!(!anatomy.is_machine());
}

/// The flesh map stays the same if the person is turned, mirrored, scaled or renumbered.
#[test]
fn flesh_map_is_invariant() {
    let person = person();
    let f = person.flesh();
    let turn = nalgebra::Rotation3::from_euler_angles(0.4, -1.1, 2.3);
    assert_maps_agree(
        &f,
        &person
            .map_points(|x| turn * x + Vec3::new(3.0, -8.0, 1.0))
            .flesh(),
    );
    assert_maps_agree(&f, &person.map_points(|x| x * 0.01).flesh());
    let mut mirrored = person.map_points(|x| Vec3::new(-x.x, x.y, x.z));
    mirrored.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    assert_maps_agree(&f, &mirrored.flesh());

    // Vertices, triangles and bones in another order.
    let (n, b) = (person.x.len(), person.heads.len());
    let mut other = person.clone();
    let vertex = |v: u32| (v as usize * 7919 % n) as u32;
    assert_ne!(n % 7919, 0);
    for v in 0..n {
        let to = vertex(v as u32) as usize;
        other.x[to] = person.x[v];
        let bone = |&(b0, w): &(u32, f64)| (b as u32 - 1 - b0, w);
        other.rows[to] = person.rows[v].iter().map(bone).collect();
    }
    other.triangles = person
        .triangles
        .iter()
        .rev()
        .map(|t| t.map(vertex))
        .collect();
    other.heads.reverse();
    other.tails.reverse();
    let parent = |p: &Option<u32>| p.map(|p| b as u32 - 1 - p);
    other.parents = person.parents.iter().rev().map(parent).collect();
    let renumbered = other.flesh();
    let back: Vec<f64> = (0..n as u32)
        .map(|v| renumbered[vertex(v) as usize])
        .collect();
    assert_maps_agree(&f, &back);
    assert_eq!(person.flesh(), f, "the same input gives the same bits");
}

/// Loose vertices and props do not change the flesh map of the person.
#[test]
fn flesh_map_ignores_props() {
    let person = person();
    let (f, size) = (
        person.flesh(),
        person.anatomy(CharacterKind::Automatic).size(),
    );
    let mut loose = person.clone();
    loose.x.push(Vec3::new(50.0, 0.0, 0.0));
    loose.rows.push(vec![(HIPS, 1.0)]);
    let anatomy = loose.anatomy(CharacterKind::Automatic);
    assert_eq!(anatomy.flesh(None)[..f.len()], f[..]);
    assert_eq!((anatomy.flesh(None)[f.len()], anatomy.size()), (0.0, size));
    // A cube far away, as large as the person, and a dome around everything.
    for (half, at) in [(0.5, 30.0), (100.0, 0.0)] {
        let prop = person
            .clone()
            .with_prop(half, Vec3::new(at, 0.0, 0.0), HIPS);
        let anatomy = prop.anatomy(CharacterKind::Automatic);
        assert!(
            (anatomy.size() / size - 1.0).abs() < 1e-9,
            "{}",
            anatomy.size()
        );
        assert!(anatomy.flesh(None)[f.len()..].iter().all(|f| *f == 0.0));
        if at > 0.0 {
            assert_maps_agree(&anatomy.flesh(None)[..f.len()], &f);
        }
    }
    // A tool in the hand counts for the size, and changes hardly anything else.
    let tool = person
        .clone()
        .with_prop(0.05, Vec3::new(0.88, -0.1, 1.4), HAND);
    let own = &tool.flesh()[..f.len()];
    let mean = own.iter().zip(&f).map(|(a, b)| (a - b).abs()).sum::<f64>() / f.len() as f64;
    assert!(mean < 0.03, "{mean}");
}

/// The kind of character decides which parts may be soft.
#[test]
fn kind_limits_softness() {
    let person = person();
    let flesh = |kind| person.anatomy(kind).flesh(None);
    assert_eq!(
        flesh(CharacterKind::Human),
        flesh(CharacterKind::Automatic),
        "it is told to be one"
    );
    let (toon, human) = (flesh(CharacterKind::Toon), flesh(CharacterKind::Human));
    assert!(person.mean_over_bone(&toon, HEAD) > 0.2 && person.mean_over_bone(&human, HEAD) < 0.1);
    assert!(person.mean_over_bone(&toon, SHIN) > 2.0 * person.mean_over_bone(&human, SHIN));
    assert!(
        flesh(CharacterKind::Robot)
            .iter()
            .all(|f| *f == map::HARD_PART_FLESH)
    );
    let (insect, animal) = (flesh(CharacterKind::Insect), flesh(CharacterKind::Animal));
    assert!(insect.iter().sum::<f64>() < animal.iter().sum::<f64>());
}

/// A body of rigid pieces counts as a machine unless the user chooses another kind.
#[test]
fn rigid_pieces_are_machine() {
    let person = person();
    let mut robot = person.clone();
    (robot.x, robot.triangles, robot.rows) = Default::default();
    for bone in 0..person.heads.len() {
        let half = 0.45 * (person.tails[bone] - person.heads[bone]).norm();
        let at = (person.heads[bone] + person.tails[bone]) * 0.5;
        robot = robot.with_prop(half, at, bone as u32);
    }
    let anatomy = robot.anatomy(CharacterKind::Automatic);
    assert!(anatomy.is_machine());
    assert!(
        anatomy
            .flesh(None)
            .iter()
            .all(|f| *f == map::HARD_PART_FLESH)
    );
    let toon = robot.anatomy(CharacterKind::Toon);
    assert!(!toon.is_machine() && toon.flesh(None).iter().any(|f| *f > 0.5));
}

/// Belly, buttocks and other parts lie at their anatomical places, and paired parts mirror each other.
#[test]
fn parts_are_placed_and_mirrored() {
    let person = person();
    let anatomy = person.anatomy(CharacterKind::Human);
    let parts = anatomy.parts();
    let part = |name: PartName| parts.iter().find(|p| p.name == name).unwrap();
    let belly = &part(PartName::Belly).patches[0].0;
    assert!(belly.y < -0.15 && (0.9..1.3).contains(&belly.z), "{belly}");
    let behind = &part(PartName::Buttocks).patches[0].0;
    assert!(behind.y > 0.0 && (0.7..1.1).contains(&behind.z), "{behind}");
    for name in [PartName::Chest, PartName::Buttocks, PartName::Cheeks] {
        let [(a, r), (b, s)] = part(name).patches[..] else {
            panic!("{name:?} comes in pairs");
        };
        let image = Vec3::new(-a.x, a.y, a.z);
        assert!(
            r == s && (image - b).norm() < 0.04 && a.x * b.x < 0.0,
            "{a} {b}"
        );
        let most = part(name).share.iter().copied().fold(0.0, f64::max);
        assert!(most > 0.8, "{name:?} {most}");
    }
}

/// A tube without limbs has a flesh map, and skin that no bone carries has a map of zeros.
#[test]
fn flesh_map_without_limbs() {
    let cube = cuboid(Vec3::new(0.2, 0.2, 1.0));
    let one = |rows: Vec<Vec<(u32, f64)>>| Character {
        x: cube.vertices.clone(),
        triangles: cube.triangles.clone(),
        rows,
        parents: vec![None],
        heads: vec![Vec3::zeros()],
        tails: vec![Vec3::z()],
        elsewhere: Vec::new(),
    };
    let n = cube.vertices.len();
    let carried = one(vec![vec![(0, 1.0)]; n]).flesh();
    assert!(
        carried.iter().all(|f| (0.0..=1.0).contains(f) && *f > 0.5),
        "{carried:?}"
    );
    let none = one(vec![Vec::new(); n]);
    assert!(none.flesh().iter().all(|f| *f == 0.0));
    assert!(none.anatomy(CharacterKind::Automatic).parts().is_empty());
}

/// A mesh on one bone of many is a piece of a machine; on the only bone it is a ball of flesh.
#[test]
fn single_bone_mesh_kind() {
    let mut piece = person();
    piece.rows = vec![vec![(HEAD, 1.0)]; piece.x.len()];
    assert!(piece.anatomy(CharacterKind::Automatic).is_machine());
    assert!(!piece.anatomy(CharacterKind::Toon).is_machine());
    assert!(
        piece
            .with_own_bones()
            .anatomy(CharacterKind::Automatic)
            .is_machine()
    );
    let head = HEAD as usize;
    piece.heads = vec![piece.heads[head]];
    piece.tails = vec![piece.tails[head]];
    piece.parents = vec![None];
    piece.rows = vec![vec![(0, 1.0)]; piece.x.len()];
    assert!(!piece.anatomy(CharacterKind::Automatic).is_machine());
}

/// A leg that is a separate mesh has the same flesh as in the whole person: it is a limb and not a trunk.
#[test]
fn separate_leg_is_limb() {
    let person = person();
    let mine = |v: u32| {
        let on = |r: &&(u32, f64)| [THIGH, SHIN, FOOT].contains(&r.0);
        person.rows[v as usize]
            .iter()
            .filter(on)
            .map(|r| r.1)
            .sum::<f64>()
            > 0.99
    };
    let mut leg = person.clone();
    leg.triangles.retain(|t| t.iter().all(|&v| mine(v)));
    for row in &mut leg.rows {
        row.retain(|r| [THIGH, SHIN, FOOT].contains(&r.0));
    }
    let f = leg.flesh();
    let [thigh, shin, foot] = [THIGH, SHIN, FOOT].map(|bone| {
        let own: Vec<f64> = (0..f.len())
            .filter(|&v| mine(v as u32) && leg.rows[v].iter().any(|r| r.0 == bone && r.1 > 0.7))
            .map(|v| f[v])
            .collect();
        own.iter().sum::<f64>() / own.len() as f64
    });
    assert!(
        foot < 0.1 && shin < 0.2 * thigh && thigh > 0.3,
        "{thigh} {shin} {foot}"
    );
    let alone = leg.with_own_bones();
    assert_eq!(
        (alone.heads.len(), alone.elsewhere.len()),
        (3, leg.heads.len() - 3)
    );
    let alone = alone.flesh();
    let most = f
        .iter()
        .zip(&alone)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(most < 0.05, "{most}");
}

/// Skin that is painted hard loses its flesh, and the rest of the map does not change.
#[test]
fn painted_hardness_removes_flesh() {
    let person = person();
    let anatomy = person.anatomy(CharacterKind::Automatic);
    let f = anatomy.flesh(None);
    let n = f.len();
    assert_eq!(anatomy.flesh(Some(&vec![0.0; n])), f);
    assert!(
        anatomy
            .flesh(Some(&vec![1.0; n]))
            .iter()
            .all(|f| *f == map::HARD_PART_FLESH)
    );
    // Armour around the hips.
    let hard: Vec<f64> = person
        .rows
        .iter()
        .map(|row| f64::from(row.iter().any(|r| r.0 == HIPS && r.1 > 0.7)))
        .collect();
    let armoured = anatomy.flesh(Some(&hard));
    assert!(person.mean_over_bone(&f, HIPS) > 0.4 && person.mean_over_bone(&armoured, HIPS) < 0.1);
    assert!(
        (person.mean_over_bone(&armoured, SHIN) - person.mean_over_bone(&f, SHIN)).abs() < 1e-3
    );
    assert!(armoured.iter().zip(&f).all(|(a, b)| *a <= b + 1e-12));
    let half: Vec<f64> = hard.iter().map(|h| 0.5 * h).collect();
    let between = person.mean_over_bone(&anatomy.flesh(Some(&half)), HIPS);
    assert!(
        person.mean_over_bone(&armoured, HIPS) < between
            && between < person.mean_over_bone(&f, HIPS)
    );
}

/// Arms and legs of the person are two segments each, with their joints, thickness, sides and the way they bend, under any motion.
#[test]
fn limb_segments_of_person() {
    let person = person();
    let turn = nalgebra::Rotation3::from_euler_angles(0.4, -1.1, 2.3);
    let shift = Vec3::new(3.0, -8.0, 1.0);
    for moved in [false, true] {
        let place = |x: Vec3| if moved { turn * x + shift } else { x };
        let anatomy = person
            .map_points(|x| place(*x))
            .anatomy(CharacterKind::Automatic);
        let trunk = anatomy.trunk_frame().unwrap();
        assert!(trunk.upright);
        let ahead = if moved { turn * -Vec3::y() } else { -Vec3::y() };
        assert!(trunk.ahead().dot(&ahead) > 0.95);
        let limbs = anatomy.limb_segments();
        assert_eq!(limbs.len(), 4);
        for limb in limbs {
            let side = if limb.left { 1.0 } else { -1.0 };
            let (joints, radii) = match limb.at_chest {
                true => (
                    [[0.2, 0.0, 1.4], [0.45, 0.0, 1.4], [0.7, 0.0, 1.4]],
                    [0.06, 0.05],
                ),
                false => (
                    [[0.1, 0.0, 0.88], [0.11, 0.0, 0.5], [0.11, 0.0, 0.1]],
                    [0.09, 0.06],
                ),
            };
            for (found, joint) in limb.joints.iter().zip(joints) {
                let wanted = place(Vec3::new(joint[0] * side, joint[1], joint[2]));
                assert!((found - wanted).norm() < 0.08, "{found} {wanted}");
            }
            for (found, radius) in limb.radii.iter().zip(radii) {
                assert!((found / radius - 1.0).abs() < 0.25, "{found} {radius}");
            }
            let bend = if limb.at_chest { ahead } else { -ahead };
            assert!(limb.flexor.dot(&bend) > 0.9);
        }
    }
}
