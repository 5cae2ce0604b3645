//! Where the blocks of files lie on a UFS volume, and where it has room: how old it looks.
//!
//! The measure is the layout score of Smith and Seltzer: of the blocks of a file behind its first, the part that lie
//! directly behind the block before. A last part of a block, in fragments, counts as a block. A file of one block has
//! no score.
//!
//! Q1. The disk is only read, and past every cache: the volume must be clean, and not mounted for writing.
//! Q2. Nothing that is read is trusted: an inode, a pointer, a name or a map that breaks a rule is an error.
//! Q3. The files are those of the users. Snapshots, journals, logs and tables of quotas are the system's: most were
//!     made at one time on an empty volume, and would make it look younger. Those with names are known by their names
//!     in the root directory, journals by their flags, too.

use crate::{Located, OpenError};
use ordo_disk::{Block, Disk, DiskOff, ReadPart, Tag};
use ordo_ondisk::cg::{self, Cg, map};
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::{
    Cgx, Corrupt, Dinode, FragNo, Geometry, Ino, NDADDR, Rule, Structure, Superblock, dirent, redo, suj,
};
use ordo_rt::Rt;

/// Names of the system's own files in the root directory, and the flags that such a file has.
const OWN: [(&str, u32); 5] = [
    (suj::NAME, suj::FLAGS),
    (redo::FILE, redo::FLAGS),
    (redo::ACTIVE, redo::FLAGS),
    ("quota.user", 0),
    ("quota.group", 0),
];

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// The part.
    pub part: u64,
    /// The whole.
    pub of: u64,
}

impl Part {
    /// As a number from 0 to 1; `None` of nothing.
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| self.part as f64 / self.of as f64)
    }

    fn add(&mut self, part: u64, of: u64) {
        self.part += part;
        self.of += of;
    }
}

/// Files of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Class {
    /// Blocks of the smallest and of the largest.
    pub blocks: (u64, u64),
    /// How many there are.
    pub files: u64,
    /// Of their blocks behind the first, those that lie directly behind the block before.
    pub contiguous: Part,
}

/// The free space in a tenth of the data areas of all groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tenth {
    /// Of its blocks, those that are free.
    pub free: Part,
    /// Runs of free blocks that begin in it.
    pub runs: u64,
    /// Blocks of these runs.
    pub run_blocks: u64,
}

/// Where the contents of a volume lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// Bytes of a block and of a fragment.
    pub sizes: (u32, u32),
    /// Regular files of users, with blocks.
    pub files: u64,
    /// Of all blocks behind the first of a file, those that lie directly behind the block before: the layout score.
    pub score: Part,
    /// Of the files with two blocks, those with the second directly behind the first.
    pub two_blocks: Part,
    /// The same of those whose second block is whole.
    pub two_whole_blocks: Part,
    /// The blocks of files with 29 to 32 blocks.
    pub thirty_two_blocks: Part,
    /// All files with more than one block, by size: 2 blocks, 3 and 4, 5 to 8, ...
    pub classes: Vec<Class>,
    /// Fragments that can hold data.
    pub data_frags: u64,
    /// Free blocks.
    pub free_blocks: u64,
    /// Free fragments in blocks that are partly in use.
    pub free_frags: u64,
    /// Free blocks by their place in the group.
    pub tenths: [Tenth; 10],
}

impl Placement {
    /// Looks at all groups and files of a volume.
    ///
    /// # Errors
    /// `OnlyUfs`; when it cannot be read, or is damaged.
    pub fn of(rt: &Rt, located: &Located) -> Result<Placement, OpenError> {
        let sb = &located.found.ufs()?.superblock;
        let g = &sb.geometry();
        let mut reader = Reader { rt, disk: &*located.disk, g, own: Vec::new() };
        reader.own = reader.own_files(sb)?;
        let data_frags = g.dsize;
        let mut placement = Placement { sizes: (g.bsize, g.fsize), data_frags, ..Placement::default() };
        for c in (0..g.ncg).map(Cgx) {
            reader.group(c, &mut placement)?;
        }
        Ok(placement)
    }

    /// Bytes that are free only as parts of blocks, as a share of those that can hold data.
    pub fn free_in_fragments(&self) -> Part {
        Part { part: self.free_frags, of: self.data_frags }
    }

    /// Of all that can hold data, what is in use.
    pub fn in_use(&self) -> Part {
        let (bsize, fsize) = self.sizes;
        let free = self.free_frags + self.free_blocks * u64::from(bsize / fsize.max(1));
        Part { part: self.data_frags.saturating_sub(free), of: self.data_frags }
    }

    /// Of the free blocks, those in the second half of their groups.
    pub fn free_in_second_half(&self) -> Part {
        let free = |tenths: &[Tenth]| tenths.iter().map(|tenth| tenth.free.part).sum();
        Part { part: free(&self.tenths[5..]), of: free(&self.tenths) }
    }

    fn file(&mut self, trail: &Trail, last_is_whole: bool) {
        self.files += 1;
        let behind = trail.blocks.saturating_sub(1);
        if behind == 0 {
            return;
        }
        self.score.add(trail.follow, behind);
        if trail.blocks == 2 {
            self.two_blocks.add(trail.follow, 1);
            if last_is_whole {
                self.two_whole_blocks.add(trail.follow, 1);
            }
        }
        if (29..=32).contains(&trail.blocks) {
            self.thirty_two_blocks.add(trail.follow, behind);
        }
        let class = behind.ilog2() as usize;
        while self.classes.len() <= class {
            let low = 1 << self.classes.len();
            self.classes.push(Class { blocks: (low + 1, 2 * low), ..Class::default() });
        }
        self.classes[class].files += 1;
        self.classes[class].contiguous.add(trail.follow, behind);
    }

    /// The map of a group.
    fn room(&mut self, g: &Geometry, c: Cgx, group: &Cg<'_>) {
        let base = g.cgbase(c).0;
        let from = (g.cgdmin(c).0.saturating_sub(base) as u32).div_ceil(g.frag);
        let blocks = g.cg_ndblk(c) / g.frag;
        let whole = map::whole(g.frag);
        let mut run: Option<usize> = None;
        for block in 0..g.cg_ndblk(c).div_ceil(g.frag) {
            let free = map::block(group.free(), block, g.frag);
            let is_free = free == whole && block < blocks;
            match is_free {
                true => self.free_blocks += 1,
                false => self.free_frags += u64::from(free.count_ones()),
            }
            if block < from || block >= blocks {
                continue;
            }
            let at = (u64::from(block - from) * 10 / u64::from(blocks - from)) as usize;
            self.tenths[at].free.add(is_free.into(), 1);
            if !is_free {
                run = None;
                continue;
            }
            let start = *run.get_or_insert_with(|| {
                self.tenths[at].runs += 1;
                at
            });
            self.tenths[start].run_blocks += 1;
        }
    }
}

/// The blocks of a file, as far as they were followed.
struct Trail {
    /// Blocks that are not holes.
    blocks: u64,
    /// Those of them that lie directly behind the block before.
    follow: u64,
    /// The block before.
    before: FragNo,
    /// Where they lie, and their fragments, if that is to be kept.
    kept: Option<Vec<(FragNo, u32)>>,
}

impl Default for Trail {
    fn default() -> Trail {
        Trail { blocks: 0, follow: 0, before: FragNo::HOLE, kept: None }
    }
}

/// Reads a volume's own structures.
struct Reader<'r> {
    rt: &'r Rt,
    disk: &'r dyn Disk,
    g: &'r Geometry,
    /// The system's own files, and the flags without which they are those of users.
    own: Vec<(Ino, u32)>,
}

impl Reader<'_> {
    /// The files that Q3 leaves out, except those that a flag marks.
    fn own_files(&self, sb: &Superblock) -> Result<Vec<(Ino, u32)>, OpenError> {
        let g = self.g;
        let (block, within) = g.inode_at(Ino::ROOT);
        let root = self.dinode(&self.read(block, g.bsize)?, within, Ino::ROOT)?;
        if root.kind() != mode::DIR {
            let words = Rule::Words("which is no directory");
            return Err(damage(Corrupt::new(Structure::Inode(Ino::ROOT), "di_mode", root.mode, words)));
        }
        let mut trail = Trail { kept: Some(Vec::new()), ..Trail::default() };
        self.follow(Ino::ROOT, &root, &mut trail)?;
        let (mut own, mut from) = (Vec::new(), 0);
        for (at, frags) in trail.kept.unwrap_or_default() {
            let block = self.read(at, frags * g.fsize)?;
            // The last fragment of a directory may be longer than what it has.
            let len = (root.size - from).min(block.len() as u64);
            for entry in dirent::entries(&block[..len as usize], g.dir_format(), Ino::ROOT, from) {
                let entry = entry.map_err(damage)?;
                let known = OWN.iter().find(|(name, _)| entry.is_name() && entry.name == name.as_bytes());
                own.extend(known.map(|(_, flags)| (entry.ino, *flags)));
            }
            from += len;
        }
        if sb.features().quota2 {
            let tables = sb.fields.sparecon64.iter().skip(3).take(2).filter_map(|ino| u32::try_from(*ino).ok());
            own.extend(tables.map(|ino| (Ino(ino), 0)));
        }
        Ok(own)
    }

    fn dinode(&self, bytes: &[u8], within: usize, ino: Ino) -> Result<Dinode, OpenError> {
        let dinode = Dinode::decode(bytes.get(within..).unwrap_or_default(), self.g, ino);
        dinode.and_then(|dinode| dinode.check(self.g, ino).map(|()| dinode)).map_err(damage)
    }

    fn read(&self, at: FragNo, bytes: u32) -> Result<Block, OpenError> {
        let len = bytes.next_multiple_of(self.g.fsize) as usize;
        let part = ReadPart { block: Block::zeroed(len), tag: Tag::of(ordo_disk::Kind::Other) };
        let mut parts = self.rt.block_on(self.disk.read(DiskOff(self.g.byte(at).0), vec![part]))?;
        // One part was asked for.
        Ok(parts.remove(0).block)
    }

    fn group(&mut self, c: Cgx, placement: &mut Placement) -> Result<(), OpenError> {
        let g = self.g;
        let bytes = self.read(g.cgtod(c), g.cgsize)?;
        let layout = cg::check(&bytes, g, c).map_err(damage)?;
        let Some(group) = Cg::new(&bytes, layout, g.endian) else { return Ok(()) };
        placement.room(g, c, &group);
        let mut inodes: Option<(FragNo, Block)> = None;
        let first = c.0 * g.ipg;
        for ino in (0..g.ipg).filter(|i| map::get(group.iused(), *i)).map(|i| Ino(first + i)) {
            let (block, within) = g.inode_at(ino);
            if ino < Ino::ROOT {
                continue;
            }
            if inodes.as_ref().is_none_or(|(at, _)| *at != block) {
                inodes = Some((block, self.read(block, g.bsize)?));
            }
            let Some((_, bytes)) = &inodes else { continue };
            self.inode(ino, &self.dinode(bytes, within, ino)?, placement)?;
        }
        Ok(())
    }

    /// Counts a file of the users (Q3).
    fn inode(&self, ino: Ino, dinode: &Dinode, placement: &mut Placement) -> Result<(), OpenError> {
        let g = self.g;
        let has = |(own, flags): &(Ino, u32)| *own == ino && dinode.flags & flags == *flags;
        let own = dinode.flags & (flags::SF_SNAPSHOT | flags::SF_LOG) != 0 || self.own.iter().any(has);
        if dinode.kind() != mode::REG || dinode.blocks == 0 || own {
            return Ok(());
        }
        let mut trail = Trail::default();
        self.follow(ino, dinode, &mut trail)?;
        let last = dinode.size.div_ceil(g.bsize.into()).saturating_sub(1);
        placement.file(&trail, g.blkfrags(dinode.size, last) == g.frag);
        Ok(())
    }

    /// All blocks of a file or a directory.
    fn follow(&self, ino: Ino, dinode: &Dinode, trail: &mut Trail) -> Result<(), OpenError> {
        let g = self.g;
        let count = dinode.size.div_ceil(g.bsize.into());
        for (lbn, at) in (0..count).zip(dinode.db) {
            self.step(ino, at, g.blkfrags(dinode.size, lbn), trail)?;
        }
        let mut rest = count.saturating_sub(NDADDR as u64);
        for (level, root) in dinode.ib.iter().enumerate() {
            let here = rest.min(g.span(level + 1));
            self.below(ino, *root, level, here, trail)?;
            rest -= here;
        }
        Ok(())
    }

    /// The first `count` blocks below an indirect block, `level` levels above those that point to data. Not deeper than
    /// three levels.
    fn below(&self, ino: Ino, at: FragNo, level: usize, count: u64, trail: &mut Trail) -> Result<(), OpenError> {
        if count == 0 || at.is_hole() {
            trail.before = FragNo::HOLE;
            return Ok(());
        }
        self.check(ino, at, |g| g.is_data_range(at, g.frag))?;
        let bytes = self.read(at, self.g.bsize)?;
        let span = self.g.span(level);
        for i in 0..count.div_ceil(span) {
            let pointer = self.g.pointer(&bytes, i as u32).unwrap_or(FragNo::HOLE);
            match level.checked_sub(1) {
                None => self.step(ino, pointer, self.g.frag, trail)?,
                Some(level) => self.below(ino, pointer, level, span.min(count - i * span), trail)?,
            }
        }
        Ok(())
    }

    /// The next block of a file.
    fn step(&self, ino: Ino, at: FragNo, frags: u32, trail: &mut Trail) -> Result<(), OpenError> {
        if !at.is_hole() {
            self.check(ino, at, |g| g.is_readable_range(at, frags))?;
            trail.blocks += 1;
            trail.follow += u64::from(!trail.before.is_hole() && trail.before.plus(self.g.frag) == at);
            trail.kept.iter_mut().for_each(|kept| kept.push((at, frags)));
        }
        trail.before = at;
        Ok(())
    }

    fn check(&self, ino: Ino, at: FragNo, holds_data: impl Fn(&Geometry) -> bool) -> Result<(), OpenError> {
        if holds_data(self.g) {
            return Ok(());
        }
        let words = Rule::Words("which is no data block");
        Err(damage(Corrupt::new(Structure::Inode(ino), "pointer", at.0, words)))
    }
}

fn damage(what: Corrupt) -> OpenError {
    ordo_vfs::Error::corrupt(what).into()
}
