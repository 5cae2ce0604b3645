//! Extended attributes.

use super::shared::Server;
use crate::proto::abi::{SETXATTR_ACL_KILL_SGID, SetxattrIn};
use crate::proto::reply::{Answer, Reply, sized};
use crate::proto::request::Head;
use crate::questions::{ADOPT, ANSWER_MOST, SCRUB, STATUS, TRACE};
use crate::transport::Transport;
use ordo_vfs::{Caller, FileSystem, Mode, NodeId, SetAttr, XattrMode};
use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// The ACL that controls access to a file; the mode's group bits are a part of it.
const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
/// What a program may do beyond its user.
const CAPABILITY: &[u8] = b"security.capability";
const ACL_PREFIX: &[u8] = b"system.posix_acl_";

fn mode(flags: u32) -> Result<XattrMode, Errno> {
    match XattrFlags::from_bits_retain(flags) {
        f if f.is_empty() => Ok(XattrMode::Set),
        XattrFlags::CREATE => Ok(XattrMode::Create),
        XattrFlags::REPLACE => Ok(XattrMode::Replace),
        _ => Err(Errno::INVAL),
    }
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    /// ENOSYS on a volume without attributes: the kernel then never queries again, not even for `security.capability`
    /// before a write.
    fn xattr_name(&self, name: &[u8]) -> Result<(), Errno> {
        if !self.opts.xattrs {
            let busy = || self.opts.status.as_ref().is_some_and(|status| status().busy);
            return Err(if self.tape.exists() || busy() { Errno::OPNOTSUPP } else { Errno::NOSYS });
        }
        if !self.opts.acls && name.starts_with(ACL_PREFIX) {
            return Err(Errno::OPNOTSUPP);
        }
        Ok(())
    }

    pub(super) async fn getxattr(&self, uid: u32, node: NodeId, name: &[u8], room: u32) -> Answer {
        let may = || uid == 0 || uid == rustix::process::geteuid().as_raw();
        if node == self.fs.root()
            && let Some(word) = name.strip_prefix(TRACE.as_bytes())
        {
            return if may() { self.tape.ask(word, room) } else { Err(Errno::PERM) };
        }
        let works = [(SCRUB, &self.opts.scrub), (ADOPT, &self.opts.adopt)];
        let asked = |(word, work): (&str, _)| Some((name.strip_prefix(word.as_bytes())?, Option::as_ref(work)?));
        if node == self.fs.root()
            && let Some((from, work)) = works.into_iter().find_map(asked)
        {
            let from = std::str::from_utf8(from).ok().and_then(|from| from.parse().ok()).ok_or(Errno::INVAL)?;
            return match (may(), room) {
                (false, _) => Err(Errno::PERM),
                // The size of the result is not worth the work.
                (true, 0) => sized(&[0; ANSWER_MOST], 0),
                (true, _) => sized(work(from).await?.as_bytes(), room),
            };
        }
        if name == STATUS.as_bytes()
            && node == self.fs.root()
            && let Some(status) = &self.opts.status
        {
            return sized(status().text.as_bytes(), room);
        }
        self.xattr_name(name)?;
        let value = self.fs.getxattr(node, name).await.map_err(|e| self.refuse(&e))?;
        sized(&value, room)
    }

    pub(super) async fn listxattr(&self, node: NodeId, room: u32) -> Answer {
        self.xattr_name(b"")?;
        let names = self.fs.listxattr(node).await.map_err(|e| self.refuse(&e))?;
        let mut bytes = Vec::new();
        for name in names.iter().filter(|name| self.xattr_name(name).is_ok()) {
            bytes.extend_from_slice(name);
            bytes.push(0);
        }
        sized(&bytes, room)
    }

    pub(super) async fn setxattr(
        &self,
        who: &Caller,
        node: NodeId,
        args: &SetxattrIn,
        name: &[u8],
        value: &[u8],
    ) -> Answer {
        self.xattr_name(name)?;
        let mode = mode(args.flags)?;
        self.fs.setxattr(who, node, name, value, mode).await.map_err(|e| self.refuse(&e))?;
        if name == ACL_ACCESS && args.setxattr_flags & SETXATTR_ACL_KILL_SGID != 0 {
            self.clear_setgid(node).await?;
        }
        Ok(Reply::Done)
    }

    /// Like chmod by a user outside the file's group. The kernel fetches the attributes again by itself.
    async fn clear_setgid(&self, node: NodeId) -> Result<(), Errno> {
        let bits = self.fs.getattr(node).await.map_err(|e| self.refuse(&e))?.mode.bits();
        if bits & 0o2000 != 0 {
            let mode = Some(Mode::new(u32::from(bits & !0o2000)));
            self.fs.setattr(node, &SetAttr { mode, ..SetAttr::default() }).await.map_err(|e| self.refuse(&e))?;
        }
        Ok(())
    }

    pub(super) async fn removexattr(&self, head: &Head, node: NodeId, name: &[u8]) -> Answer {
        self.xattr_name(name)?;
        self.fs.removexattr(node, name).await.map_err(|e| self.refuse(&e))?;
        if head.uid == 0 && name == CAPABILITY {
            self.uncapable.set(Some((node, head.pid)));
        }
        Ok(Reply::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_and_replace_exclude_each_other() {
        assert_eq!(mode(0), Ok(XattrMode::Set));
        assert_eq!(mode(1), Ok(XattrMode::Create));
        assert_eq!(mode(2), Ok(XattrMode::Replace));
        assert_eq!(mode(3), Err(Errno::INVAL));
    }
}
