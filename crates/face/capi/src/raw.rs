//! The pointers of C callers: the only place where they are used.
//!
//! R1. What the header asks of a caller is what the unsafe blocks rely on: a text ends with a zero byte, a buffer has
//!     the length that is given with it, and both stay valid and unchanged by others until the call returns.
//! R2. A null pointer is never followed: it is EINVAL, or an empty buffer of length 0.

// This and `abi` are the only files of the crate with unsafe code.
#![allow(unsafe_code)]

use crate::failure::{Failure, Result};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn text<'a>(text: *const c_char) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(Failure::new(Errno::INVAL, "a null pointer where a text is wanted"));
    }
    // SAFETY: it is not null, and ends with a zero byte (R1). The result is not kept beyond the call (face-capi-4 of
    // the crate).
    Ok(unsafe { CStr::from_ptr(text) })
}

/// A path of the caller.
pub(crate) fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    Ok(Path::new(OsStr::from_bytes(text(path)?.to_bytes())))
}

/// A list of options of the caller; null is an empty one.
pub(crate) fn options<'a>(options: *const c_char) -> Result<&'a str> {
    if options.is_null() {
        return Ok("");
    }
    text(options)?.to_str().map_err(|_| Failure::new(Errno::INVAL, "the options are not UTF-8"))
}

fn is_buffer(null: bool, len: usize) -> Result<()> {
    match (null, isize::try_from(len)) {
        (true, _) if len > 0 => Err(Failure::new(Errno::INVAL, "a null pointer where a buffer is wanted")),
        (_, Err(_)) => Err(Failure::new(Errno::INVAL, "the buffer is larger than memory can be")),
        _ => Ok(()),
    }
}

/// Bytes that the caller gives.
pub(crate) fn given<'a>(data: *const u8, len: usize) -> Result<&'a [u8]> {
    is_buffer(data.is_null(), len)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: it is not null, `len` bytes from it are readable and nobody changes them meanwhile (R1), and `len` fits
    // isize. Any bytes are valid `u8`.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Copies `bytes` into the caller's buffer of `len` bytes, as many as fit; returns how many.
pub(crate) fn fill(buffer: *mut u8, len: usize, bytes: &[u8]) -> Result<usize> {
    is_buffer(buffer.is_null(), len)?;
    let count = bytes.len().min(len);
    if count > 0 {
        // SAFETY: it is not null, `count` bytes from it are writable (R1), and `bytes`, which is ours, does not overlap
        // a buffer of the caller.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, count) };
    }
    Ok(count)
}

/// Puts a value where the caller wants it.
pub(crate) fn put<T: Copy>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Failure::new(Errno::INVAL, "a null pointer where a structure is wanted"));
    }
    // SAFETY: it is not null and points to a writable, aligned `T` (R1: the header declares the type). What was there
    // needs no drop: `T` is `Copy`.
    unsafe { to.write(value) };
    Ok(())
}
