// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of tubes that can be filled with cells: from a disc across the limb to another, or to its tip.

use super::thin::{ThinnedTube, thin_span};
use crate::lattice::Lattice;
use crate::mrep::figures::coordinates::Coordinates;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::initial::bone_runs::{BoneSpan, bone_spans};
use crate::mrep::initial::skin::FigureSkin;
use crate::mrep::lattices::cells::{AtomSpan, FigureCells};
use crate::mrep::lattices::cut::{Disc, WeldedMesh, cut_surface};
use crate::skeleton::{Skeleton, SkinWeights};
use std::f64::consts::FRAC_PI_2;

/// Radius around a hub within which its disc cuts skin, in its longest spokes. Skin up to the depth [`MAX_SEED_DEPTH`] then lies within it.
const DISC_RADIUS_FACTOR: f64 = 1.5;
/// Least share of a limb's skin that follows its bones. Skin reached past the discs is that of the whole body, which mostly follows other bones. A
/// twentieth is left for vertices that follow several bones.
const MIN_OWN_SKIN_SHARE: f64 = 0.95;
/// Largest distance between points to be covered, over the skin's size. A tenth of a cell where ten lie across the body.
const SAMPLE_SPACING: f64 = 0.01;
/// Distance before a disc at which the rest ends, in cell sizes. Far above rounding, and negligible against a cell.
const REST_CLEARANCE: f64 = 1e-3;
/// Largest depth τ of skin that is certainly a limb's. Midway from the boundary, 1, to the largest depth that has coordinates, 2.
const MAX_SEED_DEPTH: f64 = 1.5;

/// A piece of a tube, filled with cells.
pub(in crate::mrep) struct PouredLimb {
    /// Disc at its beginning, and at its end unless that is the tip.
    pub discs: Vec<Disc>,
    pub complex: FigureCells,
    /// Bones, each with its hubs from head to tail.
    pub bones: Vec<(u32, Vec<u32>)>,
    /// Virtual tips, each with its hubs from the last bone's head to the end of its flesh.
    pub tips: Vec<(u32, Vec<u32>)>,
    /// Mask of the welded vertices that are its skin.
    pub own: Vec<bool>,
}

/// A figure, and the longest piece of it that can be separated and filled.
pub(super) struct LimbCandidate<'a> {
    figure: &'a Figure,
    seen: LimbSkin<'a>,
    bones: Vec<BoneSpan>,
    h: f64,
    /// Pieces not yet tried, the longest last.
    later: Vec<AtomSpan>,
    span: AtomSpan,
    pub limb: PouredLimb,
}

impl<'a> LimbCandidate<'a> {
    /// # Errors
    /// The reason why no piece works.
    pub fn new(
        figure: &'a Figure,
        mesh: &'a WeldedMesh<'a>,
        skeleton: &Skeleton,
        skin: Option<&SkinWeights>,
        h: f64,
    ) -> Result<Self, String> {
        let FigureKind::Tube { atoms, .. } = figure.kind() else {
            return Err("it is a slab, which has no end to join tetrahedra to".into());
        };
        let bones = bone_spans(figure, skeleton)?;
        let seen = LimbSkin::new(figure, mesh, skin, &bones);
        let mut later = tube_spans(atoms);
        let (span, limb) = find_next(&mut later, figure, &seen, &bones, h)?;
        Ok(Self {
            figure,
            seen,
            bones,
            h,
            later,
            span,
            limb,
        })
    }

    /// Moves on to a piece that does not end at the given open ends; returns false if there is none.
    pub fn shorten(&mut self, ends: &[usize]) -> bool {
        let span = self.span;
        let open: Vec<usize> = [span.first, span.last]
            .iter()
            .filter(|(_, closed)| !closed)
            .map(|(at, _)| *at)
            .collect();
        let bad: Vec<usize> = ends.iter().filter_map(|e| open.get(*e).copied()).collect();
        let fails = |(at, closed): (usize, bool)| !closed && bad.contains(&at);
        self.later.retain(|s| !fails(s.first) && !fails(s.last));
        match find_next(
            &mut self.later,
            self.figure,
            &self.seen,
            &self.bones,
            self.h,
        ) {
            Ok(found) => {
                (self.span, self.limb) = found;
                true
            }
            Err(_) => false,
        }
    }
}

/// Returns the longest untried piece that can be separated and filled.
fn find_next(
    later: &mut Vec<AtomSpan>,
    figure: &Figure,
    seen: &LimbSkin,
    bones: &[BoneSpan],
    h: f64,
) -> Result<(AtomSpan, PouredLimb), String> {
    let mut why = String::from("it has too few atoms between its ends: give it more per bone");
    while let Some(span) = later.pop() {
        match PouredLimb::new(figure, span, seen, bones, h) {
            Ok(limb) => return Ok((span, limb)),
            Err(failed) => {
                // A fault at an atom far from the open ends recurs in every piece with that atom in its middle.
                if let Some(atom) = failed.atom.filter(|atom| is_middle_atom(&span, *atom)) {
                    later.retain(|s| !is_middle_atom(s, atom));
                }
                why = failed.why;
            }
        }
    }
    Err(why)
}

/// Returns whether an atom is far enough from a piece's open ends to be unaffected by them.
fn is_middle_atom(span: &AtomSpan, atom: usize) -> bool {
    /// Atoms from an open end: its own cells, and those that border on its moved corners.
    const MIN_ATOMS_FROM_END: usize = 2;
    let [from, to] = [span.first, span.last]
        .map(|(at, closed)| (at, if closed { 0 } else { MIN_ATOMS_FROM_END }));
    atom >= from.0 + from.1 && atom + to.1 <= to.0
}

/// Reason why a piece cannot be separated or filled, and the nearest atom.
struct PieceFailure {
    why: String,
    atom: Option<usize>,
}

impl<T: Into<String>> From<T> for PieceFailure {
    fn from(why: T) -> Self {
        Self {
            why: why.into(),
            atom: None,
        }
    }
}

/// Returns all pieces of a tube that begin after its first atom, the longest last; among equals those that end in the tip.
fn tube_spans(atoms: usize) -> Vec<AtomSpan> {
    let mut all = Vec::new();
    for first in 1..atoms.saturating_sub(1) {
        for last in first + 1..atoms {
            all.push(AtomSpan {
                first: (first, false),
                last: (last, last + 1 == atoms),
            });
        }
    }
    all.sort_by_key(|s| s.last.0 - s.first.0 + usize::from(s.last.1));
    all
}

/// The skin of a character, with u and the followed bones' mask of one figure at each vertex.
struct LimbSkin<'a> {
    mesh: &'a WeldedMesh<'a>,
    /// u of each welded vertex with coordinates that is near enough, else NaN.
    along: Vec<f64>,
    /// Mask of the welded vertices that follow the figure's bones.
    follows: Vec<bool>,
}

impl<'a> LimbSkin<'a> {
    fn new(
        figure: &Figure,
        mesh: &'a WeldedMesh<'a>,
        skin: Option<&SkinWeights>,
        bones: &[BoneSpan],
    ) -> Self {
        let welded = mesh.surface.welded();
        let coordinates = Coordinates::new(figure).at_points(&welded.vertices);
        let along: Vec<f64> = (coordinates.iter())
            .map(|c| {
                if c[3] <= MAX_SEED_DEPTH {
                    c[0]
                } else {
                    f64::NAN
                }
            })
            .collect();
        let follows = match skin {
            None => along.iter().map(|u| u.is_finite()).collect(),
            Some(skin) => {
                let mut theirs = vec![false; skin.bone_count];
                bones
                    .iter()
                    .for_each(|span| theirs[span.bone as usize] = true);
                // The caller has checked that the weights match.
                let skin = FigureSkin::from_bones(mesh.surface, skin, &theirs);
                skin.map_or_else(
                    |_| vec![false; along.len()],
                    |skin| skin.followed_vertices(),
                )
            }
        };
        Self {
            mesh,
            along,
            follows,
        }
    }
}

/// Returns the figure with flat open ends, and the discs there.
fn flatten_ends(figure: &Figure, span: AtomSpan, h: f64) -> (Figure, Vec<Disc>) {
    let mut atoms = figure.atoms().to_vec();
    let mut discs = Vec::new();
    for ((at, closed), way) in [(span.first, 1.0), (span.last, -1.0)] {
        if closed {
            continue;
        }
        // A right angle makes the limb's ends flat.
        let atom = &mut atoms[at];
        atom.angle = FRAC_PI_2;
        let longest = atom.lengths.iter().copied().fold(0.0, f64::max) * atom.radius;
        discs.push(Disc {
            hub: atom.hub,
            inward: atom.frame.column(0) * way,
            reach: DISC_RADIUS_FACTOR * longest,
            aside: REST_CLEARANCE * h,
        });
    }
    (figure.with_atoms(atoms), discs)
}

impl PouredLimb {
    /// # Errors
    /// The reason why this piece cannot be separated or filled.
    fn new(
        figure: &Figure,
        span: AtomSpan,
        seen: &LimbSkin,
        bones: &[BoneSpan],
        h: f64,
    ) -> Result<Self, PieceFailure> {
        let ThinnedTube { figure, span, kept } = thin_span(figure, span)
            .map_err(|e| e.to_string())?
            .ok_or("cells at its ends would be too short for its thickness")?;
        let (figure, discs) = flatten_ends(&figure, span, h);
        let (from, to) = (figure.knots()[span.first.0], figure.knots()[span.last.0]);
        let last = if span.last.1 { f64::INFINITY } else { to };
        let inside = |u: f64| u > from && u < last;
        let x = &seen.mesh.surface.welded().vertices;
        let seed = |v: usize| {
            seen.follows[v] && inside(seen.along[v]) && discs.iter().all(|d| d.is_in_front(&x[v]))
        };
        let seeds: Vec<bool> = (0..x.len()).map(seed).collect();
        let own = seen.mesh.reachable_vertices(&seeds, &discs);
        let count =
            |of: &dyn Fn(usize) -> bool| (0..own.len()).filter(|v| own[*v] && of(*v)).count();
        let (all, mine) = (count(&|_| true), count(&|v| seen.follows[v]));
        if all == 0 {
            return Err("none of its skin lies between its ends".into());
        }
        if (mine as f64) < MIN_OWN_SKIN_SHARE * all as f64 {
            return Err("its ends do not part its skin from that of other bones".into());
        }
        let part: Vec<u16> = own.iter().map(|own| u16::from(*own)).collect();
        let pieces = cut_surface(
            seen.mesh.surface,
            &part,
            std::slice::from_ref(&discs),
            SAMPLE_SPACING * seen.mesh.surface.size(),
        )
        .map_err(|e| e.to_string())?;
        let mut complex = FigureCells::for_tube_span(&figure, span);
        figure
            .cover(&mut complex, &pieces.limbs[0])
            .map_err(|e| e.to_string())?;
        let lattice = Lattice::new(complex.vertices.clone(), complex.cells.clone())
            .map_err(|e| e.to_string())?;
        if let Some(cell) = lattice.faulty_cells().first() {
            return Err(PieceFailure {
                why: "cells wide enough for its skin would be turned over".into(),
                atom: (figure.nearest_hub(span.first.0..=span.last.0, &lattice.cell_centre(*cell)))
                    .map(|i| kept[i]),
            });
        }
        let of = |tips: bool| {
            let on = bones.iter().filter(|bone| bone.tip == tips);
            let chain = |bone: &BoneSpan| {
                Some((
                    bone.bone,
                    bone.hubs_on_bone(&figure, span.first.0..=span.last.0)?,
                ))
            };
            on.filter_map(chain).collect()
        };
        Ok(Self {
            discs,
            complex,
            bones: of(false),
            tips: of(true),
            own,
        })
    }
}
