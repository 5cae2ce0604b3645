//! Making a volume as FreeBSD's newfs does. For NetBSD without the directory for snapshots, which NetBSD does not make,
//! and without the record of the backups, which would lie in its boot code.
//!
//! F1. The first write says that the volume is unfinished, and the last one, after everything else is durable, that it
//!     is complete. A crash in between leaves nothing that looks like a volume.
//! F2. Superblocks of earlier volumes are wiped wherever a program would look for one: an old superblock found first
//!     would lead to contents that are now something else.

use crate::cg::{find_run, mark, mark_inode, plus};
use ordo_disk::{Block, Disk, DiskError, DiskInfo, DiskOff, Kind, Queue, QueueOptions, Written};
use ordo_ondisk::cg::CgMut;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::superblock::newfs::NewfsError as Shape;
use ordo_ondisk::superblock::search::{PLACES, Recovery};
use ordo_ondisk::superblock::{MAGIC_AT, Magic, SBLOCKSIZE};
use ordo_ondisk::{
    ByteOff, CgFrag, CgLayout, Cgx, Csum, CsumTotal, Dialect, Dinode, Format, FragNo, Geometry, Ino, Superblock,
    Timestamp, csum, dirent,
};
use ordo_rt::{Rng, Rt};
use std::collections::VecDeque;
use std::rc::Rc;

/// Writes in flight at a time.
const IN_FLIGHT: usize = 32;

/// Most bytes of inodes in one write.
const PIECE: usize = 1 << 20;

/// The directory in which FreeBSD keeps snapshots, and its group: "operator".
const SNAP: Ino = Ino(3);
const OPERATOR: u32 = 5;

/// Why a volume was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewfsError {
    /// It cannot have this shape.
    #[error(transparent)]
    Shape(#[from] Shape),
    /// The disk is smaller than the volume.
    #[error("a volume of {volume} bytes does not fit on a disk of {disk}")]
    TooLarge {
        /// Bytes of the volume.
        volume: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Whether a new volume of this shape can lie on such a disk.
///
/// # Errors
/// [`NewfsError::TooLarge`]; [`Shape::FragSize`] if its fragments are smaller than the disk's sectors.
pub fn fits(superblock: &Superblock, disk: &DiskInfo) -> Result<(), NewfsError> {
    let (volume, g) = (superblock.volume_bytes(), superblock.geometry());
    if volume > disk.size {
        return Err(NewfsError::TooLarge { volume, disk: disk.size });
    }
    if g.fsize < disk.sector {
        return Err(Shape::FragSize { fsize: g.fsize, bsize: g.bsize, least: disk.sector }.into());
    }
    Ok(())
}

/// Writes a new volume of this shape ([`NewfsParams::superblock`]). `rng` gives the generations of the first inodes.
/// `zeroed`: every byte of the disk is zero, and zeroes need not be written.
///
/// [`NewfsParams::superblock`]: ordo_ondisk::superblock::newfs::NewfsParams::superblock
///
/// # Errors
/// See [`NewfsError`]. After a failure of the disk it holds an unfinished volume.
pub async fn newfs(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    superblock: Superblock,
    rng: Rng,
    zeroed: bool,
) -> Result<Superblock, NewfsError> {
    fits(&superblock, &disk.info())?;
    let g = superblock.geometry();
    let queue = Queue::new(rt, disk, QueueOptions::default());
    let now = superblock.fields.time;
    let mut maker = Maker { queue, zeroed, now, rng, writes: VecDeque::new(), g, superblock };
    maker.make().await?;
    Ok(maker.superblock)
}

struct Maker {
    queue: Queue,
    g: Geometry,
    superblock: Superblock,
    zeroed: bool,
    now: i64,
    rng: Rng,
    writes: VecDeque<Written>,
}

impl Maker {
    async fn make(&mut self) -> Result<(), NewfsError> {
        let primary = self.superblock.at;
        if !self.zeroed {
            self.wipe_old(primary).await?;
        }
        let unfinished = self.superblock.encode_unfinished();
        self.put(primary, &unfinished, Kind::Superblock).await?;
        self.settle().await?;
        let (mut array, mut total) = (vec![0; self.g.cssize as usize], CsumTotal::default());
        let mut pattern = None;
        for c in (0..self.g.ncg).map(Cgx) {
            let cs = self.group(c, &mut pattern).await?;
            total = total.plus(cs);
            // OK to ignore: the array has room for all groups.
            let _ = csum::put(&mut array, c, cs, self.g.endian);
        }
        let summary = self.g.byte(self.g.csaddr);
        self.put(summary, &array, Kind::Summary).await?;
        if self.g.format == Format::Ufs2 && self.of_freebsd() {
            self.recovery_record().await?;
        }
        self.settle().await?;
        self.superblock.set_totals(total);
        let finished = self.superblock.encode(self.now);
        self.put(primary, &finished, Kind::Superblock).await?;
        self.settle().await
    }

    /// Starts a write, when not too many are in flight.
    async fn put(&mut self, at: ByteOff, bytes: &[u8], kind: Kind) -> Result<(), NewfsError> {
        while self.writes.len() >= IN_FLIGHT {
            if let Some(first) = self.writes.pop_front() {
                first.completed().await?;
            }
        }
        let sector = self.queue.info().sector as usize;
        let mut block = Block::zeroed(bytes.len().next_multiple_of(sector));
        block[..bytes.len()].copy_from_slice(bytes);
        self.writes.push_back(self.queue.write(DiskOff(at.0), block.image(), kind.into()));
        Ok(())
    }

    /// Waits until everything written is durable.
    async fn settle(&mut self) -> Result<(), NewfsError> {
        for write in self.writes.drain(..) {
            write.durable().await?;
        }
        Ok(())
    }

    async fn read(&self, at: ByteOff, len: usize) -> Result<Block, NewfsError> {
        Ok(self.queue.read(DiskOff(at.0), len, Kind::Other.into()).await?)
    }

    /// Wipes the superblocks of earlier volumes (F2).
    async fn wipe_old(&mut self, primary: ByteOff) -> Result<(), NewfsError> {
        for at in PLACES.map(ByteOff) {
            if at.0 + SBLOCKSIZE as u64 > self.queue.info().size {
                continue;
            }
            let bytes = self.read(at, SBLOCKSIZE).await?;
            if Magic::of(&bytes).is_none() {
                continue;
            }
            if let Ok(old) = Superblock::decode_whatever_the_hash(&bytes, at) {
                let g = old.geometry();
                for c in (0..g.ncg).map(Cgx) {
                    self.wipe_magic(g.byte(g.cgsblock(c))).await?;
                }
            }
            if at != primary {
                self.wipe_magic(at).await?;
            }
        }
        self.settle().await
    }

    async fn wipe_magic(&mut self, superblock: ByteOff) -> Result<(), NewfsError> {
        let sector = u64::from(self.queue.info().sector);
        let at = ByteOff((superblock.0 + MAGIC_AT as u64) / sector * sector);
        if at.0 + sector > self.queue.info().size {
            return Ok(());
        }
        let mut bytes = self.read(at, sector as usize).await?;
        let within = (superblock.0 + MAGIC_AT as u64 - at.0) as usize;
        bytes[within..within + 4].fill(0);
        self.put(at, &bytes, Kind::Superblock).await
    }

    /// The last bytes before UFS2's superblock record where the backups are. Boot code in the same sector stays.
    async fn recovery_record(&mut self) -> Result<(), NewfsError> {
        let sector = u64::from(self.queue.info().sector);
        let at = ByteOff((Recovery::AT.0) / sector * sector);
        let mut bytes = self.read(at, sector as usize).await?;
        let within = (Recovery::AT.0 - at.0) as usize;
        bytes[within..within + Recovery::SIZE].copy_from_slice(&Recovery::of(&self.superblock).encode());
        self.put(at, &bytes, Kind::Superblock).await
    }

    /// Writes a group: backup superblock, its own block, the first inodes.
    async fn group(&mut self, c: Cgx, pattern: &mut Option<Vec<u8>>) -> Result<Csum, NewfsError> {
        let backup = self.g.byte(self.g.cgsblock(c));
        let copy = self.superblock.encode_copy(backup);
        self.put(backup, &copy, Kind::Superblock).await?;
        let mut block = self.cg_block(c, pattern);
        let mut first_inodes = Vec::new();
        if c.0 == 0 {
            first_inodes = self.root(&mut block).await?;
        }
        let cs = self.view(c, &mut block).view().cs();
        // OK to ignore: the block has just been made, and is as long as a group's.
        let _ = ordo_ondisk::cg::seal(&mut block, &self.g, self.now);
        self.put(self.g.byte(self.g.cgtod(c)), &block, Kind::Maps).await?;
        self.inodes(c, &first_inodes).await?;
        Ok(cs)
    }

    /// The block of group `c`. All groups except the first and the last differ only in their number.
    fn cg_block(&self, c: Cgx, pattern: &mut Option<Vec<u8>>) -> Vec<u8> {
        let first = ordo_ondisk::cg::first_inodes(&self.g);
        let alike = c.0 > 0 && c.0 + 1 < self.g.ncg && self.g.cgoffset == 0;
        if !alike {
            return ordo_ondisk::cg::init(&self.g, c, first);
        }
        let mut block = pattern.get_or_insert_with(|| ordo_ondisk::cg::init(&self.g, c, first)).clone();
        // OK to ignore: 12 is the offset of `cg_cgx`, which is within the header.
        let _ = self.g.endian.put_u32(&mut block, 12, c.0);
        block
    }

    fn view<'a>(&self, c: Cgx, block: &'a mut [u8]) -> CgMut<'a> {
        // OK to expect: the block was made with this very layout.
        CgMut::new(block, CgLayout::computed(&self.g, c), self.g.endian).expect("a new group has room for its maps")
    }

    /// The inodes of a new group, as many as newfs writes: `head`, then free ones with random generations.
    async fn inodes(&mut self, c: Cgx, head: &[u8]) -> Result<(), NewfsError> {
        let size = self.g.dinode_size as usize;
        let written = ordo_ondisk::cg::first_inodes(&self.g) as usize * size;
        // UFS1 has no lazy initialisation. A free inode is all zeroes except its generation, and 0 is allowed for one
        // that was never used: on a disk of zeroes two blocks are enough.
        let len = if self.zeroed { written.min(2 * self.g.bsize as usize) } else { written };
        let mut at = self.g.byte(self.g.cgimin(c));
        let (mut left, mut head) = (len, head);
        while left > 0 {
            let mut piece = vec![0; left.min(PIECE)];
            for inode in piece.chunks_mut(size) {
                let generation = (self.rng.next_u64() as u32).max(1);
                // OK to ignore: each piece is as long as an inode.
                let _ = Dinode::free(generation).encode(inode, &self.g);
            }
            let ready = head.len().min(piece.len());
            piece[..ready].copy_from_slice(&head[..ready]);
            head = &head[ready..];
            self.put(at, &piece, Kind::Inodes).await?;
            at = ByteOff(at.0 + piece.len() as u64);
            left -= piece.len();
        }
        Ok(())
    }

    fn of_freebsd(&self) -> bool {
        self.g.dialect == Dialect::FreeBsd
    }

    /// Makes the root directory and FreeBSD's `.snap` in the first group, and returns the first inodes.
    async fn root(&mut self, block: &mut [u8]) -> Result<Vec<u8>, NewfsError> {
        let format = self.g.dir_format();
        let mut root = dirent::new_directory(format, Ino::ROOT, Ino::ROOT);
        let has_snap = self.of_freebsd();
        if has_snap {
            // The root directory has one more entry, which takes the free part of its last one.
            let (dot, dotdot) = (dirent::min_reclen(1), dirent::min_reclen(2));
            let rest = root.len() - dot - dotdot;
            // OK to ignore: the block is one that was just made, and the entry fits into it.
            let _ = dirent::set_reclen(&mut root, dot, format, dotdot as u16);
            let _ = dirent::write(&mut root, dot + dotdot, format, rest as u16, SNAP, 4, b".snap");
        }
        let snap = dirent::new_directory(format, SNAP, Ino::ROOT);
        let directories = [(Ino::ROOT, &root), (SNAP, &snap)];
        let directories = &directories[..1 + usize::from(has_snap)];
        let mut cg = self.view(Cgx(0), block);
        let mut places = Vec::new();
        for &(ino, _) in directories {
            let free = find_run(&cg.view(), self.g.frag, self.g.dblkno);
            let made =
                free.and_then(|first| mark(&mut cg, first, 1, false).zip(mark_inode(&mut cg, ino.0, true, true)));
            debug_assert!(made.is_some_and(|(taken, used)| plus(taken, used).ndir == 1), "a new group has room");
            places.push(self.g.cgfrag(Cgx(0), CgFrag(free.unwrap_or(self.g.dblkno))));
        }
        cg.set_irotor(0);
        for (at, (_, directory)) in places.iter().zip(directories) {
            let mut fragment = vec![0; self.g.fsize as usize];
            fragment[..directory.len()].copy_from_slice(directory);
            self.put(self.g.byte(*at), &fragment, Kind::Directory).await?;
        }
        let size = self.g.dinode_size as usize;
        let mut inodes = vec![0; size * 4];
        for (i, inode) in inodes.chunks_mut(size).enumerate() {
            let dinode = match i {
                2 => self.directory(0o755, 2 + u16::from(has_snap), 0, root.len(), places[0], 0),
                3 if has_snap => self.directory(0o775, 2, OPERATOR, snap.len(), places[1], 1),
                _ => Dinode::free((self.rng.next_u64() as u32).max(1)),
            };
            // OK to ignore: each piece is as long as an inode.
            let _ = dinode.encode(inode, &self.g);
        }
        Ok(inodes)
    }

    fn directory(&self, permissions: u16, nlink: u16, gid: u32, size: usize, at: FragNo, depth: u32) -> Dinode {
        let now = Timestamp { sec: self.now, nsec: 0 };
        let mut dinode = Dinode {
            mode: mode::DIR | permissions,
            nlink,
            gid,
            size: size as u64,
            blocks: Dinode::sectors(self.g.fsize.into()),
            atime: now,
            mtime: now,
            ctime: now,
            birth: now,
            // The depth of a directory, which only newer FreeBSD records.
            freelink: if self.g.inode_hash { depth } else { 0 },
            ..Dinode::default()
        };
        dinode.db[0] = at;
        dinode
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::shapes;
    use ordo_disk::RamDisk;
    use ordo_ondisk::superblock::newfs::{NewfsParams, System};
    use ordo_ondisk::superblock::search;

    fn make(disk: &RamDisk, shape: &NewfsParams, zeroed: bool) -> Superblock {
        let rt = Rt::virtual_time(3);
        rt.block_on(newfs(&rt, Rc::new(disk.clone()), shape.superblock().unwrap(), rt.rng(), zeroed)).unwrap()
    }

    fn find(disk: &RamDisk) -> Result<search::FoundUfs, search::NotFound> {
        let mut read = |at: ByteOff, into: &mut [u8]| {
            disk.peek(at.0, into);
            Ok(())
        };
        search::find(&mut read, disk.info().size)
    }

    fn bytes<const N: usize>(disk: &RamDisk, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        disk.peek(at, &mut bytes);
        bytes
    }

    #[test]
    fn root_and_snap_lie_where_freebsd_puts_them() {
        let disk = RamDisk::new(4 << 20);
        let sb = make(&disk, &NewfsParams { now: 1, ..NewfsParams::new(Format::Ufs2, 4 << 20) }, true);
        let inodes = 40 * 4096;
        let dinode = |ino: u32| {
            let raw: [u8; 256] = bytes(&disk, inodes + u64::from(ino) * 256);
            Dinode::decode(&raw, &sb.geometry(), Ino(ino)).unwrap()
        };
        let (root, snap) = (dinode(2), dinode(3));
        assert_eq!((root.mode, root.nlink, root.db[0], root.freelink), (0o40755, 3, FragNo(64), 0));
        assert_eq!((snap.mode, snap.nlink, snap.db[0], snap.freelink), (0o40775, 2, FragNo(72), 1));
        assert_eq!((root.size, root.blocks, root.gen_, snap.gid), (512, 8, 0, 5));
        // Inodes 0 to 3; the summary, the root directory, `.snap`: one fragment of a block each.
        assert_eq!(bytes::<1>(&disk, 32 * 4096 + 168), [0x0f]);
        assert_eq!(bytes::<4>(&disk, 32 * 4096 + 206), [0, 0xfe, 0xfe, 0xfe]);
        assert_eq!(bytes::<6>(&disk, 64 * 4096 + 32), *b".snap\0");
        assert_eq!(bytes::<4>(&disk, 65516), 0x1954_0119u32.to_le_bytes());
    }

    #[test]
    fn volume_for_netbsd_has_no_snap_and_no_record_of_the_backups() {
        let disk = RamDisk::new(4 << 20);
        let wanted = NewfsParams { now: 1, system: System::NetBsd, ..NewfsParams::new(Format::Ufs2, 4 << 20) };
        let sb = make(&disk, &wanted, true);
        let inodes = 40 * 4096;
        let raw: [u8; 256] = bytes(&disk, inodes + 2 * 256);
        let root = Dinode::decode(&raw, &sb.geometry(), Ino(2)).unwrap();
        assert_eq!((root.mode, root.nlink, root.db[0]), (0o40755, 2, FragNo(64)));
        assert_eq!(bytes::<2>(&disk, inodes + 3 * 256), [0, 0], "inode 3 is free");
        assert_eq!(bytes::<1>(&disk, 32 * 4096 + 168), [0x07]);
        // Reclen of `..` reaches to the end of the block: no entry behind it.
        assert_eq!(bytes::<2>(&disk, 64 * 4096 + 16), 500u16.to_le_bytes());
        assert_eq!(bytes::<20>(&disk, 65516), [0; 20]);
        // FreeBSD's counters and hash in the group, which NetBSD's fsck wants to be zero.
        assert_eq!(bytes::<12>(&disk, 32 * 4096 + 124), [0; 12]);
        assert_eq!((sb.totals().ndir, find(&disk).unwrap().superblock.dialect), (1, Dialect::NetBsd));
    }

    #[test]
    fn every_group_is_what_init_makes_and_every_backup_is_good() {
        let for_netbsd = |shape| NewfsParams { system: System::NetBsd, ..shape };
        for shape in shapes().into_iter().chain(shapes().into_iter().map(for_netbsd)) {
            let disk = RamDisk::new(shape.volume_bytes);
            let sb = make(&disk, &shape, true);
            let g = sb.geometry();
            for c in (0..g.ncg).map(Cgx) {
                let mut block = vec![0; g.cgsize as usize];
                disk.peek(g.byte(g.cgtod(c)).0, &mut block);
                ordo_ondisk::cg::check(&block, &g, c).unwrap();
                if c.0 > 0 {
                    let mut fresh = ordo_ondisk::cg::init(&g, c, ordo_ondisk::cg::first_inodes(&g));
                    ordo_ondisk::cg::seal(&mut fresh, &g, shape.now).unwrap();
                    assert!(block == fresh, "group {}", c.0);
                }
                let backup = g.byte(g.cgsblock(c));
                let copy = Superblock::decode(&bytes::<SBLOCKSIZE>(&disk, backup.0), backup).unwrap();
                assert_eq!(copy.geometry(), g);
            }
            let found = find(&disk).unwrap().superblock;
            assert!(found.is_clean());
            let directories = 1 + i64::from(shape.system == System::FreeBsd);
            assert_eq!((found.totals(), found.totals().ndir), (sb.totals(), directories));
        }
    }

    #[test]
    fn a_volume_that_was_there_before_is_found_no_more() {
        let old = shapes()[3].clone();
        let disk = RamDisk::new(64 << 20);
        make(&disk, &old, true);
        let new = NewfsParams { now: 5, ..NewfsParams::new(Format::Ufs2, 64 << 20) };
        make(&disk, &new, false);
        assert_eq!(find(&disk).unwrap().superblock.format, Format::Ufs2);
        for at in PLACES.into_iter().filter(|&at| at != 65536) {
            assert!(Magic::of(&bytes::<SBLOCKSIZE>(&disk, at)).is_none(), "byte {at}");
        }
        // The other way round the old primary is wiped, too.
        make(&disk, &old, false);
        assert_eq!(find(&disk).unwrap().superblock.format, Format::Ufs1);
    }

    #[test]
    fn a_disk_that_is_too_small_or_fails_is_told() {
        let rt = Rt::virtual_time(3);
        let shape = || shapes()[0].superblock().unwrap();
        let small: Rc<dyn Disk> = Rc::new(RamDisk::new(1 << 20));
        let outcome = rt.block_on(newfs(&rt, small, shape(), rt.rng(), true));
        assert!(matches!(outcome, Err(NewfsError::TooLarge { .. })));
        let stuck = RamDisk::new(shapes()[0].volume_bytes).with(|info| info.read_only = true);
        let outcome = rt.block_on(newfs(&rt, Rc::new(stuck), shape(), rt.rng(), true));
        assert!(matches!(outcome, Err(NewfsError::Disk(_))));
    }

    #[test]
    fn the_volume_appears_with_the_last_write_only() {
        let shape = &shapes()[1];
        let disk = RamDisk::new(shape.volume_bytes).volatile(true);
        make(&disk, shape, true);
        assert_eq!(disk.unflushed(), 0);
        // The state before the last flush: everything is written except the superblock.
        let sb = shape.superblock().unwrap();
        disk.poke(sb.at.0, &sb.encode_unfinished());
        assert!(matches!(find(&disk), Err(search::NotFound::Unfinished(_))));
    }
}
