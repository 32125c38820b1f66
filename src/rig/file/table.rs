// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a TOML file whose errors name file, line and key.

use crate::Mat4;
use crate::disk::line_of;
use crate::rig::{BoneRef, GuideFrame, RigError, Spec};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn parse_integer(digits: &toml::de::DeInteger) -> Option<i64> {
    i64::from_str_radix(digits.as_str(), digits.radix()).ok()
}

/// Text and name of a file, for the positions of errors.
pub(super) struct RigFileText<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl RigFileText<'_> {
    pub fn error_at(&self, at: usize, what: String) -> RigError {
        RigError::File {
            path: self.path.to_owned(),
            line: line_of(self.text.as_bytes(), at),
            what,
        }
    }
}

/// A table of a file.
pub(super) struct RigFileTable<'a> {
    pub file: &'a RigFileText<'a>,
    /// Byte offset of its beginning.
    pub at: usize,
    pub entries: &'a DeTable<'a>,
}

impl<'a> RigFileTable<'a> {
    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        let named = |(k, _): &(&'a Spanned<toml::de::DeString<'a>>, _)| k.get_ref() == key;
        self.entries.iter().find(named).map(|(_, value)| value)
    }

    /// Returns an error at a key, or at the table if the key is missing.
    pub fn error_at_key(&self, key: &str, what: String) -> RigError {
        let at = self.get(key).map_or(self.at, |value| value.span().start);
        self.file.error_at(at, what)
    }

    pub fn prefix_error(&self, key: &str, error: RigError) -> RigError {
        self.error_at_key(key, format!("'{key}': {error}"))
    }

    /// Returns an error at the key of the parameter that it concerns.
    pub fn locate_error(&self, error: RigError) -> RigError {
        // The line already identifies the sample.
        let inner = match &error {
            RigError::Sample { error, .. } => error,
            other => other,
        };
        self.error_at_key(inner.parameter().unwrap_or("control"), inner.to_string())
    }

    /// Refuses keys that are not in `known`.
    pub fn check_keys(&self, known: &[&str]) -> Result<(), RigError> {
        let mut keys = self.entries.keys();
        match keys.find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref();
                let what = format!(
                    "there is no key '{name}' here; there are: {}",
                    known.join(", ")
                );
                Err(self.file.error_at(key.span().start, what))
            }
        }
    }

    pub fn require(&self, key: &str) -> Result<&'a Spanned<DeValue<'a>>, RigError> {
        self.get(key)
            .ok_or_else(|| self.error_at_key(key, format!("the key '{key}' is missing")))
    }

    fn type_error(&self, key: &str, what: &str) -> RigError {
        self.error_at_key(key, format!("'{key}' must be {what}"))
    }

    pub fn table(&self, key: &str) -> Result<RigFileTable<'a>, RigError> {
        let value = self.require(key)?;
        match value.get_ref() {
            DeValue::Table(entries) => Ok(RigFileTable {
                file: self.file,
                at: value.span().start,
                entries,
            }),
            _ => Err(self.type_error(key, "a table")),
        }
    }

    /// Returns the tables of a list; empty if the key is missing.
    pub fn tables(&self, key: &str) -> Result<Vec<RigFileTable<'a>>, RigError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let list = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.type_error(key, "a list of tables"))?;
        list.iter()
            .map(|item| match item.get_ref() {
                DeValue::Table(entries) => Ok(RigFileTable {
                    file: self.file,
                    at: item.span().start,
                    entries,
                }),
                _ => Err(self.type_error(key, "a list of tables")),
            })
            .collect()
    }

    /// Returns the entries of a list.
    pub fn list(&self, key: &str) -> Result<&'a [Spanned<DeValue<'a>>], RigError> {
        let list = self.require(key)?.get_ref().as_array();
        list.map(|list| &list[..])
            .ok_or_else(|| self.type_error(key, "a list"))
    }

    /// Returns the text of an entry of the list at a key.
    pub fn text_of<'b>(&self, key: &str, value: &'b Spanned<DeValue>) -> Result<&'b str, RigError> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.type_error(key, "a list of texts in quotes"))
    }

    pub fn string(&self, key: &str) -> Result<String, RigError> {
        match self.require(key)?.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.type_error(key, "text in quotes")),
        }
    }

    /// Returns the key 'bone': a name, or a number.
    pub fn bone(&self) -> Result<BoneRef, RigError> {
        Ok(match self.require("bone")?.get_ref() {
            DeValue::String(name) => BoneRef::Name(name.to_string()),
            _ => BoneRef::Index(self.index("bone")?),
        })
    }

    pub fn index(&self, key: &str) -> Result<u32, RigError> {
        let number = self
            .require(key)?
            .get_ref()
            .as_integer()
            .and_then(parse_integer);
        number
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| self.type_error(key, "a whole number that is not negative"))
    }

    pub fn number(&self, key: &str) -> Result<f64, RigError> {
        self.finite_number(key, self.require(key)?)
    }

    /// Returns the parameters of a guide, missing ones at their default; refuses keys that are neither those nor `own`.
    pub fn guide_values<const N: usize>(
        &self,
        spec: &Spec,
        own: &[&str],
    ) -> Result<[f64; N], RigError> {
        self.check_keys(&[&["kind"], own, &spec.parameter_names()].concat())?;
        let mut values = [0.0; N];
        for (value, p) in values.iter_mut().zip(spec.parameters) {
            *value = match self.get(p.name) {
                Some(_) => self.number(p.name)?,
                None => p.default,
            };
        }
        Ok(values)
    }

    pub fn finite_number(&self, key: &str, value: &Spanned<DeValue>) -> Result<f64, RigError> {
        let number = match value.get_ref() {
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => parse_integer(digits).map(|n| n as f64),
            _ => None,
        };
        number
            .filter(|x: &f64| x.is_finite())
            .ok_or_else(|| self.type_error(key, "a finite number"))
    }

    pub fn number_row<const N: usize>(
        &self,
        key: &str,
        value: &Spanned<DeValue>,
    ) -> Result<[f64; N], RigError> {
        let wrong = || self.type_error(key, &format!("a list of {N} numbers"));
        let list = value.get_ref().as_array().ok_or_else(wrong)?;
        if list.len() != N {
            return Err(wrong());
        }
        let mut row = [0.0; N];
        for (slot, item) in row.iter_mut().zip(list.iter()) {
            *slot = self.finite_number(key, item)?;
        }
        Ok(row)
    }

    /// Returns the frame of a matrix of four rows.
    pub fn guide_frame(&self, key: &str) -> Result<Result<GuideFrame, RigError>, RigError> {
        let wrong = || self.type_error(key, "four rows of four numbers");
        let rows = self.require(key)?.get_ref().as_array().ok_or_else(wrong)?;
        if rows.len() != 4 {
            return Err(wrong());
        }
        let mut matrix = Mat4::zeros();
        for (i, row) in rows.iter().enumerate() {
            matrix
                .row_mut(i)
                .copy_from_slice(&self.number_row::<4>(key, row)?);
        }
        Ok(GuideFrame::from_matrix(&matrix))
    }
}
