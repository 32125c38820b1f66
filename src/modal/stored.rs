// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes and their display options as plain data, beside their body or with the lattice of their tetrahedra.

use super::DeformSettings;
use super::modes::{ModeShapes, Modes};
use crate::Vec3;
use crate::basis::Basis;
use crate::body::Body;
use crate::lattice::StoredLattice;
use crate::range::{all_storable, is_storable};
use crate::store::{self, StoreError, Text};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::Path;
use std::sync::Arc;

/// [`Modes`] without their body.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredModes {
    fixed: Vec<bool>,
    eigenvalues: Vec<f64>,
    verified: bool,
    shapes: Vec<Vec<Vec3>>,
    rotations: Vec<Vec<Vec3>>,
    momenta: Vec<Vec<Vec3>>,
    neighbours: Vec<Vec<u32>>,
    masses: Vec<f64>,
}

impl StoredModes {
    pub fn new(modes: &Modes) -> Self {
        let basis = &modes.basis;
        Self {
            fixed: modes.fixed.clone(),
            eigenvalues: modes.eigenvalues.clone(),
            verified: modes.verified,
            shapes: basis.shapes.clone(),
            rotations: basis.rotations.clone(),
            momenta: basis.packed.momenta(modes.len(), modes.node_count()),
            neighbours: basis.neighbours.clone(),
            masses: basis.masses.clone(),
        }
    }

    /// Restores the modes that move all of a body's flesh; `None` where they do not fit it.
    pub fn into_modes(self, body: &Arc<Body>) -> Option<Modes> {
        let mut held = vec![false; body.node_count()];
        body.held_vertices().for_each(|v| held[v as usize] = true);
        let same = self.fixed == held;
        same.then(|| self.into_modes_of(body.basis().clone(), Some(body)))?
    }

    /// Restores modes over functions, of a body of flesh or of tetrahedra; `None` where they do not fit.
    fn into_modes_of(self, functions: Basis, body: Option<&Arc<Body>>) -> Option<Modes> {
        let (nodes, modes) = (functions.len(), self.eigenvalues.len());
        let fits = |columns: &Vec<Vec<Vec3>>| {
            let sound =
                |column: &Vec<Vec3>| column.len() == nodes && column.iter().all(all_storable);
            columns.len() == modes && columns.iter().all(sound)
        };
        let fixed = |v: u32| self.fixed[v as usize];
        let near = |row: &Vec<u32>| row.iter().all(|&v| (v as usize) < nodes);
        let good = modes > 0
            && self.fixed.len() == nodes
            && body.is_none_or(|body| body.held_vertices().all(fixed))
            && self.eigenvalues.iter().all(|&l| is_storable(l))
            && [&self.shapes, &self.rotations, &self.momenta]
                .into_iter()
                .all(fits)
            && self.neighbours.len() == nodes
            && self.neighbours.iter().all(near)
            && self.masses.len() == nodes
            && self.masses.iter().all(|&m| is_storable(m));
        good.then(|| Modes {
            functions,
            body: body.cloned(),
            fixed: self.fixed,
            eigenvalues: self.eigenvalues,
            verified: self.verified,
            basis: Arc::new(ModeShapes::new(
                self.rotations,
                self.momenta,
                self.shapes,
                self.neighbours,
                self.masses,
            )),
        })
    }
}

/// Kind of the file of modes with their body or lattice.
const FILE_KIND: &str = "modes";
/// Kind of the bytes of modes beside their body.
const PART_KIND: &str = "modes-of-body";

/// Modes with what they are of. `B` is the body, borrowed when writing.
#[derive(Serialize, Deserialize)]
enum StoredModesOf<B> {
    Flesh(B, StoredModes),
    Tets(Box<StoredLattice>, StoredModes),
}

/// Modes that were read.
struct LoadedModes(Modes);

impl<'de> Deserialize<'de> for LoadedModes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let modes = match StoredModesOf::<Body>::deserialize(deserializer)? {
            StoredModesOf::Flesh(body, modes) => {
                modes.into_modes_of(body.basis().clone(), Some(&Arc::new(body)))
            }
            StoredModesOf::Tets(lattice, modes) => {
                let lattice = lattice.into_lattice().map_err(D::Error::custom)?;
                modes.into_modes_of(Basis::new(Arc::new(lattice)), None)
            }
        };
        let misfit = || D::Error::custom("its modes do not fit its body");
        modes.map(Self).ok_or_else(misfit)
    }
}

impl Modes {
    fn to_stored(&self) -> StoredModesOf<&Body> {
        let modes = StoredModes::new(self);
        match &self.body {
            Some(body) => StoredModesOf::Flesh(body, modes),
            None => {
                let lattice = StoredLattice::new(self.functions.lattice());
                StoredModesOf::Tets(Box::new(lattice), modes)
            }
        }
    }

    /// Writes the modes to a file, with their body of flesh or the lattice of their tetrahedra. On an error an earlier file stays. Each mode takes
    /// 72 bytes a node.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        store::save(path, FILE_KIND, &self.to_stored())
    }

    /// Reads modes that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StoreError`]: not a Thew file, another version or kind, damaged, refused by the disk.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        store::load::<LoadedModes>(path, FILE_KIND).map(|read| read.0)
    }

    /// Returns the bytes of the modes; those of a body of flesh without it, for [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn to_bytes(&self, name: &Path) -> Result<Vec<u8>, StoreError> {
        match self.body {
            Some(_) => store::to_bytes(name, PART_KIND, &StoredModes::new(self)),
            None => store::to_bytes(name, FILE_KIND, &self.to_stored()),
        }
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes) with the body of flesh, if they are modes of one.
    ///
    /// # Errors
    /// [`StoreError`]: other bytes, another version, damaged, another body.
    pub fn from_bytes(
        name: &Path,
        bytes: &[u8],
        body: Option<&Arc<Body>>,
    ) -> Result<Self, StoreError> {
        let Some(body) = body else {
            let read = store::from_bytes::<LoadedModes>(name, FILE_KIND, bytes);
            return read.map(|read| read.0);
        };
        let modes: StoredModes = store::from_bytes(name, PART_KIND, bytes)?;
        let modes = modes.into_modes_of(body.basis().clone(), Some(body));
        modes.ok_or_else(|| StoreError::Damaged {
            path: name.to_owned(),
            what: "its modes do not fit its body".into(),
        })
    }
}

impl Serialize for DeformSettings {
    /// Serialises by the names of the interface.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (form, precision) = (self.form.name(), self.precision.name());
        (form, precision, &self.engine).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeformSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Text(form), Text(precision), Text(engine)) = Deserialize::deserialize(deserializer)?;
        Self::from_names(&form, &precision, &engine, None).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::disk::tests::TestFolder;
    use crate::elasticity::Material;
    use crate::modal::ModalSystem;
    use crate::progress::Silent;
    use crate::tets::{MassKind, TetMesh};

    /// Modes of tetrahedra and of flesh, also with further fixed nodes, come back from files and bytes, and move alike.
    #[test]
    fn modes_come_back_from_file_and_bytes() {
        let bar = TetMesh::grid([3, 1, 1], [1.0, 0.4, 0.3]).unwrap();
        let body = BarOptions::default().build();
        let free = body.node_count() - 1;
        let kind = MassKind::Consistent;
        let systems = [
            ModalSystem::for_tets(&bar, &Material::default(), kind, &[0, 1, 2]).unwrap(),
            ModalSystem::for_body(&body, kind, &[]).unwrap(),
            ModalSystem::for_body(&body, kind, &[free]).unwrap(),
        ];
        let (folder, name) = (TestFolder::new(), Path::new("modes"));
        let path = folder.0.join("modes.thew");
        for system in systems {
            let modes = Modes::compute(&system, 4, None, &Silent).unwrap();
            modes.save(&path).unwrap();
            let bytes = modes.to_bytes(name).unwrap();
            let body = modes.body();
            let all = [
                Modes::load(&path).unwrap(),
                Modes::from_bytes(name, &bytes, body).unwrap(),
            ];
            for again in all {
                assert_eq!(again.eigenvalues(), modes.eigenvalues());
                assert_eq!(again.fixed_mask(), modes.fixed_mask());
                let q = [0.1, -0.2, 0.05, 0.3];
                assert_eq!(again.displacements(&q, true), modes.displacements(&q, true));
                assert!(again.functions() == modes.functions());
            }
            let mut stranger = StoredModes::new(&modes);
            stranger.fixed.fill(false);
            stranger.masses.pop();
            assert!(
                stranger
                    .into_modes_of(modes.functions().clone(), body)
                    .is_none()
            );
        }
    }
}
