//! A group's block in the cache: read, checked once each time it comes from the disk, and changed in place.

use crate::Ffs;
use ordo_buf::{BufRef, Key, Role, Want};
use ordo_disk::DiskOff;
use ordo_ondisk::cg::{Cg, CgMut};
use ordo_ondisk::{CgLayout, Cgx, FragNo};
use ordo_vfs::{Error, Result};

/// A group's block, checked.
pub(crate) struct Group {
    pub(crate) c: Cgx,
    pub(crate) buf: BufRef,
    layout: CgLayout,
}

impl Group {
    /// Reads it.
    #[inline]
    pub(crate) fn look<R>(&self, ffs: &Ffs, f: impl FnOnce(&Cg<'_>) -> R) -> R {
        let bytes = self.buf.bytes();
        // OK to expect: the layout was checked against this very buf.
        f(&Cg::new(&bytes, self.layout, ffs.g.endian).expect("a checked group has room for its maps"))
    }

    /// Changes it. The caller has awaited [`ordo_buf::Cache::before_change`], and nothing since.
    #[inline]
    pub(crate) fn change<R>(&self, ffs: &Ffs, f: impl FnOnce(&mut CgMut<'_>) -> R) -> R {
        ffs.cache.modify(&self.buf, |bytes| {
            // OK to expect: as above; and a buf of a group never changes its length.
            f(&mut CgMut::new(bytes, self.layout, ffs.g.endian).expect("a checked group has room for its maps"))
        })
    }
}

impl Ffs {
    /// The block of group `c`, ready to be changed.
    ///
    /// # Errors
    /// `Io`; `Corrupt` when it is not a valid group block. The group is then marked bad.
    pub(crate) async fn group(&self, c: Cgx) -> Result<Group> {
        let at = self.g.cgtod(c);
        let key = Key::Device(at);
        let buf = match self.cache.find(key) {
            Some(buf) => buf,
            None => self.read_group(key, at).await.inspect_err(|_| self.summary.condemn(c))?,
        };
        let layout = match self.checked.layout(c, &buf) {
            Some(layout) => layout,
            None => self.check_group(c, &buf).inspect_err(|_| self.summary.condemn(c))?,
        };
        self.cache.before_change(&buf).await;
        Ok(Group { c, buf, layout })
    }

    async fn read_group(&self, key: Key, at: FragNo) -> Result<BufRef> {
        let (addr, len) = self.group_place(at);
        self.cache.read(Want { key, role: Role::Maps, addr, len }).await
    }

    /// The address and length of a group's block. Only the first `cgsize` bytes are in use; a damaged superblock may
    /// ask for a part of a sector.
    pub(crate) fn group_place(&self, at: FragNo) -> (DiskOff, usize) {
        let sector = self.cache.queue().info().sector;
        (DiskOff(self.g.byte(at).0), self.g.cgsize.next_multiple_of(sector) as usize)
    }

    fn check_group(&self, c: Cgx, buf: &BufRef) -> Result<CgLayout> {
        let layout = self.accept_group(c, buf)?;
        {
            let bytes = buf.bytes();
            let cg = Cg::new(&bytes, layout, self.g.endian).ok_or_else(|| Error::corrupt("a group too short"))?;
            self.summary.set(c, cg.cs());
        }
        self.checked.remember(c, buf, layout);
        Ok(layout)
    }
}
