// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shell as plain data for files. What was read is checked like arguments.

use super::{Shell, ShellMaterial};
use crate::Vec3;
use crate::range::is_sound;
use crate::store::{self, StoreError};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Kind of the file.
const FILE_KIND: &str = "shell";

#[derive(Serialize, Deserialize)]
struct StoredShell<'a> {
    vertices: Cow<'a, [Vec3]>,
    triangles: Cow<'a, [[u32; 3]]>,
    material: Cow<'a, ShellMaterial>,
    /// Masses, which are those of the shape in which the shell was made.
    masses: Cow<'a, [f64]>,
    light: u32,
}

impl Shell {
    /// Writes the shell to a file. On an error an earlier file stays.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        store::save(path, FILE_KIND, self)
    }

    /// Reads a shell that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StoreError`]: not a Thew file, another version or kind, damaged, refused by the disk.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        store::load(path, FILE_KIND)
    }
}

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = StoredShell {
            vertices: Cow::Borrowed(&self.vertices),
            triangles: Cow::Borrowed(self.triangles()),
            material: Cow::Borrowed(&self.material),
            masses: Cow::Borrowed(&self.masses),
            light: self.light as u32,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredShell::deserialize(deserializer)?;
        let (vertices, triangles) = (stored.vertices.into_owned(), stored.triangles.into_owned());
        let shell = Self::new(vertices, triangles, &stored.material).map_err(D::Error::custom)?;
        let masses = stored.masses.into_owned();
        if masses.len() != shell.node_count() || !masses.iter().all(|&m| m > 0.0 && is_sound(m)) {
            return Err(D::Error::custom("its masses do not fit its vertices"));
        }
        Ok(Self {
            masses: Arc::new(masses),
            light: stored.light as usize,
            ..shell
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::ShellParameter;
    use crate::store::{from_bytes, to_bytes};

    fn square(material: &ShellMaterial) -> Shell {
        let corner = |x: f64, y: f64| Vec3::new(x, y, 0.1 * x * y);
        let vertices = vec![
            corner(0.0, 0.0),
            corner(1.0, 0.0),
            corner(1.0, 1.0),
            corner(0.0, 1.0),
        ];
        Shell::new(vertices, vec![[0, 1, 2], [0, 2, 3]], material).unwrap()
    }

    /// A shell comes back from its bytes with its material, also at rest in another shape, and has the same energy and masses.
    #[test]
    fn shell_comes_back_from_bytes() {
        let painted = ShellMaterial {
            bending: ShellParameter::Map(vec![1.0, 2.0, 3.0, 4.0]),
            ..ShellMaterial::default()
        };
        for material in [painted, ShellMaterial::default()] {
            let shell = square(&material);
            let moved: Vec<Vec3> = shell.rest().iter().map(|x| x * 1.1 + x.yzx()).collect();
            let carried = shell.with_rest_positions(&moved).unwrap();
            for shell in [&shell, &carried] {
                let name = Path::new("a shell");
                let bytes = to_bytes(name, FILE_KIND, shell).unwrap();
                let again: Shell = from_bytes(name, FILE_KIND, &bytes).unwrap();
                assert_eq!(again.masses(), shell.masses());
                assert_eq!(again.unit(), shell.unit());
                let x: Vec<Vec3> = moved.iter().map(|x| x * 1.3).collect();
                assert_eq!(again.energy(&x), shell.energy(&x));
                let other = Shell {
                    masses: Arc::new(vec![-1.0; 4]),
                    ..shell.clone()
                };
                let bytes = to_bytes(name, FILE_KIND, &other).unwrap();
                assert!(from_bytes::<Shell>(name, FILE_KIND, &bytes).is_err());
            }
        }
    }
}
