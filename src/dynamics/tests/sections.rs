// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of saved states: refusal of forged ones, and treatment of those of later versions.

use super::*;

/// One section: its name, version, flags and payload.
type TestSection<'a> = (&'a str, u32, u32, &'a [u8]);

fn write_state(sections: &[TestSection]) -> Vec<u8> {
    let mut bytes = b"thewst02".to_vec();
    bytes.extend((sections.len() as u64).to_le_bytes());
    for (name, version, flags, payload) in sections {
        let mut padded = [0; 16];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(padded);
        bytes.extend(version.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(*payload);
    }
    bytes
}

fn bytes_of<'a>(vectors: impl IntoIterator<Item = &'a Vec3>) -> Vec<u8> {
    let numbers = vectors.into_iter().flat_map(|v| v.iter());
    numbers.flat_map(|x| x.to_le_bytes()).collect()
}

/// Builds a simulation in the middle of a motion, with forces in rest axes.
fn moving_simulation(method: Method) -> (Simulation, Arc<Body>, Pose) {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    let forces = wobble_displacements(&body, 0.1);
    sim.advance(&bent_pose(&bar, 0.4), 0.1, None, Some(&forces))
        .unwrap();
    (sim, body, bent_pose(&bar, 0.6))
}

/// Asserts that both simulations continue in the same way.
fn assert_alike(mut a: Simulation, mut b: Simulation, next: &Pose) {
    for sim in [&mut a, &mut b] {
        sim.advance(next, 0.1, None, None).unwrap();
    }
    assert_eq!(a.nodes.positions, b.nodes.positions);
    assert_eq!(a.nodes.velocities, b.nodes.velocities);
    assert!(a.state() == b.state());
}

/// An unknown optional section of a state is skipped, and a section that is required is refused by name.
#[test]
fn optional_sections_are_skipped() {
    let (sim, body, next) = moving_simulation(Method::Warped);
    let state = sim.state();
    let with = |section: TestSection| {
        let count = u64::from_le_bytes(state[8..16].try_into().unwrap());
        let mut bytes = state.clone();
        bytes[8..16].copy_from_slice(&(count + 1).to_le_bytes());
        bytes.extend(&write_state(&[section])[16..]);
        bytes
    };
    let mut other = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    other
        .restore(&with(("notes", 7, 0, b"of any length")))
        .unwrap();
    assert!(other.state() == state);
    // A newer version of a known section may not be read as the old one.
    let error = other
        .restore(&with(("contact", 1, 1, &[0; 40])))
        .unwrap_err();
    let message = error.to_string();
    assert!(message.contains("'contact' of version 1"), "{message}");
    let positions = bytes_of(&sim.nodes.positions);
    let later = write_state(&[("positions", 2, 1, &positions)]);
    let error = other.restore(&later).unwrap_err().to_string();
    assert!(error.contains("'positions' of version 2"), "{error}");
    let error = other.restore(&write_state(&[("velocities", 1, 1, &positions)]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no positions"), "{error}");
    // A state in the layout from before sections is refused.
    let old = [b"thewst01", &state[8..]].concat();
    for bad in [
        old,
        with(("positions", 1, 1, &positions)),
        with(("", 1, 0, b"")),
        with(("a\nb", 1, 0, b"")),
        state[..state.len() - 1].to_vec(),
        [state.as_slice(), &[0; 3]].concat(),
        write_state(&[]),
    ] {
        assert!(other.restore(&bad).is_err());
        assert!(other.state() == state);
    }
    // Sections may come in any order.
    let velocities = bytes_of(&sim.nodes.velocities);
    let mut still_standing = Simulation::new(body, settings().with_method(Method::Warped)).unwrap();
    still_standing
        .restore(&write_state(&[
            ("velocities", 1, 1, &velocities),
            ("positions", 1, 1, &positions),
        ]))
        .unwrap();
    assert_eq!(still_standing.nodes.positions, sim.nodes.positions);
    assert_eq!(still_standing.nodes.velocities, sim.nodes.velocities);
    assert!(still_standing.history.is_none());
    assert_alike(sim, other, &next);
}

/// A state with forged sections is refused, and the state before stays.
#[test]
fn restore_refuses_forged_sections() {
    for method in [Method::Warped, Method::Modal] {
        let (sim, body, _) = moving_simulation(method);
        let good = sim.state();
        let mut other = Simulation::new(body, settings().with_method(method)).unwrap();
        other.restore(&good).unwrap();
        // Every header word of every section in turn, and numbers in every payload.
        let mut at = 16;
        while at < good.len() {
            let length = u64::from_le_bytes(good[at + 24..at + 32].try_into().unwrap());
            for word in [u64::MAX, 1 << 40, length + 8, length - 8] {
                let mut bad = good.clone();
                bad[at + 24..at + 32].copy_from_slice(&word.to_le_bytes());
                assert!(other.restore(&bad).is_err());
            }
            for x in [f64::NAN, f64::INFINITY, -1e300] {
                let mut bad = good.clone();
                let last = at + 32 + length as usize - 8;
                bad[last..last + 8].copy_from_slice(&x.to_le_bytes());
                assert!(other.restore(&bad).is_err());
            }
            let mut bad = good.clone();
            bad[at] = b'P';
            assert!(other.restore(&bad).is_err());
            at += 32 + length as usize;
        }
        for n in (0..good.len()).step_by(97) {
            assert!(other.restore(&good[..n]).is_err());
        }
        for count in [0u64, 1, 5, u64::MAX] {
            let mut bad = good.clone();
            bad[8..16].copy_from_slice(&count.to_le_bytes());
            assert!(other.restore(&bad).is_err());
        }
        assert!(other.state() == good);
    }
}
