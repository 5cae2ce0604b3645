//! `ordo mkfs`

use crate::image::{self, ImageArg};
use crate::out::{Outcome, Status, usage};
use crate::size;
use anyhow::{Context, anyhow, bail};
use ordo_ondisk::partition::Select;
use ordo_ondisk::superblock::newfs::{NewfsParams, Rotation, System};
use ordo_ondisk::{Endian, Format};
use ordofs::disk::{Disk, FileOptions};
use ordofs::rt::Rt;
use ordofs::{ContentsKind, ImageSpec, JournalChange, NewVolume, Signature, TuneError, Tuning, locate_on, partitions};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// Bytes of one read in the search for non-zero bytes.
const ZEROES: usize = 1 << 20;

/// Revolutions per second, and sectors of a track, of the disks for which rotational placement was designed.
const REVOLUTIONS: u32 = 60;
const SECTORS_OF_A_TRACK: u32 = 32;

/// Makes a volume
///
/// With --size, IMAGE is a file, which is created. Without it, IMAGE is a device, a partition, or a file that has its
/// size already.
///
/// It refuses a disk that is in use, or that holds a volume, another file system, swap, an encrypted volume, a RAID or
/// LVM member, partitions or an image of another format, and says what it found. With --size it also refuses a file
/// that holds anything but zeroes. --force overwrites these, and wipes their signatures. A volume that is mounted with
/// ordo is never overwritten.
///
/// FreeBSD and NetBSD give the same bits different meanings: NetBSD takes the flag of FreeBSD's check hashes for that
/// of quotas, and does not mount the volume read-write. --for netbsd makes a volume that NetBSD writes and its fsck
/// finds clean: without check hashes and .snap, and with nothing where NetBSD keeps its log and quotas. Files on it get
/// no extended attributes, and schemes that keep a log (suj, wafs, journal-file, block-journal) cannot mount it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo mkfs --size 1G disk.img\n  ordo mkfs --type ufs1 --endian big --block-size 8k \
    --frag-size 1k --size 100M old.img\n  ordo mkfs --size 10G --log-size 128M logged.img\n  \
    ordo mkfs --for netbsd --size 1G shared.img\n  ordo mkfs --label home /dev/sdb2\n  ordo mkfs disk.img@p2"
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// The format
    #[arg(long = "type", short = 't', value_enum, default_value = "ufs2", value_name = "TYPE")]
    kind: Kind,
    /// Bytes of the volume; the file is made with this size
    #[arg(long, short, value_parser = size::parse)]
    size: Option<u64>,
    /// Bytes of a block: 4k to 64k
    #[arg(long, short, value_parser = size::parse_u32, default_value = "32k")]
    block_size: u32,
    /// Bytes of a fragment: a block or a half, quarter or eighth of one [default: an eighth]
    #[arg(long, short, value_parser = size::parse_u32)]
    frag_size: Option<u32>,
    /// Bytes of the volume for each inode [default: two fragments]
    #[arg(long, short, value_parser = size::parse_u32, value_name = "BYTES")]
    inode_density: Option<u32>,
    /// Byte order
    #[arg(long, value_enum, default_value = "little")]
    endian: Order,
    /// The other system that will write to the volume
    #[arg(long = "for", value_enum, default_value = "freebsd", value_name = "SYSTEM")]
    system: For,
    /// Name of the volume, at most 31 bytes
    #[arg(long, short = 'L', default_value = "")]
    label: String,
    /// Maximum number of blocks in one transfer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    maxcontig: Option<u32>,
    /// Milliseconds between two blocks on the disk (ufs1)
    #[arg(long, value_name = "MS")]
    rotdelay: Option<u32>,
    /// Percent of the space that is kept free
    #[arg(long, short, value_name = "PERCENT", default_value_t = 8)]
    minfree: u32,
    /// Also make a log of this many bytes in the volume, for wafs, journal-file and block-journal (ordo tune -o log=)
    #[arg(long, value_parser = size::parse, value_name = "SIZE")]
    log_size: Option<u64>,
    /// Overwrite whatever the disk holds, and wipe its signatures
    #[arg(long)]
    force: bool,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
    /// Show the new volume as one JSON document, as info does
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Kind {
    Ufs1,
    Ufs2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum For {
    #[value(name = "freebsd")]
    FreeBsd,
    #[value(name = "netbsd")]
    NetBsd,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Order {
    Little,
    Big,
}

impl Args {
    fn params(&self, volume_bytes: u64, sector: u32) -> NewfsParams {
        let format = match self.kind {
            Kind::Ufs1 => Format::Ufs1,
            Kind::Ufs2 => Format::Ufs2,
        };
        let endian = match self.endian {
            Order::Little => Endian::Little,
            Order::Big => Endian::Big,
        };
        let rotation = |rotdelay_ms| Rotation { rotdelay_ms, rps: REVOLUTIONS, nsect: SECTORS_OF_A_TRACK };
        NewfsParams {
            endian,
            sector,
            bsize: self.block_size,
            fsize: self.frag_size.unwrap_or_else(|| (self.block_size / 8).max(sector)),
            density: self.inode_density,
            minfree: self.minfree,
            maxcontig: self.maxcontig,
            label: self.label.clone(),
            system: match self.system {
                For::FreeBsd => System::FreeBsd,
                For::NetBsd => System::NetBsd,
            },
            rotation: self.rotdelay.map(rotation),
            now: Rt::real_time().wall().0,
            id: luck(),
            ..NewfsParams::new(format, volume_bytes)
        }
    }
}

/// A random number.
fn luck() -> u32 {
    std::collections::hash_map::RandomState::new().build_hasher().finish() as u32
}

/// Makes the volume and prints its properties.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.system == For::NetBsd && args.log_size.is_some() {
        return Err(usage("a volume for NetBSD cannot record that it has a log; leave out --log-size"));
    }
    let spec = args.image.spec()?;
    let open_error = |error| image::open_error(&spec.path, error);
    let plain = !spec.path.exists() || spec.path.is_file();
    if let Some(who) = used_by(&spec.path).filter(|_| !args.force) {
        bail!("{spec}: is in use: {who}; give --force to overwrite it all the same");
    }
    match (args.size, spec.part.is_none() && spec.offset.is_none() && plain) {
        (Some(size), true) if !is_url(&spec) => {
            // An error here concerns the shape, not the file: the user must change the arguments.
            let new = NewVolume { params: args.params(size, 512) };
            new.params.superblock().map_err(|error| usage(error.to_string()))?;
            if !args.force {
                ask_of_file(&spec)?;
            }
            new.create(&spec.path).map_err(open_error)?;
        }
        (size, _) => {
            let rt = Rt::real_time();
            let options = FileOptions { even_if_used: args.force, ..FileOptions::default() };
            let disk = ordofs::open(&rt, &spec, &options).map_err(open_error)?;
            let found = carried(&rt, &spec, &disk)?;
            if !args.force {
                ask(&rt, &spec, &disk, &found)?;
            }
            let info = disk.info();
            let new = NewVolume { params: args.params(size.unwrap_or(info.size).min(info.size), info.sector) };
            if size.is_some_and(|size| size > info.size) {
                bail!("{spec}: has only {} bytes; give a smaller --size", info.size);
            }
            new.params.superblock().map_err(|error| usage(format!("{spec}: {error}")))?;
            // Before the volume is made, because a signature may lie in the middle of it.
            ordofs::wipe(&rt, &disk, &found).map_err(open_error)?;
            new.create_on(&rt, disk, false).map_err(open_error)?;
        }
    }
    if let Some(bytes) = args.log_size {
        let tuning = Tuning { log: Some(JournalChange::On(Some(bytes))), ..Tuning::default() };
        // The volume was made nevertheless, and a log can be added later.
        tuning.apply(&spec).map_err(|error| match error {
            TuneError::JournalSize { .. } => usage(format!("{spec}: was made, without a log: {error}")),
            error => anyhow!(error).context(format!("{spec}: was made, without a log")),
        })?;
    }
    match args.quiet {
        true => Ok(Status::DONE),
        false => super::info::show(&args.image.image, args.image.start, args.json),
    }
}

fn is_url(spec: &ImageSpec) -> bool {
    ordofs::disk::NbdDisk::is_url(&spec.path)
}

/// The signatures of the place itself. The disk label that lists a lettered partition may lie in that partition, but
/// belongs to the disk: it is neither reported nor wiped.
fn carried(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>) -> anyhow::Result<Vec<Signature>> {
    let mut found = ordofs::contents(rt, disk).map_err(|error| image::open_error(&spec.path, error))?;
    if matches!(spec.part, Some(Select::Lettered { .. })) {
        found.retain(|found| found.kind != ContentsKind::Table);
    }
    Ok(found)
}

/// Refuses a place that contains something, and says what that is and how to overwrite it.
fn ask(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, found: &[Signature]) -> anyhow::Result<()> {
    if found.iter().any(|found| found.kind == ContentsKind::Ufs) || locate_on(rt, disk.clone()).is_ok() {
        bail!("{spec}: holds a UFS volume already; look at it with ordo info, or give --force to overwrite it");
    }
    let Some(first) = found.first() else { return Ok(()) };
    let parts = match first.kind {
        ContentsKind::Table => partitions(rt, disk).map(|table| table.partitions).unwrap_or_default(),
        _ => Vec::new(),
    };
    match parts.first().filter(|_| spec.part.is_none()) {
        Some(part) => bail!(
            "{spec}: has a {} with partitions; name one ({spec}@{}), or give --force to overwrite them all",
            first.name,
            part.name
        ),
        None => bail!("{spec}: holds something already: {}; give --force to overwrite it", first.name),
    }
}

/// Refuses to truncate a non-empty file: with `--size` all of its contents are lost. A file of zeroes counts as empty.
fn ask_of_file(spec: &ImageSpec) -> anyhow::Result<()> {
    let what = match File::open(&spec.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| spec.to_string()),
        Ok(file) if holds_only_zeroes(&file).with_context(|| spec.to_string())? => return Ok(()),
        Ok(_) => {
            let rt = Rt::real_time();
            let options = FileOptions { read_only: true, ..FileOptions::default() };
            let disk = ordofs::open(&rt, spec, &options).map_err(|error| image::open_error(&spec.path, error))?;
            carried(&rt, spec, &disk)?.first().map(|found| format!(" ({})", found.name)).unwrap_or_default()
        }
    };
    bail!("{spec}: exists and is not empty{what}; give --force to make it anew, or no --size to use it as it is");
}

/// Reads the stored ranges of a file; holes are zeroes.
fn holds_only_zeroes(file: &File) -> std::io::Result<bool> {
    let end = file.metadata()?.len();
    let mut bytes = vec![0; ZEROES];
    let mut at = 0;
    while at < end {
        at = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(true),
            // A file system that does not report holes has none.
            Err(_) => at,
        };
        let read = file.read_at(&mut bytes, at)?;
        if read == 0 {
            return Ok(true);
        }
        if bytes[..read].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += read as u64;
    }
    Ok(true)
}

/// How the system uses a file or a device, as far as it reports that: a mount, swap, another device on top of it. An
/// OrdoFS mount is not among these: its lock makes the open fail, even with `--force`.
fn used_by(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let is_path = |name: &str| name.starts_with('/') && Path::new(name).canonicalize().is_ok_and(|name| name == path);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (source, dir, kind) = (fields.next()?, fields.next()?, fields.next()?);
        if !kind.starts_with("fuse") && is_path(source) {
            return Some(format!("it is mounted at {dir}"));
        }
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(is_path) {
        return Some("the system swaps to it".into());
    }
    let named = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let holders = Path::new("/sys/class/block").join(path.file_name()?).join("holders");
    if let Some(holder) = std::fs::read_dir(holders).ok().and_then(|mut holders| named(holders.next()?.ok()?)) {
        return Some(format!("/dev/{holder} lies on it"));
    }
    let mut disks = std::fs::read_dir("/sys/block").ok()?.flatten();
    let on_file = disks.find(|disk| {
        let file = std::fs::read_to_string(disk.path().join("loop/backing_file")).unwrap_or_default();
        is_path(file.trim_end_matches('\n'))
    });
    Some(format!("/dev/{} lies on it", named(on_file?)?))
}
