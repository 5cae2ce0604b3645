//! Volumes for NetBSD with a log, before and after a change, and what a crash between the two leaves.

use crate::common::{check, located, mount};
use crate::replays::log::Log;
use ordo_fsck::Mode as Fsck;
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::superblock::newfs::{NewfsParams, System};
use ordo_ondisk::{ByteOff, Cgx, Dinode, Endian, Format, FragNo, Geometry, Ino, Superblock};
use ordofs::disk::RamDisk;
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{Fs, Mounted, NewVolume};
use std::rc::Rc;

pub(crate) const VOLUME: u64 = 12 << 20;
/// Bytes behind the volume.
pub(crate) const BEHIND: u64 = 1 << 20;
const FLAG: u32 = 0x100;

/// A kind of volume, and of log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) format: Format,
    pub(crate) endian: Endian,
    pub(crate) bsize: u32,
    pub(crate) fsize: u32,
    /// The log is a file in it; otherwise it lies behind it.
    pub(crate) within: bool,
    /// The byte order of the log, and of its place in the superblock.
    pub(crate) order: Endian,
    /// Bytes of a block of the log.
    pub(crate) block: u64,
}

/// Every format, byte order and place, with logs of either order.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![];
    for (format, bsize, fsize) in [(Format::Ufs1, 8192, 1024), (Format::Ufs2, 8192, 1024), (Format::Ufs2, 32768, 4096)]
    {
        for endian in [Endian::Little, Endian::Big] {
            for (within, order) in [(true, endian), (false, endian), (false, endian.other())] {
                all.push(Case { format, endian, bsize, fsize, within, order, block: 512 });
            }
        }
    }
    // A disk with sectors of 4096 bytes.
    all.push(Case { block: 4096, within: true, ..all[12] });
    all.push(Case { block: 4096, ..all[16] });
    all
}

/// The simplest one.
pub(crate) fn plain() -> Case {
    Case {
        format: Format::Ufs2,
        endian: Endian::Little,
        bsize: 8192,
        fsize: 1024,
        within: false,
        order: Endian::Little,
        block: 512,
    }
}

/// A clean volume with a log, and the same after a change.
pub(crate) struct Bed {
    pub(crate) rt: Rt,
    pub(crate) case: Case,
    pub(crate) before: RamDisk,
    pub(crate) after: RamDisk,
    /// Where the log lies.
    pub(crate) start: u64,
    pub(crate) len: u64,
}

pub(crate) fn superblock(disk: &RamDisk) -> Superblock {
    let located = located(disk, Rc::new(disk.clone()));
    located.found.ufs().expect("UFS").superblock.clone()
}

pub(crate) async fn put(fs: &Rc<Fs>, path: &str, bytes: &[u8]) {
    let (dir, name) = path.rsplit_once('/').expect("an absolute path");
    let who = Caller { privileged: true, ..Caller::default() };
    let dir = resolve(fs, if dir.is_empty() { b"/" } else { dir.as_bytes() }, true).await.expect("a directory");
    let name = Name::new(name.as_bytes()).expect("a name");
    let made = fs.mknod(&who, dir.node(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("a new file");
    let file = Held::new(fs, made);
    let mut at = 0;
    while at < bytes.len() {
        at += fs.write(&who, file.node(), at as u64, &bytes[at..]).await.expect("room") as usize;
    }
}

pub(crate) async fn mkdir(fs: &Rc<Fs>, name: &str) {
    let who = Caller { privileged: true, ..Caller::default() };
    let name = Name::new(name.as_bytes()).expect("a name");
    drop(Held::new(fs, fs.mkdir(&who, fs.root(), name, Mode::new(0o755)).await.expect("a new directory")));
}

pub(crate) async fn read(fs: &Rc<Fs>, path: &str) -> Option<Vec<u8>> {
    let file = resolve(fs, path.as_bytes(), true).await.ok()?;
    Some(fs.read(file.node(), 0, file.attr().size as u32).await.expect("it can be read").concat())
}

pub(crate) async fn remove(fs: &Rc<Fs>, name: &str) {
    fs.unlink(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.expect("it is there");
}

impl Bed {
    pub(crate) fn new(case: Case) -> Bed {
        let rt = Rt::virtual_time(1);
        let disk = RamDisk::new(VOLUME + BEHIND).with(|info| info.sector = case.block as u32);
        let Case { format, endian, bsize, fsize, .. } = case;
        let params = NewfsParams {
            endian,
            bsize,
            fsize,
            system: System::NetBsd,
            check_hashes: false,
            softdep: false,
            density: Some(8192),
            ..NewfsParams::new(format, VOLUME)
        };
        NewVolume { params }.create_on(&rt, Rc::new(disk.clone()), true).expect("the shape is possible");
        let (start, len) = if case.within { log_file(&rt, &disk) } else { (VOLUME, BEHIND) };
        place_log(&disk, case, start, len);
        let before = disk.snapshot();
        work(&rt, &before, async |fs| {
            mkdir(fs, "old").await;
            put(fs, "/old/stays", b"as it was").await;
            put(fs, "/old/grows", &[1; 3000]).await;
            put(fs, "/goes", &[2; 20_000]).await;
        });
        let after = before.snapshot();
        work(&rt, &after, async |fs| {
            mkdir(fs, "new").await;
            put(fs, "/new/small", b"of the log").await;
            remove(fs, "goes").await;
            put(fs, "/new/large", &[3; 40_000]).await;
        });
        let part = |disk: &RamDisk| disk.to_vec()[start as usize..(start + len) as usize].to_vec();
        assert!(part(&before) == part(&disk) && part(&after) == part(&disk), "{case:?}: the log is not ours to write");
        Bed { rt, case, before, after, start, len }
    }

    pub(crate) fn log(&self) -> Log {
        let block = self.case.block;
        Log { block, unit: block, ..Log::new(self.case.order, self.start, self.len) }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        superblock(&self.before).geometry()
    }

    /// What differs between the two volumes, in fragments, and the superblock, as NetBSD would log it.
    pub(crate) fn images(&self) -> Vec<(u64, Vec<u8>)> {
        let logged = self.after.snapshot();
        in_use(&logged);
        self.differing(&logged)
    }

    /// What differs between the volume before the change and another one.
    pub(crate) fn differing(&self, other: &RamDisk) -> Vec<(u64, Vec<u8>)> {
        let (from, to) = (self.before.to_vec(), other.to_vec());
        let unit = self.case.fsize.max(self.case.block as u32) as usize;
        let all = from.chunks(unit).zip(to.chunks(unit)).enumerate();
        let differ = all.filter(|(_, (from, to))| from != to);
        differ.map(|(n, (_, to))| ((n * unit) as u64, to.to_vec())).collect()
    }

    /// The volume before the change, in use by NetBSD, with this log.
    pub(crate) fn crashed(&self, log: &Log) -> RamDisk {
        let disk = self.before.snapshot();
        in_use(&disk);
        log.write(&disk);
        disk
    }

    /// Asserts that the replayed volume is the one after the change, byte by byte.
    pub(crate) fn assert_after(&self, disk: &RamDisk, what: &str) {
        let (mut found, mut right) = (disk.to_vec(), self.after.to_vec());
        let log = self.start as usize..(self.start + self.len) as usize;
        found[log.clone()].fill(0);
        right[log].fill(0);
        let at = superblock(&self.after).at.0 as usize;
        // The times of the superblock.
        for range in [32..36, 1072..1080] {
            let range = at + range.start..at + range.end;
            found[range.clone()].copy_from_slice(&right[range]);
        }
        let differs = found.iter().zip(&right).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{what}: the superblock is at {at}");
    }
}

/// A mount, a change, and an unmount. The volume is whole before and after.
pub(crate) fn work(rt: &Rt, disk: &RamDisk, change: impl AsyncFnOnce(&Rc<Fs>)) {
    let mounted: Mounted = mount(rt, disk, "sync");
    assert_eq!(mounted.why_read_only(), None);
    rt.block_on(async {
        change(mounted.fs()).await;
        mounted.unmount().await.expect("the disk is well");
    });
    let report = check(rt, disk, Fsck::Check);
    assert!(report.findings.is_empty() && report.clean, "{report:#?}");
}

/// Changes bytes of the volume in the images.
pub(crate) fn patch(images: &mut [(u64, Vec<u8>)], at: u64, bytes: &[u8]) {
    for (to, byte) in (at..).zip(bytes) {
        let image = images.iter_mut().find(|(from, image)| (*from..*from + image.len() as u64).contains(&to));
        let (from, image) = image.expect("it was logged");
        image[(to - *from) as usize] = *byte;
    }
}

/// The superblock of a volume that NetBSD has mounted with its log.
pub(crate) fn in_use(disk: &RamDisk) {
    let sb = superblock(disk);
    disk.poke(sb.at.0 + 209, &[2]);
    let mut bytes = [0; 4];
    sb.endian.put_u32(&mut bytes, 0, FLAG).expect("four bytes");
    disk.poke(sb.at.0 + 1312, &bytes);
}

/// The place of the log in the superblock.
fn place_log(disk: &RamDisk, case: Case, start: u64, len: u64) {
    let at = superblock(disk).at.0;
    disk.poke(at + 864, &[1, if case.within { 2 } else { 1 }, 0, 0, 0, 0, 0, 0]);
    for (n, number) in [start / case.block, len / case.block, case.block].into_iter().enumerate() {
        let mut bytes = [0; 8];
        case.order.put_u64(&mut bytes, 0, number).expect("eight bytes");
        disk.poke(at + 872 + 8 * n as u64, &bytes);
    }
    if !case.within {
        // Something else than zeroes is there.
        disk.poke(start, &vec![0xa5; len as usize]);
    }
}

/// Makes NetBSD's file for the log, which has no name, in twelve blocks side by side. Returns where it lies.
fn log_file(rt: &Rt, disk: &RamDisk) -> (u64, u64) {
    let sb = superblock(disk);
    let g = sb.geometry();
    let bytes = disk.to_vec();
    let cg = &bytes[g.byte(g.cgtod(Cgx(0))).0 as usize..];
    let map = &cg[g.endian.get_u32(cg, 96).expect("a group") as usize..];
    let free = |frag: u32| map[frag as usize / 8] >> (frag % 8) & 1 == 1;
    let blocks = (0..g.fpg / g.frag).map(|block| block * g.frag);
    let first = blocks.into_iter().find(|first| (*first..first + 12 * g.frag).all(free)).expect("room");
    let len = 12 * u64::from(g.bsize);
    let frag = |n: u32| FragNo(u64::from(first + n * g.frag));
    let log = Dinode {
        mode: mode::REG | 0o600,
        nlink: 1,
        size: len,
        blocks: Dinode::sectors(len),
        flags: flags::SF_LOG,
        db: std::array::from_fn(|n| frag(n as u32)),
        ..Dinode::default()
    };
    let ino = Ino(3);
    let mut place = vec![0; g.dinode_size as usize];
    log.encode(&mut place, &g).expect("an inode");
    disk.poke(Dinode::place(&g, ino).0, &place);
    let (start, mut fields) = (g.byte(frag(0)).0, vec![0; 40]);
    fields[..2].copy_from_slice(&[1, 2]);
    for (n, number) in [start / 512, len / 512, 512, u64::from(ino.0)].into_iter().enumerate() {
        g.endian.put_u64(&mut fields, 8 + 8 * n, number).expect("room");
    }
    disk.poke(sb.at.0 + 864, &fields);
    disk.poke(sb.at.0 + 209, &[0]);
    // The preen puts its blocks and its inode into the bitmaps.
    let report = check(rt, disk, Fsck::Preen);
    assert!(report.clean && report.findings.iter().all(|found| (42..=46).contains(&found.finding.rule())));
    assert_eq!(
        Superblock::decode(&disk.to_vec()[sb.at.0 as usize..], ByteOff(sb.at.0)).map(|sb| sb.is_clean()),
        Ok(true)
    );
    (start, len)
}
