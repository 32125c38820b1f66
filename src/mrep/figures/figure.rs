// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures: medial atoms in a grid (slab) or in a row (tube).

use crate::Vec3;
use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::{Atom, Role};
use crate::mrep::spline::Spline;

/// Kind of a figure, with its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A sheet of atoms, each with one spoke up and one down; u runs over the rows, v over the columns.
    Slab {
        /// Atoms along u.
        rows: usize,
        /// Atoms along v.
        cols: usize,
    },
    /// A row of atoms with spokes around them; u runs along the row.
    Tube {
        /// Atoms along u.
        atoms: usize,
        /// Spokes of each atom, without end spokes.
        spokes: usize,
    },
}

/// Largest number of atoms along a row: splines through more would be dense matrices of millions of numbers.
const MAX_ROW_ATOMS: usize = 512;
/// Largest number of spokes around an atom. One every 2.8°.
const MAX_SPOKES: usize = 128;

impl FigureKind {
    /// Returns the number of atoms.
    pub fn atom_count(self) -> usize {
        match self {
            Self::Slab { rows, cols } => rows * cols,
            Self::Tube { atoms, .. } => atoms,
        }
    }

    /// Returns the number of spokes of an atom, without end spokes.
    pub fn spoke_count(self) -> usize {
        match self {
            Self::Slab { .. } => 2,
            Self::Tube { spokes, .. } => spokes,
        }
    }

    /// Returns the role of an atom.
    pub(in crate::mrep) fn role(self, atom: usize) -> Role {
        match self {
            Self::Slab { rows, cols } => {
                let (i, j) = (atom / cols, atom % cols);
                Role::Sheet {
                    border: i == 0 || j == 0 || i + 1 == rows || j + 1 == cols,
                }
            }
            Self::Tube { atoms, .. } => Role::Axis {
                first: atom == 0,
                last: atom + 1 == atoms,
            },
        }
    }

    /// Returns an atom's index in the caller's arrays, as error sentences name it.
    pub(in crate::mrep) fn name(self, atom: usize) -> String {
        match self {
            Self::Slab { cols, .. } => format!("[{}, {}]", atom / cols, atom % cols),
            Self::Tube { .. } => format!("[{atom}]"),
        }
    }

    /// Returns all pairs of neighbouring atoms, the lower index first.
    pub(in crate::mrep) fn neighbours(self) -> Vec<[usize; 2]> {
        let mut pairs = Vec::new();
        match self {
            Self::Slab { rows, cols } => {
                for atom in 0..rows * cols {
                    if (atom + 1) % cols != 0 {
                        pairs.push([atom, atom + 1]);
                    }
                    if atom + cols < rows * cols {
                        pairs.push([atom, atom + cols]);
                    }
                }
            }
            Self::Tube { atoms, .. } => pairs.extend((1..atoms).map(|i| [i - 1, i])),
        }
        pairs
    }

    /// Refuses counts of atoms or spokes out of range.
    pub(in crate::mrep) fn check(self) -> Result<(), MRepError> {
        let within = |what, found, least, most| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            Err(MRepError::Count {
                what,
                found,
                least,
                most,
            })
        };
        match self {
            Self::Slab { rows, cols } => {
                within(
                    "the number of rows of atoms in the slab",
                    rows,
                    2,
                    MAX_ROW_ATOMS,
                )?;
                within(
                    "the number of columns of atoms in the slab",
                    cols,
                    2,
                    MAX_ROW_ATOMS,
                )?;
                within("the number of atoms in the slab", rows * cols, 4, 4096)
            }
            Self::Tube { atoms, spokes } => {
                within("the number of atoms in the tube", atoms, 2, MAX_ROW_ATOMS)?;
                within(
                    "the number of spokes around the tube",
                    spokes,
                    3,
                    MAX_SPOKES,
                )?;
                within(
                    "the number of spokes in the tube",
                    atoms * spokes,
                    6,
                    32_768,
                )
            }
        }
    }
}

/// A slab or a tube of medial atoms.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    kind: FigureKind,
    atoms: Vec<Atom>,
    /// u of each atom of a tube, ascending from 0 to 1; empty for a slab, whose rows and columns are evenly spaced.
    knots: Vec<f64>,
    /// u of the joints of the bones along which the figure was built; empty for other figures.
    joints: Vec<f64>,
}

impl Figure {
    /// Builds a slab from its atoms, row by row, each with two relative lengths (up, down).
    ///
    /// # Errors
    /// Too few or too many atoms; the first atom with an invalid number.
    pub fn slab(rows: usize, cols: usize, atoms: Vec<Atom>) -> Result<Self, MRepError> {
        Self::from_parts(
            FigureKind::Slab { rows, cols },
            atoms,
            Vec::new(),
            Vec::new(),
        )
    }

    /// Builds a tube from atoms with equal numbers of spokes; it closes at both ends. u is proportional to the distance
    /// between hubs.
    ///
    /// # Errors
    /// Too few or too many atoms or spokes; the first atom with an invalid number; successive hubs at one point.
    pub fn tube(atoms: Vec<Atom>) -> Result<Self, MRepError> {
        Self::tube_with_knots(atoms, None, Vec::new())
    }

    /// Builds a tube whose atoms lie at given `knots` in u (those of the template of a fit), with `joints` in u.
    ///
    /// # Errors
    /// See [`Self::tube`]; knots that do not ascend from 0 to 1; joints outside `[0, 1]`.
    pub fn tube_with_knots(
        atoms: Vec<Atom>,
        knots: Option<Vec<f64>>,
        joints: Vec<f64>,
    ) -> Result<Self, MRepError> {
        let kind = FigureKind::Tube {
            atoms: atoms.len(),
            spokes: atoms.first().map_or(0, |a| a.lengths.len()),
        };
        kind.check()?;
        let knots = match knots {
            Some(knots) => knots,
            None => hub_distances(&atoms)?,
        };
        Self::from_parts(kind, atoms, knots, joints)
    }

    fn from_parts(
        kind: FigureKind,
        atoms: Vec<Atom>,
        knots: Vec<f64>,
        joints: Vec<f64>,
    ) -> Result<Self, MRepError> {
        kind.check()?;
        let length = MRepError::check_length;
        length("the list of atoms", atoms.len(), kind.atom_count())?;
        let checked = atoms.into_iter().enumerate().map(|(i, atom)| {
            length(
                "the lengths of an atom's spokes",
                atom.lengths.len(),
                kind.spoke_count(),
            )?;
            atom.validated(kind.role(i), &|| kind.name(i))
        });
        let atoms = checked.collect::<Result<Vec<_>, _>>()?;
        if let FigureKind::Tube { atoms: n, .. } = kind {
            length("the list of knots", knots.len(), n)?;
            let ascend = knots.windows(2).all(|w| w[1] - w[0] > 1e-9);
            if !(ascend && knots[0] == 0.0 && knots[n - 1] == 1.0) {
                return Err(MRepError::Setting {
                    name: "the list of knots",
                    value: format!("{knots:?}"),
                    range: "numbers that ascend from 0 to 1",
                });
            }
        }
        if let Some(joint) = joints.iter().find(|u| !(0.0..=1.0).contains(*u)) {
            return Err(MRepError::Setting {
                name: "a joint",
                value: joint.to_string(),
                range: "between 0 and 1",
            });
        }
        Ok(Self {
            kind,
            atoms,
            knots,
            joints,
        })
    }

    /// Checks all atoms again, and makes their frames exact rotations.
    pub(in crate::mrep) fn revalidate(self) -> Result<Self, MRepError> {
        Self::from_parts(self.kind, self.atoms, self.knots, self.joints)
    }

    /// Returns the kind, with its counts of atoms and spokes.
    pub fn kind(&self) -> FigureKind {
        self.kind
    }

    /// Returns the atoms, row by row.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns u of each atom of a tube; empty for a slab.
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// Returns u of the joints of the bones along which the figure was built.
    pub fn joints(&self) -> &[f64] {
        &self.joints
    }

    /// Returns whether an atom of a tube lies at a joint.
    pub(in crate::mrep) fn is_joint(&self, atom: usize) -> bool {
        let at = |joint: &f64| (joint - self.knots[atom]).abs() < 1e-9;
        self.joints.iter().any(at)
    }

    /// Builds a tube from a subset of this tube's atoms, which includes the first and the last; joints keep their u.
    pub(in crate::mrep) fn with_atom_subset(&self, kept: &[usize]) -> Result<Self, MRepError> {
        let atoms = kept.iter().map(|i| self.atoms[*i].clone()).collect();
        let knots = kept.iter().map(|i| self.knots[*i]).collect();
        Self::tube_with_knots(atoms, Some(knots), self.joints.clone())
    }

    /// Returns the figure with other atoms.
    pub(in crate::mrep) fn with_atoms(&self, atoms: Vec<Atom>) -> Self {
        Self {
            atoms,
            ..self.clone()
        }
    }

    /// Returns the splines over u and over v, or along a tube and around it.
    pub(in crate::mrep) fn splines(&self) -> [Spline; 2] {
        let even = |n: usize| -> Vec<f64> { (0..n).map(|i| i as f64 / (n - 1) as f64).collect() };
        match self.kind {
            FigureKind::Slab { rows, cols } => [rows, cols].map(|n| Spline::not_a_knot(&even(n))),
            FigureKind::Tube { spokes, .. } => {
                [Spline::not_a_knot(&self.knots), Spline::periodic(spokes)]
            }
        }
    }

    /// Returns the mean length of the atoms' spokes, metres.
    pub(in crate::mrep) fn mean_radius(&self) -> f64 {
        self.atoms.iter().map(Atom::mean_spoke_length).sum::<f64>() / self.atoms.len() as f64
    }

    /// Returns the diagonal of the bounding box of the hubs and the ends of all spokes, metres.
    pub fn size(&self) -> f64 {
        crate::geometry::aabb::diagonal(self.atoms.iter().enumerate().flat_map(|(i, atom)| {
            let role = self.kind.role(i);
            let vectors = atom.vectors(role);
            let spokes = Role::spoke_index(0)
                ..Role::spoke_index(self.kind.spoke_count()) + usize::from(role.is_closing());
            let ends = vectors[spokes].iter().map(|s| atom.hub + s);
            ends.chain([atom.hub]).collect::<Vec<_>>()
        }))
    }

    /// Returns the figure after a similarity: `x → scale · turn · x + shift`.
    pub fn apply_similarity(&self, scale: f64, turn: &crate::Mat3, shift: crate::Vec3) -> Self {
        let moved = |atom: &Atom| Atom {
            hub: turn * atom.hub * scale + shift,
            radius: atom.radius * scale,
            frame: turn * atom.frame,
            ..atom.clone()
        };
        self.with_atoms(self.atoms.iter().map(moved).collect())
    }
}

/// Returns the arc length of each hub along the polyline of hubs, scaled to end at 1.
pub(in crate::mrep) fn hub_distances(atoms: &[Atom]) -> Result<Vec<f64>, MRepError> {
    let mut along = vec![0.0];
    for pair in atoms.windows(2) {
        along.push(along[along.len() - 1] + (pair[1].hub - pair[0].hub).norm());
    }
    let total = along[along.len() - 1];
    if !total.is_finite() {
        let lost = atoms
            .iter()
            .position(|a| !crate::range::is_position(&a.hub));
        return Err(MRepError::Place(format!("[{}]", lost.unwrap_or(0))));
    }
    // Closer knots would give splines of rounding errors.
    if let Some(i) = along.windows(2).position(|w| w[1] - w[0] <= 1e-9 * total) {
        return Err(MRepError::Coincident(i, i + 1));
    }
    for x in &mut along {
        *x /= total;
    }
    Ok(along)
}

impl Figure {
    /// Returns the atom of `among` whose hub is nearest to a point. `None`: `among` is empty.
    pub(in crate::mrep) fn nearest_hub(
        &self,
        among: impl Iterator<Item = usize>,
        place: &Vec3,
    ) -> Option<usize> {
        let far = |i: &usize| (self.atoms[*i].hub - place).norm_squared();
        among.min_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// Returns the atom nearest to (u, v) on the medial sheet or axis.
    pub(in crate::mrep) fn nearest_atom(&self, u: f64, v: f64) -> usize {
        let nearest = |n: usize, x: f64| (x.clamp(0.0, 1.0) * (n - 1) as f64).round() as usize;
        match self.kind {
            FigureKind::Slab { rows, cols } => nearest(rows, u) * cols + nearest(cols, v),
            FigureKind::Tube { .. } => {
                let far = |i: &usize| (self.knots[*i] - u).abs();
                let order = |a: &usize, b: &usize| far(a).total_cmp(&far(b));
                (0..self.knots.len()).min_by(order).unwrap_or(0)
            }
        }
    }
}
