// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones of a character outside this skeleton: they carry only the character's other meshes.
//!
//! A leg that is a mesh of its own, for example, still hangs on bones of the body. Such bones hold no flesh and have no
//! poses. They tell to which character, and to which part of it, a mesh belongs.

use super::{Skeleton, SkeletonError};

impl Skeleton {
    /// Sets the character's other bones: for each, the nearest bone of this skeleton above it, if any.
    ///
    /// # Errors
    /// Fails if a bone above does not exist.
    pub fn with_elsewhere(self, elsewhere: Vec<Option<u32>>) -> Result<Self, SkeletonError> {
        let bones = self.len();
        let beyond = |above: &Option<u32>| above.is_some_and(|b| b as usize >= bones);
        if let Some(index) = elsewhere.iter().position(beyond) {
            return Err(SkeletonError::Elsewhere {
                index,
                above: elsewhere[index].unwrap_or_default(),
                bones,
            });
        }
        Ok(Self { elsewhere, ..self })
    }

    /// Returns for each of the character's other bones the nearest bone of this skeleton above it.
    pub fn elsewhere(&self) -> &[Option<u32>] {
        &self.elsewhere
    }

    /// Returns the number of the character's bones, these and others.
    pub fn character_bone_count(&self) -> usize {
        self.len() + self.elsewhere.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    /// Bones elsewhere can only hang on bones that exist.
    #[test]
    fn bones_elsewhere_need_parents() {
        let ends = vec![Vec3::zeros(); 2];
        let names = vec!["a".to_owned(), "b".to_owned()];
        let leg = Skeleton::new(names, vec![None, Some(0)], ends.clone(), ends).unwrap();
        assert_eq!(leg.character_bone_count(), 2);
        let whole = leg.clone().with_elsewhere(vec![None, Some(1)]).unwrap();
        assert_eq!(whole.elsewhere(), [None, Some(1)]);
        assert_eq!((whole.len(), whole.character_bone_count()), (2, 4));
        let beyond = leg.with_elsewhere(vec![None, Some(2)]).unwrap_err();
        assert_eq!(
            beyond.to_string(),
            "bone 1 of other meshes hangs on bone 2, but there are only 2 bones"
        );
    }
}
