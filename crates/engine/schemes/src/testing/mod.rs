//! For tests: every step that the engine reports, over existing bufs.

use ordo_buf::{
    Answer, Buf, BufRef, Cache, CallKind, Fields, Freed, Health, Home, Key, Must, Op, Policy, Role, Run, Scheme, Slot,
    Step, Syncer, Ticket, With,
};
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Queue, QueueOptions, RamDisk, ReadPart, WritePart};
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_rt::Rt;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

struct Still;

impl Home for Still {
    fn place(&self, buf: &Buf) -> Option<DiskOff> {
        buf.addr()
    }

    fn seal(&self, _: &Buf, _: &mut [u8]) {}
}

/// A disk that notes what is written.
struct Noting {
    ram: RamDisk,
    written: Rc<RefCell<Vec<Role>>>,
}

impl Disk for Noting {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.written.borrow_mut().extend(parts.iter().map(|part| part.tag.kind));
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

/// A cache with a dirty buf of each kind, and a scheme to test.
pub struct World {
    /// The cache, to which the scheme is attached.
    pub cache: Rc<Cache>,
    /// The scheme.
    pub scheme: Rc<dyn Scheme>,
    rt: Rt,
    written: Rc<RefCell<Vec<Role>>>,
    bufs: Vec<BufRef>,
    moved: BufRef,
}

const ROLES: [Role; 7] =
    [Role::Maps, Role::Inodes, Role::Directory, Role::Indirect, Role::Data, Role::ExtAttr, Role::Symlink];

/// A step by name, and the kind of its call.
pub type Told<'a> = (&'static str, CallKind, Step<'a>);

impl World {
    /// Attaches `scheme` to a new cache on a disk in memory.
    pub fn new(scheme: Rc<dyn Scheme>) -> World {
        let rt = Rt::virtual_time(1);
        let written = Rc::default();
        let disk = Noting { ram: RamDisk::new(1 << 20), written: Rc::clone(&written) };
        let queue = Queue::new(&rt, Rc::new(disk), QueueOptions::default());
        let policy = Policy { syncer: Syncer::Age(Duration::from_secs(30)), ..Policy::default() };
        let cache = Cache::new(rt.clone(), queue, Health::default(), 64 << 20, policy);
        cache.attach(scheme.clone(), Rc::new(Still));
        let fresh = |role: Role, n: u64| {
            let (key, at) = (Key::Device(FragNo(n)), Some(DiskOff(4096 * n)));
            let buf = rt.block_on(cache.fresh(key, role, at, 4096)).expect("there is room");
            cache.mark_dirty(&buf);
            buf
        };
        let bufs = ROLES.iter().zip(1..).map(|(role, n)| fresh(*role, n)).collect();
        let moved = fresh(Role::Data, 20);
        moved.set_stored();
        cache.moved(&moved, DiskOff(4096 * 21));
        assert!(moved.has_moved());
        World { cache, scheme, rt, written, bufs, moved }
    }

    /// The buf of this kind.
    pub fn buf(&self, role: Role) -> &BufRef {
        self.bufs.iter().find(|buf| buf.kind() == role).expect("one of each kind")
    }

    fn ticket(&self) -> Ticket {
        self.cache.ledger().issue(Freed::Inode { ino: Ino(5), directory: false })
    }

    /// The demands on a call with this one step: at the step, and at the end of the call.
    pub fn demands(&self, id: u64, (_, kind, step): Told<'_>) -> (String, String) {
        let op = Op { id, kind };
        let had = matches!(self.scheme.begin(&self.cache, op), Must::Nothing);
        assert!(had, "no scheme here demands something at the beginning");
        let Answer { must, ripe } = self.scheme.step(&self.cache, op, step);
        if let Some(ticket) = ripe {
            let _ = ticket.redeem();
        }
        (words(&must), words(&self.scheme.end(&self.cache, op)))
    }

    /// Obeys these demands, and returns what was written to the disk then, in order.
    pub fn obeyed(&self, musts: impl IntoIterator<Item = Must>) -> Vec<Role> {
        for must in musts {
            self.rt.block_on(self.cache.obey(must)).expect("the disk is well");
        }
        self.written.take()
    }

    /// Every step.
    pub fn steps(&self) -> Vec<Told<'_>> {
        let mut steps = self.inode_steps();
        steps.extend(self.block_steps());
        steps.extend(self.name_steps());
        steps
    }

    fn inode_steps(&self) -> Vec<Told<'_>> {
        let (ino, cg, inode) = (Ino(5), self.buf(Role::Maps), self.buf(Role::Inodes));
        let changed = |fields| Step::InodeChanged { ino, inode, fields };
        vec![
            ("inodes ready", CallKind::Create, Step::InodesReady { cg }),
            ("inode allocated", CallKind::Create, Step::InodeAllocated { ino, map: Some(cg), inode, directory: false }),
            ("links up", CallKind::Link, changed(Fields::LinksUp)),
            ("links down", CallKind::Unlink, changed(Fields::LinksDown)),
            ("size", CallKind::Write, changed(Fields::Size)),
            ("directory size", CallKind::Create, changed(Fields::DirectorySize)),
            ("mode", CallKind::SetAttr, changed(Fields::Mode)),
            ("times", CallKind::SetAttr, changed(Fields::Times)),
            ("inode released", CallKind::Unlink, Step::InodeReleased { ino, inode, ticket: self.ticket() }),
        ]
    }

    fn block_steps(&self) -> Vec<Told<'_>> {
        let (ino, lbn) = (Ino(5), Lbn(0));
        let ready = |role| Step::BlockReady { ino, lbn, block: self.buf(role), role };
        let moved = |role| Step::BlockReady { ino, lbn, block: &self.moved, role };
        let (inode, cg) = (self.buf(Role::Inodes), self.buf(Role::Maps));
        let data = self.buf(Role::Data);
        let (old, new) = (Run { at: FragNo(8), frags: 1 }, Run { at: FragNo(16), frags: 2 });
        let pointed = |slot, freed, role| Step::BlockAllocated {
            ino,
            lbn,
            role,
            slot,
            old,
            new,
            block: data,
            map: Some(cg),
            with: With::Nothing,
            freed,
        };
        let (direct, indirect) = (Slot::Inode(inode, 0), Slot::Indirect(self.buf(Role::Indirect), 0));
        vec![
            ("inodes initialised", CallKind::Create, ready(Role::Inodes)),
            ("directory initialised", CallKind::Mkdir, ready(Role::Directory)),
            ("indirect initialised", CallKind::Write, ready(Role::Indirect)),
            ("data initialised", CallKind::Write, ready(Role::Data)),
            ("attributes initialised", CallKind::SetXattr, ready(Role::ExtAttr)),
            ("target initialised", CallKind::Symlink, ready(Role::Symlink)),
            ("data moved", CallKind::Write, moved(Role::Data)),
            ("directory moved", CallKind::Create, moved(Role::Directory)),
            ("block allocated", CallKind::Write, pointed(direct, None, Role::Data)),
            ("directory pointed to", CallKind::Create, pointed(indirect, None, Role::Directory)),
            ("fragment moved", CallKind::Write, pointed(direct, Some(self.ticket()), Role::Data)),
            ("cluster moved", CallKind::Write, pointed(indirect, Some(self.ticket()), Role::Data)),
            (
                "blocks released",
                CallKind::Truncate,
                Step::BlocksReleased { ino, at: inode, blocks: &[], ticket: self.ticket() },
            ),
            ("data written", CallKind::Write, Step::DataWritten { ino, lbn, block: data }),
            ("directory grown", CallKind::Create, Step::DataWritten { ino, lbn, block: self.buf(Role::Directory) }),
        ]
    }

    fn name_steps(&self) -> Vec<Told<'_>> {
        let (dir, ino, offset) = (Ino(2), Ino(5), 24);
        let (block, inode) = (self.buf(Role::Directory), self.buf(Role::Inodes));
        let added = || Step::LinkAdded { dir, name: b"name", block, offset, ino, inode, directory: false, mkdir: None };
        let (ticket, kind_before, dotdot) = (self.ticket(), 8, false);
        let changed =
            Step::LinkChanged { dir, block, offset, ino, inode, directory: dotdot, kind_before, dotdot, ticket };
        let ticket = || self.ticket();
        let removed = || Step::LinkRemoved { dir, name: b"name", block, offset, before: (0, &[]), ticket: ticket() };
        vec![
            ("name created", CallKind::Create, added()),
            ("name linked", CallKind::Link, added()),
            ("name renamed", CallKind::Rename, added()),
            ("name replaced", CallKind::Rename, changed),
            ("name removed", CallKind::Unlink, removed()),
            ("old name removed", CallKind::Rename, removed()),
        ]
    }
}

fn words(must: &Must) -> String {
    match must {
        Must::Nothing => String::new(),
        Must::Durable(buf) => format!("{buf:?}"),
        Must::InOrder(bufs) => format!("{bufs:?}"),
        Must::Sent(buf) => format!("send {buf:?}"),
        Must::Wait(_) => "wait".into(),
    }
}
