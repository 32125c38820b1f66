// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motions in sequence: each segment applies in its own time, and gaps are refused.

use super::*;

fn half_motions() -> [Spacetime; 2] {
    let (_, shapes) = strip();
    [0..3, 2..4].map(|keys| {
        motion_through(
            &shapes[keys.clone()],
            &KEY_TIMES[keys],
            &ringing_settings(),
            &kept_rigid_space(),
        )
    })
}

/// Each segment gives the shape within its times, and the later one does at a joint.
#[test]
fn composite_selects_segment_by_time() {
    let [first, second] = half_motions();
    let both = Composite::new(vec![&first, &second]).unwrap();
    assert_eq!(both.times(), [0.0, 0.8, 1.5]);
    assert_eq!((both.node_count(), both.segments().len()), (12, 2));
    let times = [-1.0, 0.1, 0.79, 0.8, 1.2, 0.3, 1.5, 9.0];
    let in_second = [false, false, false, true, true, false, true, true];
    type PositionWriter<T> = fn(&T, &[f64], &mut [f32]);
    let ways: [(PositionWriter<Composite<'_>>, PositionWriter<Spacetime>); 2] = [
        (Composite::positions_into, Spacetime::positions_into),
        (
            Composite::cubic_positions_into,
            Spacetime::cubic_positions_into,
        ),
    ];
    for (write, own) in ways {
        let mut out = vec![0.0; 36 * times.len()];
        write(&both, &times, &mut out);
        for ((&time, late), found) in times.iter().zip(in_second).zip(out.chunks(36)) {
            let mut wanted = vec![0.0; 36];
            own(if late { &second } else { &first }, &[time], &mut wanted);
            for (a, b) in found.iter().zip(&wanted) {
                assert!((a - b).abs() < 1e-6, "{time}: {a} {b}");
            }
        }
    }
}

/// Segments that do not follow each other in time or place are refused by number.
#[test]
fn composite_refuses_gaps() {
    let [first, second] = half_motions();
    let refused = |segments: Vec<&Spacetime>| Composite::new(segments).err();
    assert_eq!(
        refused(Vec::new()),
        Some(SpacetimeError::TooFew { keys: 0 })
    );
    let wanted = SpacetimeError::Gap {
        segment: 1,
        start: 0.0,
        end: 1.5,
    };
    assert_eq!(refused(vec![&second, &first]), Some(wanted));
    let (_, shapes) = strip();
    let third = motion_through(
        &shapes[..2],
        &[1.5, 2.0],
        &ringing_settings(),
        &kept_rigid_space(),
    );
    match refused(vec![&first, &second, &third]) {
        Some(SpacetimeError::Apart {
            segment,
            vertex,
            distance,
        }) => {
            let apart = |v: usize| (shapes[3][v] - shapes[0][v]).norm();
            let most = (0..12).map(apart).fold(0.0, f64::max);
            assert_eq!(segment, 2);
            assert!((apart(vertex) - most).abs() < 1e-12 && (distance - most).abs() < 1e-12);
        }
        other => panic!("{other:?}"),
    }
}
