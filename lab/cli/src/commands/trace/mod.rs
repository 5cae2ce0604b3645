//! `ordo trace`
//!
//! `parse` parses what to explain, `text` and `picture` show it; `columns` computes places in the picture. `record`
//! records what is done to a mount, `replay` does it again on a modelled drive.

mod columns;
mod flushes;
mod parse;
mod picture;
mod record;
mod replay;
mod svg;
mod text;

use crate::layout::LayoutArg;
use crate::made::{self, Told};
use crate::out::{Outcome, Status, print};
use anyhow::Context;
use ordo_crash::Device;
use std::path::PathBuf;

/// Shows what one call writes, when, and why; records what is done to a mount, and replays it
///
/// The call runs in virtual time on a modelled disk, so that the same arguments give the same answer. After it has
/// returned the clock goes on until everything is durable. `append FILE BYTES` is a write at the end of the file.
///
/// On a log-structured volume (--layout lfs) it also says what is in each partial segment: its summary, the blocks of
/// files, the inode blocks; and the checkpoint that follows, which the call does not need to be durable.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  ordo trace --explain --scheme softupdates create /f\n  \
    ordo trace --explain --scheme softupdates --setup 'mkdir /a' --svg create.svg create /a/f\n  \
    ordo trace --explain --scheme softupdates --at-once mkdir /d\n  \
    ordo trace --explain --scheme sync --disk scsi94 mkdir /d\n  \
    ordo trace --explain --layout lfs create /f\n  \
    ordo trace --explain --setup 'create /f' --setup 'write /f 0 3000' append /f 20000\n\n\
    Exit status: 0 done, 1 the call was refused."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Explains one call
    #[arg(long, required = true)]
    explain: bool,
    /// The scheme (ordo schemes) [default: softupdates]
    #[arg(long)]
    scheme: Option<String>,
    /// The layout of the volume [default: ffs]
    #[arg(long, value_enum)]
    layout: Option<LayoutArg>,
    /// allocinit=, logmode=, data= and commit= as mount -o has them; log=separate: the log on a second disk
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The disk (ordo crash --list-disks)
    #[arg(long, default_value = ordo_crash::DEFAULT_DEVICE)]
    disk: String,
    /// A call to make before, which is then made durable; may be given several times, in order
    #[arg(long, value_name = "CALL")]
    setup: Vec<String>,
    /// When the call has returned, write every buf at once in arbitrary order, as if memory were short
    #[arg(long)]
    at_once: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "K", default_value_t = 0)]
    seed: u64,
    /// Also draw a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// The call, as in a script (ordo crash --list-workloads --json)
    #[arg(required = true, value_name = "CALL")]
    call: Vec<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Flushes(flushes::Args),
    Record(record::Args),
    Replay(replay::Args),
}

/// What a create in an existing directory makes durable under a scheme, on the disk of 1994: a picture, and a text.
pub(crate) fn a_create(scheme: &str) -> anyhow::Result<(String, String)> {
    let owned = |text: &str| text.to_owned();
    let request = parse::read(&Args {
        command: None,
        explain: true,
        scheme: Some(owned(scheme)),
        layout: None,
        set: Vec::new(),
        disk: owned("scsi94"),
        setup: vec![owned("mkdir /a")],
        at_once: false,
        seed: 0,
        svg: None,
        json: false,
        call: vec![owned("create"), owned("/a/f")],
    })?;
    let trace = ordo_crash::trace::trace(&request).map_err(parse::trace_error)?;
    Ok((picture::draw(&trace), text::of(&trace)))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Some(Command::Flushes(args)) => flushes::run(args),
        Some(Command::Record(args)) => record::run(args),
        Some(Command::Replay(args)) => replay::run(args),
        None => explain(args),
    }
}

fn explain(args: &Args) -> Outcome {
    let request = parse::read(args)?;
    let trace = ordo_crash::trace::trace(&request).map_err(parse::trace_error)?;
    if let Some(path) = &args.svg {
        std::fs::write(path, picture::draw(&trace)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let disk_says = Device::by_name(&args.disk).map(|device| device.says.to_owned());
    let told =
        Told { document: &trace, made: Some(made::in_virtual_time()), disk_says, promises: None, left_out: Vec::new() };
    print(|out| if args.json { out.json(&told) } else { out.bytes(text::of(&trace).as_bytes()) })?;
    Ok(Status(u8::from(trace.refused.is_some())))
}
