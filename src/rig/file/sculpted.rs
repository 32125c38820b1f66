// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sculpted rigs in files: samples of a pose and of points of the skin.

use super::table::RigFileTable;
use super::words::{quote, write_numbers};
use crate::Vec3;
use crate::rig::sculpted::MAX_POINTS;
use crate::rig::{BoneTurn, Rig, RigError, Sculpt, SculptPoint, SculptedRig};
use std::fmt::Write;

/// Keys of a sample, other than its parameters.
const KEYS: [&str; 7] = [
    "control",
    "smoothness",
    "turns",
    "points",
    "areas",
    "bones",
    "offsets",
];

pub(super) fn write_sculpted(
    text: &mut String,
    rig: &Rig,
    sculpted: &SculptedRig,
) -> std::fmt::Result {
    writeln!(text, "kind = \"{}\"", rig.kind().name())?;
    for (sample, sculpt) in rig.samples().iter().zip(sculpted.sculpts()) {
        writeln!(text, "\n[[rigs.samples]]\ncontrol = {:?}", sample.control)?;
        write_numbers(text, rig.parameter_names(), &sample.parameters)?;
        if sculpt.points().is_empty() {
            continue;
        }
        writeln!(text, "smoothness = {:?}", sculpt.smoothness())?;
        let turns = sculpt.turns().iter();
        let turns: Vec<String> = turns
            .map(|(name, t)| format!("{} = {}", quote(name), row(t)))
            .collect();
        writeln!(text, "turns = {{ {} }}", turns.join(", "))?;
        let points = sculpt.points();
        write_list(text, "points", points.iter().map(|p| row(&p.place)))?;
        write_list(
            text,
            "areas",
            points.iter().map(|p| format!("{:?}", p.area)),
        )?;
        let bones: Vec<String> = sculpt.bones().iter().map(|name| quote(name)).collect();
        write_list(
            text,
            "bones",
            points.iter().map(|p| bones[p.bone as usize].clone()),
        )?;
        write_list(text, "offsets", points.iter().map(|p| row(&p.offset)))?;
    }
    Ok(())
}

fn row(v: &Vec3) -> String {
    format!("[{:?}, {:?}, {:?}]", v.x, v.y, v.z)
}

/// Writes a list, one entry a line.
fn write_list(
    text: &mut String,
    key: &str,
    entries: impl Iterator<Item = String>,
) -> std::fmt::Result {
    writeln!(text, "{key} = [")?;
    for entry in entries {
        writeln!(text, "    {entry},")?;
    }
    writeln!(text, "]")
}

/// Reads a sculpted rig from its table.
///
/// # Errors
/// [`RigError::File`] naming line and key.
pub(super) fn read_sculpted(table: &RigFileTable, name: String) -> Result<Rig, RigError> {
    table.check_keys(&["name", "kind", "samples"])?;
    let tables = table.tables("samples")?;
    let samples = tables.iter().map(read_sample).collect::<Result<_, _>>()?;
    Rig::sculpted(name, samples).map_err(|error| table.locate_error(error))
}

/// Reads control, strength and sculpt of a sample.
fn read_sample(table: &RigFileTable) -> Result<(f64, f64, Sculpt), RigError> {
    let names = SculptedRig::spec().parameter_names();
    table.check_keys(&[&KEYS[..], &names].concat())?;
    let strength = match table.get("strength") {
        Some(_) => table.number("strength")?,
        None => 1.0,
    };
    let control = table.number("control")?;
    if table.get("points").is_none() {
        return Ok((control, strength, Sculpt::default()));
    }
    let mut bones: Vec<String> = Vec::new();
    let points = read_points(table, &mut bones)?;
    let smoothness = table.number("smoothness")?;
    let sculpt = Sculpt::new(read_turns(table)?, bones, points, smoothness);
    let sculpt = sculpt.map_err(|error| match error {
        RigError::SculptPoint { .. } => table.prefix_error("points", error),
        error => table.locate_error(error),
    })?;
    Ok((control, strength, sculpt))
}

/// Reads the turns of bones by name.
fn read_turns(table: &RigFileTable) -> Result<Vec<BoneTurn>, RigError> {
    if table.get("turns").is_none() {
        return Ok(Vec::new());
    }
    let turns = table.table("turns")?;
    let turn = |(name, value): (&toml::Spanned<toml::de::DeString>, _)| {
        let row = turns.number_row::<3>(name.get_ref(), value)?;
        Ok((name.get_ref().to_string(), Vec3::from(row)))
    };
    turns.entries.iter().map(turn).collect()
}

/// Reads the points of a sample, and the names of their bones. Counts are checked before memory is taken.
fn read_points(
    table: &RigFileTable,
    bones: &mut Vec<String>,
) -> Result<Vec<SculptPoint>, RigError> {
    let places = table.list("points")?;
    if places.len() > MAX_POINTS {
        let what = format!("'points' has more than {MAX_POINTS} entries");
        return Err(table.error_at_key("points", what));
    }
    let same_length = |key: &str| {
        let list = table.list(key)?;
        match list.len() == places.len() {
            true => Ok(list),
            false => {
                let (own, points) = (list.len(), places.len());
                let what = format!("'{key}' has {own} entries, but there are {points} points");
                Err(table.error_at_key(key, what))
            }
        }
    };
    let areas = same_length("areas")?;
    let names = same_length("bones")?;
    let offsets = same_length("offsets")?;
    let point = |i: usize| {
        let name = table.text_of("bones", &names[i])?;
        let bone = bones.iter().position(|b| b == name).unwrap_or_else(|| {
            bones.push(name.to_owned());
            bones.len() - 1
        });
        Ok(SculptPoint {
            place: Vec3::from(table.number_row::<3>("points", &places[i])?),
            area: table.finite_number("areas", &areas[i])?,
            bone: bone as u32,
            offset: Vec3::from(table.number_row::<3>("offsets", &offsets[i])?),
        })
    };
    (0..places.len()).map(point).collect()
}
