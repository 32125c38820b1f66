// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lattice as plain data for files. What was read is checked like arguments.

use super::{BoneChains, Cell, CellParts, FleshOwnership, Lattice, MirrorPlane};
use crate::Vec3;
use crate::store::texts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A lattice without the search tree of its cells.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct StoredLattice {
    vertices: Vec<Vec3>,
    cells: Vec<Cell>,
    bones: BoneChains,
    #[serde(deserialize_with = "texts")]
    notes: Vec<String>,
    flesh: Option<FleshOwnership>,
    parts: Option<CellParts>,
    mirror_plane: Option<MirrorPlane>,
}

impl StoredLattice {
    pub fn new(lattice: &Lattice) -> Self {
        Self {
            vertices: lattice.vertices.clone(),
            cells: lattice.cells.clone(),
            bones: lattice.bones.clone(),
            notes: lattice.notes.clone(),
            flesh: lattice.flesh.clone(),
            parts: lattice.parts.clone(),
            mirror_plane: lattice.mirror_plane,
        }
    }

    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertices.len()
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Builds the lattice. Returns what is wrong with data that would lead out of bounds.
    pub fn into_lattice(self) -> Result<Lattice, &'static str> {
        let cells = self.cells.len();
        let fits = self.flesh.as_ref().is_none_or(|f| f.fits(cells))
            && self.parts.as_ref().is_none_or(|p| p.fits(cells));
        if !fits {
            return Err("its flesh does not fit its lattice");
        }
        if !chains_fit(&self.bones, self.vertices.len()) {
            return Err("its bones do not fit its lattice");
        }
        let lattice = Lattice::with_bones(self.vertices, self.cells, self.bones);
        let mut lattice = lattice.map_err(|_| "its lattice is invalid")?;
        let plane = self.mirror_plane;
        if !plane.is_none_or(|p| lattice.may_be_mirrored(&p)) {
            return Err("its mirror plane does not fit its lattice");
        }
        lattice.notes = self.notes;
        (lattice.flesh, lattice.parts, lattice.mirror_plane) = (self.flesh, self.parts, plane);
        Ok(lattice)
    }
}

/// Returns whether chains run over existing vertices, one a bone and one a tip.
fn chains_fit(bones: &BoneChains, vertices: usize) -> bool {
    let counted = bones.used_bones.len() + bones.tip_bones.len();
    let mut on = bones.chains.iter().flatten();
    bones.chains.len() == counted
        && on.all(|&v| (v as usize) < vertices)
        && bones.bone_of_vertex.len() <= vertices
}

impl Serialize for Lattice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredLattice::new(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Lattice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredLattice::deserialize(deserializer)?;
        stored.into_lattice().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::store::{from_bytes, to_bytes};
    use std::path::Path;

    /// A lattice comes back from its bytes with its bones and notes, and points have the same places in it.
    #[test]
    fn lattice_comes_back_from_bytes() {
        let mut lattice = (**BarOptions::default().build().lattice()).clone();
        lattice.add_notes(vec!["a note".into()]);
        let name = Path::new("a lattice");
        let bytes = to_bytes(name, "lattice", &lattice).unwrap();
        let again: Lattice = from_bytes(name, "lattice", &bytes).unwrap();
        assert_eq!(again.vertices(), lattice.vertices());
        assert_eq!(again.cells(), lattice.cells());
        assert_eq!(
            (again.bones(), again.notes()),
            (lattice.bones(), lattice.notes())
        );
        let points = [Vec3::new(0.01, 0.02, 0.3), Vec3::new(5.0, 0.0, 0.0)];
        assert!(again.embed(&points) == lattice.embed(&points));
    }

    /// Stored bones on vertices that the lattice lacks are refused.
    #[test]
    fn wrong_bones_are_refused() {
        let lattice = (**BarOptions::default().build().lattice()).clone();
        let spoilt: [fn(&mut StoredLattice); 4] = [
            |s| s.bones.chains[0][0] = u32::MAX,
            |s| s.bones.used_bones.push(0),
            |s| s.bones.bone_of_vertex = vec![None; s.vertices.len() + 1],
            |s| s.vertices.truncate(3),
        ];
        for (i, spoil) in spoilt.into_iter().enumerate() {
            let mut bad = StoredLattice::new(&lattice);
            spoil(&mut bad);
            assert!(bad.into_lattice().is_err(), "{i}");
        }
    }
}
