// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the kernels' inputs and devices.

/// Reasons why a kernel cannot be built or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The embedding belongs to another lattice.
    #[error(
        "surface vertex {vertex} hangs on lattice vertex {index}, but the lattice has {count} vertices"
    )]
    OutOfRange {
        /// Surface vertex.
        vertex: usize,
        /// Lattice vertex in its row.
        index: u32,
        /// Number of lattice vertices.
        count: usize,
    },
    /// The positions belong to another lattice.
    #[error("there are {given} lattice positions, but the embedding was made for {expected}")]
    Lattice {
        /// Expected number.
        expected: usize,
        /// Actual number.
        given: usize,
    },
    /// The output has the wrong length.
    #[error("the output has room for {given} numbers, but {expected} are needed")]
    Output {
        /// Expected length.
        expected: usize,
        /// Actual length.
        given: usize,
    },
    /// There are no modes.
    #[error("there are no modes; a deformer needs at least one")]
    NoModes,
    /// Numbers of shapes and rotations differ.
    #[error("there are {shapes} mode shapes, but {rotations} modal rotations")]
    Modes {
        /// Number of mode shapes.
        shapes: usize,
        /// Number of modal rotations.
        rotations: usize,
    },
    /// A mode belongs to another body.
    #[error("mode {mode} has {given} vectors, but the body has {expected} nodes")]
    ModeLength {
        /// Index of the mode.
        mode: usize,
        /// Nodes of the body.
        expected: usize,
        /// Vectors of the mode.
        given: usize,
    },
    /// A mode has numbers that are not finite, or too large for f32.
    #[error("mode {mode} is not finite at node {node}, or too large for single precision")]
    ModeNonFinite {
        /// Index of the mode.
        mode: usize,
        /// Index of the node.
        node: usize,
    },
    /// The embedding belongs to another surface, or is missing although nodes are not the surface's
    /// vertices.
    #[error("the surface has {expected} vertices, but the embedding has {given}")]
    Surface {
        /// Vertices of the surface.
        expected: usize,
        /// Points of the embedding, or nodes of the body.
        given: usize,
    },
    /// A weight of the embedding is not finite.
    #[error("a weight of surface vertex {vertex} is not finite")]
    Weight {
        /// Surface vertex.
        vertex: usize,
    },
    /// A rest position is not finite, or too far away.
    #[error("the rest position of surface vertex {vertex} is not finite, or too far away")]
    Rest {
        /// Surface vertex.
        vertex: usize,
    },
    /// The skin weights do not fit this surface.
    #[error(
        "the skin weights do not fit: {vertices} vertices are expected, row {row} is damaged or missing"
    )]
    Skin {
        /// Vertices of the surface.
        vertices: usize,
        /// First row that is wrong.
        row: usize,
    },
    /// The amplitudes belong to other modes.
    #[error("there are {given} amplitudes, but {expected} are needed, one for each mode")]
    Amplitudes {
        /// Number of modes, or modes times frames.
        expected: usize,
        /// Actual number.
        given: usize,
    },
    /// An amplitude is not finite.
    #[error("the amplitude of mode {mode} is not finite")]
    Amplitude {
        /// Index of the mode.
        mode: usize,
    },
    /// The amplitudes carry the surface out of the range of f32.
    #[error(
        "the amplitudes are too large: mode {mode} alone turns or moves the surface out of range"
    )]
    TooLarge {
        /// Mode that contributes most.
        mode: usize,
    },
    /// A pose for a surface without skin weights.
    #[error("a pose was given, but the deformer was made without skin weights")]
    NoSkin,
    /// The pose belongs to another skeleton.
    #[error("the pose has {given} bones, but the skin weights are for {expected}")]
    Bones {
        /// Bones of the skin weights.
        expected: usize,
        /// Bones of the pose.
        given: usize,
    },
    /// The pose is out of the range of f32.
    #[error("the map of bone {bone} is too large to be shown")]
    BoneTooLarge {
        /// Index of the bone.
        bone: usize,
    },
    /// The target space has numbers that are not finite, or beyond 1e12.
    #[error("the target space has a number that is not finite, or beyond 1e12")]
    Target,
    /// The limit is not a positive number.
    #[error("a soft limit must be a positive number of metres")]
    Limit,
    /// The number of poses differs from the number of frames.
    #[error("there are {given} poses, but {expected} frames; give one for each or none")]
    Poses {
        /// Number of frames.
        expected: usize,
        /// Number of poses.
        given: usize,
    },
    /// The engine's name is unknown.
    #[error("there is no engine '{name}'; there are: auto, cpu, gpu and gpu:NAME")]
    Engine {
        /// The name passed.
        name: String,
    },
    /// The graphics device cannot be used, or no longer.
    #[error("the graphics device cannot be used: {reason}")]
    Device {
        /// Message of the device.
        reason: String,
    },
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
}
