// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which linearisation counts how much when. [hildebrandt2012, §4.3]
//!
//! Linearisations stand along time like stations. Within a quarter of the way to its neighbours a station counts alone; between, the
//! next one's share is `3s² − 2s³`.

/// A linearisation at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Station {
    pub time: f64,
    pub linearisation: usize,
}

/// The linearisation before a time, the one after and the share of the latter. Stations rise in time; there is at least one.
pub(super) fn share(stations: &[Station], time: f64) -> (usize, usize, f64) {
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

    #[test]
    fn stations_count_alone_near_by_and_hand_over_in_the_middle() {
        let station = |time, linearisation| Station {
            time,
            linearisation,
        };
        let all = [station(0.0, 7), station(4.0, 2), station(8.0, 2)];
        assert_eq!(share(&all, -1.0), (7, 7, 0.0));
        assert_eq!(share(&all, 1.0), (7, 2, 0.0));
        assert_eq!(share(&all, 2.0), (7, 2, 0.5));
        assert_eq!(share(&all, 3.0), (7, 2, 1.0));
        assert_eq!(share(&all, 5.0), (2, 2, 0.0));
        assert_eq!(share(&all, 9.0), (2, 2, 0.0));
        assert!(share(&all, 2.5).2 > 0.5);
    }
}
