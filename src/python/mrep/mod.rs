// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.MRep`: one medial figure, or several under names.

mod atoms;
mod family;
mod fit;
mod initial;
mod model;
mod places;
mod volume;

pub(super) use family::PyMRepFamily;
pub(super) use fit::{PyMRepFit, PyMRepReport};
pub(in crate::python) use model::PyMRep;
pub(super) use volume::PyVolume;

use places::from_coordinates;

use super::arrays::{List, WholeNumber, integer, read, real, text};
use super::errors::{IntoPy, run_detached};
use super::lattice::{PyLattice, enclose_surface};
use super::skeleton::PySkeleton;
use super::surface::PySurface;
use crate::lattice::EncloseSettings;
use crate::mrep::{
    ChainSettings, Correspondence, Figure, FigureKind, FigureTemplate, Model, suggest_bones,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

#[pymethods]
impl PyMRep {
    /// Builds a slab: a sheet of atoms with a spoke up and one down each.
    ///
    /// - `hubs[m,n,3]`: metres. `radii[m,n]`: metres.
    /// - `frames[m,n,3,3]`: rotations with columns b, b⊥, n.
    /// - `angles[m,n]`: object angles between b and the spokes, radians, above 0 and at most π/2.
    /// - `ends[m,n]`: lengths of the end spokes along b over the radius, which count on the border.
    /// - `lengths[m,n,2]`: lengths of the spokes up and down over the radius.
    ///
    /// Raises MRepError naming the first atom that is not valid.
    #[staticmethod]
    #[pyo3(signature = (hubs, radii, frames, angles, ends=None, lengths=None))]
    fn slab(
        hubs: &Bound<'_, PyAny>,
        radii: &Bound<'_, PyAny>,
        frames: &Bound<'_, PyAny>,
        angles: &Bound<'_, PyAny>,
        ends: Option<&Bound<'_, PyAny>>,
        lengths: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(atoms::read_slab(hubs, radii, frames, angles, ends, lengths)?.into())
    }

    /// Builds a tube: a row of atoms with k spokes around each, closed at both ends.
    ///
    /// - `hubs[n,3]`: metres. `radii[n]`: metres.
    /// - `frames[n,3,3]`: rotations with columns b (along the tube), b⊥, n (the first spoke's side).
    /// - `angles[n]`: object angles between b and the spokes, radians, above 0 and below π.
    /// - `lengths[n,k]`: lengths of the spokes over the radius, from n towards b⊥. None: eight alike.
    /// - `ends`: lengths of both end spokes over the radius.
    /// - `knots[n]`: places of the atoms in u, from 0 to 1. None: by the distances between hubs.
    /// - `joints`: places in u where bones meet.
    ///
    /// Raises MRepError naming the first atom that is not valid.
    #[staticmethod]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(hubs, radii, frames, angles, lengths=None, ends=(1.0, 1.0), knots=None, joints=())"
    )]
    fn tube(
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(atoms::read_tube(arguments, keywords)?.into())
    }

    /// Builds a first figure by its name, one metre long around the origin. A fit moves and scales it onto its body.
    ///
    /// "limb" and "tail" are tubes along z from below. "torso" is a slab, its columns up z, its rows along x, its sheet facing the front
    /// (-y). "head" is one with rows along y, between left and right. Raises MRepError for another name.
    #[staticmethod]
    fn template(#[pyo3(from_py_with = text)] name: &str) -> PyResult<Self> {
        let made = FigureTemplate::from_name(name).and_then(Figure::from_template);
        Ok(made.map_err(IntoPy::into_py)?.into())
    }

    /// Builds a tube along a chain of bones, named in any order, with hubs on them and spokes to the skin that follows them: an arm, a leg,
    /// a tail.
    ///
    /// It is a start: fit it with all its hubs `held` and `weights` from `chain_weights`. n of the first atom points to where the chain
    /// bends, of a straight one up (z), or to the front (-y) where it stands upright. Hubs round corners that are too sharp for the
    /// thickness. A last bone that ends long before its skin is continued to where that ends.
    ///
    /// - `skin_weights[n,b]`: weights of the surface's vertices.
    /// - `atoms_per_bone`: largest number; bones that are short for their thickness get fewer.
    /// - `template`: "limb" or "tail"; or "torso" or "head", slabs of 5 rows and 7 columns in the skin that follows any bones, their hubs
    ///   not on these.
    ///
    /// Raises MRepError naming the bones.
    #[staticmethod]
    #[pyo3(
        signature = (surface, skeleton, skin_weights, bones, atoms_per_bone=WholeNumber(3), spokes=WholeNumber(8), template="limb"),
        text_signature = "(surface, skeleton, skin_weights, bones, atoms_per_bone=3, spokes=8, template='limb')"
    )]
    fn from_skeleton(
        surface: &PySurface,
        skeleton: &PySkeleton,
        skin_weights: &Bound<'_, PyAny>,
        bones: List<String>,
        atoms_per_bone: WholeNumber,
        spokes: WholeNumber,
        #[pyo3(from_py_with = text)] template: &str,
    ) -> PyResult<Self> {
        let template = FigureTemplate::from_name(template).map_err(IntoPy::into_py)?;
        let settings = ChainSettings {
            atoms_per_bone: atoms_per_bone.0,
            spokes: spokes.0,
        };
        let skin = (surface, skeleton, skin_weights);
        Ok(initial::along_bones(template, skin, &bones.0, settings)?.into())
    }

    /// Returns how much each vertex counts in a fit to the skin of a chain of bones, float64 [n], for `weights` of `fit`. It is 0 where the
    /// bones have half of the weight or less (the trunk's skin) and rises to 1. `skin_weights[n,b]`: weights of the vertices.
    #[staticmethod]
    fn chain_weights<'py>(
        skeleton: &PySkeleton,
        skin_weights: &Bound<'py, PyAny>,
        bones: List<String>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        initial::chain_weights(skeleton, skin_weights, &bones.0)
    }

    /// Builds a slab around the body in a Surface or a Volume, as a template: that of the ellipsoid with its moments; columns along its
    /// longest axis. A body that is bent like a sheet gets the slab of the flat one, bent. Raises MRepError where there is no body.
    #[staticmethod]
    #[pyo3(
        signature = (target, rows=WholeNumber(3), cols=WholeNumber(7)),
        text_signature = "(target, rows=3, cols=7)"
    )]
    fn slab_around(
        target: &Bound<'_, PyAny>,
        rows: WholeNumber,
        cols: WholeNumber,
    ) -> PyResult<Self> {
        Ok(initial::slab_around(target, rows.0, cols.0)?.into())
    }

    /// Builds a tube around a body without bones, as a template: along the middles of rings of equal distance from its ends. Raises
    /// MRepError where there is no such body.
    #[staticmethod]
    #[pyo3(
        signature = (surface, atoms=WholeNumber(9), spokes=WholeNumber(8)),
        text_signature = "(surface, atoms=9, spokes=8)"
    )]
    fn tube_around(
        py: Python<'_>,
        surface: &PySurface,
        atoms: WholeNumber,
        spokes: WholeNumber,
    ) -> PyResult<Self> {
        let figure = run_detached(py, || {
            Figure::tube_around(&surface.0, atoms.0, spokes.0).map_err(IntoPy::into_py)
        })?;
        Ok(figure.into())
    }

    /// Suggests bones for a mesh without any and returns a Skeleton: along the middles of rings of equal distance, limbs hanging from the
    /// trunk [biasotti2008]. Raises MRepError.
    #[staticmethod]
    fn suggest_bones(py: Python<'_>, surface: &PySurface) -> PyResult<PySkeleton> {
        let skeleton = run_detached(py, || {
            let bones = suggest_bones(&surface.0).map_err(IntoPy::into_py)?;
            bones.skeleton().map_err(IntoPy::into_py)
        })?;
        Ok(PySkeleton(Arc::new(skeleton)))
    }

    /// Joins several models to one, each under a name of its own. None: their own names, or numbers.
    #[staticmethod]
    #[pyo3(signature = (mreps, names=None))]
    fn join(mreps: List<Py<Self>>, names: Option<List<String>>) -> PyResult<Self> {
        let all: Vec<&Self> = mreps.0.iter().map(|m| m.get()).collect();
        atoms::join_models(&all, names.map(|n| n.0)).map(Into::into)
    }

    /// Writes a file: .mrep.toml, or of a single slab .srep.json (an s-rep as SlicerSALT has them) [liu2021]. It is whole or as it was
    /// before. Raises StorageError, MRepFileError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        let model = self.model.clone();
        run_detached(py, || model.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads a file, .mrep.toml or .srep.json. `scale`: metres per unit of it; s-reps are mostly in millimetres: 0.001. Raises
    /// MRepFileError naming line or place, StorageError.
    #[staticmethod]
    #[pyo3(signature = (path, scale=1.0))]
    fn load(
        py: Python<'_>,
        #[pyo3(from_py_with = read)] path: PathBuf,
        #[pyo3(from_py_with = real)] scale: f64,
    ) -> PyResult<Self> {
        let model = run_detached(py, || Model::load(&path, scale).map_err(IntoPy::into_py))?;
        Ok(model.into())
    }

    /// Kind of figure: "slab" or "tube".
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        Ok(match self.only_figure()?.kind() {
            FigureKind::Slab { .. } => "slab",
            FigureKind::Tube { .. } => "tube",
        })
    }

    /// Rows and columns of a slab; atoms and spokes of a tube.
    #[getter]
    fn shape(&self) -> PyResult<(usize, usize)> {
        Ok(match self.only_figure()?.kind() {
            FigureKind::Slab { rows, cols } => (rows, cols),
            FigureKind::Tube { atoms, spokes } => (atoms, spokes),
        })
    }

    /// Hubs, float64 [m,n,3] of a slab, [n,3] of a tube, metres.
    #[getter]
    fn hubs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        atoms::atom_array(py, self.only_figure()?, &[3], |a| {
            a.hub.iter().copied().collect()
        })
    }

    /// Lengths of the spokes before the relative ones, float64 [m,n] or [n], metres. The boundary depends on the product of radius and
    /// relative length alone, and so do numbers in shares of the radius.
    #[getter]
    fn radii<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        atoms::atom_array(py, self.only_figure()?, &[], |a| vec![a.radius])
    }

    /// Frames, float64 [m,n,3,3] or [n,3,3]: rotations with columns b, b⊥, n.
    #[getter]
    fn frames<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        atoms::atom_array(py, self.only_figure()?, &[3, 3], |a| {
            a.frame.transpose().iter().copied().collect()
        })
    }

    /// Object angles, float64 [m,n] or [n], radians.
    #[getter]
    fn angles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        atoms::atom_array(py, self.only_figure()?, &[], |a| vec![a.angle])
    }

    /// Lengths of the end spokes over the radius, float64: [m,n] (they count on the border), or [2] at a tube's ends.
    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        atoms::ends(py, self.only_figure()?)
    }

    /// Lengths of the spokes over the radius, float64: [m,n,2] up and down, or [n,k] around.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let figure = self.only_figure()?;
        atoms::atom_array(py, figure, &[figure.kind().spoke_count()], |a| {
            a.lengths.clone()
        })
    }

    /// Places of a tube's atoms in u, float64 [n]; empty for a slab.
    #[getter]
    fn knots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.only_figure()?.knots().to_vec().into_pyarray(py))
    }

    /// Places in u of the joints of the bones that a tube was made along, float64 [j].
    #[getter]
    fn joints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.only_figure()?.joints().to_vec().into_pyarray(py))
    }

    /// Figures, a model each; for one figure the model itself alone.
    #[getter]
    fn figures(&self) -> Vec<Self> {
        self.parts()
    }

    /// Names of the figures.
    #[getter]
    fn names(&self) -> Vec<String> {
        let figures = self.model.figures().iter();
        figures.map(|(name, _)| name.clone()).collect()
    }

    /// Diagonal of the box around hubs and spokes, metres.
    #[getter]
    fn size(&self) -> PyResult<f64> {
        Ok(self.only_figure()?.size())
    }

    /// Returns the boundary that the spokes imply, as a closed surface: each interval between atoms in 2^level parts.
    ///
    /// Of several figures it is one boundary around all of them, with edges of about the thinnest one's radius over 2^level. Where they
    /// overlap it is blended over `blend` times the thinner one's radius. Raises MRepError, Cancelled.
    #[pyo3(signature = (level=2, blend=0.5, progress=None))]
    fn boundary(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = integer)] level: i64,
        #[pyo3(from_py_with = real)] blend: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PySurface> {
        places::boundary(py, &self.model, level, blend, progress)
    }

    /// Returns the coordinates (u, v, φ, 1) of the vertices of `boundary(level)`, float64 [p,4].
    #[pyo3(signature = (level=2))]
    fn boundary_coordinates<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] level: i64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        places::boundary_coordinates(py, self.only_figure()?, level)
    }

    /// Returns the uncertainty of the boundary at the vertices of `boundary(level)`, float64 [p], metres: `ratio` of the mean length of the
    /// spokes there [oguz2005, slide 8], however that is shared between radii and lengths.
    #[pyo3(signature = (level=2, ratio=0.1))]
    fn tolerance<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] level: i64,
        #[pyo3(from_py_with = real)] ratio: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        places::tolerance(py, self.only_figure()?, level, ratio)
    }

    /// Returns the figural coordinates (u, v, φ, τ) of `points[p,3]`, float64 [p,4].
    ///
    /// Slab: u runs over the rows and v over the columns, from 0 to 1; φ is 1 on the upper side, −1 on the lower, between on the border.
    /// Tube: u runs from 0 to 1, from −1 in the first cap and to 2 in the last; v is 0; φ is the angle from the first spoke, radians. τ is
    /// 0 at the hub and 1 on the boundary. Coordinates are NaN farther out than twice the length of a point's spoke, and where spokes
    /// cross. Raises InputError where a point is not finite.
    fn coordinates<'py>(&self, points: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let ready = self.shared_coordinates()?;
        places::coordinates(points, &ready)
    }

    /// Returns the points of figural `coordinates[p,4]`, float64 [p,3]. A row of four NaN, as `coordinates` returns it, gives NaN. Raises
    /// MRepError naming the first row that is not of this model, or NaN in part.
    fn points<'py>(&self, coordinates: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let ready = self.shared_coordinates()?;
        places::points(coordinates, &ready)
    }

    /// Returns how far the body is from a fold, at most 1; at zero or below it folds [damon2003].
    fn legality(&self, py: Python<'_>) -> PyResult<f64> {
        let figure = self.only_figure()?;
        run_detached(py, || Ok(figure.legality()))
    }

    /// Returns the faults of each figure, one sentence each; empty if they are sound.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        run_detached(py, || Ok(self.faults()))
    }

    /// Returns the same model after a similarity: x → scale · rotation · x + translation.
    #[pyo3(signature = (scale=1.0, rotation=None, translation=None))]
    fn transformed(
        &self,
        #[pyo3(from_py_with = real)] scale: f64,
        rotation: Option<&Bound<'_, PyAny>>,
        translation: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        places::transformed(&self.model, scale, rotation, translation).map(Into::into)
    }

    /// Returns the points of another figure that correspond to `points[p,3]` of this one, float64 [p,3]: along, around (see `roll_to`) and
    /// in depth alike, joints on joints. Points without coordinates give NaN.
    ///
    /// `mirrored`: True if one of both limbs is a left one and the other a right one. φ then runs the other way, so that outside and above
    /// stay there. Raises MRepError where figures do not correspond.
    #[pyo3(signature = (other, points, mirrored=false))]
    fn correspond<'py>(
        &self,
        other: &Self,
        points: &Bound<'py, PyAny>,
        mirrored: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        places::correspond(self.only_figure()?, other.only_figure()?, points, mirrored)
    }

    /// Returns by how much φ of a place is larger on another figure, radians.
    ///
    /// If one tube is straight and the other bent, φ begins on both at places that lie alike once the limb is lifted or lowered. The result
    /// is 0 for two figures of a sort. `mirrored`: the sum of both φ; the first figure is seen in the mirror x = 0. Raises MRepError as
    /// `correspond` does.
    #[pyo3(signature = (other, mirrored=false))]
    fn roll_to(&self, other: &Self, mirrored: bool) -> PyResult<f64> {
        let there = Correspondence::new(self.only_figure()?, other.only_figure()?, mirrored);
        Ok(there.map_err(IntoPy::into_py)?.roll())
    }

    /// Builds a lattice of cells in the figure, in `layers` from the hubs outward.
    ///
    /// A tube gets prisms and hexahedra, and tetrahedra and prisms in its caps. A slab gets hexahedra on both sides, and prisms and
    /// hexahedra around its border. Bones of `skeleton` whose heads and tails are hubs lie on its edges. Corners move outward along their
    /// spokes until all of `covers` lies inside (None: the boundary). Raises MRepError.
    #[pyo3(
        signature = (skeleton=None, layers=WholeNumber(2), covers=None),
        text_signature = "($self, skeleton=None, layers=2, covers=None)"
    )]
    fn lattice(
        &self,
        py: Python<'_>,
        skeleton: Option<&PySkeleton>,
        layers: WholeNumber,
        covers: Option<&PySurface>,
    ) -> PyResult<PyLattice> {
        let figure = self.only_figure()?;
        let (skeleton, covers) = (skeleton.map(|s| &*s.0), covers.map(|s| &*s.0));
        let lattice = run_detached(py, || {
            let lattice = figure.lattice(skeleton, layers.0, covers);
            lattice.map_err(IntoPy::into_py)
        })?;
        Ok(PyLattice(Arc::new(lattice)))
    }

    /// Builds a lattice around a whole character: prisms along the limbs of this model, joined in faces to tetrahedra around the rest, with
    /// every used bone on edges. Arguments are as in `Lattice.enclose`. `notes` of the lattice tell which limbs were left to tetrahedra,
    /// and why. Raises Cancelled, InputError, MotionError.
    #[pyo3(signature = (surface, skeleton, skin_weights=None, cells_across=12.0, progress=None))]
    fn enclose(
        &self,
        py: Python<'_>,
        surface: &PySurface,
        skeleton: &PySkeleton,
        skin_weights: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = real)] cells_across: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyLattice> {
        let settings = EncloseSettings {
            cells_across,
            ..EncloseSettings::default()
        };
        let model = &self.model;
        let bodies = (surface, skeleton);
        enclose_surface(
            py,
            bodies,
            skin_weights,
            progress,
            |surface, bones, skin, progress| {
                model.enclose(surface, bones, skin, settings, progress)
            },
        )
    }

    /// Returns the fit of the most probable model to a Surface or a Volume, this one being the template
    /// [oguz2005, slides 9 to 14].
    ///
    /// Several figures are fitted to a surface as one model: all as one, each as one, then atoms and boundaries, with ties where they meet
    /// in the template.
    ///
    /// - `stages`: some of "similarity", "sections" (of a tube, from joint to joint), "atoms", "boundary". They run in this order however
    ///   they are named.
    /// - `prior`: factor on the expectation in relation to the observation.
    /// - `held`: indices of atoms, or a mask of them, whose hubs stay; the whole is not moved then. Only for one figure.
    /// - `weights[n]`: how much each vertex of a surface counts, from 0 to 1; [k,n] for k figures. None: for the one whose boundary is
    ///   nearest.
    /// - `family`: an MRepFamily, the expectation in place of the template's neighbourhoods. Only for one figure.
    ///
    /// Raises MRepError, Cancelled.
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "($self, target, stages=('similarity', 'atoms', 'boundary'), prior=1.0, held=None, weights=None, family=None, progress=None)"
    )]
    fn fit<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<PyMRepFit> {
        fit::fitted(py, &self.model, arguments, keywords)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.model == other.model
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        atoms::pickle_parts(slf.py(), &slf.get().model)
    }

    fn __repr__(&self) -> String {
        self.described()
    }
}
