// SPDX-License-Identifier: MIT OR Apache-2.0
//! The space of a texture's positions: whether a shader moves vertices before the bones act or in their place.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Space of the positions of a vertex animation texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextureSpace {
    /// Before the skeleton acts: the shader adds offsets to the rest positions, then the bones act.
    #[default]
    Rest,
    /// As seen: offsets hold the motion of the bones too, which must not act again.
    Posed,
}

impl TextureSpace {
    /// Returns the name in files: "rest" or "posed".
    pub fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Posed => "posed",
        }
    }
}

impl FromStr for TextureSpace {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "rest" => Ok(Self::Rest),
            "posed" => Ok(Self::Posed),
            _ => Err(()),
        }
    }
}
