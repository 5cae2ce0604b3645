//! fsck-4: what could be read of a damaged volume can be read after its repair, and is the same.
//!
//! A small reader walks the tree before and after: it skips everything that breaks a rule. Volumes where a file ends in
//! a hole are excluded: the zeros that were read there are cut off (rule 17).

use crate::campaign::damage;
use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::{Dinode, FragNo, Geometry, Ino, Lbn, Root, Superblock, dirent};
use std::collections::BTreeMap;

struct Reader<'a> {
    disk: &'a RamDisk,
    g: &'a Geometry,
}

impl Reader<'_> {
    fn bytes(&self, frag: FragNo, count: u32) -> Option<Vec<u8>> {
        if !self.g.is_readable_range(frag, count) {
            return None;
        }
        let mut bytes = vec![0; (count * self.g.fsize) as usize];
        self.disk.peek(self.g.byte(frag).0, &mut bytes);
        Some(bytes)
    }

    fn dinode(&self, ino: Ino) -> Option<Dinode> {
        let mut bytes = [0; 256];
        self.g.is_valid_ino(ino).then(|| self.disk.peek(Dinode::place(self.g, ino).0, &mut bytes))?;
        let dinode = Dinode::decode(&bytes, self.g, ino).ok()?;
        dinode.check(self.g, ino).ok()?;
        (dinode.mode != 0).then_some(dinode)
    }

    fn block(&self, dinode: &Dinode, lbn: u64) -> Option<FragNo> {
        let path = self.g.path(Lbn(lbn as i64))?;
        let mut frag = match path.root {
            Root::Direct(index) => dinode.db[index],
            Root::Indirect(index) => dinode.ib[index],
        };
        for (_, index) in path.indirects() {
            if !frag.is_hole() {
                frag = self.g.pointer(&self.bytes(frag, self.g.frag)?, index)?;
            }
        }
        Some(frag)
    }

    fn contents(&self, dinode: &Dinode) -> Option<Vec<u8>> {
        let bsize = u64::from(self.g.bsize);
        let mut all = vec![];
        for lbn in 0..dinode.size.div_ceil(bsize).min(48) {
            let wanted = (dinode.size - lbn * bsize).min(bsize) as usize;
            let frag = self.block(dinode, lbn)?;
            let block = match frag.is_hole() {
                true => vec![0; wanted],
                false => self.bytes(frag, self.g.blkfrags(dinode.size, lbn))?,
            };
            all.extend_from_slice(&block[..wanted]);
        }
        Some(all)
    }

    /// Every readable path, with its contents.
    fn tree(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let (mut tree, mut waiting) = (BTreeMap::new(), vec![(vec![], Ino::ROOT)]);
        while let Some((path, ino)) = waiting.pop().filter(|_| tree.len() < 1000) {
            let Some(dinode) = self.dinode(ino) else { continue };
            if !dinode.has_blocks(self.g) {
                tree.insert(path, dinode.size.to_le_bytes().to_vec());
                continue;
            }
            let Some(contents) = self.contents(&dinode) else { continue };
            if !dinode.is_dir() {
                tree.insert(path, contents);
                continue;
            }
            for entry in dirent::entries(&contents, self.g.dir_format(), ino, 0).filter_map(Result::ok) {
                if entry.is_name() && entry.name != b"." && entry.name != b".." && path.len() < 100 {
                    waiting.push(([path.as_slice(), b"/", entry.name].concat(), entry.ino));
                }
            }
        }
        tree
    }
}

fn keep_what_is_readable(names: &[&str]) {
    let superblock = 65536;
    for name in names {
        let good = ordo_volumes::volume(name);
        let pristine = RamDisk::from_bytes(&good);
        let sb = Superblock::decode(&good[superblock..superblock + 8192], ordo_ondisk::ByteOff(superblock as u64));
        let g = sb.expect("a whole superblock").geometry();
        for seed in 10_000..10_060 {
            let disk = pristine.snapshot();
            damage(&disk, good.len() as u64, superblock as u64, &mut ordo_rt::Rng::new(seed));
            let before = Reader { disk: &disk, g: &g }.tree();
            let Ok(report) = common::run(&disk, Mode::Repair) else { continue };
            if report.findings.iter().any(|found| [17, 23].contains(&found.finding.rule())) {
                continue;
            }
            let after = Reader { disk: &disk, g: &g }.tree();
            for (path, contents) in before {
                let same = after.get(&path) == Some(&contents);
                assert!(same, "{name}, seed {seed}: {}\n{}", path.escape_ascii(), common::told(&report));
            }
        }
    }
}

#[test]
fn readable_files_are_readable_after_a_repair() {
    keep_what_is_readable(&["netbsd-ffs2-le"]);
}

ordo_volumes::freebsds_volumes!(
    readable_files_of_freebsds_volumes_are_readable_after_a_repair,
    keep_what_is_readable(&["ufs-little", "ufs-big"])
);
