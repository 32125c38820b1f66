// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of contact is bounded by the nodes that it pushes.

#[path = "common/bar.rs"]
mod bar;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use thew::contact::Contact;
use thew::dynamics::{Simulation, SimulationSettings};
use thew::progress::Silent;
use thew::skeleton::FrameMotion;

/// Bytes that are allocated at present, and the most so far.
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

struct MeteringAllocator;

fn count(more: usize, fewer: usize) {
    LIVE_BYTES.fetch_sub(fewer, Ordering::Relaxed);
    let live = LIVE_BYTES.fetch_add(more, Ordering::Relaxed) + more;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the system's allocator unchanged; counting touches no memory of its.
unsafe impl GlobalAlloc for MeteringAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: MeteringAllocator = MeteringAllocator;

/// Returns the most bytes that a bar takes while it folds onto itself, on one thread, beyond those of the simulation before its first frame.
fn folding_bytes(contact: Option<&Contact>) -> usize {
    let body = bar::bar(4, 13);
    let settings = SimulationSettings::default();
    let mut simulation = Simulation::new(body.clone(), settings).unwrap();
    let prepared = contact.map(|contact| contact.prepare(&body, &Silent).unwrap());
    simulation.set_contact(prepared).unwrap();
    simulation.reset(&bar::pose(0.0), false, None).unwrap();
    let frames: Vec<FrameMotion> = (0..16)
        .map(|i: u32| {
            let pose = |i: u32| bar::pose(2.6 * f64::from(i.min(12)) / 12.0);
            FrameMotion::from_endpoints(body.skeleton(), &pose(i), &pose(i + 1)).unwrap()
        })
        .collect();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    alone.unwrap().install(|| {
        let before = LIVE_BYTES.load(Ordering::Relaxed);
        PEAK_BYTES.store(before, Ordering::Relaxed);
        for frame in &frames {
            simulation
                .advance_motion(frame, 1.0 / 24.0, (None, None), &Silent)
                .unwrap();
        }
        assert_eq!(contact.is_some(), simulation.contacts().len() > 100);
        PEAK_BYTES.load(Ordering::Relaxed) - before
    })
}

/// Contact takes 10.1 MB here at its peak. It took 11.1 when W was kept twice and the search listed the points of near cells.
#[test]
fn contact_memory_is_bounded() {
    let (with, without) = (
        folding_bytes(Some(&Contact::default())),
        folding_bytes(None),
    );
    let contact = with - without;
    assert!(contact < 10_600_000, "contact takes {contact} bytes");
}
