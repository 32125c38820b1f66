// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with what a kernel is given.

/// Why a kernel could not be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// An embedding for another lattice.
    #[error(
        "surface vertex {vertex} hangs on lattice vertex {index}, but the lattice has {count} vertices"
    )]
    OutOfRange {
        /// The surface vertex.
        vertex: usize,
        /// The lattice vertex it names.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// A row longer than the kernels have.
    #[error(
        "surface vertex {vertex} hangs on {entries} lattice vertices, but what is shown hangs on at most eight"
    )]
    Wide {
        /// The surface vertex.
        vertex: usize,
        /// The length of its row.
        entries: usize,
    },
    /// Positions of another lattice.
    #[error("there are {given} lattice positions, but the embedding was made for {expected}")]
    Lattice {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// An output of the wrong length.
    #[error("the output has room for {given} numbers, but {expected} are needed")]
    Output {
        /// How long it should be.
        expected: usize,
        /// How long it is.
        given: usize,
    },
    /// No modes at all.
    #[error("there are no modes; a deformer needs at least one")]
    NoModes,
    /// Not as many rotations as shapes.
    #[error("there are {shapes} mode shapes, but {rotations} modal rotations")]
    Modes {
        /// Number of mode shapes.
        shapes: usize,
        /// Number of modal rotations.
        rotations: usize,
    },
    /// A mode of another body.
    #[error("mode {mode} has {given} vectors, but the body has {expected} nodes")]
    ModeLength {
        /// The mode.
        mode: usize,
        /// Nodes of the body.
        expected: usize,
        /// Vectors of the mode.
        given: usize,
    },
    /// A mode with numbers that cannot be shown.
    #[error("mode {mode} is not finite at node {node}, or too large for single precision")]
    ModeNonFinite {
        /// The mode.
        mode: usize,
        /// The node.
        node: usize,
    },
    /// An embedding of another surface, or none where the nodes are not the surface's vertices.
    #[error("the surface has {expected} vertices, but the embedding has {given}")]
    Surface {
        /// Vertices of the surface.
        expected: usize,
        /// Points of the embedding, or nodes of the body.
        given: usize,
    },
    /// A weight of the embedding that is not a number.
    #[error("a weight of surface vertex {vertex} is not finite")]
    Weight {
        /// The surface vertex.
        vertex: usize,
    },
    /// A rest position that is not a number.
    #[error("the rest position of surface vertex {vertex} is not finite, or too far away")]
    Rest {
        /// The surface vertex.
        vertex: usize,
    },
    /// Skin weights that are no table of this surface.
    #[error(
        "the skin weights do not fit: {vertices} vertices are expected, row {row} is damaged or missing"
    )]
    Skin {
        /// Vertices of the surface.
        vertices: usize,
        /// The first row that is wrong.
        row: usize,
    },
    /// Amplitudes of other modes.
    #[error("there are {given} amplitudes, but {expected} are needed, one for each mode")]
    Amplitudes {
        /// Number of modes, or modes times frames.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// An amplitude that is not a number.
    #[error("the amplitude of mode {mode} is not finite")]
    Amplitude {
        /// The mode.
        mode: usize,
    },
    /// Amplitudes that carry the surface out of single precision.
    #[error(
        "the amplitudes are too large: mode {mode} alone turns or moves the surface out of range"
    )]
    TooLarge {
        /// The mode that contributes most.
        mode: usize,
    },
    /// Bones for a surface without skin weights.
    #[error("a pose was given, but the deformer was made without skin weights")]
    NoSkin,
    /// A pose of another skeleton.
    #[error("the pose has {given} bones, but the skin weights are for {expected}")]
    Bones {
        /// Bones of the skin weights.
        expected: usize,
        /// Bones of the pose.
        given: usize,
    },
    /// A pose out of single precision.
    #[error("the map of bone {bone} is too large to be shown")]
    BoneTooLarge {
        /// The bone.
        bone: usize,
    },
    /// A target space that is none.
    #[error("the target space has a number that is not finite, or beyond 1e12")]
    Target,
    /// A limit that is none.
    #[error("a soft limit must be a positive number of metres")]
    Limit,
    /// Poses for another number of frames.
    #[error("there are {given} poses, but {expected} frames; give one for each or none")]
    Poses {
        /// Number of frames.
        expected: usize,
        /// Number of poses.
        given: usize,
    },
    /// An engine that is not known.
    #[error("there is no engine '{name}'; known are auto, cpu, gpu and gpu:NAME")]
    Engine {
        /// What was asked for.
        name: String,
    },
    /// The graphics device cannot do it, or no longer.
    #[error("the graphics device cannot be used: {reason}")]
    Device {
        /// What it said.
        reason: String,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
}
