// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files on disk: read within a limit, written whole or not at all.
//!
//! Only plain files are opened: a device or a pipe may have no end or never begin. A file is written next to its place under
//! another name, and renamed when complete, so a full disk or a crash never leaves half a file. The replaced file keeps its mode
//! and the symbolic links that lead to it. Another name of it (a hard link) keeps the old content, since a file with two names
//! cannot be replaced as a whole. The next write to the same place removes partial files of killed processes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Opens a plain file of at most `longest` bytes and returns it with its length.
pub(crate) fn open(path: &Path, longest: u64) -> io::Result<(File, u64)> {
    // Opening a pipe waits for its other end: look before.
    check_plain_file(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    let about = file.metadata()?;
    check_plain_file(&about)?;
    let length = about.len();
    if length > longest {
        let what = format!("it is {length} bytes long, more than {longest}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok((file, length))
}

/// Returns the reason why a file could be neither read nor written, and a remedy.
pub(crate) fn reason(error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder; check the path",
        io::ErrorKind::IsADirectory => "it is a folder; name a file in it",
        io::ErrorKind::NotADirectory => {
            "a part of its path is a file, not a folder; check the path"
        }
        io::ErrorKind::PermissionDenied => {
            "it is not permitted; change its permissions, or choose another place"
        }
        io::ErrorKind::StorageFull => "the disk is full; free some space, or choose another place",
        io::ErrorKind::ReadOnlyFilesystem => "nothing can be written there; choose another place",
        _ => return error.to_string(),
    };
    remedy.to_owned()
}

fn check_plain_file(about: &fs::Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let what = "it is not a plain file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Reads a plain file of at most `longest` bytes.
pub(crate) fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let (file, length) = open(path, longest)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the text of a file, or the line at which its bytes are not text (UTF-8).
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, usize> {
    String::from_utf8(bytes).map_err(|e| line_of(e.as_bytes(), e.utf8_error().valid_up_to()))
}

/// Returns the line, from 1, of a byte of a text.
pub(crate) fn line_of(text: &[u8], byte: usize) -> usize {
    1 + text.iter().take(byte).filter(|&&b| b == b'\n').count()
}

/// Writes files under other names and renames all of them when they are complete.
pub(crate) fn write_together(files: &[(&Path, &[&[u8]])]) -> io::Result<()> {
    let write = |parts: &[&[u8]], file: &mut File| parts.iter().try_for_each(|p| file.write_all(p));
    let mut writers: Vec<_> = files
        .iter()
        .map(|(_, parts)| move |file: &mut File| write(parts, file))
        .collect();
    let mut streams: Vec<(&Path, &mut ContentWriter)> = files
        .iter()
        .zip(&mut writers)
        .map(|((path, _), writer)| (*path, writer as &mut ContentWriter))
        .collect();
    write_streams(&mut streams)
}

/// Writes the content of a file, bit by bit.
pub(crate) type ContentWriter<'a> = dyn FnMut(&mut File) -> io::Result<()> + 'a;

/// Writes files, in order, as [`write_together`] does, whose content never is in memory as a whole.
pub(crate) fn write_streams(files: &mut [(&Path, &mut ContentWriter)]) -> io::Result<()> {
    let mut written: Vec<(PathBuf, FileDestination)> = Vec::new();
    let all = (|| {
        for (path, write) in files {
            let place = FileDestination::for_path(path)?;
            remove_abandoned_parts(&place.path);
            let name = part_name(&place.path)?;
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&name)?;
            let replaces = place.replaces.clone();
            written.push((name, place));
            write(&mut file)?;
            if let Some(about) = replaces {
                file.set_permissions(about.permissions())?;
            }
            file.sync_all()?;
        }
        written
            .iter()
            .try_for_each(|(part, place)| place.replace_with(part))
    })();
    if all.is_err() {
        // The first error is the relevant one; a partial file that cannot be removed does no harm.
        for (part, _) in &written {
            let _ = fs::remove_file(part);
        }
    }
    all
}

/// Destination of a file.
struct FileDestination {
    /// Path with all symbolic links followed.
    path: PathBuf,
    /// Metadata of the existing file.
    replaces: Option<fs::Metadata>,
}

impl FileDestination {
    /// Checks, before anything is written, for what a rename would refuse.
    fn for_path(path: &Path) -> io::Result<Self> {
        let path = follow_links(path)?;
        let replaces = match fs::metadata(&path) {
            Ok(about) => Some(about),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        replaces.as_ref().map_or(Ok(()), check_plain_file)?;
        Ok(Self { path, replaces })
    }

    /// Moves a complete part here.
    fn replace_with(&self, part: &Path) -> io::Result<()> {
        fs::rename(part, &self.path)
    }
}

/// Age after which an unchanged partial file counts as abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(15 * 60);

/// Removes partial files of killed processes for a path. Files that cannot be removed do no harm.
fn remove_abandoned_parts(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let start = format!(".{}.", name.to_string_lossy());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let part = name
            .to_str()
            .and_then(|n| n.strip_prefix(&start)?.strip_suffix(".part"));
        let numbers = |part: &str| {
            part.split('-').count() == 2
                && part
                    .split('-')
                    .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let age = entry.metadata().and_then(|about| about.modified());
        let age = age.ok().and_then(|at| at.elapsed().ok());
        if part.is_some_and(numbers) && age.is_some_and(|age| age > ABANDONED_AGE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Follows symbolic links, which may lead to a missing file.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    /// Maximum number of links, as in Linux.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = match path.parent() {
                    Some(folder) => folder.join(target),
                    None => target,
                };
            }
            _ => return Ok(path),
        }
    }
    let what = "its symbolic links go round in a circle";
    Err(io::Error::other(what))
}

/// Returns a name next to a path that no other write uses.
fn part_name(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(".{}-{count}.part", std::process::id()));
    Ok(path.with_file_name(part))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A folder of its own for each test, removed afterwards.
    pub(crate) struct TestFolder(pub PathBuf);

    impl TestFolder {
        pub fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name = format!(
                "thew-{}-{}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            );
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        pub fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, text).unwrap();
            path
        }

        /// Returns the names of its files, sorted.
        pub fn names(&self) -> Vec<String> {
            let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
            let names: Result<Vec<String>, _> = fs::read_dir(&self.0).unwrap().map(name).collect();
            let mut names = names.unwrap();
            names.sort();
            names
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, text: &str) -> io::Result<()> {
        write_together(&[(path, &[text.as_bytes()])])
    }

    /// A file beyond the limit is not read.
    #[test]
    fn read_refuses_large_files() {
        let folder = TestFolder::new();
        let path = folder.0.join("a");
        write(&path, "twelve bytes").unwrap();
        assert_eq!(read(&path, 12).unwrap(), b"twelve bytes");
        assert_eq!(
            read(&path, 11).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(
            read(&folder.0, 11).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
    }

    /// Files without an end, such as devices, are not opened.
    #[test]
    #[cfg(unix)]
    fn special_files_are_refused() {
        let e = read(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(e.to_string(), "it is not a plain file");
        let e = write(Path::new("/dev/null"), "lost").unwrap_err();
        assert_eq!(e.to_string(), "it is not a plain file");
    }

    /// A write clears old part files that killed writes left.
    #[test]
    fn old_parts_are_cleared() {
        let folder = TestFolder::new();
        let left = |name: &str, seconds: u64| {
            let path = folder.write(name, "half");
            let file = OpenOptions::new().write(true).open(path).unwrap();
            let long_ago = std::time::SystemTime::now() - Duration::from_secs(seconds);
            file.set_modified(long_ago).unwrap();
        };
        left(".a.123-4.part", 3600);
        left(".a.124-0.part", 60); // may still be written
        left(".b.123-4.part", 3600); // of another file
        left(".a.mine.part", 3600);
        left(".a.1-2-3.part", 3600);
        write(&folder.0.join("a"), "whole").unwrap();
        let expected = [
            ".a.1-2-3.part",
            ".a.124-0.part",
            ".a.mine.part",
            ".b.123-4.part",
            "a",
        ];
        assert_eq!(folder.names(), expected);
    }

    /// A file that is replaced keeps its mode and the links to it.
    #[test]
    #[cfg(unix)]
    fn write_keeps_mode_and_links() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let folder = TestFolder::new();
        let at = |name: &str| folder.0.join(name);
        fs::create_dir(at("inside")).unwrap();
        write(&at("inside/file"), "old").unwrap();
        fs::set_permissions(at("inside/file"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("inside/file", at("link")).unwrap();
        symlink("link", at("link of a link")).unwrap();
        write(&at("link of a link"), "new").unwrap();
        assert!(at("link").is_symlink() && at("link of a link").is_symlink());
        assert_eq!(fs::read(at("inside/file")).unwrap(), b"new");
        assert_eq!(
            fs::metadata(at("inside/file")).unwrap().mode() & 0o777,
            0o640
        );

        fs::hard_link(at("inside/file"), at("other name")).unwrap();
        write(&at("other name"), "newest").unwrap();
        // Whole or not at all: a file cannot be replaced under two names at once.
        assert_eq!(fs::read(at("other name")).unwrap(), b"newest");
        assert_eq!(fs::read(at("inside/file")).unwrap(), b"new");
        assert_eq!(fs::metadata(at("other name")).unwrap().nlink(), 1);

        symlink("not there yet", at("dangling")).unwrap();
        write(&at("dangling"), "now").unwrap();
        assert_eq!(fs::read(at("not there yet")).unwrap(), b"now");
        symlink("round", at("round")).unwrap();
        assert!(write(&at("round"), "never").is_err());
        assert_eq!(folder.names().len(), 7, "no part is left behind");
        assert_eq!(fs::read_dir(at("inside")).unwrap().count(), 1);
    }
}
