//! The handshake: fixed newstyle, the options that clients use, and one export.
//!
//! H1. A client has a fixed time and a fixed number of options. No option is longer than any that is known.
//! H2. TLS is not offered: an option that asks for it is refused as unknown, as the protocol wants it.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use ordo_disk::nbd_proto as proto;
use ordo_sockets::Stream;

use crate::REQUEST_MOST;
use crate::export::Description;
use crate::jobs::Session;
use crate::reply::CONTEXT;

/// How long a client may take.
const PATIENCE: Duration = Duration::from_secs(30);
const OPTIONS_MOST: usize = 64;
const OPTION_LEN_MOST: u32 = 16 << 10;

/// The connection of a client that has not chosen yet: every byte must come before a deadline (H1).
struct Timed<'a> {
    stream: &'a mut Stream,
    until: Instant,
}

impl Timed<'_> {
    fn rest(&self) -> io::Result<()> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_timeouts(Some(rest))
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.rest()?;
        self.stream.read(into)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.rest()?;
        self.stream.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Negotiates. `None`: the client wanted no export, and is gone.
pub(crate) fn shake_hands(stream: &mut Stream, export: &Description, name: &str) -> io::Result<Option<Session>> {
    let mut timed = Timed { stream, until: Instant::now() + PATIENCE };
    let session = negotiate(&mut timed, export, name)?;
    stream.set_timeouts(None)?;
    Ok(session)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The flags of the export. Only structured replies can come in fragments, so only with them a client may ask for none.
pub(crate) fn flags(export: &Description, structured: bool) -> u16 {
    use proto::*;
    let unfragmented = if structured { FLAG_SEND_DF } else { 0 };
    let rotational = if export.rotates { FLAG_ROTATIONAL } else { 0 };
    let always = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_CAN_MULTI_CONN | unfragmented | rotational;
    match export.read_only {
        true => always | FLAG_READ_ONLY,
        false => always | FLAG_SEND_TRIM | FLAG_SEND_WRITE_ZEROES | FLAG_SEND_FAST_ZERO,
    }
}

fn negotiate<S: Read + Write>(stream: &mut S, export: &Description, name: &str) -> io::Result<Option<Session>> {
    let mut greeting = [proto::MAGIC, proto::OPTION_MAGIC].map(u64::to_be_bytes).concat();
    greeting.extend((proto::FLAG_FIXED_NEWSTYLE | proto::FLAG_NO_ZEROES).to_be_bytes());
    stream.write_all(&greeting)?;
    let client = u32::from_be_bytes(take(stream)?);
    if client & !u32::from(proto::FLAG_FIXED_NEWSTYLE | proto::FLAG_NO_ZEROES) != 0 {
        return Err(broken("unknown flags of a client"));
    }
    let no_zeroes = client & u32::from(proto::FLAG_NO_ZEROES) != 0;
    let mut talk = Talk { stream, export, name, session: Session::default() };
    for _ in 0..OPTIONS_MOST {
        match take(talk.stream) {
            Ok(magic) if u64::from_be_bytes(magic) == proto::OPTION_MAGIC => {}
            Ok(_) => return Err(broken("an option does not begin as one")),
            // A client that was refused may leave without a word.
            Err(gone) if gone.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let (option, len) = (u32::from_be_bytes(take(talk.stream)?), u32::from_be_bytes(take(talk.stream)?));
        if len > OPTION_LEN_MOST {
            return Err(broken("an option that is too long"));
        }
        let mut data = vec![0; len as usize];
        talk.stream.read_exact(&mut data)?;
        match talk.answer(option, &data, no_zeroes)? {
            Next::Option => {}
            Next::Requests => return Ok(Some(talk.session)),
            Next::End => return Ok(None),
        }
    }
    Err(broken("too many options"))
}

/// What follows an option.
enum Next {
    Option,
    Requests,
    End,
}

struct Talk<'a, S> {
    stream: &'a mut S,
    export: &'a Description,
    name: &'a str,
    session: Session,
}

impl<S: Read + Write> Talk<'_, S> {
    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<Next> {
        let mut message = proto::OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
        for word in [option, kind, data.len() as u32] {
            message.extend(word.to_be_bytes());
        }
        message.extend(data);
        self.stream.write_all(&message)?;
        Ok(Next::Option)
    }

    /// An empty name is the one export there is.
    fn is_known(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    fn answer(&mut self, option: u32, data: &[u8], no_zeroes: bool) -> io::Result<Next> {
        use proto::*;
        match option {
            OPT_EXPORT_NAME if self.is_known(data) => {
                let mut message = self.export.size.to_be_bytes().to_vec();
                message.extend(flags(self.export, self.session.structured).to_be_bytes());
                message.resize(message.len() + if no_zeroes { 0 } else { 124 }, 0);
                self.stream.write_all(&message)?;
                Ok(Next::Requests)
            }
            // The old option has no reply for a name that is unknown.
            OPT_EXPORT_NAME => Err(broken("no export has the name that the client wants")),
            OPT_ABORT => {
                // The client need not wait for the answer.
                let _ = self.reply(option, REP_ACK, &[]);
                Ok(Next::End)
            }
            OPT_LIST if data.is_empty() => {
                let mut listed = (self.name.len() as u32).to_be_bytes().to_vec();
                listed.extend(self.name.as_bytes());
                self.reply(option, REP_SERVER, &listed)?;
                self.reply(option, REP_ACK, &[])
            }
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.session.structured = true;
                self.reply(option, REP_ACK, &[])
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => self.reply(option, REP_ERR_INVALID, b"this option has no data"),
            OPT_INFO | OPT_GO => self.info(option, data),
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => self.contexts(option, data),
            _ => self.reply(option, REP_ERR_UNSUP, b"this server does not know the option"),
        }
    }

    fn info(&mut self, option: u32, data: &[u8]) -> io::Result<Next> {
        use proto::*;
        let mut rest = data;
        let parsed = name_of(&mut rest).and_then(|name| Some((name, u16::from_be_bytes(cut(&mut rest)?))));
        let Some((name, _)) = parsed.filter(|(_, count)| rest.len() == usize::from(*count) * 2) else {
            return self.reply(option, REP_ERR_INVALID, b"a malformed request for an export");
        };
        if !self.is_known(name) {
            return self.reply(option, REP_ERR_UNKNOWN, b"no export has this name");
        }
        let wanted = |kind: u16| rest.chunks_exact(2).any(|two| two == kind.to_be_bytes());
        let mut infos = vec![
            [&self.export.size.to_be_bytes()[..], &flags(self.export, self.session.structured).to_be_bytes()].concat(),
        ];
        let mut kinds = vec![INFO_EXPORT];
        if wanted(INFO_NAME) {
            kinds.push(INFO_NAME);
            infos.push(self.name.as_bytes().to_vec());
        }
        if wanted(INFO_DESCRIPTION) {
            kinds.push(INFO_DESCRIPTION);
            infos.push(self.export.text.as_bytes().to_vec());
        }
        // Also for who did not ask: smaller requests are served, but cost more.
        kinds.push(INFO_BLOCK_SIZE);
        infos.push([self.export.least, self.export.preferred, REQUEST_MOST].map(u32::to_be_bytes).concat());
        for (kind, info) in kinds.into_iter().zip(infos) {
            self.reply(option, REP_INFO, &[&kind.to_be_bytes()[..], &info].concat())?;
        }
        self.reply(option, REP_ACK, &[])?;
        Ok(if option == OPT_GO { Next::Requests } else { Next::Option })
    }

    fn contexts(&mut self, option: u32, data: &[u8]) -> io::Result<Next> {
        use proto::*;
        let sets = option == OPT_SET_META_CONTEXT;
        if sets {
            self.session.contexts = false;
            if !self.session.structured {
                return self.reply(option, REP_ERR_INVALID, b"block status needs structured replies");
            }
        }
        let mut rest = data;
        let Some((name, queries)) = queries(&mut rest) else {
            return self.reply(option, REP_ERR_INVALID, b"a malformed request for contexts");
        };
        if !self.is_known(name) {
            return self.reply(option, REP_ERR_UNKNOWN, b"no export has this name");
        }
        let lists_all = !sets && queries.is_empty();
        let base = |query: &&[u8]| *query == BASE_ALLOCATION.as_bytes() || !sets && *query == b"base:";
        if lists_all || queries.iter().any(base) {
            self.session.contexts |= sets;
            let id = if sets { CONTEXT } else { 0 };
            self.reply(option, REP_META_CONTEXT, &[&id.to_be_bytes()[..], BASE_ALLOCATION.as_bytes()].concat())?;
        }
        self.reply(option, REP_ACK, &[])
    }
}

/// The name of an export, and the names of contexts; `None` if they do not fill the data.
fn queries<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Vec<&'a [u8]>)> {
    let name = name_of(rest)?;
    let count = u32::from_be_bytes(cut(rest)?);
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(name_of(rest)?);
    }
    rest.is_empty().then_some((name, queries))
}

/// A length, and as many bytes.
fn name_of<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u32::from_be_bytes(cut(rest)?) as usize;
    let (name, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(name)
}

fn cut<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

fn take<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
