// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models as text files in TOML: readable, and exact when read back.
//!
//! ```toml
//! format = 1
//!
//! [[figure]]
//! name = "arm"
//! kind = "tube"             # or "slab", with rows and cols instead of atoms and spokes
//! atoms = 2
//! spokes = 3
//! knots = [0.0, 1.0]        # of a tube, may be left out: where its atoms are in u
//! joints = [0.0, 1.0]       # of a tube, may be left out: where bones meet in u
//!
//! [[figure.atom]]           # row by row
//! hub = [0.0, 0.0, 0.0]
//! r = 0.1
//! frame = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]   # rows of the matrix with columns b, b⊥, n
//! angle = 1.5707963267948966
//! end = 1.0                 # may be left out
//! lengths = [1.0, 1.0, 1.0]  # may be left out; of a slab up and down
//!
//! [[figure.atom]]
//! hub = [1.0, 0.0, 0.0]
//! r = 0.1
//! frame = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
//! angle = 1.5707963267948966
//! ```
//!
//! Lengths are metres, unless read with another scale; angles are radians. Unknown keys are refused. Files whose
//! names end in `.srep.json` hold s-reps: [`super::srep`].

use crate::disk;
use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Atom;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::model::Model;
use crate::mrep::files::srep;
use crate::{Mat3, Vec3};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;

/// Version of the format.
const FORMAT_VERSION: i64 = 1;
/// Largest file that is read, bytes. About seventy thousand atoms of eight spokes, each of 23 numbers with 20 characters.
const MAX_FILE_SIZE: u64 = 1 << 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    format: Spanned<i64>,
    figure: Vec<Spanned<FigureTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureTable {
    name: Option<String>,
    kind: String,
    rows: Option<usize>,
    cols: Option<usize>,
    atoms: Option<usize>,
    spokes: Option<usize>,
    knots: Option<Vec<f64>>,
    joints: Option<Vec<f64>>,
    atom: Vec<AtomTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtomTable {
    hub: [f64; 3],
    r: f64,
    frame: [[f64; 3]; 3],
    angle: f64,
    end: Option<f64>,
    lengths: Option<Vec<f64>>,
}

/// Format of a file, from its name.
enum ModelFileFormat {
    Toml,
    Srep,
}

fn format(path: &Path) -> Result<ModelFileFormat, MRepError> {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    if name.ends_with(".toml") {
        return Ok(ModelFileFormat::Toml);
    }
    if name.ends_with(".json") {
        return Ok(ModelFileFormat::Srep);
    }
    Err(MRepError::File {
        path: path.to_owned(),
        line: None,
        what: "files of medial models end in .mrep.toml or .srep.json: rename it".into(),
    })
}

impl Model {
    /// Reads a file, `.mrep.toml` or `.srep.json`. `scale`: metres per unit of the file.
    ///
    /// # Errors
    /// [`MRepError::Disk`]; [`MRepError::File`] with the line or the place; an invalid scale.
    pub fn load(path: &Path, scale: f64) -> Result<Self, MRepError> {
        let format = format(path)?;
        let bytes = disk::read(path, MAX_FILE_SIZE).map_err(|e| MRepError::Disk {
            path: path.to_owned(),
            action: "read",
            what: disk::reason(&e),
        })?;
        let wrong = |(line, what): (Option<usize>, String)| MRepError::File {
            path: path.to_owned(),
            line,
            what,
        };
        let not_text = |line| wrong((Some(line), "this is not text (UTF-8)".into()));
        let text = disk::text(bytes).map_err(not_text)?;
        let model = match format {
            ModelFileFormat::Toml => Self::parse(&text).map_err(wrong)?,
            ModelFileFormat::Srep => srep::parse(&text)
                .map_err(|what| wrong((None, what)))?
                .into(),
        };
        if scale == 1.0 {
            return Ok(model);
        }
        model.apply_similarity(scale, &Mat3::identity(), Vec3::zeros())
    }

    /// Writes a file: `.mrep.toml`, or `.srep.json` for a single slab. On failure the former file stays as it was.
    ///
    /// # Errors
    /// [`MRepError::Disk`]; content that this kind of file cannot hold.
    pub fn save(&self, path: &Path) -> Result<(), MRepError> {
        let text = match format(path)? {
            ModelFileFormat::Toml => self.to_text(),
            ModelFileFormat::Srep => {
                srep::write_text(self.single_figure()?).map_err(|what| MRepError::File {
                    path: path.to_owned(),
                    line: None,
                    what,
                })?
            }
        };
        disk::write_together(&[(path, &[text.as_bytes()])]).map_err(|e| MRepError::Disk {
            path: path.to_owned(),
            action: "written",
            what: disk::reason(&e),
        })
    }

    /// Returns the model as the text of a file.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# Medial models of Thew. Lengths in metres, angles in radians.\nformat = {FORMAT_VERSION}\n"
        );
        for (name, figure) in self.figures() {
            // Writing to a string does not fail.
            let _ = write_figure(&mut text, name, figure);
        }
        text
    }

    /// Parses the text of a file; an error has the line, if known, and the reason.
    fn parse(text: &str) -> Result<Self, (Option<usize>, String)> {
        let line = |span: std::ops::Range<usize>| disk::line_of(text.as_bytes(), span.start);
        let file: ModelTable = toml::from_str(text)
            .map_err(|e| (e.span().map(line), e.message().trim().replace('\n', "; ")))?;
        let format = *file.format.get_ref();
        if format != FORMAT_VERSION {
            let what = format!(
                "it has format {format}, but this version of Thew reads {FORMAT_VERSION}: update Thew to read it"
            );
            return Err((Some(line(file.format.span())), what));
        }
        let several = file.figure.len() > 1;
        let mut figures = Vec::new();
        for (i, table) in file.figure.into_iter().enumerate() {
            let at = line(table.span());
            let table = table.into_inner();
            let name = table.name.clone().unwrap_or_else(|| match several {
                true => format!("figure {}", i + 1),
                false => "figure".into(),
            });
            let figure = table
                .into_figure()
                .map_err(|what| (Some(at), format!("figure '{name}': {what}")))?;
            figures.push((name, figure));
        }
        Self::new(figures).map_err(|e| (None, e.to_string()))
    }
}

impl FigureTable {
    fn into_figure(self) -> Result<Figure, String> {
        let count = |what: Option<usize>, name: &str| {
            what.ok_or_else(|| format!("a {} needs the key '{name}'", self.kind))
        };
        let atoms = |spokes: usize| -> Vec<Atom> {
            self.atom
                .iter()
                .map(|table| table.to_atom(spokes))
                .collect()
        };
        let found = self.atom.len();
        let foreign = match &self.kind[..] {
            "slab" => vec![
                ("atoms", self.atoms.is_some()),
                ("spokes", self.spokes.is_some()),
                ("knots", self.knots.is_some()),
                ("joints", self.joints.is_some()),
            ],
            _ => vec![("rows", self.rows.is_some()), ("cols", self.cols.is_some())],
        };
        if let Some((key, _)) = foreign.into_iter().find(|(_, there)| *there) {
            return Err(format!("a {} has no key '{key}'", self.kind));
        }
        let made = match &self.kind[..] {
            "slab" => {
                let (rows, cols) = (count(self.rows, "rows")?, count(self.cols, "cols")?);
                Figure::slab(rows, cols, atoms(2))
            }
            "tube" => {
                let (expected, spokes) =
                    (count(self.atoms, "atoms")?, count(self.spokes, "spokes")?);
                if found != expected {
                    return Err(format!(
                        "it says that it has {expected} atoms, but there are {found}"
                    ));
                }
                let joints = self.joints.clone().unwrap_or_default();
                Figure::tube_with_knots(atoms(spokes), self.knots.clone(), joints)
            }
            other => return Err(format!("its kind is '{other}': it must be slab or tube")),
        };
        made.map_err(|e| e.to_string())
    }
}

impl AtomTable {
    fn to_atom(&self, spokes: usize) -> Atom {
        let rows = self.frame.concat();
        Atom {
            end: self.end.unwrap_or(1.0),
            // One length per spoke; their number is checked when the figure is built.
            lengths: self
                .lengths
                .clone()
                .unwrap_or_else(|| vec![1.0; spokes.min(1 << 12)]),
            ..Atom::new(
                Vec3::from(self.hub),
                self.r,
                Mat3::from_row_slice(&rows),
                self.angle,
                0,
            )
        }
    }
}

fn write_figure(text: &mut String, name: &str, figure: &Figure) -> std::fmt::Result {
    writeln!(
        text,
        "\n[[figure]]\nname = {}",
        toml::Value::String(name.into())
    )?;
    match figure.kind() {
        FigureKind::Slab { rows, cols } => {
            writeln!(text, "kind = \"slab\"\nrows = {rows}\ncols = {cols}")?
        }
        FigureKind::Tube { atoms, spokes } => {
            writeln!(text, "kind = \"tube\"\natoms = {atoms}\nspokes = {spokes}")?;
            writeln!(
                text,
                "knots = {:?}\njoints = {:?}",
                figure.knots(),
                figure.joints()
            )?;
        }
    }
    for atom in figure.atoms() {
        let [x, y, z] = [atom.hub.x, atom.hub.y, atom.hub.z];
        writeln!(
            text,
            "\n[[figure.atom]]\nhub = [{x:?}, {y:?}, {z:?}]\nr = {:?}",
            atom.radius
        )?;
        let rows: Vec<Vec<f64>> = atom
            .frame
            .row_iter()
            .map(|row| row.iter().copied().collect())
            .collect();
        writeln!(
            text,
            "frame = {rows:?}\nangle = {:?}\nend = {:?}",
            atom.angle, atom.end
        )?;
        writeln!(text, "lengths = {:?}", atom.lengths)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
