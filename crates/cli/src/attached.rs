//! What hangs on a file of a volume beside its inode: extended attributes and access control lists, as an archive or a
//! tree has them.
//!
//! H1. Each is kept, or counted: one line at the end says what is left out and why, and the exit status says it, too.
//! H2. The mask of a list that is left out is not given to the group ([`acl::mode_beside`]).

use crate::acl::{self, ACCESS, DEFAULT};
use crate::archive::Meta;
use crate::{image, text};
use anyhow::Context;
use ordo_ondisk::acl::Acl;
use ordo_vfs::{Caller, FileSystem, Refusal, XattrMode};
use ordofs::path::Held;
use ordofs::{Fs, Mounted};

/// Puts attributes and lists on the files of a volume.
pub(crate) struct Attacher {
    who: Caller,
    has_xattrs: bool,
    has_acls: bool,
    xattrs_lost: u64,
    lists_lost: u64,
}

impl Attacher {
    pub(crate) fn new(mounted: &Mounted) -> Attacher {
        let (has_xattrs, has_acls) = (mounted.has_xattrs(), mounted.has_acls());
        Attacher { who: image::owner(), has_xattrs, has_acls, xattrs_lost: 0, lists_lost: 0 }
    }

    /// Puts all of it on a file but a default list, which comes when a directory is full: what is made in it would get
    /// it, too. Returns the file's permissions (H2).
    ///
    /// # Errors
    /// Those of the volume.
    pub(crate) async fn put(&mut self, to: &Held<Fs>, meta: &Meta) -> anyhow::Result<u16> {
        let mut mode = meta.mode;
        for (name, value) in meta.xattrs.iter().filter(|(name, _)| name != DEFAULT) {
            let kept = self.one(to, name, value).await?;
            if let Some(list) = Acl::from_linux(value).filter(|_| name == ACCESS) {
                mode = acl::mode_beside(mode, &list, kept);
            }
        }
        Ok(mode)
    }

    /// Puts its default list on a directory that is full.
    ///
    /// # Errors
    /// Those of the volume.
    pub(crate) async fn put_default(&mut self, to: &Held<Fs>, meta: &Meta) -> anyhow::Result<()> {
        for (name, value) in meta.xattrs.iter().filter(|(name, _)| name == DEFAULT) {
            self.one(to, name, value).await?;
        }
        Ok(())
    }

    async fn one(&mut self, to: &Held<Fs>, name: &[u8], value: &[u8]) -> anyhow::Result<bool> {
        let is_list = name == ACCESS || name == DEFAULT;
        if self.has_xattrs && (self.has_acls || !is_list) {
            let set = to.fs().setxattr(&self.who, to.node(), name, value, XattrMode::Set).await;
            match set {
                Ok(()) => return Ok(true),
                // NetBSD has the format, and no attributes in it; a device has none anywhere.
                Err(ordo_vfs::Error::Refused(Refusal::NotSupported | Refusal::NotPermitted)) => {}
                other => other.with_context(|| format!("extended attribute {}", text::escape(name)))?,
            }
        }
        match is_list {
            true => self.lists_lost += 1,
            false => self.xattrs_lost += 1,
        }
        Ok(false)
    }

    /// The line for what was left out (H1).
    pub(crate) fn lost(&self) -> Option<String> {
        let count = |n: u64, one: &str, more: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { more }));
        let lists = count(self.lists_lost, "access control list", "access control lists");
        let xattrs = count(self.xattrs_lost, "extended attribute", "extended attributes");
        let why = match (self.has_xattrs, self.has_acls, self.xattrs_lost) {
            (false, ..) => "this format has none",
            (true, false, 0) => "the volume has none; ordo mkfs -o acls=posix makes one that has",
            _ => "the volume has no place for them",
        };
        let what: Vec<String> = lists.into_iter().chain(xattrs).collect();
        let verb = if self.lists_lost + self.xattrs_lost == 1 { "is" } else { "are" };
        (!what.is_empty()).then(|| format!("{} {verb} left out: {why}", what.join(" and ")))
    }
}
