// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised forces of a contracting muscle.
//!
//! **Problem.** A muscle's ends are tied to bones. When it contracts by the share c, its belly gets wider by 1/√(1 − c), away from the bone, and
//! its volume stays. Flesh around the muscle and the cells of the lattice, which are often larger than the muscle, hold it back.
//!
//! **Method.** Points of flesh in the spindle, and the skin around it, have wanted displacements across the muscle ([`Tube`](super::tube::Tube)),
//! linear in `1/√(1 − c) − 1`. Along the muscle flesh is nearly free ([`ALONG_WEIGHT`]): how its belly gets shorter follows from its volume. The
//! field of displacements nearest to them ([`FieldFit`]) is scaled so that skin over the belly rises as a free muscle widens, by
//! `r (1/√(1 − c) − 1)` on the mean. A pressure on the muscle is added with which its volume stays: `∫ w (det(I + ∇u) − 1) = 0`, with w the share
//! of muscle. Flesh yields to it as the fit does, which leaves wanted displacements as they are as far as it can. The forces are those that hold
//! this field in flesh at rest. Gradients are means over an element, which is exact on tetrahedra. Where flesh would be pressed flat
//! ([`MIN_VOLUME_RATIO`]), c is lowered until it is not.
//!
//! **Rejected.** A rest strain of contraction in the muscle's flesh: in cells much larger than the muscle it needs thirty times the contraction or
//! more for the same bulge, and then drags flesh along the limb ten times as far as out of it. Wanted displacements along the muscle, by `−c ∫ g`:
//! cells carry them to the skin, which moves beside the belly by 0.9 of the radius and creases. A pressure to which flesh yields by its stiffness
//! alone: it takes back a fifth of the bulge.
//!
//! **Cost.** One sum over the spindle's points of flesh, one factorisation and two solves. All serve every contraction of a muscle of one shape.

use super::fit::{FieldFit, FleshRows, HeldField};
use super::tube::Tube;
use crate::body::Body;
use crate::geometry::moments::vertex_areas;
#[cfg(doc)]
use crate::rig::MIN_VOLUME_RATIO;
use crate::rig::RigError;
use crate::rig::folding::unfolded_range;
use crate::{Mat3, Vec3};
use std::collections::BTreeMap;

/// Range of the factor of the fitted field that brings skin over the belly to its height. Muscles of people take 1 to 2; for muscles thinner
/// than a third of a cell it would be 3 to 5 and move cells as a whole.
const GAINS: (f64, f64) = (0.5, 2.5);

/// Weight of the skin around a muscle, in that of the muscle. With a third of it skin slides by a fifth more; with three times as much the factor of
/// the field grows by a half, and bulges stay what they are.
const SKIN_WEIGHT: f64 = 1.0;

/// Weight of displacements along a muscle, in that of those across it. Without it the belly gets shorter by a fifth more, but flesh without
/// stiffness has no displacement.
const ALONG_WEIGHT: f64 = 0.1;

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
    wishes: Vec<Vec3>,
    /// Vertices over the belly, the direction out of the muscle, and their share in the rise of the skin.
    over: Vec<(usize, Vec3, f64)>,
    /// Radius, m.
    radius: f64,
    /// Radius as a part of the one with which its points are taken.
    thinness: f64,
}

/// Amounts of the fields of a [`MuscleResponse`]: widening, and pressure.
type Amounts = [f64; 2];

impl<'a> MuscleIntegral<'a> {
    /// Sums over the flesh in a tube.
    ///
    /// # Errors
    /// The tube lies wholly outside the flesh.
    pub fn new(body: &'a Body, tube: &Tube) -> Result<Self, RigError> {
        let resolved = tube.resolved(body);
        let mut found = Self {
            body,
            shares: BTreeMap::new(),
            rows: FleshRows::default(),
            wishes: Vec::new(),
            over: Vec::new(),
            radius: tube.radius,
            thinness: tube.radius / resolved.radius,
        };
        // Flesh in cells without volume has no stiffness.
        let solid = |e: u32| body.elements().pieces(e as usize).any(|p| p.volume > 0.0);
        for brick in resolved.bricks(body) {
            for run in brick.runs(body.basis()) {
                for (point, values) in run.points().filter(|(p, _)| solid(p.element)) {
                    let Some(fibre) = resolved.fibre(&point.place) else {
                        continue;
                    };
                    let volume = fibre.share * point.volume;
                    let sum = found.shares.entry(point.element).or_default();
                    sum.volume += volume;
                    sum.active += volume * fibre.activity;
                    let across = Mat3::identity()
                        - fibre.along * fibre.along.transpose() * (1.0 - ALONG_WEIGHT);
                    let weight = across * (volume * fibre.activity);
                    found.rows.push(run.functions, values, weight);
                    found.wishes.push(fibre.wish * found.thinness);
                }
            }
        }
        found.shares.retain(|_, share| share.volume > 0.0);
        if found.shares.is_empty() {
            return Err(RigError::Outside);
        }
        found.add_skin(&resolved);
        Ok(found)
    }

    /// Adds the skin around the tube, by area, with [`SKIN_WEIGHT`] of the muscle's weight in all. Without it, cells larger than the muscle would
    /// carry its widening on to the skin as if all of the limb were muscle.
    fn add_skin(&mut self, tube: &Tube) {
        let surface = self.body.surface();
        let x = surface.vertices();
        let areas = vertex_areas(x, surface.triangles());
        let near: Vec<_> = (0..x.len())
            .filter_map(|v| Some((v, tube.skin_wish(&x[v])?)))
            .collect();
        let whole: f64 = near.iter().map(|&(v, _)| areas[v]).sum();
        let muscle: f64 = self.shares.values().map(|s| s.active).sum();
        if whole <= 0.0 {
            return;
        }
        let embedding = self.body.embedding();
        for (v, skin) in near {
            let (nodes, values): (Vec<u32>, Vec<f64>) =
                embedding.row(v).map(|(a, x)| (a as u32, x)).unzip();
            let weight = SKIN_WEIGHT * muscle * areas[v] / whole;
            self.rows.push(&nodes, &values, Mat3::identity() * weight);
            self.wishes.push(skin.wish * self.thinness);
            self.over.push((v, skin.out, skin.over * areas[v]));
        }
    }

    /// Returns the mean rise of the skin over the belly under a field, m; `None` without skin there.
    fn rise(&self, field: &[Vec3]) -> Option<f64> {
        let embedding = self.body.embedding();
        let whole: f64 = self.over.iter().map(|(.., share)| share).sum();
        let each = self.over.iter().filter(|(.., share)| *share > 0.0);
        let sum: f64 = each
            .map(|&(v, out, share)| share * embedding.position(v, field).dot(&out))
            .sum();
        (whole > 0.0).then(|| sum / whole)
    }

    /// Returns the factor of a field of unit widening with which skin over the belly rises by the radius.
    fn gain(&self, field: &[Vec3]) -> f64 {
        let (least, most) = GAINS;
        match self.rise(field) {
            Some(rise) if rise > 0.0 => (self.radius / rise).clamp(least, most),
            // Skin that sinks is not over the belly of this muscle alone.
            _ => 1.0,
        }
    }

    /// Returns the share of the flesh of each cell of the lattice that is muscle, `[cells]`, 0 to 1.
    pub fn cell_shares(&self) -> Vec<f64> {
        let basis = self.body.basis();
        let volumes = self.body.blocks().volumes();
        let thin = self.thinness.powi(2);
        let share = |cell: u32| -> f64 {
            let (mut muscle, mut flesh) = (0.0, 0.0);
            for element in basis.elements(cell) {
                muscle += self.shares.get(&element).map_or(0.0, |s| s.volume) * thin;
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
    /// Unit widening, and unit pressure.
    fields: [HeldField; 2],
    /// Volume of the muscle in each of its elements, m³, and ∇u there in the two fields.
    slopes: Vec<(f64, [Mat3; 2])>,
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
        let fields = [
            fit.nearest(&muscle.wishes),
            fit.yielding(&muscle.pressure()),
        ];
        let slopes = muscle.shares.iter().map(|(&element, share)| {
            let each = fields.each_ref();
            let each = each.map(|field| muscle.slope(element, &field.displacements));
            (share.volume, each)
        });
        let mut found = Self {
            slopes: slopes.collect(),
            fields,
        };
        let kept = found.displacements(&[1.0, found.first_pressure()]);
        found.widen(muscle.gain(&kept));
        Ok(Some(found))
    }

    /// Returns the pressure at which a small widening of 1 keeps the volume.
    fn first_pressure(&self) -> f64 {
        let [wide, pressed] = [0, 1].map(|field| -> f64 {
            let each = self.slopes.iter();
            each.map(|(volume, slopes)| volume * slopes[field].trace())
                .sum()
        });
        let pressure = -wide / pressed;
        if pressure.is_finite() { pressure } else { 0.0 }
    }

    /// Multiplies the field of unit widening.
    fn widen(&mut self, factor: f64) {
        let [
            HeldField {
                displacements,
                forces,
            },
            _,
        ] = &mut self.fields;
        displacements.iter_mut().for_each(|u| *u *= factor);
        forces.iter_mut().for_each(|f| *f *= factor);
        self.slopes
            .iter_mut()
            .for_each(|(_, [wide, _])| *wide *= factor);
    }

    /// Returns a combination of the displacements, `[nodes]`, m.
    fn displacements(&self, amounts: &Amounts) -> Vec<Vec3> {
        let [wide, pressed] = self.fields.each_ref().map(|field| &field.displacements);
        combine(wide, pressed, amounts)
    }

    /// Returns the generalised forces of a contraction, `[nodes]`, N, rest axes; as far as no flesh of the body is pressed flat.
    pub fn forces(&self, body: &Body, contraction: f64) -> Vec<Vec3> {
        let (amounts, _) = self.amounts(body, contraction);
        let [wide, pressed] = self.fields.each_ref().map(|field| &field.forces);
        combine(wide, pressed, &amounts)
    }

    /// Returns the contraction up to a wanted one at which no flesh of a body is pressed flat.
    pub fn bearable_contraction(&self, body: &Body, contraction: f64) -> f64 {
        self.amounts(body, contraction).1
    }

    /// Returns the amounts of the fields with which the muscle contracts by c in the flesh at rest of a body, or as far as no flesh is pressed
    /// flat, and that contraction.
    fn amounts(&self, body: &Body, contraction: f64) -> (Amounts, f64) {
        /// Largest number of times that the contraction is lowered; each comes much nearer to the limit.
        const TRIES: usize = 30;
        /// Factor below the estimated limit of the widening, which is that of the last, stronger contraction.
        const CAUTION: f64 = 0.95;
        const NOTHING: (Amounts, f64) = ([0.0; 2], 0.0);
        if contraction == 0.0 {
            return NOTHING;
        }
        let still = vec![Vec3::zeros(); body.node_count()];
        let mut contraction = contraction;
        for _ in 0..TRIES {
            let amounts = self.volume_keeping(contraction);
            let moved = self.displacements(&amounts);
            let (_, most) = unfolded_range(body.elements(), &still, &moved);
            if most >= 1.0 {
                return (amounts, contraction);
            }
            let wider = CAUTION * most * widening(contraction);
            contraction = 1.0 - (1.0 + wider).powi(-2);
        }
        NOTHING
    }

    /// Returns the amounts of a contraction, with the pressure at which the volume stays, by the secant method; without pressure if there is none.
    fn volume_keeping(&self, contraction: f64) -> Amounts {
        /// Secant steps. Volume is nearly linear in the pressure, so that each gains three digits.
        const ROUNDS: usize = 8;
        let wider = widening(contraction);
        let growth = |pressure| self.growth(&[wider, pressure]);
        let (mut other, mut pressure) = (0.0, wider * self.first_pressure());
        let (mut at_other, mut at) = (growth(other), growth(pressure));
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
            true => [wider, pressure],
            false => [wider, 0.0],
        }
    }

    /// Returns the growth of the muscle's volume, as a part of it, in a combination of the fields.
    fn growth(&self, amounts: &Amounts) -> f64 {
        let whole: f64 = self.slopes.iter().map(|(volume, _)| volume).sum();
        let grown = |(volume, slopes): &(f64, [Mat3; 2])| {
            let each = slopes.iter().zip(amounts);
            volume * growth(&each.map(|(slope, amount)| slope * *amount).sum())
        };
        self.slopes.iter().map(grown).sum::<f64>() / whole
    }
}

/// Returns by which share a free muscle gets wider that shortens by c.
fn widening(contraction: f64) -> f64 {
    1.0 / (1.0 - contraction).sqrt() - 1.0
}

/// Returns the combination of two fields.
fn combine(wide: &[Vec3], pressed: &[Vec3], [a, b]: &Amounts) -> Vec<Vec3> {
    let each = wide.iter().zip(pressed);
    each.map(|(w, p)| w * *a + p * *b).collect()
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
