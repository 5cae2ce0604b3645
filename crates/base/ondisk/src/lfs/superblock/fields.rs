//! The fields of a superblock in one form for all versions, and their way from and to the tables.

use super::raw::{RawSb32, RawSb64};
use crate::lfs::{Daddr, Serial};
use crate::{Corrupt, Ino, Rule, Structure};

/// The fields that have a meaning for the caller; the others are derived from these, or kept as they were read.
#[derive(Clone, PartialEq, Eq)]
pub struct Fields {
    /// Units of the volume. Version 1: uncertain, see [`RawSb32::size`].
    pub size: u64,
    /// Bytes of a segment.
    pub ssize: u32,
    /// Units that can hold data.
    pub dsize: u64,
    /// Bytes of a block.
    pub bsize: u32,
    /// Bytes of a fragment.
    pub fsize: u32,
    /// Fragments of a block.
    pub frag: u32,
    /// First of the free inodes.
    pub freehd: Ino,
    /// Free units.
    pub bfree: i64,
    /// Allocated inodes; newfs leaves 0, and no program checks it.
    pub nfiles: u64,
    /// Units that can be written without cleaning.
    pub avail: i64,
    /// Changed inodes in memory; no meaning on disk.
    pub uinodes: i32,
    /// The inode block that holds the ifile's inode.
    pub idaddr: Daddr,
    /// Start of the segment written before the current one.
    pub lastseg: Daddr,
    /// Start of the segment written after the current one.
    pub nextseg: Daddr,
    /// Start of the segment being written.
    pub curseg: Daddr,
    /// Where the next summary will be.
    pub offset: Daddr,
    /// Informational; kernels store `offset`.
    pub lastpseg: Daddr,
    /// Percent of the data space kept for the privileged.
    pub minfree: u32,
    /// Largest file in bytes, as stored.
    pub maxfilesize: u64,
    /// Units of a segment.
    pub fsbpseg: u32,
    /// Inodes in an inode block.
    pub inopb: u32,
    /// Entries of the inode map in a block.
    pub ifpb: u32,
    /// Entries of the segment usage table in a block.
    pub sepb: u32,
    /// Pointers in an indirect block.
    pub nindir: u32,
    /// Segments.
    pub nseg: u32,
    /// Blocks of the cleaner information.
    pub cleansz: u32,
    /// Blocks of the segment usage table.
    pub segtabsz: u32,
    /// Shortest symbolic link that is not in the inode.
    pub maxsymlinklen: u32,
    /// Addresses of the copies of the superblock; 0 where there is none.
    pub sboffs: [Daddr; super::super::MAX_SUPERBLOCKS],
    /// Clean segments.
    pub nclean: u32,
    /// Where it was mounted last, padded with NULs.
    pub fsmnt: [u8; 90],
    /// Bit [`super::PF_CLEAN`].
    pub pflags: u16,
    /// Units of summaries and inode blocks in dirty segments.
    pub dmeta: i32,
    /// Segments that `dsize` does not count.
    pub minfreeseg: u32,
    /// Bytes of a summary.
    pub sumsize: u32,
    /// Serial number of the last partial segment; in version 1 only where OrdoFS wrote it, else 0.
    pub serial: Serial,
    /// Bytes of an inode block.
    pub ibsize: u32,
    /// Form of the inodes: 0.
    pub inodefmt: u32,
    /// Start of segment 0.
    pub s0addr: Daddr,
    /// Time of this superblock, seconds.
    pub tstamp: u64,
    /// Segments that are skipped when the next one is chosen.
    pub interleave: u32,
    /// Random number that the volume's summaries repeat; 0 in version 1.
    pub ident: u32,
    /// Segments kept for the cleaner.
    pub resvseg: u32,
}

/// A type of a field here that is stored as an integer.
trait Value: Sized {
    /// `None` for a number that it cannot be.
    fn from_disk(n: i128) -> Option<Self>;
    fn to_disk(self) -> i128;
}

macro_rules! plain_values {
    ($($int:ident)*) => { $( impl Value for $int {
        fn from_disk(n: i128) -> Option<$int> {
            n.try_into().ok()
        }
        fn to_disk(self) -> i128 {
            self.into()
        }
    } )* };
}
plain_values!(u16 i32 u32 i64 u64);

macro_rules! wrapped_values {
    ($($name:ident)*) => { $( impl Value for $name {
        fn from_disk(n: i128) -> Option<$name> {
            n.try_into().ok().map($name)
        }
        fn to_disk(self) -> i128 {
            self.0.into()
        }
    } )* };
}
wrapped_values!(Daddr Serial Ino);

/// The nearest number that the integer can be. A count of a volume with 32-bit addresses always fits.
trait Nearest {
    fn nearest(n: i128) -> Self;
}

macro_rules! nearest {
    ($($int:ident)*) => { $( impl Nearest for $int {
        fn nearest(n: i128) -> $int {
            n.clamp($int::MIN.into(), $int::MAX.into()).try_into().unwrap_or_default()
        }
    } )* };
}
nearest!(u16 i32 u32 i64 u64);

fn value<T: Value>(field: &'static str, n: i128) -> Result<T, Corrupt> {
    let rule = || Rule::Words("which no program writes there");
    T::from_disk(n).ok_or_else(|| Corrupt::new(Structure::Superblock, field, n, rule()))
}

macro_rules! conversions {
    ($raw:ident: $($field:ident)*) => {
        impl $raw {
            /// The fields; those of version 1 as they are stored.
            ///
            /// # Errors
            /// A negative address or one beyond its type.
            pub(super) fn fields(&self) -> Result<Fields, Corrupt> {
                let mut sboffs = [Daddr(0); super::super::MAX_SUPERBLOCKS];
                for (to, from) in sboffs.iter_mut().zip(self.sboffs) {
                    *to = value("lfs_sboffs", from.into())?;
                }
                Ok(Fields { sboffs, fsmnt: self.fsmnt, $( $field: value(concat!("lfs_", stringify!($field)), self.$field.into())?, )* })
            }

            /// Stores the fields; the others keep their values.
            pub(super) fn put(&mut self, fields: &Fields) {
                self.fsmnt = fields.fsmnt;
                for (to, from) in self.sboffs.iter_mut().zip(fields.sboffs) {
                    *to = Nearest::nearest(from.to_disk());
                }
                $( self.$field = Nearest::nearest(fields.$field.to_disk()); )*
            }
        }
    };
}

macro_rules! all_fields {
    ($($raw:ident)*) => { $( conversions! { $raw:
        size ssize dsize bsize fsize frag freehd bfree nfiles avail uinodes idaddr lastseg nextseg curseg offset
        lastpseg minfree maxfilesize fsbpseg inopb ifpb sepb nindir nseg cleansz segtabsz maxsymlinklen nclean pflags
        dmeta minfreeseg sumsize serial ibsize inodefmt s0addr tstamp interleave ident resvseg
    } )* };
}
all_fields!(RawSb32 RawSb64);

/// Without the name of the mount point, which would fill a page.
impl std::fmt::Debug for Fields {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Fields")
            .field("size", &self.size)
            .field("ssize", &self.ssize)
            .field("bsize", &self.bsize)
            .field("fsize", &self.fsize)
            .field("nseg", &self.nseg)
            .field("nclean", &self.nclean)
            .field("bfree", &self.bfree)
            .field("avail", &self.avail)
            .field("idaddr", &self.idaddr)
            .field("curseg", &self.curseg)
            .field("nextseg", &self.nextseg)
            .field("offset", &self.offset)
            .field("serial", &self.serial)
            .field("tstamp", &self.tstamp)
            .field("pflags", &self.pflags)
            .finish_non_exhaustive()
    }
}
