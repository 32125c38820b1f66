// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parser: files of bodies, clips and shots, rig files, files of tetrahedral meshes.

use crate::numbers::finite;
use crate::shots::{clips_of_scene, shot, touching};
use crate::targets::{brick, use_body, use_mesh};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thew::Vec3;
use thew::clip::Clip;
use thew::dynamics::Method;
use thew::mrep::{Atom, Boundary, Figure, Model};
use thew::present::{CarriedSurfaces, SurfaceId};
use thew::progress::Silent;
use thew::rig::{
    self, BoneRef, Guide, MusclePlace, MuscleRig, Rig, Sample, Sculpt, SculptPoint, Template,
    TemplateKind,
};
use thew::shot::Shot;
use thew::skeleton::Pose;
use thew::store;
use thew::tets::{MeshRepairs, TetMesh, WriteSettings};

/// A file of this thread with such an ending, the same for TetGen's two.
pub fn scratch(ending: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
    // What writes waits for the disk: where memory has a folder, that is quicker.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    folder.join(format!(
        "thew-fuzz-{}-{thread}.{ending}",
        std::process::id()
    ))
}

pub fn written(ending: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(ending);
    std::fs::write(&path, bytes).expect("the scratch folder can be written to");
    path
}

/// The first byte: 0 a whole file, else content behind a header that fits it, so that mutations reach what is behind the sum.
pub fn file_of(kind: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let (&raw, content) = bytes.split_first()?;
    let mut file = Vec::new();
    if raw != 0 {
        file.extend(b"\x89THEW\r\n\x1a");
        file.extend(store::VERSION.to_le_bytes());
        let mut name = [0; 16];
        name[..kind.len()].copy_from_slice(kind.as_bytes());
        file.extend(name);
        file.extend((content.len() as u64).to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&file);
        sum.update(content);
        file.extend(sum.finalize().to_le_bytes());
    }
    file.extend(content);
    Some(file)
}

/// The whole file, and its content.
pub fn seeds_of(path: &Path) -> Vec<Vec<u8>> {
    let file = std::fs::read(path).expect("it is there");
    vec![[&[0], &file[..]].concat(), [&[1], &file[40..]].concat()]
}

pub fn body_file(bytes: &[u8]) {
    let Some(file) = file_of("body", bytes) else {
        return;
    };
    if let Ok(surfaces) = store::load::<CarriedSurfaces>(&written("body", &file), "body") {
        use_body(surfaces.body());
    }
}

pub fn body_seeds() -> Vec<Vec<u8>> {
    let path = scratch("seed");
    let carried = CarriedSurfaces::new(brick().clone());
    carried.carry(brick().surface());
    store::save(&path, "body", &carried).expect("it can be saved");
    seeds_of(&path)
}

/// The file of the second clip of the scene.
fn partner() -> &'static [u8] {
    static PARTNER: OnceLock<Vec<u8>> = OnceLock::new();
    PARTNER.get_or_init(|| {
        let path = scratch("partner");
        clips_of_scene()[1].save(&path).expect("it can be saved");
        std::fs::read(&path).expect("it is there")
    })
}

pub fn clip_file(bytes: &[u8]) {
    let Some(file) = file_of("clip", bytes) else {
        return;
    };
    let Ok(clip) = Clip::load(&written("clip", &file)) else {
        return;
    };
    for frame in 0..clip.len().min(4) as i64 {
        // What a body and poses make in single precision may be beyond it, but never a crash.
        let _ = clip.offsets(frame, SurfaceId::OWN);
        let lattice = clip.lattice(frame);
        let points: Vec<_> = (0..lattice.points.len())
            .map(|i| lattice.world(i))
            .collect();
        finite("a lattice vertex", &points);
    }
    let _ = (clip.max_skin_deviations(), clip.contact_notes());
    let rest = [Pose::rest(clip.body().skeleton().len())];
    if clip.settings().fps >= 24.0 && clip.settings().simulation.rate <= 480.0 {
        let _ = clip.extend(&rest, None, &Silent);
        if clip.body_names().len() == 2 {
            let other = Clip::load(&written("other", partner())).expect("it was saved");
            let new = [(&rest[..], None), (&rest[..], None)];
            let _ = Clip::extend_scene(&[&clip, &other], &new, &Silent);
        }
    }
}

pub fn clip_seeds() -> Vec<Vec<u8>> {
    let seeds = |clip: Clip| {
        let path = scratch("seed");
        clip.save(&path).expect("it can be saved");
        seeds_of(&path)
    };
    let made = |shot: Shot| shot.simulate(&Silent).expect("a clip").0;
    let mut clips: Vec<Clip> = [shot(Method::Hyperelastic), shot(Method::Modal), touching()]
        .map(made)
        .into();
    clips.extend(clips_of_scene().into_iter().take(1));
    clips.into_iter().flat_map(seeds).collect()
}

pub fn shot_file(bytes: &[u8]) {
    let Some(file) = file_of("shot", bytes) else {
        return;
    };
    let Ok(shot) = Shot::load(&written("shot", &file)) else {
        return;
    };
    let settings = &shot.settings;
    let short = shot.poses.len() <= 4 && settings.preroll <= 4 && settings.fps >= 24.0;
    if short && !settings.cyclic && settings.simulation.rate <= 480.0 {
        let _ = shot.simulate(&Silent);
    }
}

pub fn shot_seeds() -> Vec<Vec<u8>> {
    let seeds = |shot: Shot| {
        let path = scratch("seed");
        shot.save(&path).expect("it can be saved");
        seeds_of(&path)
    };
    let shots = [shot(Method::Warped), shot(Method::Modal), touching()];
    shots.map(seeds).concat()
}

pub fn rig_file(bytes: &[u8]) {
    let path = written("toml", bytes);
    if let Ok(rigs) = rig::load(&path, None, &Silent) {
        rig::save(&path, &rigs, None, &Silent).expect("what was read can be written");
        assert_eq!(
            rig::load(&path, None, &Silent).expect("and read again"),
            rigs
        );
        for rig in &rigs {
            let _ = rig.check(brick());
            if let Ok(forces) = rig.forces(brick(), &rig.last_parameters()) {
                finite("a force on vertex", &forces);
            }
        }
    }
    let _ = rig::load(&path, Some(brick()), &Silent);
}

/// Models as text files: what is read can be written, read again and worked with.
pub fn mrep_file(bytes: &[u8]) {
    for name in ["mrep.toml", "srep.json"] {
        let path = written(name, bytes);
        let Ok(model) = Model::load(&path, 1.0) else {
            continue;
        };
        let copy = written("copy.mrep.toml", b"");
        model.save(&copy).expect("what was read can be written");
        assert_eq!(Model::load(&copy, 1.0).expect("and read again"), model);
        for (_, figure) in model.figures() {
            let atoms = figure.kind().atom_count() * figure.kind().spoke_count();
            let _ = figure.legality();
            if atoms <= 200 {
                let boundary = Boundary::new(figure, 1).expect("a boundary of few vertices");
                let _ = figure.coordinates(&boundary.positions(figure));
                let _ = figure.lattice(None, 1, None);
            }
        }
    }
}

pub fn mrep_seeds() -> Vec<Vec<u8>> {
    let frame = thew::Mat3::identity();
    let tube: Vec<Atom> = (0..4)
        .map(|i| Atom::new(Vec3::x() * f64::from(i), 0.3, frame, 1.5, 5))
        .collect();
    let slab: Vec<Atom> = (0..9)
        .map(|i| {
            Atom::new(
                Vec3::new(f64::from(i / 3), f64::from(i % 3), 0.0),
                0.3,
                frame,
                1.2,
                2,
            )
        })
        .collect();
    let tube = Figure::tube(tube).expect("a tube");
    let slab = Figure::slab(3, 3, slab).expect("a slab");
    let both = Model::new(vec![("a".into(), tube), ("b".into(), slab.clone())]).expect("a model");
    let path = written("seed.srep.json", b"");
    Model::from(slab).save(&path).expect("it can be saved");
    vec![
        both.to_text().into_bytes(),
        std::fs::read(&path).expect("it is there"),
    ]
}

pub fn rig_seeds() -> Vec<Vec<u8>> {
    let guides = [
        Guide::bone(BoneRef::Name("upper".into()), [0.5, 0.1, 0.02, 0.3]),
        Guide::skin(3, [0.2, 0.3, 0.5], [0.05, 0.1, 0.2]),
        Guide::free(rig::GuideFrame::identity(), [0.3, 0.0, 0.0, 0.1, 0.2, 0.3]),
    ];
    let rigs: Vec<Rig> = TemplateKind::ALL
        .iter()
        .zip(guides.into_iter().cycle())
        .map(|(&kind, guide)| {
            let template = Template::with_reach(kind, 0.2, -1e4).expect("a template");
            let guide = guide.expect("a guide");
            let rig = Rig::new("Seed", template, guide, Vec::new()).expect("a rig");
            let samples = [0.0, 1.0].map(|control| Sample {
                control,
                parameters: rig.own_parameters(),
            });
            rig.with_samples(samples.to_vec()).expect("a rig")
        })
        .collect();
    let path = scratch("seed");
    rig::save(&path, &rigs, None, &Silent).expect("it can be saved");
    rig::save(&scratch("seed2"), &rigs[..1], Some(brick()), &Silent).expect("it can be saved");
    rig::save(&scratch("seed3"), &[sculpted_seed()], None, &Silent).expect("it can be saved");
    rig::save(&scratch("seed4"), &[muscle_seed()], None, &Silent).expect("it can be saved");
    ["seed", "seed2", "seed3", "seed4"]
        .map(|name| std::fs::read(scratch(name)).expect("it is there"))
        .to_vec()
}

/// Returns a sculpted rig of two points of the brick's skin.
fn sculpted_seed() -> Rig {
    let turns = vec![("upper".into(), Vec3::new(0.0, 0.4, 0.1))];
    let point = |x: f64| SculptPoint {
        place: Vec3::new(x, 0.1, 0.2),
        area: 0.01,
        bone: 0,
        offset: Vec3::new(0.0, 0.02, 0.0),
    };
    let points = vec![point(0.2), point(0.4)];
    let sculpt = Sculpt::new(turns, vec!["upper".into()], points, 0.1).expect("a sculpt");
    let samples = vec![(0.0, 1.0, Sculpt::default()), (1.0, 1.0, sculpt)];
    Rig::sculpted("Sculpt", samples).expect("a rig")
}

/// Returns a muscle between two places on the brick's bone.
fn muscle_seed() -> Rig {
    let place = |along: f64| MusclePlace {
        bone: BoneRef::Index(0),
        values: [along, 0.3, 0.02],
    };
    let muscle = MuscleRig::new(place(0.2), place(0.8), [0.3, 0.1, 0.01]).expect("a muscle");
    let samples = muscle.full_samples();
    Rig::muscle("Muscle", muscle, samples).expect("a rig")
}

/// The first byte: which format; of TetGen's two files the first ends at a NUL.
pub fn tet_files(bytes: &[u8]) {
    let Some((&format, text)) = bytes.split_first() else {
        return;
    };
    let path = match format % 3 {
        0 => {
            let mut parts = text.splitn(2, |&b| b == 0);
            written("ele", parts.next().unwrap_or_default());
            written("node", parts.next().unwrap_or_default())
        }
        1 => written("mesh", text),
        _ => written("veg", text),
    };
    let mend = MeshRepairs {
        orient: format & 64 != 0,
        drop_unused: format & 128 != 0,
    };
    if let Ok(mesh) = TetMesh::read(&path, mend) {
        mesh.write(&path, WriteSettings::default())
            .expect("what was read can be written");
        let again = TetMesh::read(&path, MeshRepairs::default()).expect("and read again");
        assert_eq!(again.vertices(), mesh.vertices());
        assert_eq!(again.tets(), mesh.tets());
        use_mesh(&mesh);
    }
}

pub fn tet_seeds() -> Vec<Vec<u8>> {
    let bar = TetMesh::grid([2, 1, 1], [2.0, 1.0, 1.0]).expect("a bar");
    let text = |ending: &str| {
        let path = scratch(ending);
        bar.write(&path, WriteSettings::default())
            .expect("it can be written");
        std::fs::read(&path).expect("it is there")
    };
    let tetgen = [
        text("ele"),
        vec![0],
        std::fs::read(scratch("node")).expect("it is there"),
    ]
    .concat();
    let medit = b"MeshVersionFormatted 2\nDimension\n3\n# a comment\nVertices\n4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\nTetrahedra\n1\n1 2 3 4 7\nEnd\n";
    vec![
        [&[0], &tetgen[..]].concat(),
        [&[1], &text("mesh")[..]].concat(),
        [&[2 + 192], &text("veg")[..]].concat(),
        [&[1], &medit[..]].concat(),
    ]
}
