//! Phase 6: what users and groups use, compared with what the files of quotas say.
//!
//! Q1. Only a file that says what it is is believed: NetBSD's tables, which the superblock names, and the files of
//!     64-byte records in the root directory. A file of 32-bit records has no head, and may be anybody's that has its
//!     name; `ordo quota --check` counts for it.
//! Q2. Files of quotas, snapshots and NetBSD's log are charged to nobody, as on the BSD systems.
//! Q3. A log brings back what was not counted: where there may be quotas, a replay is followed by all phases.
//! Q4. Nothing is allocated. An owner for whom a file has no room is left out; the next mount that keeps the quotas
//!     counts anew.

use crate::volume::{InodeState, Volume};
use crate::{Error, Finding, dirblock};
use ordo_disk::Disk;
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::quota::table::{LARGEST, Table};
use ordo_ondisk::quota::{Form, Whose};
use ordo_ondisk::{ByteOff, Dinode, Ino, Superblock};
use ordo_recover::{Image, Order, Slot, Walk, is_snapshot};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Sectors and inodes of each owner.
type Used = BTreeMap<u32, (u64, u64)>;

/// A block of a file: its number, its place, its bytes.
type Block = (u64, ByteOff, usize);

/// Whether a volume may have quotas: NetBSD's tables, or names of their files in the root directory. What cannot be
/// read may.
pub(crate) async fn may_have(disk: &Rc<dyn Disk>, sb: &Superblock) -> bool {
    let g = sb.geometry();
    if sb.features().quota2 {
        return true;
    }
    let mut image = Image::new(disk.clone(), sb.volume_bytes(), g.bsize);
    let mut bytes = vec![0; g.dinode_size as usize];
    if image.read(Dinode::place(&g, Ino::ROOT), &mut bytes).await.is_err() {
        return true;
    }
    let Ok(root) = Dinode::decode(&bytes, &g, Ino::ROOT) else { return true };
    if !root.ib[0].is_hole() {
        return true;
    }
    for (lbn, pointer) in (0..).zip(root.db).filter(|(_, pointer)| !pointer.is_hole()) {
        let frags = g.blkfrags(root.size, lbn);
        let mut block = vec![0; g.blksize(root.size, lbn) as usize];
        if !g.is_readable_range(pointer, frags) || image.read(g.byte(pointer), &mut block).await.is_err() {
            return true;
        }
        let entries = dirblock::entries(&block, g.dir_format()).0;
        if entries.iter().any(|entry| Whose::ALL.iter().any(|whose| entry.name == whose.file().as_bytes())) {
            return true;
        }
    }
    false
}

impl Volume {
    /// Phase 6.
    pub(crate) async fn check_quotas(&mut self) -> Result<(), Error> {
        let tables = self.sb.quota2().unwrap_or_default();
        let tables: Vec<(Whose, u32)> = Whose::ALL
            .into_iter()
            .zip([tables.users, tables.groups])
            .filter_map(|(whose, table)| table.map(|ino| (whose, ino.0)))
            .collect();
        let old = if self.sb.features().quota2 { vec![] } else { self.old_quota_files().await? };
        if tables.is_empty() && old.is_empty() {
            return Ok(());
        }
        let own: Vec<u32> = tables.iter().chain(&old).map(|(_, ino)| *ino).collect();
        let used = self.count_owners(&own).await?;
        for (whose, ino) in tables {
            self.check_table(whose, ino, of(&used, whose)).await?;
        }
        for (whose, ino) in old {
            self.check_records(whose, ino, of(&used, whose)).await?;
        }
        Ok(())
    }

    /// The old files, by their names in the root directory.
    async fn old_quota_files(&mut self) -> Result<Vec<(Whose, u32)>, Error> {
        let mut found = vec![];
        if self.known(Ino::ROOT.0).state != InodeState::Dir {
            return Ok(found);
        }
        for (_, at, len) in self.blocks_of(Ino::ROOT.0).await?.0 {
            let mut block = vec![0; len];
            self.image.read(at, &mut block).await?;
            for entry in dirblock::entries(&block, self.geo.dir_format()).0 {
                let whose = Whose::ALL.into_iter().find(|whose| entry.name == whose.file().as_bytes());
                if let Some(whose) = whose.filter(|_| self.known(entry.ino).state == InodeState::File) {
                    found.push((whose, entry.ino));
                }
            }
        }
        Ok(found)
    }

    /// The data blocks of a file, and its size.
    async fn blocks_of(&mut self, ino: u32) -> Result<(Vec<Block>, u64), Error> {
        let dinode = self.dinode(ino).await?;
        let (mut walk, mut blocks) = (Walk::new(&self.geo, &dinode), vec![]);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            let len = pointer.count as usize * self.geo.fsize as usize;
            let bytes = blocks.len() as u64 * u64::from(self.geo.bsize);
            if bytes > LARGEST || is_snapshot(&dinode) {
                break;
            }
            if pointer.level == 0 && !matches!(pointer.slot, Slot::Ext(_)) {
                blocks.push((pointer.lbn, self.byte(pointer.frag), len));
            }
        }
        let size = if matches!(dinode.kind(), mode::REG | mode::DIR) { dinode.size } else { 0 };
        Ok((blocks, size))
    }

    /// What each user and each group uses (Q2).
    async fn count_owners(&mut self, own: &[u32]) -> Result<[Used; 2], Error> {
        let (mut users, mut groups) = (Used::new(), Used::new());
        for c in 0..self.geo.ncg {
            let inodes = self.groups.get(c as usize).map_or(0, |group| group.inodes.len() as u32);
            for ino in (c * self.geo.ipg..).take(inodes as usize).filter(|&ino| Ino(ino) >= Ino::ROOT) {
                if self.known(ino).state == InodeState::Free || own.contains(&ino) {
                    continue;
                }
                let dinode = self.dinode(ino).await?;
                if dinode.mode == 0 || dinode.flags & (flags::SF_SNAPSHOT | flags::SF_LOG) != 0 {
                    continue;
                }
                for (used, id) in [(&mut users, dinode.uid), (&mut groups, dinode.gid)] {
                    let (sectors, inodes) = used.entry(id).or_default();
                    (*sectors, *inodes) = (sectors.saturating_add(dinode.blocks), *inodes + 1);
                }
            }
        }
        Ok([users, groups])
    }

    /// Compares a table, in which each chain was followed, and repairs it.
    async fn check_table(&mut self, whose: Whose, ino: u32, used: &Used) -> Result<(), Error> {
        let bsize = self.geo.bsize;
        let (blocks, size) = self.blocks_of(ino).await?;
        let whole = blocks.len() as u64 * u64::from(bsize) == size.next_multiple_of(bsize.into());
        let in_order = blocks.iter().zip(0..).all(|(block, lbn)| block.0 == lbn && block.2 == bsize as usize);
        if !whole || !in_order || blocks.is_empty() || size > LARGEST {
            let why = "it has holes, or no block".to_owned();
            self.find(Finding::QuotaTable { whose: whose.word(), ino, why });
            return Ok(());
        }
        let mut bytes = vec![0; blocks.len() * bsize as usize];
        for ((_, at, _), place) in blocks.iter().zip(bytes.chunks_mut(bsize as usize)) {
            self.image.read(*at, place).await?;
        }
        let endian = self.geo.endian;
        let mut table = match Table::decode(bytes.clone(), whose, bsize, endian) {
            Ok(table) => table,
            Err(why) => {
                self.find(Finding::QuotaTable { whose: whose.word(), ino, why: why.to_string() });
                Table::rebuilt(&bytes, whose, bsize, endian)
            }
        };
        let entries = table.entries();
        let room = table.free_entries();
        let missing = used.keys().filter(|id| !entries.contains_key(id)).take(room);
        let ids: Vec<u32> = entries.keys().chain(missing).copied().collect();
        for id in ids {
            let mut entry = entries.get(&id).copied().unwrap_or_else(|| table.default_entry());
            let right = used.get(&id).copied().unwrap_or_default();
            if self.tell_usage(whose, id, (entry.blocks.used, entry.inodes.used), right) {
                (entry.blocks.used, entry.inodes.used) = right;
                table.set(id, &entry);
            }
        }
        for (lbn, changed) in table.take_changed() {
            if let Some((_, at, _)) = blocks.get(lbn as usize) {
                self.image.write(*at, &changed, Order::Contents).await?;
            }
        }
        Ok(())
    }

    /// Compares a file of 64-byte records.
    async fn check_records(&mut self, whose: Whose, ino: u32, used: &Used) -> Result<(), Error> {
        let (blocks, size) = self.blocks_of(ino).await?;
        let mut head = [0; 64];
        match blocks.first() {
            Some((0, at, _)) if size >= 64 => self.image.read(*at, &mut head).await?,
            _ => return Ok(()),
        }
        let (form, endian, bsize) = (Form::of_file(&head), self.geo.endian, u64::from(self.geo.bsize));
        if form != Ok(Form::Wide) {
            return Ok(());
        }
        let (form, len) = (Form::Wide, Form::Wide.record_len());
        for (lbn, at, bytes) in blocks {
            let mut block = vec![0; bytes];
            self.image.read(at, &mut block).await?;
            let Some(first) = form.owner_from(lbn * bsize) else { continue };
            // Negative numbers are left out, as FreeBSD does.
            for id in first..=i32::MAX as u32 {
                let from = (form.record_at(id) - lbn * bsize) as usize;
                let within = form.record_at(id) + len as u64 <= size;
                let Some(record) = block.get(from..from + len).filter(|_| within) else { break };
                let mut entry = form.decode(record, endian).unwrap_or_default();
                let right = used.get(&id).copied().unwrap_or_default();
                if self.tell_usage(whose, id, (entry.blocks.used, entry.inodes.used), right) {
                    (entry.blocks.used, entry.inodes.used) = right;
                    let record = form.encode(&entry, endian);
                    self.image.write(ByteOff(at.0 + from as u64), &record, Order::Contents).await?;
                }
            }
        }
        Ok(())
    }

    /// Reports a wrong count; `true` if it is wrong.
    fn tell_usage(&mut self, whose: Whose, id: u32, found: (u64, u64), right: (u64, u64)) -> bool {
        if found == right {
            return false;
        }
        let ((sectors, inodes), (right_sectors, right_inodes)) = (found, right);
        let whose = whose.word();
        self.find(Finding::QuotaUsage { whose, id, sectors, inodes, right_sectors, right_inodes });
        true
    }
}

fn of(used: &[Used; 2], whose: Whose) -> &Used {
    let [users, groups] = used;
    match whose {
        Whose::Users => users,
        Whose::Groups => groups,
    }
}
