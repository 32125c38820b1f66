// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parser: files of bodies, clips and shots, states, rig files, files of tetrahedral meshes.

use crate::numbers::finite;
use crate::targets::{brick, use_body, use_mesh};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use thew::Vec3;
use thew::clip::{Clip, ClipSettings};
use thew::contact::{Collider, ColliderMotion, Contact};
use thew::dynamics::{Method, Scene, Settings, Simulation};
use thew::present::{CarriedSurfaces, SurfaceId};
use thew::progress::Silent;
use thew::rig::{self, BoneRef, Guide, Rig, Sample, Template, TemplateKind};
use thew::shot::{Shot, ShotModes};
use thew::skeleton::{Affine, Pose};
use thew::store;
use thew::tets::{Mend, TetMesh, WriteOptions};

/// A file of this thread with such an ending, the same for TetGen's two.
fn scratch(ending: &str) -> PathBuf {
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

fn written(ending: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(ending);
    std::fs::write(&path, bytes).expect("the scratch folder can be written to");
    path
}

/// The first byte: 0 a whole file, else content behind a header that fits it, so that mutations reach what is behind the sum.
fn file_of(kind: &str, bytes: &[u8]) -> Option<Vec<u8>> {
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
fn seeds_of(path: &Path) -> Vec<Vec<u8>> {
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

/// A shot of two frames.
fn shot(method: Method) -> Shot {
    let settings = ClipSettings {
        fps: 120.0,
        method,
        simulation: Settings::default(),
        preroll: 0,
        cyclic: false,
    };
    let mut shot = Shot::new(brick().clone(), vec![Pose::rest(2); 2], settings);
    shot.modes = match method {
        Method::Modal => ShotModes::Lowest(2),
        _ => ShotModes::Usual,
    };
    if method.touches() {
        let vertices = brick().surface().vertices().len();
        shot.contact = Some(Contact {
            regions: Some(vec![1; vertices].into()),
            ..Contact::default()
        });
    }
    shot
}

/// A floor that the brick lies in, and below it a mesh that is carried and one that deforms.
fn colliders() -> Vec<Arc<Collider>> {
    let surface = brick().surface();
    let lowered = |by: f64| Affine {
        translation: Vec3::new(0.0, 0.0, by),
        ..Affine::identity()
    };
    let carried = ColliderMotion::Carried(vec![lowered(-0.19), lowered(-0.18)]);
    let places = |by: f64| {
        surface
            .vertices()
            .iter()
            .map(move |&x| lowered(by).apply(x))
    };
    let deforming = [-0.19, -0.17].map(|by| places(by).collect()).to_vec();
    let mesh = |motion| Collider::mesh(surface.clone(), motion);
    let all = [
        Collider::plane(Vec3::new(0.0, 0.0, -0.09), Vec3::z()),
        mesh(carried).and_then(|c| c.with(Some(0.1), 0.01)),
        mesh(ColliderMotion::Deforming(deforming)),
    ];
    all.map(|c| Arc::new(c.expect("a collider"))).to_vec()
}

/// The lower bone turned back onto the upper one.
fn folded() -> Pose {
    let (elbow, turn) = (
        Vec3::new(0.5, 0.0, 0.0),
        nalgebra::Rotation3::from_axis_angle(&Vec3::y_axis(), -2.6),
    );
    let lower = Affine {
        linear: turn.into_inner(),
        translation: elbow - turn * elbow,
    };
    Pose::new(vec![Affine::identity(), lower]).expect("two bones")
}

/// A shot of flesh that folds, and lies in what it collides with.
fn touching() -> Shot {
    let mut shot = shot(Method::Hyperelastic);
    shot.name = "brick".into();
    shot.settings.simulation.elastic_joints = 0.0;
    shot.poses = vec![folded(); 2];
    let contact = shot.contact.take().unwrap_or_default();
    shot.contact = Some(Contact {
        colliders: colliders(),
        ..contact
    });
    shot
}

/// Two that lie in each other.
fn scene() -> [Shot; 2] {
    let aside = Affine {
        translation: Vec3::new(0.0, 0.15, 0.0),
        ..Affine::identity()
    };
    let mut other = touching();
    other.poses = vec![folded().moved(&aside); 2];
    [touching(), other]
}

fn clips_of_scene() -> Vec<Clip> {
    let [one, other] = scene();
    let clips = Shot::simulate_together(&[&one, &other], &Silent).expect("clips");
    clips.into_iter().map(|(clip, _)| clip).collect()
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
    let settings = shot.settings;
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

/// What states of a kind are of: the usual method, the modal one, flesh that folds and touches.
fn simulation(kind: u8) -> Simulation {
    let method = match kind {
        1 => Method::Modal,
        _ => Method::Hyperelastic,
    };
    let shot = touching();
    let settings = match kind {
        2 => shot.settings.simulation,
        _ => Settings::default(),
    };
    let made = Simulation::new(brick().clone(), method, settings);
    let mut simulation = made.expect("settings by default");
    if let (2, Some(contact)) = (kind, &shot.contact) {
        let ready = contact.prepare(brick(), &Silent).expect("contact");
        let touching = simulation.set_contact(Some(ready));
        touching.expect("contact of this body");
    }
    simulation
}

/// Two bodies that touch, and colliders.
fn bodies() -> Scene {
    let member = |shot: Shot| {
        let (settings, contact) = (shot.settings.simulation, shot.contact.unwrap_or_default());
        let simulation = Simulation::new(brick().clone(), Method::Hyperelastic, settings);
        let ready = contact.prepare(brick(), &Silent);
        (simulation.expect("settings"), ready.expect("contact"))
    };
    Scene::new(scene().map(member).into()).expect("a scene")
}

/// The first byte: a kind of [`simulation`], or 3, a scene.
pub fn state(bytes: &[u8]) {
    const STEP: f64 = 1.0 / 240.0;
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let rest = Pose::rest(2);
    if kind == 3 {
        let mut scene = bodies();
        if scene.restore(bytes).is_ok() {
            let free = [(None, None); 2];
            let poses = [rest.clone(), rest];
            let _ = scene.advance(&poses, STEP, &free, &Silent);
            for body in scene.bodies() {
                finite("lattice vertex of a scene", body.lattice_positions());
            }
        }
        return;
    }
    let mut simulation = simulation(kind.min(2));
    if simulation.restore(bytes).is_ok() {
        finite("restored vertex", simulation.lattice_positions());
        if simulation.advance(&rest, STEP, None, None).is_ok() {
            finite("lattice vertex", simulation.lattice_positions());
        }
    }
}

pub fn state_seeds() -> Vec<Vec<u8>> {
    const STEP: f64 = 1.0 / 240.0;
    let pose = folded();
    let seed = |kind: u8| {
        let mut simulation = simulation(kind);
        simulation.reset(&pose, true, None).expect("a pose");
        simulation.advance(&pose, STEP, None, None).expect("a step");
        [&[kind], &simulation.state()[..]].concat()
    };
    let mut scene = bodies();
    let poses = scene_poses();
    scene
        .reset(&poses, true, &[None; 2], &Silent)
        .expect("poses");
    scene
        .advance(&poses, STEP, &[(None, None); 2], &Silent)
        .expect("a step");
    let mut seeds = [0, 1, 2].map(seed).to_vec();
    seeds.push([&[3], &scene.state()[..]].concat());
    seeds
}

fn scene_poses() -> [Pose; 2] {
    scene().map(|shot| shot.poses[0].clone())
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

pub fn rig_seeds() -> Vec<Vec<u8>> {
    let guides = [
        Guide::bone(BoneRef::Name("upper".into()), [0.5, 0.1, 0.02, 0.3]),
        Guide::skin(3, [0.2, 0.3, 0.5], [0.05, 0.1, 0.2]),
        Guide::free(rig::GuideFrame::identity(), [0.3, 0.0, 0.0, 0.1, 0.2, 0.3]),
    ];
    let kinds = [
        (TemplateKind::Bump, vec![0.2, 1e4]),
        (TemplateKind::Torus, vec![0.1, 0.05, 1e4]),
        (TemplateKind::Bulge, vec![0.1, -1e4]),
    ];
    let rigs: Vec<Rig> = guides
        .into_iter()
        .zip(kinds)
        .map(|(guide, (kind, values))| {
            let template = Template::new(kind, &values).expect("a template");
            let rig =
                Rig::new("Seed", template, guide.expect("a guide"), Vec::new()).expect("a rig");
            let samples = [0.0, 1.0].map(|control| Sample {
                control,
                parameters: rig.own_parameters(),
            });
            Rig::new(
                "Seed",
                *rig.template(),
                rig.guide().clone(),
                samples.to_vec(),
            )
            .expect("a rig")
        })
        .collect();
    let path = scratch("seed");
    rig::save(&path, &rigs, None, &Silent).expect("it can be saved");
    rig::save(&scratch("seed2"), &rigs[..1], Some(brick()), &Silent).expect("it can be saved");
    vec![
        std::fs::read(&path).expect("it is there"),
        std::fs::read(scratch("seed2")).expect("it is there"),
    ]
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
    let mend = Mend {
        orient: format & 64 != 0,
        drop_unused: format & 128 != 0,
    };
    if let Ok(mesh) = TetMesh::read(&path, mend) {
        mesh.write(&path, WriteOptions::default())
            .expect("what was read can be written");
        let again = TetMesh::read(&path, Mend::default()).expect("and read again");
        assert_eq!(again.vertices(), mesh.vertices());
        assert_eq!(again.tets(), mesh.tets());
        use_mesh(&mesh);
    }
}

pub fn tet_seeds() -> Vec<Vec<u8>> {
    let bar = TetMesh::grid([2, 1, 1], [2.0, 1.0, 1.0]).expect("a bar");
    let text = |ending: &str| {
        let path = scratch(ending);
        bar.write(&path, WriteOptions::default())
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
