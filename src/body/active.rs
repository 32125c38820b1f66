// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies that deform in some of the functions of another one. [capell2002, §4.7]
//!
//! All integrals are known: those of a subset are rows and columns of the whole body's matrices, and sums over the elements that
//! a coarser element consists of. Nothing is integrated again. Cells with the same functions as in a former subset keep their sums,
//! so a change costs what changes. The symbolic factorisation is new.

use super::transfer::weights_from_rows;
use super::{Body, BodyError, IntegralBlocks, OwnTwist, Pattern, TwistLoad, compliance};
use crate::Vec3;
use crate::basis::{ActiveSet, Basis};
use crate::elasticity::{ElementPiece, Elements};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::solve::{NodeMatrix, ScalarMatrix};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

/// Marks a function that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// Numbers of functions in a subset and in the whole basis.
struct Renumbering {
    /// Function of the whole basis, by number in the subset.
    functions: Vec<u32>,
    /// Number in the subset of each function of the whole basis, or [`LEFT_OUT`].
    numbers: Vec<u32>,
}

impl Renumbering {
    fn new(set: &ActiveSet, count: usize) -> Self {
        let functions: Vec<u32> = set.functions().collect();
        let mut numbers = vec![LEFT_OUT; count];
        for (new, &old) in (0..).zip(&functions) {
            numbers[old as usize] = new;
        }
        Self { functions, numbers }
    }

    fn number(&self, function: u32) -> Option<u32> {
        Some(self.numbers[function as usize]).filter(|&a| a != LEFT_OUT)
    }

    fn pick<T: Clone>(&self, values: &[T]) -> Vec<T> {
        let all = self.functions.iter();
        all.map(|&a| values[a as usize].clone()).collect()
    }

    /// Returns the rows and columns of a matrix, with the entries of `zeros`.
    fn pick_matrix(&self, matrix: &ScalarMatrix, mut zeros: ScalarMatrix) -> ScalarMatrix {
        for (row, &old) in self.functions.iter().enumerate() {
            let own = zeros.row_range(row);
            let columns: Vec<u32> = zeros.indices()[own.clone()].to_vec();
            for i in matrix.row_range(old as usize) {
                let Some(column) = self.number(matrix.indices()[i]) else {
                    continue;
                };
                if let Ok(at) = columns.binary_search(&column) {
                    zeros.data_mut()[own.start + at] = matrix.data()[i];
                }
            }
        }
        zeros
    }
}

/// A former subset, whose sums serve cells that have the same functions again.
struct Former<'a> {
    body: &'a Body,
    /// Flag of each cell: it has the same functions on the same elements.
    same: Vec<bool>,
}

impl<'a> Former<'a> {
    fn new((set, body): (&ActiveSet, &'a Body), basis: &Basis, names: &Renumbering) -> Self {
        let functions: Vec<u32> = set.functions().collect();
        let former = body.basis();
        let is_same = |cell: u32| {
            let (own, others) = (basis.elements(cell), former.elements(cell));
            own.len() == others.len()
                && own.zip(others).all(|(e, f)| {
                    let own = basis.functions(e).iter();
                    let own = own.map(|&a| names.functions[a as usize]);
                    let others = former.functions(f).iter();
                    own.eq(others.map(|&a| functions[a as usize]))
                })
        };
        let cells = 0..basis.lattice().cells().len() as u32;
        Self {
            body,
            same: cells.map(is_same).collect(),
        }
    }

    /// Returns the element of the former body that is an element of a cell with the same functions.
    fn element(&self, basis: &Basis, element: u32) -> Option<u32> {
        let cell = basis.cell(element);
        let local = element - basis.elements(cell).start;
        self.same[cell as usize].then(|| self.body.basis().elements(cell).start + local)
    }
}

impl Body {
    /// Returns a body that deforms in some of the functions of this one only, numbered by their order in the set. It shares all
    /// that does not depend on functions. Its rigs, files and displayed surfaces are those of this body. `former`: another such body, with
    /// its set.
    ///
    /// # Errors
    /// Memory for the factorisation runs out.
    pub(crate) fn with_active(
        &self,
        set: &ActiveSet,
        former: Option<(&ActiveSet, &Self)>,
    ) -> Result<Self, BodyError> {
        let basis = self.basis.with_active(set);
        let names = Renumbering::new(set, self.node_count());
        let former = former.map(|former| Former::new(former, &basis, &names));
        let elements = self.active_elements(&basis, &names, former.as_ref());
        let known = |e: u32| {
            let former = former.as_ref()?;
            Some((&former.body.blocks, former.element(&basis, e)?))
        };
        let blocks = IntegralBlocks::sum_parts(
            &self.blocks,
            (&self.basis, &basis),
            |a| names.number(a),
            known,
        );
        let mass = names.pick_matrix(&self.mass, basis.matrix());
        let bone_of_vertex = names.pick(&self.bone_of_vertex);
        let held: Vec<bool> = bone_of_vertex.iter().map(Option::is_some).collect();
        let pattern = Pattern::new(elements.all_corners(), &mass, &held, basis.centres())?;
        let region_weights = pick_rows(&self.region_weights, &names.functions);
        let embedding = Arc::new(self.active_embedding(&names));
        let joints = self
            .joints
            .get()
            .map(|joints| joints.with_embedding(&embedding));
        Ok(Self {
            skeleton: self.skeleton.clone(),
            material: self.material,
            rest_includes_gravity: self.rest_includes_gravity,
            blocks,
            twist: names.pick_matrix(&self.twist, basis.matrix()),
            twist_loads: active_twist_loads(&self.twist_loads, &names),
            twist_regions: self.twist_regions.clone(),
            own_twist: self.own_twist.as_ref().map(|own| OwnTwist {
                matrix: names.pick_matrix(&own.matrix, basis.matrix()),
                loads: active_twist_loads(&own.loads, &names),
            }),
            cell_weights: self.active_cell_weights(&basis, &region_weights),
            region_weights,
            skinned: names.pick(&self.skinned),
            loose_parts: self.loose_parts.clone(),
            pattern: Arc::new(pattern),
            surface: self.surface.clone(),
            points: self.points.clone(),
            size: self.size,
            embedding,
            skin: self.skin.clone(),
            flesh: self.flesh.clone(),
            kind: self.kind,
            anatomy: self.anatomy.clone(),
            measured: None,
            joints: Arc::new(joints.map_or_else(OnceLock::new, OnceLock::from)),
            compliance: compliance::RestFactors::default(),
            merged_pieces: true,
            identity: Arc::default(),
            nodal: super::nodal::CachedNodalForm::default(),
            bone_of_vertex,
            elements,
            mass,
            basis,
        })
    }

    /// Returns the pieces of the elements of a subset. Those of a tetrahedron with its own four functions, whose gradients are
    /// constant, become one. An element that consists of several is divided once, as one of a body of its level is at the least: the
    /// pieces of each eighth become one with their mean gradient and material. So the cost of an energy follows the functions. Affine
    /// motions keep their energy, others lose a little of it.
    fn active_elements(
        &self,
        basis: &Basis,
        names: &Renumbering,
        former: Option<&Former>,
    ) -> Elements {
        let mut elements = Elements::with_details(basis.len(), basis.coarse_len());
        let mut gradients: Vec<Vec3> = Vec::new();
        let mut moduli: Vec<(f64, f64, f64)> = Vec::new();
        for (e, corners) in (0..).zip(basis.all_functions()) {
            if let Some((former, known)) = former.and_then(|f| Some((f, f.element(basis, e)?))) {
                elements.push(corners, former.body.elements.pieces(known as usize));
                continue;
            }
            gradients.clear();
            moduli.clear();
            let parts = basis.parts_of_element(&self.basis, e);
            let merged = self.merged_parts(basis, e, corners.len());
            let mut first = 0;
            for (part, index) in parts.zip(1..) {
                let own = self.elements.corners(part as usize);
                let at = |a: &u32| {
                    let a = names.number(*a)?;
                    corners.iter().position(|&b| b == a)
                };
                let places: SmallVec<[Option<usize>; 32]> = own.iter().map(at).collect();
                for piece in self.elements.pieces(part as usize) {
                    let first = gradients.len();
                    gradients.resize(first + corners.len(), Vec3::zeros());
                    for (at, g) in places.iter().zip(piece.gradients) {
                        if let Some(at) = at {
                            gradients[first + at] = *g;
                        }
                    }
                    moduli.push((piece.volume, piece.lame, piece.shear));
                }
                if merged.is_some_and(|count| index % count == 0) {
                    merge_pieces(&mut gradients, &mut moduli, (first, corners.len()));
                    first = moduli.len();
                }
            }
            let rows = gradients.chunks_exact(corners.len());
            let pieces = rows
                .zip(&moduli)
                .map(|(gradients, &(volume, lame, shear))| ElementPiece {
                    gradients,
                    volume,
                    lame,
                    shear,
                });
            elements.push(corners, pieces);
        }
        elements
    }

    /// Returns how many consecutive parts of an element of `count` functions give one piece; `None` if each keeps its own pieces.
    fn merged_parts(&self, basis: &Basis, element: u32, count: usize) -> Option<usize> {
        let parts = basis.parts_of_element(&self.basis, element).len();
        if count == 4 {
            return Some(parts);
        }
        if basis.elements(basis.cell(element)).len() == 1 && self.basis.levels() > 0 {
            // A cell without active details: the hexahedra of its first subdivision.
            return Some(1 << (3 * (self.basis.levels() - 1)));
        }
        (parts > 1).then_some(parts / 8)
    }

    /// Returns the weights of the bones that each element of a subset follows: those at its centre.
    fn active_cell_weights(&self, basis: &Basis, region_weights: &SkinWeights) -> SkinWeights {
        let bones = region_weights.bone_count;
        let row = |element: u32| {
            let parts = basis.parts_of_element(&self.basis, element);
            let mut row = vec![0.0; bones];
            if parts.len() == 1 {
                self.cell_weights
                    .row(parts.start as usize)
                    .for_each(|(bone, w)| row[bone as usize] = w);
                return row;
            }
            for (v, share) in basis.element_row(element) {
                let weights = region_weights.row(v as usize);
                weights.for_each(|(bone, w)| row[bone as usize] += w * share);
            }
            row
        };
        let rows: Vec<Vec<f64>> = (0..basis.element_count() as u32).map(row).collect();
        weights_from_rows(rows.iter().map(Vec::as_slice), bones)
    }

    fn active_embedding(&self, names: &Renumbering) -> Embedding {
        let rows = (0..self.embedding.len()).map(|i| {
            let row = self.embedding.row(i);
            let row = row.filter_map(|(a, w)| Some((names.number(a as u32)?, w)));
            (self.embedding.cells()[i], row)
        });
        // Functions of a subset have numbers in it.
        Embedding::from_rows(names.functions.len(), rows).unwrap_or_default()
    }
}

/// Merges all pieces from `first` on, of `count` functions each, into one with their mean gradients and material.
fn merge_pieces(
    gradients: &mut Vec<Vec3>,
    moduli: &mut Vec<(f64, f64, f64)>,
    (first, count): (usize, usize),
) {
    let whole: f64 = moduli[first..].iter().map(|m| m.0).sum();
    if whole <= 0.0 {
        return;
    }
    let mut mean: SmallVec<[Vec3; 32]> = smallvec![Vec3::zeros(); count];
    let (mut lame, mut shear) = (0.0, 0.0);
    let rows = gradients[first * count..].chunks_exact(count);
    for (row, m) in rows.zip(&moduli[first..]) {
        let share = m.0 / whole;
        (lame, shear) = (lame + m.1 * share, shear + m.2 * share);
        mean.iter_mut()
            .zip(row)
            .for_each(|(mean, g)| *mean += g * share);
    }
    moduli.truncate(first);
    moduli.push((whole, lame, shear));
    gradients.truncate(first * count);
    gradients.extend(mean);
}

fn pick_rows(weights: &SkinWeights, rows: &[u32]) -> SkinWeights {
    let mut picked = SkinWeights {
        offsets: vec![0],
        bones: Vec::new(),
        weights: Vec::new(),
        bone_count: weights.bone_count,
    };
    for &row in rows {
        for (bone, weight) in weights.row(row as usize) {
            picked.bones.push(bone);
            picked.weights.push(weight);
        }
        picked.offsets.push(picked.bones.len() as u32);
    }
    picked
}

/// Returns the targets of the twist at functions that are active.
fn active_twist_loads(loads: &[TwistLoad], names: &Renumbering) -> Vec<TwistLoad> {
    let renamed = loads.iter().filter_map(|load| {
        let vertex = names.number(load.vertex)?;
        Some(TwistLoad { vertex, ..*load })
    });
    renamed.collect()
}
