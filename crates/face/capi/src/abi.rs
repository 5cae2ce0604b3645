//! The exported functions, which the header declares: each translates pointers and numbers, and calls `calls`.
//!
//! B1. An exported name is the only unsafe thing here: `#[unsafe(no_mangle)]` would hide another function of that name
//!     in the same program, and each name begins with `ordofs_`. Pointers go to `raw` as they are.

// This and `raw` are the only files of the crate with unsafe code.
#![allow(unsafe_code)]
// The header says what a caller must keep; `raw` relies on it.
#![allow(clippy::not_unsafe_ptr_arg_deref, reason = "`raw` checks for null, and relies on the header otherwise")]

use crate::calls::{self, ordofs_entry, ordofs_stat};
use crate::failure::{self, guard};
use crate::raw;
use ordofs::vfs::Mode;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

/// A fact of the build: a version has no zero byte, and this text ends with one.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version with a zero byte in it"),
};

/// A number of the library as a number of C. Handles and small answers fit.
fn number(result: i64) -> c_int {
    c_int::try_from(result).unwrap_or(c_int::MAX)
}

/// Nothing but success.
fn done(result: failure::Result<()>) -> failure::Result<i64> {
    result.map(|()| 0)
}

/// The version of the library, as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The errno value of this thread's last call that failed.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_errno() -> c_int {
    failure::errno()
}

/// The text of this thread's last call that failed; valid until the next one that fails.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_error() -> *const c_char {
    failure::text()
}

/// Makes a volume of `bytes` bytes in the file `image`. `kind` is "ufs2" or "lfs"; null means ufs2. A file that is
/// there and holds anything but zeroes stays, and so does a device with something on it: the call fails with EEXIST,
/// unless the word overwrite follows, as in "ufs2,overwrite" or "overwrite".
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_create(image: *const c_char, bytes: u64, kind: *const c_char) -> c_int {
    number(guard(|| done(calls::create(raw::path(image)?, bytes, raw::options(kind)?))))
}

/// Opens the volume in a file, a device or a partition ("disk.img@p2"). `options` are those of ordo mount -o, as
/// "ro,scheme=sync,cache=64M"; null means none. Returns the volume's number.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_open(image: *const c_char, options: *const c_char) -> c_int {
    number(guard(|| Ok(calls::open(raw::path(image)?, raw::options(options)?)?.into())))
}

/// Writes everything, marks the volume clean and closes it. Files that are open are closed.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_close(volume: c_int) -> c_int {
    number(guard(|| done(calls::close(volume))))
}

/// Makes everything durable.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_sync(volume: c_int) -> c_int {
    number(guard(|| done(calls::sync(volume))))
}

/// The attributes of a file.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_stat(volume: c_int, path: *const c_char, to: *mut ordofs_stat) -> c_int {
    number(guard(|| {
        let attr = calls::at(volume, raw::path(path)?, |volume, path| Ok(*volume.metadata(path)?.attr()))?;
        done(raw::put(to, ordofs_stat::of(&attr)))
    }))
}

/// The same, of a symbolic link itself.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_lstat(volume: c_int, path: *const c_char, to: *mut ordofs_stat) -> c_int {
    number(guard(|| {
        let attr = calls::at(volume, raw::path(path)?, |volume, path| Ok(*volume.symlink_metadata(path)?.attr()))?;
        done(raw::put(to, ordofs_stat::of(&attr)))
    }))
}

/// Reads a directory, without . and ..; returns the number of a list, which ordofs_readdir() goes through.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_listdir(volume: c_int, path: *const c_char) -> c_int {
    number(guard(|| Ok(calls::listdir(volume, raw::path(path)?)?.into())))
}

/// The next entry of a list: 1, or 0 at its end.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_readdir(list: c_int, to: *mut ordofs_entry) -> c_int {
    number(guard(|| match calls::next(list)? {
        Some(entry) => raw::put(to, entry).map(|()| 1),
        None => Ok(0),
    }))
}

/// Forgets a list.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_closedir(list: c_int) -> c_int {
    number(guard(|| done(calls::close_list(list))))
}

/// Makes a directory.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_mkdir(volume: c_int, path: *const c_char, mode: u32) -> c_int {
    number(guard(|| done(calls::mkdir(volume, raw::path(path)?, mode))))
}

/// Removes an empty directory.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_rmdir(volume: c_int, path: *const c_char) -> c_int {
    number(guard(|| done(calls::at(volume, raw::path(path)?, |volume, path| volume.remove_dir(path)))))
}

/// Removes a name that is not a directory.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_unlink(volume: c_int, path: *const c_char) -> c_int {
    number(guard(|| done(calls::at(volume, raw::path(path)?, |volume, path| volume.remove_file(path)))))
}

/// Renames; what the new name named before is replaced.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_rename(volume: c_int, from: *const c_char, to: *const c_char) -> c_int {
    number(guard(|| {
        let (from, to) = (raw::path(from)?, raw::path(to)?);
        done(calls::between(volume, from, to, |volume, from, to| volume.rename(from, to)))
    }))
}

/// Gives a file another name.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_link(volume: c_int, from: *const c_char, to: *const c_char) -> c_int {
    number(guard(|| {
        let (from, to) = (raw::path(from)?, raw::path(to)?);
        done(calls::between(volume, from, to, |volume, from, to| volume.hard_link(from, to)))
    }))
}

/// Makes a symbolic link at `path`, to `target`.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_symlink(volume: c_int, target: *const c_char, path: *const c_char) -> c_int {
    number(guard(|| {
        let (target, path) = (raw::path(target)?, raw::path(path)?);
        done(calls::between(volume, target, path, |volume, target, path| volume.symlink(target, path)))
    }))
}

/// The target of a symbolic link: as many bytes as fit, without a zero byte. Returns how many.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_readlink(volume: c_int, path: *const c_char, buffer: *mut c_char, len: usize) -> i64 {
    guard(|| {
        let target = calls::at(volume, raw::path(path)?, |volume, path| volume.read_link(path))?;
        Ok(raw::fill(buffer.cast(), len, target.as_os_str().as_bytes())? as i64)
    })
}

/// Sets the permission bits.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_chmod(volume: c_int, path: *const c_char, mode: u32) -> c_int {
    number(guard(|| {
        let mode = Mode::new(mode);
        done(calls::at(volume, raw::path(path)?, move |volume, path| volume.set_permissions(path, mode)))
    }))
}

/// Opens a file with the flags ORDOFS_*; `mode` is for a new one. Returns the file's number.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_open_file(volume: c_int, path: *const c_char, flags: u32, mode: u32) -> c_int {
    number(guard(|| Ok(calls::open_file(volume, raw::path(path)?, flags, mode)?.into())))
}

/// Closes a file.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_close_file(file: c_int) -> c_int {
    number(guard(|| done(calls::close_file(file))))
}

/// Reads from the position, and moves it. Returns how many bytes; fewer than `len` only at the end.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_read(file: c_int, buffer: *mut c_void, len: usize) -> i64 {
    guard(|| {
        let count =
            calls::read(file, len, |done, bytes| raw::fill(buffer.cast::<u8>().wrapping_add(done), len - done, bytes))?;
        Ok(count as i64)
    })
}

/// Writes all of `data` at the position, and moves it. Returns `len`.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_write(file: c_int, data: *const c_void, len: usize) -> i64 {
    guard(|| Ok(calls::write(file, raw::given(data.cast(), len)?)? as i64))
}

/// Reads from `offset`; the position does not change.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_pread(file: c_int, buffer: *mut c_void, len: usize, offset: i64) -> i64 {
    guard(|| {
        let take = |done, bytes: &[u8]| raw::fill(buffer.cast::<u8>().wrapping_add(done), len - done, bytes);
        Ok(calls::pread(file, len, calls::place(offset)?, take)? as i64)
    })
}

/// Writes all of `data` at `offset`; the position does not change.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_pwrite(file: c_int, data: *const c_void, len: usize, offset: i64) -> i64 {
    guard(|| Ok(calls::pwrite(file, raw::given(data.cast(), len)?, calls::place(offset)?)? as i64))
}

/// Moves the position; `whence` as for lseek(2): 0 from the beginning, 1 from the position, 2 from the end.
/// Returns the new position.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_seek(file: c_int, offset: i64, whence: c_int) -> i64 {
    guard(|| Ok(calls::seek(file, offset, whence)? as i64))
}

/// Truncates an open file, or extends it with a hole.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_ftruncate(file: c_int, size: i64) -> c_int {
    number(guard(|| {
        let size = calls::place(size)?;
        done(calls::of_file(file, |file| file.set_len(size)))
    }))
}

/// Makes what was written to a file durable, and its name.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_fsync(file: c_int) -> c_int {
    number(guard(|| done(calls::of_file(file, |file| file.sync_all()))))
}

/// The same, without times.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_fdatasync(file: c_int) -> c_int {
    number(guard(|| done(calls::of_file(file, |file| file.sync_data()))))
}

/// The attributes of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn ordofs_fstat(file: c_int, to: *mut ordofs_stat) -> c_int {
    number(guard(|| {
        let attr = calls::of_file(file, |file| Ok(*file.metadata()?.attr()))?;
        done(raw::put(to, ordofs_stat::of(&attr)))
    }))
}
