//! Attributes: reading and changing them.

use crate::{Atime, Inode, Layout, Shape, Ufs};
use ordo_buf::{CallKind, Fields};
use ordo_ondisk::dinode::linux_rdev;
use ordo_ondisk::{Dinode, Timestamp};
use ordo_vfs::{Attr, Error, Kind, Mode, Refusal, Result, SetAttr, SetTime, Stamp};
use std::rc::Rc;

/// File flags that forbid changes (BSD's chflags(2)).
pub(crate) mod flags {
    pub(crate) const IMMUTABLE: u32 = 0x0000_0002 | 0x0002_0000;
    pub(crate) const APPEND: u32 = 0x0000_0004 | 0x0004_0000;
    pub(crate) const NOUNLINK: u32 = 0x0000_0010 | 0x0010_0000;
    pub(crate) const SNAPSHOT: u32 = 0x0020_0000;
}

/// Sets the given times.
pub(crate) fn set_times(dinode: &mut Dinode, atime: Option<Stamp>, mtime: Option<Stamp>, ctime: Option<Stamp>) {
    for (field, stamp) in [(&mut dinode.atime, atime), (&mut dinode.mtime, mtime), (&mut dinode.ctime, ctime)] {
        if let Some(stamp) = stamp {
            *field = Timestamp { sec: stamp.secs, nsec: stamp.nanos };
        }
    }
}

fn stamp(time: Timestamp) -> Stamp {
    Stamp { secs: time.sec, nanos: time.nsec }
}

/// Refuses a change of contents or attributes that the file's flags forbid.
pub(crate) fn may_change(inode: &Inode) -> Result<()> {
    match inode.dinode().flags & (flags::IMMUTABLE | flags::SNAPSHOT) {
        0 => Ok(()),
        _ => Err(Refusal::NotPermitted.into()),
    }
}

/// Refuses a new name for a file whose flags forbid it.
pub(crate) fn may_link(inode: &Inode) -> Result<()> {
    // One that is removed by one name would be lost under the other.
    match inode.dinode().flags & (flags::IMMUTABLE | flags::APPEND | flags::SNAPSHOT) {
        0 => Ok(()),
        _ => Err(Refusal::NotPermitted.into()),
    }
}

/// Refuses to remove a name of a file, or from a directory, whose flags forbid it.
pub(crate) fn may_unlink(dir: &Inode, inode: &Inode) -> Result<()> {
    // Other snapshots may need blocks of one: it is removed when the volume is not mounted.
    let pinned = flags::IMMUTABLE | flags::APPEND | flags::NOUNLINK | flags::SNAPSHOT;
    if dir.dinode().flags & (flags::IMMUTABLE | flags::APPEND) != 0 || inode.dinode().flags & pinned != 0 {
        return Err(Refusal::NotPermitted.into());
    }
    Ok(())
}

impl<L: Layout> Ufs<L> {
    /// The attributes of an inode.
    pub(crate) fn attr(&self, inode: &Inode) -> Result<Attr> {
        let shape = self.layout.shape();
        let kind = inode.kind().ok_or(Refusal::Stale)?;
        let dinode = inode.dinode();
        Ok(Attr {
            ino: u64::from(inode.ino().0),
            generation: dinode.gen_,
            kind,
            mode: Mode::new(u32::from(dinode.mode)),
            nlink: inode.links_seen(),
            uid: dinode.uid,
            gid: dinode.gid,
            rdev: if kind.is_device() { linux_rdev(shape.encoding, dinode.rdev()) } else { 0 },
            size: dinode.size,
            sectors: dinode.blocks,
            block_size: shape.bsize(),
            flags: dinode.flags,
            atime: stamp(dinode.atime),
            mtime: stamp(dinode.mtime),
            ctime: stamp(dinode.ctime),
            birth: shape.has_birth().then(|| stamp(dinode.birth)),
        })
    }

    pub(crate) async fn setattr(&self, inode: &Rc<Inode>, set: &SetAttr) -> Result<Attr> {
        self.may_set(inode, set)?;
        let kind = if set.size.is_some() { CallKind::Truncate } else { CallKind::SetAttr };
        self.call(kind, async |op| {
            let _alone = inode.lock.write().await;
            if set.if_ctime.is_some_and(|seen| seen != stamp(inode.dinode().ctime)) {
                return Err(Refusal::Changed.into());
            }
            if let Some(size) = set.size {
                self.resize(op, inode, size).await?;
            }
            let now = self.now();
            let quotas = self.layout.quotas().filter(|quotas| quotas.is_on());
            let _hold = quotas.map(|quotas| quotas.reserve_group(inode, set.uid, set.gid, now.secs)).transpose()?;
            let fields = {
                let mut dinode = inode.dinode_mut();
                apply(&mut dinode, set, now, self.layout.shape())
            };
            self.changed(op, inode, fields).await?;
            self.attr(inode)
        })
        .await
    }

    fn may_set(&self, inode: &Inode, set: &SetAttr) -> Result<()> {
        if let Some(size) = set.size {
            match inode.kind() {
                Some(Kind::Regular) => {}
                Some(Kind::Directory) => return Err(Refusal::IsDirectory.into()),
                _ => return Err(Refusal::Invalid.into()),
            }
            if size > self.layout.shape().maxfilesize {
                return Err(Refusal::TooBig.into());
            }
        }
        let set = &SetAttr { if_ctime: None, ..*set };
        let only_flags = SetAttr { flags: None, ctime: None, ..*set } == SetAttr::default();
        // Linux lets any user with write permission "touch" an append-only file, but not set a chosen time.
        let touch =
            SetAttr { atime: Some(SetTime::Now), mtime: Some(SetTime::Now), ctime: set.ctime, ..SetAttr::default() };
        if !only_flags {
            may_change(inode)?;
            if inode.dinode().flags & flags::APPEND != 0 && *set != touch {
                return Err(Refusal::NotPermitted.into());
            }
        }
        if set.flags.is_some_and(|flags| (flags ^ inode.dinode().flags) & flags::SNAPSHOT != 0) {
            return Err(Refusal::NotPermitted.into());
        }
        Ok(())
    }

    /// The file was read: updates the time of last access if the options require it.
    pub(crate) async fn accessed(&self, inode: &Inode) -> Result<()> {
        const DAY: i64 = 86_400;
        if self.atime == Atime::Never || self.cache().health().is_read_only() {
            return Ok(());
        }
        let now = self.now();
        {
            let dinode = inode.dinode();
            let fresh = dinode.atime > dinode.mtime && dinode.atime > dinode.ctime && now.secs - dinode.atime.sec < DAY;
            if fresh {
                return Ok(());
            }
        }
        let noted = self.call(CallKind::SetAttr, async |op| {
            set_times(&mut inode.dinode_mut(), Some(now), None, None);
            self.changed(op, inode, Fields::Times).await.map(drop)
        });
        match noted.await {
            // A full volume can be read.
            Err(Error::Refused(Refusal::NoSpace)) => Ok(()),
            noted => noted,
        }
    }
}

/// Applies `set` to the dinode; returns the kind of change.
fn apply(dinode: &mut Dinode, set: &SetAttr, now: Stamp, shape: &Shape) -> Fields {
    let resolve = |time: SetTime| match time {
        SetTime::Now => now,
        SetTime::At(stamp) => shape.held(stamp),
    };
    let mut fields = Fields::Times;
    if let Some(mode) = set.mode {
        dinode.mode = dinode.mode & 0o170000 | mode.bits();
        fields = Fields::Mode;
    }
    for (field, value) in [(&mut dinode.uid, set.uid), (&mut dinode.gid, set.gid), (&mut dinode.flags, set.flags)] {
        if let Some(value) = value {
            *field = value;
            fields = Fields::Mode;
        }
    }
    if let Some(birth) = set.birth {
        dinode.birth = Timestamp { sec: birth.secs, nsec: birth.nanos };
    }
    let mtime = set.mtime.map(resolve).or(set.size.map(|_| now));
    let ctime = set.ctime.map(resolve).unwrap_or(now);
    set_times(dinode, set.atime.map(resolve), mtime, Some(ctime));
    fields
}
