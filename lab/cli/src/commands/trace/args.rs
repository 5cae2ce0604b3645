//! The command line of `ordo trace`.

use super::{flushes, record, replay};
use crate::layout::LayoutArg;
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
    pub(super) command: Option<Command>,
    /// Explains one call
    #[arg(long, required = true)]
    pub(super) explain: bool,
    /// The scheme (ordo schemes) [default: softupdates]
    #[arg(long)]
    pub(super) scheme: Option<String>,
    /// The layout of the volume [default: ffs]
    #[arg(long, value_enum)]
    pub(super) layout: Option<LayoutArg>,
    /// allocinit=, logmode=, data= and commit= as mount -o has them; log=separate: the log on a second disk
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// The disk (ordo crash --list-disks)
    #[arg(long, default_value = ordo_crash::DEFAULT_DEVICE)]
    pub(super) disk: String,
    /// A call to make before, which is then made durable; may be given several times, in order
    #[arg(long, value_name = "CALL")]
    pub(super) setup: Vec<String>,
    /// When the call has returned, write every buf at once in arbitrary order, as if memory were short
    #[arg(long)]
    pub(super) at_once: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(super) seed: u64,
    /// Also draw a picture
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// The call, as in a script (ordo crash --list-workloads --json)
    #[arg(required = true, value_name = "CALL")]
    pub(super) call: Vec<String>,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    Flushes(flushes::Args),
    Record(record::Args),
    Replay(replay::Args),
}
