// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of serialised values: versioned, checksummed, and either complete or absent. They serve as the on-disk cache and as clip and shot files.
//!
//! ```
//! use thew::store::{self, StoreError};
//!
//! let file = std::env::temp_dir().join(format!("thew-doc-{}", std::process::id()));
//! store::save(&file, "numbers", &vec![1.0, 2.0, 3.0])?;
//! assert_eq!(store::load::<Vec<f64>>(&file, "numbers")?, [1.0, 2.0, 3.0]);
//! // With one bit flipped the file is refused.
//! let mut bytes = std::fs::read(&file)?;
//! *bytes.last_mut().expect("it has content") ^= 1;
//! std::fs::write(&file, bytes)?;
//! assert!(matches!(store::load::<Vec<f64>>(&file, "numbers"), Err(StoreError::Damaged { .. })));
//! std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `\x89THEW\r\n\x1a`, bytes that a text-mode transfer would break, as in PNG |
//! | 4 | format version, little-endian |
//! | 16 | kind of the content, ASCII, padded with zeros |
//! | 8 | length of the content |
//! | 4 | CRC-32 of all other bytes |
//! | … | content: serde through bincode 2 |
//!
//! A file is written as a whole or not at all. Content is checked before it is decoded. Both happen while streaming, so that no
//! file takes more memory than its actual content. A cache of another version has to be rebuilt.

mod error;
mod header;
mod text;

pub(crate) use text::{Text, named_texts, text, texts};

pub use error::StoreError;
pub use header::VERSION;

use self::error::read_error;
use self::header::{HEADER_LENGTH, Header, MAX_CONTENT_LENGTH, build_header};
use crate::disk;
use bincode::error::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;

/// Size of the read buffer, bytes.
const BUFFER_LENGTH: usize = 1 << 16;

/// Writes a value. `kind` (1 to 16 ASCII characters) names its type.
///
/// # Errors
/// [`StoreError::Disk`], [`StoreError::Unwritable`]. An earlier file at `path` is then kept.
pub fn save<T: Serialize>(path: &Path, kind: &str, value: &T) -> Result<(), StoreError> {
    let bytes = to_bytes(path, kind, value)?;
    disk::write_together(&[(path, &[&bytes])]).map_err(|source| StoreError::Disk {
        path: path.to_owned(),
        action: "written",
        source,
    })
}

/// Returns the bytes of the file that [`save`] writes. `name` stands for its path in sentences.
///
/// # Errors
/// [`StoreError::Unwritable`].
pub fn to_bytes<T: Serialize>(name: &Path, kind: &str, value: &T) -> Result<Vec<u8>, StoreError> {
    let unwritable = |what: String| StoreError::Unwritable {
        path: name.to_owned(),
        what,
    };
    let mut bytes = vec![0; HEADER_LENGTH];
    bincode::serde::encode_into_std_write(value, &mut bytes, bincode::config::standard())
        .map_err(|e| unwritable(e.to_string()))?;
    let (header, content) = bytes.split_at_mut(HEADER_LENGTH);
    if content.len() > MAX_CONTENT_LENGTH {
        return Err(unwritable(format!(
            "it would be {} bytes long",
            content.len()
        )));
    }
    let built = build_header(kind, content)
        .ok_or_else(|| unwritable(format!("'{kind}' is not a kind of content")))?;
    header.copy_from_slice(&built);
    Ok(bytes)
}

/// Reads a value of a kind from the bytes of [`to_bytes`], which are checked as a file is. `name` stands for its path in sentences.
///
/// # Errors
/// Reads bytes as [`load`] reads a file.
pub fn from_bytes<T: DeserializeOwned>(
    name: &Path,
    kind: &str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    let Some((header, content)) = bytes.split_first_chunk::<HEADER_LENGTH>() else {
        return Err(StoreError::NotThew {
            path: name.to_owned(),
        });
    };
    let header = Header::open(name, *header, content.len() as u64)?;
    header.check(name, kind, &mut &*content)?;
    decode_bytes(content).map_err(|what| StoreError::Damaged {
        path: name.to_owned(),
        what,
    })
}

/// Reads a value of a kind.
///
/// # Errors
/// Not a Thew file, another version or kind, cut off or damaged, refused by the disk.
pub fn load<T: DeserializeOwned>(path: &Path, kind: &str) -> Result<T, StoreError> {
    let disk = |e| read_error(path, e);
    let (header, mut content) = open_content(path)?;
    let mut checked = BufReader::with_capacity(BUFFER_LENGTH, &mut content);
    header.check(path, kind, &mut checked)?;
    let length = header.length();
    let mut file = content.into_inner();
    file.seek(SeekFrom::Start(HEADER_LENGTH as u64))
        .map_err(disk)?;
    let decoded = decode_stream(BufReader::with_capacity(BUFFER_LENGTH, file.take(length)));
    decoded.map_err(|what| StoreError::Damaged {
        path: path.to_owned(),
        what,
    })
}

/// Decodes a value that takes up all of some bytes. On failure returns a description of the defect.
fn decode_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let config = bincode::config::standard().with_limit::<MAX_CONTENT_LENGTH>();
    let (value, used) = bincode::serde::decode_from_slice(bytes, config).map_err(error_text)?;
    check_consumed(value, used == bytes.len())
}

/// Decodes a value that takes up a whole stream. On failure returns a description of the defect.
///
/// The decoder looks into the buffer of the reader, which is as fast as decoding from memory.
fn decode_stream<T: DeserializeOwned>(mut content: BufReader<impl Read>) -> Result<T, String> {
    let config = bincode::config::standard().with_limit::<MAX_CONTENT_LENGTH>();
    let value = bincode::serde::decode_from_reader(&mut content, config).map_err(error_text)?;
    let left = content.fill_buf().map_err(|e| e.to_string())?;
    check_consumed(value, left.is_empty())
}

/// Returns a decoder's complaint without its internal names.
fn error_text(error: DecodeError) -> String {
    match error {
        DecodeError::OtherString(what) => what,
        DecodeError::Other(what) => what.into(),
        DecodeError::UnexpectedEnd { .. } => "its content ends too early".into(),
        DecodeError::Io { inner, .. } if inner.kind() == io::ErrorKind::UnexpectedEof => {
            "its content ends too early".into()
        }
        DecodeError::Io { inner, .. } => disk::reason(&inner),
        _ => "its content is not of a kind that Thew writes".into(),
    }
}

fn check_consumed<T>(value: T, all: bool) -> Result<T, String> {
    if all {
        Ok(value)
    } else {
        Err("it holds more than its content".into())
    }
}

/// Encodes a value as bytes that only the same format version reads.
pub(crate) fn pack<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    bytes.extend(bincode::serde::encode_to_vec(value, bincode::config::standard()).ok()?);
    Some(bytes)
}

/// Decodes the bytes of [`pack`]; `None` for any other bytes.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (version, content) = bytes.split_first_chunk()?;
    if u32::from_le_bytes(*version) != VERSION {
        return None;
    }
    decode_bytes(content).ok()
}

/// Opens a file of this version and returns its header, and its content with the length in the header.
fn open_content(path: &Path) -> Result<(Header, Take<File>), StoreError> {
    let disk = |source| read_error(path, source);
    let not_thew = || StoreError::NotThew {
        path: path.to_owned(),
    };
    let (mut file, length) = disk::open(path, u64::MAX).map_err(disk)?;
    let mut h = [0; HEADER_LENGTH];
    match file.read_exact(&mut h) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(not_thew()),
        Err(e) => return Err(disk(e)),
    }
    let found = length.saturating_sub(HEADER_LENGTH as u64);
    Ok((Header::open(path, h, found)?, file.take(found)))
}

#[cfg(test)]
mod tests {
    use super::header::checksum;
    use super::*;
    use crate::disk::tests::TestFolder;
    use std::fs;

    type TestRecord = (Vec<f64>, String, Option<Vec<u32>>);

    fn test_record() -> TestRecord {
        (vec![1.5, -0.0, 1e300], "bone.L é".into(), Some(vec![7; 40]))
    }

    /// A value that is saved is read back equal.
    #[test]
    fn load_reads_saved() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        save(&path, "body", &test_record()).unwrap();
        assert_eq!(load::<TestRecord>(&path, "body").unwrap(), test_record());
        save(
            &path,
            "body",
            &(Vec::<f64>::new(), "again", None::<Vec<u32>>),
        )
        .unwrap();
        assert_eq!(load::<TestRecord>(&path, "body").unwrap().1, "again");
        assert_eq!(folder.names().len(), 1, "no part is left behind");
    }

    /// A value decodes from a stream as from memory, and damaged bytes are refused by both.
    #[test]
    fn stream_decodes_as_memory() {
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(test_record(), config).unwrap();
        let both = |bytes: &[u8]| {
            (
                decode_bytes::<TestRecord>(bytes),
                decode_stream::<TestRecord>(BufReader::new(bytes)),
            )
        };
        assert_eq!(both(&bytes), (Ok(test_record()), Ok(test_record())));
        let longer = [&bytes[..], &[0]].concat();
        for damaged in [&longer[..], &bytes[..bytes.len() - 1]] {
            let (memory, stream) = both(damaged);
            assert!(memory.is_err() && stream.is_err());
        }
    }

    /// The bytes of a value are those of its file, and damaged ones are refused without a panic.
    #[test]
    fn bytes_equal_file_and_are_checked() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        let name = Path::new("the pickled body");
        save(&path, "body", &test_record()).unwrap();
        let bytes = to_bytes(name, "body", &test_record()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let read = |kind: &str, bytes: &[u8]| from_bytes::<TestRecord>(name, kind, bytes);
        assert_eq!(read("body", &bytes).unwrap(), test_record());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(read("body", &damaged).is_err(), "{at}");
            assert!(read("body", &bytes[..at]).is_err(), "{at}");
        }
        let said = read("clip", &bytes).unwrap_err().to_string();
        assert_eq!(said, "the pickled body holds a body, not a clip");
        let said = read("body", &[]).unwrap_err().to_string();
        assert_eq!(said, "the pickled body is not a Thew file");
        assert!(to_bytes(name, "no kind", &1u8).is_err());
    }

    /// Every byte that is flipped in a file is detected.
    #[test]
    fn load_detects_flipped_bytes() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        save(&path, "body", &test_record()).unwrap();
        let good = fs::read(&path).unwrap();
        for i in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[i] ^= flip;
                fs::write(&path, bad).unwrap();
                assert!(load::<TestRecord>(&path, "body").is_err(), "byte {i}");
            }
        }
    }

    /// Every file that is cut or extended is detected.
    #[test]
    fn load_detects_wrong_length() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        save(&path, "body", &test_record()).unwrap();
        let good = fs::read(&path).unwrap();
        for n in 0..good.len() {
            fs::write(&path, &good[..n]).unwrap();
            let e = load::<TestRecord>(&path, "body").unwrap_err();
            let noticed = matches!(e, StoreError::NotThew { .. } | StoreError::Length { .. });
            assert!(noticed, "{n}: {e}");
        }
        fs::write(&path, [good, vec![0]].concat()).unwrap();
        assert!(matches!(
            load::<TestRecord>(&path, "body"),
            Err(StoreError::Length { .. })
        ));
    }

    /// Content that claims a false length is refused.
    #[test]
    fn load_refuses_false_lengths() {
        // Valid header and checksum, but a vector that claims 2^60 elements.
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        let content = [[253].as_slice(), &(1u64 << 60).to_le_bytes()].concat();
        let header = build_header("body", &content).unwrap();
        fs::write(&path, [header.as_slice(), &content].concat()).unwrap();
        let e = load::<Vec<f64>>(&path, "body").unwrap_err();
        assert!(matches!(e, StoreError::Damaged { .. }), "{e}");
        // Content with additional bytes after its end.
        save(&path, "body", &(1u8, 2u8)).unwrap();
        let e = load::<u8>(&path, "body").unwrap_err();
        assert!(matches!(e, StoreError::Damaged { .. }), "{e}");
    }

    /// A file takes no more memory than its content needs, whatever its header claims.
    #[test]
    #[cfg(target_os = "linux")]
    fn load_limits_memory() {
        // Zeros in a sparse file, twice what may be held: once with a wrong checksum, once with the right one.
        const LENGTH: usize = 1 << 29;
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        let mut h = build_header("body", &[]).unwrap();
        h[28..36].copy_from_slice(&(LENGTH as u64).to_le_bytes());
        for right in [false, true] {
            if right {
                let mut nothing =
                    BufReader::with_capacity(BUFFER_LENGTH, io::repeat(0).take(LENGTH as u64));
                let sum = checksum(&h, &mut nothing).unwrap();
                h[36..40].copy_from_slice(&sum.to_le_bytes());
            }
            fs::write(&path, h).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len((HEADER_LENGTH + LENGTH) as u64).unwrap();
            let before = peak_memory();
            let e = load::<Vec<f64>>(&path, "body").unwrap_err().to_string();
            assert!(
                e.contains(if right {
                    "more than its content"
                } else {
                    "checksum"
                }),
                "{e}"
            );
            assert!(peak_memory() < before + LENGTH / 2, "{right}");
        }
    }

    /// Returns the most memory that this process has held so far, bytes.
    #[cfg(target_os = "linux")]
    fn peak_memory() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
        let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes << 10
    }

    /// Errors name files of another program, kind or version.
    #[test]
    fn load_names_wrong_files() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.thew");
        fs::write(&path, b"not a cache at all, but long enough for a header").unwrap();
        assert!(matches!(
            load::<u8>(&path, "body"),
            Err(StoreError::NotThew { .. })
        ));
        save(&path, "clip", &1u8).unwrap();
        let e = load::<u8>(&path, "body").unwrap_err().to_string();
        assert!(e.contains("holds a clip, not a body"), "{e}");
        let mut newer = fs::read(&path).unwrap();
        newer[8] = 99;
        fs::write(&path, newer).unwrap();
        let e = load::<u8>(&path, "clip").unwrap_err().to_string();
        assert!(e.contains("version 99"), "{e}");
    }

    /// A save that fails leaves no file behind.
    #[test]
    fn failed_save_leaves_no_file() {
        let folder = TestFolder::new();
        let missing = folder.0.join("no such folder").join("a.thew");
        assert!(matches!(
            save(&missing, "body", &1u8),
            Err(StoreError::Disk { .. })
        ));
        assert!(matches!(
            load::<u8>(&missing, "body"),
            Err(StoreError::Disk { .. })
        ));
        let taken = folder.0.join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(matches!(
            save(&taken, "body", &1u8),
            Err(StoreError::Disk { .. })
        ));
        assert!(load::<u8>(&taken, "body").is_err());
        assert!(matches!(
            save(Path::new("/"), "body", &1u8),
            Err(StoreError::Disk { .. })
        ));
        assert_eq!(folder.names().len(), 1);
        for kind in ["", "with space", "seventeen_letters"] {
            let e = save(&folder.0.join("b"), kind, &1u8).unwrap_err();
            assert!(matches!(e, StoreError::Unwritable { .. }), "{e}");
        }
    }
}
