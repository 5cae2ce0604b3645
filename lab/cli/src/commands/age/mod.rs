//! `ordo age`
//!
//! `shown` is what it prints.
//!
//! Unlike other commands that change an image, it does so under the scheme `async`: under soft updates the space of
//! what is removed returns only after seconds, in which the users of this volume have lived for weeks, and their
//! files would lie where they never could.

mod shown;

use crate::image::{ImageArg, Opened, open_error};
use crate::interrupt;
use crate::out::{Outcome, Status, say, usage};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use ordo_vfs::{FileSystem, Refusal};
use ordo_workload::Session;
use ordo_workload::age::{Aged, Aging, PROFILES, Profile, STUDY, Space};
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use ordofs::{Found, Fs, ImageSpec, MountOptions, Placement, locate};
use shown::Shown;
use std::io::IsTerminal;

/// The directory of the volume in which its users are.
const BASE: &str = "aged";

/// Lets users work on a volume for months, so that it looks like one of a server
///
/// In the directory /aged people make, change and remove files, articles of news come and go, packages are installed:
/// day by day, from a seed, after what is known of six servers of 1994 (Seltzer and others, USENIX 1995). The users
/// take what the volume has left; contents are not theirs. First comes the time before the study, four days for each
/// month; then the days of the study. At the end it says how the files lie: the part of their blocks that lie
/// directly behind the block before, and where the free blocks are in their groups. A log-structured volume has no
/// groups, and only what happened is said of it.
///
/// The volume must be clean. A signal ends the work after the current file, and leaves it clean. The work goes on
/// without order (the scheme async): when it is killed, or ended by a second signal, run ordo fsck on the volume.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo mkfs --type ufs1 --block-size 8k --frag-size 1k --size 450M old.img\n  \
    ordo age --profile white old.img\n  ordo age --profile cnews --days 98 --seed 2 --json old.img@s1a")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// The server: cnews, glan5, staff, usr4, usr6, white; or neutral, a bit of each
    #[arg(long, value_name = "NAME", default_value = "neutral", value_parser = named)]
    profile: &'static Profile,
    /// The day of the study that is the last; it began on 20 October 1994, day 0, and ended on 26 July 1995, day 279
    #[arg(long, value_name = "N", default_value_t = STUDY, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    days: u32,
    /// Where the random choices start
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

fn named(name: &str) -> Result<&'static Profile, String> {
    let known = || PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
    Profile::named(name).ok_or_else(|| format!("must be one of {}", known()))
}

/// Ages it.
pub(crate) fn run(args: &Args) -> Outcome {
    let spec = args.image.spec()?;
    let rt = Rt::real_time();
    let is_ufs = is_ufs(&rt, &spec)?;
    let scheme = is_ufs.then(|| "async".to_owned());
    let opened = Opened::to_change_with(&rt, &spec, MountOptions { scheme, ..MountOptions::default() })?;
    let bar = bar();
    let mut played = (0, Aged::default());
    let outcome = rt.block_on(age(args, opened.fs(), &bar, &mut played)).with_context(|| spec.to_string());
    if interrupt::caught().is_some() {
        bar.suspend(|| say("closing the volume; if this is ended too, run ordo fsck on it"));
    }
    let outcome = opened.close(outcome);
    bar.finish_and_clear();
    let days = played.0;
    outcome.map_err(|error| interrupt::how_far(error, || format!("{days} days were played, the rest was not")))?;
    let placement = match is_ufs {
        true => Some(placement(&rt, &spec)?),
        false => None,
    };
    Shown::new(args.profile, args.seed, &spec, played, placement.as_ref()).print(args.json)?;
    Ok(Status::DONE)
}

/// Whether it is UFS, or a log; it must be clean.
fn is_ufs(rt: &Rt, spec: &ImageSpec) -> anyhow::Result<bool> {
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let located = locate(rt, spec, options).map_err(|error| open_error(&spec.path, error))?;
    let (clean, is_ufs) = match &located.found {
        Found::Ufs(found) => (found.superblock.is_clean(), true),
        Found::Lfs(found) => (found.superblock.is_clean(), false),
    };
    match clean {
        true => Ok(is_ufs),
        false => bail!("{spec}: is not clean; run ordo fsck on it, or mount it once"),
    }
}

fn bar() -> ProgressBar {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(0),
        false => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} day {pos} of {len}, {eta}") {
        bar.set_style(style);
    }
    bar
}

async fn age(args: &Args, fs: &Fs, bar: &ProgressBar, played: &mut (u32, Aged)) -> anyhow::Result<()> {
    let session = Session::new(fs);
    let root = session.root().await?;
    match session.mkdir(&root, ordo_vfs::Name::new(BASE.as_bytes())?).await {
        Err(ordo_vfs::Error::Refused(Refusal::Exists)) => {
            return Err(usage(format!("/{BASE} exists already: this volume is old, or has something else there")));
        }
        made => drop(made?),
    }
    let mut aging = Aging::new(args.profile, args.seed, Space::free_on(&fs.statfs().await?));
    let all = aging.days_until(args.days);
    bar.set_length(all.into());
    bar.set_message(args.profile.name);
    let mut outcome = Ok(());
    while outcome.is_ok() && aging.played() < all {
        let may_go_on = || interrupt::caught().is_none();
        outcome = aging.play_while(fs, BASE, may_go_on).await.map(drop).map_err(anyhow::Error::from);
        if outcome.is_ok() {
            outcome = interrupt::check().map_err(anyhow::Error::from);
        }
        bar.set_position(aging.played().into());
    }
    *played = (aging.played(), aging.aged().clone());
    outcome
}

fn placement(rt: &Rt, spec: &ImageSpec) -> anyhow::Result<Placement> {
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let located = locate(rt, spec, options).map_err(|error| open_error(&spec.path, error))?;
    Placement::of(rt, &located).map_err(|error| open_error(&spec.path, error))
}
