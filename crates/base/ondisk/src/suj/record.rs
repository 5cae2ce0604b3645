//! A journal record, decoded and encoded.

use super::{RECORD, RawBlock, RawMove, RawReference, RawTruncation};
use crate::num::signed64;
use crate::{Corrupt, Endian, FragNo, Geometry, Ino, Lbn, Rule, Structure};

const ADDREF: u32 = 1;
const REMREF: u32 = 2;
const NEWBLK: u32 = 3;
const FREEBLK: u32 = 4;
const MVREF: u32 = 5;
const TRUNC: u32 = 6;
const SYNC: u32 = 7;

/// A link that is added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RefRecord {
    /// The inode whose links change.
    pub ino: Ino,
    /// The directory with the entry: for `.` the inode itself, for `..` the child.
    pub parent: Ino,
    /// Links before the change.
    pub nlink: u16,
    /// Mode of the inode.
    pub mode: u16,
    /// Byte of the directory at which the entry is.
    pub diroff: u64,
}

/// Fragments that an inode allocates or frees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockRecord {
    /// The inode.
    pub ino: Ino,
    /// The first fragment.
    pub blkno: FragNo,
    /// Which block of the inode; negative for indirect and attribute blocks.
    pub lbn: Lbn,
    /// Fragments, including those that the inode had before.
    pub frags: u16,
    /// Fragments of these that the inode had before; 0 in a free.
    pub oldfrags: u16,
}

/// An entry that moves within its directory block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MoveRecord {
    /// The inode that the entry names.
    pub ino: Ino,
    /// The directory.
    pub parent: Ino,
    /// Byte of the directory where it was.
    pub oldoff: u64,
    /// Byte of the directory where it is now.
    pub newoff: u64,
}

/// The size of a file that is truncated, or whose contents are safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TruncRecord {
    /// The inode.
    pub ino: Ino,
    /// Size of the file afterwards, in bytes.
    pub size: u64,
    /// Size of the attribute area afterwards, in bytes.
    pub extsize: u32,
}

/// A record of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Record {
    /// A link is about to be added.
    AddRef(RefRecord),
    /// A link is about to be removed.
    RemRef(RefRecord),
    /// Fragments are about to be allocated.
    NewBlk(BlockRecord),
    /// Fragments, or all below an indirect block, are about to be freed.
    FreeBlk(BlockRecord),
    /// An entry is about to move.
    MvRef(MoveRecord),
    /// A file is about to be truncated.
    Trunc(TruncRecord),
    /// A file is safe as it is; an earlier truncation has finished.
    Sync(TruncRecord),
}

fn broken(field: &'static str, found: impl Into<i128>, rule: Rule) -> Corrupt {
    Corrupt::new(Structure::Journal, field, found, rule)
}

fn natural(field: &'static str, n: i64) -> Result<u64, Corrupt> {
    u64::try_from(n).map_err(|_| broken(field, n, Rule::AtLeast(0)))
}

impl Record {
    /// Decodes the record at the start of `bytes`. Does not check whether what it names exists on the volume:
    /// [`Record::check`] does.
    ///
    /// # Errors
    /// An unknown kind, a negative number where none is allowed, fewer bytes than a record.
    pub fn decode(bytes: &[u8], endian: Endian) -> Result<Record, Corrupt> {
        let short = || Corrupt::cut_short(Structure::Journal, bytes.len());
        let op = endian.get_u32(bytes, 0).ok_or_else(short)?;
        match op {
            ADDREF | REMREF => {
                let raw = RawReference::load(bytes, endian).ok_or_else(short)?;
                let diroff = natural("jr_diroff", raw.diroff)?;
                let (ino, parent) = (Ino(raw.ino), Ino(raw.parent));
                let of = RefRecord { ino, parent, nlink: raw.nlink, mode: raw.mode, diroff };
                Ok(if op == ADDREF { Record::AddRef(of) } else { Record::RemRef(of) })
            }
            NEWBLK | FREEBLK => {
                let raw = RawBlock::load(bytes, endian).ok_or_else(short)?;
                let blkno = FragNo(natural("jb_blkno", raw.blkno)?);
                let (ino, lbn) = (Ino(raw.ino), Lbn(raw.lbn));
                let of = BlockRecord { ino, blkno, lbn, frags: raw.frags, oldfrags: raw.oldfrags };
                Ok(if op == NEWBLK { Record::NewBlk(of) } else { Record::FreeBlk(of) })
            }
            MVREF => {
                let raw = RawMove::load(bytes, endian).ok_or_else(short)?;
                let (oldoff, newoff) = (natural("jm_oldoff", raw.oldoff)?, natural("jm_newoff", raw.newoff)?);
                Ok(Record::MvRef(MoveRecord { ino: Ino(raw.ino), parent: Ino(raw.parent), oldoff, newoff }))
            }
            TRUNC | SYNC => {
                let raw = RawTruncation::load(bytes, endian).ok_or_else(short)?;
                let of = TruncRecord { ino: Ino(raw.ino), size: natural("jt_size", raw.size)?, extsize: raw.extsize };
                Ok(if op == TRUNC { Record::Trunc(of) } else { Record::Sync(of) })
            }
            op => Err(broken("j_op", op, Rule::Words("which is no kind of a record"))),
        }
    }

    /// Writes the record to the start of `bytes`; `None` if they are shorter than a record.
    pub fn encode(&self, bytes: &mut [u8], endian: Endian) -> Option<()> {
        match *self {
            Record::AddRef(of) => reference(ADDREF, of).store(bytes, endian),
            Record::RemRef(of) => reference(REMREF, of).store(bytes, endian),
            Record::NewBlk(of) => block(NEWBLK, of).store(bytes, endian),
            Record::FreeBlk(of) => block(FREEBLK, of).store(bytes, endian),
            Record::MvRef(MoveRecord { ino, parent, oldoff, newoff }) => {
                let (oldoff, newoff) = (signed64(oldoff), signed64(newoff));
                RawMove { op: MVREF, ino: ino.0, parent: parent.0, unused: 0, pad: 0, oldoff, newoff }
                    .store(bytes, endian)
            }
            Record::Trunc(of) => truncation(TRUNC, of).store(bytes, endian),
            Record::Sync(of) => truncation(SYNC, of).store(bytes, endian),
        }
    }

    /// The inode that the record concerns.
    pub fn ino(&self) -> Ino {
        match self {
            Record::AddRef(of) | Record::RemRef(of) => of.ino,
            Record::NewBlk(of) | Record::FreeBlk(of) => of.ino,
            Record::MvRef(of) => of.ino,
            Record::Trunc(of) | Record::Sync(of) => of.ino,
        }
    }

    /// Checks that what the record names can exist on a volume of this geometry.
    ///
    /// # Errors
    /// The first field with an impossible value.
    pub fn check(&self, g: &Geometry) -> Result<(), Corrupt> {
        inode("j_ino", self.ino(), g)?;
        match self {
            Record::AddRef(of) | Record::RemRef(of) => {
                inode("jr_parent", of.parent, g)?;
                entry("jr_diroff", of.diroff)
            }
            Record::MvRef(of) => {
                inode("jm_parent", of.parent, g)?;
                entry("jm_oldoff", of.oldoff)?;
                entry("jm_newoff", of.newoff)
            }
            Record::NewBlk(of) | Record::FreeBlk(of) => of.check(g),
            Record::Trunc(of) | Record::Sync(of) if of.size > g.maxfilesize => {
                Err(broken("jt_size", of.size, Rule::AtMost(g.maxfilesize.into())))
            }
            Record::Trunc(_) | Record::Sync(_) => Ok(()),
        }
    }
}

impl BlockRecord {
    fn check(&self, g: &Geometry) -> Result<(), Corrupt> {
        if self.frags == 0 || u32::from(self.frags) > g.frag {
            return Err(broken("jb_frags", self.frags, Rule::Words("which is no part of a block")));
        }
        if self.oldfrags > self.frags {
            return Err(broken("jb_oldfrags", self.oldfrags, Rule::AtMost(self.frags.into())));
        }
        if !g.is_data_range(self.blkno, self.frags.into()) {
            return Err(broken("jb_blkno", self.blkno.0, Rule::Words("where no data can be")));
        }
        let attribute = (-2..0).contains(&self.lbn.0);
        let lowest = match Geometry::indirect_level(self.lbn) {
            Some(level) => Lbn(self.lbn.0.saturating_neg().saturating_sub(signed64(crate::num::len64(level)))),
            None => self.lbn,
        };
        // The path to the lowest block that an indirect block maps must lead through it; otherwise its number is not of
        // this format.
        let path = g.path(lowest);
        let named = path.is_some_and(|path| self.lbn == lowest || path.indirects().any(|(name, _)| name == self.lbn));
        if attribute || named {
            return Ok(());
        }
        Err(broken("jb_lbn", self.lbn.0, Rule::Words("which no block of a file has")))
    }
}

fn inode(field: &'static str, ino: Ino, g: &Geometry) -> Result<(), Corrupt> {
    match g.is_valid_ino(ino) {
        true => Ok(()),
        false => Err(broken(field, ino.0, Rule::Words("which is no inode of the volume"))),
    }
}

/// Directories are shorter than 2 GiB, and entries begin at multiples of 4.
fn entry(field: &'static str, at: u64) -> Result<(), Corrupt> {
    if at > 0x7fff_ffff {
        return Err(broken(field, at, Rule::AtMost(0x7fff_ffff)));
    }
    if at.is_multiple_of(4) { Ok(()) } else { Err(broken(field, at, Rule::MultipleOf(4))) }
}

fn reference(op: u32, of: RefRecord) -> RawReference {
    let (ino, parent, diroff) = (of.ino.0, of.parent.0, signed64(of.diroff));
    RawReference { op, ino, parent, nlink: of.nlink, mode: of.mode, diroff, unused: 0 }
}

fn block(op: u32, of: BlockRecord) -> RawBlock {
    let (ino, blkno, lbn) = (of.ino.0, signed64(of.blkno.0), of.lbn.0);
    RawBlock { op, ino, blkno, lbn, frags: of.frags, oldfrags: of.oldfrags, unused: 0 }
}

fn truncation(op: u32, of: TruncRecord) -> RawTruncation {
    RawTruncation { op, ino: of.ino.0, size: signed64(of.size), extsize: of.extsize, pad: [0; 3] }
}

const _: () = assert!(RawReference::SIZE == RECORD && RawBlock::SIZE == RECORD && RawMove::SIZE == RECORD);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::superblock::newfs::NewfsParams;

    fn geometry() -> Geometry {
        NewfsParams::new(Format::Ufs2, 64 << 20).superblock().unwrap().geometry()
    }

    fn samples() -> [Record; 7] {
        let link = RefRecord { ino: Ino(5), parent: Ino(2), nlink: 3, mode: 0o100_644, diroff: 512 };
        let blocks = BlockRecord { ino: Ino(5), blkno: FragNo(0x1_0203), lbn: Lbn(-12), frags: 8, oldfrags: 1 };
        let size = TruncRecord { ino: Ino(5), size: 4096, extsize: 7 };
        [
            Record::AddRef(link),
            Record::RemRef(link),
            Record::NewBlk(blocks),
            Record::FreeBlk(blocks),
            Record::MvRef(MoveRecord { ino: Ino(5), parent: Ino(2), oldoff: 24, newoff: 12 }),
            Record::Trunc(size),
            Record::Sync(size),
        ]
    }

    #[test]
    fn records_have_their_fields_where_the_format_has_them() {
        let hex = |record: &Record, endian| {
            let mut bytes = [0xcc; 33];
            record.encode(&mut bytes, endian).unwrap();
            assert_eq!(bytes[32], 0xcc);
            bytes[..32].iter().map(|b| format!("{b:02x}")).collect::<String>()
        };
        let little = samples().map(|record| hex(&record, Endian::Little));
        let right = [
            "0100000005000000020000000300a48100020000000000000000000000000000",
            "0200000005000000020000000300a48100020000000000000000000000000000",
            "03000000050000000302010000000000f4ffffffffffffff0800010000000000",
            "04000000050000000302010000000000f4ffffffffffffff0800010000000000",
            "0500000005000000020000000000000018000000000000000c00000000000000",
            "0600000005000000001000000000000007000000000000000000000000000000",
            "0700000005000000001000000000000007000000000000000000000000000000",
        ];
        assert_eq!(little, right);
        let big = hex(&samples()[2], Endian::Big);
        assert_eq!(big, "00000003000000050000000000010203fffffffffffffff40008000100000000");
    }

    #[test]
    fn records_are_read_as_they_were_written_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            for record in samples() {
                let mut bytes = [0; RECORD];
                record.encode(&mut bytes, endian).unwrap();
                assert_eq!(Record::decode(&bytes, endian), Ok(record));
                assert_eq!(Record::decode(&bytes[..31], endian).unwrap_err().field, "length");
                assert_eq!(record.encode(&mut bytes[..31], endian), None);
            }
        }
    }

    #[test]
    fn bytes_that_mean_nothing_are_refused() {
        let field = |record: Record, at: usize, byte: u8| {
            let mut bytes = [0; RECORD];
            record.encode(&mut bytes, Endian::Little).unwrap();
            bytes[at] = byte;
            Record::decode(&bytes, Endian::Little).unwrap_err().field
        };
        let [add, _, new, _, mv, trunc, _] = samples();
        assert_eq!((field(add, 0, 0), field(add, 0, 8)), ("j_op", "j_op"));
        assert_eq!((field(add, 23, 0x80), field(new, 15, 0x80)), ("jr_diroff", "jb_blkno"));
        let moves = (field(mv, 23, 0x80), field(mv, 31, 0x80), field(trunc, 15, 0x80));
        assert_eq!(moves, ("jm_oldoff", "jm_newoff", "jt_size"));
    }

    #[test]
    fn what_the_volume_does_not_have_is_refused() {
        let g = geometry();
        let data = FragNo(g.size - 8);
        let said = |record: Record| record.check(&g).map_err(|damage| damage.field);
        let block = BlockRecord { ino: Ino(5), blkno: data, lbn: Lbn(0), frags: 8, oldfrags: 0 };
        let of = |change: fn(&mut BlockRecord)| {
            let mut block = block;
            change(&mut block);
            said(Record::NewBlk(block))
        };
        for lbn in [0, 11, 12, -1, -2, -12, -4108, -4109, -16_781_326] {
            assert_eq!(said(Record::FreeBlk(BlockRecord { lbn: Lbn(lbn), ..block })), Ok(()), "{lbn}");
        }
        for lbn in [-3, -11, -13, -14, -16, -4110, -4112, i64::MIN, i64::MAX] {
            assert_eq!(said(Record::FreeBlk(BlockRecord { lbn: Lbn(lbn), ..block })), Err("jb_lbn"), "{lbn}");
        }
        assert_eq!((of(|b| b.ino = Ino(1)), of(|b| b.ino = Ino(u32::MAX))), (Err("j_ino"), Err("j_ino")));
        assert_eq!((of(|b| b.frags = 0), of(|b| b.frags = 9)), (Err("jb_frags"), Err("jb_frags")));
        assert_eq!((of(|b| b.oldfrags = 9), of(|b| b.blkno.0 += 1)), (Err("jb_oldfrags"), Err("jb_blkno")));
        assert_eq!(of(|b| b.blkno = FragNo(u64::MAX / 2)), Err("jb_blkno"));
        let [add, _, _, _, mv, trunc, _] = samples();
        let (Record::AddRef(link), Record::MvRef(moved), Record::Trunc(size)) = (add, mv, trunc) else { panic!() };
        assert_eq!((said(add), said(mv), said(trunc)), (Ok(()), Ok(()), Ok(())));
        assert_eq!(said(Record::AddRef(RefRecord { parent: Ino(0), ..link })), Err("jr_parent"));
        assert_eq!(said(Record::RemRef(RefRecord { diroff: 2, ..link })), Err("jr_diroff"));
        assert_eq!(said(Record::RemRef(RefRecord { diroff: 1 << 31, ..link })), Err("jr_diroff"));
        assert_eq!(said(Record::MvRef(MoveRecord { oldoff: 1, ..moved })), Err("jm_oldoff"));
        assert_eq!(said(Record::MvRef(MoveRecord { newoff: 1, ..moved })), Err("jm_newoff"));
        assert_eq!(said(Record::MvRef(MoveRecord { parent: Ino(1), ..moved })), Err("jm_parent"));
        assert_eq!(said(Record::Sync(TruncRecord { size: u64::MAX, ..size })), Err("jt_size"));
    }
}
