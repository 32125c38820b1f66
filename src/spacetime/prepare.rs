// SPDX-License-Identifier: MIT OR Apache-2.0
//! The preprocess: aligned keyframes, the reduced space, linearisations. [hildebrandt2012, §4.4, §5]

use super::linear::Linearisation;
use super::options::{
    Ghosts, RestShape, RigidMotion, SpaceSettings, SpacetimeSettings, check_shape,
};
use super::rigid::{RigidPlacement, best_placement, split_velocities};
use super::space::ShapeSpace;
use super::{Deformable, SpacetimeError, ghosts};
use crate::Vec3;
use crate::geometry::aabb::diagonal;
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use crate::solve::eigen::{EigenError, EigenSettings, analyse_pattern, lowest_with_symbolic};
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix, SymbolicCholesky};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest distance between vertices of equal shapes, as a share of the size.
pub(super) const EQUAL_SHAPE_TOLERANCE: f64 = 1e-9;
/// Largest distance by which a keyframe may move a fixed vertex, as a share of the size.
pub(super) const FIXED_VERTEX_TOLERANCE: f64 = 1e-5;
/// Tolerance of modes.
const MODE_TOLERANCE: f64 = 1e-6;
/// Looser tolerance of modes, where they do not converge to [`MODE_TOLERANCE`].
const ROUGH_MODE_TOLERANCE: f64 = 1e-2;
/// Maximum number of parts without a fixed vertex: each adds six motions of its own to every keyframe.
const MAX_FREE_PARTS: usize = 8;

/// An aligned shape to linearise around.
pub(super) struct NamedShape {
    pub positions: Vec<Vec3>,
    pub name: String,
}

/// A ghost: its interval, its share of it and its linearisation.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Ghost {
    pub interval: usize,
    /// Share of the distance between the keyframes, or of the time.
    pub share: f64,
    /// Whether the share is one of the time.
    pub timed: bool,
    pub linearisation: usize,
}

/// Result of the preprocess.
pub(super) struct PreprocessResult {
    pub space: ShapeSpace,
    pub linearisations: Vec<Linearisation>,
    /// Index of each keyframe's linearisation.
    pub linearisation_of: Vec<usize>,
    pub ghosts: Vec<Ghost>,
    /// Placements of the keyframes, if rigid motion is factored out.
    pub places: Option<Vec<RigidPlacement>>,
    /// Coordinates of the keyframes.
    pub coordinates: Vec<Vec<f64>>,
    pub notes: Vec<String>,
}

/// Checks the keyframes against the body and each other, and returns their size, the unit of tolerances.
pub(super) fn check_keyframes(
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
    let size = diagonal(&keyframes[0]).max(diagonal(body.rest()));
    if options.cyclic {
        let last = &keyframes[keyframes.len() - 1];
        for (vertex, (a, b)) in keyframes[0].iter().zip(last).enumerate() {
            let distance = (a - b).norm();
            if distance > FIXED_VERTEX_TOLERANCE * size {
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
            if distance > FIXED_VERTEX_TOLERANCE * size {
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

/// Keyframes with the rigid placements that align them.
struct AlignedKeyframes<'a> {
    keyframes: &'a [Vec<Vec3>],
    masses: &'a [f64],
    fixed: &'a [bool],
    places: Vec<RigidPlacement>,
    /// `true`: rigid motion is factored out.
    removed: bool,
}

/// A ghost to insert: the interval, the share of it, the aligned shape.
type GhostShape = (usize, f64, Vec<Vec3>);

impl AlignedKeyframes<'_> {
    /// Returns a shape in the frame of the space, with fixed vertices at their places.
    fn align_shape(&self, x: &[Vec3], at: &RigidPlacement) -> Vec<Vec3> {
        let mut aligned = match self.removed {
            true => at.align(x, self.places[0].centre),
            false => x.to_vec(),
        };
        for (v, _) in self.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            aligned[v] = self.keyframes[0][v];
        }
        aligned
    }

    /// Returns the distinct shapes among aligned keyframes, and the index of each keyframe's.
    fn distinct_shapes(aligned: &[Vec<Vec3>], size: f64) -> (Vec<NamedShape>, Vec<usize>) {
        let (mut shapes, mut of): (Vec<NamedShape>, _) = (Vec::new(), Vec::new());
        for (key, positions) in aligned.iter().enumerate() {
            let same = |s: &NamedShape| {
                let mut pairs = s.positions.iter().zip(positions);
                pairs.all(|(a, b)| (a - b).amax() <= EQUAL_SHAPE_TOLERANCE * size)
            };
            let found = shapes.iter().position(same);
            of.push(found.unwrap_or(shapes.len()));
            if found.is_none() {
                shapes.push(NamedShape {
                    positions: positions.clone(),
                    name: format!("keyframe {key}"),
                });
            }
        }
        (shapes, of)
    }

    /// Checks and aligns the ghosts that the caller gives.
    ///
    /// # Errors
    /// A shape of another body, a time outside.
    fn align_given_ghosts(
        &self,
        list: &[(f64, Vec<Vec3>)],
        times: &[f64],
    ) -> Result<Vec<GhostShape>, SpacetimeError> {
        let (start, end) = (times[0], times[times.len() - 1]);
        let one = |(number, (time, shape)): (usize, &(f64, Vec<Vec3>))| {
            check_shape(shape, self.masses.len(), || format!("ghost {number}"))?;
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
            let at = best_placement(&self.keyframes[0], shape, self.masses);
            Ok((after - 1, share, self.align_shape(shape, &at)))
        };
        list.iter().enumerate().map(one).collect()
    }

    /// Returns the given velocities as columns of the space.
    fn velocity_columns(&self, settings: &SpacetimeSettings, free: &[u32]) -> Vec<Vec<f64>> {
        let mut columns = Vec::new();
        for (&key, velocity) in &settings.velocities {
            let both = [velocity.incoming(), velocity.outgoing()];
            for given in both.into_iter().flatten() {
                let field = match self.removed {
                    true => {
                        split_velocities(
                            &self.keyframes[key],
                            given,
                            self.masses,
                            &self.places[key],
                        )
                        .rest
                    }
                    false => given.to_vec(),
                };
                columns.push(flatten_free(free, |v| field[v]));
            }
        }
        columns
    }
}

/// Appends ghosts to the shapes, and returns them in the order of their times.
fn append_ghosts(given: Vec<GhostShape>, timed: bool, shapes: &mut Vec<NamedShape>) -> Vec<Ghost> {
    let mut ghosts = Vec::new();
    for (number, (interval, share, positions)) in given.into_iter().enumerate() {
        ghosts.push(Ghost {
            timed,
            interval,
            share,
            linearisation: shapes.len(),
        });
        let name = format!("ghost {number}");
        shapes.push(NamedShape { positions, name });
    }
    ghosts.sort_by(|a, b| {
        (a.interval, a.share)
            .partial_cmp(&(b.interval, b.share))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    ghosts
}

/// Linearises a body at each shape.
fn linearise_shapes(
    body: &dyn Deformable,
    space: &ShapeSpace,
    shapes: &[NamedShape],
    rests: RestShape,
    progress: &dyn Progress,
) -> Result<Vec<Linearisation>, SpacetimeError> {
    report_progress(progress, 0.78, "Linearisations")?;
    let done = AtomicUsize::new(0);
    let linearise = |shape: &NamedShape| {
        let name = || shape.name.clone();
        let linear = Linearisation::new(body, space, &shape.positions, rests, &name);
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        let share = 0.78 + 0.22 * count as f64 / shapes.len() as f64;
        report_progress(progress, share, "Linearisations")?;
        linear
    };
    shapes.par_iter().map(linearise).collect()
}

/// Runs the preprocess: aligns the keyframes, spans the reduced space and linearises the body.
pub(super) fn prepare(
    body: &dyn Deformable,
    keyframes: &[Vec<Vec3>],
    (times, size): (&[f64], f64),
    settings: &SpacetimeSettings,
    options: &SpaceSettings,
    progress: &dyn Progress,
) -> Result<PreprocessResult, SpacetimeError> {
    let (masses, nodes) = (body.masses(), body.rest().len());
    let held = |v: usize| options.fixed.get(v).copied().unwrap_or(false);
    let free: Vec<u32> = (0..nodes as u32).filter(|&v| !held(v as usize)).collect();
    if free.is_empty() {
        return Err(SpacetimeError::NothingFree { vertices: nodes });
    }
    let mut notes = Vec::new();
    let removed = free.len() == nodes && options.rigid != RigidMotion::Kept;
    if options.rigid == RigidMotion::Removed && !removed {
        notes.push("Rigid motion is kept, since vertices are fixed.".to_owned());
    }
    let places = keyframes
        .iter()
        .map(|x| best_placement(&keyframes[0], x, masses));
    let keys = AlignedKeyframes {
        places: places.collect(),
        fixed: &options.fixed,
        keyframes,
        masses,
        removed,
    };
    let pairs = keyframes.iter().zip(&keys.places);
    let aligned: Vec<Vec<Vec3>> = pairs.map(|(x, at)| keys.align_shape(x, at)).collect();
    let (mut shapes, linearisation_of) = AlignedKeyframes::distinct_shapes(&aligned, size);
    let given = match &options.ghosts {
        Ghosts::None => Vec::new(),
        Ghosts::Auto => ghosts::build_ghosts(body, &aligned, &free, &mut notes),
        Ghosts::Given(list) => keys.align_given_ghosts(list, times)?,
    };
    let timed = matches!(options.ghosts, Ghosts::Given(_));
    let ghosts = append_ghosts(given, timed, &mut shapes);
    let whole = 3 * free.len() <= options.full_below;
    let mut columns = Vec::new();
    if !whole {
        let part = StageProgress {
            whole: progress,
            from: 0.0,
            to: 0.7,
        };
        columns = self::space_columns(body, &shapes, &free, options.modes, &mut notes, &part)?;
        columns.extend(keys.velocity_columns(settings, &free));
    }
    report_progress(progress, 0.7, "Reduced space")?;
    let space = ShapeSpace::new(aligned[0].clone(), free, masses, &columns, whole);
    let space = space.ok_or(SpacetimeError::NoSpace)?;
    let linearisations = linearise_shapes(body, &space, &shapes, options.rests, progress)?;
    Ok(PreprocessResult {
        coordinates: aligned.iter().map(|x| space.coordinates(x)).collect(),
        linearisations,
        linearisation_of,
        ghosts,
        places: removed.then_some(keys.places),
        notes,
        space,
    })
}

/// Returns the components of a field at the free vertices.
fn flatten_free(free: &[u32], of: impl Fn(usize) -> Vec3) -> Vec<f64> {
    let rows = free.iter().flat_map(|&v| {
        let x = of(v as usize);
        [x.x, x.y, x.z]
    });
    rows.collect()
}

/// Returns the columns of the reduced space: differences to the first shape, and modes of each shape at rest.
pub(super) fn space_columns(
    body: &dyn Deformable,
    shapes: &[NamedShape],
    free: &[u32],
    count: usize,
    notes: &mut Vec<String>,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, SpacetimeError> {
    let first = &shapes[0].positions;
    let mut columns: Vec<Vec<f64>> = shapes[1..]
        .iter()
        .map(|shape| flatten_free(free, |v| shape.positions[v] - first[v]))
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
    report_progress(progress, 0.0, "Order of elimination")?;
    let stiffness = stiffness_at(body, &shapes[0])?;
    let parts = count_free_parts(&stiffness, first.len(), free);
    if parts > MAX_FREE_PARTS {
        return Err(SpacetimeError::Parts {
            parts,
            most: MAX_FREE_PARTS,
        });
    }
    // All share one pattern, which is analysed once, at the rest shape.
    let middles: Vec<Vec3> = free.iter().map(|&v| body.rest()[v as usize]).collect();
    let stiffness = without_fixed(stiffness, free, first.len());
    let symbolic =
        analyse_pattern(&stiffness, &mass, &middles).map_err(|e| modes_error(&shapes[0], e))?;
    drop(stiffness);
    let done = AtomicUsize::new(0);
    let modes = |shape: &NamedShape| {
        let watch = |_: f64, _: &str| {
            let share = (0.5 + done.load(Ordering::Relaxed) as f64) / shapes.len() as f64;
            progress.report(0.05 + 0.95 * share.min(1.0), "Modes of the keyframes")
        };
        let stiffness = without_fixed(stiffness_at(body, shape)?, free, first.len());
        let found = shape_modes(shape, (&stiffness, &mass), (free, &symbolic), count, &watch);
        done.fetch_add(1, Ordering::Relaxed);
        found
    };
    let all: Result<Vec<_>, SpacetimeError> = shapes.par_iter().map(modes).collect();
    for (shape, vectors) in shapes.iter().zip(all?) {
        if vectors.is_empty() {
            notes.push(format!(
                "No vibration modes of {} were found: it has very flat triangles, or is far from 10 units in size where a unit \
                 was given. Between keyframes less moves by itself.",
                shape.name
            ));
        }
        let flat = |vector: &Vec<Vec3>| vector.iter().flat_map(|x| [x.x, x.y, x.z]).collect();
        columns.extend(vectors.iter().map(flat));
    }
    if parts > 1 {
        notes.push(format!(
            "The mesh has {parts} separate parts, which move independently where keyframes say nothing."
        ));
    }
    report_progress(progress, 1.0, "Modes of the keyframes").map_err(|Cancelled| Cancelled)?;
    Ok(columns)
}

fn stiffness_at(body: &dyn Deformable, shape: &NamedShape) -> Result<BlockMatrix, SpacetimeError> {
    let hessian = body.hessian_at_rest(&shape.positions);
    hessian.ok_or_else(|| SpacetimeError::Crumpled {
        what: shape.name.clone(),
    })
}

/// Returns a matrix without the fixed vertices.
fn without_fixed(matrix: BlockMatrix, free: &[u32], nodes: usize) -> BlockMatrix {
    match free.len() == nodes {
        true => matrix,
        false => matrix.restrict_to(free),
    }
}

fn modes_error(shape: &NamedShape, error: EigenError) -> SpacetimeError {
    match error {
        EigenError::Cancelled(c) => SpacetimeError::Cancelled(c),
        error => SpacetimeError::Modes {
            what: shape.name.clone(),
            error,
        },
    }
}

/// Returns the modes of a shape at rest; none where they do not converge.
fn shape_modes(
    shape: &NamedShape,
    (stiffness, mass): (&BlockMatrix, &ScalarMatrix),
    (free, symbolic): (&[u32], &Arc<SymbolicCholesky>),
    count: usize,
    watch: &dyn Progress,
) -> Result<Vec<Vec<Vec3>>, SpacetimeError> {
    let centres: Vec<Vec3> = free.iter().map(|&v| shape.positions[v as usize]).collect();
    // Rough modes span a space too; without modes the keyframes' differences remain.
    for tolerance in [MODE_TOLERANCE, ROUGH_MODE_TOLERANCE] {
        let options = EigenSettings {
            tolerance,
            beyond_free: true,
            verify: false,
            ..EigenSettings::new(count.min(3 * free.len()))
        };
        let elimination = (symbolic, centres.as_slice());
        match lowest_with_symbolic(stiffness, mass, elimination, &options, watch) {
            Ok(pairs) => return Ok(pairs.vectors),
            Err(EigenError::NotConverged { .. } | EigenError::Overflow) => {}
            Err(error) => return Err(modes_error(shape, error)),
        }
    }
    Ok(Vec::new())
}

/// Counts the connected parts of a body without a fixed vertex.
fn count_free_parts(pattern: &BlockMatrix, nodes: usize, free: &[u32]) -> usize {
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
