// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point caches: bytes as the formats have them, what is read back, and refusals of damaged files.

use super::*;
use crate::bake::{BakeError, VertexFrames};
use crate::disk::tests::TestFolder;
use crate::progress::Silent;
use std::fs;

/// Three frames of two vertices, with numbers whose bits are easily lost.
const POSITIONS: [f32; 18] = [
    0.1, -0.0, 1e-42, 1e12, -1e-30, 3.3, 4.0, 5.5, 6.25, 7.0, 8.0, 9.0, 0.3, 1.5, 2.5, -3.5, -4.5,
    0.7,
];

fn frames() -> VertexFrames<'static> {
    VertexFrames::new([&POSITIONS[..]], 2).unwrap()
}

fn bits(positions: &[f32]) -> Vec<u32> {
    positions.iter().map(|x| x.to_bits()).collect()
}

/// Positions come back bit for bit; headers are those of the formats.
#[test]
fn caches_round_trip() {
    let folder = TestFolder::new();
    let (pc2, mdd) = (folder.0.join("a.pc2"), folder.0.join("a.mdd"));
    write_pc2(&pc2, &frames(), (-1.5, 0.5), &Silent).unwrap();
    let bytes = fs::read(&pc2).unwrap();
    assert_eq!(&bytes[..16], b"POINTCACHE2\0\x01\0\0\0");
    assert_eq!((bytes.len(), &bytes[16..20]), (32 + 72, &[2, 0, 0, 0][..]));
    let cache = read_pc2(&pc2).unwrap();
    assert_eq!((cache.vertices, cache.start, cache.rate), (2, -1.5, 0.5));
    assert_eq!(bits(&cache.positions), bits(&POSITIONS));

    write_mdd(&mdd, &frames(), 23.976, &Silent).unwrap();
    let bytes = fs::read(&mdd).unwrap();
    assert_eq!(
        (bytes.len(), &bytes[..8]),
        (8 + 12 + 72, &[0, 0, 0, 3, 0, 0, 0, 2][..])
    );
    let cache = read_mdd(&mdd).unwrap();
    assert_eq!(
        (cache.vertices, cache.times),
        (2, vec![0.0, (1.0 / 23.976) as f32, (2.0 / 23.976) as f32])
    );
    assert_eq!(bits(&cache.positions), bits(&POSITIONS));
}

/// A file cut at any byte, one that is too long, and one whose header counts wrongly are refused in a sentence.
#[test]
fn caches_refuse_damaged_files() {
    let folder = TestFolder::new();
    let path = folder.0.join("a");
    write_pc2(&path, &frames(), (0.0, 1.0), &Silent).unwrap();
    let pc2 = fs::read(&path).unwrap();
    write_mdd(&path, &frames(), 24.0, &Silent).unwrap();
    let mdd = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], as_pc2: bool| {
        fs::write(&path, bytes).unwrap();
        let error = match as_pc2 {
            true => read_pc2(&path).unwrap_err(),
            false => read_mdd(&path).unwrap_err(),
        };
        assert!(matches!(error, BakeError::File { .. }), "{error}");
    };
    for (bytes, as_pc2) in [(&pc2, true), (&mdd, false)] {
        (0..bytes.len()).for_each(|n| refused(&bytes[..n], as_pc2));
        refused(&[&bytes[..], &[0]].concat(), as_pc2);
        for at in if as_pc2 { [16, 28] } else { [0, 4] } {
            for count in [[0; 4], [0xff; 4], [0x7f, 0xff, 0xff, 0x7f]] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&count);
                refused(&damaged, as_pc2);
            }
        }
        let mut damaged = bytes.clone();
        let last = damaged.len() - 4;
        damaged[last..].fill(0xff);
        refused(&damaged, as_pc2);
    }
    refused(&mdd, true);
    let mut version = pc2.clone();
    version[12] = 2;
    refused(&version, true);
}

/// Settings out of range, and a stop by the caller, leave earlier content as it was and nothing beside it.
#[test]
fn refused_writes_leave_earlier_content() {
    let folder = TestFolder::new();
    let path = folder.write("a", "earlier");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-60] {
        assert!(matches!(
            write_pc2(&path, &frames(), (0.0, bad), &Silent),
            Err(BakeError::Setting { what: "rate", .. })
        ));
        assert!(matches!(
            write_mdd(&path, &frames(), bad, &Silent),
            Err(BakeError::Setting { what: "fps", .. })
        ));
    }
    assert!(write_mdd(&path, &frames(), 5e-39, &Silent).is_err());
    assert!(write_pc2(&path, &frames(), (f64::NAN, 1.0), &Silent).is_err());
    let stop = |fraction: f64, _: &str| fraction < 0.5;
    assert!(matches!(
        write_pc2(&path, &frames(), (0.0, 1.0), &stop),
        Err(BakeError::Cancelled(_))
    ));
    assert!(matches!(
        write_mdd(&path, &frames(), 24.0, &stop),
        Err(BakeError::Cancelled(_))
    ));
    assert_eq!(fs::read(&path).unwrap(), b"earlier");
    assert_eq!(folder.names(), ["a"]);
    assert!(write_pc2(&folder.0, &frames(), (0.0, 1.0), &Silent).is_err());
    assert!(write_mdd(&folder.0.join("missing/a"), &frames(), 24.0, &Silent).is_err());
    assert!(read_pc2(&folder.0.join("missing")).is_err());
}
