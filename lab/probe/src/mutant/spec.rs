//! What a seeded bug is: where, and what is done there instead.

use ordo_buf::{CallKind, Fields, Role, Slot, Step};

/// A seeded bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutantSpec {
    /// Its stable name: action, step, and which of its occurrences.
    pub name: String,
    /// What is wrong, in one line.
    pub says: String,
    pub(super) deed: Deed,
    pub(super) when: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// The demand is omitted.
    Forget(Site),
    /// The demand is delayed to the end of the call.
    Late(Site),
    /// The demand is delayed until after the next one of the same call.
    Swap(Site),
    Fsync(AtFsync),
    Sync(AtSync),
}

/// What fsync does instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtFsync {
    Nothing,
    WithoutInode,
    WithoutData,
    WithoutIndirect,
    WithoutLast,
    WithoutWaiting,
}

/// What sync does instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtSync {
    Nothing,
    WithoutWaiting,
}

/// Which occurrences are affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Every,
    EverySecond,
    Only(u64),
}

impl When {
    /// Whether the `n`-th occurrence is affected, counted from 1.
    pub(super) fn means(self, n: u64) -> bool {
        match self {
            When::Every => true,
            When::EverySecond => n.is_multiple_of(2),
            When::Only(k) => n == k,
        }
    }
}

/// A kind of step at which a scheme may demand something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    InodesCounted,
    LinksUp,
    DirectorySize,
    Initialised(Role),
    MovedData,
    FragmentMoved,
    ClusterMoved,
    AttributesMoved,
    Added,
    Changed,
    Removed,
    Released(Role),
}

impl StepKind {
    pub(super) fn of(step: &Step<'_>) -> Option<StepKind> {
        Some(match step {
            Step::InodesReady { .. } => StepKind::InodesCounted,
            Step::InodeChanged { fields: Fields::LinksUp, .. } => StepKind::LinksUp,
            Step::InodeChanged { fields: Fields::DirectorySize, .. } | Step::SizeGrown { directory: true, .. } => {
                StepKind::DirectorySize
            }
            Step::BlockReady { block, role: Role::Data, .. } if block.has_moved() => StepKind::MovedData,
            Step::BlockReady { role, .. } => StepKind::Initialised(*role),
            Step::BlockAllocated { freed: Some(_), slot, .. } => match slot {
                Slot::Inode(..) => StepKind::FragmentMoved,
                Slot::Indirect(..) => StepKind::ClusterMoved,
                Slot::ExtAttr(..) => StepKind::AttributesMoved,
            },
            Step::LinkAdded { .. } => StepKind::Added,
            Step::LinkChanged { .. } => StepKind::Changed,
            Step::LinkRemoved { .. } => StepKind::Removed,
            Step::BlocksReleased { at, .. } => StepKind::Released(at.kind()),
            _ => return None,
        })
    }
}

/// A place in calls of some kinds; of all kinds if the list is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) place: StepKind,
    pub(super) calls: &'static [CallKind],
}
