//! Extended attributes: `user.`, `trusted.` and the two access control lists.

use crate::acl::Acl;
use crate::arena::{Node, Xattrs};
use crate::flags::{self, APPEND, IMMUTABLE};
use crate::state::State;
use bytes::Bytes;
use ordo_vfs::{Kind, Mode, NodeId, Refusal, Result, Stamp, XattrMode};

pub(crate) const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
pub(crate) const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// Linux's limits in bytes, prefix included in the name.
const MAX_XATTR_NAME: usize = 255;
const MAX_XATTR_VALUE: usize = 65536;

/// The namespace of an attribute, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Plain,
    AclAccess,
    AclDefault,
}

fn space(name: &[u8]) -> Result<Space> {
    if name.len() > MAX_XATTR_NAME {
        return Err(Refusal::Range.into());
    }
    match name {
        ACL_ACCESS => Ok(Space::AclAccess),
        ACL_DEFAULT => Ok(Space::AclDefault),
        b"user." | b"trusted." => Err(Refusal::Invalid.into()),
        _ if name.starts_with(b"user.") || name.starts_with(b"trusted.") => Ok(Space::Plain),
        _ => Err(Refusal::NotSupported.into()),
    }
}

impl State {
    pub(crate) fn getxattr(&self, id: NodeId, name: &[u8]) -> Result<Bytes> {
        let node = self.node(id)?;
        space(name)?;
        let value = node.xattrs.as_ref().and_then(|xattrs| xattrs.get(name));
        Ok(value.ok_or(Refusal::NoAttribute)?.clone())
    }

    pub(crate) fn listxattr(&self, id: NodeId) -> Result<Vec<Vec<u8>>> {
        Ok(self.node(id)?.xattrs.as_ref().map(|xattrs| xattrs.keys().cloned().collect()).unwrap_or_default())
    }

    pub(crate) fn setxattr(
        &mut self,
        id: NodeId,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
        now: Stamp,
    ) -> Result<()> {
        let node = self.node_mut(id)?;
        let space = space(name)?;
        flags::refuse(node.attr.flags, IMMUTABLE | APPEND)?;
        if value.len() > MAX_XATTR_VALUE {
            return Err(Refusal::AttributeTooBig.into());
        }
        if space != Space::Plain {
            // The call's mode is ignored for a list: there always is one, at least in the permission bits.
            return set_acl(node, space, Acl::parse(value)?, now);
        }
        let there = node.xattrs.as_ref().is_some_and(|xattrs| xattrs.contains_key(name));
        match mode {
            XattrMode::Create if there => return Err(Refusal::Exists.into()),
            XattrMode::Replace if !there => return Err(Refusal::NoAttribute.into()),
            _ => {}
        }
        node.put_xattr(name, Bytes::copy_from_slice(value));
        node.attr.ctime = now;
        Ok(())
    }

    pub(crate) fn removexattr(&mut self, id: NodeId, name: &[u8], now: Stamp) -> Result<()> {
        let node = self.node_mut(id)?;
        let space = space(name)?;
        flags::refuse(node.attr.flags, IMMUTABLE | APPEND)?;
        if space != Space::Plain {
            return set_acl(node, space, None, now);
        }
        if !node.drop_xattr(name) {
            return Err(Refusal::NoAttribute.into());
        }
        node.attr.ctime = now;
        Ok(())
    }
}

/// Stores a list or removes it; an access list that nine bits can express is stored as those bits.
fn set_acl(node: &mut Node, space: Space, acl: Option<Acl>, now: Stamp) -> Result<()> {
    if node.attr.kind == Kind::Symlink {
        return Err(Refusal::NotSupported.into());
    }
    let (name, stored) = match space {
        Space::AclDefault if node.attr.kind != Kind::Directory => {
            return if acl.is_some() { Err(Refusal::Denied.into()) } else { Ok(()) };
        }
        Space::AclDefault => (ACL_DEFAULT, acl),
        _ => {
            if let Some(acl) = &acl {
                node.attr.mode = Mode::new(u32::from(node.attr.mode.bits() & !0o777 | acl.bits()));
            }
            (ACL_ACCESS, acl.filter(Acl::is_extended))
        }
    };
    match stored {
        Some(acl) => node.put_xattr(name, acl.to_bytes()),
        None => {
            node.drop_xattr(name);
        }
    }
    node.attr.ctime = now;
    Ok(())
}

impl Node {
    fn put_xattr(&mut self, name: &[u8], value: Bytes) {
        self.xattrs.get_or_insert_with(|| Box::new(Xattrs::new())).insert(name.to_vec(), value);
    }

    /// `true` if there was one.
    fn drop_xattr(&mut self, name: &[u8]) -> bool {
        let Some(xattrs) = &mut self.xattrs else { return false };
        let there = xattrs.remove(name).is_some();
        if xattrs.is_empty() {
            self.xattrs = None;
        }
        there
    }

    /// Keeps the access list consistent with new permission bits.
    pub(crate) fn chmod_acl(&mut self, bits: u16) {
        let list = self.xattrs.as_ref().and_then(|xattrs| xattrs.get(ACL_ACCESS));
        if let Some(mut acl) = list.and_then(|value| Acl::parse(value).ok()?) {
            acl.chmod(bits);
            self.put_xattr(ACL_ACCESS, acl.to_bytes());
        }
    }
}
