//! `ordo recover`

use crate::image::{ImageArg, Start};
use crate::interrupt;
use crate::out::{Outcome, Status, print};
use crate::progress::{self, Unit};
use crate::rescue::recovery::Recovery;
use crate::rescue::{self, described};
use anyhow::Context;
use ordo_ondisk::superblock::Superblock;
use std::path::PathBuf;

/// Copies what can be read from a damaged UFS volume
///
/// Nothing is written to the image. The volume is described by any superblock that is left. What is damaged is noted,
/// and the rest is copied: unreadable parts of a file become zeroes, and a file that no directory reaches goes to
/// OUTDIR/lost+found by the number of its inode. OUTDIR/REPORT says what is missing and why. Set-user-id bits,
/// access control lists and devices are not copied.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo recover disk.img out\n  ordo recover --map disk.map disk.img@s1a out\n  \
                        ordo recover --json --offset 1000003 dump.bin out\n\n\
                        Exit status: 0 all was read, 1 something is missing.")]
pub(crate) struct Args {
    /// A file, a block device, or a partition in one: disk.img@p2, disk.img@s1a, disk.img@gpt:LABEL
    image: PathBuf,
    /// A new or empty directory
    #[arg(value_name = "OUTDIR")]
    out: PathBuf,
    /// The map of GNU ddrescue: what it does not call finished counts as unreadable
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// The report as one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

/// Bytes in use, as the superblock has it: it may be wrong here, and only the line of progress shows it.
fn in_use(superblock: &Superblock) -> u64 {
    let (geo, totals) = (superblock.geometry(), superblock.totals());
    let free = u64::try_from(totals.nbfree).unwrap_or(0).saturating_mul(geo.frag.into());
    let free = free.saturating_add(u64::try_from(totals.nffree).unwrap_or(0));
    geo.dsize.saturating_sub(free).saturating_mul(geo.fsize.into())
}

/// Copies, and reports.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = ImageArg { image: args.image.clone(), start: args.start }.spec()?;
    let damaged = rescue::open(&spec, args.map.as_deref())?;
    interrupt::catch()?;
    let mut recovery = Recovery::new(&damaged.volume, &args.out)?;
    recovery.report.image = crate::text::escape(spec.to_string().as_bytes());
    recovery.report.superblock = described(damaged.described);
    recovery.report.cut = damaged.cut;
    recovery.report.log = damaged.replayed.map(|done| match done {
        Ok(()) => "a log waited; it was replayed in memory".to_owned(),
        Err(why) => format!("a log waits and cannot be replayed: {why}"),
    });
    progress::begin(Unit::Bytes, in_use(&damaged.superblock));
    recovery.run().map_err(|error| {
        let (files, out) = (recovery.report.whole, crate::text::one_line(&args.out.display().to_string()));
        let so_far =
            || format!("{files} files are copied and stay in {out}; no REPORT was written, and the image is as it was");
        interrupt::how_far_on_host(error, so_far)
    })?;
    progress::end();
    recovery.write_report().with_context(|| args.out.display().to_string())?;
    let report = &recovery.report;
    print(|out| match args.json {
        true => out.json(report),
        false => report.lines().iter().try_for_each(|line| out.line(line)),
    })?;
    Ok(if report.complete { Status::DONE } else { Status::NO })
}
