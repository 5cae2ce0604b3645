//! The rules that an inode must satisfy before its size and pointers are used.

use super::{Dinode, flags, mode};
use crate::num::howmany;
use crate::{Corrupt, Format, FragNo, Geometry, Ino, Root, Rule, Structure};

impl Dinode {
    /// Checks the rules that concern an allocated inode alone; whether its pointers refer to blocks of its own is
    /// checked elsewhere. A free inode passes.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self, g: &Geometry, ino: Ino) -> Result<(), Corrupt> {
        self.check_size(g, ino)?;
        if self.mode == 0 || self.is_snapshot() {
            return Ok(());
        }
        let damaged = |field, found: u64, rule| {
            Err(Corrupt::new(Structure::Inode(ino), field, found, rule).at(Dinode::place(g, ino)))
        };
        if self.is_device() || matches!(self.kind(), mode::FIFO | mode::SOCK) {
            return self.check_special(g, damaged);
        }
        if self.is_short_link(g) {
            return self.check_short_link(g, damaged);
        }
        let blocks = howmany(self.size, g.bsize.into());
        for (i, p) in (0u64..).zip(&self.db) {
            if i >= blocks && !p.is_hole() {
                return damaged("di_db", p.0, Rule::Zero("beyond the end of the file"));
            }
        }
        let needed = match blocks.checked_sub(1).and_then(|last| g.path(crate::Lbn(i64::try_from(last).ok()?))) {
            Some(path) => match path.root {
                Root::Direct(_) => 0,
                Root::Indirect(i) => i.saturating_add(1),
            },
            None => 0,
        };
        match self.ib.iter().skip(needed).find(|p| !p.is_hole()) {
            Some(p) => damaged("di_ib", p.0, Rule::Zero("beyond the end of the file")),
            None => Ok(()),
        }
    }

    /// Checks only the rules on kind and sizes. They hold in every state that a crash leaves, where pointers may extend
    /// beyond a size; a loop up to a size that breaks them might never end.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check_size(&self, g: &Geometry, ino: Ino) -> Result<(), Corrupt> {
        let damaged = |field, found: u64, rule| {
            Err(Corrupt::new(Structure::Inode(ino), field, found, rule).at(Dinode::place(g, ino)))
        };
        if self.mode == 0 {
            return Ok(());
        }
        match self.kind() {
            mode::REG | mode::LNK | mode::FIFO | mode::CHR | mode::BLK | mode::SOCK => {}
            mode::DIR if self.size > 0x7fff_ffff => return damaged("di_size", self.size, Rule::AtMost(0x7fff_ffff)),
            mode::DIR => {}
            _ => return damaged("di_mode", self.mode.into(), Rule::Words("which is no kind of file")),
        }
        if self.is_snapshot() {
            return Ok(());
        }
        if self.size > g.maxfilesize {
            return damaged("di_size", self.size, Rule::AtMost(g.maxfilesize.into()));
        }
        let special = self.is_device() || matches!(self.kind(), mode::FIFO | mode::SOCK);
        if g.format == Format::Ufs2 && !special && u64::from(self.extsize) > u64::from(g.bsize).saturating_mul(2) {
            return damaged("di_extsize", self.extsize.into(), Rule::AtMost(i128::from(g.bsize).saturating_mul(2)));
        }
        Ok(())
    }

    /// A snapshot is slightly larger than the volume, and its pointers have special values.
    fn is_snapshot(&self) -> bool {
        self.flags & flags::SF_SNAPSHOT != 0 && self.kind() == mode::REG
    }

    fn check_special(
        &self,
        g: &Geometry,
        damaged: impl Fn(&'static str, u64, Rule) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        if self.size != 0 {
            return damaged("di_size", self.size, Rule::Zero("in a device, fifo or socket"));
        }
        let nodev = match g.format {
            Format::Ufs1 => u32::MAX.into(),
            Format::Ufs2 => u64::MAX,
        };
        if self.is_device() && self.rdev() == nodev {
            return damaged("di_rdev", self.rdev(), Rule::Words("which is no device"));
        }
        let numbers = usize::from(self.is_device());
        match self.db.iter().skip(numbers).chain(&self.ib).find(|p| !p.is_hole()) {
            Some(p) => damaged("di_db", p.0, Rule::Zero("in a device, fifo or socket")),
            None => Ok(()),
        }
    }

    fn check_short_link(
        &self,
        g: &Geometry,
        damaged: impl Fn(&'static str, u64, Rule) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        let words = usize::try_from(howmany(self.size, crate::num::len64(g.pointer_size()))).unwrap_or(usize::MAX);
        let beyond: Option<&FragNo> = self.db.iter().chain(&self.ib).skip(words).find(|p| !p.is_hole());
        match beyond {
            Some(p) => damaged("di_shortlink", p.0, Rule::Zero("behind the text of the link")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format) -> Geometry {
        NewfsParams { bsize: 8192, fsize: 1024, ..NewfsParams::new(format, 64 << 20) }.superblock().unwrap().geometry()
    }

    fn file(kind: u16, size: u64) -> Dinode {
        Dinode { mode: kind | 0o644, nlink: 1, size, ..Dinode::default() }
    }

    fn said(inode: &Dinode, format: Format) -> Result<(), &'static str> {
        inode.check(&geometry(format), Ino(5)).map_err(|damage| damage.field)
    }

    #[test]
    fn sound_inodes_of_every_kind_pass() {
        for format in [Format::Ufs1, Format::Ufs2] {
            let g = geometry(format);
            let mut device = file(mode::CHR, 0);
            device.set_rdev(0x0801);
            let mut link = file(mode::LNK, 0);
            link.set_short_link(&g, b"somewhere").unwrap();
            let mut large = file(mode::REG, 12 * 8192 + 1);
            (large.db, large.ib[0]) = ([FragNo(800); 12], FragNo(900));
            let largest = file(mode::REG, g.maxfilesize);
            let snapshot = Dinode { flags: flags::SF_SNAPSHOT, ib: [FragNo(1); 3], ..file(mode::REG, u64::MAX) };
            let all =
                [device, link, large, largest, snapshot, file(mode::FIFO, 0), file(mode::DIR, 512), Dinode::free(7)];
            for inode in all {
                assert_eq!(said(&inode, format), Ok(()), "{inode:?}");
            }
        }
    }

    #[test]
    fn every_rule_of_an_inode_is_enforced() {
        let with_db = |kind, size, i: usize| {
            let mut inode = file(kind, size);
            inode.db[i] = FragNo(800);
            inode
        };
        let with_ib = |size, i: usize| {
            let mut inode = file(mode::REG, size);
            inode.ib[i] = FragNo(800);
            inode
        };
        let single_end = 8192 * (12 + 1024);
        let rules = [
            (file(0o030_000, 0), "di_mode"),
            (file(0o160_000, 0), "di_mode"),
            (file(mode::DIR, 0x8000_0000), "di_size"),
            (file(mode::REG, u64::MAX), "di_size"),
            (file(mode::FIFO, 1), "di_size"),
            (file(mode::SOCK, 1), "di_size"),
            (file(mode::BLK, 1), "di_size"),
            (with_db(mode::FIFO, 0, 0), "di_db"),
            (with_db(mode::CHR, 0, 1), "di_db"),
            (
                Dinode {
                    db: {
                        let mut db = [FragNo(0); 12];
                        db[0] = FragNo(u64::MAX);
                        db
                    },
                    ..file(mode::CHR, 0)
                },
                "di_rdev",
            ),
            (with_db(mode::REG, 8192, 1), "di_db"),
            (with_db(mode::DIR, 0, 0), "di_db"),
            (with_db(mode::LNK, 9, 2), "di_shortlink"),
            (with_db(mode::LNK, 500, 1), "di_db"),
            (with_ib(12 * 8192, 0), "di_ib"),
            (with_ib(single_end, 1), "di_ib"),
            (with_ib(single_end + 1, 2), "di_ib"),
            (Dinode { extsize: 16385, ..file(mode::REG, 0) }, "di_extsize"),
        ];
        for (inode, field) in rules {
            assert_eq!(said(&inode, Format::Ufs2), Err(field), "{inode:?}");
        }
        assert_eq!(said(&with_ib(single_end + 1, 1), Format::Ufs2), Ok(()));
    }
}
