//! What is explained is what is rolled back, where no script gets between the steps of a call.

use crate::SoftUpdates;
use ordo_buf::Explains;
use ordo_buf::{
    Buf, BufRef, Cache, CallKind, Freed, Health, Home, How, Key, Op, Policy, Role, Run, Scheme, Slot, Step, Syncer,
    With,
};
use ordo_disk::{DiskOff, Queue, QueueOptions, RamDisk};
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_rt::Rt;
use std::rc::Rc;
use std::time::Duration;

struct Still;

impl Home for Still {
    fn place(&self, buf: &Buf) -> Option<DiskOff> {
        buf.addr()
    }

    fn seal(&self, _: &Buf, _: &mut [u8]) {}
}

struct Volume {
    rt: Rt,
    cache: Rc<Cache>,
    scheme: Rc<SoftUpdates>,
}

impl Volume {
    fn new() -> Volume {
        let rt = Rt::virtual_time(1);
        let queue = Queue::new(&rt, Rc::new(RamDisk::new(1 << 20)), QueueOptions::default());
        let policy = Policy { syncer: Syncer::Age(Duration::from_secs(30)), ..Policy::default() };
        let cache = Cache::new(rt.clone(), queue, Health::default(), 64 << 20, policy);
        let scheme = Rc::new(SoftUpdates::new(crate::AllocInit::All));
        cache.attach(scheme.clone(), Rc::new(Still));
        Volume { rt, cache, scheme }
    }

    fn buf(&self, key: Key, role: Role, n: u64) -> BufRef {
        let buf = self.rt.block_on(self.cache.fresh(key, role, Some(DiskOff(4096 * n)), 4096)).expect("there is room");
        self.cache.mark_dirty(&buf);
        buf
    }

    fn step(&self, kind: CallKind, step: Step<'_>) {
        let ripe = self.scheme.step(&self.cache, Op { id: 1, kind }, step).ripe;
        assert!(ripe.is_none_or(|ticket| !matches!(ticket.redeem(), Freed::Inode { .. })));
    }

    fn rolled_back(&self) -> u64 {
        self.scheme.counters().iter().filter(|(name, _)| name.ends_with("rolled_back")).map(|(_, count)| count).sum()
    }
}

/// `mkdir /d; rename /d /e/d`, cut between the new `..` and the removal of the first name. That name must not be
/// written any more: with it, the directory would have one name only, and a `..` that leads elsewhere.
#[test]
fn the_first_name_of_a_new_directory_that_has_just_moved_is_explained_as_it_is_rolled_back() {
    let volume = Volume::new();
    let (root, other, dir) = (Ino(2), Ino(3), Ino(5));
    let cg = volume.buf(Key::Device(FragNo(1)), Role::Maps, 1);
    let inodes = volume.buf(Key::Device(FragNo(2)), Role::Inodes, 2);
    let [from, to, own] =
        [(root, 3), (other, 4), (dir, 5)].map(|(ino, n)| volume.buf(Key::File(ino, Lbn(0)), Role::Directory, n));
    let (name, offset) = (&b"d"[..], 24);
    let (inode, directory) = (&inodes, true);
    volume.step(CallKind::Mkdir, Step::InodeAllocated { ino: dir, map: Some(&cg), inode, directory });
    let (old, new) = (Run { at: FragNo::HOLE, frags: 0 }, Run { at: FragNo(40), frags: 1 });
    let slot = Slot::Inode(inode, 0);
    let (lbn, role, freed, with) = (Lbn(0), Role::Directory, None, With::Size(0));
    let block = &own;
    volume.step(
        CallKind::Mkdir,
        Step::BlockAllocated { ino: dir, lbn, role, slot, old, new, block, map: Some(&cg), with, freed },
    );
    let mkdir = Some((&own, inode));
    volume.step(
        CallKind::Mkdir,
        Step::LinkAdded { dir: root, name, block: &from, offset, ino: dir, inode, directory, mkdir },
    );
    volume.step(
        CallKind::Rename,
        Step::LinkAdded { dir: other, name, block: &to, offset, ino: dir, inode, directory, mkdir: None },
    );
    let ticket = volume.cache.ledger().issue(Freed::DropLink { ino: root, links: 1, parent: None });
    let (kind_before, dotdot) = (4, true);
    volume.step(
        CallKind::Rename,
        Step::LinkChanged { dir, block, offset: 12, ino: other, inode, directory, kind_before, dotdot, ticket },
    );
    // All that the name waited for when it was made becomes durable: the map, the directory's block, its dinode.
    for buf in [&cg, &own, &inodes, &inodes] {
        volume.rt.block_on(volume.cache.write_all(vec![buf.clone()])).expect("the disk is well");
    }
    let said: Vec<_> = volume.scheme.explain(&from);
    let before = volume.rolled_back();
    volume.rt.block_on(volume.cache.write_all(vec![from.clone()])).expect("the disk is well");
    assert_eq!(volume.rolled_back() - before, 1, "the first name is held back");
    let said: Vec<_> = said.iter().filter(|held| held.how == How::RolledBack).collect();
    assert_eq!(said.len(), 1, "and it is said to be");
    assert_eq!(said[0].what, "entry at byte 24 -> inode 5");
    let until: Vec<_> = said[0].until.iter().map(|(buf, rule)| (buf.key(), *rule)).collect();
    assert_eq!(until, [(from.key(), "link-removal")]);
    // The call ends, and all of it becomes durable.
    let ticket = volume.cache.ledger().issue(Freed::DropLink { ino: dir, links: 1, parent: None });
    let before = (0, &[0; 512][..]);
    volume.step(CallKind::Rename, Step::LinkRemoved { dir: root, name, block: &from, offset, before, ticket });
    volume.rt.block_on(volume.cache.obey(volume.scheme.sync(&volume.cache))).expect("the disk is well");
    let ripe: Vec<_> = std::iter::from_fn(|| volume.cache.take_ripe()).map(|ticket| ticket.redeem()).collect();
    assert!(matches!(ripe[..], [Freed::DropLink { ino: Ino(2), .. }]), "{ripe:?}");
}
