// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers and texts of rig files.

use std::fmt::Write;

/// Writes each number with the fewest digits that restore it exactly.
pub(super) fn write_numbers(text: &mut String, names: &[&str], values: &[f64]) -> std::fmt::Result {
    let mut pairs = names.iter().zip(values);
    pairs.try_for_each(|(name, value)| writeln!(text, "{name} = {value:?}"))
}

/// Returns a text in quotes.
pub(super) fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}
