// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of tetrahedral meshes: TetGen's `.node` and `.ele`, Medit's ASCII `.mesh`, Vega's `.veg`.
//!
//! The ending determines the format. Numbers are written so that they are read back exactly. A mesh whose
//! tetrahedra are *all* inverted follows the other convention of orientation, and is turned. If only some are,
//! that is an error unless [`MeshRepairs`] allows it. Attributes, markers, references, materials and surface elements are
//! skipped.
//!
//! Files are written whole or not at all. Memory is allocated for the content read, not for the count in a header.

mod medit;
mod scan;
#[cfg(test)]
mod tests;
mod tetgen;
mod vega;

use super::check::{self, TetOrientation};
use super::{MeshRepairs, TetError, TetMesh, drop_unused};
use crate::Vec3;
use crate::elasticity::Material;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest file that is read, bytes.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// Kind of elements in a `.veg` file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ElementKind {
    /// Tetrahedra.
    #[default]
    Tet,
    /// Cubes that the tetrahedra were split from.
    Cubic,
}

impl FromStr for ElementKind {
    type Err = TetError;

    fn from_str(name: &str) -> Result<Self, TetError> {
        match name {
            "tet" => Ok(Self::Tet),
            "cubic" => Ok(Self::Cubic),
            _ => Err(TetError::ElementKind(name.to_owned())),
        }
    }
}

/// Settings of [`TetMesh::write`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WriteSettings {
    /// Tetrahedra, or cubes (only for `.veg`, of a mesh built from cubes).
    pub elements: ElementKind,
    /// Material written to a `.veg` file.
    pub material: Material,
}

/// Content of a file before it becomes a mesh.
#[derive(Debug, Default)]
struct MeshContent {
    vertices: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
    /// Cubes, with corners in the order `i + 2j + 4k`.
    cubes: Vec<[u32; 8]>,
    /// Whether the file holds nodes that are not corners of its tetrahedra (midpoints of edges).
    middles: bool,
}

enum MeshFormat {
    TetGen { node: PathBuf, ele: PathBuf },
    Medit,
    Vega,
}

impl TetMesh {
    /// Reads a mesh: `.node` or `.ele` (TetGen; either finds the other, and a path without ending finds both),
    /// `.mesh` (Medit, ASCII), `.veg` (Vega, tetrahedra or cubes).
    ///
    /// # Errors
    /// [`TetError::Format`], [`TetError::Disk`], [`TetError::File`] with the line, or [`TetError::Content`] if the
    /// file follows its format but its content is not a body.
    pub fn read(path: &Path, repairs: MeshRepairs) -> Result<Self, TetError> {
        let content = match file_format(path)? {
            MeshFormat::TetGen { node, ele } => {
                tetgen::parse((&node, &read_text(&node)?), (&ele, &read_text(&ele)?))?
            }
            MeshFormat::Medit => medit::parse(path, &read_text(path)?)?,
            MeshFormat::Vega => vega::parse(path, &read_text(path)?)?,
        };
        content.into_mesh(repairs).map_err(|e| TetError::Content {
            path: path.to_owned(),
            source: Box::new(e),
        })
    }

    /// Writes the mesh in the format of the path's ending; both files for `.node` or `.ele`.
    ///
    /// # Errors
    /// [`TetError::Format`], [`TetError::NoCubes`], [`TetError::Disk`]; previous content at `path` then stays.
    pub fn write(&self, path: &Path, settings: WriteSettings) -> Result<(), TetError> {
        let format = file_format(path)?;
        let cubic = settings.elements == ElementKind::Cubic;
        if cubic && (self.cubes.is_empty() || !matches!(format, MeshFormat::Vega)) {
            return Err(TetError::NoCubes);
        }
        let files: Vec<(PathBuf, String)> = match format {
            MeshFormat::TetGen { node, ele } => {
                vec![
                    (node, tetgen::format_nodes(self)),
                    (ele, tetgen::format_elements(self)),
                ]
            }
            MeshFormat::Medit => vec![(path.to_owned(), medit::format_mesh(self))],
            MeshFormat::Vega => vec![(
                path.to_owned(),
                vega::format_mesh(self, cubic, &settings.material),
            )],
        };
        let parts: Vec<[&[u8]; 1]> = files.iter().map(|f| [f.1.as_bytes()]).collect();
        let all: Vec<(&Path, &[&[u8]])> = files
            .iter()
            .zip(&parts)
            .map(|(f, part)| (f.0.as_path(), part.as_slice()))
            .collect();
        crate::disk::write_together(&all).map_err(|e| disk_error(path, "written", &e))
    }
}

impl MeshContent {
    /// Builds the mesh, with the allowed repairs.
    fn into_mesh(self, repairs: MeshRepairs) -> Result<TetMesh, TetError> {
        let Self {
            mut vertices,
            mut tets,
            mut cubes,
            middles,
        } = self;
        if !cubes.is_empty() {
            check::check_indices(&vertices, &cubes)?;
            if repairs.drop_unused {
                drop_unused(&mut vertices, &mut cubes);
            }
            return TetMesh::from_cubes(vertices, cubes);
        }
        check::check_indices(&vertices, &tets)?;
        let size = check::body_size(&vertices)?;
        let inverted = |t: &[u32; 4]| {
            check::classify_orientation(&t.map(|v| vertices[v as usize]), size)
                == TetOrientation::Inverted
        };
        if tets.iter().all(inverted) {
            tets.iter_mut().for_each(|t| t.swap(2, 3));
        }
        let repairs = MeshRepairs {
            drop_unused: repairs.drop_unused || middles,
            ..repairs
        };
        TetMesh::with_repairs(vertices, tets, repairs)
    }
}

/// Returns the format of a path.
fn file_format(path: &Path) -> Result<MeshFormat, TetError> {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    let ending = ending.to_ascii_lowercase();
    let pair = |stem: &Path, upper: bool| {
        let with = |ending: &str| {
            let mut name = stem.as_os_str().to_owned();
            name.push(if upper {
                ending.to_ascii_uppercase()
            } else {
                ending.to_owned()
            });
            PathBuf::from(name)
        };
        let (node, ele) = (with(".node"), with(".ele"));
        MeshFormat::TetGen { node, ele }
    };
    match ending.as_str() {
        "node" | "ele" => {
            let given = path
                .extension()
                .and_then(|e| e.to_str())
                .unwrap_or_default();
            let upper = given.chars().all(|c| c.is_ascii_uppercase());
            Ok(pair(&path.with_extension(""), upper))
        }
        "mesh" => Ok(MeshFormat::Medit),
        "veg" => Ok(MeshFormat::Vega),
        _ => match pair(path, false) {
            MeshFormat::TetGen { node, ele } if node.exists() || ele.exists() => {
                Ok(MeshFormat::TetGen { node, ele })
            }
            _ => Err(TetError::Format(path.to_owned())),
        },
    }
}

/// Reads the text of a file; bytes that are not UTF-8 become marks that are part of no number.
fn read_text(path: &Path) -> Result<String, TetError> {
    let bytes =
        crate::disk::read(path, MAX_FILE_BYTES).map_err(|e| disk_error(path, "read", &e))?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn disk_error(path: &Path, action: &'static str, e: &std::io::Error) -> TetError {
    TetError::Disk {
        path: path.to_owned(),
        action,
        what: crate::disk::reason(e),
    }
}

/// Appends a row of numbers.
fn append_row<T: std::fmt::Display>(out: &mut String, numbers: impl IntoIterator<Item = T>) {
    for (i, n) in numbers.into_iter().enumerate() {
        let gap = if i > 0 { " " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(out, "{gap}{n}");
    }
    out.push('\n');
}

/// Formats the coordinates of a point with the fewest digits that are read back exactly.
fn format_coordinates(x: &Vec3) -> [String; 3] {
    [0, 1, 2].map(|k| format!("{:?}", x[k]))
}
