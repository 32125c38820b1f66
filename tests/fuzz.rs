// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes at every parser and entry point: the inputs of `fuzz/corpus`, and some hundreds made from them. `build.py fuzz`
//! runs the same for as long as wanted, guided by which branches an input takes.

#[path = "../fuzz/bakes.rs"]
mod bakes;
#[path = "../fuzz/borders.rs"]
mod borders;
#[path = "../fuzz/coverage.rs"]
mod coverage;
#[path = "../fuzz/driver.rs"]
mod driver;
#[path = "../fuzz/files.rs"]
mod files;
#[path = "../fuzz/forged.rs"]
mod forged;
#[path = "../fuzz/guard.rs"]
mod guard;
#[path = "../fuzz/keyed.rs"]
mod keyed;
#[path = "../fuzz/numbers.rs"]
mod numbers;
#[path = "../fuzz/shots.rs"]
mod shots;
#[path = "../fuzz/states.rs"]
mod states;
#[path = "../fuzz/stored.rs"]
mod stored;
#[path = "../fuzz/targets.rs"]
mod targets;

macro_rules! target_tests {
    ($($target:ident)*) => {
        $(
            #[test]
            fn $target() {
                driver::check(stringify!($target));
            }
        )*
        const NAMES: &[&str] = &[$(stringify!($target)),*];
    };
}

target_tests! { body_file clip_file shot_file stored_file state rig_file mrep_file forged_numbers forged_texts tet_files bake_files surface skeleton meshes enclose motion spacetime }

/// This file runs every target of the fuzzer.
#[test]
fn targets_match_list() {
    assert!(
        targets::TARGETS
            .iter()
            .map(|target| target.name)
            .eq(NAMES.iter().copied())
    );
}
