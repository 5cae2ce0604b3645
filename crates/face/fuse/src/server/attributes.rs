//! SETATTR, and clearing set-user-id and set-group-id.
//!
//! With HANDLE_KILLPRIV_V2 the kernel requires the server to clear set-user-id, and set-group-id if the group may
//! execute the file: on every change of owner, on a write or truncation that it marks as made without CAP_FSETID, and
//! on a SETATTR that sets nothing, which remains of the kernel's own attempt to clear them (before a write, before
//! fallocate, in a chown that changes neither).
//!
//! A1. Root keeps both bits when it writes: the kernel marks nothing then. Only the file's capability goes: the
//!     kernel sends REMOVEXATTR, and right behind it, from the same thread, a SETATTR that sets nothing. Such a SETATTR
//!     clears nothing. (A chown that changes neither owner nor group sends the same two.) A SETATTR that sets nothing
//!     without a REMOVEXATTR before it comes from a chown, and clears.

use super::shared::Server;
use crate::proto::abi::{SetattrIn, fattr};
use crate::proto::reply::{Answer, Notice, Reply};
use crate::proto::request::Head;
use crate::transport::Transport;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, NodeId, SetAttr, SetTime, Stamp};
use rustix::io::Errno;

/// `mode` without set-user-id, and without set-group-id if the group may execute the file; `None` if nothing changes.
pub(super) fn without_setid(mode: Mode) -> Option<Mode> {
    let bits = mode.bits();
    let group = if bits & 0o010 != 0 { 0o2000 } else { 0 };
    let kept = bits & !(0o4000 | group);
    (kept != bits).then(|| Mode::new(kept.into()))
}

fn time(now: bool, secs: i64, nanos: u32) -> Result<SetTime, Errno> {
    if now {
        return Ok(SetTime::Now);
    }
    if nanos >= 1_000_000_000 {
        return Err(Errno::INVAL);
    }
    Ok(SetTime::At(Stamp { secs, nanos }))
}

fn decode(args: &SetattrIn) -> Result<SetAttr, Errno> {
    let has = |bit| args.valid & bit != 0;
    Ok(SetAttr {
        mode: has(fattr::MODE).then(|| Mode::new(args.mode)),
        uid: has(fattr::UID).then_some(args.uid),
        gid: has(fattr::GID).then_some(args.gid),
        size: has(fattr::SIZE).then_some(args.size),
        atime: has(fattr::ATIME).then(|| time(has(fattr::ATIME_NOW), args.atime, args.atimensec)).transpose()?,
        mtime: has(fattr::MTIME).then(|| time(has(fattr::MTIME_NOW), args.mtime, args.mtimensec)).transpose()?,
        ctime: has(fattr::CTIME).then(|| time(false, args.ctime, args.ctimensec)).transpose()?,
        birth: None,
        flags: None,
        if_ctime: None,
    })
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    pub(super) async fn setattr(&self, head: &Head, node: NodeId, args: &SetattrIn) -> Answer {
        let mut set = decode(args)?;
        self.setattrs.set(self.setattrs.get() + 1);
        let keeps = self.uncapable.take() == Some((node, head.pid));
        let owner = set.uid.is_some() || set.gid.is_some() || set == SetAttr::default() && !keeps;
        if set.mode.is_none() && (owner || args.valid & fattr::KILL_SUIDGID != 0) {
            let attr = self.fs.getattr(node).await.map_err(|e| self.refuse(&e))?;
            if attr.kind != Kind::Directory {
                set.mode = without_setid(attr.mode);
            }
        }
        let attr = match set == SetAttr::default() {
            true => self.fs.getattr(node).await,
            false => self.fs.setattr(node, &set).await,
        };
        Ok(Reply::Bytes(self.show.attr_out(&attr.map_err(|e| self.refuse(&e))?)))
    }

    /// Clears set-user-id and set-group-id of a file before a write that may not keep them.
    pub(super) async fn kill_setid(&self, node: NodeId) -> Result<(), Errno> {
        let attr = self.fs.getattr(node).await.map_err(|e| self.refuse(&e))?;
        if let Some(mode) = without_setid(attr.mode) {
            let set = SetAttr { mode: Some(mode), ..SetAttr::default() };
            self.fs.setattr(node, &set).await.map_err(|e| self.refuse(&e))?;
            // The kernel updates only size and times after a write. It would run the file with the old bits.
            self.transport.notify(Notice::StaleAttributes(self.show.swap(node.0)));
        }
        Ok(())
    }

    /// Writes data from the kernel's cache. With the write-back cache the kernel also maintains the times and sends
    /// them by SETATTR, before the data as well as after it: the arrival of the data is not the time of the change.
    pub(super) async fn write_keeping_times(
        &self,
        who: &Caller,
        node: NodeId,
        offset: u64,
        data: &[u8],
    ) -> ordo_vfs::Result<u32> {
        let before = self.fs.getattr(node).await?;
        let setattrs = self.setattrs.get();
        let size = self.fs.write(who, node, offset, data).await?;
        // A SETATTR that came during the write has newer times than those saved here.
        if setattrs == self.setattrs.get() {
            let at = |stamp| Some(SetTime::At(stamp));
            let times = SetAttr { mtime: at(before.mtime), ctime: at(before.ctime), ..SetAttr::default() };
            // The data is written: a time that may not be set (the file is append-only) must not make the write fail.
            let _ = self.fs.setattr(node, &times).await;
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_group_id_stays_where_the_group_may_not_execute() {
        let bits = |mode| without_setid(Mode::new(mode)).map(Mode::bits);
        assert_eq!(bits(0o6755), Some(0o755));
        assert_eq!(bits(0o2745), None);
        assert_eq!(bits(0o6745), Some(0o2745));
        assert_eq!(bits(0o1777), None);
    }

    #[test]
    fn only_valid_fields_are_set_and_a_bad_time_is_refused() {
        let args = SetattrIn {
            valid: fattr::SIZE | fattr::ATIME | fattr::MTIME | fattr::MTIME_NOW,
            size: 9,
            atime: -1,
            atimensec: 5,
            uid: 3,
            ..Default::default()
        };
        let set = decode(&args).unwrap();
        assert_eq!((set.size, set.uid, set.mtime), (Some(9), None, Some(SetTime::Now)));
        assert_eq!(set.atime, Some(SetTime::At(Stamp { secs: -1, nanos: 5 })));
        assert_eq!(decode(&SetattrIn { atimensec: 1_000_000_000, ..args }), Err(Errno::INVAL));
    }
}
