// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts in files. bincode 2 allocates the declared length of a [`String`] before it reads it; a false length ends the process if
//! there is not enough memory. A sequence of bytes has the same format and allocates only what is read.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A [`String`] that is read byte by byte from binary files, and as a string from JSON.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer).map(Self);
        }
        let bytes = Vec::deserialize(deserializer)?;
        String::from_utf8(bytes).map(Self).map_err(D::Error::custom)
    }
}

/// Reads a field that is a [`Text`].
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text::deserialize(deserializer).map(|text| text.0)
}

/// Reads a field that is a list of [`Text`]s.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<Text>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

/// Reads a field that is a map of [`Text`]s by name.
pub(crate) fn named_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let texts = BTreeMap::<Text, Text>::deserialize(deserializer)?;
    Ok(texts
        .into_iter()
        .map(|(name, text)| (name.0, text.0))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::{decode_bytes, decode_stream};
    use super::*;
    use std::io::BufReader;

    /// A text decodes as a string, and one with a false length or without valid UTF-8 is refused.
    #[test]
    fn text_refuses_false_length() {
        let config = bincode::config::standard();
        let long = "ä bone".repeat(60);
        let bytes = bincode::serde::encode_to_vec(&long, config).unwrap();
        assert_eq!(decode_bytes::<Text>(&bytes).map(|text| text.0), Ok(long));
        let nearly_four_gigabytes = [252, 0, 0, 0, 0xff, b'x'];
        assert!(decode_bytes::<Text>(&nearly_four_gigabytes).is_err());
        assert!(decode_stream::<Text>(BufReader::new(&nearly_four_gigabytes[..])).is_err());
        assert!(decode_bytes::<Text>(&[1, 0xff]).is_err(), "no UTF-8");
    }
}
