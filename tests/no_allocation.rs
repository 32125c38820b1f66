// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step of a simulation allocates nothing.

#[path = "common/bar.rs"]
mod bar;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use thew::Vec3;
use thew::contact::{Collider, ColliderMotion, Contact};
use thew::dynamics::{Method, Simulation, SimulationSettings};
use thew::progress::Silent;
use thew::skeleton::FrameMotion;
use thew::solve::newton::{ForceMagnitude, RoundedSum};
use thew::solve::{Assembly, Configuration, EnergyTerm};
use thew::surface::Surface;

thread_local! {
    static ALLOCATION_COUNT: Cell<usize> = const { Cell::new(0) };
}

struct CountingAllocator;

// SAFETY: everything is passed on to the system's allocator unchanged; counting touches no memory of its.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATION_COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Counts the allocations of three frames of a method, after one that sets up its scratch, on one thread.
fn count_allocations(method: Method) -> usize {
    let body = bar::bar(4, 13);
    let settings = SimulationSettings::for_method(method);
    let mut simulation = Simulation::new(body.clone(), settings).unwrap();
    simulation.reset(&bar::pose(0.0), true, None).unwrap();
    let motion = |i: u32| {
        let at = |i: u32| bar::pose(0.1 * f64::from(i));
        FrameMotion::from_endpoints(body.skeleton(), &at(i), &at(i + 1)).unwrap()
    };
    let frames: Vec<FrameMotion> = (0..4).map(motion).collect();
    let forces = vec![thew::Vec3::new(0.1, 0.0, -0.2); body.node_count()];
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    alone.unwrap().install(|| {
        let mut before = 0;
        for (i, frame) in frames.iter().enumerate() {
            simulation
                .advance_motion(frame, 1.0 / 24.0, (Some(&forces), None), &Silent)
                .unwrap();
            // The libraries underneath may set up scratch of theirs at first use.
            if i == 0 {
                before = ALLOCATION_COUNT.with(Cell::get);
            }
        }
        ALLOCATION_COUNT.with(Cell::get) - before
    })
}

#[test]
fn step_allocates_nothing() {
    for method in [Method::Warped, Method::BlendedPrinted, Method::Linearised] {
        assert_eq!(count_allocations(method), 0, "{method:?}");
    }
    // The counter counts.
    let before = ALLOCATION_COUNT.with(Cell::get);
    drop(std::hint::black_box(vec![0u8; 64]));
    assert_eq!(ALLOCATION_COUNT.with(Cell::get) - before, 1);
}

/// A term without energy that notes how many allocations there were whenever a step is proposed.
#[derive(Default)]
struct AllocationWatch(Mutex<Vec<usize>>);

impl EnergyTerm for AllocationWatch {
    fn add_value(&self, _: &Configuration, _: &mut RoundedSum) {}

    fn add_gradient(&self, _: &Configuration, _: &mut [Vec3]) -> ForceMagnitude {
        ForceMagnitude::default()
    }

    fn add_hessian(&self, _: &Configuration, _: bool, _: &mut Assembly) {
        self.0
            .lock()
            .unwrap()
            .push(ALLOCATION_COUNT.with(Cell::get));
    }

    fn add_product(&self, _: &Configuration, _: bool, _: &[Vec3], _: &mut [Vec3]) {}

    fn visit_pairs(&self, _: &mut dyn FnMut(usize, usize)) {}
}

/// Counts the allocations of each step of the last frame except the first step, in which the contacts of the frame
/// are searched. The flesh is bent by an angle over some frames and held for as many more, on one thread.
fn allocations_per_step(
    simulation: &mut Simulation,
    contact: &Contact,
    (angle, bent, still): (f64, u32, u32),
) -> Vec<usize> {
    let body = simulation.body().clone();
    let contact = contact.prepare(&body, &Silent).unwrap();
    simulation.set_contact(Some(contact)).unwrap();
    let watch = Arc::new(AllocationWatch(Mutex::new(Vec::with_capacity(1000))));
    simulation.set_terms(vec![watch.clone()]).unwrap();
    simulation.reset(&bar::pose(0.0), false, None).unwrap();
    let pose = |i: u32| bar::pose(angle * f64::from(i.min(bent)) / f64::from(bent));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    alone.unwrap().install(|| {
        for i in 0..bent + still {
            watch.0.lock().unwrap().clear();
            let frame =
                FrameMotion::from_endpoints(body.skeleton(), &pose(i), &pose(i + 1)).unwrap();
            simulation
                .advance_motion(&frame, 1.0 / 24.0, (None, None), &Silent)
                .unwrap();
        }
    });
    let counts = watch.0.lock().unwrap();
    assert!(counts.len() > 9);
    counts.windows(2).skip(1).map(|c| c[1] - c[0]).collect()
}

fn bar_simulation(elastic_joints: f64) -> Simulation {
    let settings = SimulationSettings {
        elastic_joints,
        ..SimulationSettings::default()
    };
    Simulation::new(bar::bar(4, 13), settings).unwrap()
}

/// A step with contact enabled but without contacts allocates nothing.
#[test]
fn contactless_step_allocates_nothing() {
    let mut simulation = bar_simulation(1.0);
    let counts = allocations_per_step(&mut simulation, &Contact::default(), (0.4, 4, 0));
    assert!(simulation.contacts().is_empty());
    assert!(counts.iter().all(|&n| n == 0), "{counts:?}");
}

/// A step whose contacts existed in the step before allocates nothing. New contacts take memory, so the flesh is at rest
/// here.
#[test]
fn lasting_contact_allocates_nothing() {
    let floor = Collider::plane(Vec3::new(0.0, -0.15, 0.0), Vec3::y()).unwrap();
    let sides = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let corners = sides.map(|[x, z]| Vec3::new(x, 0.15, z)).to_vec();
    let surface = Surface::new(corners.clone(), vec![[0, 1, 2], [0, 2, 3]]).unwrap();
    let motion = ColliderMotion::Deforming(vec![corners; 3]);
    let roof = Collider::mesh(Arc::new(surface), motion).unwrap();
    let others = |collider| Contact {
        colliders: vec![Arc::new(collider)],
        ..Contact::with_others()
    };
    for (name, contact, angle, joints) in [
        ("itself", Contact::default(), 2.6, 1.0),
        ("folds", Contact::default(), 2.9, 0.0),
        ("floor", others(floor), 0.2, 1.0),
        ("roof", others(roof), 0.2, 1.0),
    ] {
        let mut simulation = bar_simulation(joints);
        let counts = allocations_per_step(&mut simulation, &contact, (angle, 12, 28));
        let mut contacts = simulation.contacts().iter();
        assert!(contacts.any(|c| c.force.norm() > 0.0), "{name}");
        let folds = matches!(name, "itself" | "folds");
        assert_eq!(folds, !simulation.folds().is_empty(), "{name}");
        assert!(counts.iter().all(|&n| n == 0), "{name} {counts:?}");
    }
}
