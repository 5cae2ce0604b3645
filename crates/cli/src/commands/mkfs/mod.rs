//! `ordo mkfs`
//!
//! `shape` makes a new volume of the arguments; `held` finds what its place holds already. `build` fills it with a
//! [`planned`] tree: `walk` reads one from a directory, `planned` from a tar archive, and `manifest` changes it.

mod build;
mod clock;
mod fill;
mod held;
mod manifest;
mod planned;
mod shape;
mod site;
mod sizing;
mod walk;

use crate::image::{self, ImageArg};
use crate::out::{Outcome, Status, usage};
use crate::size;
use anyhow::{anyhow, bail};
use clock::Clock;
use held::{ask, carried, refused, used_by, wipe};
pub(crate) use manifest::read as read_manifest;
use ordofs::disk::fence::DEFAULT_INTERVAL;
use ordofs::disk::{Existing, FileOptions};
use ordofs::rt::Rt;
use ordofs::{Acls, ImageSpec, JournalChange, MmpChange, Tuning};
use shape::New;

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
///
/// With -d the volume is filled with a directory or a tar archive, without root. Without --size a new file gets the
/// size that the contents need. Extended attributes (user, trusted, security) and, with -o acls=posix, access control
/// lists are kept; what the volume has no place for is counted, and the exit status is 3. A label of SELinux belongs to
/// the host, and is not taken. -F names an mtree manifest, as makefs reads it: what it says of owners, modes, times
/// and flags replaces what the tree has, what it names and the tree lacks is made, and the rest of the tree is taken as
/// it is. With SOURCE_DATE_EPOCH in the environment no time in the image is later, and the same tree gives the same
/// bytes; without -d an empty volume has the same bytes, too. An image that could not be completed is removed. An old
/// volume in a file (--force) is replaced when the new one is complete; where that is impossible, as on a device, it is
/// gone from the beginning, and there is no volume until the new one is complete.
///
/// --type lfs makes NetBSD's log-structured file system. The log is its order: it takes no scheme, needs no check after
/// a crash, and files on it get no extended attributes. Version 1 has segments of a power of two, and writes sectors of
/// 512 bytes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo mkfs --size 1G disk.img\n  ordo mkfs --type ufs1 --endian big --block-size 8k \
    --frag-size 1k --size 100M old.img\n  ordo mkfs --size 10G --log-size 128M logged.img\n  \
    ordo mkfs --for netbsd --size 1G shared.img\n  \
    ordo mkfs --type lfs --segment-size 512k --size 1G log.img\n  \
    ordo mkfs -d tree/ -F tree.mtree root.img\n  xz -d < base.txz | ordo mkfs -d - --free 1G base.img\n  \
    ordo mkfs --label home /dev/sdb2\n  ordo mkfs disk.img@p2"
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    #[command(flatten)]
    source: build::Source,
    /// The format
    #[arg(long = "type", short = 't', value_enum, default_value = "ufs2", value_name = "TYPE")]
    kind: Kind,
    /// Bytes of the volume; the file is made with this size
    #[arg(long, short, value_parser = size::parse)]
    size: Option<u64>,
    /// Bytes of a block: 4k to 64k [default: 32k]; lfs: 512 to 64k [default: 8k]
    #[arg(long, short, value_parser = size::parse_u32)]
    block_size: Option<u32>,
    /// Bytes of a fragment: a block or a half, quarter or eighth of one [default: an eighth]; lfs: up to 8k
    /// [default: 1k]
    #[arg(long, short, value_parser = size::parse_u32)]
    frag_size: Option<u32>,
    /// Bytes of the volume for each inode [default: two fragments]
    #[arg(long, short, value_parser = size::parse_u32, value_name = "BYTES")]
    inode_density: Option<u32>,
    /// Byte order
    #[arg(long, value_enum, default_value = "little")]
    endian: Order,
    /// The other system that will write to the volume [default: freebsd; of an lfs netbsd]
    #[arg(long = "for", value_enum, value_name = "SYSTEM")]
    system: Option<For>,
    /// Name of the volume, at most 31 bytes
    #[arg(long, short = 'L')]
    label: Option<String>,
    /// acls=posix or acls=off: access control lists apply to the files (ufs2; ordo tune -o acls=) [default: off]
    #[arg(short = 'o', long = "options", value_name = "OPTION", value_parser = acls)]
    options: Vec<Acls>,
    /// Maximum number of blocks in one transfer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    maxcontig: Option<u32>,
    /// Milliseconds between two blocks on the disk (ufs1)
    #[arg(long, value_name = "MS")]
    rotdelay: Option<u32>,
    /// Percent of the space that is kept free [default: 8; lfs 10]
    #[arg(long, short, value_name = "PERCENT")]
    minfree: Option<u32>,
    /// Bytes of a segment (lfs) [default: 1M, less on a small volume]
    #[arg(long, value_parser = size::parse_u32, value_name = "SIZE")]
    segment_size: Option<u32>,
    /// Segments that are not counted as space, so that cleaning stays cheap (lfs) [default: a tenth, at least 20]
    #[arg(long, value_name = "N")]
    min_free_segments: Option<u32>,
    /// Segments that only the cleaner may fill (lfs) [default: half of those and one, at least 15]
    #[arg(long, value_name = "N")]
    reserve_segments: Option<u32>,
    /// Form of the log (lfs): 1, of 4.4BSD and early NetBSD; 2, of NetBSD; 64, with 64-bit addresses [default: 2]
    #[arg(long, value_enum, value_name = "N", hide_possible_values = true)]
    lfs_version: Option<Form>,
    /// Also make a log of this many bytes in the volume, for wafs, journal-file and block-journal (ordo tune -o log=)
    #[arg(long, value_parser = size::parse, value_name = "SIZE")]
    log_size: Option<u64>,
    /// Also make the record of its one writer, as ordo tune -o mmp=on does: for network block devices and shared disks
    #[arg(long)]
    mmp: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Ufs1,
    Ufs2,
    /// BSD's log-structured file system
    Lfs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    #[value(name = "1")]
    One,
    #[value(name = "2")]
    Two,
    #[value(name = "64")]
    Wide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum For {
    #[value(name = "freebsd")]
    FreeBsd,
    #[value(name = "netbsd")]
    NetBsd,
}

/// The option of access control lists. NFSv4's are for FreeBSD alone, which turns them on by itself.
fn acls(text: &str) -> Result<Acls, String> {
    match text {
        "acls=posix" => Ok(Acls::Posix),
        "acls=off" => Ok(Acls::Off),
        _ => Err("a new volume has acls=posix or acls=off; others are for ordo tune".into()),
    }
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Order {
    Little,
    Big,
}

/// Makes the volume and prints its properties.
pub(crate) fn run(args: &Args) -> Outcome {
    args.check()?;
    let spec = args.image.spec()?;
    let open_error = |error| image::open_error(&spec.path, error);
    let plain = !spec.path.exists() || spec.path.is_file();
    if let Some(who) = used_by(&spec.path).filter(|_| !args.force) {
        bail!("{spec}: is in use: {who}; give --force to overwrite it all the same");
    }
    if let Some(tree) = &args.source.tree {
        let status = build::run(args, &spec, tree)?;
        args.protect(&spec)?;
        return Ok(args.show()?.worse(status));
    }
    if args.size.is_none() && !is_url(&spec) && !spec.path.exists() {
        return Err(usage(format!("{spec}: there is no such file; give --size to make it")));
    }
    let clock = Clock::new()?;
    match (args.size, spec.part.is_none() && spec.offset.is_none() && plain) {
        (Some(size), true) if !is_url(&spec) => {
            // An error here concerns the shape, not the file: the user must change the arguments.
            let new = args.new_volume(size, 512, clock);
            args.check_of(&new).map_err(usage)?;
            let existing = if args.force { Existing::Overwrite } else { Existing::Refuse };
            let instead = "give --force to make it anew, or no --size to use it as it is";
            new.create(clock, &spec.path, existing).map_err(|error| refused(&spec, error, instead))?;
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
            let new = args.new_volume(size.unwrap_or(info.size).min(info.size), info.sector, clock);
            if size.is_some_and(|size| size > info.size) {
                bail!("{spec}: has only {} bytes; give a smaller --size", info.size);
            }
            args.check_of(&new).map_err(|why| usage(format!("{spec}: {why}")))?;
            // Before the volume is made, because a signature may lie in the middle of it.
            wipe(&rt, &spec, &disk, &found)?;
            drop((disk, rt));
            let rt = clock.rt_of_empty();
            let disk = ordofs::open(&rt, &spec, &options).map_err(open_error)?;
            new.create_on(&rt, disk, false).map_err(open_error)?;
        }
    }
    args.protect(&spec)?;
    if let Some(tuning) = args.log() {
        // A log can be added later.
        tuning.apply(&spec).map_err(|error| anyhow!(error).context(format!("{spec}: was made, without a log")))?;
    }
    args.show()
}

impl Args {
    /// Whether such a volume is possible, with all that it shall have; if not, why. Called before anything is written.
    fn check_of(&self, new: &New) -> Result<(), String> {
        new.check()?;
        match (new, self.log()) {
            (New::Ufs(new), Some(tuning)) => {
                let superblock = new.params.superblock().map_err(|error| error.to_string())?;
                tuning.check_new(&superblock).map_err(|error| format!("--log-size: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// The change that makes the log, if there shall be one.
    fn log(&self) -> Option<Tuning> {
        let bytes = self.log_size?;
        Some(Tuning { log: Some(JournalChange::On(Some(bytes))), ..Tuning::default() })
    }

    /// Makes the record of the volume's writer, if it is wanted.
    fn protect(&self, spec: &ImageSpec) -> anyhow::Result<()> {
        if self.mmp {
            let tuning = Tuning { mmp: Some(MmpChange::On(DEFAULT_INTERVAL)), ..Tuning::default() };
            tuning.apply(spec).map_err(|error| anyhow!(error).context(format!("{spec}: was made, without mmp")))?;
        }
        Ok(())
    }

    /// Prints the properties of the new volume.
    fn show(&self) -> Outcome {
        match self.quiet {
            true => Ok(Status::DONE),
            false => super::info::show(&self.image.image, self.image.start, self.json),
        }
    }
}

fn is_url(spec: &ImageSpec) -> bool {
    ordofs::disk::NbdDisk::is_url(&spec.path)
}
