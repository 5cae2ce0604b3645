//! The error of a call, kept for the thread that made it.

use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An errno value and a text.
#[derive(Debug)]
pub(crate) struct Failure {
    errno: i32,
    text: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(errno: Errno, text: impl Into<String>) -> Failure {
        Failure { errno: errno.raw_os_error(), text: text.into() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure { errno: ordo_vfs::errno_of(&error), text: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<(i32, CString)> = RefCell::new((0, CString::default()));
}

/// The number of this thread's last failure.
pub(crate) fn errno() -> i32 {
    LAST.with(|last| last.borrow().0)
}

/// Its text: valid until the next call of this thread that fails.
pub(crate) fn text() -> *const c_char {
    LAST.with(|last| last.borrow().1.as_ptr())
}

/// The result of a call for C: -1 for a failure, which is kept, and for a panic (face-capi-2 of the crate).
pub(crate) fn guard(call: impl FnOnce() -> Result<i64>) -> i64 {
    // What a panic leaves half done is on the volume's thread, which ends by it; the tables here change in one step.
    let result = catch_unwind(AssertUnwindSafe(call));
    let result = result.unwrap_or_else(|_| Err(Failure::new(Errno::IO, "a defect of OrdoFS: it panicked")));
    result.unwrap_or_else(|failure| {
        // A zero byte cannot be in a C text; an error's text has none but through a name that does.
        let text = CString::new(failure.text.replace('\0', "\u{fffd}")).unwrap_or_default();
        LAST.with(|last| *last.borrow_mut() = (failure.errno, text));
        -1
    })
}
