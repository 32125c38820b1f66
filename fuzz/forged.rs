// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole files in which some numbers are others: huge ones, infinite ones, none. Mutations of bytes seldom hit all eight of a
//! number, and behind the sum of a file hardly ever.

use crate::files;
use crate::numbers::{Bytes, NASTY};
use std::sync::OnceLock;

/// Readers of files, and sound files for each.
type Kind = (fn(&[u8]), fn() -> Vec<Vec<u8>>);

const BINARY: [Kind; 3] = [
    (files::body_file, files::body_seeds),
    (files::clip_file, files::clip_seeds),
    (files::shot_file, files::shot_seeds),
];

/// Words that are put where a number stood in a text.
const WORDS: [&str; 12] = [
    "inf",
    "-inf",
    "nan",
    "1e308",
    "-1e308",
    "1e200",
    "1e-320",
    "0.0",
    "-1.0",
    "1e12",
    "4294967296",
    "1e50",
];

/// Sound files of every kind, made once; only those with their content behind a header that fits it.
fn sound() -> &'static [Vec<Vec<u8>>] {
    static SOUND: OnceLock<Vec<Vec<Vec<u8>>>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let whole = |seeds: Vec<Vec<u8>>| seeds.into_iter().filter(|seed| seed[0] != 0).collect();
        BINARY.iter().map(|(_, seeds)| whole(seeds())).collect()
    })
}

/// Bodies, clips and shots with up to three numbers replaced.
pub fn forged_numbers(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let kind = bytes.up_to(BINARY.len() - 1);
    let files = &sound()[kind];
    let mut file = files[bytes.up_to(files.len() - 1)].clone();
    for _ in 0..=bytes.up_to(2) {
        let place = usize::from(bytes.byte()) << 16
            | usize::from(bytes.byte()) << 8
            | usize::from(bytes.byte());
        let at = 1 + place % (file.len() - 9);
        let number = match bytes.byte() {
            // Half of them as large as a file may hold, which pass the first look.
            byte if byte < 128 => 10f64.powi(i32::from(byte) - 64),
            byte => NASTY[usize::from(byte) % NASTY.len()],
        };
        file[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    BINARY[kind].0(&file);
}

/// Models and rigs with up to three numbers of their text replaced.
pub fn forged_texts(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (run, seeds): Kind = match bytes.up_to(1) {
        0 => (files::mrep_file, files::mrep_seeds),
        _ => (files::rig_file, files::rig_seeds),
    };
    let seeds = seeds();
    let text = String::from_utf8_lossy(&seeds[bytes.up_to(seeds.len() - 1)]).into_owned();
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    // Words of text and numbers between what is neither.
    let mut parts: Vec<String> = Vec::new();
    let mut was = None;
    for c in text.chars() {
        let is = is_part(c);
        if was != Some(is) {
            parts.push(String::new());
            was = Some(is);
        }
        parts.last_mut().expect("one was begun").push(c);
    }
    let numbers: Vec<usize> = (0..parts.len())
        .filter(|&i| parts[i].parse::<f64>().is_ok())
        .collect();
    for _ in 0..=bytes.up_to(2) {
        let at = usize::from(bytes.byte()) << 8 | usize::from(bytes.byte());
        parts[numbers[at % numbers.len()]] = WORDS[bytes.up_to(WORDS.len() - 1)].into();
    }
    run(parts.concat().as_bytes());
}
