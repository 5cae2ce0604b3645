//! A file for something new: the one rule of everything that makes a volume or a log by path.
//!
//! N1. What exists is not overwritten unasked: a file that holds anything but zeroes is refused, also behind a symbolic
//!     link. One that is in use is refused in any case.
//! N2. The file that is looked at is the one that is emptied: both go through one descriptor, not twice through a name.

use super::{FileDisk, FileOptions};
use crate::OpenError;
use ordo_rt::Rt;
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of one read in the search for bytes that are not zero.
const PIECE: usize = 1 << 20;

/// What becomes of a file that holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is made ([`OpenError::Exists`]).
    Refuse,
    /// What it holds is lost.
    Overwrite,
}

/// The file at `path` with `size` bytes of zeroes, made or emptied; `true` says that every byte is zero. A device keeps
/// its size and its contents, and the caller looks at these.
///
/// # Errors
/// When it cannot be made or is in use; [`OpenError::Exists`].
pub fn new_file(rt: &Rt, path: &Path, size: u64, existing: Existing) -> Result<(FileDisk, bool), OpenError> {
    let refused = |source| OpenError::Io { path: path.into(), source };
    let mut options = OpenOptions::new();
    // A pipe of this name shall answer, not wait for its other end.
    options.read(true).write(true).create(true).truncate(false).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path).map_err(refused)?;
    let found = file.metadata().map_err(refused)?;
    if found.is_file() {
        if found.len() > 0 {
            drop(FileDisk::open(rt, path, &FileOptions::default())?);
            if existing == Existing::Refuse && !is_blank(&file).map_err(refused)? {
                return Err(OpenError::Exists { path: path.into() });
            }
        }
        file.set_len(0).and_then(|()| file.set_len(size)).map_err(refused)?;
    }
    drop(file);
    Ok((FileDisk::open(rt, path, &FileOptions::default())?, found.is_file()))
}

/// Whether a file holds nothing but zeroes. Holes are zeroes, and are not read.
///
/// # Errors
/// When it cannot be read.
pub fn is_blank(file: &File) -> io::Result<bool> {
    let end = file.metadata()?.len();
    let mut bytes = vec![0; PIECE];
    let mut at = 0;
    while at < end {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(true),
            // A file system that does not report holes has none.
            Err(_) => at,
        };
        let read = file.read_at(&mut bytes, at)?;
        if read == 0 {
            return Ok(true);
        }
        if bytes[..read].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += read as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_overwritten_only_if_that_is_said() {
        let (rt, dir) = (Rt::real_time(), tempfile::tempdir().unwrap());
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let make = |path: &Path, existing| new_file(&rt, path, 8192, existing).map(|(_, zeroed)| zeroed);
        assert!(make(&link, Existing::Refuse).unwrap(), "a link to nothing makes the file that it names");
        assert!(make(&path, Existing::Refuse).unwrap(), "zeroes are nothing");
        for at in [0, 4095, 8191] {
            let text = [vec![0; at], b"x".to_vec()].concat();
            std::fs::write(&path, &text).unwrap();
            for name in [&path, &link] {
                assert!(matches!(make(name, Existing::Refuse), Err(OpenError::Exists { .. })), "{at}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), text, "a refusal changes nothing");
        }
        let used = FileDisk::open(&rt, &path, &FileOptions::default());
        assert!(used.is_ok());
        assert!(matches!(make(&link, Existing::Overwrite), Err(OpenError::Locked { .. })), "it is in use");
        drop(used);
        assert!(make(&link, Existing::Overwrite).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), [0; 8192]);
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(make(&pipe, Existing::Overwrite), Err(OpenError::NotADisk { .. })), "and no wait");
    }
}
