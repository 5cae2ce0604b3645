//! The journals as policies of one mechanism: which log, when a call returns, which contents are logged.

use crate::{Checkpoint, DataMode, LogMode, Settings};
use ordo_buf::LogKind;
use std::time::Duration;

/// How a journal of this kind works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// Its name.
    pub(crate) name: &'static str,
    /// When a call returns.
    pub(crate) mode: LogMode,
    /// Which contents of files are logged, or awaited.
    pub(crate) data: DataMode,
    /// How long changes may be only in memory, if no call waits for them.
    pub(crate) commit: Duration,
    /// Calls after which a transaction is captured, if no call waits.
    pub(crate) calls: u32,
    /// The log records each second where it starts, so that a replay is short; otherwise only when that frees enough of
    /// it.
    pub(crate) restless: bool,
    /// Durable transactions are checkpointed at once, not when the syncer or a full log demands it.
    pub(crate) home_at_once: bool,
    /// The kind of its log.
    pub(crate) kind: LogKind,
}

/// Calls per transaction if no call waits, in `wafs`: so many calls that make and remove empty files fill two blocks of
/// 4 KiB in the log.
const CALLS: u32 = 256;

/// The same in `journal-file`, which writes its log in clusters of 64 KiB: so many calls on empty files fill 60 of
/// them.
const CALLS_OF_A_CLUSTER: u32 = 3200;

impl Policy {
    fn of(settings: &Settings, name: &'static str, kind: LogKind, commit: u64) -> Policy {
        Policy {
            name,
            mode: LogMode::Async,
            data: settings.data.unwrap_or_default(),
            commit: settings.commit.unwrap_or(Duration::from_secs(commit)),
            calls: u32::MAX,
            restless: false,
            home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
            kind,
        }
    }

    /// Of `block-journal` and `active`.
    pub(crate) fn of_blocks(settings: &Settings, name: &'static str, kind: LogKind) -> Policy {
        Policy { mode: settings.log_mode.unwrap_or(LogMode::Async), ..Policy::of(settings, name, kind, 5) }
    }

    /// Of `journal-file`.
    pub(crate) fn in_file(settings: &Settings) -> Policy {
        let policy = Policy::of(settings, "journal-file", LogKind::Redo, 1);
        Policy { calls: CALLS_OF_A_CLUSTER, restless: true, ..policy }
    }

    /// Of `wafs`.
    pub(crate) fn in_wafs(settings: &Settings) -> Policy {
        let policy = Policy::of(settings, "wafs", LogKind::Redo, 1);
        Policy { mode: settings.log_mode.unwrap_or_default(), calls: CALLS, ..policy }
    }
}
