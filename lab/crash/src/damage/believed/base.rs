//! The volumes that are damaged, as they are before: all layouts, formats, byte orders and logs, left orderly or by a
//! crash in the middle of work.

use super::super::volumes::{broken, populate};
use super::structure::Structure;
use super::sums::bytes;
use super::{journals, log, tree};
use crate::{Error, LogShape, Shape};
use ordo_disk::RamDisk;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Endian, Format, lfs};
use ordo_rt::Rt;
use ordo_vfs::{FileSystem, Kind};
use ordo_workload::{Session, look};
use ordofs::{MountOptions, Mounted, NewVolume, Tuning};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A kind of volume.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) of: Of,
    pub(super) endian: Endian,
    /// It was not unmounted.
    pub(super) crashed: bool,
}

/// Its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// UFS, with this scheme.
    Ufs(Format, &'static str),
    Lfs(lfs::Version),
}

const fn ufs(name: &'static str, format: Format, endian: Endian, scheme: &'static str, crashed: bool) -> Variant {
    Variant { name, of: Of::Ufs(format, scheme), endian, crashed }
}

const fn log_of(name: &'static str, version: lfs::Version, endian: Endian, crashed: bool) -> Variant {
    Variant { name, of: Of::Lfs(version), endian, crashed }
}

/// All of them. An id names one by its name.
pub(super) const VARIANTS: [Variant; 22] = {
    use Endian::{Big, Little};
    use Format::{Ufs1, Ufs2};
    use lfs::Version::{Lfs64, V1, V2};
    [
        ufs("ufs2le", Ufs2, Little, "softupdates", false),
        ufs("ufs2be", Ufs2, Big, "softupdates", false),
        ufs("ufs1le", Ufs1, Little, "softupdates", false),
        ufs("ufs1be", Ufs1, Big, "softupdates", false),
        ufs("suj2le", Ufs2, Little, "suj", true),
        ufs("suj1be", Ufs1, Big, "suj", true),
        ufs("file2le", Ufs2, Little, "journal-file", true),
        ufs("file1be", Ufs1, Big, "journal-file", false),
        ufs("wafs2be", Ufs2, Big, "wafs", true),
        ufs("wafs1le", Ufs1, Little, "wafs", true),
        ufs("block2le", Ufs2, Little, "block-journal", true),
        ufs("block1be", Ufs1, Big, "block-journal", true),
        ufs("active2le", Ufs2, Little, "active", true),
        ufs("active1be", Ufs1, Big, "active", true),
        ufs("active2be", Ufs2, Big, "active", false),
        log_of("lfs1le", V1, Little, false),
        log_of("lfs1be", V1, Big, true),
        log_of("lfs2le", V2, Little, true),
        log_of("lfs2be", V2, Big, false),
        log_of("lfs64le", Lfs64, Little, false),
        log_of("lfs64be", Lfs64, Big, true),
        log_of("lfs64le-crashed", Lfs64, Little, true),
    ]
};

/// A volume before the damage.
pub(super) struct Base {
    pub(super) ram: RamDisk,
    /// Bytes of the unit of addresses.
    pub(super) unit: u64,
    pub(super) structures: Vec<Structure>,
    /// Indices of the structures, by class.
    pub(super) classes: Vec<Vec<usize>>,
}

impl Base {
    /// The bytes of a structure.
    pub(super) fn bytes(&self, structure: usize) -> Vec<u8> {
        let Structure { at, len, .. } = self.structures[structure];
        bytes(&self.ram, &(at..at + len))
    }
}

/// Bytes of a volume: a journal of soft updates alone takes half of it.
pub(super) const SIZE: u64 = 8 << 20;

impl Variant {
    /// The scheme with which it is mounted.
    pub(super) fn scheme(&self) -> Option<&'static str> {
        match self.of {
            Of::Ufs(_, scheme) => Some(scheme),
            Of::Lfs(_) => None,
        }
    }

    /// Makes the volume, the same each time.
    pub(super) fn base(&self) -> Result<Base, Error> {
        let rt = Rt::virtual_time(7);
        let ram = RamDisk::new(SIZE);
        match self.of {
            Of::Ufs(format, scheme) => self.new_ufs(&rt, &ram, format, scheme)?,
            Of::Lfs(version) => self.new_log(&rt, &ram, version)?,
        }
        let directories = self.used(&rt, &ram)?;
        let (structures, unit) = match self.of {
            Of::Ufs(..) => {
                let (mut found, unit) = tree::structures(&ram)?;
                found.extend(journals::structures(&ram));
                (found, unit)
            }
            Of::Lfs(_) => log::structures(&ram, &directories)?,
        };
        let mut classes = BTreeMap::<&str, Vec<usize>>::new();
        for (at, structure) in structures.iter().enumerate() {
            classes.entry(structure.class).or_default().push(at);
        }
        Ok(Base { ram, unit, structures, classes: classes.into_values().collect() })
    }

    fn new_ufs(&self, rt: &Rt, ram: &RamDisk, format: Format, scheme: &str) -> Result<(), Error> {
        let params = NewfsParams {
            endian: self.endian,
            bsize: 4096,
            fsize: 512,
            density: Some(8192),
            max_fpg: Some(4096),
            softdep: matches!(scheme, "softupdates" | "suj"),
            ..NewfsParams::new(format, SIZE)
        };
        let disk = Rc::new(ram.clone());
        NewVolume { params }.create_on(rt, disk.clone(), true).map_err(broken)?;
        let known = ordo_schemes::by_name(scheme).ok_or_else(|| Error::NoScheme(scheme.into()))?;
        match known.wants_log() {
            Some(kind) => Tuning::for_log(kind).apply_on(rt, disk).map(drop).map_err(broken),
            None => Ok(()),
        }
    }

    fn new_log(&self, rt: &Rt, ram: &RamDisk, version: lfs::Version) -> Result<(), Error> {
        let (bsize, fsize, endian) = (4096, 512, self.endian);
        let shape = Shape { format: Format::Ufs1, size: SIZE, bsize, fsize, endian, log: None };
        let log = LogShape { version, ..LogShape::of(SIZE, bsize) };
        shape.log_volume(log).create_on(rt, Rc::new(ram.clone()), false).map_err(broken)
    }

    /// Uses the volume, and leaves it, orderly or not. Returns the numbers of its directories.
    fn used(&self, rt: &Rt, ram: &RamDisk) -> Result<BTreeSet<u64>, Error> {
        let options = MountOptions { scheme: self.scheme().map(Into::into), cache: 8 << 20, ..MountOptions::default() };
        let located = ordofs::locate_on(rt, Rc::new(ram.clone())).map_err(broken)?;
        let mounted = rt.block_on(Mounted::mount(rt, located, &options)).map_err(broken)?;
        let fs = mounted.fs().clone();
        rt.block_on(populate(&*fs)).map_err(broken)?;
        rt.block_on(fs.syncfs()).map_err(broken)?;
        rt.block_on(work(&*fs)).map_err(broken)?;
        let tree = rt.block_on(look(&*fs)).map_err(broken)?;
        drop(fs);
        // A mount that is dropped is a defect of the program; the power goes before its end all the same.
        let cut = ram.snapshot().frozen();
        rt.block_on(mounted.unmount()).map_err(broken)?;
        rt.drop_tasks();
        if self.crashed {
            ram.begin_with(&cut);
        }
        let directories = tree.leaves.values().filter(|leaf| leaf.attr.kind == Kind::Directory);
        Ok(directories.map(|leaf| leaf.attr.ino).collect())
    }
}

/// Work of which a crash leaves a part in the log.
async fn work<F: FileSystem>(fs: &F) -> ordo_vfs::Result<()> {
    let s = Session::new(fs);
    s.mkdir_all("late/below").await?;
    for i in 0..12 {
        s.write_file(&format!("late/{i}"), &[i; 3000]).await?;
    }
    let indirect = s.resolve("indirect").await?;
    s.write_at(&indirect, 3 * 4096, &[9; 9000]).await?;
    fs.fsync(indirect.node(), false).await?;
    s.remove_tree("e").await?;
    s.write_file("late/below/synced", &[6; 20_000]).await?;
    let synced = s.resolve("late/below/synced").await?;
    fs.fsync(synced.node(), false).await?;
    s.write_file("late/below/not-synced", &[5; 5000]).await?;
    s.remove_tree("h").await.map(drop)
}
