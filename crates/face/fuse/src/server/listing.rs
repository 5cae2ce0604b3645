//! Requests for a directory's names.

use super::shared::Server;
use crate::proto::abi::ReadIn;
use crate::proto::reply::{Answer, Kept, Listing, Reply};
use crate::transport::{MAX_TRANSFER, Transport};
use ordo_vfs::{DirEntry, FileSystem, Name, NodeId};

impl<F: FileSystem, T: Transport> Server<F, T> {
    pub(super) async fn readdir(&self, dir: NodeId, args: &ReadIn) -> Answer {
        let mut listing = Listing::new(args.size.min(MAX_TRANSFER));
        let read = self.fs.readdir(dir, args.offset, &mut |entry| listing.push(&entry)).await;
        read.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Bytes(listing.into_bytes()))
    }

    pub(super) async fn readdirplus(&self, dir: NodeId, args: &ReadIn) -> Answer {
        let mut listing = Listing::new(args.size.min(MAX_TRANSFER));
        let mut kept: Vec<Kept> = Vec::new();
        let mut keep = |entry: DirEntry<'_>| listing.reserve(&entry).map(|entry| kept.push(entry)).is_some();
        self.fs.readdir(dir, args.offset, &mut keep).await.map_err(|e| self.refuse(&e))?;
        let mut nodes = Vec::new();
        for entry in &kept {
            // Removed meanwhile, or damaged: the listing has only the name, and opening the file returns the error.
            let found = match Name::new(&entry.name) {
                Ok(name) if !entry.is_dot_or_dotdot() && self.lookups.borrow_mut().reserve().is_ok() => {
                    self.fs.lookup(dir, name).await.ok()
                }
                _ => None,
            };
            if let Some(found) = &found {
                self.lookups.borrow_mut().grant(found.node);
                nodes.push(found.node);
            }
            listing.push_plus(&self.show, entry, found.as_ref());
        }
        Ok(Reply::Listing(nodes, listing.into_bytes()))
    }
}
