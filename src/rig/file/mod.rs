// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs as a TOML text file: small and readable, and exact to the bit but for sculpted rigs, which files hold with five digits.
//!
//! ```toml
//! format = 1
//!
//! [[rigs]]
//! name = "Biceps"
//!
//! [rigs.template]
//! kind = "bulge"            # any kind, with its parameters
//! radius = 0.06
//! strength = 20000.0
//!
//! [rigs.guide]
//! kind = "bone"             # bone: bone and parameters
//! bone = "upper_arm.L"      # skin: face, barycentric and parameters
//! along = 0.5               # free: matrix and parameters
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
//! Lengths are metres, angles radians, strengths N/m³, `along` a fraction of the bone. A bone is identified by name
//! or number. `matrix` is four rows of four numbers: the rigid frame of a free guide with all parameters zero.
//! Missing guide parameters have their defaults (`barycentric` the centroid). Missing sample parameters are
//! those of the template and the guide. Unknown keys are refused by file, line and name.
//!
//! A rig that makes flesh tense has its `firmness` beside its name ([`Rig::firmness`]); missing, it is 0.
//!
//! A sculpted rig has no template and no guide:
//!
//! ```toml
//! [[rigs]]
//! name = "Elbow"
//! kind = "sculpted"         # any other rig has the kind "force", also if it has none
//!
//! [[rigs.samples]]
//! control = 0.0             # without points: no effect
//!
//! [[rigs.samples]]
//! control = 1.0
//! strength = 1.0            # the share of the shape
//! smoothness = 0.03
//! turns = { forearm = [0.0, 1.57, 0.0] }   # of bones against their parents, rotation vectors
//! points = [[0.31, 0.02, 1.2]]             # places of the skin at rest
//! areas = [0.0002]                         # m²
//! bones = ["upper_arm.L"]
//! offsets = [[0.0, 0.012, 0.0]]            # wanted displacements, rest axes
//! ```
//!
//! A muscle has two places at bones in their stead:
//!
//! ```toml
//! [[rigs]]
//! name = "Biceps"
//! kind = "muscle"
//! contraction = 0.3
//! radius = 0.04
//! bow = 0.0                 # optional, as are samples
//! origin = { bone = "upper_arm.L", along = 0.1, angle = 0.0, distance = 0.02 }
//! insertion = { bone = "forearm.L", along = 0.1, angle = 0.0, distance = 0.02 }
//! ```
//!
//! In addition to a strength, or instead of it, a table may hold `yields`: the peak displacement of a body's skin
//! ([`Rig::peak_displacements`]), metres, negative for a reversed field. A file written for a body holds both. Read
//! for a body, yields are converted to strengths for this body; where that fails, the strength in the file is kept.
//! Read without a body, strengths count. A sample with neither takes the template's.

mod muscle;
mod sculpted;
mod table;
mod words;

use super::guide::{BoneRef, Guide};
use super::{ForceRig, Rig, RigError, RigKind, Sample, SculptedRig, Template, TemplateKind};
use crate::body::Body;
use crate::disk;
use crate::progress::Progress;
use muscle::{read_muscle, write_muscle};
use sculpted::{read_sculpted, write_sculpted};
use std::fmt::Write;
use std::path::Path;
use table::{RigFileTable, RigFileText, parse_integer};
use toml::de::DeTable;
use words::{quote, write_numbers};

/// Version of the format.
const FORMAT_VERSION: i64 = 1;
/// Largest file that is read, bytes: a hundred thousand rigs.
const MAX_FILE_BYTES: u64 = 1 << 26;
/// Relative difference up to which strengths count as those that were written.
const STRENGTH_TOLERANCE: f64 = 1e-9;

/// Writes rigs atomically: on failure the old file stays. With a body, it adds the peak displacements of its flesh, if
/// they can be computed.
///
/// # Errors
/// [`RigError::Disk`]; cancellation by the progress.
pub fn save(
    path: &Path,
    rigs: &[Rig],
    body: Option<&Body>,
    progress: &dyn Progress,
) -> Result<(), RigError> {
    let rigs: Vec<Rig> = rigs.iter().map(Rig::rounded).collect();
    let text = to_text(&rigs, body.map(|body| (body, progress)))?;
    disk::write_together(&[(path, &[text.as_bytes()])]).map_err(|e| RigError::Disk {
        path: path.to_owned(),
        action: "written",
        what: disk::reason(&e),
    })
}

/// Reads rigs; with a body, sets the strengths at which its flesh has the peak displacements in the file.
///
/// # Errors
/// [`RigError::Disk`]; [`RigError::File`] naming line and key; cancellation by the progress.
pub fn load(
    path: &Path,
    body: Option<&Body>,
    progress: &dyn Progress,
) -> Result<Vec<Rig>, RigError> {
    let bytes = disk::read(path, MAX_FILE_BYTES).map_err(|e| RigError::Disk {
        path: path.to_owned(),
        action: "read",
        what: disk::reason(&e),
    })?;
    let text = disk::text(bytes).map_err(|line| RigError::File {
        path: path.to_owned(),
        line,
        what: "this is not text (UTF-8)".into(),
    })?;
    let rigs = from_text(path, &text, body.map(|body| (body, progress)))?;
    Ok(rigs.iter().map(Rig::rounded).collect())
}

/// Returns rigs as the text of a file.
///
/// # Errors
/// Never for rigs built by this module.
pub fn format_rigs(rigs: &[Rig]) -> Result<String, RigError> {
    to_text(rigs, None)
}

/// Reads rigs from the text of a file, with its strengths; `name` stands for the path in error messages.
///
/// # Errors
/// [`RigError::File`] naming line and key.
pub fn parse_rigs(name: &str, text: &str) -> Result<Vec<Rig>, RigError> {
    from_text(Path::new(name), text, None)
}

/// The body to which yields refer, and the progress.
type YieldContext<'a> = Option<(&'a Body, &'a dyn Progress)>;

fn to_text(rigs: &[Rig], body: YieldContext) -> Result<String, RigError> {
    let mut text = format!(
        "# Force rigs of Thew. Lengths in metres, angles in radians, strength in N/m³.\nformat = {FORMAT_VERSION}\n"
    );
    if rigs.is_empty() {
        text.push_str("rigs = []\n");
    }
    for rig in rigs {
        let yields =
            |rig: &Rig| match body.map(|(body, progress)| rig.peak_displacements(body, progress)) {
                Some(Err(RigError::Cancelled(stop))) => Err(RigError::from(stop)),
                computed => Ok(computed.and_then(Result::ok)),
            };
        let _ = match rig.kind() {
            RigKind::Force(force) => {
                let own = rig.without_samples().as_ref().map_or(Ok(None), yields)?;
                write_rig(&mut text, rig, force, (own, yields(rig)?))
            }
            RigKind::Sculpted(sculpted) => write_sculpted_rig(&mut text, rig, sculpted),
            RigKind::Muscle(muscle) => {
                let head = write_head(&mut text, rig);
                head.and_then(|()| write_muscle(&mut text, rig, muscle))
            }
        };
    }
    Ok(text)
}

fn write_head(text: &mut String, rig: &Rig) -> std::fmt::Result {
    writeln!(text, "\n[[rigs]]\nname = {}", quote(rig.name()))?;
    match rig.firmness() {
        0.0 => Ok(()),
        firmness => write_numbers(text, &["firmness"], &[firmness]),
    }
}

fn write_sculpted_rig(text: &mut String, rig: &Rig, sculpted: &SculptedRig) -> std::fmt::Result {
    write_head(text, rig)?;
    write_sculpted(text, rig, sculpted)
}

/// Writes a rig with the yields of its template's own state and of its samples.
fn write_rig(
    text: &mut String,
    rig: &Rig,
    force: &ForceRig,
    (own, of_samples): (Option<Vec<f64>>, Option<Vec<f64>>),
) -> std::fmt::Result {
    write_head(text, rig)?;
    write_force(text, force, own)?;
    for (i, sample) in rig.samples().iter().enumerate() {
        writeln!(text, "\n[[rigs.samples]]\ncontrol = {:?}", sample.control)?;
        write_numbers(text, rig.parameter_names(), &sample.parameters)?;
        write_yield(text, of_samples.as_deref(), i)?;
    }
    Ok(())
}

fn write_force(text: &mut String, force: &ForceRig, own: Option<Vec<f64>>) -> std::fmt::Result {
    let template = force.template();
    let spec = template.kind().spec();
    writeln!(text, "\n[rigs.template]\nkind = \"{}\"", spec.name)?;
    write_numbers(text, &spec.parameter_names(), template.parameters())?;
    write_yield(text, own.as_deref(), 0)?;
    let guide = force.guide();
    let spec = guide.spec();
    writeln!(text, "\n[rigs.guide]\nkind = \"{}\"", spec.name)?;
    match guide {
        Guide::Bone { bone, .. } => match bone {
            BoneRef::Name(name) => writeln!(text, "bone = {}", quote(name))?,
            BoneRef::Index(index) => writeln!(text, "bone = {index}")?,
        },
        Guide::Skin {
            face, barycentric, ..
        } => writeln!(text, "face = {face}\nbarycentric = {barycentric:?}")?,
        Guide::Free { frame, .. } => {
            writeln!(text, "matrix = [")?;
            for row in frame.matrix().row_iter() {
                let row: Vec<f64> = row.iter().copied().collect();
                writeln!(text, "    {row:?},")?;
            }
            writeln!(text, "]")?;
        }
    }
    write_numbers(text, &spec.parameter_names(), guide.values())
}

fn write_yield(text: &mut String, yields: Option<&[f64]>, i: usize) -> std::fmt::Result {
    match yields.and_then(|all| all.get(i)) {
        Some(value) => write_numbers(text, &["yields"], &[*value]),
        None => Ok(()),
    }
}

fn from_text(path: &Path, text: &str, body: YieldContext) -> Result<Vec<Rig>, RigError> {
    let file = RigFileText { path, text };
    let parsed = DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        file.error_at(at, e.message().to_owned())
    })?;
    let top = RigFileTable {
        file: &file,
        at: 0,
        entries: parsed.get_ref(),
    };
    let format = top.require("format")?;
    match format.get_ref().as_integer().map(parse_integer) {
        Some(Some(FORMAT_VERSION)) => {}
        _ => {
            let what = format!(
                "'format' is not {FORMAT_VERSION}, the only one that this version of Thew reads"
            );
            return Err(file.error_at(format.span().start, what));
        }
    }
    top.check_keys(&["format", "rigs"])?;
    top.tables("rigs")?
        .iter()
        .map(|t| read_rig(t, body))
        .collect()
}

fn read_rig(table: &RigFileTable, body: YieldContext) -> Result<Rig, RigError> {
    let name = match table.get("name") {
        Some(_) => table.string("name")?,
        None => "Rig".to_owned(),
    };
    let kind = table
        .get("kind")
        .map(|_| table.string("kind"))
        .transpose()?;
    let rig = match kind.as_deref() {
        None | Some("force") => read_force(table, name, body),
        Some("sculpted") => read_sculpted(table, name),
        Some("muscle") => read_muscle(table, name),
        Some(kind) => {
            let what = format!(
                "there is no kind of rig '{kind}'; there are: 'force', 'sculpted', 'muscle'"
            );
            Err(table.error_at_key("kind", what))
        }
    }?;
    match table.get("firmness") {
        None => Ok(rig),
        Some(_) => {
            let made = rig.with_firmness(table.number("firmness")?);
            made.map_err(|error| table.prefix_error("firmness", error))
        }
    }
}

fn read_force(table: &RigFileTable, name: String, body: YieldContext) -> Result<Rig, RigError> {
    table.check_keys(&["name", "kind", "firmness", "template", "guide", "samples"])?;
    let (template, of_template) = read_template(&table.table("template")?)?;
    let guide = read_guide(&table.table("guide")?)?;
    let tables = table.tables("samples")?;
    let plain = Rig::new(name, template, guide, Vec::new())?;
    let plain = match apply_yields(table, plain.clone(), &[of_template], body) {
        Ok(plain) => plain,
        Err(error) if tables.is_empty() || matches!(error, RigError::Cancelled(_)) => {
            return Err(error);
        }
        // If no sample uses the template's own state, that one may have neither.
        Err(_) => plain,
    };
    let samples = tables.iter().map(|t| read_sample(t, &plain, of_template));
    let read: Vec<(Sample, StateStrength)> = samples.collect::<Result<_, _>>()?;
    let (samples, mut amounts): (Vec<Sample>, Vec<StateStrength>) = read.into_iter().unzip();
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|&a, &b| samples[a].control.total_cmp(&samples[b].control));
    amounts = order.iter().map(|&i| amounts[i]).collect();
    if amounts.is_empty() {
        amounts.push(of_template);
    }
    let rig = plain.with_samples(samples).map_err(|e| match &e {
        RigError::Twice { sample, .. } | RigError::Sample { sample, .. } => {
            tables.get(*sample).unwrap_or(table).locate_error(e)
        }
        _ => table.locate_error(e),
    })?;
    apply_yields(table, rig, &amounts, body)
}

/// Strength and yield of a state in the file.
#[derive(Debug, Clone, Copy)]
struct StateStrength {
    /// Yield, m, if the file has one.
    yields: Option<f64>,
    /// `true`: the file has a strength as well.
    strength: bool,
}

impl StateStrength {
    fn from_table(table: &RigFileTable) -> Result<Self, RigError> {
        let yields = table.get("yields").map(|_| table.number("yields"));
        Ok(Self {
            yields: yields.transpose()?,
            strength: table.get("strength").is_some(),
        })
    }
}

/// Returns a rig with the strengths for a body, wherever the file has yields.
fn apply_yields(
    table: &RigFileTable,
    rig: Rig,
    amounts: &[StateStrength],
    body: YieldContext,
) -> Result<Rig, RigError> {
    let known = amounts.iter().all(|a| a.strength);
    let wanted: Vec<Option<f64>> = amounts.iter().map(|a| a.yields).collect();
    let Some((body, progress)) = body else {
        let what = "'yields' is how far the flesh of a body gives way: read the rigs for a body, or give a 'strength' too";
        return if known {
            Ok(rig)
        } else {
            Err(table.error_at_key("template", what.into()))
        };
    };
    if wanted.iter().all(Option::is_none) {
        return Ok(rig);
    }
    match rig.with_peak_displacements(body, &wanted, progress) {
        Err(stop @ RigError::Cancelled(_)) => Err(stop),
        // For the same body the strengths in the file are kept to the bit.
        Ok(made) if known && made.has_equal_strengths(&rig, STRENGTH_TOLERANCE) => Ok(rig),
        Ok(made) => Ok(made),
        Err(_) if known => Ok(rig),
        Err(error) => Err(table.locate_error(error)),
    }
}

fn read_template(table: &RigFileTable) -> Result<(Template, StateStrength), RigError> {
    let kind: TemplateKind = table
        .string("kind")?
        .parse()
        .map_err(|e| table.prefix_error("kind", e))?;
    let names = kind.spec().parameter_names();
    table.check_keys(&[&["kind", "yields"], &names[..]].concat())?;
    let amount = StateStrength::from_table(table)?;
    let number = |name: &&str| match amount.yields {
        // A placeholder until the yield is converted.
        Some(_) if *name == "strength" && !amount.strength => Ok(1.0),
        _ => table.number(name),
    };
    let values: Vec<f64> = names.iter().map(number).collect::<Result<_, _>>()?;
    let template = Template::new(kind, &values).map_err(|e| table.locate_error(e))?;
    Ok((template, amount))
}

fn read_guide(table: &RigFileTable) -> Result<Guide, RigError> {
    let kind = table.string("kind")?;
    let Some(spec) = Guide::SPECS.iter().find(|spec| spec.name == kind) else {
        let names = Guide::SPECS.map(|spec| format!("'{}'", spec.name));
        let what = format!(
            "there is no guide '{kind}'; there are: {}",
            names.join(", ")
        );
        return Err(table.error_at_key("kind", what));
    };
    let made = match spec.name {
        "bone" => {
            let values = table.guide_values(spec, &["bone"])?;
            Guide::bone(table.bone()?, values)
        }
        "skin" => {
            let values = table.guide_values(spec, &["face", "barycentric"])?;
            let barycentric = match table.get("barycentric") {
                Some(value) => table.number_row("barycentric", value)?,
                None => [1.0 / 3.0; 3],
            };
            Guide::skin(table.index("face")?, barycentric, values)
        }
        _ => {
            let values = table.guide_values(spec, &["matrix"])?;
            let frame = table.guide_frame("matrix")?;
            frame.and_then(|frame| Guide::free(frame, values))
        }
    };
    made.map_err(|e| table.locate_error(e))
}

fn read_sample(
    table: &RigFileTable,
    rig: &Rig,
    of_template: StateStrength,
) -> Result<(Sample, StateStrength), RigError> {
    let names = rig.parameter_names();
    table.check_keys(&[&["control", "yields"], names].concat())?;
    let mut parameters = rig.own_parameters();
    for (slot, name) in parameters.iter_mut().zip(names) {
        if table.get(name).is_some() {
            *slot = table.number(name)?;
        }
    }
    let own = StateStrength::from_table(table)?;
    let amount = StateStrength {
        // A strength of its own overrides the template's yield.
        yields: own.yields.or(of_template.yields.filter(|_| !own.strength)),
        strength: own.strength || of_template.strength,
    };
    let control = table.number("control")?;
    let sample = Sample {
        control,
        parameters,
    };
    Ok((sample, amount))
}
