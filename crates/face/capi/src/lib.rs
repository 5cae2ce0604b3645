//! The interface for C programs: `libordofs.so`, `libordofs.a` and `include/ordofs.h`.
//!
//! C1. A handle is a number in a table, and no pointer: a wrong or closed one is EBADF, never memory of something else.
//! C2. No panic crosses the border: `failure::guard` turns one into EIO with a text. (A program that is built with
//!     `panic = "abort"` ends instead.)
//! C3. The error of a call belongs to the thread that made it, as `errno`.
//! C4. Pointers of the caller are used in `raw` alone, before a call returns; none is kept. The exported functions in
//!     `abi` only translate; what they do is in `calls`, which is safe.

// Not `forbid`: `raw` uses pointers of the caller, and `abi` exports names. No other file may be unsafe.
#![deny(unsafe_code)]
#![allow(unreachable_pub, reason = "what C reaches is `pub` for cbindgen, and no crate of Rust links this")]

mod abi;
mod calls;
mod failure;
mod flags;
mod handles;
mod raw;
