// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which branches of the crate an input took. `build.py fuzz` compiles the crate with a counter on every branch
//! (`-Cpasses=sancov-module`, which a stable compiler has); otherwise there are none, and nothing is ever new.

#[cfg(thew_coverage)]
mod counters {
    use std::sync::Mutex;

    static REGIONS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

    /// Called once for each compiled unit before `main`.
    // SAFETY: nobody else defines this symbol; it is the one that instrumented code asks for.
    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
        if let Ok(mut regions) = REGIONS.lock() {
            regions.push((start as usize, stop as usize));
        }
    }

    pub fn visit(mut each: impl FnMut(usize, &mut u8)) {
        let regions = REGIONS.lock().expect("nobody panics with it");
        let mut number = 0;
        for &(start, stop) in regions.iter() {
            for address in start..stop {
                // SAFETY: the bytes between are counters that live as long as the program; threads of the crate are at rest.
                each(number, unsafe { &mut *(address as *mut u8) });
                number += 1;
            }
        }
    }
}

/// Branches that were taken so far, and about how often.
#[derive(Default)]
pub struct Seen(Vec<u8>);

impl Seen {
    /// Forgets what ran before the next input.
    pub fn begin(&self) {
        #[cfg(thew_coverage)]
        counters::visit(|_, counter| *counter = 0);
    }

    /// Whether the input since `begin` took a branch, or took one so many more times, as none before.
    #[cfg_attr(not(thew_coverage), expect(unused_mut, reason = "nothing is counted"))]
    pub fn end(&mut self) -> bool {
        let mut new = false;
        #[cfg(thew_coverage)]
        counters::visit(|number, counter| {
            if self.0.len() <= number {
                self.0.resize(number + 1, 0);
            }
            let class = match *counter {
                0 => 0,
                1..=3 => 1 << (*counter - 1),
                4..=7 => 8,
                8..=31 => 16,
                32..=127 => 32,
                _ => 64,
            };
            new |= class & !self.0[number] != 0;
            self.0[number] |= class;
        });
        new
    }

    /// Number of branches that were taken.
    pub fn branches(&self) -> usize {
        self.0.iter().filter(|&&class| class != 0).count()
    }
}
