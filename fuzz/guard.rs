// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on one input: seconds and bytes. Where one is passed the input is saved and the process ends, for nothing else
//! ends a computation that does not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Far more than any input of some kilobytes may take, on a busy machine too.
const SECONDS: u64 = 60;
/// Live bytes of the whole process.
const BYTES: usize = 2 << 30;

static RUNNING: Mutex<BTreeMap<&'static str, (Instant, Vec<u8>)>> = Mutex::new(BTreeMap::new());
static LIVE: AtomicUsize = AtomicUsize::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WATCHES: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged; counting touches no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE
            .fetch_add(layout.size(), Relaxed)
            .saturating_add(layout.size());
        if live > BYTES && !WATCHES.try_with(Cell::get).unwrap_or(true) {
            OVER.store(true, Relaxed);
            // The watchdog saves the input and ends the process.
            loop {
                std::thread::park_timeout(Duration::from_secs(1));
            }
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a target on an input, watched.
pub fn watched(target: &'static str, input: &[u8], run: impl FnOnce()) {
    static WATCHMAN: Once = Once::new();
    WATCHMAN.call_once(|| drop(std::thread::spawn(watch)));
    let begun = (Instant::now(), input.to_vec());
    RUNNING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(target, begun);
    run();
    RUNNING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(target);
}

fn watch() {
    WATCHES.set(true);
    loop {
        std::thread::park_timeout(Duration::from_millis(50));
        let over = OVER.load(Relaxed);
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let slow = |begun: &Instant| begun.elapsed() > Duration::from_secs(SECONDS);
        let guilty: Vec<_> = running
            .iter()
            .filter(|(_, (begun, _))| over || slow(begun))
            .collect();
        for (target, (_, input)) in &guilty {
            let what = if over {
                "takes too much memory"
            } else {
                "takes too long"
            };
            eprintln!("{target} {what}: {}", saved(target, input).display());
        }
        if !guilty.is_empty() || over {
            std::process::abort();
        }
    }
}

/// Keeps an input that broke something -> where.
pub fn saved(target: &str, input: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/fuzz-crashes");
    let _ = std::fs::create_dir_all(&folder);
    let path = folder.join(format!("{target}-{:08x}", crc32fast::hash(input)));
    let _ = std::fs::write(&path, input);
    path
}
