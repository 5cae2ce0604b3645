//! Calls that create: create, mkdir, symlink, tmpfile, link.

use crate::directory::Target;
use crate::{Inode, Layout, Shape, Ufs, attr};
use ordo_buf::{BufRef, CallKind, Fields, Op, Role, Step};
use ordo_ondisk::dinode::volume_rdev;
use ordo_ondisk::{Lbn, Timestamp, dirent};
use ordo_vfs::{Caller, Entry, Kind, Mode, Name, NodeId, Refusal, Result, Stamp};
use std::rc::Rc;

/// The longest target of a symbolic link in bytes (MAXPATHLEN without its NUL).
const MAX_TARGET: usize = 1023;
/// The highest link count that every system that reads the format understands.
pub(crate) const MAX_LINKS: u16 = 32767;

/// What to create.
enum Make<'a> {
    Node { kind: Kind, rdev: u64 },
    Directory,
    Symlink(&'a [u8]),
}

impl Make<'_> {
    fn kind(&self) -> Kind {
        match self {
            Make::Node { kind, .. } => *kind,
            Make::Directory => Kind::Directory,
            Make::Symlink(_) => Kind::Symlink,
        }
    }

    fn call(&self) -> CallKind {
        match self {
            Make::Node { .. } => CallKind::Create,
            Make::Directory => CallKind::Mkdir,
            Make::Symlink(_) => CallKind::Symlink,
        }
    }
}

impl<L: Layout> Ufs<L> {
    /// Creates a file, a device, a fifo or a socket.
    pub(crate) async fn mknod(
        &self,
        who: &Caller,
        dir: NodeId,
        name: Name<'_>,
        kind: Kind,
        mode: Mode,
        rdev: u64,
    ) -> Result<Entry> {
        if matches!(kind, Kind::Directory | Kind::Symlink) {
            return Err(Refusal::Invalid.into());
        }
        self.create(who, dir, name, mode, Make::Node { kind, rdev }).await
    }

    /// Creates a directory.
    pub(crate) async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        self.create(who, dir, name, mode, Make::Directory).await
    }

    /// Creates a symbolic link.
    pub(crate) async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        self.create(who, dir, name, Mode::new(0o777), Make::Symlink(target)).await
    }

    /// Creates an inode with the name `name`.
    async fn create(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode, make: Make<'_>) -> Result<Entry> {
        if let Make::Symlink(target) = make {
            check_target(target)?;
        }
        let make = match make {
            Make::Node { kind, rdev } if kind.is_device() => {
                let rdev = volume_rdev(self.layout.shape().encoding, rdev).ok_or(Refusal::Invalid)?;
                Make::Node { kind, rdev }
            }
            make => make,
        };
        let dir = self.directory(dir).await?;
        self.call_with_room(make.call(), async |op| {
            self.table.reserve()?;
            let _alone = dir.lock.write().await;
            self.check_free(&dir, name).await?;
            self.may_enter(&dir)?;
            if make.kind() == Kind::Directory && dir.dinode().nlink >= MAX_LINKS {
                return Err(Refusal::TooManyLinks.into());
            }
            let now = self.now();
            let inode = self.new_inode(op, who, &dir, mode, &make, now).await?;
            let entered = self.name_it(op, who, &dir, name, &inode, &make, now).await;
            if let Err(error) = entered {
                // ufs-4: the inode has no name; everything allocated for it is freed.
                self.abandon(op, &inode).await?;
                return Err(error);
            }
            self.table.look_up(inode.ino());
            Ok(Entry { node: NodeId(u64::from(inode.ino().0)), attr: self.attr(&inode)? })
        })
        .await
    }

    /// Whether names may be entered into the directory.
    pub(crate) fn may_enter(&self, dir: &Inode) -> Result<()> {
        if dir.links_seen() == 0 {
            return Err(Refusal::NotFound.into());
        }
        attr::may_change(dir)
    }

    /// `Exists` if the name is taken: Linux checks this first, whatever else is wrong.
    async fn check_free(&self, dir: &Rc<Inode>, name: Name<'_>) -> Result<()> {
        let taken = name.is_dot_or_dotdot() || self.find(dir, name.bytes()).await?.is_some();
        if taken && dir.links_seen() > 0 {
            return Err(Refusal::Exists.into());
        }
        Ok(())
    }

    /// Allocates and initialises an inode. It has its links already, and no name.
    async fn new_inode(
        &self,
        op: Op,
        who: &Caller,
        dir: &Inode,
        mode: Mode,
        make: &Make<'_>,
        now: Stamp,
    ) -> Result<Rc<Inode>> {
        let kind = make.kind();
        let default = if kind == Kind::Symlink { None } else { self.default_acl(dir).await? };
        let granted = match &default {
            Some(list) => mode.bits() & (list.mode_bits() | 0o7000),
            None => mode.bits() & !who.umask,
        };
        let quotas = self.layout.quotas().filter(|quotas| quotas.is_on());
        let owners = (who.uid, group_of_new(who, dir));
        let _hold = quotas.map(|quotas| quotas.reserve(who, owners, 0, 1, now.secs)).transpose()?;
        let new = self.layout.alloc_inode(op, dir, kind).await?;
        let inode = Inode::new(new.ino, self.first_dinode(who, dir, granted, make, new.generation, now));
        let buf = match self.layout.store(&inode).await {
            Ok(buf) => buf,
            Err(error) => {
                self.layout.unalloc_inode(new, kind).await;
                return Err(error);
            }
        };
        let inode = self.table.insert(inode);
        let step = Step::InodeAllocated {
            ino: new.ino,
            map: new.map.as_ref(),
            inode: &buf,
            directory: kind == Kind::Directory,
        };
        let none = self.cache().step(op, step).await?;
        debug_assert!(none.is_none());
        if let Some(default) = default
            && let Err(error) = self.inherit_acl(op, who, &inode, &default).await
        {
            self.abandon(op, &inode).await?;
            return Err(error);
        }
        Ok(inode)
    }

    fn first_dinode(
        &self,
        who: &Caller,
        dir: &Inode,
        granted: u16,
        make: &Make<'_>,
        generation: u32,
        now: Stamp,
    ) -> ordo_ondisk::Dinode {
        let shape = self.layout.shape();
        let parent = dir.dinode();
        let kind = make.kind();
        let inherits_group = parent.mode & 0o2000 != 0;
        let mut bits = granted;
        if inherits_group && kind == Kind::Directory {
            bits |= 0o2000;
        }
        let now = Timestamp { sec: now.secs, nsec: now.nanos };
        let mut dinode = ordo_ondisk::Dinode {
            mode: (kind as u16) << 12 | bits,
            nlink: if kind == Kind::Directory { 2 } else { 1 },
            uid: who.uid,
            gid: group_of_new(who, dir),
            gen_: generation,
            atime: now,
            mtime: now,
            ctime: now,
            birth: now,
            ..ordo_ondisk::Dinode::default()
        };
        match make {
            Make::Node { kind, rdev } if kind.is_device() => dinode.set_rdev(*rdev),
            // A target that is too long for the inode is put into a block later.
            Make::Symlink(target) => drop(dinode.set_short_link(shape.encoding, target)),
            Make::Directory if shape.keeps_depth => dinode.freelink = parent.freelink.saturating_add(1),
            _ => {}
        }
        dinode
    }

    /// Fills the new inode, makes it durable as far as the scheme requires, and enters its name.
    async fn name_it(
        &self,
        op: Op,
        who: &Caller,
        dir: &Rc<Inode>,
        name: Name<'_>,
        inode: &Rc<Inode>,
        make: &Make<'_>,
        now: Stamp,
    ) -> Result<()> {
        let first_block = match make {
            Make::Directory => Some(self.first_block(op, who, dir, inode).await?),
            Make::Symlink(target) if !is_short(target, self.layout.shape()) => {
                let mut fill = |block: &mut [u8]| block[..target.len()].copy_from_slice(target);
                self.layout.write_block(op, who, inode, Lbn(0), 0, target.len(), &mut fill).await?;
                None
            }
            _ => None,
        };
        // The last change has stored it (rule ufs-inode-1); the news for the scheme is that a name will point to it.
        let buf = self.layout.block_of(inode).await?;
        self.tell_changed(op, inode, &buf, Fields::LinksUp).await?;
        let Some(block) = first_block else {
            let target = Target { ino: inode.ino(), kind: make.kind(), inode: &buf, mkdir: None };
            return self.enter(op, who, dir, name.bytes(), target, now).await;
        };
        dir.dinode_mut().nlink += 1;
        let parent = self.changed(op, dir, Fields::LinksUp).await?;
        let target = Target { ino: inode.ino(), kind: Kind::Directory, inode: &buf, mkdir: Some((&block, &parent)) };
        let entered = self.enter(op, who, dir, name.bytes(), target, now).await;
        if entered.is_err() {
            dir.dinode_mut().nlink -= 1;
            self.changed(op, dir, Fields::LinksDown).await?;
        }
        entered
    }

    /// The first block of a new directory, with `.` and `..`.
    async fn first_block(&self, op: Op, who: &Caller, dir: &Inode, inode: &Inode) -> Result<BufRef> {
        let shape = self.layout.shape();
        let chunk = shape.dir_format.block;
        let dots = dirent::new_directory(shape.dir_format, inode.ino(), dir.ino());
        let mut fill = |block: &mut [u8]| block[..chunk].copy_from_slice(&dots);
        let block = self.layout.write_block(op, who, inode, Lbn(0), 0, chunk, &mut fill).await?;
        debug_assert_eq!(block.kind(), Role::Directory);
        Ok(block)
    }

    /// Frees an inode that did not get its name.
    async fn abandon(&self, op: Op, inode: &Rc<Inode>) -> Result<()> {
        inode.dinode_mut().nlink = 0;
        self.release(op, inode).await
    }

    /// Makes a file without a name.
    pub(crate) async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        let dir = self.directory(dir).await?;
        let make = Make::Node { kind: Kind::Regular, rdev: 0 };
        self.call_with_room(CallKind::Tmpfile, async |op| {
            self.table.reserve()?;
            let _shared = dir.lock.read().await;
            self.may_enter(&dir)?;
            let inode = self.new_inode(op, who, &dir, mode, &make, self.now()).await?;
            // Without a name its count is 0, also on the disk: after a crash fsck frees it without asking.
            inode.dinode_mut().nlink = 0;
            inode.nameless.set(true);
            self.changed(op, &inode, Fields::LinksDown).await?;
            self.table.look_up(inode.ino());
            Ok(Entry { node: NodeId(u64::from(inode.ino().0)), attr: self.attr(&inode)? })
        })
        .await
    }

    /// Gives a file another name.
    pub(crate) async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        let inode = self.node(node).await?;
        let dir = self.directory(dir).await?;
        self.call_with_room(CallKind::Link, async |op| {
            self.table.reserve()?;
            let _alone = dir.lock.write().await;
            self.check_free(&dir, name).await?;
            self.may_enter(&dir)?;
            if inode.is_dir() {
                return Err(Refusal::NotPermitted.into());
            }
            attr::may_link(&inode)?;
            if inode.links_seen() == 0 && !inode.nameless.get() {
                return Err(Refusal::NotFound.into());
            }
            if inode.dinode().nlink >= MAX_LINKS {
                return Err(Refusal::TooManyLinks.into());
            }
            let now = self.now();
            let kind = inode.kind().ok_or(Refusal::Stale)?;
            self.add_link(op, &inode, now).await?;
            let buf = self.layout.block_of(&inode).await?;
            let target = Target { ino: inode.ino(), kind, inode: &buf, mkdir: None };
            if let Err(error) = self.enter(op, &Caller::default(), &dir, name.bytes(), target, now).await {
                inode.dinode_mut().nlink -= 1;
                self.changed(op, &inode, Fields::LinksDown).await?;
                return Err(error);
            }
            inode.nameless.set(false);
            self.table.look_up(inode.ino());
            Ok(Entry { node, attr: self.attr(&inode)? })
        })
        .await
    }

    /// Raises a link count before the name that it counts is entered (ufs-1).
    pub(crate) async fn add_link(&self, op: Op, inode: &Inode, now: Stamp) -> Result<BufRef> {
        {
            let mut dinode = inode.dinode_mut();
            dinode.nlink += 1;
            attr::set_times(&mut dinode, None, None, Some(now));
        }
        self.changed(op, inode, Fields::LinksUp).await
    }
}

/// The target fits into the inode.
fn is_short(target: &[u8], shape: &Shape) -> bool {
    target.len() < shape.encoding.maxsymlinklen as usize
}

/// The group of a new file: the directory's, if its set-group-id bit says so.
fn group_of_new(who: &Caller, dir: &Inode) -> u32 {
    let parent = dir.dinode();
    if parent.mode & 0o2000 != 0 { parent.gid } else { who.gid }
}

fn check_target(target: &[u8]) -> Result<()> {
    if target.len() > MAX_TARGET {
        return Err(Refusal::NameTooLong.into());
    }
    if target.is_empty() || target.contains(&0) {
        return Err(Refusal::Invalid.into());
    }
    Ok(())
}
