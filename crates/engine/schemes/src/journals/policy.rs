//! The journals as policies of one mechanism: which log, when a call returns, which contents are logged.

use super::Journal;
use super::blocks::Blocks;
use super::redo::Redo;
use crate::{Checkpoint, DataMode, LogMode, Settings};
use ordo_buf::{LogKind, Scheme};
use ordo_ondisk::superblock::Keeper;
use std::rc::Rc;
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

/// The scheme `block-journal`.
pub(crate) fn of_blocks(settings: &Settings) -> Rc<dyn Scheme> {
    blocks(settings, Keeper::OF_BLOCKS, LogKind::Redo)
}

/// The scheme `active`: the same transactions, on a disk that keeps what they have as copies.
pub(crate) fn active(settings: &Settings) -> Rc<dyn Scheme> {
    blocks(settings, Keeper::ACTIVE, LogKind::Active)
}

fn blocks(settings: &Settings, name: &'static str, kind: LogKind) -> Rc<dyn Scheme> {
    let policy = Policy {
        name,
        kind,
        mode: settings.log_mode.unwrap_or(LogMode::Async),
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(5)),
        calls: u32::MAX,
        restless: false,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Blocks>::new(policy, settings.dropped()))
}

/// The scheme `journal-file`.
pub(crate) fn in_file(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy {
        name: "journal-file",
        kind: LogKind::Redo,
        mode: LogMode::Async,
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(1)),
        calls: CALLS_OF_A_CLUSTER,
        restless: true,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Redo>::new(policy, settings.dropped()))
}

/// The scheme `wafs`.
pub(crate) fn in_wafs(settings: &Settings) -> Rc<dyn Scheme> {
    let policy = Policy {
        name: "wafs",
        kind: LogKind::Redo,
        mode: settings.log_mode.unwrap_or_default(),
        data: settings.data.unwrap_or_default(),
        commit: settings.commit.unwrap_or(Duration::from_secs(1)),
        calls: CALLS,
        restless: false,
        home_at_once: settings.checkpoint == Some(Checkpoint::AtOnce),
    };
    Rc::new(Journal::<Redo>::new(policy, settings.dropped()))
}
