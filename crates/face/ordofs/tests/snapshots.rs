//! Snapshots on disks in memory: what is read from one while the volume changes under every scheme, what fsck says of
//! both, and what a power cut leaves.
//!
//! The oracle is a copy of the disk from the moment after a snapshot was taken: each block that was in use then must
//! read in the snapshot as it reads there.

use ordo_fsck::Mode;
use ordo_ondisk::cg::{Cg, check_maps, map};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Cgx, Endian, Format, FragNo, Superblock};
use ordo_vfs::{Caller, FileSystem, Kind, Mode as Bits, Name, RenameMode, SetAttr};
use ordofs::disk::{Block, Disk, DiskOff, RamDisk, ReadPart, Tag};
use ordofs::path::{Held, parent, resolve};
use ordofs::rt::{Rng, Rt};
use ordofs::{Fs, Located, MountOptions, Mounted, NewVolume, Snapshot, SnapshotError, locate_on, locate_snapshot};
use std::rc::Rc;

const MIB: u64 = 1 << 20;

fn rt() -> Rt {
    Rt::virtual_time(1)
}

fn who() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// Format, byte order, bytes of a block and of a fragment.
const SHAPES: [(Format, Endian, u32, u32); 5] = [
    (Format::Ufs2, Endian::Little, 32768, 4096),
    (Format::Ufs1, Endian::Big, 8192, 1024),
    (Format::Ufs2, Endian::Big, 8192, 1024),
    (Format::Ufs1, Endian::Little, 4096, 512),
    (Format::Ufs2, Endian::Little, 4096, 4096),
];

fn volume((format, endian, bsize, fsize): (Format, Endian, u32, u32), bytes: u64) -> RamDisk {
    let params = NewfsParams { endian, bsize, fsize, now: 1, ..NewfsParams::new(format, bytes) };
    let disk = RamDisk::new(bytes);
    NewVolume { params }.create_on(&rt(), Rc::new(disk.clone()), true).unwrap();
    disk
}

fn located(disk: &RamDisk) -> Located {
    locate_on(&rt(), Rc::new(disk.clone())).unwrap()
}

fn superblock(located: &Located) -> Superblock {
    located.found.clone().into_ufs().unwrap().superblock
}

fn check(disk: Rc<dyn Disk>, mode: Mode) -> (i32, String) {
    let rt = rt();
    let inner = rt.clone();
    let report = rt.block_on(async move { ordo_fsck::check(&inner, disk, ordo_fsck::Options::new(mode)).await });
    let report = report.unwrap();
    (report.exit_code().into(), format!("{report:?}"))
}

#[track_caller]
fn is_clean(disk: &RamDisk) {
    let (code, said) = check(Rc::new(disk.clone()), Mode::Check);
    assert_eq!(code, 0, "{said}");
}

fn mount(disk: &RamDisk, scheme: &str) -> (Rt, Mounted) {
    let rt = rt();
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(&rt, located(disk), &options)).unwrap();
    assert_eq!(mounted.why_read_only(), None);
    (rt, mounted)
}

/// Works on the mounted volume.
fn mounted<T>(disk: &RamDisk, scheme: &str, work: impl AsyncFnOnce(&Rc<Fs>) -> T) -> T {
    let (rt, mounted) = mount(disk, scheme);
    let done = rt.block_on(work(mounted.fs()));
    rt.block_on(mounted.unmount()).unwrap();
    done
}

async fn put(fs: &Rc<Fs>, path: &str, bytes: &[u8]) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    let file = match dir.find(name.bytes()).await? {
        Some(file) => file,
        None => Held::new(fs, fs.mknod(&who(), dir.node(), name, Kind::Regular, Bits::new(0o644), 0).await?),
    };
    let written = fs.write(&who(), file.node(), 0, bytes).await?;
    if written as usize == bytes.len() { Ok(()) } else { Err(ordo_vfs::Refusal::NoSpace.into()) }
}

/// Files of all sizes, some in directories.
async fn fill(fs: &Rc<Fs>, files: u32) {
    for dir in ["/d0", "/d1", "/d2"] {
        let (root, name) = parent(fs, dir.as_bytes()).await.unwrap();
        fs.mkdir(&who(), root.node(), name, Bits::new(0o755)).await.unwrap();
    }
    for n in 0..files {
        let len = [100, 5000, 40_000, 150_000][n as usize % 4];
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + n as usize) as u8).collect();
        put(fs, &format!("/d{}/f{n}", n % 3), &bytes).await.unwrap();
    }
}

/// Calls at random: what a call answers does not matter, but for damage.
async fn change(fs: &Rc<Fs>, seed: u64, calls: u32) {
    let mut rng = Rng::new(seed);
    for call in 0..calls {
        let mut n = |below: u64| rng.below(below);
        let path = format!("/d{}/f{}", n(3), n(40));
        let done = match n(8) {
            0..=2 => put(fs, &path, &vec![call as u8; 1 + n(90_000) as usize]).await,
            3 => remove(fs, &path).await,
            4 => truncated(fs, &path, n(200_000)).await,
            5 => renamed(fs, &path, &format!("/d{}/f{}", n(3), n(40))).await,
            6 => made(fs, &format!("/d{}/x{call}", n(3))).await,
            _ => fs.syncfs().await,
        };
        match done {
            Ok(()) | Err(ordofs::Error::Refused(_)) => {}
            Err(error) => panic!("call {call}: {error}"),
        }
    }
}

async fn remove(fs: &Rc<Fs>, path: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    fs.unlink(dir.node(), name).await
}

async fn truncated(fs: &Rc<Fs>, path: &str, size: u64) -> Result<(), ordofs::Error> {
    let file = resolve(fs, path.as_bytes(), true).await?;
    fs.setattr(file.node(), &SetAttr { size: Some(size), ..SetAttr::default() }).await.map(drop)
}

async fn renamed(fs: &Rc<Fs>, from: &str, to: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, from.as_bytes()).await?;
    let (to_dir, to_name) = parent(fs, to.as_bytes()).await?;
    fs.rename(dir.node(), name, to_dir.node(), to_name, RenameMode::Replace).await
}

async fn made(fs: &Rc<Fs>, path: &str) -> Result<(), ordofs::Error> {
    let (dir, name) = parent(fs, path.as_bytes()).await?;
    fs.mkdir(&who(), dir.node(), name, Bits::new(0o755)).await.map(drop)
}

fn snapshot(disk: &RamDisk, path: &str) -> Result<Snapshot, SnapshotError> {
    ordofs::make_snapshot(&rt(), Rc::new(disk.clone()), path.as_bytes())
}

fn inside(disk: &RamDisk, name: &str) -> Located {
    locate_snapshot(&rt(), &located(disk), name.as_bytes()).unwrap()
}

fn read(disk: &Rc<dyn Disk>, at: u64, len: u64) -> Vec<u8> {
    let part = ReadPart { block: Block::zeroed(len as usize), tag: Tag::default() };
    rt().block_on(disk.read(DiskOff(at), vec![part])).unwrap().iter().flat_map(|part| part.block.to_vec()).collect()
}

/// A snapshot as it was when it was taken.
struct Moment {
    name: String,
    disk: RamDisk,
}

impl Moment {
    fn of(disk: &RamDisk, name: &str) -> Moment {
        Moment { name: name.into(), disk: disk.snapshot() }
    }

    /// The blocks in use then, by the maps of the snapshot.
    fn blocks(&self) -> Vec<u64> {
        let then = inside(&self.disk, &self.name);
        let g = superblock(&then).geometry();
        let mut used = vec![];
        for c in (0..g.ncg).map(Cgx) {
            let bytes = read(&then.disk, g.byte(g.cgtod(c)).0, g.cgsize.into());
            let layout = check_maps(&bytes, &g, c).unwrap();
            let cg = Cg::new(&bytes, layout, g.endian).unwrap();
            for first in (0..layout.ndblk).step_by(g.frag as usize) {
                let n = g.frag.min(layout.ndblk - first);
                if !map::all(cg.free(), first, n, true) {
                    used.push(g.block_of_frag(FragNo(g.cgbase(c).0 + u64::from(first))));
                }
            }
        }
        used
    }

    /// The volume as it is now has the same snapshot.
    #[track_caller]
    fn is_in(&self, now: &RamDisk) {
        let (then, is) = (inside(&self.disk, &self.name), inside(now, &self.name));
        let g = superblock(&then).geometry();
        let volume = g.byte(FragNo(g.size)).0;
        for block in self.blocks() {
            let at = block * u64::from(g.bsize);
            let len = u64::from(g.bsize).min(volume - at);
            let same = read(&then.disk, at, len) == read(&is.disk, at, len);
            assert!(same, "block {block} of {} is not what it was", self.name);
        }
        let (code, said) = check(is.disk, Mode::Check);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn a_snapshot_is_the_volume_as_it_was() {
    for shape in SHAPES {
        let disk = volume(shape, 24 * MIB);
        mounted(&disk, "sync", async |fs| fill(fs, 40).await);
        let before = disk.snapshot();
        let taken = snapshot(&disk, "/.snap/one").unwrap();
        assert!(taken.shared > 0, "{taken:?}");
        is_clean(&disk);
        let moment = Moment::of(&disk, "one");
        moment.is_in(&disk);
        // The files are those of the volume before.
        let (rt, was, is) = (rt(), located(&before), inside(&disk, "/.snap/one"));
        let options = MountOptions { read_only: true, ..MountOptions::default() };
        for n in 0..40 {
            let path = format!("/d{}/f{n}", n % 3);
            let mut contents = vec![];
            for located in [&was, &is] {
                let located = Located { disk: located.disk.clone(), found: located.found.clone(), log: None };
                let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).unwrap();
                contents.push(rt.block_on(async {
                    let file = resolve(mounted.fs(), path.as_bytes(), true).await.unwrap();
                    mounted.fs().read(file.node(), 0, file.attr().size as u32).await.unwrap().concat()
                }));
            }
            assert_eq!(contents[0], contents[1], "{path}");
        }
    }
}

const SCHEMES: [&str; 4] = ["sync", "softupdates", "async", "flag-part"];

#[test]
fn the_snapshot_stays_while_the_volume_changes() {
    for shape in SHAPES {
        for scheme in SCHEMES {
            let disk = volume(shape, 24 * MIB);
            mounted(&disk, "sync", async |fs| fill(fs, 40).await);
            snapshot(&disk, "/.snap/one").unwrap();
            let first = Moment::of(&disk, "one");
            mounted(&disk, scheme, async |fs| change(fs, 1, 120).await);
            is_clean(&disk);
            first.is_in(&disk);
            snapshot(&disk, "/.snap/two").unwrap();
            let second = Moment::of(&disk, "two");
            is_clean(&disk);
            mounted(&disk, scheme, async |fs| change(fs, 2, 120).await);
            is_clean(&disk);
            first.is_in(&disk);
            second.is_in(&disk);
        }
    }
}
