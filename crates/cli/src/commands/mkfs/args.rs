//! The arguments of `ordo mkfs`.

use crate::image::ImageArg;
use crate::size;
use ordofs::{Acls, ImageSpec};
use std::path::PathBuf;

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
    pub(super) image: ImageArg,
    #[command(flatten)]
    pub(super) source: Source,
    /// The format
    #[arg(long = "type", short = 't', value_enum, default_value = "ufs2", value_name = "TYPE")]
    pub(super) kind: VolumeType,
    /// Bytes of the volume; the file is made with this size
    #[arg(long, short, value_parser = size::parse)]
    pub(super) size: Option<u64>,
    /// Bytes of a block: 4k to 64k [default: 32k]; lfs: 512 to 64k [default: 8k]
    #[arg(long, short, value_parser = size::parse_u32)]
    pub(super) block_size: Option<u32>,
    /// Bytes of a fragment: a block or a half, quarter or eighth of one [default: an eighth]; lfs: up to 8k
    /// [default: 1k]
    #[arg(long, short, value_parser = size::parse_u32)]
    pub(super) frag_size: Option<u32>,
    /// Bytes of the volume for each inode [default: two fragments]
    #[arg(long, short, value_parser = size::parse_u32, value_name = "BYTES")]
    pub(super) inode_density: Option<u32>,
    /// Byte order
    #[arg(long, value_enum, default_value = "little")]
    pub(super) endian: Order,
    /// The other system that will write to the volume [default: freebsd; of an lfs netbsd]
    #[arg(long = "for", value_enum, value_name = "SYSTEM")]
    pub(super) system: Option<For>,
    /// Name of the volume, at most 31 bytes
    #[arg(long, short = 'L')]
    pub(super) label: Option<String>,
    /// acls=posix or acls=off: access control lists apply to the files (ufs2; ordo tune -o acls=) [default: off]
    #[arg(short = 'o', long = "options", value_name = "OPTION", value_parser = acls)]
    pub(super) options: Vec<Acls>,
    /// Maximum number of blocks in one transfer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) maxcontig: Option<u32>,
    /// Milliseconds between two blocks on the disk (ufs1)
    #[arg(long, value_name = "MS")]
    pub(super) rotdelay: Option<u32>,
    /// Percent of the space that is kept free [default: 8; lfs 10]
    #[arg(long, short, value_name = "PERCENT")]
    pub(super) minfree: Option<u32>,
    /// Bytes of a segment (lfs) [default: 1M, less on a small volume]
    #[arg(long, value_parser = size::parse_u32, value_name = "SIZE")]
    pub(super) segment_size: Option<u32>,
    /// Segments that are not counted as space, so that cleaning stays cheap (lfs) [default: a tenth, at least 20]
    #[arg(long, value_name = "N")]
    pub(super) min_free_segments: Option<u32>,
    /// Segments that only the cleaner may fill (lfs) [default: half of those and one, at least 15]
    #[arg(long, value_name = "N")]
    pub(super) reserve_segments: Option<u32>,
    /// Form of the log (lfs): 1, of 4.4BSD and early NetBSD; 2, of NetBSD; 64, with 64-bit addresses [default: 2]
    #[arg(long, value_enum, value_name = "N", hide_possible_values = true)]
    pub(super) lfs_version: Option<Form>,
    /// Also make a log of this many bytes in the volume, for wafs, journal-file and block-journal (ordo tune -o log=)
    #[arg(long, value_parser = size::parse, value_name = "SIZE")]
    pub(super) log_size: Option<u64>,
    /// Also make the record of its one writer, as ordo tune -o mmp=on does: for network block devices and shared disks
    #[arg(long)]
    pub(super) mmp: bool,
    /// Overwrite whatever the disk holds, and wipe its signatures
    #[arg(long)]
    pub(super) force: bool,
    /// Print nothing
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Show the new volume as one JSON document, as info does
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum VolumeType {
    Ufs1,
    Ufs2,
    /// BSD's log-structured file system
    Lfs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Form {
    #[value(name = "1")]
    One,
    #[value(name = "2")]
    Two,
    #[value(name = "64")]
    Wide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum For {
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
pub(super) enum Order {
    Little,
    Big,
}

pub(super) fn is_url(spec: &ImageSpec) -> bool {
    ordofs::disk::NbdDisk::is_url(&spec.path)
}

/// What a volume is filled with.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// Fill the volume with the contents of a directory or a tar archive (- for standard input; .gz too)
    #[arg(short = 'd', long, value_name = "DIR|TAR|-")]
    pub(super) tree: Option<PathBuf>,
    /// An mtree manifest: owners, modes, times, flags, and files that the tree lacks (with -d)
    #[arg(short = 'F', long, value_name = "FILE", requires = "tree")]
    pub(super) manifest: Option<PathBuf>,
    /// Find names of users and groups, of a manifest or an archive, in DIR/passwd and DIR/group [default: /etc]
    #[arg(long, value_name = "DIR", requires = "tree")]
    pub(super) user_db: Option<PathBuf>,
    /// Give all files of the tree to this owner and group, as numbers (with -d)
    #[arg(long, value_name = "UID:GID", value_parser = owner, requires = "tree")]
    pub(super) owner: Option<(u32, u32)>,
    /// Space that stays free for users in the new volume (with -d)
    #[arg(long, value_name = "SPACE", value_parser = size::parse, requires = "tree")]
    pub(super) free: Option<u64>,
    /// Inodes that stay free in the new volume (with -d)
    #[arg(long, value_name = "N", requires = "tree")]
    pub(super) free_inodes: Option<u64>,
}

fn owner(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    numbers.ok_or_else(|| format!("{text:?} is no owner; write 0:0, the numbers of a user and a group"))
}
