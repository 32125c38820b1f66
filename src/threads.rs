// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that share the parallel work of a call of the bindings: their number, and the pools of them.
//!
//! The first work starts the process's own threads, with the number known by then, and the calling thread takes part in it. If another number is set
//! later, each call runs on a pool of that many threads while its thread waits. Calls of several threads get pools of their own: a thread of one
//! that took up another's work would meet locks of its own. Results have the same bits with any number.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::available_parallelism;

/// Permitted numbers of threads.
pub(crate) const COUNTS: RangeInclusive<usize> = 1..=1024;
/// Variable of the environment with the number of threads.
pub(crate) const VARIABLE: &str = "THEW_THREADS";

/// Number set by a call; 0: none.
static SET: AtomicUsize = AtomicUsize::new(0);
/// Number in the environment, or the text there that is none.
static ENVIRONMENT: OnceLock<Result<Option<usize>, String>> = OnceLock::new();
/// Number of the process's own threads, once they run.
static OWN: OnceLock<usize> = OnceLock::new();
/// Pools without work, with the process that they belong to. Nobody waits for this lock: a fork may leave it locked for ever.
static IDLE: Mutex<Vec<(u32, ThreadPool)>> = Mutex::new(Vec::new());

/// Locks the idle pools; `None` where another thread does.
fn lock_idle() -> Option<MutexGuard<'static, Vec<(u32, ThreadPool)>>> {
    match IDLE.try_lock() {
        Ok(idle) => Some(idle),
        Err(TryLockError::Poisoned(idle)) => Some(idle.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns the number of threads of the next work.
pub(crate) fn current_count() -> usize {
    let in_environment = ENVIRONMENT.get_or_init(read_environment).as_ref();
    match SET.load(Ordering::Relaxed) {
        0 => in_environment
            .ok()
            .copied()
            .flatten()
            .unwrap_or_else(usual_count),
        count => count,
    }
}

fn read_environment() -> Result<Option<usize>, String> {
    let text = std::env::var_os(VARIABLE).unwrap_or_default();
    let text = text.to_string_lossy();
    parse_count(&text).map_err(|()| text.into_owned())
}

/// Drops idle pools of other numbers. Pools of a parent process are left alone, as their threads do not exist in this one.
fn drop_other_pools(idle: &mut Vec<(u32, ThreadPool)>) {
    let (me, count) = (std::process::id(), current_count());
    for (process, pool) in std::mem::take(idle) {
        if process != me {
            std::mem::forget(pool);
        } else if pool.current_num_threads() == count {
            idle.push((process, pool));
        }
    }
}

/// Returns the number of threads without any choice: that of `RAYON_NUM_THREADS`, else one a processor.
fn usual_count() -> usize {
    static USUAL: OnceLock<usize> = OnceLock::new();
    let read = || {
        let given = std::env::var("RAYON_NUM_THREADS").ok();
        let given = given.and_then(|text| text.parse().ok());
        let processors = || available_parallelism().map_or(1, usize::from);
        given
            .filter(|count| COUNTS.contains(count))
            .unwrap_or_else(processors)
    };
    *USUAL.get_or_init(read)
}

/// Reads a number of threads in the environment; `Err` for a text that is none.
fn parse_count(text: &str) -> Result<Option<usize>, ()> {
    match text.trim() {
        "" => Ok(None),
        text => match text.parse() {
            Ok(count) if COUNTS.contains(&count) => Ok(Some(count)),
            _ => Err(()),
        },
    }
}

/// A pool that serves one call, and is idle again afterwards.
pub(crate) struct CallPool {
    process: u32,
    pool: Option<ThreadPool>,
}

impl CallPool {
    /// Borrows the pool; it is there until the drop.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        self.pool.as_ref()
    }
}

impl Drop for CallPool {
    fn drop(&mut self) {
        if let (Some(pool), Some(mut idle)) = (self.pool.take(), lock_idle()) {
            idle.push((self.process, pool));
            drop_other_pools(&mut idle);
        }
    }
}

/// Returns the pool for a call; `None`: it runs where it is, with the process's own threads. `home` tells whether these exist: they do not in a
/// process that was forked.
pub(crate) fn pool_of_call(home: bool) -> Result<Option<CallPool>, String> {
    let count = current_count();
    let start = || {
        // It fails only where they run already.
        let _ = pool_builder(count).build_global();
        rayon::current_num_threads()
    };
    if home && *OWN.get_or_init(start) == count {
        return Ok(None);
    }
    let me = std::process::id();
    let known = lock_idle().and_then(|mut idle| {
        drop_other_pools(&mut idle);
        let at = idle.iter().position(|(process, _)| *process == me)?;
        Some(idle.swap_remove(at).1)
    });
    let pool = match known {
        Some(pool) => pool,
        None => pool_builder(count).build().map_err(|e| e.to_string())?,
    };
    Ok(Some(CallPool {
        process: me,
        pool: Some(pool),
    }))
}

/// Sets the number of threads of the next work, in [`COUNTS`]; `None`: that of the environment, or the usual one.
pub(crate) fn set_count(count: Option<usize>) {
    SET.store(count.unwrap_or(0), Ordering::Relaxed);
    if let Some(mut idle) = lock_idle() {
        drop_other_pools(&mut idle);
    }
}

/// Returns the text in the environment that is no number of threads and is therefore ignored.
pub(crate) fn ignored_text() -> Option<&'static str> {
    let read = ENVIRONMENT.get_or_init(read_environment);
    read.as_ref().err().map(String::as_str)
}

/// Returns the builder of a pool whose threads have as much stack as a main thread, for the serial parts of the work too.
fn pool_builder(count: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(count)
        .stack_size(8 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts in the environment are numbers of threads, absent or refused.
    #[test]
    fn parse_count_refuses_nonsense() {
        for (text, count) in [("3", Some(3)), (" 12 ", Some(12)), ("", None), ("  ", None)] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in [
            "0",
            "-1",
            "two",
            "1.5",
            "1e3",
            "1025",
            "99999999999999999999",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }

    /// Pools are used again, in any number at a time, and those of another number are dropped.
    #[test]
    fn pools_follow_the_number() {
        let sizes = |count| {
            set_count(Some(count));
            let both = [pool_of_call(false).unwrap(), pool_of_call(false).unwrap()];
            both.map(|call| {
                let call = call.expect("a pool");
                let pool = call.pool().expect("it is there until the drop");
                pool.install(rayon::current_num_threads)
            })
        };
        assert_eq!(sizes(2), [2, 2]);
        assert_eq!(sizes(3), [3, 3]);
        assert_eq!(sizes(1), [1, 1]);
        let idle = lock_idle().unwrap();
        assert!(!idle.is_empty() && idle.iter().all(|(_, pool)| pool.current_num_threads() == 1));
        set_count(None);
        assert!(ignored_text().is_none());
        assert!(COUNTS.contains(&current_count()));
    }
}
