// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples: parameters recorded at values of a control. [capell2006, §4.1, eq. 16]

use super::RigError;
use crate::range::is_sound;

/// All parameters of a rig at one value of its control.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Control γ.
    pub control: f64,
    /// Parameters η, in the rig's order.
    pub parameters: Vec<f64>,
}

/// Sorts samples by ascending control; refuses two at one control, and controls that are not
/// finite.
pub(super) fn sort_samples(mut samples: Vec<Sample>) -> Result<Vec<Sample>, RigError> {
    for (index, sample) in samples.iter().enumerate() {
        let value = sample.control;
        if !is_sound(value) {
            return Err(RigError::Control { value }.in_sample(index));
        }
    }
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|&a, &b| {
        samples[a]
            .control
            .total_cmp(&samples[b].control)
            .then(a.cmp(&b))
    });
    for pair in order.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let control = samples[b].control;
        if samples[a].control == control {
            let sample = a.max(b);
            return Err(RigError::Twice { sample, control });
        }
    }
    samples.sort_by(|a, b| a.control.total_cmp(&b.control));
    Ok(samples)
}

/// Returns the samples on both sides of a control and the share of the second; outside the samples the last one twice. `None` without
/// samples.
pub(super) fn bracket(samples: &[Sample], control: f64) -> Option<(usize, usize, f64)> {
    // NaN counts as below all samples.
    let control = if control.is_nan() {
        f64::NEG_INFINITY
    } else {
        control
    };
    let last = samples.len().checked_sub(1)?;
    let after = match samples.iter().position(|s| s.control > control) {
        Some(0) => return Some((0, 0, 0.0)),
        Some(after) => after,
        None => return Some((last, last, 0.0)),
    };
    let (a, b) = (samples[after - 1].control, samples[after].control);
    // Halved, so that no span overflows.
    let half = |x: f64| 0.5 * x;
    let t = (half(control) - half(a)) / (half(b) - half(a));
    Some((after - 1, after, if t.is_finite() { t } else { 0.0 }))
}

/// Returns the parameters at a control: linear between samples, constant outside; `None` without
/// samples.
pub(super) fn interpolate(samples: &[Sample], control: f64) -> Option<Vec<f64>> {
    let (a, b, t) = bracket(samples, control)?;
    if a == b {
        return Some(samples[a].parameters.clone());
    }
    let mix = |(&x, &y): (&f64, &f64)| x * (1.0 - t) + y * t;
    let both = samples[a].parameters.iter().zip(&samples[b].parameters);
    Some(both.map(mix).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_samples(of: &[(f64, f64)]) -> Vec<Sample> {
        let sample = |&(control, x): &(f64, f64)| Sample {
            control,
            parameters: vec![x, -x],
        };
        of.iter().map(sample).collect()
    }

    /// Parameters are linear between samples and constant outside them.
    #[test]
    fn samples_interpolate_linearly() {
        let s = example_samples(&[(-1.0, 2.0), (0.0, 3.0), (4.0, -1.0)]);
        let x = |g: f64| interpolate(&s, g).unwrap();
        for sample in &s {
            assert_eq!(x(sample.control), sample.parameters);
        }
        assert_eq!(x(-0.5), [2.5, -2.5]);
        assert_eq!(x(1.0), [2.0, -2.0]);
        assert_eq!(
            (x(-9.0), x(f64::NEG_INFINITY)),
            (vec![2.0, -2.0], vec![2.0, -2.0])
        );
        assert_eq!(
            (x(9.0), x(f64::INFINITY)),
            (vec![-1.0, 1.0], vec![-1.0, 1.0])
        );
        assert_eq!(x(f64::NAN), [2.0, -2.0]);
        assert_eq!(interpolate(&[], 1.0), None);
        let wide = example_samples(&[(-1e308, 0.0), (1e308, 2.0)]);
        assert_eq!(interpolate(&wide, 0.0).unwrap(), [1.0, -1.0]);
    }

    /// Samples may come in any order, but no two with the same control.
    #[test]
    fn samples_sorted_and_distinct() {
        let controls = |of: &[(f64, f64)]| {
            let sorted = sort_samples(example_samples(of))?;
            Ok(sorted
                .iter()
                .map(|s| (s.control, s.parameters[0]))
                .collect())
        };
        let ascending: Result<Vec<_>, RigError> = controls(&[(2.0, 5.0), (0.0, 1.0), (-1.0, 3.0)]);
        assert_eq!(ascending, Ok(vec![(-1.0, 3.0), (0.0, 1.0), (2.0, 5.0)]));
        let e = sort_samples(example_samples(&[(3.0, 1.0), (0.0, 1.0), (3.0, 2.0)])).unwrap_err();
        assert_eq!(
            e,
            RigError::Twice {
                sample: 2,
                control: 3.0
            }
        );
        assert!(sort_samples(example_samples(&[(0.0, 1.0), (-0.0, 2.0)])).is_err());
        let e = sort_samples(example_samples(&[(0.0, 1.0), (f64::NAN, 2.0)])).unwrap_err();
        assert!(e.to_string().contains("sample 1"), "{e}");
    }
}
