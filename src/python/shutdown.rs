// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the interpreter while a daemon thread of it still works.
//!
//! Problem: work goes on without the interpreter, and reports its progress to it. Once the interpreter has ended, that reads memory which is
//! freed. Method: just before the end (Python's `atexit`) work is told to stop, as a progress callable can tell it, and waited for. Can fail:
//! work that does not report for longer than [`LONGEST_WAIT`] goes on.

use super::errors::cancelled_error;
use pyo3::prelude::*;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for which the end of the interpreter is delayed. Work reports many times a second, factorisations of large systems aside.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time between two looks at whether all work has ended.
const INTERVAL: Duration = Duration::from_millis(2);

static ENDING: AtomicBool = AtomicBool::new(false);
/// Number of calls at work, and the process that counted them: the threads of a parent do not exist in the child of a fork.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static COUNTED_IN: AtomicU32 = AtomicU32::new(0);

/// A call that works without the interpreter, for as long as it lives.
pub(super) struct WorkingCall(());

impl WorkingCall {
    /// Counts a call.
    ///
    /// # Errors
    /// `Cancelled` once the interpreter ends.
    pub fn begin() -> PyResult<Self> {
        if is_ending() {
            return Err(cancelled_error());
        }
        let here = process::id();
        if COUNTED_IN.swap(here, Ordering::SeqCst) != here {
            CALLS.store(0, Ordering::SeqCst);
        }
        CALLS.fetch_add(1, Ordering::SeqCst);
        Ok(Self(()))
    }
}

impl Drop for WorkingCall {
    fn drop(&mut self) {
        // A child that was forked within a call has counted anew.
        let fewer = |calls: usize| calls.checked_sub(1);
        let _ = CALLS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
    }
}

/// Returns whether the interpreter ends, so that work must stop and must not report to it any more.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Stops all work, and waits for its end.
#[pyfunction]
fn stop_work(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let begun = Instant::now();
        while COUNTED_IN.load(Ordering::SeqCst) == process::id()
            && CALLS.load(Ordering::SeqCst) > 0
            && begun.elapsed() < LONGEST_WAIT
        {
            thread::sleep(INTERVAL);
        }
    });
}

/// Lets the interpreter stop all work before it ends.
///
/// # Errors
/// Errors of Python's own.
pub(super) fn prepare(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let stop = wrap_pyfunction!(stop_work, m)?;
    m.py()
        .import("atexit")?
        .call_method1("register", (stop,))
        .map(drop)
}
