//! Requests as they come from the wire, and what of them is valid.

use std::io::{self, Read};

use ordo_disk::nbd_proto as proto;
use ordo_sockets::{Stall, Watched};

use crate::REQUEST_MOST;
use crate::export::{Description, Failure};

/// A request's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) flags: u16,
    pub(crate) command: u16,
    /// The client's name for it.
    pub(crate) cookie: u64,
    pub(crate) at: u64,
    pub(crate) len: u32,
}

impl Request {
    /// The next request; `None` if the client has closed the connection before it.
    pub(crate) fn receive(stream: &mut impl Read, stall: &Stall) -> io::Result<Option<Request>> {
        let mut header = [0; 28];
        let begun = loop {
            match stream.read(&mut header) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if begun == 0 {
            return Ok(None);
        }
        Watched(stream, stall).read_exact(&mut header[begun..])?;
        Request::parse(&header).map(Some).ok_or_else(|| io::Error::other("a request does not begin as one"))
    }

    fn parse(header: &[u8; 28]) -> Option<Request> {
        fn field<const N: usize>(header: &[u8], at: usize) -> Option<[u8; N]> {
            header.get(at..)?.first_chunk().copied()
        }
        let magic = u32::from_be_bytes(field(header, 0)?);
        let request = Request {
            flags: u16::from_be_bytes(field(header, 4)?),
            command: u16::from_be_bytes(field(header, 6)?),
            cookie: u64::from_be_bytes(field(header, 8)?),
            at: u64::from_be_bytes(field(header, 16)?),
            len: u32::from_be_bytes(field(header, 24)?),
        };
        (magic == proto::REQUEST_MAGIC).then_some(request)
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// It only answers: nothing is changed, and nothing made durable.
    pub(crate) fn only_answers(&self) -> bool {
        matches!(self.command, proto::CMD_READ | proto::CMD_BLOCK_STATUS)
    }

    /// Whether data follows the header.
    pub(crate) fn has_data(&self) -> bool {
        self.command == proto::CMD_WRITE
    }

    /// The memory that the request, or its reply, takes.
    pub(crate) fn weight(&self) -> u64 {
        match self.command {
            proto::CMD_WRITE | proto::CMD_READ => u64::from(self.len.min(REQUEST_MOST)),
            _ => 0,
        }
    }

    /// Refuses what cannot be done as a whole (serving-5). `contexts`: block status was negotiated.
    pub(crate) fn check(&self, export: &Description, contexts: bool) -> Result<(), Failure> {
        use proto::*;
        let (known, changes) = match self.command {
            CMD_READ => (CMD_FLAG_DF, false),
            CMD_WRITE => (CMD_FLAG_FUA, true),
            CMD_TRIM => (CMD_FLAG_FUA, true),
            CMD_WRITE_ZEROES => (CMD_FLAG_FUA | CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO, true),
            CMD_FLUSH => return Ok(()),
            CMD_BLOCK_STATUS if contexts => (CMD_FLAG_REQ_ONE, false),
            CMD_BLOCK_STATUS => return Err(Failure::invalid("block status was not negotiated")),
            other => return Err(Failure::invalid(format!("this server has no command {other}"))),
        };
        // FUA is allowed on every command once it is offered, and changes nothing where nothing is written.
        let unknown = self.flags & !(known | CMD_FLAG_FUA);
        if unknown != 0 {
            return Err(Failure::invalid(format!("command {} has no flags {unknown:#x}", self.command)));
        }
        if changes && export.read_only {
            return Err(Failure::new(EPERM, "the export is read-only"));
        }
        if self.command == CMD_READ && self.len > REQUEST_MOST {
            return Err(Failure::new(EOVERFLOW, format!("a read has at most {REQUEST_MOST} bytes")));
        }
        if self.at.checked_add(self.len.into()).is_none_or(|end| end > export.size) {
            let code = if changes { ENOSPC } else { EINVAL };
            return Err(Failure::new(code, format!("the export ends at byte {}", export.size)));
        }
        if self.len == 0 {
            return Err(Failure::invalid("no bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: u16, flags: u16, at: u64, len: u32) -> Request {
        Request { flags, command, cookie: 7, at, len }
    }

    fn code(request: Request, read_only: bool, contexts: bool) -> u32 {
        let export = Description {
            size: 4096,
            read_only,
            least: 512,
            preferred: 4096,
            piece: 512,
            fast_zeroes: false,
            rotates: false,
            text: String::new(),
        };
        request.check(&export, contexts).err().map_or(0, |failure| failure.code)
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        use proto::*;
        for (wanted, command, flags, at, len) in [
            (0, CMD_READ, 0, 0, 4096),
            (0, CMD_READ, CMD_FLAG_DF, 4095, 1),
            (EINVAL, CMD_READ, 0, 4095, 2),
            (EINVAL, CMD_READ, 0, u64::MAX, 2),
            (EINVAL, CMD_READ, 0, 0, 0),
            (EOVERFLOW, CMD_READ, 0, 0, REQUEST_MOST + 1),
            (EINVAL, CMD_READ, CMD_FLAG_NO_HOLE, 0, 1),
            (0, CMD_WRITE, CMD_FLAG_FUA, 0, 4096),
            (ENOSPC, CMD_WRITE, 0, 4096, 1),
            (EINVAL, CMD_WRITE, CMD_FLAG_DF, 0, 1),
            (0, CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO | CMD_FLAG_NO_HOLE, 0, 1),
            (ENOSPC, CMD_WRITE_ZEROES, 0, 1, u32::MAX),
            (ENOSPC, CMD_TRIM, 0, u64::MAX - 1, 2),
            (0, CMD_FLUSH, 0, 9, 9),
            (0, CMD_BLOCK_STATUS, CMD_FLAG_REQ_ONE, 0, 4096),
            (EINVAL, CMD_CACHE, 0, 0, 1),
            (EINVAL, 9, 0, 0, 1),
        ] {
            assert_eq!(code(request(command, flags, at, len), false, true), wanted, "{command} {flags} {at} {len}");
        }
        assert_eq!(code(request(CMD_WRITE, 0, 0, 1), true, true), EPERM);
        assert_eq!(code(request(CMD_TRIM, 0, 0, 1), true, true), EPERM);
        assert_eq!(code(request(CMD_BLOCK_STATUS, 0, 0, 1), false, false), EINVAL);
    }
}
