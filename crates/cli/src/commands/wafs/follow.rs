//! `ordo wafs follow`: a copy of a volume follows the volume's log.

use crate::image::{self, ImageArg};
use crate::out::{Outcome, Status, print};
use anyhow::Context;
use ordo_recover::{Followed, Follower};
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the stream is asked for more.
const PAUSE: Duration = Duration::from_millis(250);

/// Keeps a copy of a volume up to date from the volume's log in a stream: a warm standby
///
/// IMAGE is a copy of the volume, made while it was unmounted, or since then while the stream has its log from the
/// beginning. The volume must be mounted with data=journal: else the log has no contents of files, and there is no
/// copy to be made of it. What was applied is durable in IMAGE, whose superblock says up to where; ordo info shows it.
/// IMAGE can be mounted read-only while nothing follows.
///
/// --promote puts the copy in the volume's place: it takes the log over, so that the volume's writer is refused from
/// then on, applies what that writer had made durable, and marks the copy clean. Mount it then with the same log=.
/// See to it that the old volume is not used any more. docs/replicated-log.md tells more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo wafs follow copy.img nats://a,b,c/LOG   (until it is interrupted)\n  \
    ordo wafs follow --once copy.img nats://a,b,c/LOG\n  ordo wafs follow --promote copy.img nats://a,b,c/LOG")]
pub(super) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// The stream of the log: nats://HOST:PORT,HOST:PORT/STREAM
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Apply what the stream has now, and end
    #[arg(long)]
    once: bool,
    /// Take the log over, apply all of it, and make the copy an ordinary clean volume
    #[arg(long, conflicts_with = "once")]
    promote: bool,
    /// JSON documents, one for each change
    #[arg(long)]
    json: bool,
}

/// How far the copy has come.
#[derive(Serialize)]
struct StateJson {
    log: String,
    /// The copy has what the messages before this one say.
    next: u64,
    /// The stream's last message.
    last: u64,
    transactions: u64,
    promoted: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Outcome {
    let (rt, spec) = (Rt::real_time(), args.image.spec()?);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).context("signals")?;
    }
    let stream = super::stream::open(&rt, &args.log)?;
    let disk = ordofs::open(&rt, &spec, &FileOptions::default()).map_err(|why| image::open_error(&spec.path, why))?;
    let named = || spec.to_string();
    let mut copy = rt.block_on(Follower::open(&rt, disk, stream)).with_context(named)?;
    if args.promote {
        let (followed, replayed) = rt.block_on(copy.promote()).with_context(named)?;
        show(args, &followed, true)?;
        let freed = (replayed.freed_frags, replayed.freed_inodes);
        if !args.json {
            let (frags, inodes) = freed;
            print(|out| out.line(format!("{spec}: promoted, clean; {frags} fragments and {inodes} inodes freed")))?;
        }
        return Ok(Status::DONE);
    }
    let mut shown = None;
    loop {
        let followed = rt.block_on(copy.catch_up()).with_context(named)?;
        if shown != Some(followed.next) {
            show(args, &followed, false)?;
            shown = Some(followed.next);
        }
        if let Some(number) = followed.taken {
            return Err(anyhow::anyhow!(
                "the log was taken over with message {number}: the volume was recovered, or a copy promoted. If it was \
                 this copy: --promote again. Else make a new copy of the volume"
            ))
            .with_context(named);
        }
        if args.once || stop.load(Ordering::Relaxed) {
            return Ok(Status::DONE);
        }
        rt.block_on(rt.sleep(PAUSE));
    }
}

fn show(args: &Args, followed: &Followed, promoted: bool) -> anyhow::Result<()> {
    let Followed { log, next, last, transactions, .. } = *followed;
    print(|out| {
        if args.json {
            return out.json(&StateJson { log: format!("{log:016x}"), next, last, transactions, promoted });
        }
        let image = args.image.spec()?;
        let upto = next.saturating_sub(1);
        out.line(format!(
            "{image}: up to message {upto} of {last}, log {log:016x}; {transactions} transactions applied"
        ))
    })
}
