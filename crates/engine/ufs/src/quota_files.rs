//! Reading and writing the files of quotas: those in the root directory, and NetBSD's tables.
//!
//! F1. Nothing read from a file is trusted: what it takes in memory is bounded, whatever it says.
//! F2. A file of 32-bit records has no head: it is written only where somebody says that it is one. A user's
//!     file may happen to have the same name.
//! F3. Quotas begin before the first call, so every change is charged.

use crate::quota::{Kept, Quotas, Write};
use crate::{Inode, Layout, Mapped, Ufs};
use ordo_buf::CallKind;
use ordo_ondisk::quota::table::{LARGEST, Table};
use ordo_ondisk::quota::{Form, Whose};
use ordo_ondisk::{Ino, Lbn};
use ordo_vfs::{Caller, Error, Kind, Refusal, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Most owners of an old file (F1).
const OWNERS: usize = 1 << 20;

/// Whether limits of an old file apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limits {
    /// They do not; what is used is kept all the same, in a file that says what it is.
    #[default]
    Off,
    /// The same, and a file without a head is believed, too.
    Kept,
    /// They do, where there is a file.
    IfThere,
    /// They do, and the file must be there.
    Must,
}

impl Limits {
    fn apply(self) -> bool {
        matches!(self, Limits::IfThere | Limits::Must)
    }
}

/// Whose limits apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Enforce {
    /// Of the users in an old file: `usrquota`.
    pub users: Limits,
    /// Of the groups in an old file: `grpquota`.
    pub groups: Limits,
    /// Of NetBSD's tables, which apply on every mount there.
    pub tables: bool,
}

impl Enforce {
    /// Whether limits of old files are to apply.
    pub fn of_files(&self) -> bool {
        self.users.apply() || self.groups.apply()
    }

    fn old(&self, whose: Whose) -> Limits {
        match whose {
            Whose::Users => self.users,
            Whose::Groups => self.groups,
        }
    }
}

impl<L: Layout> Ufs<L> {
    /// The quotas, where the layout can keep them.
    pub fn quotas(&self) -> Option<&Quotas> {
        self.layout.quotas()
    }

    /// Begins to keep quotas, if the volume has files of them (F3). `stale`: what they say is used may be behind, and
    /// is counted anew; so it is where the limits of old files are to apply, since other systems change a volume
    /// without keeping them.
    ///
    /// # Errors
    /// `NotFound` for limits of a file that is missing; `Corrupt`, `Io`.
    pub async fn begin_quotas(&self, enforce: Enforce, stale: bool) -> Result<()> {
        let Some(quotas) = self.layout.quotas() else { return Ok(()) };
        let mut kept = Vec::new();
        let tables = self.layout.quota_tables();
        for (whose, table) in Whose::ALL.into_iter().zip(tables) {
            if let Some(ino) = table {
                kept.push(self.read_table(whose, ino, enforce.tables).await?);
            } else if tables == [None; 2] {
                kept.extend(self.read_old(whose, enforce.old(whose)).await?);
            }
        }
        if kept.is_empty() && (enforce.users == Limits::IfThere || enforce.groups == Limits::IfThere) {
            return Err(Error::io(missing(Whose::Users)));
        }
        let old = kept.iter().any(|kept| kept.table.is_none() && kept.enforced);
        quotas.begin(kept);
        if quotas.is_on() && (stale || old) {
            self.count_quotas().await?;
        }
        Ok(())
    }

    /// Counts what is used.
    ///
    /// # Errors
    /// `Io`.
    pub async fn count_quotas(&self) -> Result<()> {
        let Some(quotas) = self.layout.quotas().filter(|quotas| quotas.is_on()) else { return Ok(()) };
        quotas.forget_usage();
        self.layout.each_dinode(&mut |ino, dinode| quotas.count(ino, dinode)).await
    }

    async fn read_table(&self, whose: Whose, ino: Ino, enforced: bool) -> Result<Kept> {
        let inode = self.quota_file(ino).await?;
        let (endian, bsize) = (self.layout.shape().encoding.endian, self.layout.shape().bsize());
        let size = inode.size();
        if size > LARGEST {
            return Err(Error::corrupt(format!("the table of {} quotas has {size} bytes", whose.word())));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        for lbn in 0..size.div_ceil(bsize.into()) {
            let block = self.layout.block(&inode, Lbn(lbn as i64)).await?;
            let from = bytes.len();
            bytes.resize(from + bsize as usize, 0);
            if let Some(block) = block {
                let block = block.bytes();
                bytes[from..from + block.len()].copy_from_slice(&block);
            }
        }
        let table = Table::decode(bytes, whose, bsize, endian).map_err(Error::corrupt)?;
        let (entries, form, changed) = (table.entries(), Form::Table, BTreeSet::new());
        Ok(Kept { whose, ino, form, enforced, entries, table: Some(table), endian, changed })
    }

    /// An old file, if there is one.
    async fn read_old(&self, whose: Whose, limits: Limits) -> Result<Option<Kept>> {
        let root = self.inode(Ino::ROOT).await?;
        let found = {
            let _shared = root.lock.read().await;
            self.find(&root, whose.file().as_bytes()).await?
        };
        let Some(found) = found else {
            return if limits == Limits::Must { Err(Error::io(missing(whose))) } else { Ok(None) };
        };
        let (ino, enforced) = (found.ino, limits.apply());
        let read = async { self.read_records(&*self.quota_file(ino).await?).await };
        let (form, entries) = match read.await {
            // A file that only has the name is the user's own.
            Err(Error::Corrupt(_)) if !enforced => return Ok(None),
            Ok((Form::Narrow, _)) if limits == Limits::Off => return Ok(None),
            read => read?,
        };
        let (endian, changed) = (self.layout.shape().encoding.endian, BTreeSet::new());
        Ok(Some(Kept { whose, ino, form, enforced, entries, table: None, endian, changed }))
    }

    async fn quota_file(&self, ino: Ino) -> Result<Rc<Inode>> {
        let inode = self.inode(ino).await?;
        match inode.kind() {
            Some(Kind::Regular) => Ok(inode),
            _ => Err(Error::corrupt(format!("inode {}, which should have quotas, is no file", ino.0))),
        }
    }

    async fn read_records(&self, inode: &Inode) -> Result<(Form, BTreeMap<u32, ordo_ondisk::quota::Entry>)> {
        let shape = self.layout.shape();
        let (endian, bsize, size) = (shape.encoding.endian, u64::from(shape.bsize()), inode.size());
        let (mut form, mut entries) = (Form::Narrow, BTreeMap::new());
        // A file of more bytes than there are owners is mostly holes, which would still be gone through.
        let size = size.min(Form::Wide.record_at(u32::MAX) + Form::Wide.record_len() as u64);
        let (mut lbn, end, mut seen) = (0, size.div_ceil(bsize), 0);
        while lbn < end {
            let stored = match self.layout.map(inode, Lbn(lbn as i64), end - lbn).await? {
                Mapped::Hole { blocks } => {
                    lbn += blocks.max(1);
                    continue;
                }
                Mapped::Stored { blocks } | Mapped::Unplaced { blocks } => blocks.max(1),
            };
            for lbn in lbn..lbn + stored {
                seen += bsize;
                if seen > LARGEST || entries.len() > OWNERS {
                    return Err(Error::corrupt("a file of quotas of more owners than any system has"));
                }
                let Some(block) = self.layout.block(inode, Lbn(lbn as i64)).await? else { continue };
                let bytes = block.bytes();
                if lbn == 0 {
                    form = Form::of_file(&bytes).map_err(Error::corrupt)?;
                }
                let len = form.record_len() as u64;
                let Some(first) = form.owner_from(lbn * bsize) else { continue };
                for id in first..=u32::MAX {
                    let from = form.record_at(id) - lbn * bsize;
                    let record = bytes.get(from as usize..(from + len) as usize);
                    let Some(record) = record.filter(|_| lbn * bsize + from + len <= size) else { break };
                    let entry = form.decode(record, endian).unwrap_or_default();
                    if !entry.is_blank() {
                        entries.insert(id, entry);
                    }
                }
            }
            lbn += stored;
        }
        Ok((form, entries))
    }

    /// Puts what has changed into the files, so that a sync writes it (ufs-quota-5).
    pub(crate) async fn write_quotas(&self) -> Result<()> {
        let Some(mut writing) = self.layout.quotas().and_then(Quotas::begin_writing) else { return Ok(()) };
        for write in std::mem::take(&mut writing.writes) {
            match self.write_quota(&write).await {
                // A full volume can be synced; fsck, or the next mount with limits, counts anew.
                Err(Error::Refused(Refusal::NoSpace | Refusal::TooBig)) => {}
                outcome => outcome?,
            }
        }
        writing.done = true;
        Ok(())
    }

    async fn write_quota(&self, write: &Write) -> Result<()> {
        let inode = self.inode(write.ino).await?;
        let bsize = u64::from(self.layout.shape().bsize());
        let who = Caller { privileged: true, ..Caller::default() };
        self.call(CallKind::Upkeep, async |op| {
            let _alone = inode.lock.write().await;
            // A record lies in one block: records have a power of two of bytes, and the head is one of them.
            let (lbn, from) = ((write.at / bsize) as i64, (write.at % bsize) as usize);
            let to = from + write.bytes.len();
            let mut fill = |block: &mut [u8]| block[from..to].copy_from_slice(&write.bytes);
            self.layout.write_block(op, &who, &inode, Lbn(lbn), from, to, &mut fill).await.map(drop)
        })
        .await
    }
}

fn missing(whose: Whose) -> String {
    format!("the volume has no {}; make it with ordo quota --on", whose.file())
}
