//! The second judge of a journal of soft updates: FreeBSD, to which the volume may be taken as the cut left it.
//!
//! P1. Where our recovery ends, FreeBSD's replay ([`ordo_bsdreplay`]) must end, too: on a volume on which a full repair
//!     finds nothing but what [`leaves`] has, and ends in the same tree. So everything that is promised of our recovery
//!     is promised of theirs.
//! P2. Several images of ours may lead to one image of FreeBSD's. That one is judged once.
//! P3. A replay that gives up does no harm: a full check follows. But it is a breach, since the journal is worth
//!     nothing then; except for a journal that its writer declared void. Images with a torn block of several sectors
//!     are not judged: FreeBSD's replay would not see that.

use crate::Subject;
use crate::guard::guarded;
use crate::oracle::{Breach, Oracle};
use crate::recover::changes_by;
use crate::tree::Tree;
use ordo_bsdreplay::{Outcome, Quirks, Why};
use ordo_buf::LogKind;
use ordo_disk::RamDisk;
use ordo_fsck::{Finding, Found};
use std::collections::BTreeSet;

/// When the replay runs, in seconds since 1970: later than any mount of a script.
const NOW: i64 = 1 << 31;

/// What FreeBSD would do with an image.
pub(crate) enum Peer {
    /// Nothing, or nothing that can be judged.
    Silent,
    /// It gives up.
    GivesUp(Breach),
    /// The image that it leaves.
    Leaves(Left),
}

/// An image that FreeBSD leaves.
pub(crate) struct Left {
    pub(crate) fingerprint: u128,
    pub(crate) disk: RamDisk,
    /// Groups whose directories it may have counted wrongly.
    pub(crate) unsure: BTreeSet<u32>,
    /// Groups in which it may leave fragments in use.
    pub(crate) leaks: BTreeSet<u32>,
}

/// Whether the scheme keeps a journal that FreeBSD would replay.
pub(crate) fn is_there(subject: &Subject) -> bool {
    let kind = || subject.scheme().ok()?.capabilities().log_kind();
    subject.question.is_none() && subject.shape.log.is_none() && kind() == Some(LogKind::Intents)
}

/// FreeBSD's replay of an image.
pub(crate) fn replayed(subject: &Subject, fingerprint: u128, disk: &RamDisk) -> Peer {
    // Records must be right for each version. The image decides which one comes, so that an id names one result.
    let quirks = Quirks { wrong_bit: fingerprint & 1 == 1 };
    let sector = subject.device.sector as usize;
    match guarded(|| Ok::<_, String>(ordo_bsdreplay::replay(disk, sector, NOW, quirks))) {
        Err(why) => Peer::GivesUp(breach("ends", why)),
        Ok(Outcome::NotDue | Outcome::Torn(_) | Outcome::GivesUp(Why::Void(_))) => Peer::Silent,
        Ok(Outcome::GivesUp(why)) => Peer::GivesUp(breach("ends", why)),
        Ok(Outcome::Replayed { writes, unsure, leaks }) => {
            let fingerprint = fingerprint ^ changes_by(disk, writes.iter().map(|write| (write.at, &*write.bytes)));
            let disk = disk.snapshot();
            writes.iter().for_each(|write| disk.poke(write.at, &write.bytes));
            Peer::Leaves(Left { fingerprint, disk, unsure, leaks })
        }
    }
}

/// Whether FreeBSD's replay leaves this, whoever wrote the journal: the sums of groups that it does not touch
/// (bsdreplay-finish-2); a file that ends in a hole (bsdreplay-sizes-1); both names of a directory that was being
/// moved; a wrong number of directories, where a number was reused before its group was written; fragments of a removed
/// file whose last block was cut and then moved, while the inode on the disk has all of it. FreeBSD's kernel writes the
/// same records for that, and its replay takes the shorter one for another use.
pub(crate) fn leaves(found: &Found, all: &[Found], left: &Left) -> bool {
    let names =
        |of: u32| all.iter().filter(|f| matches!(f.finding, Finding::ExtraName { ino, .. } if ino == of)).count();
    let hole = || all.iter().any(|found| matches!(found.finding, Finding::SizeBeyondBlocks { .. }));
    match found.finding {
        Finding::Summary { .. } | Finding::Totals { .. } => true,
        Finding::SizeBeyondBlocks { .. } | Finding::ExtraName { .. } => true,
        // The repair of a file that ends in a hole frees indirect blocks over the hole.
        Finding::BlockCount { .. } | Finding::FragmentsLeaked { .. } | Finding::FragmentSums { .. } if hole() => true,
        Finding::ClusterMap { .. } | Finding::ClusterSums { .. } | Finding::GroupCounts { .. } if hole() => true,
        Finding::FragmentsLeaked { group, .. }
        | Finding::FragmentSums { group, .. }
        | Finding::ClusterMap { group, .. }
        | Finding::ClusterSums { group, .. }
        | Finding::GroupCounts { group, field: "nbfree" | "nffree", .. }
            if left.leaks.contains(&group) =>
        {
            true
        }
        Finding::LostDirectories { group, .. } => left.unsure.contains(&group),
        Finding::GroupCounts { group, field: "ndir", .. } => left.unsure.contains(&group),
        // The second name counts, until it is removed.
        Finding::LinkCount { ino, found, right } => {
            names(ino) > 0 && found.saturating_sub(right) as usize == names(ino)
        }
        _ => false,
    }
}

/// What is wrong with the tree that FreeBSD leaves.
pub(crate) fn differs(theirs: &Tree, ours: &Tree) -> Option<Breach> {
    let gone = || ours.files.keys().find(|id| !theirs.files.contains_key(id)).map(|id| ours.path_of(*id));
    let is = || gone().map_or("another one".into(), |path| format!("one without {path}"));
    (!theirs.leaks_into(ours)).then(|| breach("leaves the tree that ours leaves", is()))
}

/// A breach by FreeBSD's replay.
pub(crate) fn breach(should: &str, is: impl ToString) -> Breach {
    Breach::new(Oracle::Peer, "the replay of FreeBSD", should, is)
}
