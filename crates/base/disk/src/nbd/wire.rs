//! Requests and replies as they are on the wire.
//!
//! W1. A reply says how much follows, and is believed only as far as the request allows: a chunk outside of what was
//!     asked for, one that overlaps another one, and a last one before all has come break the protocol (nbd-2). What
//!     follows a broken reply cannot be understood, so the connection is lost.

use std::io::{self, IoSlice, Read};

use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::asked::{Asked, Breach};
use super::handshake::Export;
use super::kept::{Piece, What};
use super::proto::{
    CMD_BLOCK_STATUS, CMD_DISC, CMD_FLAG_FUA, CMD_FLUSH, CMD_READ, CMD_TRIM, CMD_WRITE, CMD_WRITE_ZEROES, ESHUTDOWN,
    REPLY_FLAG_DONE, REPLY_TYPE_BLOCK_STATUS, REPLY_TYPE_ERROR, REPLY_TYPE_ERROR_OFFSET, REPLY_TYPE_NONE,
    REPLY_TYPE_OFFSET_DATA, REPLY_TYPE_OFFSET_HOLE, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC, STATE_HOLE, STATE_ZERO,
    STRUCTURED_REPLY_MAGIC,
};
use crate::engine::work::{Fault, Work};
use crate::{Extent, Image, ReadPart, read_len, write_len};

/// The longest text of an error that is read.
const TEXT_MAX: usize = 4096 + 64;

/// The most extents in one reply.
const EXTENTS_MAX: usize = 64 * 1024;

/// What a lane is told.
pub(super) enum Send {
    Request(Message),
    /// No request comes any more: the server is told, and ends the connection.
    Goodbye,
}

/// A request as it is sent: the header, and the data of a write.
pub(super) struct Message {
    header: [u8; 28],
    data: Vec<(Image, usize, usize)>,
    /// Bytes that were sent already.
    sent: usize,
}

impl Message {
    fn new(header: [u8; 28], data: Vec<(Image, usize, usize)>) -> Message {
        Message { header, data, sent: 0 }
    }

    /// `None` if the range is longer than the protocol can express, or the server does not know the request.
    pub(super) fn of(number: u64, work: &Work, export: &Export) -> Option<Message> {
        let (command, flags, at, len) = match work {
            Work::Read { at, parts } => (CMD_READ, 0, *at, read_len(parts)),
            Work::Write { at, parts, fua } => {
                // Blocks that nobody has changed since they were made of zeros need not travel.
                let zeros = export.can_zero() && parts.iter().all(|part| part.image.is_untouched());
                let command = if zeros { CMD_WRITE_ZEROES } else { CMD_WRITE };
                (command, if *fua { CMD_FLAG_FUA } else { 0 }, *at, write_len(parts))
            }
            Work::Flush => (CMD_FLUSH, 0, 0, 0),
            Work::Punch { at, len } => (CMD_TRIM, 0, *at, *len),
            Work::Extents { at, len, .. } => (CMD_BLOCK_STATUS, 0, *at, *len),
        };
        let data = match work {
            Work::Write { parts, .. } if command == CMD_WRITE => {
                parts.iter().map(|part| (part.image.clone(), 0, part.image.len())).collect()
            }
            _ => Vec::new(),
        };
        Some(Message::new(header(command, flags, number, at, u32::try_from(len).ok()?), data))
    }

    /// A change that was answered, once more.
    pub(super) fn again(number: u64, at: u64, piece: &Piece, export: &Export) -> Option<Message> {
        let len = u32::try_from(piece.len).ok()?;
        let (command, data) = match &piece.what {
            What::Data(image, _) if image.is_untouched() && export.can_zero() => (CMD_WRITE_ZEROES, Vec::new()),
            What::Data(image, from) => (CMD_WRITE, vec![(image.clone(), *from, from + len as usize)]),
            What::Trim => (CMD_TRIM, Vec::new()),
        };
        Some(Message::new(header(command, 0, number, at, len), data))
    }

    /// It changes the disk.
    pub(super) fn is_change(&self) -> bool {
        let command = u16::from_be_bytes([self.header[6], self.header[7]]);
        matches!(command, CMD_WRITE | CMD_WRITE_ZEROES | CMD_TRIM)
    }

    /// The last one.
    pub(super) fn goodbye() -> Message {
        Message::new(header(CMD_DISC, 0, 0, 0, 0), Vec::new())
    }

    /// Its bytes, in pieces, from the first one on that was not sent.
    pub(super) fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        let data = self.data.iter().map(|(image, from, to)| &image[*from..*to]);
        let mut sent = self.sent;
        for piece in std::iter::once(&self.header[..]).chain(data) {
            let skip = sent.min(piece.len());
            sent -= skip;
            into.push(IoSlice::new(&piece[skip..]));
        }
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.header.len() + self.data.iter().map(|(_, from, to)| to - from).sum::<usize>() - self.sent
    }

    /// So many more of them were sent.
    pub(super) fn note_sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }
}

fn header(command: u16, flags: u16, number: u64, at: u64, len: u32) -> [u8; 28] {
    let mut header = [0; 28];
    header[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    header[4..6].copy_from_slice(&flags.to_be_bytes());
    header[6..8].copy_from_slice(&command.to_be_bytes());
    header[8..16].copy_from_slice(&number.to_be_bytes());
    header[16..24].copy_from_slice(&at.to_be_bytes());
    header[24..28].copy_from_slice(&len.to_be_bytes());
    header
}

/// Where the replies of a lane go.
pub(super) trait Desk {
    fn asked(&self, number: u64) -> Result<Asked, Breach>;
    fn give_back(&self, number: u64, at: u64, parts: Vec<ReadPart>);
    fn answer(&self, number: u64, outcome: Result<Option<Work>, Fault>) -> Result<(), Breach>;
}

/// Why no more replies are read.
#[derive(Debug)]
pub(super) enum Lost {
    Io(io::Error),
    Breach(Breach),
    /// The server says so.
    ShuttingDown,
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Lost {
        Lost::Io(error)
    }
}

impl From<Breach> for Lost {
    fn from(breach: Breach) -> Lost {
        Lost::Breach(breach)
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lost::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the server has ended the connection")
            }
            Lost::Io(error) => error.fmt(f),
            Lost::Breach(Breach(what)) => write!(f, "the server breaks the protocol: {what}"),
            Lost::ShuttingDown => f.write_str("the server is shutting down"),
        }
    }
}

/// Reads replies, one after the other.
pub(super) struct Replies<'a, D: Desk> {
    desk: &'a D,
    structured: bool,
    allocation: Option<u32>,
    /// Replies of which more chunks come.
    open: FxHashMap<u64, Open>,
}

struct Open {
    asked: Asked,
    /// What a read has got, as ranges that do not touch, in order.
    got: Vec<(u64, u64)>,
    extents: Option<Vec<Extent>>,
    fault: Option<Fault>,
}

impl<'a, D: Desk> Replies<'a, D> {
    pub(super) fn new(desk: &'a D, export: &Export) -> Replies<'a, D> {
        Replies { desk, structured: export.structured, allocation: export.allocation, open: FxHashMap::default() }
    }

    /// Reads one reply, or one chunk of one.
    pub(super) fn next(&mut self, stream: &mut impl Read) -> Result<(), Lost> {
        match take_u32(stream)? {
            SIMPLE_REPLY_MAGIC => self.simple(stream),
            STRUCTURED_REPLY_MAGIC if self.structured => self.chunk(stream),
            _ => Err(Breach("the mark of a reply is wrong").into()),
        }
    }

    fn simple(&mut self, stream: &mut impl Read) -> Result<(), Lost> {
        let (code, number) = (take_u32(stream)?, take_u64(stream)?);
        if code == ESHUTDOWN {
            return Err(Lost::ShuttingDown);
        }
        if self.open.contains_key(&number) {
            return Err(Breach("a reply in chunks goes on without chunks").into());
        }
        match self.desk.asked(number)? {
            Asked::Read(at, parts) if self.structured || code != 0 => {
                self.desk.give_back(number, at, parts);
                if self.structured {
                    return Err(Breach("the reply to a read comes without chunks").into());
                }
                self.desk.answer(number, Err(fault(code)))?;
            }
            Asked::Read(at, mut parts) => {
                if let Err(error) = parts.iter_mut().try_for_each(|part| stream.read_exact(&mut part.block)) {
                    self.desk.give_back(number, at, parts);
                    return Err(error.into());
                }
                self.desk.answer(number, Ok(Some(Work::Read { at, parts })))?;
            }
            Asked::Extents(..) if code == 0 => return Err(Breach("the reply about holes comes without chunks").into()),
            Asked::Plain | Asked::Extents(..) => {
                self.desk.answer(number, if code == 0 { Ok(None) } else { Err(fault(code)) })?;
            }
        }
        Ok(())
    }

    fn chunk(&mut self, stream: &mut impl Read) -> Result<(), Lost> {
        let head: [u8; 16] = take(stream)?;
        let flags = u16::from_be_bytes([head[0], head[1]]);
        let kind = u16::from_be_bytes([head[2], head[3]]);
        let number = u64::from_be_bytes([head[4], head[5], head[6], head[7], head[8], head[9], head[10], head[11]]);
        let len = u32::from_be_bytes([head[12], head[13], head[14], head[15]]) as usize;
        if !self.open.contains_key(&number) {
            let asked = self.desk.asked(number)?;
            self.open.insert(number, Open { asked, got: Vec::new(), extents: None, fault: None });
        }
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        open.take(stream, kind, len, self.allocation)?;
        if flags & REPLY_FLAG_DONE == 0 {
            return match kind {
                REPLY_TYPE_NONE => Err(Breach("a chunk of nothing is not the last one").into()),
                _ => Ok(()),
            };
        }
        let Some(open) = self.open.remove(&number) else { return Ok(()) };
        self.end(number, open)
    }

    fn end(&self, number: u64, open: Open) -> Result<(), Lost> {
        let Open { asked, got, extents, fault } = open;
        if fault == Some(Fault::System(SHUTDOWN)) {
            if let Asked::Read(at, parts) = asked {
                self.desk.give_back(number, at, parts);
            }
            return Err(Lost::ShuttingDown);
        }
        let outcome = match (asked, fault) {
            (Asked::Read(at, parts), None) => {
                if got != [(at, at + read_len(&parts))] && read_len(&parts) > 0 {
                    self.desk.give_back(number, at, parts);
                    return Err(Breach("the last chunk comes, and not all data has come").into());
                }
                Ok(Some(Work::Read { at, parts }))
            }
            (Asked::Read(at, parts), Some(fault)) => {
                self.desk.give_back(number, at, parts);
                Err(fault)
            }
            (_, Some(fault)) => Err(fault),
            (Asked::Extents(at, len), None) => match extents {
                Some(found) => Ok(Some(Work::Extents { at, len, found })),
                None => return Err(Breach("the last chunk comes, and none told the holes").into()),
            },
            (Asked::Plain, None) => Ok(None),
        };
        Ok(self.desk.answer(number, outcome)?)
    }

    /// The connection is lost: what is open was not answered.
    pub(super) fn give_up(self) {
        for (number, open) in self.open {
            if let Asked::Read(at, parts) = open.asked {
                self.desk.give_back(number, at, parts);
            }
        }
    }
}

impl Open {
    fn take(&mut self, stream: &mut impl Read, kind: u16, len: usize, allocation: Option<u32>) -> Result<(), Lost> {
        match (kind, &self.asked) {
            (REPLY_TYPE_NONE, _) if len == 0 => Ok(()),
            (REPLY_TYPE_OFFSET_DATA, Asked::Read(..)) if len > 8 => {
                let at = take_u64(stream)?;
                self.claim(at, len as u64 - 8)?;
                self.fill(at, len - 8, |bytes| stream.read_exact(bytes))
            }
            (REPLY_TYPE_OFFSET_HOLE, Asked::Read(..)) if len == 12 => {
                let (at, len) = (take_u64(stream)?, take_u32(stream)?);
                self.claim(at, len.into())?;
                self.fill(at, len as usize, |bytes| {
                    bytes.fill(0);
                    Ok(())
                })
            }
            (REPLY_TYPE_BLOCK_STATUS, Asked::Extents(at, asked)) => {
                let (at, asked) = (*at, *asked);
                self.extents(stream, len, allocation, at, asked)
            }
            (kind, _) if kind >= 1 << 15 => {
                if !(4..=TEXT_MAX).contains(&len) || (len < 6 && is_known_error(kind)) {
                    return Err(Breach("the length of an error").into());
                }
                let mut bytes = vec![0; len];
                stream.read_exact(&mut bytes)?;
                let code = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                if code == 0 {
                    return Err(Breach("an error without a number").into());
                }
                self.fault.get_or_insert(fault(code));
                Ok(())
            }
            _ => Err(Breach("a chunk that the request does not allow").into()),
        }
    }

    /// Notes that a range of a read comes: inside of what was asked for, and for the first time.
    fn claim(&mut self, at: u64, len: u64) -> Result<(), Breach> {
        let Asked::Read(from, parts) = &self.asked else { return Err(Breach("data that was not asked for")) };
        let end = at.checked_add(len).filter(|end| len > 0 && at >= *from && *end <= from + read_len(parts));
        let end = end.ok_or(Breach("a chunk outside of what was asked for"))?;
        let place = self.got.partition_point(|(_, other)| *other <= at);
        if self.got.get(place).is_some_and(|(other, _)| *other < end) {
            return Err(Breach("two chunks overlap"));
        }
        self.got.insert(place, (at, end));
        // Neighbours become one, so that the list stays short where chunks come in order.
        if place + 1 < self.got.len() && self.got[place + 1].0 == end {
            self.got[place].1 = self.got.remove(place + 1).1;
        }
        if place > 0 && self.got[place - 1].1 == at {
            self.got[place - 1].1 = self.got.remove(place).1;
        }
        Ok(())
    }

    /// Calls `put` for the parts of the buffers that this range covers.
    fn fill(&mut self, at: u64, len: usize, mut put: impl FnMut(&mut [u8]) -> io::Result<()>) -> Result<(), Lost> {
        let Asked::Read(from, parts) = &mut self.asked else { return Ok(()) };
        let (mut skip, mut left) = ((at - *from) as usize, len);
        for part in parts {
            let size = part.block.len();
            if skip >= size {
                skip -= size;
                continue;
            }
            let here = left.min(size - skip);
            if here > 0 {
                put(&mut part.block[skip..skip + here])?;
            }
            (skip, left) = (0, left - here);
        }
        Ok(())
    }

    fn extents(
        &mut self,
        stream: &mut impl Read,
        len: usize,
        allocation: Option<u32>,
        at: u64,
        asked: u64,
    ) -> Result<(), Lost> {
        let count = len.saturating_sub(4) / 8;
        if len != 4 + count * 8 || !(1..=EXTENTS_MAX).contains(&count) {
            return Err(Breach("the length of a list of extents").into());
        }
        if Some(take_u32(stream)?) != allocation || self.extents.is_some() {
            return Err(Breach("a list of extents that was not asked for, or comes twice").into());
        }
        let (mut place, mut found) = (at, Vec::new());
        for _ in 0..count {
            let (len, state) = (take_u32(stream)?, take_u32(stream)?);
            let here = u64::from(len).min(at + asked - place);
            if len == 0 || here == 0 {
                return Err(Breach("an extent of nothing, or outside of what was asked for").into());
            }
            found.push(Extent { len: here, hole: state & STATE_HOLE != 0, zero: state & STATE_ZERO != 0 });
            place += here;
        }
        self.extents = Some(found);
        Ok(())
    }
}

fn is_known_error(kind: u16) -> bool {
    matches!(kind, REPLY_TYPE_ERROR | REPLY_TYPE_ERROR_OFFSET)
}

const SHUTDOWN: Errno = Errno::SHUTDOWN;

/// The protocol's error numbers are Linux's.
fn fault(code: u32) -> Fault {
    let code = i32::try_from(code).ok().filter(|code| (1..4096).contains(code));
    Fault::System(Errno::from_raw_os_error(code.unwrap_or(5)))
}

fn take<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn take_u32(stream: &mut impl Read) -> io::Result<u32> {
    Ok(u32::from_be_bytes(take(stream)?))
}

fn take_u64(stream: &mut impl Read) -> io::Result<u64> {
    Ok(u64::from_be_bytes(take(stream)?))
}
