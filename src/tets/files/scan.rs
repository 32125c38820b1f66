// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words and numbers of a text file, and errors about them.

use super::super::TetError;
use crate::Vec3;
use std::iter::Peekable;
use std::path::Path;
use std::str::{Lines, SplitAsciiWhitespace};

/// A line with its number and text; comments (from `#` on) and empty lines are left out.
#[derive(Clone)]
pub struct TextLine<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// Scanner over the lines of a file that have content.
pub struct Scanner<'a> {
    pub path: &'a Path,
    lines: Peekable<ContentLines<'a>>,
    /// Longest list that the text could hold.
    most: usize,
    last: usize,
}

struct ContentLines<'a>(std::iter::Enumerate<Lines<'a>>);

impl<'a> Iterator for ContentLines<'a> {
    type Item = TextLine<'a>;

    fn next(&mut self) -> Option<TextLine<'a>> {
        self.0.find_map(|(i, line)| {
            let text = line.split('#').next().unwrap_or_default().trim();
            (!text.is_empty()).then_some(TextLine {
                number: i + 1,
                text,
            })
        })
    }
}

impl<'a> Scanner<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self {
            path,
            lines: ContentLines(text.lines().enumerate()).peekable(),
            most: text.len() / 2 + 1,
            last: text.lines().count(),
        }
    }

    /// Returns the next line.
    pub fn next(&mut self) -> Option<TextLine<'a>> {
        self.lines.next()
    }

    /// Returns the next line without consuming it.
    pub fn peek(&mut self) -> Option<&TextLine<'a>> {
        self.lines.peek()
    }

    /// Returns the next line; fails at the end of the file.
    pub fn expect(&mut self, what: &str) -> Result<LineWords<'a>, TetError> {
        let (path, last) = (self.path, self.last);
        let line = self
            .lines
            .next()
            .ok_or_else(|| syntax_error(path, last, format!("the file ends before {what}")))?;
        Ok(LineWords {
            path,
            number: line.number,
            words: line.text.split_ascii_whitespace(),
        })
    }

    /// Returns the capacity for a promised count, at most what the text could hold.
    pub fn capacity(&self, promised: usize) -> usize {
        promised.min(self.most)
    }
}

/// Words of one line.
pub struct LineWords<'a> {
    path: &'a Path,
    pub number: usize,
    words: SplitAsciiWhitespace<'a>,
}

impl<'a> LineWords<'a> {
    pub fn new(path: &'a Path, line: &TextLine<'a>) -> Self {
        Self {
            path,
            number: line.number,
            words: line.text.split_ascii_whitespace(),
        }
    }

    pub fn error(&self, what: String) -> TetError {
        syntax_error(self.path, self.number, what)
    }

    /// Returns the next word, without commas around it.
    pub fn word(&mut self, what: &str) -> Result<&'a str, TetError> {
        let next = self.words.find_map(|w| {
            let w = w.trim_matches(',');
            (!w.is_empty()).then_some(w)
        });
        next.ok_or_else(|| self.error(format!("{what} is missing")))
    }

    pub fn real(&mut self, what: &str) -> Result<f64, TetError> {
        let word = self.word(what)?;
        parse_real(word)
            .ok_or_else(|| self.error(format!("{what} is '{}', not a number", shorten_word(word))))
    }

    pub fn count(&mut self, what: &str) -> Result<usize, TetError> {
        let word = self.word(what)?;
        word.parse()
            .map_err(|_| self.error(format!("{what} is '{}', not a count", shorten_word(word))))
    }

    pub fn point(&mut self) -> Result<Vec3, TetError> {
        Ok(Vec3::new(self.real("x")?, self.real("y")?, self.real("z")?))
    }

    /// Reads corners, which the file numbers from `base`.
    pub fn corners<const N: usize>(
        &mut self,
        base: usize,
        vertices: usize,
    ) -> Result<[u32; N], TetError> {
        let mut corners = [0; N];
        for c in &mut corners {
            let number = self.count("a corner")?;
            *c = vertex_index(number, base, vertices).ok_or_else(|| {
                self.error(format!(
                    "corner {number} does not exist: vertices run from {base} to {}",
                    (base + vertices).saturating_sub(1)
                ))
            })?;
        }
        Ok(corners)
    }
}

/// Parses a finite number; Fortran's `D` exponents are included.
pub fn parse_real(word: &str) -> Option<f64> {
    let number = word
        .parse()
        .or_else(|_| word.replace(['d', 'D'], "e").parse::<f64>())
        .ok()?;
    number.is_finite().then_some(number)
}

/// Returns the index of a vertex that a file numbers from `base`; `None` if it does not exist.
pub fn vertex_index(number: usize, base: usize, vertices: usize) -> Option<u32> {
    let index = number.checked_sub(base).filter(|i| *i < vertices)?;
    u32::try_from(index).ok()
}

pub fn syntax_error(path: &Path, line: usize, what: String) -> TetError {
    TetError::File {
        path: path.to_owned(),
        line,
        what,
    }
}

/// Shortens a word for an error sentence.
pub fn shorten_word(word: &str) -> String {
    word.chars().take(24).collect()
}
