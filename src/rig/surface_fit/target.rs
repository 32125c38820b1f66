// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skin at a pose with its selection, and goals of its vertices.

use super::error::SurfaceFitError;
use crate::Vec3;
use crate::body::Body;
use crate::geometry::moments::vertex_areas;
use crate::rig::sculpted::correction::SkinGoal;
use crate::surface::Surface;

/// Wanted shape of the skin, m, in world axes.
#[derive(Debug, Clone, Copy)]
pub enum SurfaceTarget<'a> {
    /// Place of every vertex of the body's own surface, in its order.
    Vertices(&'a [Vec3]),
    /// A surface of any mesh, as of a scan: the skin goes to its nearest points.
    Surface(&'a Surface),
}

/// The skin of a body in balance at a pose, and the selection.
pub(super) struct PosedSkin<'a> {
    pub body: &'a Body,
    /// Place of each vertex, m.
    pub places: Vec<Vec3>,
    /// Area of each vertex at rest, m².
    pub areas: Vec<f64>,
    /// Selection of each vertex, 0 to 1.
    pub select: Vec<f64>,
    /// Share by which unselected skin holds still.
    pub hold: f64,
}

impl<'a> PosedSkin<'a> {
    pub fn new(
        body: &'a Body,
        positions: &[Vec3],
        select: Option<&[f64]>,
        hold: f64,
    ) -> Result<Self, SurfaceFitError> {
        let embedding = body.embedding();
        let expected = embedding.len();
        let select = match select {
            None => vec![1.0; expected],
            Some(given) if given.len() != expected => {
                let (what, given) = ("selection", given.len());
                return Err(SurfaceFitError::Count {
                    what,
                    expected,
                    given,
                });
            }
            Some(given) => given.to_vec(),
        };
        let inside = |&(_, s): &(usize, &f64)| !(0.0..=1.0).contains(s);
        if let Some((vertex, &value)) = select.iter().enumerate().find(inside) {
            return Err(SurfaceFitError::Selection { vertex, value });
        }
        let surface = body.surface();
        let areas = vertex_areas(surface.vertices(), surface.triangles());
        if !areas.iter().zip(&select).any(|(a, s)| a * s > 0.0) {
            return Err(SurfaceFitError::NothingSelected);
        }
        Ok(Self {
            body,
            places: (0..expected)
                .map(|v| embedding.position(v, positions))
                .collect(),
            areas,
            select,
            hold,
        })
    }

    /// Returns the vertices that are selected and belong to a face.
    pub fn selected(&self) -> impl Iterator<Item = usize> {
        let counted = |v: &usize| self.select[*v] > 0.0 && self.areas[*v] > 0.0;
        (0..self.places.len()).filter(counted)
    }

    /// Returns the goal of moving by `wish` where skin is selected, and of holding still elsewhere: weight `s + κ(1 − s)` per area, offset
    /// s times the wish. `trust` scales the weight of the selection, 0 to 1.
    pub fn goal(&self, wish: impl Fn(usize) -> Vec3, trust: impl Fn(usize) -> f64) -> SkinGoal {
        let selected = self.select.iter().enumerate();
        let weight = |(v, s): (usize, &f64)| self.areas[v] * (s * trust(v) + self.hold * (1.0 - s));
        SkinGoal {
            weights: selected.clone().map(weight).collect(),
            offsets: selected.map(|(v, s)| wish(v) * *s).collect(),
            normals: Vec::new(),
        }
    }

    /// Returns the goal of places of the vertices.
    pub fn vertex_goal(&self, target: &[Vec3], size: f64) -> Result<SkinGoal, SurfaceFitError> {
        let (expected, given) = (self.places.len(), target.len());
        if given != expected {
            let what = "target";
            return Err(SurfaceFitError::Count {
                what,
                expected,
                given,
            });
        }
        if let Some(vertex) = target.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
            return Err(SurfaceFitError::Target { vertex });
        }
        let wish = |v: usize| target[v] - self.places[v];
        self.refuse_far(wish, size)?;
        Ok(self.goal(wish, |_| 1.0))
    }

    /// Refuses goals of selected skin farther away than the body is large.
    pub fn refuse_far(
        &self,
        wish: impl Fn(usize) -> Vec3,
        size: f64,
    ) -> Result<(), SurfaceFitError> {
        let distance = |v: usize| wish(v).norm();
        let farthest = self
            .selected()
            .max_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        match farthest.map(|vertex| (vertex, distance(vertex))) {
            Some((vertex, distance)) if distance > size => Err(SurfaceFitError::Far {
                vertex,
                distance,
                size,
            }),
            _ => Ok(()),
        }
    }
}
