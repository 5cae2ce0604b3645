//! A server in memory that does, at requests of given numbers, what a good one never does. Its cache is volatile: when
//! it dies it forgets a random part of what was not flushed, sector by sector.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ordo_rt::Rng;
use tempfile::TempDir;

use crate::nbd::proto::*;

pub(super) const SIZE: u64 = 1 << 20;

/// What happens at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The server dies before it does it.
    Dies,
    /// It dies when it has done it, and before it answers.
    DiesUnanswered,
    /// It dies in the middle of the answer.
    DiesAnswering,
    /// Only the connection is cut, after the request was done.
    Cut,
    /// It is answered twice.
    Twice,
    /// The answer has another number.
    Other,
    /// The answer has a wrong mark.
    Garbage,
    /// Nothing is answered from here on, on any connection.
    Stalls,
    /// This error.
    Fails(u32),
    /// The answer says so: the server is going down. Then it does.
    Leaves,
    /// It dies, and comes back with this size.
    Shrinks(u64),
    /// A read is answered with chunks of this kind.
    Chunks(Chunks),
}

/// How a read, or a question for holes, is answered in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    Overlapping,
    Outside,
    Short,
    TooLong,
    Endless,
    Zero,
    Status(&'static [(u32, u32)]),
}

#[derive(Default)]
pub(super) struct State {
    pub(super) bytes: Vec<u8>,
    size: Option<u64>,
    /// What was there before each write since the last flush, oldest first.
    unflushed: Vec<(usize, Vec<u8>, Vec<u8>)>,
    pub(super) requests: u64,
    pub(super) connections: u32,
    /// The requests of each kind, by the number of the command.
    pub(super) count: BTreeMap<u16, u32>,
    pub(super) forced: u32,
    stalled: bool,
    streams: Vec<UnixStream>,
}

/// What the server is like.
#[derive(Clone)]
pub(super) struct Nature {
    pub(super) knows_go: bool,
    pub(super) structured: bool,
    pub(super) flags: u16,
    /// Replies come in another order than requests.
    pub(super) reorders: bool,
    /// Accepts no more connections than this in all.
    pub(super) most: u32,
    pub(super) fates: BTreeMap<u64, Fate>,
    pub(super) seed: u64,
}

pub(super) const FLAGS: u16 = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_SEND_TRIM;

pub(super) fn nature() -> Nature {
    Nature {
        knows_go: true,
        structured: false,
        flags: FLAGS,
        reorders: false,
        most: u32::MAX,
        fates: BTreeMap::new(),
        seed: 1,
    }
}

impl Nature {
    pub(super) fn at(mut self, request: u64, fate: Fate) -> Nature {
        self.fates.insert(request, fate);
        self
    }

    pub(super) fn structured(self) -> Nature {
        Nature { structured: true, ..self }
    }

    pub(super) fn with(self, flags: u16) -> Nature {
        Nature { flags: self.flags | flags, ..self }
    }
}

pub(super) struct Server {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
    dir: TempDir,
}

impl Server {
    pub(super) fn start(nature: Nature) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let state = Arc::new(Mutex::new(State { bytes: vec![0; SIZE as usize], ..State::default() }));
        let theirs = state.clone();
        // Ends with the program: a listener that nobody connects to any more costs nothing.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, nature) = (theirs.clone(), nature.clone());
                let mut now = theirs.lock().unwrap();
                now.connections += 1;
                if now.connections > nature.most {
                    continue;
                }
                now.streams.push(stream.try_clone().unwrap());
                drop(now);
                std::thread::spawn(move || {
                    let mut connection = Connection { stream, state, nature, number: 0, kept: Vec::new() };
                    // The end of the connection ends its thread.
                    let _ = connection.greet().and_then(|()| connection.serve());
                    let _ = connection.stream.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        Server { url: format!("nbd+unix:///disk?socket={}", socket.display()), state, dir }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The power goes for the server's machine.
    pub(super) fn cut_power(&self, rng: &mut Rng) -> Vec<u8> {
        let mut state = self.lock();
        state.forget(rng);
        state.bytes.clone()
    }

    /// Nobody can connect from now on.
    pub(super) fn hide(&self) {
        std::fs::remove_file(self.dir.path().join("socket")).unwrap();
        self.lock().die();
    }
}

impl State {
    fn write(&mut self, at: usize, new: &[u8], forced: bool) {
        let old = self.bytes[at..at + new.len()].to_vec();
        self.bytes[at..at + new.len()].copy_from_slice(new);
        if !forced {
            return self.unflushed.push((at, old, new.to_vec()));
        }
        // Neither older nor lost bytes come back over a forced write.
        for (other, old, newer) in &mut self.unflushed {
            for (i, byte) in new.iter().enumerate() {
                if let Some(place) = (at + i).checked_sub(*other).filter(|place| *place < old.len()) {
                    (old[place], newer[place]) = (*byte, *byte);
                }
            }
        }
    }

    /// A random part of what was not flushed is lost.
    fn forget(&mut self, rng: &mut Rng) {
        let unflushed = std::mem::take(&mut self.unflushed);
        for (at, old, _) in unflushed.iter().rev() {
            self.bytes[*at..*at + old.len()].copy_from_slice(old);
        }
        let all = rng.below(3);
        for (at, _, new) in &unflushed {
            for (i, sector) in new.chunks(512).enumerate() {
                if all == 1 || (all == 2 && rng.chance(1, 2)) {
                    self.bytes[at + i * 512..at + i * 512 + sector.len()].copy_from_slice(sector);
                }
            }
        }
    }

    fn die(&mut self) {
        for stream in self.streams.drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

struct Connection {
    stream: UnixStream,
    state: Arc<Mutex<State>>,
    nature: Nature,
    number: u32,
    kept: Vec<Vec<u8>>,
}

type Result<T> = std::io::Result<T>;

fn over<T>() -> Result<T> {
    Err(std::io::ErrorKind::ConnectionAborted.into())
}

impl Connection {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn option(&mut self, option: u32, kind: u32, data: &[u8]) -> Result<()> {
        let mut bytes = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
        for word in [option, kind, data.len() as u32] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(data);
        self.stream.write_all(&bytes)
    }

    fn greet(&mut self) -> Result<()> {
        self.number = self.state.lock().unwrap().connections;
        self.stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
        self.take::<4>()?;
        loop {
            let head = self.take::<16>()?;
            let option = u32::from_be_bytes(head[8..12].try_into().unwrap());
            let mut data = vec![0; u32::from_be_bytes(head[12..16].try_into().unwrap()) as usize];
            self.stream.read_exact(&mut data)?;
            let size = self.state.lock().unwrap().size.unwrap_or(SIZE);
            let export = [&size.to_be_bytes()[..], &self.nature.flags.to_be_bytes()].concat();
            match option {
                OPT_EXPORT_NAME => return self.stream.write_all(&export),
                OPT_STRUCTURED_REPLY if self.nature.structured => self.option(option, REP_ACK, b"")?,
                OPT_SET_META_CONTEXT if self.nature.structured => {
                    self.option(option, REP_META_CONTEXT, b"\0\0\0\x05base:allocation")?;
                    self.option(option, REP_ACK, b"")?;
                }
                OPT_GO if self.nature.knows_go && !data[4..].starts_with(b"disk") => {
                    self.option(option, REP_ERR_UNKNOWN, b"no such export")?;
                }
                OPT_GO if self.nature.knows_go => {
                    self.option(option, REP_INFO, &[&[0, 0][..], &export].concat())?;
                    // At least 512, at most 128 KiB.
                    self.option(option, REP_INFO, &[0, 3, 0, 0, 2, 0, 0, 0, 16, 0, 0, 2, 0, 0])?;
                    return self.option(option, REP_ACK, b"");
                }
                _ => self.option(option, REP_ERR_UNSUP, b"")?,
            }
        }
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            if self.nature.reorders {
                // When nothing more comes, the last is answered first.
                self.stream.set_read_timeout(Some(Duration::from_micros(200)))?;
                let mut byte = [0];
                let more = rustix::net::recv(&self.stream, &mut byte, rustix::net::RecvFlags::PEEK);
                self.stream.set_read_timeout(None)?;
                if more.is_err() {
                    for reply in std::mem::take(&mut self.kept).into_iter().rev() {
                        self.stream.write_all(&reply)?;
                    }
                }
            }
            let head = self.take::<28>()?;
            let command = u16::from_be_bytes([head[6], head[7]]);
            let forced = head[5] & CMD_FLAG_FUA as u8 != 0;
            let at = u64::from_be_bytes(head[16..24].try_into().unwrap()) as usize;
            let len = u32::from_be_bytes(head[24..28].try_into().unwrap()) as usize;
            let mut data = vec![0; if command == CMD_WRITE { len } else { 0 }];
            self.stream.read_exact(&mut data)?;
            if command == CMD_DISC {
                return Ok(());
            }
            let (fate, reply) = self.perform(command, forced, at, len, data, &head[8..16])?;
            match fate {
                Some(Fate::Twice) => self.stream.write_all(&reply.repeat(2))?,
                _ if self.nature.reorders => self.kept.push(reply),
                _ => self.stream.write_all(&reply)?,
            }
        }
    }

    fn perform(
        &mut self,
        command: u16,
        forced: bool,
        at: usize,
        len: usize,
        data: Vec<u8>,
        cookie: &[u8],
    ) -> Result<(Option<Fate>, Vec<u8>)> {
        let shared = self.state.clone();
        let mut state = shared.lock().unwrap();
        state.requests += 1;
        let number = state.requests;
        let fate = self.nature.fates.get(&number).copied();
        let mut rng = Rng::new(self.nature.seed ^ number);
        if fate == Some(Fate::Stalls) {
            state.stalled = true;
        }
        if state.stalled {
            drop(state);
            // For ever, or until the client has enough.
            while self.stream.read(&mut [0; 4096])? > 0 {}
            return over();
        }
        if let Some(Fate::Dies | Fate::Shrinks(_)) = fate {
            if let Some(Fate::Shrinks(size)) = fate {
                state.size = Some(size);
            }
            state.forget(&mut rng);
            state.die();
            return over();
        }
        let error = match fate {
            Some(Fate::Fails(error)) => error,
            Some(Fate::Leaves) => ESHUTDOWN,
            // The last sectors are bad.
            _ if at + len > SIZE as usize - 2048 => EIO,
            _ => 0,
        };
        *state.count.entry(command).or_default() += 1;
        let mut read = Vec::new();
        if error == 0 {
            match command {
                CMD_READ => read.extend(&state.bytes[at..at + len]),
                CMD_WRITE => {
                    state.forced += u32::from(forced);
                    state.write(at, &data, forced);
                }
                CMD_FLUSH => state.unflushed.clear(),
                CMD_WRITE_ZEROES => state.write(at, &vec![0; len], forced),
                CMD_TRIM => state.write(at, &vec![0xee; len], false),
                _ => {}
            }
        }
        let reply = self.reply(command, at, error, cookie, read, fate);
        match fate {
            Some(Fate::DiesUnanswered) => {
                state.forget(&mut rng);
                state.die();
                over()
            }
            Some(Fate::DiesAnswering) => {
                self.stream.write_all(&reply[..reply.len() - reply.len().div_ceil(3)])?;
                state.forget(&mut rng);
                state.die();
                over()
            }
            Some(Fate::Leaves) => {
                self.stream.write_all(&reply)?;
                state.forget(&mut rng);
                state.die();
                over()
            }
            Some(Fate::Cut) => over(),
            _ => Ok((fate, reply)),
        }
    }

    fn reply(&self, command: u16, at: usize, error: u32, cookie: &[u8], read: Vec<u8>, fate: Option<Fate>) -> Vec<u8> {
        let mut cookie = cookie.to_vec();
        if fate == Some(Fate::Other) {
            cookie[0] ^= 0x40;
        }
        if let Some(Fate::Chunks(chunks)) = fate {
            return chunked(chunks, &cookie, at as u64, &read);
        }
        let mark: u32 = if fate == Some(Fate::Garbage) { 0x0bad_0bad } else { SIMPLE_REPLY_MAGIC };
        if self.nature.structured && command == CMD_READ {
            if error != 0 {
                let text = [&error.to_be_bytes()[..], b"\0\x03bad"].concat();
                return chunk(REPLY_FLAG_DONE, REPLY_TYPE_ERROR, &cookie, &text);
            }
            // Two chunks, the later first, and an end of its own.
            let half = read.len() / 1024 * 512;
            let mut reply = data_chunk(0, &cookie, (at + half) as u64, &read[half..]);
            if half > 0 {
                reply.extend(data_chunk(0, &cookie, at as u64, &read[..half]));
            }
            reply.extend(chunk(REPLY_FLAG_DONE, REPLY_TYPE_NONE, &cookie, b""));
            return reply;
        }
        [&mark.to_be_bytes()[..], &error.to_be_bytes(), &cookie, &read].concat()
    }
}

fn chunk(flags: u16, kind: u16, cookie: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie);
    bytes.extend((payload.len() as u32).to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn data_chunk(flags: u16, cookie: &[u8], at: u64, data: &[u8]) -> Vec<u8> {
    chunk(flags, REPLY_TYPE_OFFSET_DATA, cookie, &[&at.to_be_bytes()[..], data].concat())
}

fn chunked(chunks: Chunks, cookie: &[u8], at: u64, read: &[u8]) -> Vec<u8> {
    let hole = |at: u64, len: u32| {
        chunk(REPLY_FLAG_DONE, REPLY_TYPE_OFFSET_HOLE, cookie, &[&at.to_be_bytes()[..], &len.to_be_bytes()].concat())
    };
    match chunks {
        Chunks::Overlapping => {
            [data_chunk(0, cookie, at, &read[..512]), data_chunk(REPLY_FLAG_DONE, cookie, at + 256, &read[256..])]
                .concat()
        }
        Chunks::Outside => hole(at.wrapping_sub(512), read.len() as u32),
        Chunks::Short => data_chunk(REPLY_FLAG_DONE, cookie, at, &read[..read.len() - 1]),
        Chunks::TooLong => {
            let mut bytes = data_chunk(0, cookie, at, read);
            bytes[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
            bytes
        }
        Chunks::Endless => chunk(0, REPLY_TYPE_NONE, cookie, b""),
        Chunks::Zero => [data_chunk(0, cookie, at, &read[..100]), hole(at + 100, read.len() as u32 - 100)].concat(),
        Chunks::Status(extents) => {
            let mut payload = 5u32.to_be_bytes().to_vec();
            for (len, state) in extents {
                payload.extend(len.to_be_bytes());
                payload.extend(state.to_be_bytes());
            }
            chunk(REPLY_FLAG_DONE, REPLY_TYPE_BLOCK_STATUS, cookie, &payload)
        }
    }
}
