// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blending of linearisations over time. [hildebrandt2012, §4.3]
//!
//! Each linearisation has stations in time. Within a quarter of the way to its neighbours a station has weight 1.
//! Between, the weight of the next one is `3s² − 2s³`.

/// A time at which a linearisation applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Station {
    pub time: f64,
    pub linearisation: usize,
}

/// Returns the linearisations before and after a time and the weight of the latter. `stations` ascend in time and are not empty.
pub(super) fn blend_at(stations: &[Station], time: f64) -> (usize, usize, f64) {
    let after = stations.partition_point(|s| s.time <= time);
    if after == 0 {
        let first = stations[0].linearisation;
        return (first, first, 0.0);
    }
    let from = stations[after - 1];
    let Some(to) = stations.get(after) else {
        return (from.linearisation, from.linearisation, 0.0);
    };
    if from.linearisation == to.linearisation {
        return (from.linearisation, from.linearisation, 0.0);
    }
    let way = (time - from.time) / (to.time - from.time);
    let s = (2.0 * way - 0.5).clamp(0.0, 1.0);
    (
        from.linearisation,
        to.linearisation,
        s * s * (3.0 - 2.0 * s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A station counts alone near its time and hands over to the next midway between them.
    #[test]
    fn share_switches_midway() {
        let station = |time, linearisation| Station {
            time,
            linearisation,
        };
        let all = [station(0.0, 7), station(4.0, 2), station(8.0, 2)];
        assert_eq!(blend_at(&all, -1.0), (7, 7, 0.0));
        assert_eq!(blend_at(&all, 1.0), (7, 2, 0.0));
        assert_eq!(blend_at(&all, 2.0), (7, 2, 0.5));
        assert_eq!(blend_at(&all, 3.0), (7, 2, 1.0));
        assert_eq!(blend_at(&all, 5.0), (2, 2, 0.0));
        assert_eq!(blend_at(&all, 9.0), (2, 2, 0.0));
        assert!(blend_at(&all, 2.5).2 > 0.5);
    }
}
