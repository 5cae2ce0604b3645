//! `ordo umount`

use crate::out::{Outcome, Status, say};
use ordo_fuse::Unmounted;
use std::path::PathBuf;

/// Unmounts a volume: writes everything, marks it clean
///
/// Returns when the image can be moved. Exit status 1: it is unmounted, and not everything could be written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo umount /mnt\n  ordo umount -l /mnt   (even if it is in use)\n  \
                        ordo umount -f /mnt   (even if its disk hangs)")]
pub(crate) struct Args {
    /// Where it is mounted
    dir: PathBuf,
    /// Detach the mount now, even if it is in use; the server ends when the last user is gone
    #[arg(short, long, conflicts_with = "force")]
    lazy: bool,
    /// End the mount even if its server waits for a disk that does not answer: programs that use it get errors, and
    /// what the server cannot write within some seconds is given up
    #[arg(short, long)]
    force: bool,
}

/// Unmounts, and waits for the server.
pub(crate) fn run(args: &Args) -> Outcome {
    let dir = args.dir.display();
    let unmounted = match args.force {
        true => ordo_fuse::force_unmount(&args.dir)?,
        false => ordo_fuse::unmount(&args.dir, args.lazy)?,
    };
    match unmounted {
        Unmounted::Finished => {}
        Unmounted::Hangs(process) => {
            say(&format!(
                "{dir}: unmounted; the server does not end: kill process {process}, and run ordo fsck on the image"
            ));
            return Ok(Status::NO);
        }
        Unmounted::Failed(why) => {
            say(&format!("{dir}: unmounted, but not everything could be written: {why}"));
            return Ok(Status::NO);
        }
        Unmounted::Died => {
            say(&format!(
                "{dir}: unmounted; the server had died before, and what it had not written is lost; \
                 run ordo fsck on the image"
            ));
            return Ok(Status::NO);
        }
        Unmounted::StillUsed if args.lazy => {}
        Unmounted::StillUsed => {
            say(&format!("{dir}: unmounted here, but still in use elsewhere; wait before you move the image"));
        }
        Unmounted::Unseen => {
            say(&format!(
                "{dir}: unmounted; the server is not visible from here and may still write: \
                 wait before you move the image"
            ));
        }
    }
    Ok(Status::DONE)
}
