// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of rigs as Python gives them.

use super::arrays::List;
use super::errors::{IntoPy, input_error};
use super::template::named_numbers;
use crate::rig::{Rig, RigError, Sample};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Reads samples of a rig, [(gamma, {parameter: value})]; parameters that one does not name are the rig's own.
pub(super) fn read_samples(
    plain: &Rig,
    samples: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Sample>> {
    let mut recorded = Vec::new();
    let refused = |_| input_error("samples: expected a list of (gamma, {name: value})");
    let items = samples.map(|list| list.extract::<List<Bound<'_, PyAny>>>());
    let List(items) = items.transpose().map_err(refused)?.unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        let (control, values) = item.extract::<(f64, Bound<'_, PyDict>)>().map_err(|_| {
            input_error(format!(
                "samples[{index}]: expected (gamma, {{name: value}})"
            ))
        })?;
        let named = named_numbers(&values)?;
        let named = named.iter().map(|(name, value)| (name.as_str(), *value));
        let parameters = plain
            .replace_parameters(plain.own_parameters(), named)
            .map_err(|e| sample_error(index, e))?;
        recorded.push(Sample {
            control,
            parameters,
        });
    }
    Ok(recorded)
}

fn sample_error(index: usize, error: RigError) -> PyErr {
    RigError::Sample {
        sample: index,
        error: Box::new(error),
    }
    .into_py()
}
