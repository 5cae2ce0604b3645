//! A stream of messages on a simulated disk: with it the explorer cuts the power at each point of a log in a stream.
//!
//! Of the messages in flight the fates of the disk decide which have arrived. An acknowledged one is durable, for it is
//! written through the disk's cache.
//!
//! S1. Order is kept as a server keeps it: each message carries a sum over all before it, and the stream ends before
//!     the first one whose sum is wrong. So a message behind one that has not arrived does not count, now and later.
//! S2. A torn message is one that has not arrived.
//! S3. What was dropped stays dropped: a mark says where the stream begins. It never lies behind what is durable.

use ordo_disk::{
    Answered, Block, Disk, DiskOff, Image, Kind, Messages, ReadPart, StreamError, StreamLimits, StreamState, Tag,
    WritePart,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes of the stream that count towards its limit: the least that a log takes.
const BYTES: u64 = ordo_wafs::stream::STREAM_LEAST;
/// A message begins at a multiple of this: a sector of any device.
const LINE: u64 = 4096;
/// Bytes before a message, or in a mark.
const HEADER: usize = 32;
const MAGIC: u64 = 0x4f72_646f_5374_726d;
const OVERHEAD: u64 = 256;

/// A stream on a disk. It lies there from the beginning; room is not used twice.
#[derive(Clone)]
pub(crate) struct DiskStream {
    disk: Rc<dyn Disk>,
    state: Rc<RefCell<Option<State>>>,
}

#[derive(Clone, Default)]
struct State {
    /// Place and length of each message.
    messages: BTreeMap<u64, (u64, usize)>,
    last: u64,
    /// Where the next one goes, and the sum of all before it.
    end: (u64, u64),
    /// The same at the beginning of each message.
    begins: BTreeMap<u64, (u64, u64)>,
}

impl State {
    fn bytes(&self) -> u64 {
        self.messages.values().map(|(_, len)| *len as u64 + OVERHEAD).sum()
    }

    fn told(&self) -> StreamState {
        let first = self.messages.keys().next().copied().unwrap_or(self.last + 1);
        StreamState { first, last: self.last, bytes: self.bytes() }
    }

    fn add(&mut self, number: u64, len: usize, sum: u64) {
        self.begins.insert(number, self.end);
        self.messages.insert(number, (self.end.0, len));
        self.end = (self.end.0 + room(len), sum);
        self.last = number;
    }
}

/// Bytes of the disk that a message takes.
fn room(len: usize) -> u64 {
    ((len + HEADER) as u64).next_multiple_of(LINE)
}

/// FNV over the sum before, the numbers, and the bytes.
fn sum(before: u64, numbers: [u64; 2], bytes: &[u8]) -> u64 {
    let numbers = [before, numbers[0], numbers[1]].into_iter().flat_map(u64::to_le_bytes);
    numbers
        .chain(bytes.iter().copied())
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn header(words: [u64; 4], bytes: &[u8], len: u64) -> Image {
    let mut all: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    all.extend_from_slice(bytes);
    all.resize(len as usize, 0);
    Block::copy_of(&all).image()
}

fn words(bytes: &[u8]) -> Option<[u64; 4]> {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.get(..HEADER)?.chunks(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}

fn failed(error: impl std::fmt::Display) -> StreamError {
    StreamError::Refused(error.to_string())
}

impl DiskStream {
    pub(crate) fn new(disk: Rc<dyn Disk>) -> DiskStream {
        DiskStream { disk, state: Rc::default() }
    }

    async fn bytes(&self, at: u64, len: usize) -> Result<Vec<u8>, StreamError> {
        let part = ReadPart { block: Block::zeroed(len), tag: Tag::of(Kind::Log) };
        let parts = self.disk.read(DiskOff(at), vec![part]).await.map_err(failed)?;
        Ok(parts.iter().flat_map(|part| part.block.to_vec()).collect())
    }

    /// Finds what is there (S1), if that was not done yet.
    async fn found(&self) -> Result<(), StreamError> {
        if self.state.borrow().is_some() {
            return Ok(());
        }
        let mut state = State { end: (LINE, 0), ..State::default() };
        // S3. The mark: magic, the first message, its place, the sum before it; and a sum of these.
        let mark = self.bytes(0, LINE as usize).await?;
        let last = mark.get(HEADER..HEADER + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        if let Some([MAGIC, first, at, before]) = words(&mark)
            && last == Some(sum(MAGIC, [first, at], &before.to_le_bytes()))
        {
            (state.last, state.end) = (first.saturating_sub(1), (at, before));
        }
        let size = self.disk.info().size;
        while state.end.0 + LINE <= size {
            let (at, before) = state.end;
            let Some([MAGIC, number, len, told]) = words(&self.bytes(at, LINE as usize).await?) else { break };
            let fits = len <= size && at + room(len as usize) <= size;
            if number != state.last + 1 || !fits {
                break;
            }
            let whole = self.bytes(at, room(len as usize) as usize).await?;
            if told != sum(before, [number, len], &whole[HEADER..HEADER + len as usize]) {
                break;
            }
            state.add(number, len as usize, told);
        }
        self.state.borrow_mut().get_or_insert(state);
        Ok(())
    }

    fn write(&self, at: u64, image: Image) -> ordo_disk::DiskFuture<Result<(), ordo_disk::DiskError>> {
        let part = WritePart { image, tag: Tag::of(Kind::Log) };
        self.disk.write(DiskOff(at), vec![part], true)
    }
}

impl Messages for DiskStream {
    fn name(&self) -> String {
        "a stream on a disk".into()
    }

    fn limits(&self) -> StreamLimits {
        StreamLimits { bytes: BYTES, message: 64 << 10, overhead: OVERHEAD }
    }

    fn state(&self) -> Answered<StreamState> {
        let this = self.clone();
        Box::pin(async move {
            this.found().await?;
            // OK to default: it was found.
            Ok(this.state.borrow().as_ref().map(State::told).unwrap_or_default())
        })
    }

    /// A log asks for the state before it publishes.
    fn publish(&self, after: u64, _id: String, message: bytes::Bytes) -> Answered<u64> {
        let mut state = self.state.borrow_mut();
        let refused = match state.as_mut() {
            None => Some(StreamError::NoAnswer("nobody has asked for its state".into())),
            Some(state) if state.last != after => Some(StreamError::NotNext),
            Some(state) if state.bytes() + message.len() as u64 + OVERHEAD > BYTES => Some(StreamError::Full),
            Some(state) if state.end.0 + room(message.len()) > self.disk.info().size => Some(StreamError::Full),
            Some(_) => None,
        };
        let (Some(state), None) = (state.as_mut(), &refused) else {
            return Box::pin(async move { Err(refused.unwrap_or(StreamError::NotNext)) });
        };
        let (number, (at, before), len) = (after + 1, state.end, message.len());
        let told = sum(before, [number, len as u64], &message);
        state.add(number, len, told);
        let written = self.write(at, header([MAGIC, number, len as u64, told], &message, room(len)));
        Box::pin(async move { written.await.map(|()| number).map_err(failed) })
    }

    fn read(&self, number: u64) -> Answered<Option<bytes::Bytes>> {
        let this = self.clone();
        Box::pin(async move {
            this.found().await?;
            let place = this.state.borrow().as_ref().and_then(|state| state.messages.get(&number).copied());
            let Some((at, len)) = place else { return Ok(None) };
            let bytes = this.bytes(at, room(len) as usize).await?;
            Ok(Some(bytes::Bytes::from(bytes).slice(HEADER..HEADER + len)))
        })
    }

    fn purge(&self, before: u64) -> Answered<()> {
        let this = self.clone();
        Box::pin(async move {
            this.found().await?;
            let mark = this.state.borrow_mut().as_mut().map(|state| {
                let first = before.min(state.last + 1);
                state.messages = state.messages.split_off(&first);
                (first, state.begins.get(&first).copied().unwrap_or(state.end))
            });
            let Some((first, (at, before))) = mark else { return Ok(()) };
            let told = sum(MAGIC, [first, at], &before.to_le_bytes());
            this.write(0, header([MAGIC, first, at, before], &told.to_le_bytes(), LINE)).await.map_err(failed)
        })
    }
}
