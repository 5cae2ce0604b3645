//! The handshake: what the server exports, and what it supports.

use std::io::{Read, Write};

use super::NbdError;
use super::proto::{
    FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, FLAG_READ_ONLY, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_TRIM,
    INFO_BLOCK_SIZE, INFO_EXPORT, MAGIC, OPT_EXPORT_NAME, OPT_GO, OPTION_MAGIC, OPTION_REPLY_MAGIC, REP_ACK,
    REP_ERR_UNSUP, REP_ERROR, REP_INFO,
};
use crate::block::SECTOR;

/// The longest option reply that is read (nbd-2); no reply that we request is longer.
const REPLY_MAX: u32 = 64 * 1024;

/// What the server exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size: u64,
    flags: u16,
    pub(super) sector: u32,
    pub(super) max_transfer: u32,
}

impl Export {
    /// The defaults of a server that reports no block sizes.
    fn new(size: u64, flags: u16) -> Export {
        Export { size, flags, sector: SECTOR as u32, max_transfer: 1 << 20 }
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.flags & FLAG_READ_ONLY != 0
    }

    pub(super) fn can_flush(&self) -> bool {
        self.flags & FLAG_SEND_FLUSH != 0
    }

    pub(super) fn can_force(&self) -> bool {
        self.flags & FLAG_SEND_FUA != 0
    }

    pub(super) fn can_trim(&self) -> bool {
        self.flags & FLAG_SEND_TRIM != 0
    }
}

pub(super) fn shake_hands<S: Read + Write>(stream: &mut S, name: &str) -> Result<Export, NbdError> {
    expect("the greeting", take_u64(stream)?, MAGIC)?;
    expect("the style of the handshake", take_u64(stream)?, OPTION_MAGIC)?;
    let server = take_u16(stream)?;
    let client = server & (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
    stream.write_all(&u32::from(client).to_be_bytes())?;
    if server & FLAG_FIXED_NEWSTYLE != 0
        && let Some(export) = go(stream, name)?
    {
        return Ok(export);
    }
    // The old way: if the name is wrong, the server only closes the connection.
    send_option(stream, OPT_EXPORT_NAME, name.as_bytes())?;
    let (size, flags) = (take_u64(stream)?, take_u16(stream)?);
    if client & FLAG_NO_ZEROES == 0 {
        stream.read_exact(&mut [0; 124])?;
    }
    Ok(Export::new(size, flags))
}

/// Requests the export and its block sizes. `None`: the server does not know this option.
fn go<S: Read + Write>(stream: &mut S, name: &str) -> Result<Option<Export>, NbdError> {
    let mut ask = (name.len() as u32).to_be_bytes().to_vec();
    ask.extend(name.as_bytes());
    ask.extend(1u16.to_be_bytes());
    ask.extend(INFO_BLOCK_SIZE.to_be_bytes());
    send_option(stream, OPT_GO, &ask)?;
    let (mut export, mut blocks) = (None, None);
    loop {
        let (kind, data) = option_reply(stream)?;
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
            code if code & REP_ERROR != 0 => {
                return Err(NbdError::Refused { code, text: String::from_utf8_lossy(&data).into_owned() });
            }
            other => return Err(NbdError::Protocol { what: "the kind of an option's reply", found: other.into() }),
        }
    }
}

fn with_blocks(mut export: Export, blocks: Option<(u32, u32)>) -> Result<Export, NbdError> {
    if let Some((least, most)) = blocks {
        if !least.is_power_of_two() || least > 64 * 1024 {
            return Err(NbdError::Protocol { what: "the smallest block", found: least.into() });
        }
        export.sector = least.max(SECTOR as u32);
        export.max_transfer = most.max(export.sector);
    }
    Ok(export)
}

fn send_option(stream: &mut impl Write, option: u32, data: &[u8]) -> Result<(), NbdError> {
    let mut message = OPTION_MAGIC.to_be_bytes().to_vec();
    message.extend(option.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    Ok(stream.write_all(&message)?)
}

fn option_reply(stream: &mut impl Read) -> Result<(u32, Vec<u8>), NbdError> {
    expect("the mark of an option's reply", take_u64(stream)?, OPTION_REPLY_MAGIC)?;
    let _option = take_u32(stream)?;
    let (kind, len) = (take_u32(stream)?, take_u32(stream)?);
    if len > REPLY_MAX {
        return Err(NbdError::Protocol { what: "the length of an option's reply", found: len.into() });
    }
    let mut data = vec![0; len as usize];
    stream.read_exact(&mut data)?;
    Ok((kind, data))
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
