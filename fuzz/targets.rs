// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is fuzzed: each target takes any bytes and must neither panic, nor take long, nor much memory; what is accepted must
//! work and give finite results.

use crate::numbers::finite;
use crate::{bakes, borders, files, forged, keyed, states, stored};
use std::sync::{Arc, OnceLock};
use thew::Vec3;
use thew::body::{Body, BodySettings};
use thew::dynamics::{Equilibrium, Method, Simulation, SimulationSettings};
use thew::elasticity::{ElasticModel, Material};
use thew::lattice::{EncloseSettings, Lattice};
use thew::progress::Silent;
use thew::skeleton::{Pose, Skeleton, SkinWeights};
use thew::solve::NodeMatrix;
use thew::surface::Surface;
use thew::tets::{MassKind, TetMesh};

/// A name, what is done with the bytes, and where mutations begin.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Tokens that mutations insert.
    pub words: &'static [&'static str],
    /// Inputs made in `cargo test`: as many as take a second or two.
    pub inputs: usize,
}

const NONE: &[&str] = &[];
const NUMBERS: &[&str] = &[
    "nan",
    "-1",
    "1e308",
    "4294967295",
    "99999999999",
    "0",
    "1e-320",
    "\n",
    "#",
    " 1 2 3 4",
];
const TOML: &[&str] = &[
    "[[rigs]]",
    "[rigs.guide]",
    "[[rigs.samples]]",
    "nan",
    "1e308",
    "-1",
    "kind = \"torus\"",
    "yields = 0.1",
    "\n",
    "=",
];

const MODELS: &[&str] = &[
    "[[figure]]",
    "[[figure.atom]]",
    "nan",
    "1e308",
    "-1",
    "0.0",
    "kind = \"slab\"",
    "{\"CoordinateSystem\": \"LPS\", \"Value\": [0, 0, 0]}",
    "[1, 2, 3]",
    "\n",
];

pub const TARGETS: [Target; 17] = [
    Target {
        name: "body_file",
        run: files::body_file,
        seeds: files::body_seeds,
        words: NONE,
        inputs: 600,
    },
    Target {
        name: "clip_file",
        run: files::clip_file,
        seeds: files::clip_seeds,
        words: NONE,
        inputs: 400,
    },
    Target {
        name: "shot_file",
        run: files::shot_file,
        seeds: files::shot_seeds,
        words: NONE,
        inputs: 300,
    },
    Target {
        name: "stored_file",
        run: stored::stored_file,
        seeds: stored::stored_seeds,
        words: NONE,
        inputs: 600,
    },
    Target {
        name: "state",
        run: states::state,
        seeds: states::state_seeds,
        words: NONE,
        inputs: 500,
    },
    Target {
        name: "rig_file",
        run: files::rig_file,
        seeds: files::rig_seeds,
        words: TOML,
        inputs: 600,
    },
    Target {
        name: "mrep_file",
        run: files::mrep_file,
        seeds: files::mrep_seeds,
        words: MODELS,
        inputs: 400,
    },
    Target {
        name: "forged_numbers",
        run: forged::forged_numbers,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 300,
    },
    Target {
        name: "forged_texts",
        run: forged::forged_texts,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 300,
    },
    Target {
        name: "tet_files",
        run: files::tet_files,
        seeds: files::tet_seeds,
        words: NUMBERS,
        inputs: 2000,
    },
    Target {
        name: "bake_files",
        run: bakes::bake_files,
        seeds: bakes::bake_seeds,
        words: NONE,
        inputs: 400,
    },
    Target {
        name: "surface",
        run: borders::surface,
        seeds: borders::box_bytes,
        words: NONE,
        inputs: 60,
    },
    Target {
        name: "skeleton",
        run: borders::skeleton,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 3000,
    },
    Target {
        name: "meshes",
        run: borders::meshes,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 2000,
    },
    Target {
        name: "enclose",
        run: borders::enclose,
        seeds: borders::box_bytes,
        words: NONE,
        inputs: 60,
    },
    Target {
        name: "motion",
        run: borders::motion,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 400,
    },
    Target {
        name: "spacetime",
        run: keyed::spacetime,
        seeds: borders::some_bytes,
        words: NONE,
        inputs: 400,
    },
];

pub const FACES: [[u32; 3]; 12] = [
    [0, 2, 1],
    [1, 2, 3],
    [4, 5, 6],
    [5, 7, 6],
    [0, 1, 4],
    [1, 5, 4],
    [2, 6, 3],
    [3, 6, 7],
    [0, 4, 2],
    [2, 4, 6],
    [1, 3, 5],
    [3, 7, 5],
];

/// A brick of flesh on two bones: the smallest body that has all there is.
pub fn brick() -> &'static Arc<Body> {
    static BODY: OnceLock<Arc<Body>> = OnceLock::new();
    BODY.get_or_init(|| {
        let corner = |i: usize| {
            Vec3::new(
                0.1 + 0.9 * (i & 1) as f64,
                0.2 * (i >> 1 & 1) as f64 - 0.1,
                0.2 * (i >> 2) as f64 - 0.1,
            )
        };
        let surface = Surface::new((0..8).map(corner).collect(), FACES.to_vec()).expect("a box");
        let at = |x| Vec3::new(x, 0.0, 0.0);
        let names = vec!["upper".to_owned(), "lower".to_owned()];
        let skeleton = Skeleton::new(
            names,
            vec![None, Some(0)],
            vec![at(0.0), at(0.5)],
            vec![at(0.5), at(1.0)],
        )
        .expect("bones");
        let row = |x: &Vec3| [(0, 1.0 - x.x.clamp(0.0, 1.0)), (1, x.x.clamp(0.0, 1.0))];
        let skin = SkinWeights::from_rows(2, surface.vertices().iter().map(row)).expect("weights");
        let settings = EncloseSettings {
            cells_across: 4.0,
            ..EncloseSettings::default()
        };
        let lattice = Lattice::enclose(&surface, &skeleton, Some(&skin), settings, &Silent)
            .expect("a lattice");
        let options = BodySettings {
            region_weights: Some(skin),
            level: 0,
            ..BodySettings::default()
        };
        let body = Body::new(
            &Arc::new(surface),
            &Arc::new(skeleton),
            &Arc::new(lattice),
            Material::default(),
            &options,
            &Silent,
        );
        Arc::new(body.expect("a body"))
    })
}

/// Steps and balances of whatever body was accepted.
pub fn use_body(body: &Arc<Body>) {
    let rest = Pose::rest(body.skeleton().len());
    if let Ok(mut balance) = Equilibrium::new(body, Method::Warped)
        && let Ok(q) = balance.solve(Vec3::new(1.0, 2.0, -9.0), None, None)
    {
        finite("a balance of vertex", &q);
    }
    if let Ok(mut simulation) = Simulation::new(body.clone(), SimulationSettings::default())
        && simulation.reset(&rest, true, None).is_ok()
        && simulation.advance(&rest, 1.0 / 120.0, None, None).is_ok()
    {
        finite("lattice vertex", simulation.lattice_positions());
    }
}

/// What every mesh that was accepted can do.
pub fn use_mesh(mesh: &TetMesh) {
    assert!(mesh.volume() > 0.0 && mesh.volume().is_finite() && mesh.size().is_finite());
    assert!(mesh.components() >= 1);
    let elements = mesh.elements(&Material::default());
    let mut gradient = vec![Vec3::zeros(); mesh.vertices().len()];
    let still = gradient.clone();
    elements.gradient(ElasticModel::NeoHookean, &still[..], &mut gradient);
    finite("a force on node", &gradient);
    let mass = mesh.mass_matrix(&Material::default(), MassKind::Consistent);
    assert!((0..mass.rows()).all(|row| mass.row_sum(row) >= 0.0));
    if let Ok(lattice) = mesh.lattice() {
        let _ = lattice.embed(&mesh.vertices()[..1]);
    }
}
