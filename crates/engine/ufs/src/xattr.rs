//! Extended attributes: Linux's names on one side, the namespaces of the volume on the other.
//!
//! | Linux | volume |
//! | --- | --- |
//! | `user.NAME` | user namespace, `NAME` |
//! | `system.posix_acl_access`, `system.posix_acl_default` | system namespace, `posix1e.acl_access`, `posix1e.acl_default` |
//! | `system.nfs4_acl`, to read | system namespace, `nfs4.acl` |
//! | `security.NAME`, `trusted.NAME` | system namespace, the same name with its prefix |
//! | `trusted.freebsd.system.NAME` | system namespace, any other `NAME` |
//!
//! The system namespace is for the privileged on FreeBSD, as `security` and `trusted` are on Linux. Each attribute of
//! the volume has exactly one name here, so a copy does not set it twice.

use crate::{Inode, Layout, Ufs, attr};
use bytes::Bytes;
use ordo_buf::{CallKind, Fields, Op};
use ordo_ondisk::acl::{ACCESS, Acl, DEFAULT};
use ordo_ondisk::extattr::{self, MAX_NAME, Namespace};
use ordo_ondisk::nfs4::{self, NFS4};
use ordo_vfs::{Caller, Error, Kind, Refusal, Result, XattrMode};
use std::rc::Rc;

const USER: &[u8] = b"user.";
const SYSTEM: &[u8] = b"trusted.freebsd.system.";
/// Namespaces of Linux that keep their names in the system namespace.
const OWN: [&[u8]; 2] = [b"security.", b"trusted."];
const NFS4_ACL: &[u8] = b"system.nfs4_acl";

/// An attribute as the volume names it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id<'a> {
    space: Namespace,
    name: &'a [u8],
}

impl<'a> Id<'a> {
    fn of_linux(name: &'a [u8]) -> Result<Id<'a>> {
        let id = match name {
            b"system.posix_acl_access" => Id { space: Namespace::SYSTEM, name: ACCESS },
            b"system.posix_acl_default" => Id { space: Namespace::SYSTEM, name: DEFAULT },
            NFS4_ACL => Id { space: Namespace::SYSTEM, name: NFS4 },
            _ => match (name.strip_prefix(USER), name.strip_prefix(SYSTEM)) {
                (Some(name), _) => Id { space: Namespace::USER, name },
                // These have names of their own.
                (_, Some(name)) if has_own_name(name) => return Err(Refusal::Invalid.into()),
                (_, Some(name)) => Id { space: Namespace::SYSTEM, name },
                _ if OWN.iter().any(|space| name.len() > space.len() && name.starts_with(space)) => {
                    Id { space: Namespace::SYSTEM, name }
                }
                _ => return Err(Refusal::NotSupported.into()),
            },
        };
        match id.name.len() {
            0 => Err(Refusal::Invalid.into()),
            1..=MAX_NAME => Ok(id),
            _ => Err(Refusal::Range.into()),
        }
    }

    fn linux_name(space: Namespace, name: &[u8]) -> Vec<u8> {
        match (space, name) {
            (Namespace::SYSTEM, ACCESS) => b"system.posix_acl_access".to_vec(),
            (Namespace::SYSTEM, DEFAULT) => b"system.posix_acl_default".to_vec(),
            (Namespace::SYSTEM, NFS4) => NFS4_ACL.to_vec(),
            (Namespace::USER, name) => [USER, name].concat(),
            (Namespace::SYSTEM, name) if has_own_name(name) => name.to_vec(),
            (_, name) => [SYSTEM, name].concat(),
        }
    }

    fn is_acl(&self) -> bool {
        self.space == Namespace::SYSTEM && (self.name == ACCESS || self.name == DEFAULT)
    }
}

/// A name of the system namespace that Linux has under another name than [`SYSTEM`].
fn has_own_name(name: &[u8]) -> bool {
    [ACCESS, DEFAULT, NFS4].contains(&name)
        || OWN.iter().any(|space| name.starts_with(space) && !name.starts_with(SYSTEM))
}

impl<L: Layout> Ufs<L> {
    /// The value of an attribute.
    pub(crate) async fn getxattr(&self, inode: &Rc<Inode>, name: &[u8]) -> Result<Bytes> {
        let id = Id::of_linux(name)?;
        if !self.layout.shape().has_attributes() {
            return Err(Refusal::NotSupported.into());
        }
        let value = {
            let _shared = inode.lock.read().await;
            self.stored(inode, id).await?.ok_or(Refusal::NoAttribute)?
        };
        if id.name == NFS4 && id.space == Namespace::SYSTEM {
            let list = nfs4::to_protocol(&value, self.layout.shape().encoding.endian);
            return Ok(list.map_err(|error| damaged(inode, error))?.into());
        }
        if !id.is_acl() {
            return Ok(value.into());
        }
        let mut list =
            Acl::decode(&value, self.layout.shape().encoding.endian).map_err(|error| damaged(inode, error))?;
        if id.name == ACCESS {
            list.set_mode_bits(inode.dinode().mode);
        }
        Ok(list.to_linux().into())
    }

    fn may_set_attributes(&self) -> Result<()> {
        if !self.layout.shape().may_set_attributes() {
            return Err(Refusal::NotSupported.into());
        }
        Ok(())
    }

    async fn stored(&self, inode: &Inode, id: Id<'_>) -> Result<Option<Vec<u8>>> {
        if inode.dinode().extsize == 0 {
            return Ok(None);
        }
        let area = self.layout.attributes(inode).await?;
        let found = extattr::find(&area, self.layout.shape().encoding.endian, inode.ino(), id.space, id.name);
        Ok(found.map_err(Error::corrupt)?.map(|attribute| attribute.value.to_vec()))
    }

    /// The names of all attributes.
    pub(crate) async fn listxattr(&self, inode: &Rc<Inode>) -> Result<Vec<Vec<u8>>> {
        if inode.dinode().extsize == 0 {
            return Ok(Vec::new());
        }
        let _shared = inode.lock.read().await;
        let area = self.layout.attributes(inode).await?;
        extattr::attributes(&area, self.layout.shape().encoding.endian, inode.ino())
            .map(|found| found.map(|a| Id::linux_name(a.namespace, a.name)).map_err(Error::corrupt))
            .collect()
    }

    /// Sets an attribute.
    pub(crate) async fn setxattr(
        &self,
        who: &Caller,
        inode: &Rc<Inode>,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        self.change_attribute(who, inode, name, Some(value), mode).await
    }

    /// Removes an attribute.
    pub(crate) async fn removexattr(&self, inode: &Rc<Inode>, name: &[u8]) -> Result<()> {
        self.change_attribute(&Caller::default(), inode, name, None, XattrMode::Replace).await
    }

    async fn change_attribute(
        &self,
        who: &Caller,
        inode: &Rc<Inode>,
        name: &[u8],
        value: Option<&[u8]>,
        mode: XattrMode,
    ) -> Result<()> {
        let id = Id::of_linux(name)?;
        if name == NFS4_ACL {
            return Err(Refusal::NotSupported.into());
        }
        self.may_set_attributes()?;
        attr::may_change(inode)?;
        if inode.dinode().flags & attr::flags::APPEND != 0 {
            return Err(Refusal::NotPermitted.into());
        }
        if inode.kind().is_some_and(Kind::is_device) {
            return Err(Refusal::NotPermitted.into());
        }
        self.call_with_room(CallKind::SetXattr, async |op| {
            let _alone = inode.lock.write().await;
            if id.is_acl() {
                return self.set_acl(op, who, inode, id, value).await;
            }
            self.replace_stored(op, who, inode, id, (value, None), mode).await
        })
        .await
    }

    async fn set_acl(&self, op: Op, who: &Caller, inode: &Rc<Inode>, id: Id<'_>, list: Option<&[u8]>) -> Result<()> {
        if id.name == DEFAULT && !inode.is_dir() {
            return if list.is_some() { Err(Refusal::Denied.into()) } else { Ok(()) };
        }
        let list = list.map(|list| Acl::from_linux(list).ok_or(Refusal::Invalid)).transpose()?;
        let rights = (id.name == ACCESS).then(|| list.as_ref().map_or(inode.dinode().mode, Acl::mode_bits) & 0o777);
        // What the mode already expresses need not be stored.
        let stored = list.filter(|list| id.name == DEFAULT || !list.is_minimal());
        let value = stored.map(|list| list.encode(self.layout.shape().encoding.endian));
        let value = value.as_ref().map(|value| &value[..]);
        if value.is_none() && self.stored(inode, id).await?.is_none() {
            if let Some(rights) = rights {
                let mut dinode = inode.dinode_mut();
                dinode.mode = dinode.mode & !0o777 | rights;
            }
            return self.changed_attributes(op, inode).await;
        }
        self.replace_stored(op, who, inode, id, (value, rights), XattrMode::Set).await
    }

    async fn replace_stored(
        &self,
        op: Op,
        who: &Caller,
        inode: &Rc<Inode>,
        id: Id<'_>,
        (value, rights): (Option<&[u8]>, Option<u16>),
        mode: XattrMode,
    ) -> Result<()> {
        let there = self.stored(inode, id).await?.is_some();
        match (there, value.is_some(), mode) {
            (true, true, XattrMode::Create) => return Err(Refusal::Exists.into()),
            (false, true, XattrMode::Replace) | (false, false, _) => return Err(Refusal::NoAttribute.into()),
            _ => {}
        }
        let old = self.layout.attributes(inode).await?;
        let new = extattr::with(&old, self.layout.shape().encoding, inode.ino(), id.space, id.name, value)
            .map_err(Error::corrupt)?
            .ok_or(Refusal::AttributeTooBig)?;
        self.layout.set_attributes(op, who, inode, &new, rights).await?;
        self.changed_attributes(op, inode).await
    }

    async fn changed_attributes(&self, op: Op, inode: &Inode) -> Result<()> {
        attr::set_times(&mut inode.dinode_mut(), None, None, Some(self.now()));
        self.changed(op, inode, Fields::Mode).await.map(drop)
    }

    /// The default list of a directory.
    pub(crate) async fn default_acl(&self, dir: &Inode) -> Result<Option<Acl>> {
        let id = Id { space: Namespace::SYSTEM, name: DEFAULT };
        match self.stored(dir, id).await? {
            None => Ok(None),
            Some(value) => {
                let list =
                    Acl::decode(&value, self.layout.shape().encoding.endian).map_err(|error| damaged(dir, error))?;
                Ok(Some(list))
            }
        }
    }

    /// Gives a new inode what the default list of its directory grants: a list of its own if its mode cannot express
    /// it, and for a directory the default list, too. (POSIX.1e draft 17, section 23.1.6: the umask plays no part.)
    pub(crate) async fn inherit_acl(&self, op: Op, who: &Caller, inode: &Inode, default: &Acl) -> Result<()> {
        let shape = self.layout.shape();
        let mut own = default.clone();
        own.set_mode_bits(inode.dinode().mode);
        let mut area = Vec::new();
        for (name, list) in
            [(ACCESS, (!own.is_minimal()).then_some(&own)), (DEFAULT, inode.is_dir().then_some(default))]
        {
            let Some(list) = list else { continue };
            let value = list.encode(shape.encoding.endian);
            area = extattr::with(&area, shape.encoding, inode.ino(), Namespace::SYSTEM, name, Some(&value))
                .map_err(Error::corrupt)?
                .ok_or(Refusal::AttributeTooBig)?;
        }
        if area.is_empty() {
            return Ok(());
        }
        self.layout.set_attributes(op, who, inode, &area, None).await
    }
}

fn damaged(inode: &Inode, what: ordo_ondisk::Corrupt) -> Error {
    let text = format!("extended attributes of inode {}: {what}", inode.ino().0);
    Error::corrupt(what).told_as(text)
}
