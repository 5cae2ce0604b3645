//! `ordo umount`

use crate::out::{Outcome, Status, say};
use fuse::Unmounted;
use std::path::PathBuf;

/// Unmounts a volume: writes everything, marks it clean
///
/// Returns when the image can be moved.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo umount /mnt\n  ordo umount -l /mnt   (although somebody uses it)")]
pub(crate) struct Args {
    /// Where it is mounted
    dir: PathBuf,
    /// Take it away now, even if it is in use; its server ends with its last user
    #[arg(short, long)]
    lazy: bool,
}

/// Unmounts, and waits for the server.
pub(crate) fn run(args: &Args) -> Outcome {
    let dir = args.dir.display();
    match fuse::unmount(&args.dir, args.lazy)? {
        Unmounted::Finished => {}
        Unmounted::StillUsed if args.lazy => {}
        Unmounted::StillUsed => {
            say(&format!("{dir}: unmounted here, and still used elsewhere; wait before the image is moved"));
        }
        Unmounted::Unseen => {
            say(&format!("{dir}: unmounted; its server had died already, or cannot be seen from here"));
        }
    }
    Ok(Status::DONE)
}
