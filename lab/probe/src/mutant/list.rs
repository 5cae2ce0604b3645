//! The seeded bugs of each scheme.
//!
//! Two waits of `sync` are not spoiled, since no promise depends on them: the wait for a lowered link count (without it
//! the count is too high, which a crash may leave anyway) and the wait for a cleared dinode (without it a file without
//! a name is left, likewise). A wait that only keeps something from being free is not delayed: it is not allocated
//! again before the end of its own call. For the same reason the cleared pointers of a removed directory are left
//! alone: its inode, which lies in the same block, is awaited before the call returns. The two inodes of mkdir are not
//! swapped: both still precede the name. The count of inodes may be late: the engine keeps a block of them ahead.

use super::spec::{AtFsync, AtSync, Deed, MutantSpec, Site, StepKind, When};
use ordo_buf::{CallKind, Role};

/// A site, and which bugs are seeded there.
struct Row {
    name: &'static str,
    place: StepKind,
    calls: &'static [CallKind],
    /// What the disk may then hold.
    harm: &'static str,
    /// Letters: `2` forgets every second, `k` only the third, `l` is late, `s` swaps with the next.
    also: &'static str,
}

const fn row(
    name: &'static str,
    place: StepKind,
    calls: &'static [CallKind],
    also: &'static str,
    harm: &'static str,
) -> Row {
    Row { name, place, calls, harm, also }
}

const SYNC: &[Row] = &[
    row("inodes-counted", StepKind::InodesCounted, &[], "", "fsck does not look at an inode that has a name"),
    row("inodes-ready", StepKind::Initialised(Role::Inodes), &[], "ls", "garbage is counted as inodes"),
    row("directory-ready", StepKind::Initialised(Role::Directory), &[], "2ls", "garbage is taken for names"),
    row("indirect-ready", StepKind::Initialised(Role::Indirect), &[], "2", "garbage is taken for pointers"),
    row("attributes-ready", StepKind::Initialised(Role::ExtAttr), &[], "2l", "garbage is taken for attributes"),
    row("contents-moved", StepKind::MovedData, &[], "2l", "what fsync made durable is not at its new place"),
    row("inode-created", StepKind::LinksUp, &[CallKind::Create], "2kls", "a name leads to a free inode"),
    row(
        "inode-mkdir",
        StepKind::LinksUp,
        &[CallKind::Mkdir],
        "2l",
        "a name leads to a free inode, or a parent counts too few",
    ),
    row("inode-symlink", StepKind::LinksUp, &[CallKind::Symlink], "ls", "a name leads to a free inode"),
    row("inode-linked", StepKind::LinksUp, &[CallKind::Link], "2ls", "an inode has more names than it counts"),
    row("inode-renamed", StepKind::LinksUp, &[CallKind::Rename], "2ls", "an inode has two names and counts one"),
    row("directory-size", StepKind::DirectorySize, &[], "2", "a name lies beyond the end of its directory"),
    row("name-created", StepKind::Added, &[CallKind::Create], "2k", "the name is not there when create has returned"),
    row("name-mkdir", StepKind::Added, &[CallKind::Mkdir], "2", "the name is not there when mkdir has returned"),
    row("name-symlink", StepKind::Added, &[CallKind::Symlink], "", "the name is not there when symlink has returned"),
    row("name-linked", StepKind::Added, &[CallKind::Link], "", "the name is not there when link has returned"),
    row("name-renamed", StepKind::Added, &[CallKind::Rename], "2ls", "a renamed file has neither name"),
    row(
        "name-replaced",
        StepKind::Changed,
        &[CallKind::Rename],
        "2ls",
        "a name leads to the inode that was replaced and is gone",
    ),
    row("name-unlinked", StepKind::Removed, &[CallKind::Unlink], "2kls", "a name outlives its inode"),
    row("name-rmdir", StepKind::Removed, &[CallKind::Rmdir], "ls", "a name outlives its directory"),
    row("old-name", StepKind::Removed, &[CallKind::Rename], "2ls", "the old name outlives its link"),
    row("blocks-truncated", StepKind::Released(Role::Inodes), &[CallKind::Truncate], "2", "two files own one block"),
    row(
        "blocks-unlinked",
        StepKind::Released(Role::Inodes),
        &[CallKind::Unlink, CallKind::Rename, CallKind::Reclaim],
        "2k",
        "a file without a name owns blocks of another one",
    ),
    row(
        "blocks-indirect",
        StepKind::Released(Role::Indirect),
        &[],
        "",
        "an indirect block points to blocks of another file",
    ),
    row("fragment-moved", StepKind::FragmentMoved, &[], "2", "two files own one fragment"),
    row("cluster-moved", StepKind::ClusterMoved, &[], "", "two files own one block of a cluster that moved"),
    row("attributes-moved", StepKind::AttributesMoved, &[], "", "the attributes' old place belongs to two files"),
];

const FSYNCS: &[(&str, AtFsync, &str)] = &[
    ("nothing", AtFsync::Nothing, "nothing is written"),
    ("without-inode", AtFsync::WithoutInode, "size, attributes and new pointers are not written"),
    ("without-data", AtFsync::WithoutData, "the file's blocks are not written"),
    ("without-indirect", AtFsync::WithoutIndirect, "indirect blocks and attribute blocks are not written"),
    ("without-last", AtFsync::WithoutLast, "the last block is not written"),
    ("without-waiting", AtFsync::WithoutWaiting, "everything is sent, and nothing awaited"),
];

const SYNCS: &[(&str, AtSync, &str)] = &[
    ("nothing", AtSync::Nothing, "nothing is written"),
    ("without-waiting", AtSync::WithoutWaiting, "everything is sent, and nothing awaited"),
];

impl Row {
    fn specs(&self) -> Vec<MutantSpec> {
        let site = Site { place: self.place, calls: self.calls };
        let spec = |deed, word: &str, when, which: &str, says: &str| MutantSpec {
            name: format!("{word}:{}:{which}", self.name),
            says: format!("{says}: {}", self.harm),
            deed,
            when,
        };
        let forget = |when, which, says| spec(Deed::Forget(site), "forget", when, which, says);
        let mut specs = vec![forget(When::Every, "every", "a wait is left out")];
        specs.extend(self.also.chars().filter_map(|letter| {
            Some(match letter {
                '2' => forget(When::EverySecond, "second", "every second wait is left out"),
                'k' => forget(When::Only(3), "third", "the third wait is left out, no other"),
                'l' => spec(Deed::Late(site), "late", When::Every, "every", "a wait comes at the end of its call"),
                's' => spec(Deed::Swap(site), "swap", When::Every, "every", "a wait comes after the one that follows"),
                _ => return None,
            })
        }));
        specs
    }
}

/// The bugs that can be seeded into the scheme of this name: each breaks a promise or a rule of it. For a scheme that
/// demands nothing at its steps, only those of fsync and sync.
pub fn mutants(scheme: &str) -> Vec<MutantSpec> {
    if ordo_schemes::by_name(scheme).is_none() {
        return Vec::new();
    }
    let rows = if scheme == "sync" { SYNC } else { &[] };
    let mut specs: Vec<_> = rows.iter().flat_map(Row::specs).collect();
    specs.extend(FSYNCS.iter().map(|(name, deed, says)| MutantSpec {
        name: format!("fsync:{name}:every"),
        says: format!("fsync: {says}"),
        deed: Deed::Fsync(*deed),
        when: When::Every,
    }));
    specs.extend(SYNCS.iter().map(|(name, deed, says)| MutantSpec {
        name: format!("sync:{name}:every"),
        says: format!("sync and unmount: {says}"),
        deed: Deed::Sync(*deed),
        when: When::Every,
    }));
    specs
}
