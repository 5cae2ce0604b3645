//! Names on the disk.
//!
//! I1. A name is there if its directory is one on the disk, reaches to it by its size, has a block for it, and if the
//!     walk by lengths from the 512 bytes around it meets an entry exactly there that names the inode. Everything else
//!     is a "no", and never an error, except a walk past the end of a block.
//! I2. It is a dot link if it names its own directory, or if its name is `..`.

use crate::outcome::{Done, Why, give_up};
use crate::replay::Replay;
use crate::volume::{Order, Volume};
use ordo_ondisk::{Dinode, Lbn};

/// Bytes of an entry before its name.
const HEADER: usize = 8;
/// The least that an entry needs.
const LEAST: u64 = 12;
/// Bytes in which entries lie.
const CHUNK: u64 = 512;

/// A name that is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    /// The type in the entry.
    pub(crate) kind: u8,
    pub(crate) dot: bool,
    /// Byte of the volume at which the entry is.
    at: u64,
}

/// An entry of a directory.
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) ino: u32,
    pub(crate) name: Vec<u8>,
}

/// The names of a directory.
pub(crate) struct Directory;

impl Directory {
    /// All entries of a directory that name an inode, in order.
    pub(crate) fn read(volume: &Volume, dinode: &Dinode) -> Done<Vec<Entry>> {
        let (bsize, mut all) = (u64::from(volume.geo.bsize), vec![]);
        for (lbn, frag, frags) in volume.blocks(dinode)?.into_iter().filter(|(lbn, ..)| lbn.0 >= 0) {
            let from = lbn.0 as u64 * bsize;
            let len = (u64::from(frags) * u64::from(volume.geo.fsize)).min(dinode.size.saturating_sub(from));
            let bytes = volume.read(volume.geo.byte(frag).0, len as usize)?;
            for (chunk, at) in bytes.chunks(CHUNK as usize).zip((from..).step_by(CHUNK as usize)) {
                let mut within = 0;
                while let Some(entry) = chunk.get(within..).and_then(|bytes| raw(volume, bytes)) {
                    let (ino, reclen, name) = (entry.ino, entry.reclen, entry.name.to_vec());
                    if ino > 1 {
                        all.push(Entry { at: at + within as u64, ino, name });
                    }
                    within += reclen;
                }
            }
        }
        Ok(all)
    }
}

struct Raw<'a> {
    ino: u32,
    reclen: usize,
    kind: u8,
    name: &'a [u8],
}

/// The entry at the start of `bytes`; `None` if its length is 0, or if there is none.
fn raw<'a>(volume: &Volume, bytes: &'a [u8]) -> Option<Raw<'a>> {
    let endian = volume.geo.endian;
    let (ino, reclen) = (endian.get_u32(bytes, 0)?, endian.get_u16(bytes, 4)?);
    let [kind, length] = *bytes.get(6..HEADER)?.first_chunk()?;
    let name = bytes.get(HEADER..HEADER + usize::from(length)).unwrap_or_default();
    (reclen > 0).then_some(Raw { ino, reclen: reclen.into(), kind, name })
}

impl Replay {
    /// Whether `child` has a name at byte `offset` of `parent` (I1).
    pub(crate) fn present(&self, parent: u32, offset: u64, child: u32) -> Done<Option<Present>> {
        let (volume, geo) = (&self.volume, &self.volume.geo);
        let dinode = volume.dinode(parent)?;
        if !dinode.is_dir() || offset.checked_add(LEAST).is_none_or(|end| end > dinode.size) {
            return Ok(None);
        }
        let lbn = offset / u64::from(geo.bsize);
        let (frag, frags) = volume.pointer(&dinode, Lbn(lbn as i64))?;
        let within = u64::from(geo.blkoff(offset));
        if frag.is_hole() || within >= u64::from(frags) * u64::from(geo.fsize) {
            return Ok(None);
        }
        let block = volume.block(frag)?;
        let mut at = within / CHUNK * CHUNK;
        while at < within {
            let Some(entry) = block.get(at as usize..).and_then(|bytes| raw(volume, bytes)) else { return Ok(None) };
            at += entry.reclen as u64;
            if at > u64::from(geo.bsize) {
                return give_up(format!("a name of directory {parent} ends behind its block"));
            }
        }
        let found = block.get(within as usize..).filter(|_| at == within).and_then(|bytes| raw(volume, bytes));
        Ok(found.filter(|entry| entry.ino == child).map(|entry| {
            let dot = child == parent || entry.name == b"..";
            Present { kind: entry.kind, dot, at: geo.byte(frag).0 + within }
        }))
    }

    /// Takes the inode out of an entry, which keeps its length.
    pub(crate) fn clear_name(&mut self, of: Present) -> Done<()> {
        let mut ino = self.volume.read(of.at, 4)?;
        self.volume.geo.endian.put_u32(&mut ino, 0, 0).ok_or_else(|| Why::Other("no entry".into()))?;
        self.volume.write(of.at, &ino, Order::Contents);
        Ok(())
    }
}
