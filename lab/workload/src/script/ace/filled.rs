//! Core operations, and all ways to fill in their parameters.

use super::names::{A, AC, B, FIRST, Node, Places, SECOND};
use crate::random::falloc_word;
use ordo_vfs::FallocMode;
use std::fmt;

/// An operation that a skeleton is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Core {
    Creat,
    Mkdir,
    Falloc,
    Write,
    DirectWrite,
    MmapWrite,
    Link,
    Unlink,
    Remove,
    Rename,
    SetXattr,
    RemoveXattr,
    Truncate,
}

impl Core {
    /// ACE's 13.
    pub const ALL: [Core; 13] = [
        Core::Creat,
        Core::Mkdir,
        Core::Falloc,
        Core::Write,
        Core::DirectWrite,
        Core::MmapWrite,
        Core::Link,
        Core::Unlink,
        Core::Remove,
        Core::Rename,
        Core::SetXattr,
        Core::RemoveXattr,
        Core::Truncate,
    ];
}

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// 32 KiB at the end.
    Append,
    /// This many bytes from the start.
    Start(u32),
    /// 5000 bytes, of which the first 2000 exist.
    Extend,
}

const RANGES: [Range; 3] = [Range::Append, Range::Start(5000), Range::Extend];
/// Ranges in whole pages, for direct writes and mappings.
const PAGES: [Range; 2] = [Range::Append, Range::Start(8192)];
/// Sizes to which files are truncated, or extended if they are shorter.
const SIZES: [u64; 2] = [0, 2500];

const MODES: [FallocMode; 5] = [
    FallocMode::ZeroRange { keep_size: false },
    FallocMode::ZeroRange { keep_size: true },
    FallocMode::PunchHole,
    FallocMode::Allocate { keep_size: true },
    FallocMode::Allocate { keep_size: false },
];

/// How an operation changes a file without adding, moving or removing a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Falloc(FallocMode, Range),
    Write(Range),
    MmapWrite(Range),
    SetXattr,
    RemoveXattr,
    Truncate(u64),
}

/// The effect of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Creat(Node),
    Mkdir(Node),
    Link(Node, Node),
    Rename(Node, Node),
    Unlink { place: Node, held: bool },
    Change(Node, Change),
}

/// A core operation with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) core: Core,
    pub(super) action: Action,
}

impl Filled {
    /// The files and directories among its parameters.
    pub(super) fn places(&self) -> Places {
        match self.action {
            Action::Link(from, to) | Action::Rename(from, to) => Places::of(&[from, to]),
            Action::Creat(place) | Action::Mkdir(place) | Action::Change(place, _) => Places::of(&[place]),
            Action::Unlink { place, .. } => Places::of(&[place]),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Append => write!(f, "append"),
            Range::Start(len) => write!(f, "first {len}"),
            Range::Extend => write!(f, "extend"),
        }
    }
}

/// A readable form.
impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{:?}", self.core).to_lowercase())?;
        match self.action {
            Action::Link(from, to) | Action::Rename(from, to) => write!(f, " {} {}", from.path(), to.path()),
            Action::Creat(place) | Action::Mkdir(place) | Action::Unlink { place, .. } => {
                write!(f, " {}", place.path())
            }
            Action::Change(place, change) => {
                write!(f, " {}", place.path())?;
                match change {
                    Change::Falloc(mode, range) => write!(f, " {range} {}", falloc_word(mode)),
                    Change::Write(range) | Change::MmapWrite(range) => write!(f, " {range}"),
                    Change::Truncate(size) => write!(f, " {size}"),
                    Change::SetXattr | Change::RemoveXattr => Ok(()),
                }
            }
        }
    }
}

/// Every way to fill in the parameters of these operations, one operation after another.
pub(super) fn fill(ops: &[Core], nested: bool) -> Vec<Filled> {
    let files = if nested { 3 } else { 2 };
    let (first, second) = (&FIRST[..files], &SECOND[..files]);
    let both = [first, second].concat();
    let changes = |all: &[Change]| -> Vec<Action> {
        first.iter().flat_map(|place| all.iter().map(|change| Action::Change(*place, *change))).collect()
    };
    let unlinks = |held| both.iter().map(|place| Action::Unlink { place: *place, held }).collect::<Vec<_>>();
    let actions = |core| match core {
        Core::Creat => first.iter().copied().map(Action::Creat).collect(),
        Core::Mkdir => vec![Action::Mkdir(A)],
        Core::Falloc => {
            let all = MODES.iter().flat_map(|mode| RANGES.map(|range| Change::Falloc(*mode, range)));
            changes(&all.collect::<Vec<_>>())
        }
        Core::Write => changes(&RANGES.map(Change::Write)),
        Core::DirectWrite => changes(&PAGES.map(Change::Write)),
        Core::MmapWrite => changes(&PAGES.map(Change::MmapWrite)),
        Core::Link => pairs(&both, second, Action::Link),
        Core::Unlink => unlinks(false),
        Core::Remove => unlinks(true),
        Core::Rename => {
            let dirs = if nested { &[B, AC][..] } else { &[B] };
            [pairs(&both, second, Action::Rename), pairs(&[&[A], dirs].concat(), dirs, Action::Rename)].concat()
        }
        Core::SetXattr => changes(&[Change::SetXattr]),
        Core::RemoveXattr => changes(&[Change::RemoveXattr]),
        Core::Truncate => changes(&SIZES.map(Change::Truncate)),
    };
    ops.iter().flat_map(|&core| actions(core).into_iter().map(move |action| Filled { core, action })).collect()
}

/// All pairs of one of `from` and a different one of `to`.
fn pairs(from: &[Node], to: &[Node], make: fn(Node, Node) -> Action) -> Vec<Action> {
    let all = from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| from != to).map(|(from, to)| make(from, to)).collect()
}
