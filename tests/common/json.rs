// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON as far as glTF files use it. What is missing reads as null: zero, empty.

use std::collections::BTreeMap;
use std::ops::Index;

#[derive(Debug, Clone, Default)]
pub enum Value {
    #[default]
    Null,
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

static NULL: Value = Value::Null;

impl Value {
    pub fn parse(text: &str) -> Self {
        JsonParser(text.as_bytes(), 0).value()
    }

    pub fn has(&self, key: &str) -> bool {
        matches!(self, Value::Map(map) if map.contains_key(key))
    }

    pub fn index(&self) -> usize {
        match self {
            Value::Number(x) => *x as usize,
            _ => 0,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            _ => "",
        }
    }

    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(list) => list,
            _ => &[],
        }
    }
}

impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        match self {
            Value::Map(map) => map.get(key).unwrap_or(&NULL),
            _ => &NULL,
        }
    }
}

impl Index<usize> for Value {
    type Output = Value;

    fn index(&self, i: usize) -> &Value {
        self.items().get(i).unwrap_or(&NULL)
    }
}

struct JsonParser<'a>(&'a [u8], usize);

impl JsonParser<'_> {
    fn peek(&mut self) -> u8 {
        while self.0.get(self.1).is_some_and(u8::is_ascii_whitespace) {
            self.1 += 1;
        }
        self.0.get(self.1).copied().unwrap_or(b']')
    }

    /// Whether another item of a list or map follows.
    fn has_more(&mut self) -> bool {
        if self.peek() == b',' {
            self.1 += 1;
        }
        if matches!(self.peek(), b']' | b'}') {
            self.1 += 1;
            return false;
        }
        true
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            b'{' => {
                self.1 += 1;
                let mut map = BTreeMap::new();
                while self.has_more() {
                    let key = self.text();
                    self.peek();
                    self.1 += 1;
                    map.insert(key, self.value());
                }
                Value::Map(map)
            }
            b'[' => {
                self.1 += 1;
                let mut list = Vec::new();
                while self.has_more() {
                    list.push(self.value());
                }
                Value::List(list)
            }
            b'"' => Value::Text(self.text()),
            _ => {
                let start = self.1;
                while self
                    .0
                    .get(self.1)
                    .is_some_and(|c| !b",]} \n\r\t".contains(c))
                {
                    self.1 += 1;
                }
                let word = std::str::from_utf8(&self.0[start..self.1]).unwrap_or("");
                word.parse().map_or(Value::Null, Value::Number)
            }
        }
    }

    fn text(&mut self) -> String {
        self.peek();
        self.1 += 1;
        let start = self.1;
        while self.0.get(self.1).is_some_and(|&c| c != b'"') {
            self.1 += 1 + usize::from(self.0[self.1] == b'\\');
        }
        self.1 += 1;
        String::from_utf8_lossy(&self.0[start..self.1 - 1]).into_owned()
    }
}
