// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs made from the corpus: as they are, then mutated at random, for so many inputs or so many seconds.

use crate::coverage::Seen;
use crate::guard::{saved, watched};
use crate::targets::{TARGETS, Target};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest input that is generated, bytes.
const LONGEST: usize = 1 << 16;

/// Runs a target; panics with all that broke. THEW_FUZZ_SECONDS: for so long instead of for so many inputs;
/// THEW_FUZZ_SEED: another seed; THEW_FUZZ_KEEP: inputs that take new branches join the corpus.
pub fn check(name: &str) {
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target");
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (seconds, keep) = (
        number("THEW_FUZZ_SECONDS"),
        std::env::var_os("THEW_FUZZ_KEEP").is_some(),
    );
    let mut random = Random(
        0x9e37_79b9_7f4a_7c15
            ^ number("THEW_FUZZ_SEED")
                .unwrap_or(0)
                .wrapping_mul(0x2545_f491_4f6c_dd1d),
    );
    let mut corpus = (target.seeds)();
    corpus.extend(kept(target));
    let given = corpus.len();
    let (mut seen, mut broken, mut inputs) = (Seen::default(), BTreeMap::new(), 0);
    // Targets run side by side: each has enough with one thread.
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    let begun = Instant::now();
    for input in &corpus {
        try_one(target, &pool, input, &mut seen, &mut broken);
    }
    let enough = |inputs: usize| match seconds {
        Some(seconds) => begun.elapsed() > Duration::from_secs(seconds),
        None => inputs >= target.inputs,
    };
    while !enough(inputs) {
        let input = changed(&corpus, target.words, &mut random);
        inputs += 1;
        if try_one(target, &pool, &input, &mut seen, &mut broken) {
            if keep {
                let path = folder(target).join(format!("{:08x}", crc32fast::hash(&input)));
                std::fs::create_dir_all(folder(target))
                    .and_then(|()| std::fs::write(path, &input))
                    .expect("the corpus can be written");
            }
            corpus.push(input);
        }
    }
    println!(
        "{name}: {inputs} inputs in {:.0} s from {given} kept ones, {} branches, {} inputs took new ones, {} broke something",
        begun.elapsed().as_secs_f64(),
        seen.branches(),
        corpus.len() - given,
        broken.len()
    );
    assert!(
        broken.is_empty(),
        "{name} breaks:\n{}",
        broken.into_values().collect::<Vec<_>>().join("\n")
    );
}

fn folder(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target.name)
}

/// The inputs of the corpus, by name: the same order everywhere.
fn kept(target: &Target) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).expect("a kept input can be read"))
        .collect()
}

/// Whether the input took new branches.
fn try_one(
    target: &Target,
    pool: &ThreadPool,
    input: &[u8],
    seen: &mut Seen,
    broken: &mut BTreeMap<String, String>,
) -> bool {
    seen.begin();
    let mut outcome = Ok(());
    watched(target.name, input, || {
        outcome = catch_unwind(AssertUnwindSafe(|| pool.install(|| (target.run)(input))))
    });
    if let Err(panic) = outcome {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_default();
        // One of each kind is enough: numbers differ.
        let kind: String = text
            .chars()
            .filter(|c| c.is_alphabetic())
            .take(60)
            .collect();
        broken
            .entry(kind)
            .or_insert_with(|| format!("{text}\n  input: {}", saved(target.name, input).display()));
        return false;
    }
    seen.end()
}

/// An input of the corpus with up to eight mutations.
fn changed(corpus: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        let length = 1 + random.below(16.min(input.len() - at + 1));
        let end = (at + length).min(input.len());
        match random.below(9) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 if at < input.len() => {
                input[at] = [0, 1, 127, 128, 250, 251, 252, 253, 254, 255][random.below(10)]
            }
            3 => drop(input.drain(at..end)),
            4 => {
                let copy = input[at..end].to_vec();
                let to = random.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            5 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let part = &other[from..(from + 64).min(other.len())];
                input.splice(at..end, part.iter().copied());
            }
            6 => {
                let number = [
                    f64::NAN,
                    f64::INFINITY,
                    1e308,
                    -1e308,
                    1e150,
                    5e-324,
                    0.0,
                    -1.0,
                ][random.below(8)];
                let bytes = number.to_le_bytes();
                input.splice(at..(at + 8).min(input.len()), bytes);
            }
            7 if !words.is_empty() => {
                let word = words[random.below(words.len())];
                input.splice(at..end, word.bytes());
            }
            _ => input.insert(at, random.next() as u8),
        }
    }
    input.truncate(LONGEST);
    input
}

/// Marsaglia's xorshift: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
