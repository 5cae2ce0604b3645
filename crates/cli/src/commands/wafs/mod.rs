//! `ordo wafs`

mod follow;
mod stream;

use crate::image::{self, ImageArg};
use crate::messages::Messages;
use crate::out::{Out, Outcome, Status, print};
use crate::{size, text};
use anyhow::{Context, anyhow};
use ordo_wafs::service::{Server, Streams};
use ordo_wafs::{FileError, Log, Lsn, MakeOptions, Mode, MountOptions, Place, Record, SharedLog};
use ordofs::disk::{FileOptions, NbdDisk};
use ordofs::rt::Rt;
use ordofs::{ContentsKind, ImageSpec, OpenError, Weight};
use serde::Serialize;
use signal_hook::iterator::Signals;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// The write-ahead file system by itself: a circular log of records
///
/// LOG is a file, a device or a partition; of mkfs, info and scan also a stream of messages with copies on several
/// servers: nats://HOST:PORT,HOST:PORT/STREAM. Records are bytes, named by rising log sequence numbers. docs/wafs.md
/// tells what a log promises, docs/replicated-log.md what a stream adds.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:\n  ordo wafs mkfs --size 128M log.wafs\n  echo hello | ordo wafs append log.wafs\n  ordo wafs scan \
    log.wafs"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Mkfs(Mkfs),
    Append(Append),
    Read(ReadOne),
    Scan(Scan),
    Info(Info),
    Reclaim(Reclaim),
    Serve(Serve),
    Follow(follow::Args),
}

/// Makes a log
///
/// With --size, LOG is a file, which is made; one that holds anything is not overwritten without --force. Without it,
/// LOG is a device, a partition, or a file that has its size already; a log that is there is not overwritten without
/// --force. A stream is made on its servers with --size bytes; one that is there is removed only with --force.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo wafs mkfs --size 128M log.wafs\n  ordo wafs mkfs --unit 512 /dev/pmem0\n  \
    ordo wafs mkfs disk.img@p2\n  ordo wafs mkfs --size 1G --replicas 3 nats://a,b,c/LOG")]
struct Mkfs {
    #[command(flatten)]
    log: ImageArg,
    /// Bytes of the log; the file is made with this size
    #[arg(long, short, value_parser = size::parse)]
    size: Option<u64>,
    /// Bytes of a unit, in which each write begins: 512 to 64k [default: 4k]
    #[arg(long, short, value_parser = size::parse_u32)]
    unit: Option<u32>,
    /// Servers that have a copy of a stream: 1 to 5, an odd number
    #[arg(long, value_name = "N", default_value_t = 3)]
    replicas: usize,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
}

/// Appends standard input as one record, and prints its number when it is durable
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  echo hello | ordo wafs append log.wafs\n  ordo wafs append log.wafs < record.bin")]
struct Append {
    #[command(flatten)]
    log: ImageArg,
}

/// Writes one record to standard output
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo wafs read log.wafs 4096")]
struct ReadOne {
    #[command(flatten)]
    log: ImageArg,
    /// Its log sequence number
    lsn: Lsn,
}

/// Lists the records: number, bytes, time
///
/// A log that is damaged is listed up to the damage, and the exit status is 3. A torn record at the end is not
/// damage: its commit had not returned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo wafs scan log.wafs\n  ordo wafs scan --from 8192 --json log.wafs\n  ordo wafs scan \
    --backward log.wafs"
)]
struct Scan {
    #[command(flatten)]
    log: ImageArg,
    /// The first record: that with this number or the next one
    #[arg(long, value_name = "LSN", default_value_t = Lsn::NONE, hide_default_value = true)]
    from: Lsn,
    /// Newest first
    #[arg(long, conflicts_with = "from")]
    backward: bool,
    /// One JSON list of lsn, length and time (nanoseconds since 1970)
    #[arg(long)]
    json: bool,
}

/// Shows the format and the fill level of a log
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo wafs info log.wafs\n  ordo wafs info --json log.wafs")]
struct Info {
    #[command(flatten)]
    log: ImageArg,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Frees the space of all records below one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo wafs reclaim log.wafs 8192")]
struct Reclaim {
    #[command(flatten)]
    log: ImageArg,
    /// The first record that is kept
    lsn: Lsn,
}

/// Serves a log to many programs at once, through a Unix socket
///
/// Each client has a stream of its own, with a name, and releases the records that it no longer needs.
/// docs/format/wafs.md describes the protocol. SIGTERM and SIGINT end the server after the requests in progress. A log
/// that is served can be used through the socket only.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo wafs serve log.wafs --socket log.socket\n  ordo wafs serve --mode async log.wafs \
    --socket log.socket"
)]
struct Serve {
    #[command(flatten)]
    log: ImageArg,
    /// The socket; its file is made for this user alone
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// When a commit is durable
    #[arg(long, value_enum, default_value = "group")]
    mode: ModeName,
    /// How long a group commit waits for more records, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0)]
    linger: u64,
    /// Whether a power cut empties the disk's cache; no for RAM that survives [default: as the disk says]
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no)]
    volatile_cache: Option<bool>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ModeName {
    /// On return; each record by itself
    Sync,
    /// On return; one write for all waiting commits
    Group,
    /// Within a second
    Async,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{text:?} is neither yes nor no")),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Append(Append { log })
        | Command::Read(ReadOne { log, .. })
        | Command::Reclaim(Reclaim { log, .. })
        | Command::Serve(Serve { log, .. })
            if ordofs::is_stream(&log.image) =>
        {
            Err(crate::out::usage(
                "a stream is a volume's log, which its mount writes and reclaims; see ordo wafs scan",
            ))
        }
        Command::Mkfs(args) => mkfs(args),
        Command::Append(args) => append(args),
        Command::Read(args) => read(args),
        Command::Scan(args) => scan(args),
        Command::Info(args) => info(args),
        Command::Reclaim(args) => reclaim(args),
        Command::Serve(args) => serve(args),
        Command::Follow(args) => follow::run(args),
    }
}

fn mkfs(args: &Mkfs) -> Outcome {
    if ordofs::is_stream(&args.log.image) {
        return stream::make(&args.log.image, args.size, args.replicas, args.force);
    }
    let spec = args.log.spec()?;
    let options = MakeOptions { unit: args.unit, zero: false };
    let file = !NbdDisk::is_url(&spec.path) && (!spec.path.exists() || spec.path.is_file());
    let plain = spec.part.is_none() && spec.offset.is_none() && file;
    if let (Some(size), true) = (args.size, plain) {
        if !args.force {
            ordofs::refuse_existing(&spec.path).map_err(|error| match error {
                OpenError::Exists { what, .. } => {
                    anyhow!("{spec}: exists and is not empty{what}; name another one, or give --force to overwrite it")
                }
                error => image::open_error(&spec.path, error),
            })?;
        }
        let made = match args.force {
            true => Log::overwrite(&spec.path, size, options),
            false => Log::create(&spec.path, size, options),
        };
        made.map_err(|error| log_error(&spec, error))?;
        return Ok(Status::DONE);
    }
    let rt = Rt::real_time();
    if !args.force {
        // What a disk holds that is no log is not overwritten unasked either.
        let disk = ordofs::open(&rt, &spec, &FileOptions { read_only: true, ..FileOptions::default() });
        let disk = disk.map_err(|error| image::open_error(&spec.path, error))?;
        let found = ordofs::contents(&rt, &disk).map_err(|error| image::open_error(&spec.path, error))?;
        if let Some(first) = found.iter().find(|found| found.kind != ContentsKind::Log) {
            return Err(anyhow!("{spec}: holds something already: {}; give --force to overwrite it", first.name));
        }
    }
    let place = place(&rt, &spec, false)?;
    let place = match args.size {
        Some(size) => Place::new(place.queue(), &[(Default::default(), size)])
            .map_err(|error| log_error(&spec, ordo_wafs::Error::from(error)))?,
        None => place,
    };
    if !args.force && rt.block_on(Log::open(place.clone())).is_ok() {
        return Err(anyhow!("{spec}: holds a log already; look at it with ordo wafs info, or give --force"));
    }
    rt.block_on(Log::make(&place, options)).map_err(|error| log_error(&spec, error))?;
    Ok(Status::DONE)
}

fn append(args: &Append) -> Outcome {
    let mut data = Vec::new();
    std::io::stdin().lock().read_to_end(&mut data).context("standard input")?;
    let lsn = change(&args.log, async |log| log.commit(&data).await)?;
    print(|out| out.line(lsn.to_string()))?;
    Ok(Status::DONE)
}

fn read(args: &ReadOne) -> Outcome {
    let record = look(&args.log, async |log| Ok(log.read(args.lsn).await?))?;
    print(|out| out.bytes(&record.data))?;
    Ok(Status::DONE)
}

fn reclaim(args: &Reclaim) -> Outcome {
    change(&args.log, async |log| log.reclaim(args.lsn))?;
    Ok(Status::DONE)
}

fn serve(args: &Serve) -> Outcome {
    let spec = args.log.spec()?;
    let mode = match args.mode {
        ModeName::Sync => Mode::Sync,
        ModeName::Async => Mode::Async,
        ModeName::Group => Mode::Group { linger: Duration::from_micros(args.linger) },
    };
    let (whole, volatile_cache) = (spec.clone(), args.volatile_cache);
    let log = SharedLog::start(move |rt| async move {
        let disk = ordofs::open(&rt, &whole, &FileOptions { volatile_cache, ..FileOptions::default() });
        let disk = disk.map_err(|error| image::open_error(&whole.path, error))?;
        Log::mount(Place::whole(&rt, disk), MountOptions { mode }).await.map_err(|error| log_error(&whole, error))
    })?;
    let streams = Streams::open(log).with_context(|| spec.to_string())?;
    let socket = || args.socket.display().to_string();
    let server = Server::bind(&args.socket, streams.clone()).with_context(socket)?;
    let stopper = server.stopper();
    let mut signals = Signals::new(ordo_fuse::end_signals()).context("signals")?;
    std::thread::spawn(move || signals.forever().for_each(|_| stopper.stop()));
    print(|out| out.line(format!("{spec}: served on {}", socket())))?;
    let messages = Messages::of(&spec, false);
    let served = server.run(&|what| messages.tell(Weight::Warning, what)).with_context(socket);
    streams.log().sync().with_context(|| spec.to_string())?;
    served.map(|()| Status::DONE)
}

#[derive(Serialize)]
struct RecordJson {
    lsn: u64,
    length: usize,
    time: u64,
}

impl From<Record> for RecordJson {
    fn from(record: Record) -> RecordJson {
        RecordJson { lsn: record.lsn.0, length: record.data.len(), time: record.time }
    }
}

fn scan(args: &Scan) -> Outcome {
    if ordofs::is_stream(&args.log.image) {
        if args.backward {
            return Err(crate::out::usage("a stream is read forward: leave out --backward"));
        }
        return stream::scan(&args.log.image, args.from.0, args.json);
    }
    look(&args.log, async |log| {
        let (mut ahead, mut back) = (log.scan(args.from), log.scan_back(log.last()));
        let (mut out, mut rows) = (Out::new(), Vec::new());
        while let Some(record) = if args.backward { back.next().await? } else { ahead.next().await? } {
            let row = RecordJson::from(record);
            if args.json {
                rows.push(row);
            } else {
                out.line(format!("{}  {}  {}", row.lsn, row.length, text::time((row.time / 1_000_000_000) as i64)))?;
            }
        }
        if args.json {
            out.json(&rows)?;
        }
        out.end()?;
        log.recovery().damage.map_or(Ok(Status::DONE), |damage| Err(damage.into()))
    })
}

#[derive(Serialize)]
struct InfoJson {
    size: u64,
    unit: u32,
    free: u64,
    low: u64,
    end: u64,
    last: u64,
    records: u64,
    mounts: u32,
    record_most: usize,
    damage: Option<String>,
}

fn info(args: &Info) -> Outcome {
    if ordofs::is_stream(&args.log.image) {
        return stream::info(&args.log.image, args.json);
    }
    let found = look(&args.log, async |log| {
        let space = log.space();
        Ok(InfoJson {
            size: space.size,
            unit: log.unit(),
            free: space.free,
            low: log.low().0,
            end: log.end().0,
            last: log.last().0,
            records: log.recovery().records,
            mounts: log.epoch(),
            record_most: log.record_most(),
            damage: log.recovery().damage.map(|damage| damage.to_string()),
        })
    })?;
    print(|out| {
        if args.json {
            return out.json(&found);
        }
        out.line(format!(
            "records:    {} from {} to {}, the next is {}",
            found.records, found.low, found.last, found.end
        ))?;
        out.line(format!("size:       {}, free {}", size::human(found.size), size::human(found.free)))?;
        out.line(format!("unit:       {}; the longest record {}", found.unit, size::human(found.record_most as u64)))?;
        out.line(format!("mounts:     {}", found.mounts))?;
        found.damage.iter().try_for_each(|damage| out.line(damage))
    })?;
    Ok(Status(u8::from(found.damage.is_some())))
}

fn place(rt: &Rt, spec: &ImageSpec, read_only: bool) -> anyhow::Result<Place> {
    let disk = ordofs::open(rt, spec, &FileOptions { read_only, ..FileOptions::default() });
    Ok(Place::whole(rt, disk.map_err(|error| image::open_error(&spec.path, error))?))
}

/// An error with the log's name.
fn log_error(spec: &ImageSpec, error: impl Into<FileError>) -> anyhow::Error {
    match error.into() {
        FileError::Log(error) => anyhow::Error::new(error).context(spec.to_string()),
        error => error.into(),
    }
}

/// Runs `work` on a log that it only reads.
fn look<T>(log: &ImageArg, work: impl AsyncFnOnce(&Log) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let (rt, spec) = (Rt::real_time(), log.spec()?);
    let log = rt.block_on(Log::open(place(&rt, &spec, true)?)).map_err(|error| log_error(&spec, error))?;
    rt.block_on(work(&log)).with_context(|| spec.to_string())
}

/// Runs `work` on a log that it changes.
fn change<T>(log: &ImageArg, work: impl AsyncFnOnce(&Log) -> Result<T, ordo_wafs::Error>) -> anyhow::Result<T> {
    let (rt, spec) = (Rt::real_time(), log.spec()?);
    let place = place(&rt, &spec, false)?;
    rt.block_on(async {
        let log = Log::mount(place, MountOptions::default()).await?;
        let done = work(&log).await?;
        log.unmount().await?;
        Ok(done)
    })
    .map_err(|error: ordo_wafs::Error| log_error(&spec, error))
}
