//! What a caller may do: the checks that a kernel makes before a request gets to a file system (vfs-3).
//!
//! A1. The order is POSIX's: the first class that the caller belongs to decides, and a later one does not help.
//! A2. An owner may read and write his file whatever its mode says. A program may take its own permission away after it
//!     has opened a file, and goes on; here there is no "open", so the server cannot tell. Executing a file is reading
//!     it.

use crate::creds::Creds;
use nfs3_types::nfs3::{
    ACCESS3_DELETE, ACCESS3_EXECUTE, ACCESS3_EXTEND, ACCESS3_LOOKUP, ACCESS3_MODIFY, ACCESS3_READ, nfsstat3,
};
use ordo_ondisk::acl::{Acl, Tag};
use ordo_vfs::{Attr, Kind, Mode, SetAttr, SetTime};

/// Permission bits, as in a mode's last digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Granted(u16);

pub(crate) const READ: u16 = 4;
pub(crate) const WRITE: u16 = 2;
pub(crate) const EXECUTE: u16 = 1;

const SET_UID: u16 = 0o4000;
const SET_GID: u16 = 0o2000;
const STICKY: u16 = 0o1000;

impl Granted {
    /// What `creds` may do with a file of these attributes and this list.
    pub(crate) fn of(creds: &Creds, attr: &Attr, list: Option<&Acl>) -> Granted {
        let mode = attr.mode.bits();
        if creds.is_root() {
            let executes = attr.kind == Kind::Directory || mode & 0o111 != 0;
            return Granted(READ | WRITE | if executes { EXECUTE } else { 0 });
        }
        if creds.uid == attr.uid {
            return Granted(mode >> 6 & 7);
        }
        if let Some(list) = list {
            return Granted(by_list(creds, attr, list));
        }
        Granted(if creds.is_in(attr.gid) { mode >> 3 & 7 } else { mode & 7 })
    }

    pub(crate) fn has(self, wanted: u16) -> bool {
        self.0 & wanted == wanted
    }

    /// For ACCESS.
    pub(crate) fn answer(self, kind: Kind, read_only: bool) -> u32 {
        let directory = kind == Kind::Directory;
        let rules = [
            (ACCESS3_READ, self.has(READ)),
            (ACCESS3_LOOKUP, directory && self.has(EXECUTE)),
            (ACCESS3_MODIFY | ACCESS3_EXTEND, !read_only && self.has(WRITE)),
            (ACCESS3_DELETE, !read_only && directory && self.has(WRITE | EXECUTE)),
            (ACCESS3_EXECUTE, !directory && self.has(EXECUTE)),
        ];
        rules.iter().filter(|(_, granted)| *granted).fold(0, |all, (bits, _)| all | bits)
    }
}

fn by_list(creds: &Creds, attr: &Attr, list: &Acl) -> u16 {
    let entries = || list.entries().iter();
    let mask = entries().find(|entry| entry.tag == Tag::Mask).map_or(7, |entry| entry.perm);
    if let Some(own) = entries().find(|entry| entry.tag == Tag::User && entry.id == creds.uid) {
        return own.perm & mask;
    }
    let mut groups = entries()
        .filter(|entry| match entry.tag {
            Tag::GroupObj => creds.is_in(attr.gid),
            Tag::Group => creds.is_in(entry.id),
            _ => false,
        })
        .map(|entry| entry.perm & mask)
        .peekable();
    match groups.peek() {
        // More than one of his groups may be named: what any of them may.
        Some(_) => groups.fold(0, |all, perm| all | perm),
        None => entries().find(|entry| entry.tag == Tag::Other).map_or(0, |entry| entry.perm),
    }
}

/// Whether `creds` may remove or replace the name of `file` in the directory `dir`, which he may write.
pub(crate) fn may_remove(creds: &Creds, dir: &Attr, file: &Attr) -> bool {
    dir.mode.bits() & STICKY == 0 || creds.is_root() || creds.uid == dir.uid || creds.uid == file.uid
}

/// The changes of attributes that are made for `wanted`: what it asks, and what follows for the set-user-id bits.
///
/// # Errors
/// `PERM` for what only the owner or root may, `ACCES` for what takes a permission that is missing.
pub(crate) fn changes(creds: &Creds, attr: &Attr, granted: Granted, wanted: SetAttr) -> Result<SetAttr, nfsstat3> {
    let owner = creds.is_root() || creds.uid == attr.uid;
    let perm = |allowed: bool| if allowed { Ok(()) } else { Err(nfsstat3::NFS3ERR_PERM) };
    // Minus one is no user, and no group.
    if wanted.uid == Some(u32::MAX) || wanted.gid == Some(u32::MAX) {
        return Err(nfsstat3::NFS3ERR_INVAL);
    }
    perm(wanted.uid.is_none_or(|uid| creds.is_root() || (owner && uid == attr.uid)))?;
    let joins = |gid: u32| creds.is_root() || (owner && (gid == attr.gid || creds.is_in(gid)));
    perm(wanted.gid.is_none_or(joins))?;
    perm(wanted.mode.is_none() || owner)?;
    let chosen = |time: Option<SetTime>| matches!(time, Some(SetTime::At(_)));
    perm(owner || !(chosen(wanted.atime) || chosen(wanted.mtime)))?;
    let touches = wanted.atime.is_some() || wanted.mtime.is_some() || wanted.size.is_some();
    if touches && !owner && !granted.has(WRITE) {
        return Err(nfsstat3::NFS3ERR_ACCES);
    }
    let mut set = wanted;
    let group = wanted.gid.unwrap_or(attr.gid);
    if let Some(mode) = set.mode
        && !creds.is_root()
        && !creds.is_in(group)
    {
        set.mode = Some(Mode::new(u32::from(mode.bits() & !SET_GID)));
    }
    let given_away = wanted.uid.is_some() || wanted.gid.is_some();
    if set.mode.is_none() && (given_away || (wanted.size.is_some() && !creds.is_root())) {
        set.mode = without_set_id(attr);
    }
    Ok(set)
}

/// The mode of a file without the bits that lend its owner's rights, where it has some: who changes its contents, or
/// gives it away, must not decide what runs with them.
pub(crate) fn without_set_id(attr: &Attr) -> Option<Mode> {
    let mode = attr.mode.bits();
    // Without permission to execute for the group the bit is a mark for locking, and lends nothing.
    let lends = SET_UID | if mode & 0o010 != 0 { SET_GID } else { 0 };
    (attr.kind != Kind::Directory && mode & lends != 0).then(|| Mode::new(u32::from(mode & !lends)))
}

/// The mode of a new file: a group that its maker is not in lends him nothing.
pub(crate) fn mode_of_new(creds: &Creds, dir: &Attr, mode: u32) -> Mode {
    let group = if dir.mode.bits() & SET_GID != 0 { dir.gid } else { creds.gid };
    let keeps = creds.is_root() || creds.is_in(group);
    Mode::new(if keeps { mode } else { mode & !u32::from(SET_GID) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::creds::user;
    use ordo_ondisk::acl::AclEntry;
    use ordo_vfs::Stamp;

    fn attr(uid: u32, gid: u32, mode: u32) -> Attr {
        Attr {
            ino: 3,
            generation: 1,
            kind: Kind::Regular,
            mode: Mode::new(mode),
            nlink: 1,
            uid,
            gid,
            rdev: 0,
            size: 0,
            sectors: 0,
            block_size: 4096,
            flags: 0,
            atime: Stamp::default(),
            mtime: Stamp::default(),
            ctime: Stamp::default(),
            birth: None,
        }
    }

    fn bits(creds: &Creds, attr: &Attr, list: Option<&Acl>) -> u16 {
        Granted::of(creds, attr, list).0
    }

    #[test]
    fn the_first_class_decides() {
        let file = attr(10, 20, 0o074);
        assert_eq!(bits(&user(10, 20, &[]), &file, None), 0, "the owner is not helped by his group");
        assert_eq!(bits(&user(11, 20, &[]), &file, None), 7);
        assert_eq!(bits(&user(11, 1, &[20]), &file, None), 7);
        assert_eq!(bits(&user(11, 1, &[]), &file, None), 4);
        assert_eq!(bits(&user(0, 0, &[]), &file, None), 7);
        assert_eq!(bits(&user(0, 0, &[]), &attr(10, 20, 0o644), None), 6, "root runs no data");
    }

    #[test]
    fn a_list_decides_for_those_it_names() {
        let entry = |tag, id, perm| AclEntry { tag, id, perm };
        let list = Acl::new(vec![
            entry(Tag::UserObj, 0, 6),
            entry(Tag::User, 11, 7),
            entry(Tag::GroupObj, 0, 4),
            entry(Tag::Group, 30, 2),
            entry(Tag::Mask, 0, 6),
            entry(Tag::Other, 0, 1),
        ]);
        let (list, file) = (list.as_ref(), attr(10, 20, 0o661));
        assert_eq!(bits(&user(11, 20, &[]), &file, list), 6, "named, within the mask");
        assert_eq!(bits(&user(12, 20, &[30]), &file, list), 6, "two groups together");
        assert_eq!(bits(&user(12, 30, &[]), &file, list), 2);
        assert_eq!(bits(&user(12, 1, &[]), &file, list), 1);
    }

    #[test]
    fn only_the_owner_changes_what_is_his() {
        let file = attr(10, 20, 0o6755);
        let change = |creds: &Creds, set: SetAttr| changes(creds, &file, Granted::of(creds, &file, None), set);
        let (owner, other) = (user(10, 20, &[21]), user(11, 20, &[]));
        let mode = SetAttr { mode: Some(Mode::new(0o600)), ..SetAttr::default() };
        assert!(change(&owner, mode).is_ok());
        assert_eq!(change(&other, mode), Err(nfsstat3::NFS3ERR_PERM));
        let give = |uid, gid| SetAttr { uid, gid, ..SetAttr::default() };
        assert_eq!(change(&owner, give(Some(11), None)), Err(nfsstat3::NFS3ERR_PERM));
        assert_eq!(change(&owner, give(None, Some(99))), Err(nfsstat3::NFS3ERR_PERM));
        assert_eq!(change(&owner, give(None, Some(21))).unwrap().mode, Some(Mode::new(0o755)), "and lends no more");
        assert_eq!(change(&user(0, 0, &[]), give(Some(u32::MAX), None)), Err(nfsstat3::NFS3ERR_INVAL));
        let touch = SetAttr { mtime: Some(SetTime::Now), ..SetAttr::default() };
        assert_eq!(change(&other, touch), Err(nfsstat3::NFS3ERR_ACCES));
        let cut = SetAttr { size: Some(0), ..SetAttr::default() };
        assert_eq!(change(&owner, cut).unwrap().mode, Some(Mode::new(0o755)));
        assert_eq!(change(&user(0, 0, &[]), cut).unwrap().mode, None);
    }

    #[test]
    fn in_a_sticky_directory_a_name_is_its_owners() {
        let (dir, file) = (attr(1, 1, 0o1777), attr(10, 10, 0o666));
        assert!(may_remove(&user(10, 10, &[]), &dir, &file));
        assert!(may_remove(&user(1, 1, &[]), &dir, &file));
        assert!(may_remove(&user(0, 0, &[]), &dir, &file));
        assert!(!may_remove(&user(11, 10, &[]), &dir, &file));
        assert!(may_remove(&user(11, 10, &[]), &attr(1, 1, 0o777), &file));
    }
}
