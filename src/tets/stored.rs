// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tetrahedral mesh as plain data for files. What was read is checked like arguments.

use super::TetMesh;
use super::cubes::split;
use crate::Vec3;
use crate::store::texts;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
struct StoredTetMesh<'a> {
    vertices: Cow<'a, [Vec3]>,
    tets: Cow<'a, [[u32; 4]]>,
    cubes: Cow<'a, [[u32; 8]]>,
    #[serde(deserialize_with = "texts")]
    notes: Vec<String>,
}

impl Serialize for TetMesh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = StoredTetMesh {
            vertices: Cow::Borrowed(&self.vertices),
            tets: Cow::Borrowed(&self.tets),
            cubes: Cow::Borrowed(&self.cubes),
            notes: self.notes.clone(),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TetMesh {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredTetMesh::deserialize(deserializer)?;
        let (cubes, tets) = (stored.cubes.into_owned(), stored.tets.into_owned());
        let mesh = Self::new(stored.vertices.into_owned(), tets).map_err(D::Error::custom)?;
        let known = |&v: &u32| (v as usize) < mesh.vertices.len();
        let fit = cubes.iter().flatten().all(known)
            && (cubes.is_empty() || cubes.iter().flat_map(split).eq(mesh.tets.iter().copied()));
        if !fit {
            return Err(D::Error::custom("its cubes do not fit its tetrahedra"));
        }
        Ok(Self {
            cubes,
            notes: stored.notes,
            ..mesh
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{from_bytes, to_bytes};
    use std::path::Path;

    /// Meshes of cubes and of tetrahedra come back from their bytes; cubes of another mesh are refused.
    #[test]
    fn mesh_comes_back_from_bytes() {
        let name = Path::new("a mesh");
        let read = |mesh: &TetMesh| {
            let bytes = to_bytes(name, "tets", mesh).unwrap();
            from_bytes::<TetMesh>(name, "tets", &bytes)
        };
        let mut bar = TetMesh::grid([2, 1, 1], [1.0, 0.5, 0.5]).unwrap();
        bar.notes.push("a note".into());
        assert_eq!(read(&bar).unwrap(), bar);
        bar.cubes.clear();
        assert_eq!(read(&bar).unwrap(), bar);
        for cubes in [vec![[0; 8]], vec![[99; 8]]] {
            let error = read(&TetMesh {
                cubes,
                ..bar.clone()
            })
            .unwrap_err();
            assert!(error.to_string().contains("cubes"), "{error}");
        }
    }
}
