// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Clip`.

use super::arrays::{
    List, WholeNumber, array_error, from_frames, from_points, integer, read, read_poses,
};
use super::body::PyBody;
use super::contact::PyContacts;
use super::errors::{IntoPy, run_detached};
use super::pins::read_tracks;
use super::present::{DisplayArguments, InstantReceiver, SurfaceView};
use super::progress::with_progress;
use super::rig_forces::build_rig_forces;
use super::settings::PySimulationSettings;
use super::shot::user_notes;
use crate::bake;
use crate::clip::{Clip, FrameForces};
use crate::kernel::Deformer;
use crate::present::{Presenter, SurfaceId};
use crate::progress::Silent;
use crate::rig::{self, Rig, RigForces};
use crate::shot;
use crate::skeleton::Pose;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

impl PyClip {
    fn read_deformer<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Deformer) -> T + Send,
    ) -> PyResult<Option<T>> {
        run_detached(py, || {
            let deformer = self.clip.deformer().map(|d| d.surface(SurfaceId::OWN));
            let deformer = deformer.transpose();
            Ok(deformer.map_err(IntoPy::into_py)?.map(|d| look(&d)))
        })
    }
}

/// A simulated clip: the kept states of a run of frames, any of which can be shown in any order, from any thread. `numpy.asarray(clip)` is
/// float32 [f,n,3].
#[pyclass(name = "Clip", module = "thew", frozen)]
pub(super) struct PyClip {
    clip: Arc<Clip>,
    rigs: Vec<Arc<Rig>>,
    /// Warnings about the rigs.
    warnings: Vec<String>,
    /// Edges of the body's own surface, on first use.
    edges: OnceLock<Vec<[u32; 2]>>,
}

impl PyClip {
    pub(super) fn new(clip: Clip, rigs: Vec<Arc<Rig>>, warnings: Vec<String>) -> Self {
        Self {
            clip: Arc::new(clip),
            rigs,
            warnings,
            edges: OnceLock::new(),
        }
    }

    /// Takes a clip that was read, with the rigs and warnings in its texts.
    pub(super) fn from_clip(clip: Clip) -> PyResult<Self> {
        let text = |name| clip.texts().get(name);
        let rigs =
            text(shot::RIGS_TEXT).map(|text| rig::parse_rigs("the clip's list of rigs", text));
        let rigs = rigs.transpose().map_err(IntoPy::into_py)?;
        let rigs = rigs.unwrap_or_default().into_iter().map(Arc::new).collect();
        let warnings = text(shot::WARNINGS_TEXT)
            .map_or(Vec::new(), |text| text.lines().map(str::to_owned).collect());
        Ok(Self::new(clip, rigs, warnings))
    }

    pub(super) fn clip(&self) -> &Arc<Clip> {
        &self.clip
    }

    /// Returns the poses that follow, and the forces of its rigs at them.
    pub(super) fn read_motion(
        &self,
        py: Python<'_>,
        poses: &Bound<'_, PyAny>,
        controls: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<Pose>, Option<RigForces>)> {
        let poses = self::read_poses(poses, self.clip.body().skeleton().len())?;
        let motion = (self.clip.body(), self.clip.settings().simulation.adapt);
        let led = build_rig_forces(py, motion, &self.rigs, poses.len(), controls)?;
        Ok((poses, led))
    }
}

impl SurfaceView for PyClip {
    /// Index of a frame.
    type InstantKey = i64;

    fn presenter(&self, _: i64) -> PyResult<&Presenter> {
        Ok(self.clip.presenter())
    }

    fn visit_instant(
        &self,
        py: Python<'_>,
        frame: i64,
        show: &mut InstantReceiver<'_>,
    ) -> PyResult<()> {
        run_detached(py, || {
            self.clip.show_frame(frame, show).map_err(IntoPy::into_py)
        })
    }
}

#[pymethods]
impl PyClip {
    /// Returns the positions of the vertices of a carried surface (None: the body's own) at a frame, float32 [n,3], metres, world axes.
    /// Frames before the first and after the last show these. `to` and `onto` are as in `offsets`.
    #[pyo3(signature = (frame, surface=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            frame,
            Presenter::positions,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Returns the offsets that the flesh adds to the artist's own skin at a frame, float32 [n,3], metres, world axes. The skin, however it
    /// was made, plus the offsets is the shown surface.
    ///
    /// - `to[4,4]`: map into another space, an affine map of the world's metres that may flatten or mirror. Positions take all of it,
    ///   vectors its linear part. None: the world's metres.
    /// - `onto[n,3]`: array to which the result is added, and which is returned. None: a new one.
    ///
    /// Raises InputError for a map that is not affine, not finite or beyond 1e12, and for an array that is not float32, C-contiguous and of
    /// that shape.
    #[pyo3(signature = (frame, surface=None, to=None, onto=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        self.quantity_array(
            py,
            frame,
            Presenter::offsets,
            DisplayArguments::new(surface, to, onto)?,
        )
    }

    /// Returns the velocities of the positions that `positions` shows at a frame, float32 [n,3], m/s, world axes. They are differences
    /// between the frame before and the one after, at the ends to or from the end itself. `to` and `onto` are as in `offsets`.
    #[pyo3(signature = (frame, surface=None, to=None, onto=None))]
    fn velocities<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
        surface: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        DisplayArguments::new(surface, to, onto)?.fill_array(
            py,
            |id| self.clip.vertices(id),
            |id, target, out| {
                run_detached(py, || {
                    let shown = self.clip.velocities_into(frame, id, target, out);
                    shown.map_err(IntoPy::into_py)
                })
            },
        )
    }

    /// Returns the tension of the body's own skin at a frame, float32 [n]: how far flesh stretches (above 0) or compresses (below 0) the skin
    /// around each vertex against the artist's own skin in the same pose, as `tension` measures it.
    fn tension<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let tension = run_detached(py, || {
            let [plain, shown] = self.clip.skins(frame).map_err(IntoPy::into_py)?;
            let edges = self
                .edges
                .get_or_init(|| bake::triangle_edges(self.clip.body().surface().triangles()));
            bake::tension(edges, &plain, &shown).map_err(IntoPy::into_py)
        })?;
        Ok(tension.into_pyarray(py))
    }

    /// Returns the positions of the lattice vertices at a frame, float64 [nodes,3], metres.
    fn lattice_positions<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
    ) -> Bound<'py, PyArray2<f64>> {
        let lattice = self.clip.lattice(frame);
        let world: Vec<_> = (0..lattice.points.len())
            .map(|i| lattice.world(i))
            .collect();
        from_points(py, &world)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = copy; // every array is new
        let (n, data) = run_detached(py, || {
            let n = self
                .clip
                .vertices(SurfaceId::OWN)
                .map_err(IntoPy::into_py)?;
            let data = self
                .clip
                .all_positions(SurfaceId::OWN, &Silent)
                .map_err(IntoPy::into_py)?;
            Ok(((data.len() / (3 * n).max(1), n), data))
        })?;
        let array = from_frames(py, n, data)?.into_any();
        match dtype {
            Some(dtype) => {
                (array.call_method1("astype", (dtype,))).map_err(|e| array_error(py, "dtype", e))
            }
            None => Ok(array),
        }
    }

    /// Extends the clip by `poses[f,b,4,4]` after the last frame. That frame is made again, as the bones' way from there is now known: a
    /// clip made in parts equals the clip made at once.
    ///
    /// - `controls[f,r]`: controls of the clip's rigs at those poses. None: each at its last sample.
    /// - `restart`: True begins the flesh anew there, as a clip of its own, after a cut; nothing is made again then.
    /// - `pins`: `PinTrack`s of the clip's points, in their order, with an entry for each of those poses. None: they stay at their last targets; a
    ///   restart then has none.
    ///
    /// Cyclic clips cannot be extended, those of a scene by `extend_scene`.
    #[pyo3(signature = (poses, controls=None, progress=None, restart=false, pins=None))]
    fn extend(
        &self,
        py: Python<'_>,
        poses: &Bound<'_, PyAny>,
        controls: Option<&Bound<'_, PyAny>>,
        progress: Option<Py<PyAny>>,
        restart: bool,
        pins: Option<List<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let pins = pins.map(read_tracks).transpose()?.unwrap_or_default();
        let (poses, led) = self.read_motion(py, poses, controls)?;
        let forces = led.as_ref().map(|led| led as &dyn FrameForces);
        with_progress(py, progress, |progress| {
            let new = (&poses[..], forces, &pins[..]);
            let done = self.clip.append_alone(new, restart, progress);
            done.map_err(IntoPy::into_py)
        })
    }

    /// Writes the clip with its body and its rigs to a file: versioned, checksummed, whole or not at all. It takes about 24 bytes per
    /// lattice vertex and 64 per bone of every frame, in addition to the body. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        run_detached(py, || self.clip.save(&path).map_err(IntoPy::into_py))
    }

    /// Reads a clip that `save` wrote. It shows every frame and goes on with the same bits as the saved one, without being simulated again.
    /// Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        run_detached(py, || {
            Self::from_clip(Clip::load(&path).map_err(IntoPy::into_py)?)
        })
    }

    /// Settings of the simulation, damping included.
    #[getter]
    fn settings(&self) -> PySimulationSettings {
        PySimulationSettings(self.clip.settings().simulation.clone())
    }

    /// Body that moves.
    #[getter]
    fn body(&self, py: Python<'_>) -> PyResult<Py<PyBody>> {
        PyBody::shared(py, self.clip.surfaces())
    }

    /// Names of the bodies that `contacts` count, by their numbers: those of its scene, or its own alone. Empty if they have no names.
    #[getter]
    fn body_names(&self) -> Vec<String> {
        self.clip.body_names().to_vec()
    }

    /// Index of the clip's own body in `body_names`.
    #[getter]
    fn body_index(&self) -> usize {
        self.clip.body_index()
    }

    /// Texts that travel with the clip, by name: those of its `Shot`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        user_notes(py, self.clip.texts())
    }

    /// Returns the contacts at a frame; empty in clips without contact. With the method "modal" these are the overlaps parted on the
    /// surface, without forces.
    fn contacts(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = integer)] frame: i64,
    ) -> PyResult<PyContacts> {
        run_detached(py, || {
            let contacts = self.clip.contacts(frame).map_err(IntoPy::into_py)?;
            Ok(PyContacts(contacts.points))
        })
    }

    /// Returns what contact cannot part in the clip, one sentence each, to be read: which bones lie in what, or fold flesh that they alone
    /// hold, and in which frames, counted from 0. Empty in clips without contact.
    fn contact_notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        run_detached(py, || Ok(self.clip.contact_notes()))
    }

    /// Returns the bones that lie in other flesh or in colliders at a frame, from which contact cannot move them. Each is (bone, index of
    /// the other as in `Contacts.other_bodies`, bone there (0 of colliders), depth in metres).
    fn buried_bones(
        &self,
        #[pyo3(from_py_with = integer)] frame: i64,
    ) -> Vec<(u32, u32, u32, f64)> {
        let buried = self.clip.buried_bones(frame);
        let all = buried.iter();
        all.map(|b| (b.bone, b.other, b.partner, b.depth)).collect()
    }

    /// Returns the additional part of the joints' elastic shape that is shown at a frame where the skin lies in itself, float32 [nodes]. It
    /// has one number from 0 to 1 per lattice vertex.
    fn folds<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integer)] frame: i64,
    ) -> Bound<'py, PyArray1<f32>> {
        let folds = self.clip.folds(frame);
        let none = || vec![0.0; self.clip.body().node_count()];
        folds.unwrap_or_else(none).into_pyarray(py)
    }

    /// Number of cells near inversion in each frame whose vertices all hang on bones, int32 [f]. Contact cannot help them.
    #[getter]
    fn held_cells<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let frames = 0..self.clip.len() as i64;
        let counts: Vec<i32> = frames.map(|f| self.clip.held_cells(f) as i32).collect();
        counts.into_pyarray(py)
    }

    /// Number of inverted cells in each frame, int32 [f].
    #[getter]
    fn inverted_cells<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let counts = self.clip.inverted_cells();
        counts
            .into_iter()
            .map(|c| c as i32)
            .collect::<Vec<_>>()
            .into_pyarray(py)
    }

    /// Number of cells that the bones alone invert in each frame, int32 [f]. No motion of the flesh undoes them. None with methods that do
    /// not part sway from the motion of the bones.
    #[getter]
    fn folded_cells<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i32>>> {
        let counts = self.clip.folded_cells()?;
        let counts: Vec<i32> = counts.into_iter().map(|c| c as i32).collect();
        Some(counts.into_pyarray(py))
    }

    /// Number of steps of the method "hyperelastic" in each frame that ended short of their tolerance, int32 [f]. The flesh went on from
    /// the best point found.
    #[getter]
    fn unconverged_steps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let counts = self.clip.unconverged_steps();
        let counts: Vec<i32> = counts.into_iter().map(|c| c as i32).collect();
        counts.into_pyarray(py)
    }

    /// Number of the body's functions that were active at each frame, int32 [f]: all of them, unless the motion adapts (`adapt`).
    #[getter]
    fn active_functions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let counts = self.clip.active_functions();
        let counts: Vec<i32> = counts.into_iter().map(|c| c as i32).collect();
        counts.into_pyarray(py)
    }

    /// Largest distance of the flesh from its skin in each frame before `max_offset` limits it, as a part of the body's size, float32 [f].
    #[getter]
    fn max_skin_deviations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let farthest = run_detached(py, || {
            self.clip.max_skin_deviations().map_err(IntoPy::into_py)
        })?;
        Ok(farthest.into_pyarray(py))
    }

    /// Amplitudes of the method "modal", float64 [f,m]; None with other methods.
    #[getter]
    fn amplitudes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        let m = self.clip.modes()?.len();
        let frames = 0..self.clip.len();
        let rows: Vec<Vec<f64>> = frames
            .filter_map(|f| self.clip.amplitudes(f as i64))
            .collect();
        Some(Array2::from_shape_fn((rows.len(), m), |(f, i)| rows[f][i]).into_pyarray(py))
    }

    /// Engine on which the method "modal" shows the body's own surface: "CPU, 2 threads", "GPU NAME"; None with other methods.
    #[getter]
    fn engine(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read_deformer(py, |d| d.engine())
    }

    /// Measured cost of each engine that was tried, line by line.
    #[getter]
    fn engine_report(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let lines = self.read_deformer(py, |d| {
            d.timings().iter().map(ToString::to_string).collect()
        })?;
        Ok(lines.unwrap_or_default())
    }

    /// Warnings: rigs that push nothing, requests about the engine that could not be met.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let shown = self
            .read_deformer(py, |d| d.warnings())?
            .unwrap_or_default();
        Ok([self.warnings.clone(), shown].concat())
    }

    /// Largest distance of a lattice vertex between the end of a cycle and its beginning, metres; None for other clips.
    #[getter]
    fn loop_gap(&self) -> Option<f64> {
        self.clip.loop_gap()
    }

    /// Memory of the kept states, bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.clip.bytes()
    }

    /// Frames per second.
    #[getter]
    fn fps(&self) -> f64 {
        self.clip.settings().fps
    }

    fn __len__(&self) -> usize {
        self.clip.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<thew.Clip: {} frames at {} fps>",
            self.clip.len(),
            self.clip.settings().fps
        )
    }
}
