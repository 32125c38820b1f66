// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised forces of a contracting muscle.
//!
//! **Problem.** A muscle's ends are tied to bones. When it contracts, its belly gets shorter by the share c and wider by 1/√(1 − c), away from
//! the bone; what ties it to the bones gets longer. Its volume stays. Flesh around the muscle and the cells of the lattice hold it back.
//!
//! **Method.** Points of flesh in the spindle, and the skin around it, have wanted displacements ([`Tube`](super::tube::Tube)), linear in c along the muscle and in
//! `1/√(1 − c) − 1` across it. The field of displacements nearest to them ([`FieldFit`]) is scaled so that it is nearest as it is, and an isotropic pressure
//! on the muscle is added with which its volume stays: `∫ w (det(I + ∇u) − 1) = 0`, with w the share of muscle. The forces are those that hold
//! this field in flesh at rest. Gradients are means over an element, which is exact on tetrahedra. Where flesh would be pressed flat
//! ([`MIN_VOLUME_RATIO`]), c is lowered until it is not.
//!
//! **Rejected.** A rest strain of contraction in the muscle's flesh: in cells much larger than the muscle it needs thirty times the contraction or more for the
//! same bulge, and then drags flesh along the limb ten times as far as out of it.
//!
//! **Cost.** One sum over the spindle's points of flesh, one factorisation and three solves. All serve every contraction of a muscle of one shape.

use super::fit::{FieldFit, FleshRows};
use super::tube::{Tube, Wish};
use crate::body::Body;
use crate::geometry::moments::vertex_areas;
#[cfg(doc)]
use crate::rig::MIN_VOLUME_RATIO;
use crate::rig::RigError;
use crate::rig::folding::unfolded_range;
use crate::{Mat3, Vec3};
use std::collections::BTreeMap;

/// Largest factor of the fitted field. It makes up for the smoothness of the fit, which a coarse lattice hardly shows: 1.1 to 1.6 on known characters.
const MAX_GAIN: f64 = 2.0;

/// Weight of the skin around a muscle, in that of the muscle. Without it single vertices of a coarse lattice move up to one and a half radii; with three
/// times as much bulges are two thirds as high.
const SKIN_WEIGHT: f64 = 0.3;

/// Muscle in an element.
#[derive(Debug, Clone, Copy, Default)]
struct ElementShare {
    /// ∫ w, m³.
    volume: f64,
    /// ∫ w g, m³.
    active: f64,
}

/// A muscle in the flesh of a body.
pub(super) struct MuscleIntegral<'a> {
    body: &'a Body,
    shares: BTreeMap<u32, ElementShare>,
    rows: FleshRows,
    wishes: Vec<Wish>,
}

/// Amounts of the fields of a [`MuscleResponse`]: across the muscle, along it, and pressure.
type Amounts = [f64; 3];

impl<'a> MuscleIntegral<'a> {
    /// Sums over the flesh in a tube.
    ///
    /// # Errors
    /// The tube lies wholly outside the flesh.
    pub fn new(body: &'a Body, tube: &Tube) -> Result<Self, RigError> {
        let mut found = Self {
            body,
            shares: BTreeMap::new(),
            rows: FleshRows::default(),
            wishes: Vec::new(),
        };
        // Flesh in cells without volume has no stiffness.
        let solid = |e: u32| body.elements().pieces(e as usize).any(|p| p.volume > 0.0);
        for brick in tube.bricks(body) {
            for run in brick.runs(body.basis()) {
                for (point, values) in run.points().filter(|(p, _)| solid(p.element)) {
                    let Some(fibre) = tube.fibre(&point.place) else {
                        continue;
                    };
                    let volume = fibre.share * point.volume;
                    let sum = found.shares.entry(point.element).or_default();
                    sum.volume += volume;
                    sum.active += volume * fibre.activity;
                    let weight = volume * fibre.activity;
                    found.rows.push(run.functions, values, weight);
                    found.wishes.push(fibre.wish);
                }
            }
        }
        found.shares.retain(|_, share| share.volume > 0.0);
        if found.shares.is_empty() {
            return Err(RigError::Outside);
        }
        found.add_skin(tube);
        Ok(found)
    }

    /// Adds the skin around the tube, by area, with [`SKIN_WEIGHT`] of the muscle's weight in all. Without it, cells larger than the muscle would carry its widening on
    /// to the skin as if all of the limb were muscle.
    fn add_skin(&mut self, tube: &Tube) {
        let surface = self.body.surface();
        let x = surface.vertices();
        let areas = vertex_areas(x, surface.triangles());
        let near: Vec<(usize, Wish)> = (0..x.len())
            .filter_map(|v| Some((v, tube.skin_wish(&x[v])?)))
            .collect();
        let whole: f64 = near.iter().map(|&(v, _)| areas[v]).sum();
        let muscle: f64 = self.shares.values().map(|s| s.active).sum();
        if whole <= 0.0 {
            return;
        }
        let embedding = self.body.embedding();
        for (v, wish) in near {
            let (nodes, values): (Vec<u32>, Vec<f64>) =
                embedding.row(v).map(|(a, x)| (a as u32, x)).unzip();
            self.rows
                .push(&nodes, &values, SKIN_WEIGHT * muscle * areas[v] / whole);
            self.wishes.push(wish);
        }
    }

    /// Returns the share of the flesh of each cell of the lattice that is muscle, `[cells]`, 0 to 1.
    pub fn cell_shares(&self) -> Vec<f64> {
        let basis = self.body.basis();
        let volumes = self.body.blocks().volumes();
        let share = |cell: u32| -> f64 {
            let (mut muscle, mut flesh) = (0.0, 0.0);
            for element in basis.elements(cell) {
                muscle += self.shares.get(&element).map_or(0.0, |s| s.volume);
                flesh += volumes[element as usize];
            }
            if flesh > 0.0 {
                (muscle / flesh).min(1.0)
            } else {
                0.0
            }
        };
        (0..basis.lattice().cells().len() as u32)
            .map(share)
            .collect()
    }

    /// Returns the growth of the muscle's volume, as a part of it, under displacements `[nodes]`.
    pub fn growth(&self, displacements: &[Vec3]) -> f64 {
        let whole: f64 = self.shares.values().map(|s| s.volume).sum();
        let grown = |(&element, share): (&u32, &ElementShare)| {
            let slope = self.slope(element, displacements);
            share.volume * growth(&slope)
        };
        self.shares.iter().map(grown).sum::<f64>() / whole
    }

    /// Returns the generalised forces of a pressure on the muscle, Young's modulus in the middle of the belly, `[nodes]`, N, rest axes; zero on held
    /// nodes.
    fn pressure(&self) -> Vec<Vec3> {
        let mut forces = vec![Vec3::zeros(); self.body.node_count()];
        for (&element, share) in &self.shares {
            let corners = self.body.elements().corners(element as usize);
            let gradients = mean_gradients(self.body, element);
            for (&node, gradient) in corners.iter().zip(&gradients) {
                if self.body.pattern().node_of_vertex(node as usize).is_some() {
                    let work = share.active * self.body.material().young();
                    forces[node as usize] += gradient * work;
                }
            }
        }
        forces
    }

    /// Returns ∇u in an element.
    fn slope(&self, element: u32, displacements: &[Vec3]) -> Mat3 {
        let corners = self.body.elements().corners(element as usize);
        let gradients = mean_gradients(self.body, element);
        let moved = corners.iter().map(|&v| &displacements[v as usize]);
        moved.zip(&gradients).map(|(u, g)| u * g.transpose()).sum()
    }
}

/// The flesh at rest of a body as a muscle moves it: all that does not depend on its contraction.
#[derive(Debug)]
pub(super) struct MuscleResponse {
    /// Displacements `[nodes]`, m, of unit widening, unit contraction along the muscle, and unit pressure.
    displacements: [Vec<Vec3>; 3],
    /// Generalised forces that hold them, `[nodes]`, N, rest axes.
    forces: [Vec<Vec3>; 3],
    /// Volume of the muscle in each of its elements, m³, and ∇u there in the three fields.
    slopes: Vec<(f64, [Mat3; 3])>,
}

impl MuscleResponse {
    /// Fits the fields; `None` where bones hold all of the muscle.
    ///
    /// # Errors
    /// The flesh's linear system cannot be solved.
    pub fn new(muscle: &MuscleIntegral<'_>) -> Result<Option<Self>, RigError> {
        let Some(mut fit) = FieldFit::new(muscle.body, &muscle.rows)? else {
            return Ok(None);
        };
        let wish = |of: fn(&Wish) -> Vec3| -> Vec<Vec3> { muscle.wishes.iter().map(of).collect() };
        let wishes = [wish(|w| w.widening), wish(|w| w.shortening)];
        let [mut wide, mut short] = wishes.each_ref().map(|d| fit.solve(&muscle.rows, d));
        // For small c the widening is c/2.
        let small = |wide: &[Vec3], short: &[Vec3]| -> Vec<Vec3> {
            let both = wide.iter().zip(short);
            both.map(|(w, s)| w * 0.5 + s).collect()
        };
        let wished = small(&wishes[0], &wishes[1]);
        let (with, own) = muscle.rows.products(&small(&wide, &short), &wished);
        let gain = if with > 0.0 && own > 0.0 {
            (with / own).clamp(1.0, MAX_GAIN)
        } else {
            1.0
        };
        wide.iter_mut().chain(&mut short).for_each(|u| *u *= gain);
        let pressure = muscle.pressure();
        let pressed = muscle.body.static_displacements(&pressure)?;
        let [wide_forces, short_forces] = fit.forces(&[wide.clone(), short.clone()]);
        let displacements = [wide, short, pressed];
        let slopes = muscle.shares.iter().map(|(&element, share)| {
            let each = displacements.each_ref().map(|u| muscle.slope(element, u));
            (share.volume, each)
        });
        Ok(Some(Self {
            slopes: slopes.collect(),
            forces: [wide_forces, short_forces, pressure],
            displacements,
        }))
    }

    /// Returns the generalised forces of a contraction, `[nodes]`, N, rest axes; as far as no flesh of the body is pressed flat.
    pub fn forces(&self, body: &Body, contraction: f64) -> Vec<Vec3> {
        combine(&self.forces, &self.amounts(body, contraction))
    }

    /// Returns the amounts of the fields with which the muscle contracts by c in the flesh at rest of a body, or as far as no flesh is pressed flat.
    fn amounts(&self, body: &Body, contraction: f64) -> Amounts {
        /// Largest number of times that the contraction is lowered; each comes much nearer to the limit.
        const TRIES: usize = 30;
        /// Factor below the estimated limit, which is that of the last, stronger contraction.
        const CAUTION: f64 = 0.95;
        const NOTHING: Amounts = [0.0; 3];
        if contraction == 0.0 {
            return NOTHING;
        }
        let still = vec![Vec3::zeros(); body.node_count()];
        let mut contraction = contraction;
        for _ in 0..TRIES {
            let amounts = self.volume_keeping(contraction);
            let moved = combine(&self.displacements, &amounts);
            let (_, most) = unfolded_range(body.elements(), &still, &moved);
            if most >= 1.0 {
                return amounts;
            }
            contraction *= CAUTION * most;
        }
        NOTHING
    }

    /// Returns the amounts of a contraction, with the pressure at which the volume stays, by the secant method; without pressure if there is none.
    fn volume_keeping(&self, contraction: f64) -> Amounts {
        /// Secant steps. Volume is nearly linear in the pressure, so that each gains three digits.
        const ROUNDS: usize = 8;
        let wider = 1.0 / (1.0 - contraction).sqrt() - 1.0;
        let growth = |pressure| self.growth(&[wider, contraction, pressure]);
        let (mut pressure, mut other) = (0.0, contraction);
        let (mut at, mut at_other) = (growth(pressure), growth(other));
        for _ in 0..ROUNDS {
            let next = pressure - at * (pressure - other) / (at - at_other);
            // Converged to the last bit.
            if !next.is_finite() {
                break;
            }
            (other, at_other) = (pressure, at);
            (pressure, at) = (next, growth(next));
        }
        match at.is_finite() {
            true => [wider, contraction, pressure],
            false => [wider, contraction, 0.0],
        }
    }

    /// Returns the growth of the muscle's volume, as a part of it, in a combination of the fields.
    fn growth(&self, amounts: &Amounts) -> f64 {
        let whole: f64 = self.slopes.iter().map(|(volume, _)| volume).sum();
        let grown = |(volume, slopes): &(f64, [Mat3; 3])| {
            let each = slopes.iter().zip(amounts);
            volume * growth(&each.map(|(slope, amount)| slope * *amount).sum())
        };
        self.slopes.iter().map(grown).sum::<f64>() / whole
    }
}

/// Returns the combination of fields.
fn combine(fields: &[Vec<Vec3>; 3], amounts: &Amounts) -> Vec<Vec3> {
    let at = |node: usize| -> Vec3 {
        let each = fields.iter().zip(amounts);
        each.map(|(field, amount)| field[node] * *amount).sum()
    };
    (0..fields[0].len()).map(at).collect()
}

/// Returns the growth of volume under a gradient of displacements, as a part of it.
fn growth(slope: &Mat3) -> f64 {
    (Mat3::identity() + slope).determinant() - 1.0
}

/// Returns the gradients of an element's functions, the means of its pieces by volume.
fn mean_gradients(body: &Body, element: u32) -> Vec<Vec3> {
    let pieces = || body.elements().pieces(element as usize);
    let whole: f64 = pieces().map(|p| p.volume).sum();
    let corners = body.elements().corners(element as usize).len();
    let mut mean = vec![Vec3::zeros(); corners];
    for piece in pieces() {
        let share = piece.volume / whole;
        for (sum, gradient) in mean.iter_mut().zip(piece.gradients) {
            *sum += gradient * share;
        }
    }
    mean
}
