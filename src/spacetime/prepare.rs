// SPDX-License-Identifier: MIT OR Apache-2.0
//! The preprocess: aligned keyframes, the reduced space, linearisations. [hildebrandt2012, §4.4, §5]

use super::linear::Linearisation;
use super::options::{Ghosts, RigidMotion, Settings, SpaceSettings, check_shape};
use super::rigid::{Place, part, place};
use super::space::Space;
use super::{Deformable, SpacetimeError, ghosts};
use crate::Vec3;
use crate::progress::{Cancelled, Part, Progress, step};
use crate::solve::eigen::{EigenError, EigenSettings, analysed, lowest_of};
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tolerances, as shares of the size: for equal shapes, and for fixed vertices.
pub(super) const SAME: f64 = 1e-9;
pub(super) const STAYS: f64 = 1e-5;
/// Tolerance of modes, and the looser one where they do not converge.
const TOLERANCE: f64 = 1e-6;
const ROUGH: f64 = 1e-2;
/// Maximum number of parts without a fixed vertex: each adds six motions of its own to every keyframe.
const PARTS: usize = 8;

/// An aligned shape to linearise around.
pub(super) struct Shape {
    pub positions: Vec<Vec3>,
    pub name: String,
}

/// A ghost: its interval, its place in it and its linearisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ghost {
    pub interval: usize,
    /// Share of the distance between the keyframes, or of the time.
    pub share: f64,
    /// Whether the share is one of the time.
    pub timed: bool,
    pub linearisation: usize,
}

/// Result of the preprocess.
pub(super) struct Prepared {
    pub space: Space,
    pub linearisations: Vec<Linearisation>,
    /// Index of each keyframe's linearisation.
    pub linearisation_of: Vec<usize>,
    pub ghosts: Vec<Ghost>,
    /// Places of the keyframes, if rigid motion is factored out.
    pub places: Option<Vec<Place>>,
    /// Coordinates of the keyframes.
    pub coordinates: Vec<Vec<f64>>,
    pub notes: Vec<String>,
}

/// Checks the keyframes against the body and each other, and returns the size.
pub(super) fn check(
    body: &dyn Deformable,
    keyframes: &[Vec<Vec3>],
    times: &[f64],
    options: &SpaceSettings,
) -> Result<f64, SpacetimeError> {
    let nodes = body.rest().len();
    if keyframes.len() < 2 {
        return Err(SpacetimeError::TooFew {
            keys: keyframes.len(),
        });
    }
    check_times(times, keyframes.len())?;
    for (key, shape) in keyframes.iter().enumerate() {
        check_shape(shape, nodes, || format!("keyframe {key}"))?;
    }
    let size = extent(&keyframes[0]).max(extent(body.rest()));
    if options.cyclic {
        let last = &keyframes[keyframes.len() - 1];
        for (vertex, (a, b)) in keyframes[0].iter().zip(last).enumerate() {
            let distance = (a - b).norm();
            if distance > STAYS * size {
                return Err(SpacetimeError::Open { vertex, distance });
            }
        }
    }
    if !options.fixed.is_empty() && options.fixed.len() != nodes {
        return Err(SpacetimeError::Size {
            what: "the mask of fixed vertices".into(),
            vertices: options.fixed.len(),
            nodes,
        });
    }
    for (vertex, _) in options.fixed.iter().enumerate().filter(|(_, f)| **f) {
        for (key, shape) in keyframes.iter().enumerate() {
            let distance = (shape[vertex] - keyframes[0][vertex]).norm();
            if distance > STAYS * size {
                return Err(SpacetimeError::Fixed {
                    key,
                    vertex,
                    distance,
                });
            }
        }
    }
    Ok(size)
}

pub(super) fn check_times(times: &[f64], keys: usize) -> Result<(), SpacetimeError> {
    if times.len() != keys {
        return Err(SpacetimeError::Times {
            times: times.len(),
            keys,
        });
    }
    if let Some(&value) = times.iter().find(|t| !crate::range::is_sound(**t)) {
        return Err(SpacetimeError::Setting {
            name: "a keyframe's time",
            range: "a finite number of seconds",
            value,
        });
    }
    for (k, pair) in times.windows(2).enumerate() {
        // Times that differ only by rounding count as equal.
        if pair[1] - pair[0] <= 1e-12 * pair[0].abs().max(pair[1].abs()) {
            return Err(SpacetimeError::Order {
                key: k + 1,
                time: pair[1],
                before: k,
                earlier: pair[0],
            });
        }
    }
    Ok(())
}

pub(super) fn extent(shape: &[Vec3]) -> f64 {
    let Some(first) = shape.first() else {
        return 0.0;
    };
    let (low, high) = shape
        .iter()
        .fold((*first, *first), |(l, h), x| (l.inf(x), h.sup(x)));
    (high - low).norm()
}

pub(super) fn prepare(
    body: &dyn Deformable,
    keyframes: &[Vec<Vec3>],
    (times, size): (&[f64], f64),
    settings: &Settings,
    options: &SpaceSettings,
    progress: &dyn Progress,
) -> Result<Prepared, SpacetimeError> {
    let masses = body.masses();
    let nodes = body.rest().len();
    let held = |v: usize| options.fixed.get(v).copied().unwrap_or(false);
    let free: Vec<u32> = (0..nodes as u32).filter(|&v| !held(v as usize)).collect();
    if free.is_empty() {
        return Err(SpacetimeError::NothingFree { vertices: nodes });
    }
    let mut notes = Vec::new();
    let places: Vec<Place> = keyframes
        .iter()
        .map(|x| place(&keyframes[0], x, masses))
        .collect();
    let removed = free.len() == nodes && options.rigid != RigidMotion::Kept;
    if options.rigid == RigidMotion::Removed && !removed {
        notes.push("Rigid motion is kept, since vertices are fixed.".to_owned());
    }
    let pivot = places[0].centre;
    let back = |x: &[Vec3], at: &Place| -> Vec<Vec3> {
        let turn = at.turn.transpose();
        x.iter().map(|x| pivot + turn * (x - at.centre)).collect()
    };
    let mut shapes: Vec<Shape> = Vec::new();
    let mut linearisation_of = Vec::new();
    let mut laid: Vec<Vec<Vec3>> = Vec::new();
    for (key, (x, at)) in keyframes.iter().zip(&places).enumerate() {
        let mut positions = if removed { back(x, at) } else { x.clone() };
        for v in (0..nodes).filter(|&v| held(v)) {
            positions[v] = keyframes[0][v];
        }
        let same = |s: &Shape| {
            let mut pairs = s.positions.iter().zip(&positions);
            pairs.all(|(a, b)| (a - b).amax() <= SAME * size)
        };
        let found = shapes.iter().position(same);
        linearisation_of.push(found.unwrap_or(shapes.len()));
        laid.push(positions.clone());
        if found.is_none() {
            let name = format!("keyframe {key}");
            shapes.push(Shape { positions, name });
        }
    }
    let mut placed = Vec::new();
    let given: Vec<(usize, f64, Vec<Vec3>)> = match &options.ghosts {
        Ghosts::None => Vec::new(),
        Ghosts::Auto => ghosts::between(body, &laid, &free, &mut notes),
        Ghosts::Given(list) => {
            let mut all = Vec::new();
            for (number, (time, shape)) in list.iter().enumerate() {
                check_shape(shape, nodes, || format!("ghost {number}"))?;
                let (start, end) = (times[0], times[times.len() - 1]);
                if !(*time > start && *time < end) {
                    return Err(SpacetimeError::Outside {
                        what: "a ghost",
                        time: *time,
                        start,
                        end,
                    });
                }
                let after = times.partition_point(|t| t <= time).min(times.len() - 1);
                let share = (time - times[after - 1]) / (times[after] - times[after - 1]);
                let mut shape = shape.clone();
                if removed {
                    shape = back(&shape, &place(&keyframes[0], &shape, masses));
                }
                for v in (0..nodes).filter(|&v| held(v)) {
                    shape[v] = keyframes[0][v];
                }
                all.push((after - 1, share, shape));
            }
            all
        }
    };
    for (number, (interval, share, positions)) in given.into_iter().enumerate() {
        placed.push(Ghost {
            timed: matches!(options.ghosts, Ghosts::Given(_)),
            interval,
            share,
            linearisation: shapes.len(),
        });
        let name = format!("ghost {number}");
        shapes.push(Shape { positions, name });
    }
    placed.sort_by(|a, b| {
        (a.interval, a.share)
            .partial_cmp(&(b.interval, b.share))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let whole = 3 * free.len() <= options.full_below;
    let reference = laid[0].clone();
    let columns = if whole {
        Vec::new()
    } else {
        let part = Part {
            whole: progress,
            from: 0.0,
            to: 0.7,
        };
        let mut columns = columns(body, &shapes, &free, options.modes, &mut notes, &part)?;
        for (&key, velocity) in &settings.velocities {
            for given in [velocity.incoming(), velocity.outgoing()]
                .into_iter()
                .flatten()
            {
                let field = if removed {
                    part_velocity(&keyframes[key], given, masses, &places[key])
                } else {
                    given.to_vec()
                };
                columns.push(flat(&free, |v| field[v]));
            }
        }
        columns
    };
    step(progress, 0.7, "Reduced space")?;
    let space = Space::new(reference, free, masses, &columns, whole);
    let space = space.ok_or(SpacetimeError::NoSpace)?;
    step(progress, 0.78, "Linearisations")?;
    let done = AtomicUsize::new(0);
    let linearise = |shape: &Shape| {
        let linear = Linearisation::new(body, &space, &shape.positions, options.rests, &|| {
            shape.name.clone()
        });
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        let share = 0.78 + 0.22 * count as f64 / shapes.len() as f64;
        step(progress, share, "Linearisations")?;
        linear
    };
    let linearisations: Result<Vec<_>, _> = shapes.par_iter().map(linearise).collect();
    let coordinates = laid.iter().map(|x| space.coordinates(x)).collect();
    Ok(Prepared {
        coordinates,
        linearisations: linearisations?,
        linearisation_of,
        ghosts: placed,
        places: removed.then_some(places),
        notes,
        space,
    })
}

fn part_velocity(x: &[Vec3], velocity: &[Vec3], masses: &[f64], at: &Place) -> Vec<Vec3> {
    part(x, velocity, masses, at).rest
}

fn flat(free: &[u32], of: impl Fn(usize) -> Vec3) -> Vec<f64> {
    let rows = free.iter().flat_map(|&v| {
        let x = of(v as usize);
        [x.x, x.y, x.z]
    });
    rows.collect()
}

/// Returns the columns of the reduced space: differences to the first shape, and modes of each shape at rest.
pub(super) fn columns(
    body: &dyn Deformable,
    shapes: &[Shape],
    free: &[u32],
    count: usize,
    notes: &mut Vec<String>,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, SpacetimeError> {
    let first = &shapes[0].positions;
    let mut columns: Vec<Vec<f64>> = shapes[1..]
        .iter()
        .map(|shape| flat(free, |v| shape.positions[v] - first[v]))
        .collect();
    if count == 0 {
        return Ok(columns);
    }
    let masses = body.masses();
    let n = free.len();
    let mass = ScalarMatrix::new(
        (n, n),
        (0..=n as u32).collect(),
        (0..n as u32).collect(),
        free.iter().map(|&v| masses[v as usize]).collect(),
    );
    let centres = |shape: &Shape| -> Vec<Vec3> {
        free.iter().map(|&v| shape.positions[v as usize]).collect()
    };
    let at_rest = |shape: &Shape| {
        let hessian = body.hessian_at_rest(&shape.positions);
        hessian.ok_or_else(|| SpacetimeError::Crumpled {
            what: shape.name.clone(),
        })
    };
    let without_fixed = |matrix: BlockMatrix| match n == body.rest().len() {
        true => matrix,
        false => matrix.restricted(free),
    };
    step(progress, 0.0, "Order of elimination")?;
    let stiffness = at_rest(&shapes[0])?;
    let parts = free_parts(&stiffness, first.len(), free);
    if parts > PARTS {
        return Err(SpacetimeError::Parts { parts, most: PARTS });
    }
    let stiffness = without_fixed(stiffness);
    let named = |shape: &Shape| {
        let what = shape.name.clone();
        move |error| match error {
            EigenError::Cancelled(c) => SpacetimeError::Cancelled(c),
            error => SpacetimeError::Modes { what, error },
        }
    };
    // All share one pattern, which is analysed once, at the rest shape.
    let middles: Vec<Vec3> = free.iter().map(|&v| body.rest()[v as usize]).collect();
    let symbolic = analysed(&stiffness, &mass, &middles).map_err(named(&shapes[0]))?;
    drop(stiffness);
    let options = EigenSettings {
        tolerance: TOLERANCE,
        beyond_free: true,
        verify: false,
        ..EigenSettings::new(count)
    };
    let done = AtomicUsize::new(0);
    let modes = |shape: &Shape| -> Result<_, SpacetimeError> {
        let centres = centres(shape);
        let watch = |_: f64, _: &str| {
            let share = (0.5 + done.load(Ordering::Relaxed) as f64) / shapes.len() as f64;
            progress.report(0.05 + 0.95 * share.min(1.0), "Modes of the keyframes")
        };
        let stiffness = without_fixed(at_rest(shape)?);
        // Rough modes span a space too; without modes the keyframes' differences remain.
        let mut found = Vec::new();
        for tolerance in [TOLERANCE, ROUGH] {
            let options = EigenSettings {
                count: count.min(3 * n),
                tolerance,
                ..options.clone()
            };
            let (elimination, watch) = ((&symbolic, centres.as_slice()), &watch);
            match lowest_of(&stiffness, &mass, elimination, &options, watch) {
                Ok(pairs) => {
                    found = pairs.vectors;
                    break;
                }
                Err(EigenError::NotConverged { .. } | EigenError::Overflow) => {}
                Err(error) => return Err(named(shape)(error)),
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    };
    let all: Result<Vec<_>, _> = shapes.par_iter().map(modes).collect();
    for (shape, vectors) in shapes.iter().zip(all?) {
        if vectors.is_empty() {
            notes.push(format!(
                "No vibration modes of {} were found: it has very flat triangles, or is far from 10 units in size where a unit \
                 was given. Between keyframes less moves by itself.",
                shape.name
            ));
        }
        columns.extend(vectors.iter().map(|vector| flat_of(vector)));
    }
    if parts > 1 {
        notes.push(format!(
            "The mesh hangs together in {parts} parts, which move apart from each other where keyframes say nothing."
        ));
    }
    step(progress, 1.0, "Modes of the keyframes").map_err(|Cancelled| Cancelled)?;
    Ok(columns)
}

/// Counts the connected parts of a body without a fixed vertex.
fn free_parts(pattern: &BlockMatrix, nodes: usize, free: &[u32]) -> usize {
    let mut is_free = vec![false; nodes];
    let mut seen = is_free.clone();
    free.iter().for_each(|&v| is_free[v as usize] = true);
    let mut parts = 0;
    for start in 0..seen.len() {
        if seen[start] {
            continue;
        }
        let (mut open, mut held) = (vec![start], false);
        seen[start] = true;
        while let Some(node) = open.pop() {
            held |= !is_free[node];
            for e in pattern.row_range(node) {
                let other = pattern.indices()[e] as usize;
                if !std::mem::replace(&mut seen[other], true) {
                    open.push(other);
                }
            }
        }
        parts += usize::from(!held);
    }
    parts
}

fn flat_of(vector: &[Vec3]) -> Vec<f64> {
    vector.iter().flat_map(|x| [x.x, x.y, x.z]).collect()
}
