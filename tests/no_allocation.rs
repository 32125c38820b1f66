// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step of a simulation allocates nothing.

#[path = "common/bar.rs"]
mod bar;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use thew::Vec3;
use thew::contact::{Collider, ColliderMotion, Contact};
use thew::dynamics::{Method, Settings, Simulation};
use thew::progress::Silent;
use thew::skeleton::FrameMotion;
use thew::solve::newton::{Forces, Rounded};
use thew::solve::{Assembly, Configuration, EnergyTerm};
use thew::surface::Surface;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged; counting touches no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_step_allocates_nothing() {
    let body = bar::bar(4, 13);
    let mut simulation =
        Simulation::new(body.clone(), Method::Warped, Settings::default()).unwrap();
    simulation.reset(&bar::pose(0.0), true, None).unwrap();
    let motion = |i: u32| {
        let at = |i: u32| bar::pose(0.1 * f64::from(i));
        FrameMotion::between(body.skeleton(), &at(i), &at(i + 1)).unwrap()
    };
    let frames: Vec<FrameMotion> = (0..4).map(motion).collect();
    let forces = vec![thew::Vec3::new(0.1, 0.0, -0.2); body.nodes()];
    // The libraries underneath may set up scratch of theirs at first use.
    simulation
        .advance_motion(&frames[0], 1.0 / 24.0, (Some(&forces), None), &Silent)
        .unwrap();
    let before = COUNT.with(Cell::get);
    for frame in &frames[1..] {
        simulation
            .advance_motion(frame, 1.0 / 24.0, (Some(&forces), None), &Silent)
            .unwrap();
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0);
    // The counter counts.
    drop(std::hint::black_box(vec![0u8; 64]));
    assert_eq!(COUNT.with(Cell::get) - before, 1);
}

#[test]
fn a_step_that_may_touch_but_does_not_allocates_nothing() {
    let body = bar::bar(4, 13);
    let frames: Vec<FrameMotion> = (0..4)
        .map(|i: u32| {
            let at = |i: u32| bar::pose(0.1 * f64::from(i));
            FrameMotion::between(body.skeleton(), &at(i), &at(i + 1)).unwrap()
        })
        .collect();
    // A frame's search may allocate: with four times the steps it does not more often.
    let allocations = [240.0, 960.0].map(|rate| {
        let settings = Settings {
            rate,
            ..Settings::default()
        };
        let mut simulation = Simulation::new(body.clone(), Method::Warped, settings).unwrap();
        let contact = Contact::default().prepare(&body, &Silent).unwrap();
        simulation.set_contact(Some(contact)).unwrap();
        simulation.reset(&bar::pose(0.0), false, None).unwrap();
        let mut counts = frames.iter().map(|frame| {
            let before = COUNT.with(Cell::get);
            simulation
                .advance_motion(frame, 1.0 / 24.0, (None, None), &Silent)
                .unwrap();
            assert!(simulation.contacts().is_empty());
            COUNT.with(Cell::get) - before
        });
        // Scratch is made at first use.
        counts.next();
        counts.collect::<Vec<_>>()
    });
    assert_eq!(allocations[0], allocations[1]);
}

/// A term without energy that notes how many allocations there were whenever a step is proposed.
#[derive(Default)]
struct Watch(Mutex<Vec<usize>>);

impl EnergyTerm for Watch {
    fn add_value(&self, _: &Configuration, _: &mut Rounded) {}

    fn add_gradient(&self, _: &Configuration, _: &mut [Vec3]) -> Forces {
        Forces::default()
    }

    fn add_hessian(&self, _: &Configuration, _: bool, _: &mut Assembly) {
        self.0.lock().unwrap().push(COUNT.with(Cell::get));
    }

    fn add_product(&self, _: &Configuration, _: bool, _: &[Vec3], _: &mut [Vec3]) {}

    fn visit_pairs(&self, _: &mut dyn FnMut(usize, usize)) {}
}

/// Flesh that is held at a pose until it rests on what it touches.
fn held(name: &str, contact: &Contact, angle: f64, elastic_joints: f64) {
    let body = bar::bar(4, 13);
    let settings = Settings {
        elastic_joints,
        ..Settings::default()
    };
    let mut simulation = Simulation::new(body.clone(), Method::Hyperelastic, settings).unwrap();
    let contact = contact.prepare(&body, &Silent).unwrap();
    simulation.set_contact(Some(contact)).unwrap();
    let watch = Arc::new(Watch(Mutex::new(Vec::with_capacity(1000))));
    simulation.set_terms(vec![watch.clone()]).unwrap();
    simulation.reset(&bar::pose(0.0), false, None).unwrap();
    let motion = |from: f64, to: f64| {
        FrameMotion::between(body.skeleton(), &bar::pose(from), &bar::pose(to)).unwrap()
    };
    const BENT: u32 = 12;
    let at = |i: u32| angle * f64::from(i.min(BENT)) / f64::from(BENT);
    for i in 0..BENT + 8 {
        watch.0.lock().unwrap().clear();
        let frame = motion(at(i), at(i + 1));
        simulation
            .advance_motion(&frame, 1.0 / 24.0, (None, None), &Silent)
            .unwrap();
    }
    let pushing = simulation
        .contacts()
        .iter()
        .filter(|c| c.force.norm() > 0.0);
    assert!(pushing.count() > 0, "{name}");
    assert_eq!(
        elastic_joints < 1.0,
        !simulation.folds().is_empty(),
        "{name}"
    );
    // What a step touches first takes memory: those that follow do not.
    let counts = watch.0.lock().unwrap();
    let more: Vec<usize> = counts.windows(2).map(|c| c[1] - c[0]).collect();
    assert!(more.len() > 8, "{name}");
    assert!(more[1..].iter().all(|&n| n == 0), "{name} {more:?}");
}

#[test]
fn a_step_that_touches_what_the_one_before_touched_allocates_nothing() {
    held("itself", &Contact::default(), 2.6, 1.0);
    held("folds", &Contact::default(), 2.9, 0.0);
    let floor = Collider::plane(Vec3::new(0.0, -0.15, 0.0), Vec3::y()).unwrap();
    let sides = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let sheet = |y: f64| sides.map(|[x, z]| Vec3::new(x, y, z)).to_vec();
    let surface = Surface::new(sheet(0.15), vec![[0, 1, 2], [0, 2, 3]]).unwrap();
    let places = (0..3).map(|_| sheet(0.15)).collect();
    let motion = ColliderMotion::Deforming(places);
    let roof = Collider::mesh(Arc::new(surface), motion).unwrap();
    for (name, collider) in [("floor", floor), ("roof", roof)] {
        let contact = Contact {
            colliders: vec![Arc::new(collider)],
            ..Contact::with_others()
        };
        held(name, &contact, 0.2, 1.0);
    }
}
