//! A file system with deliberate bugs: tests that do not detect them could not detect others.

use ordo_model::{MemFs, ready};
use ordo_vfs::{Attr, Caller, FileSystem, Name, NodeId, RenameMode, Result, SetAttr};
use ordo_workload::random::{Features, Generator, Op, Rules, Shape, differential, shrink};

/// The bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// The last byte of a write that extends beyond the direct blocks is lost.
    LostByte,
    /// A rename over an existing name keeps the old name as well.
    NameStays,
    /// A truncated file keeps a byte too many.
    ShortCut,
}

struct Wrong {
    inner: MemFs,
    bug: Bug,
}

const DIRECT_BYTES: u64 = 12 * 4096;

macro_rules! inner {
    ($wrong:ident, $($call:tt)*) => { $wrong.inner.$($call)* };
}

impl FileSystem for Wrong {
    ordo_vfs::forward! { inner:
        root read_only forget lookup getattr readlink mknod mkdir symlink tmpfile link unlink rmdir read
        fallocate seek readdir fsync syncfs statfs getxattr setxattr listxattr removexattr
    }

    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        let written = self.inner.write(who, node, offset, data).await?;
        let end = offset + u64::from(written);
        if self.bug == Bug::LostByte && end > DIRECT_BYTES {
            self.inner.write(who, node, end - 1, &[0]).await?;
        }
        Ok(written)
    }

    async fn rename(&self, dir: NodeId, name: Name<'_>, to: NodeId, to_name: Name<'_>, mode: RenameMode) -> Result<()> {
        self.inner.rename(dir, name, to, to_name, mode).await?;
        if self.bug == Bug::NameStays && mode == RenameMode::Replace {
            let moved = self.inner.lookup(to, to_name).await?;
            if let Ok(linked) = self.inner.link(moved.node, dir, name).await {
                self.inner.forget(linked.node, 1);
            }
            self.inner.forget(moved.node, 1);
        }
        Ok(())
    }

    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        let mut set = *set;
        if let Some(size) = set.size.filter(|_| self.bug == Bug::ShortCut) {
            let old = self.inner.getattr(node).await?.size;
            set.size = Some(if size < old { size + 1 } else { size });
        }
        self.inner.setattr(node, &set).await
    }
}

fn differs(bug: Bug, ops: &[Op]) -> bool {
    let wrong = Wrong { inner: MemFs::timeless(), bug };
    ready(differential(&MemFs::timeless(), &wrong, ops, Rules { every: 50, ..Rules::default() })).is_err()
}

/// Finds the bug with random operations and shrinks the list that shows it.
fn find(bug: Bug) -> Vec<String> {
    let ops: Vec<Op> = Generator::new(7, Shape::default(), Features::all()).take(4000).collect();
    assert!(differs(bug, &ops), "{bug:?} is not found");
    shrink(&ops, |ops| differs(bug, ops)).iter().map(Op::to_string).collect()
}

#[test]
fn a_lost_byte_is_found_and_shown_in_three_steps() {
    let steps = find(Bug::LostByte);
    assert!(steps.len() <= 3 && steps.iter().any(|step| step.starts_with("write")), "{steps:?}");
}

#[test]
fn a_name_that_stays_is_found_and_shown_in_three_steps() {
    let steps = find(Bug::NameStays);
    assert!(steps.len() <= 3 && steps.iter().any(|step| step.starts_with("rename")), "{steps:?}");
}

#[test]
fn a_byte_that_is_not_cut_off_is_found_and_shown_in_three_steps() {
    let steps = find(Bug::ShortCut);
    assert!(steps.len() <= 3 && steps.iter().any(|step| step.starts_with("truncate")), "{steps:?}");
}

#[test]
fn the_model_agrees_with_itself() {
    for seed in 0..20 {
        let ops: Vec<Op> = Generator::new(seed, Shape::default(), Features::all()).take(3000).collect();
        let (left, right) = (MemFs::timeless(), MemFs::timeless());
        assert_eq!(ready(differential(&left, &right, &ops, Rules::default())), Ok(()));
        assert_eq!(left.lookups(), 0);
    }
}
