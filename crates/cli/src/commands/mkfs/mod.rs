//! `ordo mkfs`
//!
//! `shape` makes a new volume of the arguments; `held` finds what its place holds already. `build` fills it with a
//! [`planned`] tree: `walk` reads one from a directory, `planned` from a tar archive, and `manifest` changes it.

mod args;
mod build;
mod clock;
mod fill;
mod held;
mod manifest;
mod planned;
mod shape;
mod site;
mod sizing;
mod walk;

use crate::image;
use crate::out::{Outcome, Status, usage};
use anyhow::{anyhow, bail};
pub(crate) use args::Args;
use args::is_url;
use clock::Clock;
use held::{ask, carried, refused, used_by, wipe};
pub(crate) use manifest::read as read_manifest;
use ordofs::disk::fence::DEFAULT_INTERVAL;
use ordofs::disk::{Existing, FileOptions};
use ordofs::rt::Rt;
use ordofs::{ImageSpec, JournalChange, MmpChange, Plan, Tuning};

/// Makes the volume and prints its properties.
pub(crate) fn run(args: &Args) -> Outcome {
    args.check()?;
    let spec = args.image.spec()?;
    let open_error = |error| image::open_error(&spec.path, error);
    let plain = !spec.path.exists() || spec.path.is_file();
    if let Some(who) = used_by(&spec.path).filter(|_| !args.force) {
        bail!("{spec}: is in use: {who}; give --force to overwrite it all the same");
    }
    if let Some(tree) = &args.source.tree {
        let status = build::run(args, &spec, tree)?;
        args.protect(&spec)?;
        return Ok(args.show()?.worse(status));
    }
    if args.size.is_none() && !is_url(&spec) && !spec.path.exists() {
        return Err(usage(format!("{spec}: there is no such file; give --size to make it")));
    }
    let clock = Clock::new()?;
    match (args.size, spec.part.is_none() && spec.offset.is_none() && plain) {
        (Some(size), true) if !is_url(&spec) => {
            // An error here concerns the shape, not the file: the user must change the arguments.
            let plan = args.plan(size, 512, clock).map_err(usage)?;
            let existing = if args.force { Existing::Overwrite } else { Existing::Refuse };
            let instead = "give --force to make it anew, or no --size to use it as it is";
            plan.create(&spec.path, existing).map_err(|error| refused(&spec, error, instead))?;
        }
        (size, _) => {
            let rt = Rt::real_time();
            let options = FileOptions { even_if_used: args.force, ..FileOptions::default() };
            let disk = ordofs::open(&rt, &spec, &options).map_err(open_error)?;
            let found = carried(&rt, &spec, &disk)?;
            if !args.force {
                ask(&rt, &spec, &disk, &found)?;
            }
            let info = disk.info();
            if size.is_some_and(|size| size > info.size) {
                bail!("{spec}: has only {} bytes; give a smaller --size", info.size);
            }
            let plan = args.plan(size.unwrap_or(info.size), info.sector, clock);
            let plan = plan.map_err(|why| usage(format!("{spec}: {why}")))?;
            plan.fits(&info).map_err(open_error)?;
            // Before the volume is made, because a signature may lie in the middle of it.
            wipe(&rt, &spec, &disk, &found)?;
            plan.write(&rt, disk, false).map_err(open_error)?;
        }
    }
    args.protect(&spec)?;
    if let Some(tuning) = args.log() {
        // A log can be added later.
        tuning.apply(&spec).map_err(|error| anyhow!(error).context(format!("{spec}: was made, without a log")))?;
    }
    args.show()
}

impl Args {
    /// The shape of a volume of `bytes`, if it is possible with all that it shall have; if not, why.
    fn plan(&self, bytes: u64, sector: u32, clock: Clock) -> Result<Plan, String> {
        let plan = self.new_volume(bytes, sector, clock).plan()?.seeded(clock.seed);
        if let (Some(superblock), Some(tuning)) = (plan.ufs(), self.log()) {
            tuning.check_new(superblock).map_err(|error| format!("--log-size: {error}"))?;
        }
        Ok(plan)
    }

    /// The change that makes the log, if there shall be one.
    fn log(&self) -> Option<Tuning> {
        let bytes = self.log_size?;
        Some(Tuning { log: Some(JournalChange::On(Some(bytes))), ..Tuning::default() })
    }

    /// Makes the record of the volume's writer, if it is wanted.
    fn protect(&self, spec: &ImageSpec) -> anyhow::Result<()> {
        if self.mmp {
            let tuning = Tuning { mmp: Some(MmpChange::On(DEFAULT_INTERVAL)), ..Tuning::default() };
            tuning.apply(spec).map_err(|error| anyhow!(error).context(format!("{spec}: was made, without mmp")))?;
        }
        Ok(())
    }

    /// Prints the properties of the new volume.
    fn show(&self) -> Outcome {
        match self.quiet {
            true => Ok(Status::DONE),
            false => super::info::show(&self.image.image, self.image.start, self.json),
        }
    }
}
