// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step of a simulation allocates nothing.

#[path = "common/bar.rs"]
mod bar;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use thew::contact::Contact;
use thew::dynamics::{Method, Settings, Simulation};
use thew::progress::Silent;
use thew::skeleton::FrameMotion;

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
