// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geometry that several modules share: measures and searches over points, triangles and rotations.

pub(crate) mod aabb;
pub(crate) mod frames;
pub(crate) mod geodesic;
pub(crate) mod groups;
pub(crate) mod marching;
pub(crate) mod matrix;
pub(crate) mod moments;
pub(crate) mod polyline;
pub(crate) mod rotation;
pub mod rotation_vector;
pub(crate) mod samples;
pub(crate) mod sets;
pub(crate) mod tetrahedron;
