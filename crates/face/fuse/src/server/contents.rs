//! Requests for a file's contents: read, write, copy, fallocate, seek.

use super::shared::Server;
use crate::proto::abi::{self, CopyFileRangeIn, FallocateIn, LseekIn, ReadIn, WriteIn};
use crate::proto::reply::{Answer, Reply};
use crate::transport::{MAX_TRANSFER, Transport};
use ordo_vfs::{Caller, FallocMode, FileSystem, NodeId, Segments, Whence};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use zerocopy::IntoBytes;

fn falloc_mode(bits: u32) -> Result<FallocMode, Errno> {
    let flags = FallocateFlags::from_bits_retain(bits);
    let keep_size = flags.contains(FallocateFlags::KEEP_SIZE);
    match flags.difference(FallocateFlags::KEEP_SIZE) {
        f if f.is_empty() => Ok(FallocMode::Allocate { keep_size }),
        FallocateFlags::PUNCH_HOLE if keep_size => Ok(FallocMode::PunchHole),
        FallocateFlags::ZERO_RANGE => Ok(FallocMode::ZeroRange { keep_size }),
        _ => Err(Errno::OPNOTSUPP),
    }
}

fn whence(number: u32) -> Result<Whence, Errno> {
    match number {
        3 => Ok(Whence::Data),
        4 => Ok(Whence::Hole),
        _ => Err(Errno::INVAL),
    }
}

/// At most `len` bytes of `pieces`: the kernel treats a longer reply as an error.
fn at_most(mut pieces: Segments, len: u32) -> Segments {
    let mut room = len as usize;
    for piece in &mut pieces {
        piece.truncate(room);
        room -= piece.len();
    }
    pieces
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    pub(super) async fn read(&self, node: NodeId, args: &ReadIn) -> Answer {
        if self.ends.get() {
            return Err(Errno::NOTCONN);
        }
        let len = args.size.min(MAX_TRANSFER);
        let pieces = self.fs.read(node, args.offset, len).await.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Data(at_most(pieces, len)))
    }

    pub(super) async fn write(&self, mut who: Caller, node: NodeId, args: &WriteIn, data: &[u8]) -> Answer {
        if self.ends.get() && args.write_flags & abi::WRITE_CACHE == 0 {
            return Err(Errno::NOTCONN);
        }
        // The writer is not known, and cannot be told that it may not use the reserve: the data would be lost.
        who.privileged |= args.write_flags & abi::WRITE_CACHE != 0;
        if args.write_flags & abi::WRITE_KILL_SUIDGID != 0 {
            self.kill_setid(node).await?;
        }
        let cached = self.opts.writeback && args.write_flags & abi::WRITE_CACHE != 0;
        let size = match cached {
            true => self.write_keeping_times(&who, node, args.offset, data).await,
            false => self.fs.write(&who, node, args.offset, data).await,
        };
        let mut size = size.map_err(|e| self.refuse(&e))?;
        // Of a direct write the kernel makes EIO of a short answer: the program would never learn that the volume is
        // full, or that a limit is reached.
        if (size as usize) < data.len() && OFlags::from_bits_retain(args.flags).contains(OFlags::DIRECT) {
            let (rest, at) = (&data[size as usize..], args.offset + u64::from(size));
            size += self.fs.write(&who, node, at, rest).await.map_err(|e| self.refuse(&e))?;
        }
        Ok(Reply::Bytes(abi::WriteOut { size, padding: 0 }.as_bytes().to_vec()))
    }

    /// Copies for a bounded time, and returns how many bytes: the kernel requests the rest.
    pub(super) async fn copy_file_range(&self, who: &Caller, node: NodeId, args: &CopyFileRangeIn) -> Answer {
        const AT_ONCE: u64 = 16 << 20;
        let to = NodeId(args.nodeid_out);
        let len = args.len.min(AT_ONCE);
        let copied =
            self.fs.copy_range(who, node, args.off_in, to, args.off_out, len).await.map_err(|e| self.refuse(&e))?;
        let size = u32::try_from(copied).map_err(|_| Errno::IO)?;
        Ok(Reply::Bytes(abi::WriteOut { size, padding: 0 }.as_bytes().to_vec()))
    }

    pub(super) async fn fallocate(&self, who: &Caller, node: NodeId, args: &FallocateIn) -> Answer {
        let mode = falloc_mode(args.mode)?;
        self.done(self.fs.fallocate(who, node, args.offset, args.length, mode).await)
    }

    pub(super) async fn lseek(&self, node: NodeId, args: &LseekIn) -> Answer {
        let found = self.fs.seek(node, args.offset, whence(args.whence)?).await;
        let offset = found.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Bytes(abi::LseekOut { offset }.as_bytes().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn unknown_flags_are_refused_and_not_ignored() {
        assert_eq!(falloc_mode(1), Ok(FallocMode::Allocate { keep_size: true }));
        assert_eq!(falloc_mode(3), Ok(FallocMode::PunchHole));
        assert_eq!(falloc_mode(2), Err(Errno::OPNOTSUPP));
        assert_eq!(falloc_mode(0x11), Ok(FallocMode::ZeroRange { keep_size: true }));
        assert_eq!(falloc_mode(0x8), Err(Errno::OPNOTSUPP));
        assert_eq!(whence(0), Err(Errno::INVAL));
    }

    #[test]
    fn more_data_than_was_asked_for_is_cut() {
        let pieces = at_most(vec![Bytes::from_static(b"abc"), Bytes::from_static(b"def"), Bytes::new()], 4);
        assert_eq!(pieces.concat(), b"abcd");
        assert_eq!(at_most(pieces, 9).concat(), b"abcd");
    }
}
