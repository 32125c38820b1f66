// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs as a text file, in TOML: small, readable, and giving back exactly what was written.
//!
//! ```toml
//! format = 1
//!
//! [[rigs]]
//! name = "Biceps"
//!
//! [rigs.template]
//! kind = "bulge"            # bump, radial, bulge: radius, strength
//! radius = 0.06             # torus: ring_radius, tube_radius, strength
//! strength = 20000.0
//!
//! [rigs.guide]
//! kind = "bone"             # bone: bone, along, angle, distance, tilt
//! bone = "upper_arm.L"      # skin: face, barycentric, depth, roll, tilt
//! along = 0.5               # free: matrix, x, y, z, rx, ry, rz
//! distance = 0.02
//!
//! [[rigs.samples]]          # any number, no two controls alike; without samples the rig is constant
//! control = 0.0
//! strength = 0.0
//!
//! [[rigs.samples]]
//! control = 1.0
//! ```
//!
//! Lengths are metres, angles radians, strengths N/m³, `along` a fraction of the bone. A bone is named, or given by its
//! number. `matrix` is four rows of four numbers, the rigid frame where all of a free guide's parameters are zero. What a
//! guide leaves out is zero (`along` one half, `barycentric` the middle); what a sample leaves out is as in the template and
//! the guide. Keys that do not exist are refused by file, line and name.

use super::guide::{BoneRef, Frame, Guide};
use super::{Rig, RigError, Sample, Template, TemplateKind};
use crate::Mat4;
use crate::store::write_together;
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Version of the format.
const FORMAT: i64 = 1;

/// Writes rigs; the file is whole or as it was before.
///
/// # Errors
/// [`RigError::Disk`].
pub fn save(path: &Path, rigs: &[Rig]) -> Result<(), RigError> {
    let text = to_text(rigs);
    write_together(&[(path, &[text.as_bytes()])]).map_err(|e| RigError::Disk {
        path: path.to_owned(),
        action: "written",
        what: e.to_string(),
    })
}

/// Reads rigs.
///
/// # Errors
/// [`RigError::Disk`], [`RigError::File`] naming line and key.
pub fn load(path: &Path) -> Result<Vec<Rig>, RigError> {
    let bytes = std::fs::read(path).map_err(|e| RigError::Disk {
        path: path.to_owned(),
        action: "read",
        what: e.to_string(),
    })?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        RigError::File {
            path: path.to_owned(),
            line: 1 + good.iter().filter(|&&b| b == b'\n').count(),
            what: "this is no text (UTF-8)".into(),
        }
    })?;
    from_text(path, &text)
}

fn to_text(rigs: &[Rig]) -> String {
    let mut text = format!(
        "# Force rigs of Thew. Lengths in metres, angles in radians, strength in N/m³.\nformat = {FORMAT}\n"
    );
    if rigs.is_empty() {
        text.push_str("rigs = []\n");
    }
    for rig in rigs {
        let _ = write_rig(&mut text, rig);
    }
    text
}

fn write_rig(text: &mut String, rig: &Rig) -> std::fmt::Result {
    writeln!(text, "\n[[rigs]]\nname = {}", quoted(rig.name()))?;
    let template = rig.template();
    writeln!(
        text,
        "\n[rigs.template]\nkind = \"{}\"",
        template.kind().name()
    )?;
    let names = template.kind().parameter_names();
    write_numbers(text, names, template.parameters())?;
    writeln!(text, "\n[rigs.guide]")?;
    match rig.guide() {
        Guide::Bone { bone, .. } => {
            writeln!(text, "kind = \"bone\"")?;
            match bone {
                BoneRef::Name(name) => writeln!(text, "bone = {}", quoted(name))?,
                BoneRef::Index(index) => writeln!(text, "bone = {index}")?,
            }
        }
        Guide::Skin {
            face, barycentric, ..
        } => writeln!(
            text,
            "kind = \"skin\"\nface = {face}\nbarycentric = {barycentric:?}"
        )?,
        Guide::Free { frame, .. } => {
            writeln!(text, "kind = \"free\"\nmatrix = [")?;
            for row in frame.matrix().row_iter() {
                let row: Vec<f64> = row.iter().copied().collect();
                writeln!(text, "    {row:?},")?;
            }
            writeln!(text, "]")?;
        }
    }
    write_numbers(text, rig.guide().parameter_names(), rig.guide().values())?;
    for sample in rig.samples() {
        writeln!(text, "\n[[rigs.samples]]\ncontrol = {:?}", sample.control)?;
        write_numbers(text, rig.parameter_names(), &sample.parameters)?;
    }
    Ok(())
}

/// The shortest digits that give a number back exactly.
fn write_numbers(text: &mut String, names: &[&str], values: &[f64]) -> std::fmt::Result {
    let mut pairs = names.iter().zip(values);
    pairs.try_for_each(|(name, value)| writeln!(text, "{name} = {value:?}"))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn from_text(path: &Path, text: &str) -> Result<Vec<Rig>, RigError> {
    let file = File { path, text };
    let parsed = DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        file.error(at, e.message().to_owned())
    })?;
    let top = Table {
        file: &file,
        at: 0,
        entries: parsed.get_ref(),
    };
    let format = top.needed("format")?;
    match format.get_ref().as_integer().map(integer) {
        Some(Some(FORMAT)) => {}
        _ => {
            let what = format!("'format' is not {FORMAT}, the only one that this Thew reads");
            return Err(file.error(format.span().start, what));
        }
    }
    top.only(&["format", "rigs"])?;
    top.tables("rigs")?.iter().map(rig).collect()
}

fn rig(table: &Table) -> Result<Rig, RigError> {
    table.only(&["name", "template", "guide", "samples"])?;
    let name = match table.get("name") {
        Some(_) => table.string("name")?,
        None => "Rig".to_owned(),
    };
    let template = template(&table.table("template")?)?;
    let guide = guide(&table.table("guide")?)?;
    let plain = Rig::new(name.clone(), template, guide.clone(), Vec::new())?;
    let tables = table.tables("samples")?;
    let samples = tables.iter().map(|t| sample(t, &plain));
    let samples: Vec<Sample> = samples.collect::<Result<_, _>>()?;
    Rig::new(name, template, guide, samples).map_err(|e| match &e {
        RigError::Twice { sample, .. } | RigError::Sample { sample, .. } => {
            tables.get(*sample).unwrap_or(table).located(e)
        }
        _ => table.located(e),
    })
}

fn template(table: &Table) -> Result<Template, RigError> {
    let kind: TemplateKind = table
        .string("kind")?
        .parse()
        .map_err(|e| table.about("kind", e))?;
    let names = kind.parameter_names();
    table.only(&[&["kind"], names].concat())?;
    let values: Vec<f64> = names
        .iter()
        .map(|name| table.number(name))
        .collect::<Result<_, _>>()?;
    Template::new(kind, &values).map_err(|e| table.located(e))
}

fn guide(table: &Table) -> Result<Guide, RigError> {
    const BONE: [&str; 4] = ["along", "angle", "distance", "tilt"];
    const SKIN: [&str; 3] = ["depth", "roll", "tilt"];
    const FREE: [&str; 6] = ["x", "y", "z", "rx", "ry", "rz"];
    let made = match table.string("kind")?.as_str() {
        "bone" => {
            table.only(&[&["kind", "bone"], &BONE[..]].concat())?;
            let bone = match table.needed("bone")?.get_ref() {
                DeValue::String(name) => BoneRef::Name(name.to_string()),
                _ => BoneRef::Index(table.index("bone")?),
            };
            Guide::bone(bone, table.numbers(BONE, [0.5, 0.0, 0.0, 0.0])?)
        }
        "skin" => {
            table.only(&[&["kind", "face", "barycentric"], &SKIN[..]].concat())?;
            let barycentric = match table.get("barycentric") {
                Some(value) => table.row("barycentric", value)?,
                None => [1.0 / 3.0; 3],
            };
            let face = table.index("face")?;
            Guide::skin(face, barycentric, table.numbers(SKIN, [0.0; 3])?)
        }
        "free" => {
            table.only(&[&["kind", "matrix"], &FREE[..]].concat())?;
            let values = table.numbers(FREE, [0.0; 6])?;
            let frame = table.matrix("matrix")?;
            frame.and_then(|frame| Guide::free(frame, values))
        }
        other => {
            let what = format!("there is no guide '{other}'; there are: 'bone', 'skin', 'free'");
            return Err(table.wrong("kind", what));
        }
    };
    made.map_err(|e| table.located(e))
}

fn sample(table: &Table, rig: &Rig) -> Result<Sample, RigError> {
    let names = rig.parameter_names();
    table.only(&[&["control"], names].concat())?;
    let mut parameters = rig.own_parameters();
    for (slot, name) in parameters.iter_mut().zip(names) {
        if table.get(name).is_some() {
            *slot = table.number(name)?;
        }
    }
    Ok(Sample {
        control: table.number("control")?,
        parameters,
    })
}

fn integer(digits: &toml::de::DeInteger) -> Option<i64> {
    i64::from_str_radix(digits.as_str(), digits.radix()).ok()
}

/// A file's text and name, to say where something is.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, at: usize, what: String) -> RigError {
        let before = self.text.as_bytes().iter().take(at);
        RigError::File {
            path: self.path.to_owned(),
            line: 1 + before.filter(|&&b| b == b'\n').count(),
            what,
        }
    }
}

/// A table of a file.
struct Table<'a> {
    file: &'a File<'a>,
    /// Where it begins.
    at: usize,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        let named = |(k, _): &(&'a Spanned<toml::de::DeString<'a>>, _)| k.get_ref() == key;
        self.entries.iter().find(named).map(|(_, value)| value)
    }

    /// An error where a key is, or at the table if it is not there.
    fn wrong(&self, key: &str, what: String) -> RigError {
        let at = self.get(key).map_or(self.at, |value| value.span().start);
        self.file.error(at, what)
    }

    fn about(&self, key: &str, error: RigError) -> RigError {
        self.wrong(key, format!("'{key}': {error}"))
    }

    /// An error where the parameter is that it is about.
    fn located(&self, error: RigError) -> RigError {
        // A sample is known by its line.
        let inner = match &error {
            RigError::Sample { error, .. } => error,
            other => other,
        };
        self.wrong(inner.parameter().unwrap_or("control"), inner.to_string())
    }

    /// Refuses all keys but some.
    fn only(&self, known: &[&str]) -> Result<(), RigError> {
        let mut keys = self.entries.keys();
        match keys.find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref();
                let what = format!(
                    "there is no key '{name}' here; there are: {}",
                    known.join(", ")
                );
                Err(self.file.error(key.span().start, what))
            }
        }
    }

    fn needed(&self, key: &str) -> Result<&'a Spanned<DeValue<'a>>, RigError> {
        self.get(key)
            .ok_or_else(|| self.wrong(key, format!("the key '{key}' is missing")))
    }

    fn expected(&self, key: &str, what: &str) -> RigError {
        self.wrong(key, format!("'{key}' must be {what}"))
    }

    fn table(&self, key: &str) -> Result<Table<'a>, RigError> {
        let value = self.needed(key)?;
        match value.get_ref() {
            DeValue::Table(entries) => Ok(Table {
                file: self.file,
                at: value.span().start,
                entries,
            }),
            _ => Err(self.expected(key, "a table")),
        }
    }

    /// Tables in a list, none where there is none.
    fn tables(&self, key: &str) -> Result<Vec<Table<'a>>, RigError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let list = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.expected(key, "a list of tables"))?;
        list.iter()
            .map(|item| match item.get_ref() {
                DeValue::Table(entries) => Ok(Table {
                    file: self.file,
                    at: item.span().start,
                    entries,
                }),
                _ => Err(self.expected(key, "a list of tables")),
            })
            .collect()
    }

    fn string(&self, key: &str) -> Result<String, RigError> {
        match self.needed(key)?.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.expected(key, "text in quotes")),
        }
    }

    fn index(&self, key: &str) -> Result<u32, RigError> {
        let number = self.needed(key)?.get_ref().as_integer().and_then(integer);
        number
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| self.expected(key, "a whole number that is not negative"))
    }

    fn number(&self, key: &str) -> Result<f64, RigError> {
        self.finite(key, self.needed(key)?)
    }

    /// Numbers by name, and what they are where they are not given.
    fn numbers<const N: usize>(
        &self,
        names: [&str; N],
        default: [f64; N],
    ) -> Result<[f64; N], RigError> {
        let mut values = default;
        for (value, name) in values.iter_mut().zip(names) {
            if self.get(name).is_some() {
                *value = self.number(name)?;
            }
        }
        Ok(values)
    }

    fn finite(&self, key: &str, value: &Spanned<DeValue>) -> Result<f64, RigError> {
        let number = match value.get_ref() {
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => integer(digits).map(|n| n as f64),
            _ => None,
        };
        number
            .filter(|x: &f64| x.is_finite())
            .ok_or_else(|| self.expected(key, "a finite number"))
    }

    fn row<const N: usize>(
        &self,
        key: &str,
        value: &Spanned<DeValue>,
    ) -> Result<[f64; N], RigError> {
        let wrong = || self.expected(key, &format!("a list of {N} numbers"));
        let list = value.get_ref().as_array().ok_or_else(wrong)?;
        if list.len() != N {
            return Err(wrong());
        }
        let mut row = [0.0; N];
        for (slot, item) in row.iter_mut().zip(list.iter()) {
            *slot = self.finite(key, item)?;
        }
        Ok(row)
    }

    /// The frame of a matrix of four rows.
    fn matrix(&self, key: &str) -> Result<Result<Frame, RigError>, RigError> {
        let wrong = || self.expected(key, "four rows of four numbers");
        let rows = self.needed(key)?.get_ref().as_array().ok_or_else(wrong)?;
        if rows.len() != 4 {
            return Err(wrong());
        }
        let mut matrix = Mat4::zeros();
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).copy_from_slice(&self.row::<4>(key, row)?);
        }
        Ok(Frame::from_matrix(&matrix))
    }
}
