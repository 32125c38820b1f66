// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tetrahedra from bones and a surface: points, Delaunay, choice of cells, improvement, Steiner points.

use super::balls::Ball;
use super::bones::BoneSegment;
use super::delaunay::delaunay;
use super::fill::{FillPoints, OUTWARD_OFFSET, SizeField};
use super::improve::Climb;
use super::segments::{ProtectedSkeleton, protect};
use super::{LatticeError, keep};
use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::tetrahedron::{faces, height, quality, sort_vertices, volume};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::surface::{DistanceGrid, QUANTUM, Surface};
use std::collections::BTreeSet;

/// Dihedral angle aimed at, and the one below which a Steiner point is tried, radians.
const TARGET_ANGLE: f64 = 30.0 * std::f64::consts::PI / 180.0;
const SLIVER_ANGLE: f64 = 15.0 * std::f64::consts::PI / 180.0;
/// Distance of distinct joints, as a share of `h`, below which slivers between them are unavoidable.
const MIN_JOINT_DISTANCE: f64 = 0.05;
/// Height of a tetrahedron below which it is flat and dropped.
///
/// Points are rounded by up to half a quantum along each axis. Four points in a plane, such as the ends of a bone in
/// either leg, leave that plane once a character is turned. Flat tetrahedra hold no flesh and cannot be improved by
/// points.
const MIN_HEIGHT: f64 = 4.0 * QUANTUM;

/// Tetrahedralisation of the whole box, and the cells chosen from it.
pub(super) struct CandidateMesh {
    /// Skeleton whose points come first. Each mesh has its own: later rounds may cut bones, which renumbers all points,
    /// and then be discarded.
    pub skeleton: ProtectedSkeleton,
    pub x: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    pub keep: Vec<bool>,
    /// Worst quality of a kept tetrahedron.
    pub worst: f64,
}

/// State of the construction of one lattice.
pub(super) struct Builder<'a> {
    surface: &'a Surface,
    skeleton: ProtectedSkeleton,
    size: SizeField,
    grid: DistanceGrid,
    points: FillPoints,
    h: f64,
    /// Whether only the half at x ≥ 0 is built.
    halved: bool,
}

impl<'a> Builder<'a> {
    /// Collects the points around segments of bones and around `faces`, which must become faces of cells.
    pub fn new(
        surface: &'a Surface,
        segments: &[BoneSegment],
        faces: &[[Vec3; 3]],
        h: f64,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        Self::from_skeleton(
            surface,
            protect(segments, faces, h, false),
            h,
            false,
            progress,
        )
    }

    /// Collects the points at x ≥ 0 around segments of bones there, for a mirrored lattice.
    pub fn new_half(
        surface: &'a Surface,
        segments: &[BoneSegment],
        h: f64,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        Self::from_skeleton(surface, protect(segments, &[], h, true), h, true, progress)
    }

    fn from_skeleton(
        surface: &'a Surface,
        skeleton: ProtectedSkeleton,
        h: f64,
        halved: bool,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        let crowded = |ball: &Ball| skeleton.points.iter().any(|p| ball.contains(*p));
        let faces = (0..).zip(&skeleton.face_balls);
        let crowded: Vec<usize> = (faces.filter(|(_, b)| crowded(b)))
            .map(|(i, _)| i)
            .collect();
        if !crowded.is_empty() {
            return Err(LatticeError::Joined(crowded));
        }
        let corners: [Vec3; 2] = surface.bounds().into();
        let (lo, hi) = aabb::bounds(skeleton.points.iter().chain(&corners));
        let step_bound = Vec3::repeat(2.2 * h);
        let (mut lo, mut hi) = (lo - step_bound, hi + step_bound);
        if halved {
            hi.x = hi.x.max(-lo.x);
            lo.x = -hi.x;
        }
        report_progress(progress, 0.02, "measuring distances")?;
        let spacing = (h / 5.0).max((hi - lo).max() / 200.0);
        let rim = Vec3::repeat(0.4 * h);
        let part = StageProgress {
            whole: progress,
            from: 0.02,
            to: 0.15,
        };
        let grid = DistanceGrid::with_bounds(surface, lo - rim, hi + rim, spacing, &part)?;
        let size = SizeField::new(&skeleton, h);
        report_progress(progress, 0.15, "filling with points")?;
        if halved {
            lo.x = 0.0;
        }
        let points = FillPoints::fill(&skeleton, &size, &grid, (lo, hi), halved);
        Ok(Self {
            surface,
            skeleton,
            size,
            grid,
            points,
            h,
            halved,
        })
    }

    /// Moves the points so that cells between them are even.
    pub fn fill(&mut self, progress: &dyn Progress) -> Result<(), LatticeError> {
        report_progress(progress, 0.2, "relaxing the points")?;
        self.points
            .relax(&self.skeleton, &self.size, 6)
            .map_err(LatticeError::Failed)?;
        self.points.warp(&self.skeleton, &self.size, &self.grid);
        Ok(())
    }

    /// Runs up to five rounds of Delaunay, selection and improvement, with Steiner points at remaining slivers. Returns
    /// the best round.
    pub fn tetrahedralise(
        &mut self,
        progress: &dyn Progress,
    ) -> Result<CandidateMesh, LatticeError> {
        let mut best: Option<CandidateMesh> = None;
        for round in 0..5 {
            let part = StageProgress {
                whole: progress,
                from: 0.35 + 0.07 * f64::from(round),
                to: 0.42 + 0.07 * f64::from(round),
            };
            report_progress(&part, 0.0, "building cells")?;
            let tets = self.build_conforming()?;
            let mesh = self.improve(tets, &part)?;
            let slivers: Vec<usize> = (0..mesh.tets.len())
                .filter(|&t| mesh.keep[t] && quality(&corners(&mesh, t)) < SLIVER_ANGLE)
                .collect();
            let steiner = self.steiner_points(&mesh, &slivers);
            if best.as_ref().is_none_or(|b| mesh.worst > b.worst) {
                best = Some(mesh);
            }
            if steiner.is_empty() || round == 4 {
                break;
            }
            if let Some(b) = &best {
                // Continue from the positions after the climb.
                let n = self.points.x.len();
                if b.x.len() == n {
                    self.points.x.copy_from_slice(&b.x);
                }
            }
            self.points.insert(&steiner);
            let all: Vec<usize> = (0..self.skeleton.edges.len()).collect();
            self.points.push_out(&self.skeleton, &all, 1.08);
        }
        best.ok_or_else(|| LatticeError::Failed("no cells".into()))
    }

    /// Builds a Delaunay tetrahedralisation with every sub-segment as an edge and every required face as a face.
    fn build_conforming(&mut self) -> Result<Vec<[u32; 4]>, LatticeError> {
        for attempt in 0..8 {
            let tets: Vec<[u32; 4]> = delaunay(&self.points.x)
                .map_err(|e| LatticeError::Failed(e.to_string()))?
                .into_iter()
                .filter(|t| {
                    let x = t.map(|v| self.points.x[v as usize]);
                    volume(&x) > 1e-9 * self.size.smallest.powi(3) && height(&x) > MIN_HEIGHT
                })
                .collect();
            let fixed = self.points.fixed as u32;
            let mut edges = BTreeSet::new();
            for t in &tets {
                for i in 0..4 {
                    for j in 0..4 {
                        if t[i] < t[j] && t[j] < fixed {
                            edges.insert((t[i], t[j]));
                        }
                    }
                }
            }
            let faces = self.missing_faces(&tets);
            let missing: Vec<usize> = (0..self.skeleton.edges.len())
                .filter(|&e| {
                    let (a, b, _) = self.skeleton.edges[e];
                    !edges.contains(&(a.min(b), a.max(b)))
                })
                .collect();
            if missing.is_empty() {
                match faces {
                    faces if faces.is_empty() => return Ok(tets),
                    faces if attempt >= 4 => return Err(LatticeError::Joined(faces)),
                    _ => {}
                }
            }
            if attempt < 4 {
                self.points.push_out(&self.skeleton, &missing, 1.35);
            } else {
                self.bisect_edges(&missing);
            }
        }
        Err(LatticeError::Failed(
            "its bones lie too close to one another".into(),
        ))
    }

    /// Returns the required faces that no tetrahedron has.
    fn missing_faces(&self, tets: &[[u32; 4]]) -> Vec<usize> {
        let wanted: BTreeSet<[u32; 3]> = self
            .skeleton
            .faces
            .iter()
            .map(|&f| sort_vertices(f))
            .collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let there: BTreeSet<[u32; 3]> = (tets.iter().flat_map(faces))
            .filter(|f| wanted.contains(f))
            .collect();
        let numbered = (0..).zip(&self.skeleton.faces);
        let missing = numbered.filter(|(_, f)| !there.contains(&sort_vertices(**f)));
        missing.map(|(i, _)| i).collect()
    }

    /// Bisects sub-segments: bones that nearly coincide have no empty balls otherwise.
    fn bisect_edges(&mut self, edges: &[usize]) {
        for &e in edges {
            let (a, b, s) = self.skeleton.edges[e];
            let x = (self.skeleton.points[a as usize] + self.skeleton.points[b as usize]) / 2.0;
            self.points.x.insert(self.points.fixed, x);
            self.points.fixed += 1;
            let new = self.skeleton.insert(x, a, b);
            self.skeleton.edges[e] = (a, new, s);
            self.skeleton.edges.push((new, b, s));
        }
        self.skeleton.find_balls();
    }

    fn improve(
        &self,
        tets: Vec<[u32; 4]>,
        progress: &dyn Progress,
    ) -> Result<CandidateMesh, LatticeError> {
        let mut x = self.points.x.clone();
        let size = (self.h, self.halved);
        let select =
            |x: &[Vec3]| keep::select(x, &tets, self.surface, &self.grid, &self.skeleton, size);
        let mut chosen = select(&x);
        for round in 0..3 {
            report_progress(progress, 0.1 + 0.3 * f64::from(round), "improving cells")?;
            let mut step_bound = vec![0.0; x.len()];
            let mut floor = vec![f64::NEG_INFINITY; x.len()];
            for i in self.points.free_range() {
                step_bound[i] = self.size.size_at(x[i]);
                // Points outside the surface stay outside, so that the choice of cells remains valid.
                if self.grid.distance_at(x[i]) > 0.3 * OUTWARD_OFFSET * step_bound[i] {
                    floor[i] = 0.5 * OUTWARD_OFFSET * step_bound[i];
                }
            }
            let on_plane: Vec<bool> = x.iter().map(|p| self.halved && p.x == 0.0).collect();
            let allowed = |v: usize, p: Vec3| {
                !(on_plane[v] && p.x != 0.0)
                    && (floor[v] == f64::NEG_INFINITY || self.grid.distance_at(p) >= floor[v])
            };
            Climb {
                tets: &tets,
                keep: &chosen,
                step_bound: &step_bound,
                allowed: &allowed,
                goal: TARGET_ANGLE,
            }
            .run(&mut x, 12);
            let again = select(&x);
            let settled = again == chosen;
            chosen = again;
            if settled {
                break;
            }
        }
        let (surface, skeleton) = (self.surface, &self.skeleton);
        let crossed = keep::crossed_faces(&x, &tets, surface, &self.grid, skeleton, self.h);
        if !crossed.is_empty() {
            return Err(LatticeError::Joined(crossed));
        }
        let mut mesh = CandidateMesh {
            skeleton: self.skeleton.clone(),
            x,
            tets,
            keep: chosen,
            worst: f64::INFINITY,
        };
        for t in 0..mesh.tets.len() {
            if mesh.keep[t] {
                mesh.worst = mesh.worst.min(quality(&corners(&mesh, t)));
            }
        }
        Ok(mesh)
    }

    /// Returns the midpoint of the longest free edge of every sliver: an edge of neither a bone nor a required face.
    fn steiner_points(&self, mesh: &CandidateMesh, slivers: &[usize]) -> Vec<Vec3> {
        let of_bones = self.skeleton.edges.iter().map(|&(a, b, _)| (a, b));
        let of_faces = (self.skeleton.faces.iter()).flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        let bones: BTreeSet<(u32, u32)> = of_bones
            .chain(of_faces)
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        let fixed = self.skeleton.points.len() as u32;
        let mut new: Vec<Vec3> = Vec::new();
        for &t in slivers {
            let corner = mesh.tets[t];
            if spans_small_gap(mesh, &corner, fixed, MIN_JOINT_DISTANCE * self.h) {
                return Vec::new();
            }
            let mut longest = (0.0, Vec3::zeros());
            for i in 0..4 {
                for j in i + 1..4 {
                    let e = (corner[i].min(corner[j]), corner[i].max(corner[j]));
                    let (p, q) = (mesh.x[e.0 as usize], mesh.x[e.1 as usize]);
                    if !bones.contains(&e) && (p - q).norm() > longest.0 {
                        longest = ((p - q).norm(), (p + q) / 2.0);
                    }
                }
            }
            let apart = new
                .iter()
                .all(|p| (p - longest.1).norm() > 0.25 * self.size.smallest);
            if longest.0 > 0.0 && apart {
                new.push(longest.1);
            }
        }
        new
    }
}

/// Returns whether two skeleton points of a tetrahedron are so close that new points only make more slivers.
fn spans_small_gap(mesh: &CandidateMesh, corners: &[u32; 4], fixed: u32, gap: f64) -> bool {
    let bones: Vec<Vec3> = corners
        .iter()
        .filter(|&&v| v < fixed)
        .map(|&v| mesh.x[v as usize])
        .collect();
    let near = |i: usize| bones[..i].iter().any(|p| (p - bones[i]).norm() < gap);
    (1..bones.len()).any(near)
}

fn corners(mesh: &CandidateMesh, t: usize) -> [Vec3; 4] {
    mesh.tets[t].map(|v| mesh.x[v as usize])
}

#[cfg(test)]
mod tests {
    use super::super::assemble::assemble;
    use super::super::bones;
    use super::*;
    use crate::progress::Silent;
    use crate::skeleton::Skeleton;
    use crate::surface::shapes::cuboid;

    /// Bones that are cut in a round that is then rejected leave the accepted mesh unchanged.
    #[test]
    fn rejected_round_keeps_mesh() {
        let shape = cuboid(Vec3::new(0.3, 0.3, 1.0)).map_vertices(|p| p + Vec3::z());
        let surface = Surface::new(shape.vertices, shape.triangles).expect("a box");
        let at = |z: f64| Vec3::new(0.0, 0.0, z);
        let skeleton = Skeleton::new(
            vec!["lower".into(), "upper".into()],
            vec![None, Some(0)],
            vec![at(0.2), at(1.0)],
            vec![at(1.0), at(1.8)],
        )
        .expect("two bones");
        let h = surface.size() / 8.0;
        let segments = bones::select(&surface, &skeleton, None, h, &mut Vec::new());
        let mut builder =
            Builder::new(&surface, &segments, &[], h, &Silent).expect("not cancelled");
        builder.fill(&Silent).expect("fills");
        let mesh = builder.tetrahedralise(&Silent).expect("has cells");
        builder.bisect_edges(&[0, 1]);
        let lattice =
            assemble(&mesh, &surface, &segments, h, Vec::new(), &Silent).expect("is a lattice");
        assert_eq!(lattice.check(&surface, &skeleton), vec![]);
        for chain in &lattice.bones().chains {
            for &v in chain {
                let x = lattice.vertices()[v as usize];
                assert_eq!((x.x, x.y), (0.0, 0.0), "vertex {v} is not on the bones");
            }
        }
    }
}
