// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual-node splitting (in the making): passes the cells through.
use crate::Vec3;
use crate::progress::{Cancelled, Progress};
use crate::surface::{DistanceGrid, Surface};
#[allow(dead_code)]
pub(crate) struct SplitInput<'a> {
    pub vertices: &'a [Vec3],
    pub tets: &'a [[u32; 4]],
    pub surface: &'a Surface,
    pub grid: &'a DistanceGrid,
    pub h: f64,
    pub bone_vertices: usize,
    pub bone_edges: &'a [(u32, u32, u32)],
}
pub(crate) struct Split {
    pub vertices: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    pub bone_vertex: Vec<u32>,
    pub copies: usize,
    pub flesh: (),
}
pub(crate) fn split(i: SplitInput<'_>, _p: &dyn Progress) -> Result<Split, Cancelled> {
    Ok(Split {
        vertices: i.vertices.to_vec(),
        tets: i.tets.to_vec(),
        bone_vertex: (0..i.bone_vertices as u32).collect(),
        copies: 0,
        flesh: (),
    })
}
