//! NetBSD's table of quotas (quota2): a hash table in a file without a name, which the superblock names.
//!
//! A head (magic, whose, size of the hash table, the entry that new owners get, the first free entry), the heads of the
//! hash chains, then entries of 96 bytes: to the end of the first block, and from the start of each further block.
//! Links are byte offsets in the file. All numbers are in the volume's order.
//!
//! T1. Every entry is in one chain: that of its owner's number, or that of the free ones. Decoding follows each link
//!     once; a link that leads nowhere, or to an entry that was met before, is damage, and so no chain is endless.
//! T2. A table is changed in memory and its changed blocks are written. An entry that is taken from the free ones
//!     changes two or three blocks: a crash in between leaves a table that fsck repairs.

use super::{Counter, Entry, GRACE, Whose};
use crate::num::{bits64, index, len64, signed64};
use crate::{Corrupt, Endian, Rule, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of an entry.
pub const ENTRY: usize = 96;
/// Largest table that is taken into memory: 174,000 owners for each 16 MiB.
pub const LARGEST: u64 = 64 << 20;
/// The magic number, in the head and in the superblock.
pub const MAGIC: u32 = 0xb746_915e;
/// Hash chains of a new table, as NetBSD's newfs makes them: 2 to this power.
const SHIFT: u8 = 6;
const DEFAULT_AT: usize = 8;
const FREE_AT: usize = 104;
const CHAINS_AT: usize = 112;
const NEXT: usize = 80;
const UID: usize = 88;

/// A table in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    bytes: Vec<u8>,
    endian: Endian,
    bsize: u32,
    chains: u32,
    /// Where each owner's entry is.
    at: BTreeMap<u32, u64>,
    changed: BTreeSet<u32>,
}

impl Table {
    /// A new table, without owners: of one block, unlimited, with a week of grace.
    pub fn new(whose: Whose, bsize: u32, endian: Endian) -> Table {
        let chains = 1u32 << SHIFT;
        let mut table = Table {
            bytes: vec![0; index(bsize)],
            endian,
            bsize,
            chains,
            at: BTreeMap::new(),
            changed: BTreeSet::from([0]),
        };
        // Cannot fail: the smallest block has 4 KiB, and the head 624 bytes.
        let _ = endian.put_u32(&mut table.bytes, 0, MAGIC);
        for (at, byte) in [(4, whose.number()), (5, SHIFT)] {
            if let Some(place) = table.bytes.get_mut(at) {
                *place = byte;
            }
        }
        let _ = endian.put_u16(&mut table.bytes, 6, 1 << SHIFT);
        let none = Counter { hard: u64::MAX, soft: u64::MAX, grace: GRACE, ..Counter::default() };
        table.put_entry(len64(DEFAULT_AT), &Entry { blocks: none, inodes: none });
        table.free_entries_of(0);
        table
    }

    /// Decodes a whole file.
    ///
    /// # Errors
    /// A head that is not one, links that break T1.
    pub fn decode(bytes: Vec<u8>, whose: Whose, bsize: u32, endian: Endian) -> Result<Table, Corrupt> {
        let broken = |field, found: u64, rule| Corrupt::new(Structure::Quota, field, found, rule);
        let size = len64(bytes.len());
        if size < u64::from(bsize) {
            return Err(broken("size", size, Rule::AtLeast(bsize.into())));
        }
        if size > LARGEST {
            return Err(broken("size", size, Rule::AtMost(LARGEST.into())));
        }
        let magic = endian.get_u32(&bytes, 0).unwrap_or(0);
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let chains = endian.get_u16(&bytes, 6).unwrap_or(0);
        if magic != MAGIC {
            return Err(broken("q2h_magic_number", magic.into(), Rule::Is(MAGIC.into())));
        }
        if byte(4) != whose.number() {
            return Err(broken("q2h_type", byte(4).into(), Rule::Is(whose.number().into())));
        }
        let fits = CHAINS_AT.saturating_add(usize::from(chains).saturating_mul(8)) <= index(bsize);
        if 1u32.checked_shl(byte(5).into()) != Some(chains.into()) || !fits {
            return Err(broken("q2h_hash_size", chains.into(), Rule::Words("which is not what q2h_hash_shift says")));
        }
        let mut table =
            Table { bytes, endian, bsize, chains: chains.into(), at: BTreeMap::new(), changed: BTreeSet::new() };
        table.follow_chains()?;
        Ok(table)
    }

    /// A table of the same size with all entries of a damaged one that its chains still lead to.
    pub fn rebuilt(bytes: &[u8], whose: Whose, bsize: u32, endian: Endian) -> Table {
        let shift = bytes.get(5).copied().unwrap_or(0);
        let chains = 1u32.checked_shl(shift.into()).filter(|_| shift < 16).unwrap_or(1 << SHIFT);
        let fits = CHAINS_AT.saturating_add(index(chains).saturating_mul(8)) <= index(bsize);
        let chains = if fits { chains } else { 1 << SHIFT };
        let (at, changed) = (BTreeMap::new(), BTreeSet::new());
        let old = Table { bytes: bytes.to_vec(), endian, bsize, chains, at, changed };
        let (mut met, mut entries) = (BTreeSet::new(), BTreeMap::new());
        for chain in 0..chains {
            let mut at = old.number(old.chain_at(chain));
            while old.is_place(at) && met.insert(at) {
                let uid = old.uid_at(at);
                if old.chain_of(uid) == chain {
                    entries.entry(uid).or_insert_with(|| old.entry_at(at));
                }
                at = old.number(at.saturating_add(len64(NEXT)));
            }
        }
        let mut table = Table::new(whose, bsize, endian);
        if endian.get_u32(bytes, 0) == Some(MAGIC) {
            table.put_entry(len64(DEFAULT_AT), &old.default_entry());
        }
        let blocks = len64(bytes.len()).checked_div(u64::from(bsize).max(1)).unwrap_or(1);
        for block in 1..blocks {
            table.bytes.resize(table.bytes.len().saturating_add(index(bsize)), 0);
            table.free_entries_of(block);
        }
        entries.iter().for_each(|(uid, entry)| table.set(*uid, entry));
        table
    }

    /// How many more owners the file has room for.
    pub fn free_entries(&self) -> usize {
        let (mut at, mut met) = (self.number(len64(FREE_AT)), BTreeSet::new());
        while at != 0 && met.insert(at) {
            at = self.number(at.saturating_add(len64(NEXT)));
        }
        met.len()
    }

    /// T1.
    fn follow_chains(&mut self) -> Result<(), Corrupt> {
        let broken = |field, found: u64, rule| Corrupt::new(Structure::Quota, field, found, rule);
        let mut met = BTreeSet::new();
        for chain in (0..self.chains).map(Some).chain([None]) {
            let head = chain.map_or(len64(FREE_AT), |chain| self.chain_at(chain));
            let mut at = self.number(head);
            while at != 0 {
                if !self.is_place(at) {
                    return Err(broken("q2e_next", at, Rule::Words("where no entry is")));
                }
                if !met.insert(at) {
                    return Err(broken("q2e_next", at, Rule::Words("an entry that was met before")));
                }
                if let Some(chain) = chain {
                    let uid = self.uid_at(at);
                    if self.chain_of(uid) != chain || self.at.insert(uid, at).is_some() {
                        return Err(broken("q2e_uid", uid.into(), Rule::Words("in a chain that is not its own")));
                    }
                }
                at = self.number(at.saturating_add(len64(NEXT)));
            }
        }
        Ok(())
    }

    fn head_len(&self) -> u64 {
        len64(CHAINS_AT).saturating_add(u64::from(self.chains).saturating_mul(8))
    }

    fn chain_of(&self, uid: u32) -> u32 {
        uid & self.chains.saturating_sub(1)
    }

    fn chain_at(&self, chain: u32) -> u64 {
        len64(CHAINS_AT).saturating_add(u64::from(chain).saturating_mul(8))
    }

    /// Where entries can be: from the end of the head, or from the start of a block, and wholly in the block.
    fn is_place(&self, at: u64) -> bool {
        let bsize = u64::from(self.bsize).max(1);
        let (block, in_block) = (at.checked_div(bsize).unwrap_or(0), at.checked_rem(bsize).unwrap_or(0));
        let first = if block == 0 { self.head_len() } else { 0 };
        let whole = in_block.saturating_add(len64(ENTRY)) <= bsize;
        let lies = in_block >= first && in_block.saturating_sub(first).checked_rem(len64(ENTRY)) == Some(0);
        lies && whole && at.saturating_add(len64(ENTRY)) <= len64(self.bytes.len())
    }

    fn number(&self, at: u64) -> u64 {
        usize::try_from(at).ok().and_then(|at| self.endian.get_u64(&self.bytes, at)).unwrap_or(0)
    }

    fn put_number(&mut self, at: u64, number: u64) {
        if let Ok(place) = usize::try_from(at) {
            // Out of the file only if a caller made up `at`: then nothing is changed.
            let _ = self.endian.put_u64(&mut self.bytes, place, number);
            self.touch(at);
        }
    }

    fn touch(&mut self, at: u64) {
        let block = at.checked_div(u64::from(self.bsize).max(1)).and_then(|block| u32::try_from(block).ok());
        self.changed.extend(block);
    }

    fn uid_at(&self, at: u64) -> u32 {
        let at = usize::try_from(at).ok().and_then(|at| at.checked_add(UID));
        at.and_then(|at| self.endian.get_u32(&self.bytes, at)).unwrap_or(0)
    }

    fn entry_at(&self, at: u64) -> Entry {
        let counter = |from: u64| {
            let number = |i: u64| self.number(at.saturating_add(from).saturating_add(i.saturating_mul(8)));
            let (time, grace) = (signed64(number(3)), signed64(number(4)));
            Counter { hard: number(0), soft: number(1), used: number(2), time, grace }
        };
        Entry { blocks: counter(0), inodes: counter(40) }
    }

    fn put_entry(&mut self, at: u64, entry: &Entry) {
        for (from, c) in [(0u64, &entry.blocks), (40, &entry.inodes)] {
            let numbers = [c.hard, c.soft, c.used, bits64(c.time), bits64(c.grace)];
            for (number, i) in numbers.into_iter().zip(0u64..) {
                self.put_number(at.saturating_add(from).saturating_add(i.saturating_mul(8)), number);
            }
        }
    }

    /// Links the entries of a block among the free ones.
    fn free_entries_of(&mut self, block: u64) {
        let base = block.saturating_mul(self.bsize.into());
        let mut at = if block == 0 { self.head_len() } else { base };
        while self.is_place(at) && at.checked_div(u64::from(self.bsize).max(1)) == Some(block) {
            let free = self.number(len64(FREE_AT));
            self.put_number(at.saturating_add(len64(NEXT)), free);
            self.put_number(len64(FREE_AT), at);
            at = at.saturating_add(len64(ENTRY));
        }
    }

    /// All owners and their entries.
    pub fn entries(&self) -> BTreeMap<u32, Entry> {
        self.at.iter().map(|(&uid, &at)| (uid, self.entry_at(at))).collect()
    }

    /// What an owner without an entry gets.
    pub fn default_entry(&self) -> Entry {
        self.entry_at(len64(DEFAULT_AT))
    }

    /// Sets an owner's entry; a new owner gets a free one, and the file grows by a block if there is none.
    pub fn set(&mut self, uid: u32, entry: &Entry) {
        let at = match self.at.get(&uid) {
            Some(&at) => at,
            None => self.take(uid),
        };
        self.put_entry(at, entry);
    }

    fn take(&mut self, uid: u32) -> u64 {
        if self.number(len64(FREE_AT)) == 0 {
            let block = len64(self.bytes.len()).checked_div(u64::from(self.bsize).max(1)).unwrap_or(0);
            self.bytes.resize(self.bytes.len().saturating_add(index(self.bsize)), 0);
            self.free_entries_of(block);
        }
        let at = self.number(len64(FREE_AT));
        let next = self.number(at.saturating_add(len64(NEXT)));
        self.put_number(len64(FREE_AT), next);
        let head = self.chain_at(self.chain_of(uid));
        let first = self.number(head);
        self.put_number(at.saturating_add(len64(NEXT)), first);
        self.put_number(head, at);
        // Cannot fail: the place of an entry is in the file.
        if let Some(place) = usize::try_from(at).ok().and_then(|at| at.checked_add(UID)) {
            let _ = self.endian.put_u32(&mut self.bytes, place, uid);
        }
        self.at.insert(uid, at);
        at
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        len64(self.bytes.len())
    }

    /// The blocks that were changed since the last call, each by its number.
    pub fn take_changed(&mut self) -> Vec<(u32, Vec<u8>)> {
        let bsize = index(self.bsize);
        let changed = std::mem::take(&mut self.changed);
        let block = |&block: &u32| {
            let from = index(block).saturating_mul(bsize);
            self.bytes.get(from..from.saturating_add(bsize)).map(|bytes| (block, bytes.to_vec()))
        };
        changed.iter().filter_map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(used: u64) -> Entry {
        let counter = Counter { hard: 100, soft: 50, used, time: 5, grace: 9 };
        Entry { blocks: counter, inodes: Counter { used: used + 1, ..counter } }
    }

    #[test]
    fn a_new_table_is_what_netbsd_makes() {
        for endian in [Endian::Little, Endian::Big] {
            let table = Table::new(Whose::Groups, 8192, endian);
            let word = |at| endian.get_u64(&table.bytes, at).unwrap();
            assert_eq!(endian.get_u32(&table.bytes, 0), Some(0xb746_915e));
            assert_eq!((&table.bytes[4..6], endian.get_u16(&table.bytes, 6)), (&[1u8, 6][..], Some(64)));
            // The default entry: unlimited, a week; then the last free entry, and the first entry, which ends the list.
            assert_eq!((word(8), word(16), word(40), word(48)), (u64::MAX, u64::MAX, 604_800, u64::MAX));
            assert_eq!((word(104), word(624 + 80)), (624 + 77 * 96, 0));
            assert_eq!(Table::decode(table.bytes.clone(), Whose::Groups, 8192, endian).unwrap().at.len(), 0);
        }
    }

    #[test]
    fn owners_are_found_again_also_when_the_file_grows() {
        for endian in [Endian::Little, Endian::Big] {
            let mut table = Table::new(Whose::Users, 4096, endian);
            table.take_changed();
            for uid in (0..100).map(|i| i * 64) {
                table.set(uid, &entry(u64::from(uid)));
            }
            assert_eq!(table.size(), 3 * 4096);
            assert_eq!(table.take_changed().len(), 3);
            let again = Table::decode(table.bytes.clone(), Whose::Users, 4096, endian).unwrap();
            assert_eq!(again.entries(), (0..100).map(|i| (i * 64, entry(u64::from(i * 64)))).collect());
            table.set(64, &entry(3));
            assert_eq!(table.take_changed().len(), 1);
            assert_eq!(table.entries()[&64], entry(3));
        }
    }

    #[test]
    fn damage_is_found_and_no_chain_is_endless() {
        let mut table = Table::new(Whose::Users, 4096, Endian::Little);
        (0..70).for_each(|uid| table.set(uid, &entry(1)));
        let good = table.bytes.clone();
        let decode = |bytes: Vec<u8>| Table::decode(bytes, Whose::Users, 4096, Endian::Little);
        assert!(decode(good.clone()).is_ok());
        for at in [0, 4, 5, 6] {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            assert!(decode(bytes).is_err(), "{at}");
        }
        let first = table.at[&5] as usize;
        for link in [0u64, 1, first as u64, 112, 4090, 1 << 40, u64::MAX] {
            let mut bytes = good.clone();
            bytes[first + NEXT..first + NEXT + 8].copy_from_slice(&link.to_le_bytes());
            // Zero ends the chain early: then an owner is missing, which is for fsck to find.
            assert_eq!(decode(bytes).is_ok(), link == 0, "{link}");
        }
        let mut other = good.clone();
        other[first + UID] ^= 1;
        assert!(decode(other).is_err());
        assert!(decode(good[..4095].to_vec()).is_err());
        // What its chains still lead to is kept: the link that was torn ended one.
        let mut torn = good.clone();
        torn[first + NEXT..first + NEXT + 8].copy_from_slice(&1u64.to_le_bytes());
        let rebuilt = Table::rebuilt(&torn, Whose::Users, 4096, Endian::Little);
        assert_eq!((rebuilt.entries().len(), rebuilt.size()), (70, good.len() as u64));
        assert!(decode(rebuilt.bytes.clone()).is_ok());
        // Every byte of the head, damaged: an answer, and no hang.
        for at in 0..700 {
            let mut bytes = good.clone();
            bytes[at] = bytes[at].wrapping_add(13);
            let _ = decode(bytes);
        }
    }
}
