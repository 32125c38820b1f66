// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Python interface: PyO3 bindings and nothing else, one file per module of the crate.
//!
//! Arguments may be anything that numpy can make an array of; results are new C-contiguous arrays. Long calls release the interpreter; a
//! panic becomes `thew.InternalError`. The docs of the Python items are the docstrings of the wheel, which `tools/stub.py` copies into
//! the typed stub.

// The docs of Python's names are its docstrings: brackets in them are shapes, not links.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]

mod arguments;
mod arrays;
mod bake;
mod belt;
mod body;
mod body_parts;
mod body_settings;
mod body_shown;
mod clip;
mod collider;
mod composite;
mod contact;
mod correspond;
mod csr;
mod deformer;
mod dynamic_bones;
mod dynamics;
mod elasticity;
mod equilibrium;
mod errors;
mod fit;
mod force_field;
mod guide;
mod keyframes;
mod known_bodies;
mod lattice;
mod lattice_by_hand;
mod material;
mod modal;
mod mrep;
mod muscle;
mod nonlinear;
mod pickling;
mod pins;
mod pose_fit;
mod present;
mod process;
mod progress;
mod rig;
mod rig_forces;
mod rig_samples;
mod scan;
mod scene;
mod scene_clips;
mod settings;
mod shell;
mod shot;
mod shot_changes;
mod shutdown;
mod simulate;
mod skeleton;
mod spacetime;
mod spline;
mod surface;
mod surface_fit;
mod template;
mod tets;
mod threads;
mod twist;

use pyo3::prelude::*;

/// Adds all names to the module.
///
/// # Errors
/// Errors of Python's own.
pub fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    process::record_home();
    shutdown::prepare(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<surface::PySurface>()?;
    m.add_class::<surface::PySurfaceReport>()?;
    m.add_function(wrap_pyfunction!(scan::cast_rays, m)?)?;
    m.add_function(wrap_pyfunction!(scan::closest_points, m)?)?;
    m.add_class::<skeleton::PySkeleton>()?;
    m.add_class::<lattice::PyLattice>()?;
    m.add_class::<material::PyMaterial>()?;
    m.add_class::<body_settings::PyBodySettings>()?;
    m.add_class::<body::PyBody>()?;
    m.add_class::<dynamics::PySimulation>()?;
    m.add_class::<force_field::PyForceField>()?;
    m.add_class::<pins::PyPin>()?;
    m.add_class::<pins::PyPinTrack>()?;
    m.add_function(wrap_pyfunction!(pins::py_independent_vertices, m)?)?;
    m.add_function(wrap_pyfunction!(belt::belt, m)?)?;
    m.add_function(wrap_pyfunction!(dynamic_bones::follow_bones, m)?)?;
    m.add_class::<equilibrium::PyEquilibrium>()?;
    m.add_class::<clip::PyClip>()?;
    m.add_class::<shot::PyShot>()?;
    m.add_class::<settings::PySimulationSettings>()?;
    settings::add_properties(m.py(), &[m.getattr("Shot")?])?;
    m.add_class::<scene::PyScene>()?;
    m.add_function(wrap_pyfunction!(scene_clips::simulate_scene, m)?)?;
    m.add_function(wrap_pyfunction!(scene_clips::simulate_shots, m)?)?;
    m.add_function(wrap_pyfunction!(scene_clips::extend_scene, m)?)?;
    bake::fill(m)?;
    m.add_class::<shell::PyShell>()?;
    m.add_class::<spline::PyWigglySpline>()?;
    m.add_class::<keyframes::PySpacetimeSettings>()?;
    m.add_class::<spacetime::PySpacetime>()?;
    m.add_class::<composite::PyComposite>()?;
    m.add_function(wrap_pyfunction!(composite::composite, m)?)?;
    m.add_class::<mrep::PyMRep>()?;
    m.add_class::<mrep::PyMRepFit>()?;
    m.add_class::<mrep::PyMRepReport>()?;
    m.add_class::<mrep::PyMRepFamily>()?;
    m.add_class::<mrep::PyVolume>()?;
    m.add_class::<tets::PyTetMesh>()?;
    m.add_class::<modal::PyModes>()?;
    m.add_class::<modal::PyModalSimulation>()?;
    m.add_function(wrap_pyfunction!(simulate::simulate, m)?)?;
    m.add_function(wrap_pyfunction!(dynamics::default_damping, m)?)?;
    m.add_class::<nonlinear::PyNonlinearSimulation>()?;
    m.add_function(wrap_pyfunction!(nonlinear::nonlinear_equilibrium, m)?)?;
    m.add_class::<deformer::PyDeformer>()?;
    m.add_function(wrap_pyfunction!(deformer::gpu_adapters, m)?)?;
    m.add_function(wrap_pyfunction!(modal::modes, m)?)?;
    m.add_function(wrap_pyfunction!(equilibrium::equilibrium, m)?)?;
    m.add_function(wrap_pyfunction!(equilibrium::equilibrium_forces, m)?)?;
    m.add_class::<fit::PyRigFit>()?;
    m.add_function(wrap_pyfunction!(fit::fit_rig, m)?)?;
    m.add_function(wrap_pyfunction!(fit::fit_gradient, m)?)?;
    m.add_function(wrap_pyfunction!(pose_fit::fit_pose, m)?)?;
    m.add_class::<collider::PyCollider>()?;
    m.add_class::<contact::PyContact>()?;
    m.add_class::<contact::PyContacts>()?;
    m.add_class::<template::PyTemplate>()?;
    m.add_class::<template::PyRigSpec>()?;
    m.add_class::<template::PyParameterSpec>()?;
    m.add_function(wrap_pyfunction!(template::templates, m)?)?;
    m.add_function(wrap_pyfunction!(template::rig_kinds, m)?)?;
    m.add_function(wrap_pyfunction!(template::guides, m)?)?;
    m.add_class::<guide::PyBoneGuide>()?;
    m.add_class::<guide::PySkinGuide>()?;
    m.add_class::<guide::PyFreeGuide>()?;
    m.add_class::<rig::PyRig>()?;
    m.add_class::<correspond::PyCorrespondence>()?;
    m.add_class::<correspond::PyCorrespondenceReport>()?;
    m.add_function(wrap_pyfunction!(muscle::muscle, m)?)?;
    m.add_function(wrap_pyfunction!(muscle::muscles, m)?)?;
    m.add_function(wrap_pyfunction!(muscle::muscle_shortening, m)?)?;
    m.add_function(wrap_pyfunction!(muscle::muscle_line, m)?)?;
    m.add_function(wrap_pyfunction!(muscle::muscle_growth, m)?)?;
    m.add_function(wrap_pyfunction!(rig::save_rigs, m)?)?;
    m.add_function(wrap_pyfunction!(rig_forces::rig_stiffness, m)?)?;
    m.add_function(wrap_pyfunction!(rig::load_rigs, m)?)?;
    m.add_function(wrap_pyfunction!(rig::format_rigs, m)?)?;
    m.add_function(wrap_pyfunction!(rig::parse_rigs, m)?)?;
    m.add_function(wrap_pyfunction!(pickling::pickle_parts, m)?)?;
    m.add_function(wrap_pyfunction!(pickling::restore_pickled, m)?)?;
    m.add_function(wrap_pyfunction!(threads::set_threads, m)?)?;
    m.add_function(wrap_pyfunction!(threads::thread_count, m)?)?;
    m.add_class::<surface_fit::PySurfaceFitReport>()?;
    m.add_function(wrap_pyfunction!(surface_fit::py_fit_surface, m)?)?;
    Ok(())
}
