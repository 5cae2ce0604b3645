//! Rules for a single inode: its type, its size, and which pointers they allow.
//!
//! FreeBSD's check clears an inode that breaks one of them; this one keeps as much as possible: a size or a stray
//! pointer is repaired, and only an inode without a type is cleared, unless it has the contents of a directory.

use crate::volume::Volume;
use crate::{Error, Finding};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Dinode, FragNo, Ino};
use ordo_recover::is_snapshot;

/// The result for an inode.
pub(crate) enum Shape {
    /// It was correct.
    Right,
    /// It was repaired and must be written.
    Changed,
    /// It is not an inode and must be cleared.
    Hopeless,
}

impl Volume {
    /// Checks the rules and repairs `dinode`. Its mode is not 0, or it is not empty.
    pub(crate) async fn shape(&mut self, ino: u32, dinode: &mut Dinode) -> Result<Shape, Error> {
        let before = dinode.clone();
        if !is_type(dinode.kind()) || ino == Ino::ROOT.0 && !dinode.is_dir() {
            if self.is_directory_block(ino, dinode).await? {
                self.find(Finding::DirectoryModeLost { ino, mode: dinode.mode });
                let permissions = if is_type(dinode.kind()) { dinode.mode & 0o7777 } else { 0o755 };
                dinode.mode = mode::DIR | permissions;
            } else if dinode.mode == 0 {
                self.find(Finding::FreeInodeNotEmpty { ino });
                return Ok(Shape::Hopeless);
            } else if !is_type(dinode.kind()) {
                self.find(Finding::UnknownFileType { ino, mode: dinode.mode });
                return Ok(Shape::Hopeless);
            }
        }
        if dinode.is_device() && dinode.rdev() == self.no_device() {
            self.find(Finding::NoDevice { ino });
            return Ok(Shape::Hopeless);
        }
        if dinode.has_blocks(&self.geo) {
            self.shape_size(ino, dinode);
        } else if dinode.kind() == mode::LNK {
            self.shape_short_link(ino, dinode);
        } else {
            self.shape_special(ino, dinode);
        }
        self.shape_ext(ino, dinode);
        Ok(if *dinode == before { Shape::Right } else { Shape::Changed })
    }

    fn no_device(&self) -> u64 {
        if self.geo.dinode_size == 128 { u32::MAX.into() } else { u64::MAX }
    }

    /// Whether the first block begins with a `.` that names this inode.
    async fn is_directory_block(&mut self, ino: u32, dinode: &Dinode) -> Result<bool, Error> {
        let first = dinode.db.first().copied().unwrap_or_default();
        if !self.geo.is_data_range(first, 1) {
            return Ok(false);
        }
        let mut head = [0; 24];
        self.image.read(self.byte(first), &mut head).await?;
        let name = |at: usize, name: &[u8]| head.get(at..at + name.len()) == Some(name);
        let itself = self.geo.endian.get_u32(&head, 0) == Some(ino);
        Ok(itself && name(8, b".\0") && name(20, b"..\0"))
    }

    fn shape_special(&mut self, ino: u32, dinode: &mut Dinode) {
        if dinode.size != 0 {
            self.find(Finding::SpecialFileSize { ino, size: dinode.size });
            dinode.size = 0;
        }
        let number = usize::from(dinode.is_device());
        let mut pointers = dinode.db.iter_mut().skip(number).chain(&mut dinode.ib).filter(|pointer| !pointer.is_hole());
        if let Some(first) = pointers.next() {
            *first = FragNo::HOLE;
            pointers.for_each(|pointer| *pointer = FragNo::HOLE);
            self.find(Finding::SpecialFilePointer { ino });
        }
    }

    fn shape_short_link(&mut self, ino: u32, dinode: &mut Dinode) {
        let words = dinode.size.div_ceil(self.geo.pointer_size() as u64) as usize;
        let size = dinode.size;
        let mut tail = dinode.db.iter_mut().chain(&mut dinode.ib).skip(words).filter(|word| !word.is_hole());
        if let Some(first) = tail.next() {
            *first = FragNo::HOLE;
            tail.for_each(|word| *word = FragNo::HOLE);
            self.find(Finding::ShortLinkTail { ino, size });
        }
    }

    fn shape_size(&mut self, ino: u32, dinode: &mut Dinode) {
        let (size, geo) = (dinode.size, &self.geo);
        let most = if dinode.is_dir() {
            // Below 2 GiB in whole directory blocks.
            0x8000_0000 - u64::from(geo.dirblksiz)
        } else if is_snapshot(dinode) {
            // Every block of the volume, and the list of those that were copied at once.
            geo.snapshot_bytes(geo.snapshot_blocks() + 1)
        } else {
            geo.maxfilesize
        };
        if size > most {
            // Phase 1 determines the end of the last block; until then the pointers decide.
            self.find(Finding::FileTooLarge { ino, size, limit: most });
            dinode.size = most;
        } else if let Some(right) = self.size_by_blocks(dinode).filter(|_| !is_snapshot(dinode)) {
            self.find(Finding::SizeTooSmall { ino, size, right });
            dinode.size = right;
        }
    }

    /// The size that matches the direct pointers and the block count, if these are consistent and the size does not
    /// cover them: then the size was damaged.
    fn size_by_blocks(&self, dinode: &Dinode) -> Option<u64> {
        let geo = &self.geo;
        let last = dinode.db.iter().rposition(|pointer| !pointer.is_hole())? as u64;
        let direct_only = dinode.ib.iter().all(|pointer| pointer.is_hole());
        let covered = dinode.size.div_ceil(geo.bsize.into());
        if !direct_only || last < covered || dinode.extsize != 0 {
            return None;
        }
        let before = dinode.db.iter().take(last as usize).filter(|pointer| !pointer.is_hole()).count() as u64;
        let all = dinode.blocks.checked_mul(512)?;
        let rest = all.checked_sub(before * u64::from(geo.bsize))?;
        let frag = dinode.db.get(last as usize)?;
        let fits =
            rest % u64::from(geo.fsize) == 0 && geo.is_readable_range(*frag, u32::try_from(geo.numfrags(rest)).ok()?);
        fits.then_some(last * u64::from(geo.bsize) + rest)
    }

    fn shape_ext(&mut self, ino: u32, dinode: &mut Dinode) {
        let (bsize, found) = (self.geo.bsize, dinode.extsize);
        let [first, second] = dinode.extb;
        let most = match (first.is_hole(), second.is_hole()) {
            (true, _) => 0,
            (false, true) => bsize,
            (false, false) => bsize.saturating_mul(2),
        };
        if found > most {
            self.find(Finding::ExtSize { ino, found, right: most });
            dinode.extsize = most;
        }
        let needed = dinode.extsize.div_ceil(bsize) as usize;
        for (k, pointer) in dinode.extb.iter_mut().enumerate().skip(needed).filter(|(_, pointer)| !pointer.is_hole()) {
            *pointer = FragNo::HOLE;
            self.find(Finding::PointerBeyondSize { ino, lbn: k as u64, size: dinode.extsize.into() });
        }
    }
}

/// One of the seven kinds of file.
fn is_type(kind: u16) -> bool {
    matches!(kind, mode::REG | mode::DIR | mode::LNK | mode::CHR | mode::BLK | mode::FIFO | mode::SOCK)
}
