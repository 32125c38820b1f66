// SPDX-License-Identifier: MIT OR Apache-2.0
//! One surface prepared for the warp, and the input of a frame.
//!
//! Everything is checked here, once: engines take frames that this file prepared, and meet no index out of range and
//! no number that is not finite. Bounds on amplitudes, maps and rest positions keep every product in f32.

use super::super::cpu::PackedRows;
use super::super::limit::{LocalMaps, SkinPairs};
use super::super::target::OutputForm;
use super::super::{KernelError, LocalPositions, OutputSpace};
use super::blocks::{ModeBlocks, Precision};
use crate::Vec3;
use crate::lattice::Embedding;
use crate::skeleton::{Pose, SkinWeights};

/// Largest displacement, rest coordinate and number of a bone's map, metres.
const MAX_LENGTH: f64 = 1e12;
/// Largest rotation vector, radians. Beyond a thousand turns it has no meaning, but stays finite.
const MAX_ROTATION: f64 = 1e12;
/// Largest weight of an embedding; above one only outside the cell.
const MAX_WEIGHT: f64 = 1e3;
/// Smallest soft limit, metres.
const MIN_LIMIT: f64 = 1e-30;

/// Points at which the warp is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarpForm {
    /// The vertices of the surface \[choi2003\].
    #[default]
    Vertex,
    /// The nodes of the body; vertices follow their cells.
    Embedded,
}

impl WarpForm {
    /// Returns "vertex" or "embedded".
    pub fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Embedded => "embedded",
        }
    }

    /// Returns the form of a name; `None` for other names.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "vertex" => Some(Self::Vertex),
            "embedded" => Some(Self::Embedded),
            _ => None,
        }
    }
}

/// The modes of one surface, packed, with its rest shape and its skin.
#[derive(Debug, Clone)]
pub struct WarpModel {
    form: WarpForm,
    pub(super) blocks: ModeBlocks,
    /// Embedding of the surface in the nodes; embedded form only.
    pub(super) rows: Option<PackedRows>,
    pub(super) rest: LocalPositions,
    pub(super) skin: Option<WarpSkin>,
}

/// Skin weights; vertices that no bone carries follow one extra bone that never moves.
#[derive(Debug, Clone)]
pub(super) struct WarpSkin {
    pub pairs: SkinPairs,
    bones: usize,
    /// Share of the surface that each bone carries; they sum to one.
    shares: Vec<f64>,
}

impl WarpModel {
    /// Packs the per-vertex form. Each mode has one shape vector (1/√kg) and one rotation vector (1/(m √kg)) per node
    /// of the body. The embedding has one row over nodes per vertex of the surface; without it vertex `i` is node
    /// `i`. `rest` holds world positions of the surface, metres. Posed output needs skin weights.
    ///
    /// # Errors
    /// No modes, modes of unequal length, an embedding or skin weights of another surface, or numbers that are not
    /// finite.
    pub fn per_vertex(
        shapes: &[Vec<Vec3>],
        rotations: &[Vec<Vec3>],
        embedding: Option<&Embedding>,
        rest: &[Vec3],
        skin: Option<&SkinWeights>,
        precision: Precision,
    ) -> Result<Self, KernelError> {
        let nodes = check_modes(shapes, rotations)?;
        check_surface(nodes, embedding, rest)?;
        let at = |of: &[Vec3], point: usize| match embedding {
            Some(e) => e.position(point, of),
            None => of[point],
        };
        let blocks = ModeBlocks::new(precision, rest.len(), shapes.len(), |mode, point| {
            [at(&shapes[mode], point), at(&rotations[mode], point)]
        });
        Self::new(WarpForm::Vertex, blocks, None, rest, skin)
    }

    /// Packs the embedded form from the same arguments. The precision is that of the modes at the nodes; weights are
    /// f32.
    ///
    /// # Errors
    /// Errors of [`per_vertex`](Self::per_vertex).
    pub fn embedded(
        shapes: &[Vec<Vec3>],
        rotations: &[Vec<Vec3>],
        embedding: Option<&Embedding>,
        rest: &[Vec3],
        skin: Option<&SkinWeights>,
        precision: Precision,
    ) -> Result<Self, KernelError> {
        let nodes = check_modes(shapes, rotations)?;
        check_surface(nodes, embedding, rest)?;
        let rows = match embedding {
            Some(e) => PackedRows::new(e, nodes)?,
            None => PackedRows::identity(nodes),
        };
        let blocks = ModeBlocks::new(precision, nodes, shapes.len(), |mode, node| {
            [shapes[mode][node], rotations[mode][node]]
        });
        Self::new(WarpForm::Embedded, blocks, Some(rows), rest, skin)
    }

    fn new(
        form: WarpForm,
        blocks: ModeBlocks,
        rows: Option<PackedRows>,
        rest: &[Vec3],
        skin: Option<&SkinWeights>,
    ) -> Result<Self, KernelError> {
        Ok(Self {
            form,
            blocks,
            rows,
            rest: LocalPositions::new(rest),
            skin: skin.map(|s| WarpSkin::new(s, rest.len())).transpose()?,
        })
    }

    /// Returns the form of the warp.
    pub fn form(&self) -> WarpForm {
        self.form
    }

    /// Returns the precision of the stored modes.
    pub fn precision(&self) -> Precision {
        self.blocks.precision()
    }

    /// Returns the number of vertices of the surface.
    pub fn vertices(&self) -> usize {
        self.rest.points.len()
    }

    /// Returns the number of modes.
    pub fn modes(&self) -> usize {
        self.blocks.modes
    }

    /// Returns the number of bones of the skin weights; `None` without them.
    pub fn bones(&self) -> Option<usize> {
        self.skin.as_ref().map(|s| s.bones)
    }

    /// Returns the fewest bytes read and written for a frame, with or without the skin.
    pub fn bytes(&self, posed: bool) -> usize {
        let rows = self
            .rows
            .as_ref()
            .map_or(0, |r| r.bytes() + 16 * self.blocks.points);
        let skin = self.skin.as_ref().filter(|_| posed);
        let skin = skin.map_or(0, |s| s.pairs.bytes() + 12 * self.vertices());
        self.blocks.bytes() + rows + skin + 12 * self.vertices()
    }

    /// Returns the maps of a pose for this surface, with a soft limit on the shown distance from its skin, metres.
    /// Vertices without weights stay in rest space, as under an armature.
    ///
    /// # Errors
    /// No skin weights, a pose of another skeleton, maps too large for single precision, or a limit that is not
    /// positive.
    pub fn pose(&self, pose: &Pose, limit: Option<f64>) -> Result<BoneMaps, KernelError> {
        let skin = self.skin.as_ref().ok_or(KernelError::NoSkin)?;
        let (expected, given) = (skin.bones, pose.maps().len());
        if expected != given {
            return Err(KernelError::Bones { expected, given });
        }
        if limit.is_some_and(|l| !(l.is_finite() && l > 0.0)) {
            return Err(KernelError::Limit);
        }
        // The origin follows the surface, so that posed positions near it are small numbers.
        let rest_origin = Vec3::from(self.rest.origin.map(f64::from));
        let mut middle = rest_origin;
        for (bone, (map, share)) in pose.maps().iter().zip(&skin.shares).enumerate() {
            let there = map.apply(rest_origin);
            let fits = |x: &f64| x.abs() <= MAX_LENGTH;
            if !(there.iter().all(fits) && map.linear.iter().all(fits)) {
                return Err(KernelError::BoneTooLarge { bone });
            }
            middle += (there - rest_origin) * *share;
        }
        let origin = [middle.x as f32, middle.y as f32, middle.z as f32];
        let limit = limit.map_or(f32::INFINITY, |l| l.clamp(MIN_LIMIT, MAX_LENGTH) as f32);
        Ok(BoneMaps {
            maps: LocalMaps::with_rest(pose, rest_origin, origin),
            limit,
        })
    }

    /// Checks and prepares a frame.
    pub(super) fn prepare<'a>(
        &'a self,
        frame: &WarpInput<'a>,
    ) -> Result<PreparedFrame<'a>, KernelError> {
        let finish = match frame.shown {
            FrameOutput::Displacements => Finish::Displacements,
            FrameOutput::Rest => Finish::Rest(&self.rest),
            FrameOutput::Posed(bones) => {
                Finish::Posed(&self.rest, self.checked_skin(bones)?, bones)
            }
            FrameOutput::Offsets(bones) => {
                Finish::Offsets(&self.rest, self.checked_skin(bones)?, bones)
            }
        };
        let target = &frame.target;
        let writing = match frame.shown {
            FrameOutput::Displacements | FrameOutput::Offsets(_) => target.vector_form(),
            FrameOutput::Rest => target.position_form(self.rest.origin),
            FrameOutput::Posed(bones) => target.position_form(bones.origin()),
        };
        Ok(PreparedFrame {
            amplitudes: self.amplitudes(frame.amplitudes, frame.warp)?,
            finish,
            writing,
        })
    }

    /// Returns the skin; checks that these bones belong to it.
    fn checked_skin(&self, bones: &BoneMaps) -> Result<&SkinPairs, KernelError> {
        let skin = self.skin.as_ref().ok_or(KernelError::NoSkin)?;
        let (expected, given) = (skin.bones, bones.maps.maps().len() - 1);
        if expected != given {
            return Err(KernelError::Bones { expected, given });
        }
        Ok(&skin.pairs)
    }

    /// Checks and prepares all frames, and checks the output's length.
    pub(super) fn prepare_all<'a>(
        &'a self,
        frames: &[WarpInput<'a>],
        room: usize,
    ) -> Result<Vec<PreparedFrame<'a>>, KernelError> {
        let (expected, given) = (3 * self.vertices() * frames.len(), room);
        if expected != given {
            return Err(KernelError::Output { expected, given });
        }
        frames.iter().map(|f| self.prepare(f)).collect()
    }

    /// Returns the factors on the stored shapes and rotations of each mode.
    fn amplitudes(&self, amplitudes: &[f64], warp: bool) -> Result<Vec<[f32; 2]>, KernelError> {
        let (expected, given) = (self.modes(), amplitudes.len());
        if expected != given {
            return Err(KernelError::Amplitudes { expected, given });
        }
        let (mut reach, mut worst) = ([0.0; 2], (0.0, 0));
        for (mode, (q, peaks)) in amplitudes.iter().zip(&self.blocks.peaks).enumerate() {
            if !q.is_finite() {
                return Err(KernelError::Amplitude { mode });
            }
            let part = [
                q.abs() * peaks[0] / MAX_LENGTH,
                q.abs() * peaks[1] / MAX_ROTATION,
            ];
            reach = [reach[0] + part[0], reach[1] + part[1]];
            if part[0].max(part[1]) > worst.0 {
                worst = (part[0].max(part[1]), mode);
            }
        }
        if !(reach[0] <= 1.0 && reach[1] <= 1.0) {
            return Err(KernelError::TooLarge { mode: worst.1 });
        }
        let turns = if warp { 1.0 } else { 0.0 };
        let scaled = amplitudes.iter().zip(&self.blocks.scales);
        Ok(scaled
            .map(|(q, s)| [(q * s[0]) as f32, (q * s[1] * turns) as f32])
            .collect())
    }
}

impl WarpSkin {
    fn new(weights: &SkinWeights, vertices: usize) -> Result<Self, KernelError> {
        let bones = weights.bone_count;
        let (mut shares, mut rows) = (vec![0.0; bones + 1], Vec::with_capacity(vertices));
        for row in 0..vertices.max(weights.len()) {
            let bad = || KernelError::Skin { vertices, row };
            let ends = weights.offsets.get(row).zip(weights.offsets.get(row + 1));
            let (&from, &to) = ends.filter(|_| row < vertices).ok_or_else(bad)?;
            let range = from as usize..to as usize;
            let these = weights.bones.get(range.clone()).ok_or_else(bad)?;
            let those = weights.weights.get(range).ok_or_else(bad)?;
            let mut pairs: Vec<(u32, f64)> =
                these.iter().copied().zip(those.iter().copied()).collect();
            if pairs
                .iter()
                .any(|&(b, w)| b as usize >= bones || !is_weight(w))
            {
                return Err(bad());
            }
            if pairs.is_empty() {
                pairs.push((bones as u32, 1.0));
            }
            for &(bone, weight) in &pairs {
                shares[bone as usize] += weight / vertices as f64;
            }
            rows.push(pairs);
        }
        Ok(Self {
            pairs: SkinPairs::from_rows(&rows),
            bones,
            shares,
        })
    }
}

/// Returns whether a weight is in range; `false` for NaN.
fn is_weight(w: f64) -> bool {
    w.abs() <= MAX_WEIGHT
}

/// The bones' maps of one frame: see [`WarpModel::pose`].
#[derive(Debug, Clone, PartialEq)]
pub struct BoneMaps {
    pub(super) maps: LocalMaps,
    /// Soft limit, metres; infinite: no limit.
    pub(super) limit: f32,
}

/// Input of one frame.
#[derive(Debug, Clone, Copy)]
pub struct WarpInput<'a> {
    /// Amplitudes, one per mode, m √kg.
    pub amplitudes: &'a [f64],
    /// `true`: local rotations are applied; otherwise `u = Φ q`.
    pub warp: bool,
    /// Kind of output.
    pub shown: FrameOutput<'a>,
    /// Space of the output.
    pub target: OutputSpace,
}

impl BoneMaps {
    /// Returns a point of the world near the surface, metres: the origin of posed positions.
    pub fn origin(&self) -> [f32; 3] {
        self.maps.origin()
    }
}

/// Kind of output of a frame.
#[derive(Debug, Clone, Copy)]
pub enum FrameOutput<'a> {
    /// Displacements u in rest space.
    Displacements,
    /// World positions `x + u`.
    Rest,
    /// World positions `T(x + u)`.
    Posed(&'a BoneMaps),
    /// Offsets from the skin, `T(x + u) − T(x)`.
    Offsets(&'a BoneMaps),
}

impl<'a> FrameOutput<'a> {
    /// Returns posed positions if there are bones, else positions at rest.
    pub fn positions(bones: Option<&'a BoneMaps>) -> Self {
        bones.map_or(Self::Rest, Self::Posed)
    }
}

impl<'a> WarpInput<'a> {
    /// Builds the input of a warped frame in the world.
    pub fn new(amplitudes: &'a [f64], shown: FrameOutput<'a>) -> Self {
        Self {
            amplitudes,
            warp: true,
            shown,
            target: OutputSpace::WORLD,
        }
    }

    /// Returns the same input with output in the space of a target.
    #[must_use]
    pub fn with_target(self, target: OutputSpace) -> Self {
        Self { target, ..self }
    }
}

/// A checked frame.
pub(super) struct PreparedFrame<'a> {
    /// Factors on shape and rotation of each mode as stored.
    pub amplitudes: Vec<[f32; 2]>,
    pub finish: Finish<'a>,
    /// Form in which the output is written.
    pub writing: OutputForm,
}

/// Conversion of a displacement to output, about the output's origin.
pub(super) enum Finish<'a> {
    Displacements,
    Rest(&'a LocalPositions),
    Posed(&'a LocalPositions, &'a SkinPairs, &'a BoneMaps),
    Offsets(&'a LocalPositions, &'a SkinPairs, &'a BoneMaps),
}

impl Finish<'_> {
    /// Returns the bones' maps and the soft limit, for kernels of graphics devices.
    #[cfg(feature = "gpu")]
    pub(super) fn maps_and_limit(&self) -> (&[super::super::limit::MapColumns], f32) {
        match self {
            Self::Displacements | Self::Rest(_) => (&[], f32::INFINITY),
            Self::Posed(.., bones) | Self::Offsets(.., bones) => (bones.maps.maps(), bones.limit),
        }
    }

    /// Returns the output's code in the kernels of graphics devices.
    #[cfg(feature = "gpu")]
    pub(super) fn output_code(&self) -> u32 {
        match self {
            Self::Displacements => 0,
            Self::Rest(_) => 1,
            Self::Posed(..) => 2,
            Self::Offsets(..) => 3,
        }
    }
}

/// Returns the number of nodes, which all modes must share.
fn check_modes(shapes: &[Vec<Vec3>], rotations: &[Vec<Vec3>]) -> Result<usize, KernelError> {
    if shapes.len() != rotations.len() {
        return Err(KernelError::Modes {
            shapes: shapes.len(),
            rotations: rotations.len(),
        });
    }
    let expected = shapes.first().ok_or(KernelError::NoModes)?.len();
    for (mode, both) in shapes.iter().zip(rotations).enumerate() {
        for of in [both.0, both.1] {
            if of.len() != expected {
                let given = of.len();
                return Err(KernelError::ModeLength {
                    mode,
                    expected,
                    given,
                });
            }
            let fits = |v: &Vec3| v.iter().all(|x| x.abs() < f64::from(f32::MAX));
            if let Some(node) = of.iter().position(|v| !fits(v)) {
                return Err(KernelError::ModeNonFinite { mode, node });
            }
        }
    }
    Ok(expected)
}

fn check_surface(
    nodes: usize,
    embedding: Option<&Embedding>,
    rest: &[Vec3],
) -> Result<(), KernelError> {
    let (expected, given) = (rest.len(), embedding.map_or(nodes, Embedding::len));
    if expected != given {
        return Err(KernelError::Surface { expected, given });
    }
    let fits = |p: &Vec3| p.iter().all(|x| x.abs() <= MAX_LENGTH);
    if let Some(vertex) = rest.iter().position(|p| !fits(p)) {
        return Err(KernelError::Rest { vertex });
    }
    let Some(e) = embedding else { return Ok(()) };
    for vertex in 0..e.len() {
        for (index, w) in e.row(vertex) {
            if index >= nodes {
                let (index, count) = (index as u32, nodes);
                return Err(KernelError::OutOfRange {
                    vertex,
                    index,
                    count,
                });
            }
            if !is_weight(w) {
                return Err(KernelError::Weight { vertex });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
