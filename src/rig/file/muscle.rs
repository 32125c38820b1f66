// SPDX-License-Identifier: MIT OR Apache-2.0
//! Muscles in files: their numbers, two places at bones, and samples.

use super::table::RigFileTable;
use super::words::{quote, write_numbers};
use crate::rig::{BoneRef, MusclePlace, MuscleRig, Rig, RigError, Sample};
use std::fmt::Write;

/// Numbers of a muscle itself, and of each of its places.
const SIZES: [&str; 3] = ["contraction", "radius", "bow"];
const PLACE: [&str; 3] = ["along", "angle", "distance"];

pub(super) fn write_muscle(text: &mut String, rig: &Rig, muscle: &MuscleRig) -> std::fmt::Result {
    writeln!(text, "kind = \"{}\"", rig.kind().name())?;
    write_numbers(text, &SIZES, &muscle.parameters()[..3])?;
    let places = [
        ("origin", muscle.origin()),
        ("insertion", muscle.insertion()),
    ];
    for (name, place) in places {
        writeln!(text, "\n[rigs.{name}]")?;
        match &place.bone {
            BoneRef::Name(name) => writeln!(text, "bone = {}", quote(name))?,
            BoneRef::Index(index) => writeln!(text, "bone = {index}")?,
        }
        write_numbers(text, &PLACE, &place.values)?;
    }
    for sample in rig.samples() {
        writeln!(text, "\n[[rigs.samples]]\ncontrol = {:?}", sample.control)?;
        write_numbers(text, rig.parameter_names(), &sample.parameters)?;
    }
    Ok(())
}

/// Reads a muscle from its table; missing numbers have their defaults, those of samples are the muscle's.
///
/// # Errors
/// [`RigError::File`] naming line and key.
pub(super) fn read_muscle(table: &RigFileTable, name: String) -> Result<Rig, RigError> {
    let own = ["name", "kind", "firmness", "origin", "insertion", "samples"];
    table.check_keys(&[&own[..], &SIZES].concat())?;
    let defaults = MuscleRig::spec().parameters;
    let mut sizes = [0.0; 3];
    for (slot, p) in sizes.iter_mut().zip(defaults) {
        *slot = match table.get(p.name) {
            Some(_) => table.number(p.name)?,
            None => p.default,
        };
    }
    let [origin, insertion] = [
        read_place(table, "origin")?,
        read_place(table, "insertion")?,
    ];
    let muscle = MuscleRig::new(origin, insertion, sizes).map_err(|e| table.locate_error(e))?;
    let samples = table.tables("samples")?;
    let samples = samples.iter().map(|t| read_sample(t, &muscle));
    let samples = samples.collect::<Result<_, _>>()?;
    Rig::muscle(name, muscle, samples).map_err(|e| table.locate_error(e))
}

fn read_place(table: &RigFileTable, key: &str) -> Result<MusclePlace, RigError> {
    let table = table.table(key)?;
    table.check_keys(&[&["bone"], &PLACE[..]].concat())?;
    let defaults = &MuscleRig::spec().parameters[3..6];
    let mut values = [0.0; 3];
    for ((slot, name), p) in values.iter_mut().zip(PLACE).zip(defaults) {
        *slot = match table.get(name) {
            Some(_) => table.number(name)?,
            None => p.default,
        };
    }
    Ok(MusclePlace {
        bone: table.bone()?,
        values,
    })
}

fn read_sample(table: &RigFileTable, muscle: &MuscleRig) -> Result<Sample, RigError> {
    let names = MuscleRig::spec().parameter_names();
    table.check_keys(&[&["control"], &names[..]].concat())?;
    let mut parameters = muscle.parameters();
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
