//! The handshake: what the server exports, and what it supports.

use std::io::{Read, Write};

use super::error::NbdError;
#[cfg(feature = "tls")]
use super::proto::OPT_STARTTLS;
use super::proto::{
    BASE_ALLOCATION, FLAG_CAN_MULTI_CONN, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, FLAG_READ_ONLY, FLAG_ROTATIONAL,
    FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES, INFO_BLOCK_SIZE, INFO_EXPORT, MAGIC,
    OPT_EXPORT_NAME, OPT_GO, OPT_SET_META_CONTEXT, OPT_STRUCTURED_REPLY, OPTION_MAGIC, OPTION_REPLY_MAGIC, REP_ACK,
    REP_ERR_TLS_REQD, REP_ERR_UNSUP, REP_ERROR, REP_INFO, REP_META_CONTEXT,
};
use crate::block::SECTOR;

/// The longest option reply that is read (nbd-2); no reply that we request is longer.
const REPLY_MAX: u32 = 64 * 1024;

/// The most replies to one option.
const REPLIES_MAX: u32 = 1024;

/// What the server exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size: u64,
    flags: u16,
    pub(super) sector: u32,
    pub(super) max_transfer: u32,
    /// Replies come in chunks.
    pub(super) structured: bool,
    /// The number of the context that tells holes, on this connection.
    pub(super) allocation: Option<u32>,
}

impl Export {
    /// The defaults of a server that reports no block sizes.
    fn new(size: u64, flags: u16) -> Export {
        let (sector, max_transfer) = (SECTOR as u32, 1 << 20);
        Export { size, flags, sector, max_transfer, structured: false, allocation: None }
    }

    /// That of a server in this process, which replies in chunks.
    pub(super) fn of_disk(size: u64, flags: u16, sector: u32, max_transfer: u32) -> Export {
        Export { size, flags, sector, max_transfer, structured: true, allocation: None }
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.has(FLAG_READ_ONLY)
    }

    pub(super) fn rotates(&self) -> bool {
        self.has(FLAG_ROTATIONAL)
    }

    pub(super) fn can_flush(&self) -> bool {
        self.has(FLAG_SEND_FLUSH)
    }

    pub(super) fn can_force(&self) -> bool {
        self.has(FLAG_SEND_FUA)
    }

    pub(super) fn can_trim(&self) -> bool {
        self.has(FLAG_SEND_TRIM)
    }

    pub(super) fn can_zero(&self) -> bool {
        self.has(FLAG_SEND_WRITE_ZEROES)
    }

    /// A flush on one connection covers what was answered on all.
    pub(super) fn can_share(&self) -> bool {
        self.has(FLAG_CAN_MULTI_CONN)
    }

    /// In what the disk of another handshake differs (nbd-7): the field, what it was, and what it is.
    pub(super) fn difference(&self, now: &Export) -> Option<(&'static str, u64, u64)> {
        let fields = |export: &Export| {
            [
                ("its size", export.size),
                ("what it can do, as flags,", u64::from(export.flags)),
                ("its smallest block", u64::from(export.sector)),
                ("its largest request", u64::from(export.max_transfer)),
                ("its way to reply", u64::from(export.structured)),
                ("its knowledge of holes", u64::from(export.allocation.is_some())),
            ]
        };
        let both = fields(self).into_iter().zip(fields(now));
        both.map(|((what, before), (_, now))| (what, before, now)).find(|(_, before, now)| before != now)
    }
}

/// The first part: the server's greeting, and our answer. The flags that both sides have.
pub(super) fn greet<S: Read + Write>(stream: &mut S) -> Result<u16, NbdError> {
    expect("the greeting", take_u64(stream)?, MAGIC)?;
    expect("the style of the handshake", take_u64(stream)?, OPTION_MAGIC)?;
    let both = take_u16(stream)? & (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
    stream.write_all(&u32::from(both).to_be_bytes())?;
    Ok(both)
}

/// The part between: from its answer on the connection is encrypted.
#[cfg(feature = "tls")]
pub(super) fn start_tls<S: Read + Write>(stream: &mut S, both: u16) -> Result<(), NbdError> {
    if both & FLAG_FIXED_NEWSTYLE == 0 {
        return Err(NbdError::ServerWithoutTls { code: 0 });
    }
    send_option(stream, OPT_STARTTLS, &[])?;
    match option_reply(stream, OPT_STARTTLS)?.0 {
        REP_ACK => Ok(()),
        code => Err(NbdError::ServerWithoutTls { code }),
    }
}

/// The last part: the export.
pub(super) fn choose<S: Read + Write>(stream: &mut S, both: u16, name: &str) -> Result<Export, NbdError> {
    let (mut structured, mut allocation) = (false, None);
    if both & FLAG_FIXED_NEWSTYLE != 0 {
        send_option(stream, OPT_STRUCTURED_REPLY, &[])?;
        structured = option_reply(stream, OPT_STRUCTURED_REPLY)?.0 == REP_ACK;
        if structured {
            allocation = context(stream, name)?;
        }
        if let Some(export) = go(stream, name)? {
            return Ok(Export { structured, allocation, ..export });
        }
    }
    // The old way: if the name is wrong, the server only closes the connection.
    send_option(stream, OPT_EXPORT_NAME, name.as_bytes())?;
    let (size, flags) = (take_u64(stream)?, take_u16(stream)?);
    if both & FLAG_NO_ZEROES == 0 {
        stream.read_exact(&mut [0; 124])?;
    }
    Ok(Export { structured, allocation, ..Export::new(size, flags) })
}

/// Requests the context that tells holes. `None`: the server has none.
fn context<S: Read + Write>(stream: &mut S, name: &str) -> Result<Option<u32>, NbdError> {
    let mut ask = with_len(name.as_bytes());
    ask.extend(1u32.to_be_bytes());
    ask.extend(with_len(BASE_ALLOCATION.as_bytes()));
    send_option(stream, OPT_SET_META_CONTEXT, &ask)?;
    let mut found = None;
    for _ in 0..REPLIES_MAX {
        match option_reply(stream, OPT_SET_META_CONTEXT)? {
            (REP_META_CONTEXT, data) if data.get(4..) == Some(BASE_ALLOCATION.as_bytes()) => {
                found = field(&data, 0).map(u32::from_be_bytes);
            }
            (REP_META_CONTEXT, _) => {}
            (REP_ACK, _) => return Ok(found),
            (code, _) if code & REP_ERROR != 0 => return Ok(None),
            (other, _) => return Err(odd("the kind of an option's reply", other)),
        }
    }
    Err(odd("the number of replies to an option", REPLIES_MAX))
}

/// Requests the export and its block sizes. `None`: the server does not know this option.
fn go<S: Read + Write>(stream: &mut S, name: &str) -> Result<Option<Export>, NbdError> {
    let mut ask = with_len(name.as_bytes());
    ask.extend(1u16.to_be_bytes());
    ask.extend(INFO_BLOCK_SIZE.to_be_bytes());
    send_option(stream, OPT_GO, &ask)?;
    let (mut export, mut blocks) = (None, None);
    for _ in 0..REPLIES_MAX {
        let (kind, data) = option_reply(stream, OPT_GO)?;
        match kind {
            REP_ACK => {
                let found = export.ok_or(NbdError::Protocol { what: "the description of the export", found: 0 })?;
                return Ok(Some(with_blocks(found, blocks)?));
            }
            REP_INFO => match (field(&data, 0).map(u16::from_be_bytes), field(&data, 2), field(&data, 10)) {
                (Some(INFO_EXPORT), Some(size), Some(flags)) => {
                    export = Some(Export::new(u64::from_be_bytes(size), u16::from_be_bytes(flags)));
                }
                (Some(INFO_BLOCK_SIZE), ..) => {
                    blocks = field(&data, 2).map(u32::from_be_bytes).zip(field(&data, 10).map(u32::from_be_bytes));
                }
                _ => {}
            },
            REP_ERR_UNSUP => return Ok(None),
            REP_ERR_TLS_REQD => return Err(NbdError::OnlyTls),
            code if code & REP_ERROR != 0 => {
                return Err(NbdError::Refused { code, text: String::from_utf8_lossy(&data).into_owned() });
            }
            other => return Err(odd("the kind of an option's reply", other)),
        }
    }
    Err(odd("the number of replies to an option", REPLIES_MAX))
}

fn with_blocks(mut export: Export, blocks: Option<(u32, u32)>) -> Result<Export, NbdError> {
    if let Some((least, most)) = blocks {
        if !least.is_power_of_two() || least > 64 * 1024 {
            return Err(odd("the smallest block", least));
        }
        export.sector = least.max(SECTOR as u32);
        export.max_transfer = most.max(export.sector);
    }
    Ok(export)
}

fn with_len(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn send_option(stream: &mut impl Write, option: u32, data: &[u8]) -> Result<(), NbdError> {
    let mut message = OPTION_MAGIC.to_be_bytes().to_vec();
    message.extend(option.to_be_bytes());
    message.extend(with_len(data));
    Ok(stream.write_all(&message)?)
}

fn option_reply(stream: &mut impl Read, option: u32) -> Result<(u32, Vec<u8>), NbdError> {
    expect("the mark of an option's reply", take_u64(stream)?, OPTION_REPLY_MAGIC)?;
    expect("the option of a reply", take_u32(stream)?.into(), option.into())?;
    let (kind, len) = (take_u32(stream)?, take_u32(stream)?);
    if len > REPLY_MAX {
        return Err(odd("the length of an option's reply", len));
    }
    let mut data = vec![0; len as usize];
    stream.read_exact(&mut data)?;
    Ok((kind, data))
}

fn odd(what: &'static str, found: u32) -> NbdError {
    NbdError::Protocol { what, found: found.into() }
}

fn expect(what: &'static str, found: u64, wanted: u64) -> Result<(), NbdError> {
    if found == wanted { Ok(()) } else { Err(NbdError::Protocol { what, found }) }
}

fn field<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

fn take<const N: usize>(stream: &mut impl Read) -> Result<[u8; N], NbdError> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn take_u16(stream: &mut impl Read) -> Result<u16, NbdError> {
    Ok(u16::from_be_bytes(take(stream)?))
}

fn take_u32(stream: &mut impl Read) -> Result<u32, NbdError> {
    Ok(u32::from_be_bytes(take(stream)?))
}

fn take_u64(stream: &mut impl Read) -> Result<u64, NbdError> {
    Ok(u64::from_be_bytes(take(stream)?))
}
