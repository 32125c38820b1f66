// SPDX-License-Identifier: MIT OR Apache-2.0
//! The domain Ω that a surface bounds: points with a generalised winding number above one half, and a thin layer around
//! the pieces that bound nothing.
//!
//! Real characters mix closed bodies with open sheets: hair cards, lashes, skirts. A flat sheet changes the winding
//! number by up to one half beside it, so a few layers of hair would dig holes into the head below. Sheets are
//! therefore found first and left out of the winding number that defines Ω. An open patch is a sheet if its mean winding
//! number is near 0 by itself alone, and not between 0 and 1 with the others. A closed patch is a sheet if it is flat.
//!
//! Each triangle then gets a [`TriangleRole`] from the winding number a small step to both sides.
use super::nearest::TriangleHierarchy;
use super::orient::{SurfacePatch, uncancelled_edges};
use super::winding::WindingTree;
use crate::Vec3;
use crate::progress::{Cancelled, Progress, map_parallel};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Role of a triangle in bounding Ω.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriangleRole {
    /// Ω on one side: the boundary of the flesh.
    Skin,
    /// Ω on both sides: a piece of surface inside the body. Also a part that sticks out of a closed piece and is turned
    /// inside out: it bounds nothing, and is not a sheet.
    Interior,
    /// Ω on neither side: a sheet, which gets a layer of flesh.
    Thin,
}

/// Half the thickness of the layer around thin triangles, as a fraction of the surface's size.
pub const LAYER_HALF_THICKNESS: f64 = 0.01;

/// Mean thickness of a closed patch (twice the volume over the area), as a fraction of the size, below which it is a sheet.
const MIN_THICKNESS: f64 = 1e-4;
/// Largest distance of a sheet's mean winding number from 0 or 1.
const SHEET_WINDING_TOLERANCE: f64 = 0.1;
/// Distance from a triangle's centroid at which both its sides are tested, local units.
const SIDE_STEP: f64 = 1e-6;
/// Distance from a whole number within which a winding number is taken as that number.
const INTEGER_TOLERANCE: f64 = 0.02;
/// Tolerance at one half, for the tree's rounding and for sheets that are nearly flat.
const HALF_WINDING_TOLERANCE: f64 = 0.05;

/// Ω in local coordinates.
#[derive(Debug, Clone)]
pub(super) struct Domain {
    /// Role of each welded triangle.
    pub roles: Vec<TriangleRole>,
    /// Winding tree of the surface without its sheets.
    pub winding: Arc<WindingTree>,
    /// Whether the winding number is whole everywhere off the surface.
    pub watertight: bool,
    /// Triangles that contribute to the winding number: all but those of sheets.
    pub bodies: Vec<u32>,
    pub skin: Option<TriangleHierarchy>,
    pub thin: Option<TriangleHierarchy>,
    /// Half the thickness of the layer, local units.
    pub layer: f64,
}

impl Domain {
    /// Finds the domain of an oriented surface from its full winding tree.
    pub fn new(
        (vertices, triangles): (&[Vec3], &[[u32; 3]]),
        patches: &[SurfacePatch],
        full: &Arc<WindingTree>,
        size: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let (kept, mut winding) = find_bounding_patches(vertices, triangles, patches, full, size);
        let mut body = vec![false; triangles.len()];
        let mut closed = vec![false; triangles.len()];
        for (patch, &kept) in patches.iter().zip(&kept) {
            for &t in &patch.triangles {
                body[t as usize] = kept;
                closed[t as usize] = kept && patch.closed;
            }
        }
        let role_at = |t: usize| match triangle_role(
            vertices,
            (t as u32, &triangles[t]),
            body[t],
            &winding,
        ) {
            TriangleRole::Thin if closed[t] => TriangleRole::Interior,
            role => role,
        };
        let stage = (progress, "telling inside from outside");
        let mut roles = map_parallel(triangles.len(), stage, role_at)?;
        mark_seams(triangles, &body, &mut roles);
        if !roles.contains(&TriangleRole::Skin) {
            roles.fill(TriangleRole::Thin);
            body.fill(false);
            winding = Arc::new(WindingTree::new(vertices, triangles, Vec::new()));
        }
        let rims = patches
            .iter()
            .zip(&kept)
            .filter(|(_, kept)| **kept)
            .flat_map(|(p, _)| p.rim.iter().copied());
        let bodies: Vec<u32> = (0u32..)
            .zip(&body)
            .filter(|(_, b)| **b)
            .map(|(t, _)| t)
            .collect();
        let found = (roles, bodies, uncancelled_edges(rims).is_empty());
        Ok(Self::with_roles(
            (vertices, triangles),
            found,
            winding,
            size,
        ))
    }

    /// Returns the same domain for the same triangles over other vertices (as in another unit), with their full winding
    /// tree.
    pub fn with_vertices(
        &self,
        mesh: (&[Vec3], &[[u32; 3]]),
        full: &Arc<WindingTree>,
        size: f64,
    ) -> Self {
        let winding = if self.bodies.len() == mesh.1.len() {
            full.clone()
        } else {
            Arc::new(WindingTree::new(mesh.0, mesh.1, self.bodies.clone()))
        };
        let found = (self.roles.clone(), self.bodies.clone(), self.watertight);
        Self::with_roles(mesh, found, winding, size)
    }

    /// Builds the domain from (roles, bodies, watertight).
    fn with_roles(
        (vertices, triangles): (&[Vec3], &[[u32; 3]]),
        (roles, bodies, watertight): (Vec<TriangleRole>, Vec<u32>, bool),
        winding: Arc<WindingTree>,
        size: f64,
    ) -> Self {
        let of_role = |role: TriangleRole| {
            let chosen: Vec<u32> = (0u32..)
                .zip(&roles)
                .filter(|(_, r)| **r == role)
                .map(|(t, _)| t)
                .collect();
            (!chosen.is_empty()).then(|| TriangleHierarchy::new(vertices, triangles, chosen))
        };
        Self {
            skin: of_role(TriangleRole::Skin),
            thin: of_role(TriangleRole::Thin),
            layer: LAYER_HALF_THICKNESS * size,
            watertight,
            bodies,
            winding,
            roles,
        }
    }

    /// Returns the thin triangles, which have a layer around them.
    pub fn layer_triangles(&self) -> Vec<u32> {
        (0u32..)
            .zip(&self.roles)
            .filter(|(_, role)| **role == TriangleRole::Thin)
            .map(|(t, _)| t)
            .collect()
    }

    /// Returns whether the winding number alone puts a point in Ω.
    pub fn is_wound(&self, p: &Vec3) -> bool {
        self.winding.is_wound(p)
    }

    /// Returns whether a point lies in Ω, layers included.
    pub fn contains(&self, p: &Vec3) -> bool {
        self.is_wound(p)
            || self
                .thin
                .as_ref()
                .is_some_and(|t| t.closest(p, self.layer).is_some())
    }

    /// Returns the distance to the boundary of Ω, negative inside; infinite at a point that is not finite.
    pub fn signed_distance(&self, p: &Vec3) -> f64 {
        let to =
            |n: &Option<TriangleHierarchy>| n.as_ref().and_then(|n| n.closest(p, f64::INFINITY));
        let body = to(&self.skin).map_or(f64::INFINITY, |found| {
            if self.is_wound(p) {
                -found.distance
            } else {
                found.distance
            }
        });
        to(&self.thin).map_or(body, |found| body.min(found.distance - self.layer))
    }
}

/// Finds the patches that bound Ω, and builds their winding tree.
fn find_bounding_patches(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    patches: &[SurfacePatch],
    full: &Arc<WindingTree>,
    size: f64,
) -> (Vec<bool>, Arc<WindingTree>) {
    let flat = |p: &SurfacePatch| {
        p.closed && p.orientable && 2.0 * p.volume.abs() < MIN_THICKNESS * size * p.area
    };
    let mut kept: Vec<bool> = patches.iter().map(|p| !flat(p)).collect();
    let open: Vec<usize> = (0..patches.len())
        .into_par_iter()
        .filter(|&i| {
            let patch = &patches[i];
            let alone = || WindingTree::new(vertices, triangles, patch.triangles.clone());
            !(patch.closed && patch.orientable)
                && mean_winding(vertices, triangles, patch, &alone()) < SHEET_WINDING_TOLERANCE
        })
        .collect();
    let tree = |kept: &[bool]| {
        let of = patches.iter().zip(kept).filter(|(_, k)| **k);
        let mut chosen: Vec<u32> = of.flat_map(|(p, _)| p.triangles.iter().copied()).collect();
        chosen.sort_unstable();
        Arc::new(WindingTree::new(vertices, triangles, chosen))
    };
    let mut current = if kept.iter().all(|&k| k) {
        full.clone()
    } else {
        tree(&kept)
    };
    // Sheets hide each other: removing the outer ones reveals the next. A few rounds suffice.
    for _ in 0..6 {
        let sheets: Vec<usize> = open
            .par_iter()
            .copied()
            .filter(|&i| kept[i])
            .filter(|&i| {
                let mean = mean_winding(vertices, triangles, &patches[i], &current);
                !(SHEET_WINDING_TOLERANCE..=1.0 - SHEET_WINDING_TOLERANCE).contains(&mean)
            })
            .collect();
        if sheets.is_empty() {
            break;
        }
        sheets.iter().for_each(|&i| kept[i] = false);
        current = tree(&kept);
    }
    (kept, current)
}

/// Returns the area-weighted mean winding number on a patch, estimated at about 12 of its triangles. On a triangle the
/// value is the mean of those on both sides.
fn mean_winding(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    patch: &SurfacePatch,
    tree: &WindingTree,
) -> f64 {
    let step = patch.triangles.len().div_ceil(12).max(1);
    let (mut sum, mut total) = (0.0, 0.0);
    for &t in patch.triangles.iter().step_by(step) {
        let (centre, normal) = centre_and_normal(vertices, &triangles[t as usize]);
        let area = normal.norm();
        sum += area * tree.winding_number_without(&centre, t);
        total += area;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

/// Returns a triangle's centroid, and its normal with twice the area as length.
fn centre_and_normal(vertices: &[Vec3], t: &[u32; 3]) -> (Vec3, Vec3) {
    let [a, b, c] = t.map(|v| vertices[v as usize]);
    ((a + b + c) / 3.0, (b - a).cross(&(c - a)))
}

/// Finds the role of one triangle: from its centroid if that is skin, else from three more points that must agree.
/// Triangles of sheets do not contribute to the winding number, and lie either in Ω or outside.
fn triangle_role(
    vertices: &[Vec3],
    (number, t): (u32, &[u32; 3]),
    body: bool,
    tree: &WindingTree,
) -> TriangleRole {
    let [a, b, c] = t.map(|v| vertices[v as usize]);
    let (centre, normal) = centre_and_normal(vertices, t);
    let step = normal * (SIDE_STEP / normal.norm().max(f64::MIN_POSITIVE));
    let role_at = |p: Vec3| {
        if !body {
            return if tree.is_wound(&p) {
                TriangleRole::Interior
            } else {
                TriangleRole::Thin
            };
        }
        // The sides are half a turn above and below the sum of the others; unless that is whole, other surface is near.
        let others = tree.winding_number_without(&p, number);
        let (below, above) = if (others - others.floor() - 0.5).abs() < INTEGER_TOLERANCE {
            (others + 0.5, others - 0.5)
        } else {
            (
                tree.winding_number(&(p - step)),
                tree.winding_number(&(p + step)),
            )
        };
        match (
            below > 0.5 + HALF_WINDING_TOLERANCE,
            above > 0.5 - HALF_WINDING_TOLERANCE,
        ) {
            (true, true) => TriangleRole::Interior,
            // A flat sheet has +½ below and −½ above; less is a fold, or a cavity that sticks out.
            (false, false) if below > 0.5 - SHEET_WINDING_TOLERANCE => TriangleRole::Thin,
            (false, false) => TriangleRole::Interior,
            _ => TriangleRole::Skin,
        }
    };
    let first = role_at(centre);
    let more = [
        a * 0.8 + (b + c) * 0.1,
        b * 0.8 + (c + a) * 0.1,
        c * 0.8 + (a + b) * 0.1,
    ];
    if first == TriangleRole::Skin || more.into_iter().all(|p| role_at(p) == first) {
        first
    } else if body {
        TriangleRole::Skin
    } else {
        TriangleRole::Thin
    }
}

/// Marks interior triangles that touch skin as skin: where two bodies intersect, triangles lie partly inside.
fn mark_seams(triangles: &[[u32; 3]], body: &[bool], roles: &mut [TriangleRole]) {
    let last = triangles
        .iter()
        .flatten()
        .max()
        .map_or(0, |&v| v as usize + 1);
    let mut at_skin = vec![false; last];
    for (t, _) in triangles
        .iter()
        .zip(&*roles)
        .filter(|(_, r)| **r == TriangleRole::Skin)
    {
        t.iter().for_each(|&v| at_skin[v as usize] = true);
    }
    for ((t, role), _) in triangles
        .iter()
        .zip(roles)
        .zip(body)
        .filter(|(_, body)| **body)
    {
        if *role == TriangleRole::Interior && t.iter().any(|&v| at_skin[v as usize]) {
            *role = TriangleRole::Skin;
        }
    }
}

/// Counts the triangles of each role: skin, interior, thin.
pub(super) fn count_roles(roles: &[TriangleRole]) -> [usize; 3] {
    let mut counts = BTreeMap::new();
    for role in roles {
        *counts.entry(*role as u8).or_insert(0) += 1;
    }
    [
        TriangleRole::Skin,
        TriangleRole::Interior,
        TriangleRole::Thin,
    ]
    .map(|role| counts.get(&(role as u8)).copied().unwrap_or(0))
}
