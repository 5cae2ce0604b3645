//! Reclaiming what a crash of soft updates has leaked, while the volume is mounted and in use (McKusick 2002, "Running
//! fsck in the background", without a snapshot: the scan reads the live volume, and is notified of changes).
//!
//! It is the background worker ([`ordo_ufs::Worker`]) of a volume of FFS, the observer of its names
//! ([`ordo_ufs::Observer`]), and the watcher of its tickets (`Ledger::watch`). The layout has the list of fragments
//! that may have leaked, and the maps to free them in.
//!
//! Something has leaked if it was marked used at the mount, nothing refers to it, and no call has touched it since. The
//! scan goes through the inodes (what do they point to, which link counts do they have?), then through the tree (how
//! many names has each?), then it frees what was not referred to, inodes first.
//!
//! R1. A live change makes nothing look leaked. For blocks that is the layout's rule (ffs-leaks-1). For inodes:
//!     what was allocated since the mount is not a suspect, and what was freed since is not one any more.
//! R2. The counted names are at any time exactly the entries in the scanned part of the tree: a call that enters,
//!     redirects or clears a name notifies the scan while it holds the directory exclusively. The scan reads a block of
//!     a directory while it holds that directory shared. An entry never moves (dirhash-2), so the scanned part of a
//!     directory ends at a byte.
//! R3. A count is compared with names, links that wait to be dropped included, while no call that changes names runs
//!     ([`ordo_ufs::Access::call_alone`]). Within such a call a count is ahead of its names (engine-ufs-1), and
//!     would be lowered below them.
//! R4. A count is lowered, never raised; the surplus are names that the crash lost. Soft updates never leaves a count
//!     that is too low, a name that leads nowhere, or a wild pointer. The scan looks for these before it frees
//!     anything. If it finds one, it stops, and the volume needs fsck.
//! R5. Directories without names are freed first, each durably before what it names. Otherwise the next crash could
//!     find a directory in which an entry names an inode that another file owns by then.
//! R6. Each step is bounded, and calls may run between two steps. An unmount stops the scan after its current step. The
//!     volume is then as the crash left it, less what was freed, and the next mount begins anew.
//!
//! Where to start reading: `reclaimer`, then its passes in their order: `survey`, `walk`, `verdict`. `scan` is what the
//! passes and the notifications know together.

#![forbid(unsafe_code)]

mod names;
mod progress;
mod reclaimer;
mod scan;
mod survey;
mod verdict;
mod walk;

pub use progress::{Phase, Progress};
pub use reclaimer::Reclaimer;
