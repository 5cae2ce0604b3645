//! The explorer survives a panic of what it tries.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic becomes an error.
pub(crate) fn guarded<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(panic) => {
            let what =
                panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", what.unwrap_or("no message")))
        }
    }
}
