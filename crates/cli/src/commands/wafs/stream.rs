//! `ordo wafs` on a stream of messages: making one, and what it holds.

use crate::out::{Out, Outcome, Status, print};
use crate::{size, text};
use anyhow::{Context, anyhow};
use ordo_wafs::stream::{Kind, StreamLog, Tail};
use ordofs::disk::{FileOptions, LogHome, LogStream};
use ordofs::rt::Rt;
use serde::Serialize;
use std::path::Path;

/// Makes the stream at this address.
pub(super) fn make(address: &Path, size: Option<u64>, replicas: usize, force: bool) -> Outcome {
    let size = size.ok_or_else(|| crate::out::usage("a stream has no size of its own: give --size"))?;
    if size < ordo_wafs::stream::STREAM_LEAST {
        let least = size::human(ordo_wafs::stream::STREAM_LEAST);
        return Err(crate::out::usage(format!("--size {size}: the stream of a log has at least {least}")));
    }
    made(&address.to_string_lossy(), size, replicas, force)?;
    Ok(Status::DONE)
}

#[cfg(feature = "nats")]
fn made(address: &str, bytes: u64, replicas: usize, force: bool) -> anyhow::Result<()> {
    if !ordofs::nats::REPLICAS.contains(&replicas) || replicas.is_multiple_of(2) {
        return Err(crate::out::usage(format!("--replicas {replicas}: 1 to 5, and an odd number")));
    }
    Ok(ordofs::nats::make(address, ordofs::nats::Settings { bytes, replicas }, force)?)
}

#[cfg(not(feature = "nats"))]
fn made(_: &str, _: u64, _: usize, _: bool) -> anyhow::Result<()> {
    Err(ordofs::OpenError::NoStreams.into())
}

/// Opens the stream at this address.
pub(super) fn open(rt: &Rt, address: &Path) -> anyhow::Result<LogStream> {
    match ordofs::open_log(rt, address, &FileOptions::default(), &crate::messages::on_stderr())? {
        LogHome::Stream(stream) => Ok(stream),
        LogHome::Disk(_) => Err(anyhow!("{}: this is no stream", address.display())),
    }
}

#[derive(Serialize)]
struct InfoJson {
    stream: String,
    size: u64,
    used: u64,
    first: u64,
    last: u64,
    /// The last log, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
}

#[derive(Serialize)]
struct LogJson {
    id: String,
    volume: String,
    /// The first record that a recovery needs.
    needed_from: u64,
    /// `open`, `ended` or `taken`.
    state: &'static str,
}

fn state_of(kind: Kind) -> &'static str {
    match kind {
        Kind::End => "ended",
        Kind::Taken => "taken",
        _ => "open",
    }
}

/// What the stream holds.
pub(super) fn info(address: &Path, json: bool) -> Outcome {
    let rt = Rt::real_time();
    let stream = open(&rt, address)?;
    let held = rt.block_on(stream.messages.state())?;
    let (name, size) = (stream.messages.name(), stream.messages.limits().bytes);
    let log = match rt.block_on(StreamLog::open(&rt, stream)) {
        Ok(log) => Some(LogJson {
            id: format!("{:016x}", log.id()),
            volume: format!("{:016x}", log.volume()),
            needed_from: log.low().0,
            state: state_of(log.last_kind()),
        }),
        Err(ordo_wafs::Error::NotALog) => None,
        Err(error) => return Err(error).context(name),
    };
    let found = InfoJson { stream: name, size, used: held.bytes, first: held.first, last: held.last, log };
    print(|out| {
        if json {
            return out.json(&found);
        }
        out.line(format!("stream:     {}", found.stream))?;
        out.line(format!("messages:   {} to {}", found.first, found.last))?;
        out.line(format!("size:       {}, used {}", size::human(found.size), size::human(found.used)))?;
        match &found.log {
            None => out.line("log:        none yet"),
            Some(log) => {
                out.line(format!("log:        {} of volume {}, {}", log.id, log.volume, log.state))?;
                out.line(format!("needed:     from {} on", log.needed_from))
            }
        }
    })?;
    Ok(Status::DONE)
}

#[derive(Serialize)]
struct RecordJson {
    lsn: u64,
    length: usize,
    time: u64,
    kind: String,
}

/// All messages from one on.
pub(super) fn scan(address: &Path, from: u64, json: bool) -> Outcome {
    let rt = Rt::real_time();
    let stream = open(&rt, address)?;
    let (mut out, mut rows) = (Out::new(), Vec::new());
    rt.block_on(async {
        let (first, last) = Tail::new(&rt, stream.clone(), 1).range().await?;
        let mut tail = Tail::new(&rt, stream, from.max(first));
        while let Some(message) = tail.next(last + 1).await? {
            let kind = format!("{:?}", message.kind).to_lowercase();
            let row = RecordJson { lsn: message.number, length: message.payload.len(), time: message.time, kind };
            if json {
                rows.push(row);
            } else {
                let time = text::time((row.time / 1_000_000_000) as i64);
                out.line(format!("{}  {}  {time}  {}", row.lsn, row.length, row.kind))?;
            }
        }
        if json { out.json(&rows) } else { Ok(()) }
    })?;
    out.end()?;
    Ok(Status::DONE)
}
