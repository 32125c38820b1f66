// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work in processes that were forked.
//!
//! A fork copies one thread. The threads that share work in the parent do not exist in the child, which would wait for them for ever. A
//! child's work therefore runs on threads of its own, while the calling thread waits and looks out for signals.

use super::errors::internal_error;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval at which the calling thread looks out for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Id of the process that loaded the module; zero before.
static HOME_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Notes the process in which the module was loaded.
pub(super) fn record_home() {
    HOME_PROCESS.store(process::id(), Ordering::Relaxed);
}

/// Runs parallel work. In a forked child `watch` is called again and again meanwhile, on the thread of the call.
pub(super) fn run_parallel<T: Send>(
    work: impl FnOnce() -> PyResult<T> + Send,
    watch: impl Fn(),
) -> PyResult<T> {
    let home = process::id() == HOME_PROCESS.load(Ordering::Relaxed);
    if home || rayon::current_thread_index().is_some() {
        return work();
    }
    let (mut work, mut result) = (Some(work), None);
    run_on_pool(&mut || result = work.take().map(|work| work()), &watch)?;
    result.unwrap_or_else(|| Err(internal_error("a thread ended without a result".into())))
}

/// Runs work on the process's own threads. It is not generic, so that one compiled copy serves all kinds of work.
fn run_on_pool(work: &mut (dyn FnMut() + Send), watch: &dyn Fn()) -> PyResult<()> {
    let pool = process_pool().map_err(internal_error)?;
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
    Ok(())
}

/// Returns the threads of this process.
fn process_pool() -> Result<&'static ThreadPool, String> {
    static POOLS: Mutex<Vec<(u32, &'static ThreadPool)>> = Mutex::new(Vec::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let me = process::id();
    if let Some((_, pool)) = pools.iter().find(|(process, _)| *process == me) {
        return Ok(pool);
    }
    let pool = ThreadPoolBuilder::new().build();
    // Never dropped: a child of this process would end threads that it does not have.
    let pool: &'static ThreadPool = Box::leak(Box::new(pool.map_err(|e| e.to_string())?));
    pools.push((me, pool));
    Ok(pool)
}
