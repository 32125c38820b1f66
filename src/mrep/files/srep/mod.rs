// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of s-reps as SlicerSALT writes them, in JSON. An s-rep is a slab: rows and columns of skeletal points, each with a spoke up, one down, and
//! on the border one to the crest. `[liu2021]`
//!
//! `RectangularGridSRep` has `Rows`, `Cols` and `Skeleton[row][col]` of `UpSpoke`, `DownSpoke` and, on the border, `CrestSpoke`. Each has a
//! `SkeletalPoint` and a `Direction` that includes its length: `{"CoordinateSystem": "LPS" or "RAS", "Value": [x, y, z]}`. Older files have the
//! three numbers alone, in RAS, as they were in memory. LPS (left, posterior, superior) reverses x and y of RAS; models here use RAS.
//!
//! `EllipticalSRep` has `CrestPoints`, `Steps` and `Skeleton[crest point][step]`, from the spine (0) to the fold (`Steps`). It is resampled on a
//! grid that is squeezed into the sheet: [`elliptical`].
//!
//! Spokes become atoms as follows. b is their bisector, θ half the angle between them, r the mean of their lengths. The end factor is the distance
//! from the hub to the crest spoke's tip over r, wherever that spoke begins; its direction is taken to be b. Where both spokes are opposite, or
//! lean away from the crest, θ is a right angle and b the crest spoke's part across them. Inside the sheet b then comes from the neighbours, or
//! else from the direction to the next column. An s-rep does not determine how r and the relative lengths share a length, an inner atom's end
//! factor, or its b where θ is a right angle. Files are usually in millimetres: read them with a scale of 0.001.

mod elliptical;

use crate::mrep::figures::atom::{Atom, Role};
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::{Mat3, Vec3};
use serde_json::{Value, json};

/// Spokes of one skeletal point, as vectors from its hub.
#[derive(Debug, Clone, Copy)]
struct SkeletalPoint {
    hub: Vec3,
    up: Vec3,
    down: Vec3,
    crest: Option<Vec3>,
}

/// Rows and columns at which elliptical s-reps are sampled. They are odd, so that the middle row lies on the spine.
const SAMPLE_GRID: [usize; 2] = [5, 9];
/// Spokes count as opposite when the sum of their unit vectors is shorter than this. About ten times the rounding of single precision, in which
/// files often are.
const MIN_SPOKE_SUM: f64 = 1e-6;
/// Largest number of points along either side of a file's grid. A figure can have as many.
const MAX_GRID_POINTS: usize = 512;

/// Parses the text of a file as a slab; an error says in words why it cannot.
pub(in crate::mrep) fn parse(text: &str) -> Result<Figure, String> {
    let all: Value = serde_json::from_str(text).map_err(|e| format!("this is not JSON: {e}"))?;
    if let Some(grid) = all.get("RectangularGridSRep") {
        let (rows, cols) = (read_count(grid, "Rows")?, read_count(grid, "Cols")?);
        let points = read_points(grid, rows, cols, "RectangularGridSRep")?;
        return build_figure(rows, cols, &points);
    }
    if let Some(ellipse) = all.get("EllipticalSRep") {
        let (around, steps) = (
            read_count(ellipse, "CrestPoints")?,
            read_count(ellipse, "Steps")?,
        );
        let points = read_points(ellipse, around, steps + 1, "EllipticalSRep")?;
        let [rows, cols] = SAMPLE_GRID;
        let points = elliptical::resample(&points, around, steps, rows, cols)?;
        return build_figure(rows, cols, &points);
    }
    Err("it has neither a RectangularGridSRep nor an EllipticalSRep: it is not an s-rep".into())
}

fn read_count(of: &Value, key: &str) -> Result<usize, String> {
    let found = of.get(key).and_then(Value::as_u64).map(|n| n as usize);
    found
        .filter(|n| (1..=MAX_GRID_POINTS).contains(n))
        .ok_or_else(|| format!("'{key}' must be a whole number from 1 to {MAX_GRID_POINTS}"))
}

fn read_points(
    of: &Value,
    rows: usize,
    cols: usize,
    name: &str,
) -> Result<Vec<SkeletalPoint>, String> {
    let skeleton = of.get("Skeleton").and_then(Value::as_array);
    let skeleton = skeleton.ok_or_else(|| format!("{name} has no list 'Skeleton'"))?;
    if skeleton.len() != rows {
        return Err(format!(
            "'Skeleton' has {} rows, but there must be {rows}",
            skeleton.len()
        ));
    }
    let mut out = Vec::with_capacity(rows * cols);
    for (i, row) in skeleton.iter().enumerate() {
        let row = row.as_array().filter(|row| row.len() == cols);
        let row =
            row.ok_or_else(|| format!("row {i} of 'Skeleton' must be a list of {cols} points"))?;
        for (j, point) in row.iter().enumerate() {
            let spoke = |key: &str| -> Result<Option<(Vec3, Vec3)>, String> {
                let Some(spoke) = point.get(key) else {
                    return Ok(None);
                };
                let part = |part: &str| {
                    let found = spoke.get(part).and_then(read_vector);
                    found.ok_or_else(|| {
                        format!("'{part}' of '{key}' at row {i}, column {j} must be three numbers")
                    })
                };
                Ok(Some((part("SkeletalPoint")?, part("Direction")?)))
            };
            let needed = |key: &str| {
                spoke(key)?
                    .ok_or_else(|| format!("row {i}, column {j} of 'Skeleton' has no '{key}'"))
            };
            let ((a, up), (b, down)) = (needed("UpSpoke")?, needed("DownSpoke")?);
            // Both spokes share one hub; an offset from rounding is added to the second spoke, which keeps its tip.
            let apart = (b - a).norm();
            if apart > 1e-3 * up.norm().max(down.norm()) {
                return Err(format!(
                    "'UpSpoke' and 'DownSpoke' at row {i}, column {j} begin in different places"
                ));
            }
            out.push(SkeletalPoint {
                hub: a,
                up,
                down: b - a + down,
                crest: spoke("CrestSpoke")?.map(|(start, direction)| start - a + direction),
            });
        }
    }
    Ok(out)
}

/// Returns three numbers, converted to RAS. `None`: malformed, or out of range.
fn read_vector(value: &Value) -> Option<Vec3> {
    let lps = match value.get("CoordinateSystem") {
        None => false,
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
    let sound = v.iter().all(|x| x.abs() <= crate::range::MAX_COORDINATE);
    sound.then(|| if lps { Vec3::new(-v.x, -v.y, v.z) } else { v })
}

fn build_figure(rows: usize, cols: usize, points: &[SkeletalPoint]) -> Result<Figure, String> {
    let kind = FigureKind::Slab { rows, cols };
    kind.check().map_err(|e| e.to_string())?;
    let at = |i: usize| format!("row {}, column {}", i / cols, i % cols);
    let mut known = Vec::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        let border = kind.role(i).is_closing();
        let crest = point.crest.filter(|_| border);
        if [Some(point.up), Some(point.down), crest]
            .iter()
            .flatten()
            .any(|spoke| spoke.norm() <= 0.0)
        {
            return Err(format!("a spoke at {} has no length", at(i)));
        }
        if border && crest.is_none() {
            return Err(format!(
                "{} is on the border, but has no 'CrestSpoke'",
                at(i)
            ));
        }
        let (sum, n) = point.sum_and_normal().ok_or_else(|| {
            format!(
                "'UpSpoke' and 'DownSpoke' at {} point the same way: there is no sheet between them",
                at(i)
            )
        })?;
        let against = crest.is_some_and(|crest| sum.dot(&crest) < 0.0);
        // More than half a right angle away from the crest: not a lean, but a broken file.
        if against && sum.norm() > 1.0 {
            return Err(format!(
                "'CrestSpoke' at {} points away from 'UpSpoke' and 'DownSpoke'",
                at(i)
            ));
        }
        known.push(if sum.norm() > MIN_SPOKE_SUM && !against {
            Some(sum.normalize())
        } else {
            crest.and_then(|crest| {
                (crest - n * crest.dot(&n)).try_normalize(MIN_SPOKE_SUM * crest.norm())
            })
        });
    }
    let axes = complete_directions(kind, points, &known).ok_or(
        "the spokes of some points are opposite, and no neighbour shows how the sheet lies there",
    )?;
    let atoms = points.iter().zip(axes).map(|(point, b)| {
        let (sum, n) = point.sum_and_normal().unwrap_or((b, Vec3::z()));
        // The frame keeps b, and n is orthogonalised against it.
        let n = (n - b * b.dot(&n)).normalize();
        let straight = sum.norm() <= MIN_SPOKE_SUM || sum.dot(&b) <= 0.0;
        let angle = if straight {
            std::f64::consts::FRAC_PI_2
        } else {
            let across = point.up.normalize() - point.down.normalize();
            across.norm().atan2(sum.norm())
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
                angle,
                2,
            )
        }
    });
    Figure::slab(rows, cols, atoms.collect()).map_err(|e| e.to_string())
}

impl SkeletalPoint {
    /// Returns the sum of both unit spokes, and the unit direction of their difference. `None`: the spokes are parallel.
    fn sum_and_normal(&self) -> Option<(Vec3, Vec3)> {
        let (up, down) = (self.up.normalize(), self.down.normalize());
        Some((up + down, (up - down).try_normalize(MIN_SPOKE_SUM)?))
    }
}

/// Returns b of every atom. Unknown ones take the mean of their neighbours, ring by ring, or else point to the next column or row.
fn complete_directions(
    kind: FigureKind,
    points: &[SkeletalPoint],
    known: &[Option<Vec3>],
) -> Option<Vec<Vec3>> {
    /// Lower bound of the length of a mean of neighbours' b; shorter means that they disagree. The mean of two is so short where they are opposite to
    /// 0.1°.
    const MIN_MEAN_LENGTH: f64 = 1e-3;
    let mut near = vec![Vec::new(); points.len()];
    let mut way = vec![[Vec3::zeros(); 2]; points.len()];
    for [a, b] in kind.neighbours() {
        near[a].push(b);
        near[b].push(a);
        for i in [a, b] {
            way[i][usize::from(b - a > 1)] += points[b].hub - points[a].hub;
        }
    }
    let across = |i: usize, v: Vec3| {
        let n = points[i].sum_and_normal().map_or(Vec3::zeros(), |(_, n)| n);
        v - n * v.dot(&n)
    };
    let mut known = known.to_vec();
    while known.iter().any(Option::is_none) {
        let found: Vec<(usize, Vec3)> = (0..points.len())
            .filter(|&i| known[i].is_none())
            .filter_map(|i| {
                let directions: Vec<Vec3> = near[i].iter().filter_map(|&k| known[k]).collect();
                let mean =
                    across(i, directions.iter().sum::<Vec3>()) / directions.len().max(1) as f64;
                let ways = way[i].iter().map(|&w| {
                    let b = across(i, w);
                    b.try_normalize(MIN_SPOKE_SUM * w.norm())
                });
                let b = mean
                    .try_normalize(MIN_MEAN_LENGTH)
                    .or_else(|| ways.flatten().next());
                b.filter(|_| !directions.is_empty()).map(|b| (i, b))
            })
            .collect();
        if found.is_empty() {
            return None;
        }
        for (i, b) in found {
            known[i] = Some(b);
        }
    }
    known.into_iter().collect()
}

/// Writes a slab as the text of a file, in RAS; an error says in words why it cannot.
pub(in crate::mrep) fn write_text(figure: &Figure) -> Result<String, String> {
    let FigureKind::Slab { rows, cols } = figure.kind() else {
        return Err("an s-rep is a slab, but this is a tube: save it as .mrep.toml".into());
    };
    let vector = |v: &Vec3| json!({"CoordinateSystem": "RAS", "Value": [v.x, v.y, v.z]});
    let point = |i: usize, j: usize| {
        let atom = &figure.atoms()[i * cols + j];
        let role = figure.kind().role(i * cols + j);
        let vectors = atom.vectors(role);
        let spoke = |v: &Vec3| json!({"SkeletalPoint": vector(&atom.hub), "Direction": vector(v)});
        let mut out = json!({
            "UpSpoke": spoke(&vectors[Role::spoke_index(0)]),
            "DownSpoke": spoke(&vectors[Role::spoke_index(1)]),
        });
        if role.is_closing() {
            out["CrestSpoke"] = spoke(&vectors[Role::end_spoke_index(2)]);
        }
        out
    };
    let skeleton: Vec<Vec<Value>> = (0..rows)
        .map(|i| (0..cols).map(|j| point(i, j)).collect())
        .collect();
    let all = json!({"RectangularGridSRep": {"Rows": rows, "Cols": cols, "Skeleton": skeleton}});
    serde_json::to_string_pretty(&all).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
