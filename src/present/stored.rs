// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body and its carried surfaces as plain data, in the file of a body.

use super::{CarriedSurface, CarriedSurfaces};
use crate::body::StoredBody;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

impl Serialize for CarriedSurfaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.list();
        let further = all.iter().skip(1);
        let further = further.map(|surface| (&**surface.embedding(), surface.skin()));
        self.body().to_stored(further).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CarriedSurfaces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredBody::deserialize(deserializer)?;
        let (body, further) = stored.into_body().map_err(serde::de::Error::custom)?;
        let mut all = vec![Arc::new(CarriedSurface::for_body(&body))];
        for (embedding, skin) in further {
            let surface =
                CarriedSurface::from_embedding(&body, Arc::new(embedding), Arc::new(skin));
            all.push(Arc::new(surface));
        }
        Ok(Self::from_list(Arc::new(body), all))
    }
}
