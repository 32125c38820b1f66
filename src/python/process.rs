// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work on other threads than that of the call: in processes that were forked, and with another number of threads than at first.
//!
//! A fork copies one thread. The threads that share work in the parent do not exist in the child, which would wait for them for ever. A
//! child's work therefore runs on threads of its own, while the calling thread waits and looks out for signals.

use super::errors::internal_error;
use crate::threads::{CallPool, pool_of_call};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Interval at which the calling thread looks out for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Id of the process that loaded the module; zero before.
static HOME_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Notes the process in which the module was loaded.
pub(super) fn record_home() {
    HOME_PROCESS.store(process::id(), Ordering::Relaxed);
}

/// Runs parallel work. While it runs on other threads, `watch` is called again and again on the thread of the call.
pub(super) fn run_parallel<T: Send>(
    work: impl FnOnce() -> PyResult<T> + Send,
    watch: impl Fn(),
) -> PyResult<T> {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let home = process::id() == HOME_PROCESS.load(Ordering::Relaxed);
    let call = pool_of_call(home).map_err(internal_error)?;
    let Some(pool) = call.as_ref().and_then(CallPool::pool) else {
        return work();
    };
    let (mut work, mut result) = (Some(work), None);
    run_on_pool(
        pool,
        &mut || result = work.take().map(|work| work()),
        &watch,
    );
    result.unwrap_or_else(|| Err(internal_error("a thread ended without a result".into())))
}

/// Runs work on the threads of a pool. It is not generic, so that one compiled copy serves all kinds of work.
fn run_on_pool(pool: &ThreadPool, work: &mut (dyn FnMut() + Send), watch: &dyn Fn()) {
    let (done, waiting) = sync_channel(1);
    pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            work();
            // The receiver below waits until this arrives.
            let _ = done.send(());
        });
        while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(SIGNAL_INTERVAL) {
            watch();
        }
    });
}
