//! Which bytes of a file are stored; between them are holes.

use ordo_vfs::{Error, FileSystem, Refusal, Result, Whence};
use ordofs::path::Held;
use std::ops::Range;

/// The first stored range at or behind `at`. A file system that does not report holes has none.
pub(crate) async fn next<F: FileSystem>(file: &Held<F>, at: u64) -> Result<Option<Range<u64>>> {
    let (fs, node, size) = (file.fs(), file.node(), file.attr().size);
    if at >= size {
        return Ok(None);
    }
    let data = match fs.seek(node, at, Whence::Data).await {
        Err(Error::Refused(Refusal::BeyondEnd)) => return Ok(None),
        Err(Error::Refused(Refusal::NotSupported)) => at,
        data => data?,
    };
    let hole = match fs.seek(node, data, Whence::Hole).await {
        Err(Error::Refused(Refusal::NotSupported)) => size,
        hole => hole?.min(size),
    };
    Ok(Some(data..hole).filter(|range| !range.is_empty()))
}
