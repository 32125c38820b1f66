// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that a body was made with, kept so that it can be made again with another softness, to the same bits as from the beginning.
//!
//! Flesh cannot be scaled back: a stiffness multiplied by a factor and divided by it again differs in its last bits. The size of a file grows by
//! what was painted; skin weights are the body's own in nearly all cases, and then stored once.

use super::check::check;
use super::stored_weights::StoredWeights;
use super::tense::check_factors;
use super::{Body, BodyError, BodySettings, BoneTwist, CharacterKind};
use crate::elasticity::Material;
use crate::skeleton::SkinWeights;
use crate::store::texts;
use serde::{Deserialize, Serialize};

/// Material and settings of a body as they were given, and what was done to it since that softness does not overrule.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyRecipe {
    /// Material as given, before any softness.
    pub material: Material,
    /// Settings as given.
    pub settings: BodySettings,
    /// Factors on the stiffness of cells, `[cells]`, of each [`Body::with_cell_stiffness`] in order.
    pub cell_stiffness: Vec<Vec<f64>>,
}

/// Error of a body that was read whose recipe is not of this body.
const ERROR: BodyError = BodyError::Damaged("the settings it was made with do not fit it");

/// Skin weights of a recipe.
#[derive(Serialize, Deserialize)]
enum StoredRegionWeights {
    None,
    /// The weights of the body's own skin.
    Skin,
    Others(StoredWeights),
}

/// File format of a recipe.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRecipe {
    material: Material,
    region_weights: StoredRegionWeights,
    flesh: Option<Vec<f64>>,
    kind: CharacterKind,
    hard: Option<Vec<f64>>,
    stiffness: Option<Vec<f64>>,
    density: Option<Vec<f64>>,
    poisson: Option<Vec<f64>>,
    #[serde(deserialize_with = "texts")]
    twisted_bones: Vec<String>,
    /// Radius and strength of the twist of each of these bones.
    twists: Vec<(Option<f64>, f64)>,
    rest_includes_gravity: bool,
    level: u8,
    basis_levels: u8,
    cell_stiffness: Vec<Vec<f64>>,
}

impl StoredRecipe {
    /// Returns the stored form of the recipe of a body with these skin weights.
    pub fn new(recipe: &BodyRecipe, skin: &SkinWeights) -> Self {
        let settings = &recipe.settings;
        Self {
            material: recipe.material,
            region_weights: match &settings.region_weights {
                None => StoredRegionWeights::None,
                Some(weights) if weights == skin => StoredRegionWeights::Skin,
                Some(weights) => StoredRegionWeights::Others(StoredWeights::new(weights)),
            },
            flesh: settings.flesh.clone(),
            kind: settings.kind,
            hard: settings.hard.clone(),
            stiffness: settings.stiffness.clone(),
            density: settings.density.clone(),
            poisson: settings.poisson.clone(),
            twisted_bones: settings.twist.keys().cloned().collect(),
            twists: settings
                .twist
                .values()
                .map(|twist| (twist.radius, twist.strength))
                .collect(),
            rest_includes_gravity: settings.rest_includes_gravity,
            level: u8::try_from(settings.level).unwrap_or(u8::MAX),
            basis_levels: u8::try_from(settings.basis_levels).unwrap_or(u8::MAX),
            cell_stiffness: recipe.cell_stiffness.clone(),
        }
    }

    /// Builds the recipe of a body that was read; refuses one that could not have made it.
    pub fn into_recipe(self, body: &Body) -> Result<BodyRecipe, BodyError> {
        let bones = body.skeleton().len();
        let given = &self.material;
        let material = Material::new(given.young(), given.poisson(), given.density());
        let region_weights = match self.region_weights {
            StoredRegionWeights::None => None,
            StoredRegionWeights::Skin => Some((**body.skin()).clone()),
            StoredRegionWeights::Others(weights) => {
                let rows = body.surface().vertices().len();
                if !(weights.fits(rows) && weights.names_bones(bones)) {
                    return Err(ERROR);
                }
                Some(weights.into_weights(bones))
            }
        };
        if self.twisted_bones.len() != self.twists.len() {
            return Err(ERROR);
        }
        let twists = self.twisted_bones.into_iter().zip(self.twists);
        let recipe = BodyRecipe {
            material: material.map_err(|_| ERROR)?,
            settings: BodySettings {
                region_weights,
                flesh: self.flesh,
                kind: self.kind,
                hard: self.hard,
                stiffness: self.stiffness,
                density: self.density,
                poisson: self.poisson,
                twist: twists
                    .map(|(name, (radius, strength))| (name, BoneTwist { radius, strength }))
                    .collect(),
                rest_includes_gravity: self.rest_includes_gravity,
                level: usize::from(self.level),
                basis_levels: usize::from(self.basis_levels),
            },
            cell_stiffness: self.cell_stiffness,
        };
        let parts = (body.surface(), body.skeleton(), body.lattice());
        let (material, settings) = (&recipe.material, &recipe.settings);
        check(parts.0, parts.1, parts.2, material, settings).map_err(|_| ERROR)?;
        let mut factors = recipe.cell_stiffness.iter();
        factors
            .try_for_each(|factors| check_factors(body, factors))
            .map_err(|_| ERROR)?;
        Ok(recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::store::{from_bytes, to_bytes};
    use std::path::Path;

    fn painted_bar() -> Body {
        let bar = BarOptions::default();
        let settings = BodySettings {
            region_weights: Some(bar.painted_weights()),
            twist: [("upper".to_owned(), BoneTwist::default())].into(),
            ..BodySettings::default()
        };
        let body = BarOptions { settings, ..bar }.build();
        let factors = vec![2.0; body.lattice().cells().len()];
        body.with_cell_stiffness(&factors).unwrap()
    }

    /// The recipe of a body comes back from its bytes.
    #[test]
    fn recipe_comes_back_from_bytes() {
        let (body, name) = (painted_bar(), Path::new("a body"));
        let bytes = to_bytes(name, "body", &body).unwrap();
        let again: Body = from_bytes(name, "body", &bytes).unwrap();
        assert!(body.recipe().is_some());
        assert_eq!(again.recipe(), body.recipe());
        assert_eq!(again.recipe().unwrap().cell_stiffness.len(), 1);
    }

    /// A stored recipe that cannot have made its body is refused.
    #[test]
    fn wrong_recipe_is_refused() {
        let body = painted_bar();
        let stored = || StoredRecipe::new(body.recipe().unwrap(), body.skin());
        assert!(stored().into_recipe(&body).is_ok());
        let spoilt: [fn(&mut StoredRecipe); 6] = [
            |s| s.flesh = Some(vec![0.5; 3]),
            |s| s.hard = Some(vec![f64::NAN; 3]),
            |s| s.level = 200,
            |s| s.twists.clear(),
            |s| s.cell_stiffness[0].truncate(1),
            |s| {
                s.region_weights = StoredRegionWeights::Others(StoredWeights::new(
                    &SkinWeights::from_rows(9, [[(8, 1.0)]]).unwrap(),
                ));
            },
        ];
        for (i, spoil) in spoilt.into_iter().enumerate() {
            let mut bad = stored();
            spoil(&mut bad);
            assert!(bad.into_recipe(&body).is_err(), "{i}");
        }
    }
}
