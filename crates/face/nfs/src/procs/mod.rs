//! The procedures of NFSv3 and MOUNT.
//!
//! P1. Each finds its files by their handles, and gives them back at its end, whatever that is ([`Held`]).
//! P2. The attributes that a reply shows are read after the change, and those from before it are those that were read
//!     with the handle: a client that finds another's change between them drops what it has cached.

mod attributes;
mod contents;
mod listing;
mod mount;
mod moves;
mod names;
mod space;

use crate::access::Granted;
use crate::creds::Creds;
use crate::server::{Names, Server};
use crate::{convert, handle};
use nfs3_types::nfs3::{Nfs3Option, nfs_fh3, nfsstat3, post_op_attr, post_op_fh3, wcc_data};
use ordo_ondisk::acl::Acl;
use ordo_vfs::{Attr, Entry, Error, FileSystem, Kind, Name, NodeId, Refusal};

/// What a procedure's work returns.
type Outcome<T> = Result<T, nfsstat3>;

/// A file for the length of a call.
pub(crate) struct Held<'a, F: FileSystem> {
    fs: &'a F,
    node: NodeId,
    /// As they were when it was found.
    attr: Attr,
}

impl<'a, F: FileSystem> Held<'a, F> {
    fn new(fs: &'a F, entry: Entry) -> Held<'a, F> {
        Held { fs, node: entry.node, attr: entry.attr }
    }

    fn is_dir(&self) -> bool {
        self.attr.kind == Kind::Directory
    }
}

impl<F: FileSystem> Drop for Held<'_, F> {
    fn drop(&mut self) {
        self.fs.forget(self.node, 1);
    }
}

/// The name of an access control list among the extended attributes.
const ACL: &[u8] = b"system.posix_acl_access";

fn some<T: nfs3_types::xdr_codec::Pack + nfs3_types::xdr_codec::Unpack>(value: T) -> Nfs3Option<T> {
    Nfs3Option::Some(value)
}

impl<F: FileSystem + 'static> Server<F> {
    /// The status for `error`; errors of disk or image are also passed to `Options::complain`.
    fn refuse(&self, error: &Error) -> nfsstat3 {
        if !matches!(error, Error::Refused(_)) {
            (self.opts.complain)(error);
        }
        convert::status(error)
    }

    async fn held(&self, handle: &nfs_fh3) -> Outcome<Held<'_, F>> {
        let file = handle::file(&self.opts.key, self.opts.volume, &handle.data)?;
        let found = self.fs.by_number(file.ino, file.generation).await;
        found.map(|entry| Held::new(&*self.fs, entry)).map_err(|e| self.refuse(&e))
    }

    /// The same for a directory.
    async fn held_dir(&self, handle: &nfs_fh3) -> Outcome<Held<'_, F>> {
        let held = self.held(handle).await?;
        if held.is_dir() { Ok(held) } else { Err(nfsstat3::NFS3ERR_NOTDIR) }
    }

    async fn child(&self, dir: &Held<'_, F>, name: Name<'_>) -> Outcome<Held<'_, F>> {
        let found = self.fs.lookup(dir.node, name).await;
        found.map(|entry| Held::new(&*self.fs, entry)).map_err(|e| self.refuse(&e))
    }

    /// The same where the name need not exist.
    async fn child_if_any(&self, dir: &Held<'_, F>, name: Name<'_>) -> Outcome<Option<Held<'_, F>>> {
        match self.fs.lookup(dir.node, name).await {
            Ok(entry) => Ok(Some(Held::new(&*self.fs, entry))),
            Err(Error::Refused(Refusal::NotFound)) => Ok(None),
            Err(error) => Err(self.refuse(&error)),
        }
    }

    fn is_read_only(&self) -> bool {
        self.opts.read_only || self.fs.read_only()
    }

    fn may_write(&self) -> Outcome<()> {
        if self.is_read_only() { Err(nfsstat3::NFS3ERR_ROFS) } else { Ok(()) }
    }

    /// What the caller may do with a file.
    async fn granted(&self, creds: &Creds, file: &Held<'_, F>) -> Outcome<Granted> {
        self.granted_by(creds, file, &file.attr).await
    }

    /// The same by other attributes than those with which it was found.
    async fn granted_by(&self, creds: &Creds, file: &Held<'_, F>, attr: &Attr) -> Outcome<Granted> {
        let list = match self.opts.acls && !creds.is_root() && creds.uid != attr.uid {
            true => self.list_of(file).await?,
            false => None,
        };
        Ok(Granted::of(creds, attr, list.as_ref()))
    }

    async fn list_of(&self, file: &Held<'_, F>) -> Outcome<Option<Acl>> {
        match self.fs.getxattr(file.node, ACL).await {
            Ok(value) => Ok(Acl::from_linux(&value)),
            Err(Error::Refused(Refusal::NoAttribute | Refusal::NotSupported)) => Ok(None),
            // Without its list the mode would grant more than the list does.
            Err(error) => Err(self.refuse(&error)),
        }
    }

    async fn need(&self, creds: &Creds, file: &Held<'_, F>, wanted: u16) -> Outcome<()> {
        let granted = self.granted(creds, file).await?;
        if granted.has(wanted) { Ok(()) } else { Err(nfsstat3::NFS3ERR_ACCES) }
    }

    /// Waits until names in these directories, and these files, are durable (nfs-1).
    async fn settle_names(&self, nodes: &[NodeId]) -> Outcome<()> {
        match self.opts.names {
            Names::AfterFsync => self.fsync_all(nodes).await,
            Names::OnReturn | Names::Later => Ok(()),
        }
    }

    /// The same for attributes, which no scheme makes durable by itself.
    async fn settle_attributes(&self, node: NodeId) -> Outcome<()> {
        match self.opts.names {
            Names::AfterFsync | Names::OnReturn => self.fsync_all(&[node]).await,
            Names::Later => Ok(()),
        }
    }

    async fn fsync_all(&self, nodes: &[NodeId]) -> Outcome<()> {
        for &node in nodes {
            self.fs.fsync(node, false).await.map_err(|e| self.refuse(&e))?;
        }
        Ok(())
    }

    fn handle_of(&self, attr: &Attr) -> nfs_fh3 {
        let number = handle::FileNumber { ino: attr.ino, generation: attr.generation };
        handle::handle(&self.opts.key, self.opts.volume, number)
    }

    fn some_handle(&self, attr: &Attr) -> post_op_fh3 {
        some(self.handle_of(attr))
    }

    fn shown(&self, attr: &Attr) -> post_op_attr {
        some(convert::attributes(self.opts.volume, attr))
    }

    /// The attributes now, for a reply.
    async fn now(&self, file: &Held<'_, F>) -> post_op_attr {
        self.fs.getattr(file.node).await.map_or(Nfs3Option::None, |attr| self.shown(&attr))
    }

    /// Those from before the call and those from after it.
    async fn changed(&self, file: &Held<'_, F>) -> wcc_data {
        wcc_data { before: some(convert::before(&file.attr)), after: self.now(file).await }
    }
}

fn name(bytes: &[u8]) -> Outcome<Name<'_>> {
    Name::new(bytes).map_err(|e| convert::status(&e))
}
