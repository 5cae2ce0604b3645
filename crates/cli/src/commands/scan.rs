//! `ordo scan`

use crate::image;
use crate::interrupt;
use crate::out::{Outcome, Status, print, say};
use crate::progress::{self, Unit};
use crate::{size, text};
use anyhow::Context;
use ordo_ondisk::Endian;
use ordo_rescue::{Hit, Source, Stretch, Why};
use ordofs::DiskBytes;
use ordofs::disk::NbdDisk;
use ordofs::rt::Rt;
use rustix::fs::{SeekFrom as Whence, seek};
use rustix::io::Errno;
use serde::Serialize;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Finds volumes of UFS and LFS at any byte of a file or a disk
///
/// Every byte is looked at, so a volume is found behind a lost partition table, inside another image or in a dump of
/// memory. The copies of one superblock count as one volume. Nothing is written. What the file or the server of a
/// network block device calls a hole is not read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo scan disk.img\n  ordo scan --json /dev/sdb\n  \
                        ordo scan nbd://10.0.0.5/disk\n\n\
                        Exit status: 0 a volume was found, 1 none.")]
pub(crate) struct Args {
    /// A file, a block device, or the address of a network block device
    file: PathBuf,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

/// A volume, as JSON. Places and sizes are in bytes.
#[derive(Debug, Serialize)]
struct Volume {
    offset: u64,
    format: &'static str,
    endian: &'static str,
    size: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    /// The superblock with which a mount begins is whole.
    primary: bool,
    /// No superblock has a right check hash.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// All of the volume is in the file.
    whole: bool,
    /// Whole copies of the superblock, and where the first of them are.
    superblocks: u64,
    at: Vec<u64>,
    /// The command that lists it.
    open: String,
}

/// A file as it lies there: it is only read, and not locked.
struct Bytes {
    file: File,
    size: u64,
    /// A regular file: it may have holes.
    sparse: bool,
}

impl Bytes {
    fn open(path: &Path) -> anyhow::Result<Bytes> {
        let mut file = File::open(path)?;
        let kind = file.metadata()?;
        anyhow::ensure!(!kind.is_dir(), "it is a directory");
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Bytes { file, size, sparse: kind.is_file() })
    }
}

impl Source for Bytes {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why> {
        self.file.read_exact_at(into, at).map_err(|_| Why::Unreadable)
    }

    fn stretch(&self, at: u64) -> Stretch {
        // Behind the last data there is only a hole. Whoever cannot say where holes are has none.
        match seek(&self.file, Whence::Data(at)) {
            Err(Errno::NXIO) if self.sparse => Stretch::Zeros(self.size.saturating_sub(at).max(1)),
            Ok(data) if data > at => Stretch::Zeros(data - at),
            Ok(_) => match seek(&self.file, Whence::Hole(at)) {
                Ok(hole) if hole > at => Stretch::Unknown(hole - at),
                _ => Stretch::Unknown(u64::MAX),
            },
            Err(_) => Stretch::Unknown(u64::MAX),
        }
    }
}

impl Volume {
    fn of(hit: Hit, file: &Path, end: u64) -> Volume {
        let endian = match hit.endian {
            Endian::Little => "little",
            Endian::Big => "big",
        };
        // A volume of which only copies are left is read by `recover`, which finds every one of them.
        let name = text::escape(std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str()));
        let open = match hit.primary {
            true => format!("ordo ls --offset {} {name}:/", hit.offset),
            false => format!("ordo recover --offset {} {name} OUTDIR", hit.offset),
        };
        Volume {
            offset: hit.offset,
            format: hit.format.name(),
            endian,
            size: hit.size,
            label: hit.label,
            primary: hit.primary,
            stale: hit.stale,
            whole: hit.offset.saturating_add(hit.size) <= end,
            superblocks: hit.count,
            at: hit.copies,
            open,
        }
    }

    fn line(&self) -> String {
        let label = if self.label.is_empty() { String::new() } else { format!(", label {:?}", self.label) };
        let cut = if self.whole { "" } else { ", cut off by the end of the file" };
        let (offset, format, endian, size) = (self.offset, self.format, self.endian, size::human(self.size));
        let copies = match (self.primary, self.superblocks) {
            (true, n) if self.stale => format!("{n} superblocks, all with a wrong check hash"),
            (true, n) => format!("{n} superblocks"),
            (false, n) => format!("the primary superblock is gone, {n} copies"),
        };
        format!("byte {offset}: {format}, {endian}-endian, {size}{label}, {copies}{cut}\n  {}", self.open)
    }
}

/// Searches, and lists.
pub(crate) fn run(args: &Args) -> Outcome {
    let rt = Rt::real_time();
    let source: Box<dyn Source> = match NbdDisk::is_url(&args.file) {
        true => Box::new(DiskBytes::open(&rt, &args.file).map_err(|error| image::open_error(&args.file, error))?),
        false => Box::new(Bytes::open(&args.file).with_context(|| args.file.display().to_string())?),
    };
    let size = source.size();
    interrupt::catch()?;
    progress::begin(Unit::Bytes, size);
    let mut reached = 0;
    let hits = ordo_rescue::scan(&*source, &mut |at| {
        reached = at;
        progress::reach(at);
        interrupt::caught().is_none()
    });
    progress::end();
    let so_far = || format!("{} of {} bytes were searched, and {} volumes begin there", reached, size, hits.len());
    interrupt::check().map_err(|interrupted| interrupted.instead(so_far()))?;
    let volumes: Vec<Volume> = hits.into_iter().map(|hit| Volume::of(hit, &args.file, size)).collect();
    if volumes.is_empty() {
        let (name, size) = (args.file.display(), size::human(size));
        say(&format!(
            "{name}: no superblock of UFS or LFS in its {size}; a volume that is packed or encrypted is not found"
        ));
    }
    print(|out| match args.json {
        true => out.json(&volumes),
        false => volumes.iter().try_for_each(|volume| out.bytes((volume.line() + "\n").as_bytes())),
    })?;
    Ok(if volumes.is_empty() { Status::NO } else { Status::DONE })
}
