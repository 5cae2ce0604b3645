//! The update-ordering schemes, one folder each, behind [`ordo_buf::Scheme`].
//!
//! All of them keep, or give up, the same three rules (Ganger and Patt 1994, section 1):
//!
//! 1. Never point to a structure before it has been initialised on the disk.
//! 2. Never reuse a resource before all earlier pointers to it are cleared on the disk.
//! 3. Never clear the last pointer to a live resource before a new one has been set on the disk.
//!
//! The engine performs every call in an order that keeps them if each step is durable before the next (rule seam-0 of
//! [`ordo_buf::Scheme`]). A scheme decides what to wait for, and what else keeps the order instead.
//!
//! Beside the core of that trait a scheme may have capabilities ([`ordo_buf::Capabilities`]). `Lock` is no trait but
//! the setting `while_leaving`: a buf is locked while its image is in flight.
//!
//! | scheme | capabilities |
//! | --- | --- |
//! | `async` | none |
//! | `sync`, `conventional` | `Lock` |
//! | `flag-*` | `OrdersQueue`; without `-cb` `Lock` |
//! | `chains-*` | `OrdersQueue`, `TracksInodes`; without `-cb` `Lock` |
//! | `softupdates` | `Defers`, `TracksBufs`, `TracksInodes`, `Explains` |
//! | `suj` | `KeepsLog`, `Defers`, `TracksBufs`, `TracksInodes`, `Explains` |
//! | `journal-file`, `wafs`, `block-journal`, `active` | `KeepsLog`, `SeesChanges`, `Defers`, `TracksBufs`, `Explains` |

#![forbid(unsafe_code)]

mod async_;
mod chains;
mod conventional;
mod flags;
mod journals;
mod list;
mod new_names;
mod records;
mod rules;
mod settings;
mod softupdates;
mod suj;
mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod words;

pub use async_::NoOrder;
pub use chains::{Chains, Freeing};
pub use conventional::Conventional;
pub use flags::Flagged;
pub use list::{ALL, AT_ONCE, DEFAULT, IN_NO_ORDER, JOURNALED, Known, NoRule, by_name, to_use};
pub use rules::{RuleNames, Rules};
pub use settings::{AllocInit, Checkpoint, DataMode, LogMode, Settings};
pub use softupdates::SoftUpdates;
pub use suj::Suj;
pub use sync::Synchronous;
pub use words::{Fragments, Frees, InWords};
