//! Finds the structures of the logs of whole records, of whole blocks, and of the active journal, wherever they lie on
//! the disk: each begins with a name, and only what has a right sum counts.
//!
//! The places of the fields are those of `docs/format/wafs.md`, `block-journal.md` and `active.md`.

use super::structure::Structure;
use super::sums::{Fix, How};
use ordo_disk::{RamDisk, SECTOR};
use ordo_ondisk::Endian::Little;
use std::collections::BTreeMap;

/// Which sums must be made right when so many bytes at an offset have changed, of all the places of their kind.
type Sealed<'a> = &'a dyn Fn(u64, u64, &[u64]) -> Vec<Fix>;

/// All of them.
pub(super) fn structures(ram: &RamDisk) -> Vec<Structure> {
    let image = Image { ram, bytes: ram.to_vec() };
    let mut found = Vec::new();
    for (name, at) in image.named(0, &[b"ORDOWAFS", b"ORDOBJNL"]) {
        let sum = crc(Vec::new(), at..at + 512, at + 12);
        if sum.holds(ram) {
            found.push(Structure::new("log superblock", at, 128, Little).fixed([sum]).guarding());
            match name {
                0 => found.extend(image.records(image.u64(at + 16))),
                _ => found.extend(image.journal_blocks(image.u64(at + 24), image.u32(at + 48))),
            }
        }
    }
    found.extend(image.active());
    // Both superblocks of a log lead to the same structures.
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|structure| seen.insert((structure.at, structure.class)));
    found
}

fn crc(start: Vec<u8>, over: std::ops::Range<u64>, at: u64) -> Fix {
    Fix::Sum { how: How::Crc, start, over: vec![over], at, endian: Little }
}

struct Image<'a> {
    ram: &'a RamDisk,
    bytes: Vec<u8>,
}

/// The journal's own block: where it is, what kind, how many entries.
#[derive(Debug, Clone, Copy)]
struct Own {
    at: u64,
    kind: u32,
    count: u32,
    line: u64,
}

/// The kinds of a journal's own blocks.
const DESCRIPTOR: u32 = 1;
const COMMIT: u32 = 4;
/// Bytes of their header, and of an entry.
const HEADER: u64 = 48;
const ENTRY: u64 = 16;
/// Bytes of a page of the active journal.
const PAGE: u64 = 4096;
/// Where the sum of the topmost page is in a root.
const ROOT_PAGE_SUM: u64 = 60;
/// Where the items of a page begin, their size, and where the sum of a page below is in one.
const ITEMS: u64 = 32;
const ITEM: u64 = 24;
const ITEM_SUM: u64 = 8;

impl Image<'_> {
    fn u32(&self, at: u64) -> u32 {
        Little.get_u32(&self.bytes, at as usize).unwrap_or_default()
    }

    fn u64(&self, at: u64) -> u64 {
        Little.get_u64(&self.bytes, at as usize).unwrap_or_default()
    }

    fn has(&self, at: u64, len: u64) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.bytes.len() as u64)
    }

    /// Sectors with one of these names at an offset; which of them, and where the sector begins.
    fn named(&self, offset: usize, names: &[&[u8]]) -> Vec<(usize, u64)> {
        let sectors = (0..).step_by(SECTOR).zip(self.bytes.chunks(SECTOR));
        let is = |sector: &[u8]| names.iter().position(|name| sector[offset..].starts_with(name));
        sectors.filter_map(|(at, sector)| Some((is(sector)?, at))).collect()
    }

    /// The records of the log with this number, as far as they lie together.
    fn records(&self, id: u64) -> Vec<Structure> {
        let mut found = Vec::new();
        for at in (0..self.bytes.len() as u64 - HEADER).step_by(8) {
            if !self.bytes[at as usize..].starts_with(b"WAFr") {
                continue;
            }
            let len = HEADER + u64::from(self.u32(at + 44));
            let sum = crc(id.to_le_bytes().to_vec(), at + 8..at + len, at + 4);
            if self.has(at, len) && sum.holds(self.ram) {
                found.push(Structure::new("log record", at, len, Little).fixed([sum]));
            }
        }
        found
    }

    /// The blocks of a journal with this salt, and the blocks of the volume in it.
    fn journal_blocks(&self, salt: u64, block: u32) -> Vec<Structure> {
        let block = u64::from(block);
        let own_sum = |at: u64| crc(salt.to_le_bytes().to_vec(), at + 8..at + block, at + 4);
        let mut transactions = BTreeMap::<u64, Vec<Own>>::new();
        for (_, at) in self.named(0, &[b"oBJb"]) {
            if block >= 512 && self.has(at, block) && own_sum(at).holds(self.ram) {
                let own = Own { at, kind: self.u32(at + 8), count: self.u32(at + 12), line: self.u64(at + 24) };
                transactions.entry(self.u64(at + 16)).or_default().push(own);
            }
        }
        let mut found = Vec::new();
        for mut blocks in transactions.into_values() {
            blocks.sort_by_key(|own| own.line);
            let mut after = Vec::new();
            if let Some(commit) = blocks.iter().find(|own| own.kind == COMMIT) {
                let others = blocks.iter().filter(|own| own.kind != COMMIT);
                let body = Fix::Sum {
                    how: How::Crc,
                    start: Vec::new(),
                    over: others.map(|own| own.at + 4..own.at + 8).collect(),
                    at: commit.at + HEADER + 8,
                    endian: Little,
                };
                // Else some block of the transaction was overwritten since.
                if body.holds(self.ram) {
                    after = vec![body, own_sum(commit.at)];
                }
            }
            for own in &blocks {
                let class = ["descriptor", "revocations", "note", "commit"][(own.kind.clamp(1, 4) - 1) as usize];
                // What a block has beyond its entries has no meaning.
                let used = match own.kind {
                    DESCRIPTOR | 2 => HEADER + ENTRY * u64::from(own.count.clamp(1, 64)),
                    COMMIT => HEADER + ENTRY,
                    _ => HEADER + u64::from(own.count),
                };
                let fixes = std::iter::once(own_sum(own.at)).chain(after.clone());
                found.push(Structure::new(class, own.at, used.min(block), Little).fixed(fixes));
                for entry in 0..u64::from(own.count).min(64) * u64::from(own.kind == DESCRIPTOR) {
                    let at = own.at + (entry + 1) * block;
                    let sum = crc(Vec::new(), at..at + block, own.at + HEADER + ENTRY * entry + 8);
                    if self.has(at, block) && sum.holds(self.ram) {
                        let fixes = [sum, own_sum(own.at)].into_iter().chain(after.clone());
                        found.push(Structure::new("logged block", at, block, Little).fixed(fixes));
                    }
                }
            }
        }
        found
    }

    /// The roots, pages and headers of the active journal.
    fn active(&self) -> Vec<Structure> {
        let mut found = Vec::new();
        let own = |at: u64, len: u64| crc(Vec::new(), at + 4..at + len, at);
        let is_right = |at: u64, len: u64| self.has(at, len) && own(at, len).holds(self.ram);
        let twins = |at: u64, len: u64, all: &[u64]| -> Vec<Fix> {
            let bytes = |at: u64| &self.bytes[at as usize..(at + len) as usize];
            let is_twin = |other: &&u64| **other != at && bytes(**other) == bytes(at);
            all.iter().filter(is_twin).map(|other| Fix::Copy { from: at..at + len, to: *other }).collect()
        };
        let places = |offset: usize, name: &[u8], len: u64| -> Vec<u64> {
            let all = self.named(offset, &[name]).into_iter().map(|(_, at)| at);
            all.filter(|at| is_right(*at, len)).collect()
        };
        let (roots, pages) = (places(8, b"ORDOAJMP", 512), places(4, b"oAMp", PAGE));
        let of_root = |at: u64| std::iter::once(own(at, 512)).chain(twins(at, 512, &roots)).collect::<Vec<Fix>>();
        for at in &roots {
            found.push(Structure::new("root of the map", *at, 64, Little).fixed(of_root(*at)));
        }
        for at in &pages {
            let mut fixes = self.page_and_above(*at, &pages, &roots, 0, &|at, len, all| {
                std::iter::once(own(at, len)).chain(twins(at, len, all)).collect()
            });
            fixes.dedup();
            let used = ITEMS + ITEM * u64::from(self.u32(at + 12)).clamp(1, 100);
            found.push(Structure::new("page of the map", *at, used.min(PAGE), Little).fixed(fixes));
        }
        for at in places(4, b"oAGj", PAGE) {
            let used = (32 + 8 * u64::from(self.u32(at + 28))).min(PAGE);
            found.push(Structure::new("header of a group journal", at, used, Little).fixed([own(at, PAGE)]));
        }
        found
    }

    /// The sums of a page, of those that lead to it, and of their twins.
    fn page_and_above(&self, at: u64, pages: &[u64], roots: &[u64], depth: u32, sealed: Sealed<'_>) -> Vec<Fix> {
        let (sum, mut fixes) = (self.u32(at), sealed(at, PAGE, pages));
        let carry = |to: u64| Fix::Copy { from: at..at + 4, to };
        for page in pages.iter().copied().filter(|page| depth < 4 && self.u32(page + 8) > 0) {
            let items = (0..u64::from(self.u32(page + 12))).map(|item| page + ITEMS + ITEM * item + ITEM_SUM);
            if let Some(place) = items.into_iter().find(|place| *place + 4 <= page + PAGE && self.u32(*place) == sum) {
                fixes.push(carry(place));
                fixes.extend(self.page_and_above(page, pages, roots, depth + 1, sealed));
            }
        }
        for root in roots.iter().copied().filter(|root| self.u32(root + ROOT_PAGE_SUM) == sum) {
            fixes.push(carry(root + ROOT_PAGE_SUM));
            fixes.extend(sealed(root, 512, roots));
        }
        fixes
    }
}
