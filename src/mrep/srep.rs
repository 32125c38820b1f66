// SPDX-License-Identifier: MIT OR Apache-2.0
//! s-reps as files of SlicerSALT hold them, in JSON: slabs by rows and columns of skeletal points with a spoke up, one down, and on the
//! border one to the crest. `[liu2021]`
//!
//! `RectangularGridSRep` has `Rows`, `Cols` and `Skeleton[row][col]` of `UpSpoke`, `DownSpoke` and, on the border, `CrestSpoke`, each with a
//! `SkeletalPoint` and a `Direction` that holds its length: `{"CoordinateSystem": "LPS" or "RAS", "Value": [x, y, z]}`, or in older
//! files the three numbers alone, which are LPS. LPS (left, posterior, superior) has x and y the other way round than RAS, which is
//! what a model here is in.
//!
//! `EllipticalSRep` has `CrestPoints`, `Steps` and `Skeleton[crest point][step]`, from the spine (0) to the fold (`Steps`): a
//! sheet in polar coordinates. It is read at the places of a grid that is squeezed into the sheet, between its four nearest ones.
//!
//! From spokes to atoms: b is their bisector, θ half the angle between them, r the mean of their lengths; the crest spoke's length is
//! the end factor, and its direction is taken to be b. Where both spokes point away from each other their bisector is the crest spoke's
//! part across them, or, inside, the neighbours'. Files have millimetres as a rule: read them with a scale of 0.001.

use super::atom::{Atom, Role};
use super::ellipsoid;
use super::figure::{Figure, Kind};
use crate::{Mat3, Vec3};
use serde_json::{Value, json};

/// Spokes of one skeletal point.
#[derive(Debug, Clone, Copy)]
struct Point {
    hub: Vec3,
    up: Vec3,
    down: Vec3,
    crest: Option<Vec3>,
}

/// Rows and columns that elliptical s-reps are read at.
const GRID: [usize; 2] = [5, 9];
/// Most points along either side of a file.
const MOST: usize = 512;

/// A slab from the text of a file; else what is wrong with it.
pub(super) fn parsed(text: &str) -> Result<Figure, String> {
    let all: Value = serde_json::from_str(text).map_err(|e| format!("this is no JSON: {e}"))?;
    if let Some(grid) = all.get("RectangularGridSRep") {
        let (rows, cols) = (count(grid, "Rows")?, count(grid, "Cols")?);
        let points = points(grid, rows, cols, "RectangularGridSRep")?;
        return figure(rows, cols, &points);
    }
    if let Some(ellipse) = all.get("EllipticalSRep") {
        let (around, steps) = (count(ellipse, "CrestPoints")?, count(ellipse, "Steps")?);
        let points = points(ellipse, around, steps + 1, "EllipticalSRep")?;
        let [rows, cols] = GRID;
        return figure(rows, cols, &resampled(&points, around, steps, rows, cols));
    }
    Err("it has neither a RectangularGridSRep nor an EllipticalSRep: it is no s-rep".into())
}

fn count(of: &Value, key: &str) -> Result<usize, String> {
    let found = of.get(key).and_then(Value::as_u64).map(|n| n as usize);
    found
        .filter(|n| (1..=MOST).contains(n))
        .ok_or_else(|| format!("'{key}' has to be a whole number from 1 to {MOST}"))
}

fn points(of: &Value, rows: usize, cols: usize, name: &str) -> Result<Vec<Point>, String> {
    let skeleton = of.get("Skeleton").and_then(Value::as_array);
    let skeleton = skeleton.ok_or_else(|| format!("{name} has no list 'Skeleton'"))?;
    if skeleton.len() != rows {
        return Err(format!(
            "'Skeleton' has {} rows, but there are to be {rows}",
            skeleton.len()
        ));
    }
    let mut out = Vec::with_capacity(rows * cols);
    for (i, row) in skeleton.iter().enumerate() {
        let row = row.as_array().filter(|row| row.len() == cols);
        let row =
            row.ok_or_else(|| format!("row {i} of 'Skeleton' has to be a list of {cols} points"))?;
        for (j, point) in row.iter().enumerate() {
            let spoke = |key: &str| -> Result<Option<(Vec3, Vec3)>, String> {
                let Some(spoke) = point.get(key) else {
                    return Ok(None);
                };
                let part = |part: &str| {
                    let found = spoke.get(part).and_then(vector);
                    found.ok_or_else(|| {
                        format!(
                            "'{part}' of '{key}' at row {i}, column {j} has to be three numbers"
                        )
                    })
                };
                Ok(Some((part("SkeletalPoint")?, part("Direction")?)))
            };
            let needed = |key: &str| {
                spoke(key)?
                    .ok_or_else(|| format!("row {i}, column {j} of 'Skeleton' has no '{key}'"))
            };
            let ((a, up), (b, down)) = (needed("UpSpoke")?, needed("DownSpoke")?);
            out.push(Point {
                hub: (a + b) / 2.0,
                up,
                down,
                crest: spoke("CrestSpoke")?.map(|(_, direction)| direction),
            });
        }
    }
    Ok(out)
}

/// Three numbers in RAS.
fn vector(value: &Value) -> Option<Vec3> {
    let lps = match value.get("CoordinateSystem") {
        None => true,
        Some(system) => match system.as_str()? {
            "LPS" => true,
            "RAS" => false,
            _ => return None,
        },
    };
    let numbers = value.get("Value").unwrap_or(value).as_array()?;
    let [x, y, z] = &numbers[..] else {
        return None;
    };
    let v = Vec3::new(x.as_f64()?, y.as_f64()?, z.as_f64()?);
    let sound = v.iter().all(|x| x.abs() <= crate::range::FARTHEST);
    sound.then(|| if lps { Vec3::new(-v.x, -v.y, v.z) } else { v })
}

fn figure(rows: usize, cols: usize, points: &[Point]) -> Result<Figure, String> {
    /// Spokes whose sum is smaller than this share of them point away from each other.
    const OPPOSITE: f64 = 1e-6;
    let border = |i: usize| Kind::Slab { rows, cols }.role(i).closes();
    let bisector = |point: &Point| -> Option<Vec3> {
        let sum = point.up.normalize() + point.down.normalize();
        if sum.norm() > OPPOSITE {
            return Some(sum.normalize());
        }
        let across = point.up.normalize() - point.down.normalize();
        let n = across.normalize();
        let crest = point.crest?;
        (crest - n * crest.dot(&n)).try_normalize(OPPOSITE * crest.norm())
    };
    for (i, point) in points.iter().enumerate() {
        let lengths = [point.up.norm(), point.down.norm()];
        if lengths.iter().any(|x| *x <= 0.0)
            || (border(i) && point.crest.is_some_and(|c| c == Vec3::zeros()))
        {
            return Err(format!(
                "a spoke at row {}, column {} has no length",
                i / cols,
                i % cols
            ));
        }
        if border(i) && point.crest.is_none() {
            return Err(format!(
                "row {}, column {} is on the border, but has no 'CrestSpoke'",
                i / cols,
                i % cols
            ));
        }
    }
    let known: Vec<Option<Vec3>> = points.iter().map(bisector).collect();
    let atoms = points.iter().enumerate().map(|(i, point)| {
        let (up, down) = (point.up.normalize(), point.down.normalize());
        let n = (up - down).try_normalize(OPPOSITE);
        let b = known[i].unwrap_or_else(|| {
            // The direction that neighbours have, or any across.
            let n = n.unwrap_or(Vec3::z());
            let near = known
                .iter()
                .flatten()
                .map(|b| b - n * b.dot(&n))
                .sum::<Vec3>();
            let any = n.cross(&Vec3::x());
            let any = if any.norm() > 0.1 {
                any
            } else {
                n.cross(&Vec3::y())
            };
            near.try_normalize(1e-3).unwrap_or(any.normalize())
        });
        let n = n.unwrap_or_else(|| {
            let any = b.cross(&Vec3::x());
            (if any.norm() > 0.1 {
                any
            } else {
                b.cross(&Vec3::y())
            })
            .normalize()
        });
        // As the spokes have it: b first, then what is left of n.
        let n = (n - b * b.dot(&n)).normalize();
        let angle = 0.5 * up.dot(&down).clamp(-1.0, 1.0).acos();
        let angle = if up.dot(&down) < -0.5 {
            // Exact for angles near a right one, where the cosine is not.
            std::f64::consts::FRAC_PI_2 - (0.5 * (up + down).norm()).min(1.0).asin()
        } else {
            angle
        };
        let (above, below) = (point.up.norm(), point.down.norm());
        let radius = 0.5 * (above + below);
        Atom {
            end: point.crest.map_or(1.0, |c| c.norm() / radius),
            lengths: vec![above / radius, below / radius],
            ..Atom::new(
                point.hub,
                radius,
                Mat3::from_columns(&[b, n.cross(&b), n]),
                angle.max(1e-3),
                2,
            )
        }
    });
    Figure::slab(rows, cols, atoms.collect()).map_err(|e| e.to_string())
}

/// Points of a polar sheet at the places of a squeezed grid: rows along its short side, columns along the long one, which begins at the
/// first crest point.
fn resampled(
    points: &[Point],
    around: usize,
    steps: usize,
    rows: usize,
    cols: usize,
) -> Vec<Point> {
    let at = |c: usize, s: usize| &points[(c % around) * (steps + 1) + s];
    let mut out = Vec::new();
    for i in 0..rows {
        for j in 0..cols {
            let [x, y] = ellipsoid::squeezed([i, j], [rows, cols], 1.0);
            let border = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
            let angle = y.atan2(x).rem_euclid(std::f64::consts::TAU) / std::f64::consts::TAU;
            // The grid's border lies on the fold.
            let radius = if border { 1.0 } else { x.hypot(y).min(1.0) };
            let (c, s) = (angle * around as f64, radius * steps as f64);
            let (c0, s0) = (
                c.floor() as usize,
                (s.floor() as usize).min(steps.saturating_sub(1)),
            );
            let (cf, sf) = (c - c0 as f64, s - s0 as f64);
            let mix = |of: &dyn Fn(&Point) -> Vec3| {
                let row = |s: usize| of(at(c0, s)) * (1.0 - cf) + of(at(c0 + 1, s)) * cf;
                row(s0) * (1.0 - sf) + row((s0 + 1).min(steps)) * sf
            };
            let crest = |p: &Point| p.crest.unwrap_or_default();
            out.push(Point {
                hub: mix(&|p| p.hub),
                up: mix(&|p| p.up),
                down: mix(&|p| p.down),
                crest: border.then(|| {
                    let (a, b) = (crest(at(c0, steps)), crest(at(c0 + 1, steps)));
                    a * (1.0 - cf) + b * cf
                }),
            });
        }
    }
    out
}

/// The text of a file for a slab, in RAS; else why there is none.
pub(super) fn written(figure: &Figure) -> Result<String, String> {
    let Kind::Slab { rows, cols } = figure.kind() else {
        return Err("an s-rep is a slab, this is a tube: save it as .mrep.toml".into());
    };
    let vector = |v: &Vec3| json!({"CoordinateSystem": "RAS", "Value": [v.x, v.y, v.z]});
    let point = |i: usize, j: usize| {
        let atom = &figure.atoms()[i * cols + j];
        let role = figure.kind().role(i * cols + j);
        let vectors = atom.vectors(role);
        let spoke = |v: &Vec3| json!({"SkeletalPoint": vector(&atom.hub), "Direction": vector(v)});
        let mut out = json!({
            "UpSpoke": spoke(&vectors[Role::spoke(0)]),
            "DownSpoke": spoke(&vectors[Role::spoke(1)]),
        });
        if role.closes() {
            out["CrestSpoke"] = spoke(&vectors[Role::end_spoke(2)]);
        }
        out
    };
    let skeleton: Vec<Vec<Value>> = (0..rows)
        .map(|i| (0..cols).map(|j| point(i, j)).collect())
        .collect();
    let all = json!({"RectangularGridSRep": {"Rows": rows, "Cols": cols, "Skeleton": skeleton}});
    serde_json::to_string_pretty(&all).map_err(|e| e.to_string())
}
