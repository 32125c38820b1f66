// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that refuses to wait for its own holder.
//!
//! Long work locks what it changes and meanwhile calls out: to a progress, and through it to arbitrary code. If that code
//! returned to the locked object, the thread would wait for itself for ever. Likewise a forked process would wait for a
//! thread that was working in its parent, and that it does not have.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Error of a lock whose wait would never end: the value is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// In use by the work that made this call.
    #[error(
        "the call from whose progress this one was made is still using it: wait until that one has returned"
    )]
    Nested,
    /// In use by a thread of the process that this one was forked from.
    #[error(
        "a thread of the parent was using it when this process was forked: make it again here, or start processes with 'spawn'"
    )]
    Forked,
}

/// A value for one thread at a time.
#[derive(Debug, Default)]
pub struct Exclusive<T> {
    /// Process and thread; zero while unlocked.
    owner: AtomicU64,
    value: Mutex<T>,
}

impl<T> Exclusive<T> {
    /// Creates an unlocked value.
    pub fn new(value: T) -> Self {
        Self {
            owner: AtomicU64::new(0),
            value: Mutex::new(value),
        }
    }

    /// Locks the value; waits for other threads of this process.
    ///
    /// # Errors
    /// [`LockError`] where waiting would not end.
    pub fn lock(&self) -> Result<ExclusiveGuard<'_, T>, LockError> {
        let (me, owner) = (owner_number(), self.owner.load(Ordering::Relaxed));
        if owner == me {
            return Err(LockError::Nested);
        }
        if owner != 0 && owner >> 32 != me >> 32 {
            return Err(LockError::Forked);
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(me, Ordering::Relaxed);
        Ok(ExclusiveGuard {
            owner: &self.owner,
            value,
        })
    }
}

/// Exclusive access to a value until this is dropped.
#[derive(Debug)]
pub struct ExclusiveGuard<'a, T> {
    owner: &'a AtomicU64,
    value: MutexGuard<'a, T>,
}

impl<T> Deref for ExclusiveGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ExclusiveGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for ExclusiveGuard<'_, T> {
    fn drop(&mut self) {
        // Before unlocking, or it would erase the next owner's mark.
        self.owner.store(0, Ordering::Relaxed);
    }
}

/// Returns this process and thread as one number that is not zero.
fn owner_number() -> u64 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    let thread = NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(COUNT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    });
    u64::from(process::id()) << 32 | u64::from(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A nested lock is refused on the same thread, and other threads wait.
    #[test]
    fn lock_refuses_nested_use() {
        let value = Exclusive::new(0);
        std::thread::scope(|scope| {
            let mut mine = value.lock().unwrap();
            assert_eq!(value.lock().unwrap_err(), LockError::Nested);
            let other = scope.spawn(|| *value.lock().unwrap());
            *mine = 1;
            drop(mine);
            assert_eq!(other.join().unwrap(), 1);
        });
        assert_eq!(*value.lock().unwrap(), 1);
    }

    /// A lock that another process holds is refused.
    #[test]
    fn lock_refuses_forked_owner() {
        let value = Exclusive::new(0);
        // The owner that a fork leaves: a thread of process 1.
        value.owner.store(1 << 32 | 1, Ordering::Relaxed);
        assert_eq!(value.lock().unwrap_err(), LockError::Forked);
    }

    /// A panic releases the lock.
    #[test]
    fn panic_releases_lock() {
        let value = Exclusive::new(0);
        let caught = std::panic::catch_unwind(|| {
            let _held = value.lock().unwrap();
            std::panic::resume_unwind(Box::new("as planned"));
        });
        assert!(caught.is_err());
        assert!(value.lock().is_ok());
    }
}
