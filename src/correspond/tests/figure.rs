// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures made from numbers, and their bodies, for tests of correspondences.

use super::*;
/// Name, head, tail, radius and parent of a bone.
pub(super) type BoneSpec = (&'static str, [f64; 3], [f64; 3], f64, Option<u32>);

/// A person who looks along −y, with the arms held out. Its left is at +x.
pub(super) const PERSON: [BoneSpec; 17] = [
    ("Hips", [0.0, 0.0, 0.9], [0.0, 0.0, 1.1], 0.15, None),
    ("Spine", [0.0, 0.0, 1.1], [0.0, 0.0, 1.4], 0.15, Some(0)),
    ("Head", [0.0, 0.0, 1.5], [0.0, -0.05, 1.75], 0.12, Some(1)),
    (
        "UpperArm.L",
        [0.18, 0.0, 1.38],
        [0.45, 0.0, 1.38],
        0.07,
        Some(1),
    ),
    (
        "Forearm.L",
        [0.45, 0.0, 1.38],
        [0.7, -0.02, 1.38],
        0.06,
        Some(3),
    ),
    (
        "Hand.L",
        [0.7, -0.02, 1.38],
        [0.83, -0.04, 1.38],
        0.06,
        Some(4),
    ),
    (
        "UpperArm.R",
        [-0.18, 0.0, 1.38],
        [-0.45, 0.0, 1.38],
        0.07,
        Some(1),
    ),
    (
        "Forearm.R",
        [-0.45, 0.0, 1.38],
        [-0.7, -0.02, 1.38],
        0.06,
        Some(6),
    ),
    (
        "Hand.R",
        [-0.7, -0.02, 1.38],
        [-0.83, -0.04, 1.38],
        0.06,
        Some(7),
    ),
    (
        "Thigh.L",
        [0.14, 0.0, 0.9],
        [0.2, -0.02, 0.5],
        0.09,
        Some(0),
    ),
    (
        "Shin.L",
        [0.2, -0.02, 0.5],
        [0.24, 0.02, 0.12],
        0.07,
        Some(9),
    ),
    (
        "Foot.L",
        [0.24, 0.02, 0.12],
        [0.25, -0.16, 0.07],
        0.06,
        Some(10),
    ),
    (
        "Thigh.R",
        [-0.14, 0.0, 0.9],
        [-0.2, -0.02, 0.5],
        0.09,
        Some(0),
    ),
    (
        "Shin.R",
        [-0.2, -0.02, 0.5],
        [-0.24, 0.02, 0.12],
        0.07,
        Some(12),
    ),
    (
        "Foot.R",
        [-0.24, 0.02, 0.12],
        [-0.25, -0.16, 0.07],
        0.06,
        Some(13),
    ),
    // A tail tells front from back, and the root leads no skin.
    ("Tail", [0.0, 0.1, 0.95], [0.0, 0.5, 0.9], 0.07, Some(0)),
    ("Root", [0.0, 0.0, 0.0], [0.0, 0.0, 0.1], 0.0, None),
];

/// A character before it has flesh.
#[derive(Clone)]
pub(super) struct Figure {
    pub(super) names: Vec<String>,
    pub(super) parents: Vec<Option<u32>>,
    pub(super) heads: Vec<Vec3>,
    pub(super) tails: Vec<Vec3>,
    pub(super) vertices: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) rows: Vec<Vec<(u32, f64)>>,
}

impl Figure {
    pub(super) fn person() -> Self {
        const EDGE: f64 = 0.04;
        let low = Vec3::new(-1.0, -0.32, -0.08);
        let nodes = [51, 26, 51];
        let at = |n: usize| {
            let [x, y, z] = [
                n % nodes[0],
                n / nodes[0] % nodes[1],
                n / nodes[0] / nodes[1],
            ];
            low + Vec3::new(x as f64, y as f64, z as f64) * EDGE
        };
        let values: Vec<f64> = (0..nodes.iter().product())
            .map(|n| nearness(&at(n)).into_iter().fold(f64::INFINITY, f64::min))
            .collect();
        let (vertices, triangles) = marching::tetrahedra(&values, nodes);
        let vertices: Vec<Vec3> = vertices.iter().map(|x| low + x * EDGE).collect();
        let row = |x: &Vec3| {
            let all = nearness(x);
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let weight = |d: f64| (1.0 - (d - least) / 0.06).max(0.0);
            let row = (0u32..).zip(all.iter().map(|&d| weight(d)));
            row.filter(|r| r.1 > 0.0).collect()
        };
        Self {
            names: PERSON.iter().map(|b| b.0.to_owned()).collect(),
            parents: PERSON
                .iter()
                .map(|b| b.4.or((b.0 == "Hips").then_some(16)))
                .collect(),
            heads: PERSON.iter().map(|b| b.1.into()).collect(),
            tails: PERSON.iter().map(|b| b.2.into()).collect(),
            rows: vertices.iter().map(row).collect(),
            vertices,
            triangles,
        }
    }

    pub(super) fn map_points(&self, to: impl Fn(&Vec3) -> Vec3) -> Self {
        let all = |points: &[Vec3]| points.iter().map(&to).collect();
        Self {
            vertices: all(&self.vertices),
            heads: all(&self.heads),
            tails: all(&self.tails),
            ..self.clone()
        }
    }

    /// Returns the figure with its bones in the reverse order, under other names.
    pub(super) fn renumbered(&self) -> Self {
        let n = self.names.len();
        let back = |b: u32| (n - 1) as u32 - b;
        let mut other = self.clone();
        other.names = (0..n).map(|b| format!("b{b:02}")).collect();
        other.parents.iter_mut().for_each(|p| *p = p.map(back));
        other
            .rows
            .iter_mut()
            .flatten()
            .for_each(|r| r.0 = back(r.0));
        other.parents.reverse();
        other.heads.reverse();
        other.tails.reverse();
        other
    }

    pub(super) fn skeleton(&self) -> Arc<Skeleton> {
        let (names, parents) = (self.names.clone(), self.parents.clone());
        let skeleton = Skeleton::new(names, parents, self.heads.clone(), self.tails.clone());
        Arc::new(skeleton.unwrap())
    }

    /// Builds the body, in a lattice of its own or in a given one.
    pub(super) fn body(&self, lattice: Option<Arc<Lattice>>, young: f64) -> Arc<Body> {
        let surface = Surface::new(self.vertices.clone(), self.triangles.clone()).unwrap();
        let (surface, skeleton) = (Arc::new(surface), self.skeleton());
        let rows = self.rows.iter().cloned();
        let weights = SkinWeights::from_rows(self.names.len(), rows).unwrap();
        let settings = EncloseSettings {
            cells_across: 6.0,
            ..EncloseSettings::default()
        };
        let lattice = lattice.unwrap_or_else(|| {
            let made = Lattice::enclose(&surface, &skeleton, Some(&weights), settings, &Silent);
            Arc::new(made.unwrap())
        });
        let settings = BodySettings {
            region_weights: Some(weights),
            ..BodySettings::default()
        };
        let material = Material::new(young, 0.4, 1000.0).unwrap();
        Arc::new(Body::new(&surface, &skeleton, &lattice, material, &settings, &Silent).unwrap())
    }
}

/// Returns the distance of a point from each bone's capsule; the root has none.
pub(super) fn nearness(x: &Vec3) -> Vec<f64> {
    let capsules = PERSON.iter().filter(|bone| bone.3 > 0.0);
    capsules
        .map(|bone| {
            let (near, _) = closest_on_segment(bone.1.into(), bone.2.into(), *x);
            (x - near).norm() - bone.3
        })
        .collect()
}

pub(super) fn person() -> &'static (Figure, Arc<Body>) {
    static PERSON: OnceLock<(Figure, Arc<Body>)> = OnceLock::new();
    PERSON.get_or_init(|| {
        let figure = Figure::person();
        let body = figure.body(None, 2e4);
        (figure, body)
    })
}

/// A turn about a skew axis, as large as s, and away.
pub(super) struct Moved {
    pub(super) scale: f64,
    pub(super) turn: Mat3,
    pub(super) shift: Vec3,
}

impl Moved {
    pub(super) fn new(scale: f64, turn: Vec3, shift: Vec3) -> Self {
        let turn = nalgebra::Rotation3::new(turn).into_inner();
        Self { scale, turn, shift }
    }

    pub(super) fn apply(&self, x: &Vec3) -> Vec3 {
        self.turn * x * self.scale + self.shift
    }

    /// Returns a body moved with its lattice.
    pub(super) fn body(&self, figure: &Figure, body: &Body, young: f64) -> Arc<Body> {
        let lattice = body.lattice();
        let x = lattice.vertices().iter().map(|x| self.apply(x)).collect();
        let moved = Lattice::with_bones(x, lattice.cells().to_vec(), lattice.bones().clone());
        let moved = Arc::new(moved.unwrap());
        figure
            .map_points(|x| self.apply(x))
            .body(Some(moved), young)
    }
}

/// Returns the person on a lattice that is rebuilt from its cells, as those of moved bodies are. This drops how cells share the flesh where they
/// overlap.
pub(super) fn rebuilt_person() -> (&'static Figure, Arc<Body>) {
    let (figure, body) = person();
    let still = Moved::new(1.0, Vec3::zeros(), Vec3::zeros());
    (figure, still.body(figure, body, 2e4))
}

pub(super) fn link(
    source: &Arc<Body>,
    target: &Arc<Body>,
    settings: &CorrespondenceSettings,
) -> Correspondence {
    Correspondence::new(source, target, settings, &Silent).unwrap()
}

pub(super) fn without_names() -> CorrespondenceSettings {
    CorrespondenceSettings {
        names: false,
        ..CorrespondenceSettings::default()
    }
}
