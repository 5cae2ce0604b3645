//! `ordo umount`

use super::info::mounted_on;
use crate::out::{Outcome, Status, say};
use ordo_fuse::mount::table;
use ordo_fuse::{MountError, Remount, Unmounted};
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use ordofs::{Found, ImageSpec, locate};
use std::path::{Path, PathBuf};

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
    /// If it is in use, make it read-only (umount -r)
    #[arg(long, hide = true, conflicts_with_all = ["force", "lazy"])]
    read_only: bool,
}

/// Unmounts, and waits for the server.
pub(crate) fn run(args: &Args) -> Outcome {
    let dir = args.dir.display();
    let before = table::absolute(&args.dir).and_then(|dir| table::mounted_at(&dir)).ok().flatten();
    let unmounted = match args.force {
        true => ordo_fuse::force_unmount(&args.dir)?,
        false => match (ordo_fuse::unmount(&args.dir, args.lazy), &before) {
            (Err(MountError::InUse(_)), Some(mounted)) if args.read_only => {
                let change = Remount { read_only: Some(true), ..Remount::default() };
                ordo_fuse::remount(Path::new(&mounted.source), &args.dir, &change)?;
                say(&format!("{dir}: in use, and not unmounted; it is read-only now"));
                return Ok(Status::DONE);
            }
            (unmounted, _) => unmounted?,
        },
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
        Unmounted::Died if before.is_some_and(|mounted| nothing_is_lost(&mounted)) => {
            say(&format!("{dir}: unmounted; the server had ended before, and nothing is lost"));
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
            say(&format!(
                "{dir}: unmounted here, but still in use elsewhere: by a program that is in it, or in another mount \
                 namespace (grep -l {dir} /proc/*/mountinfo); wait before you move the image"
            ));
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

/// What a mount whose server is gone was of has nothing more to be written: it could not be written, or its volume was
/// closed in order. That the volume says that it was mounted there shows that it is the one, wherever in the image it
/// is.
fn nothing_is_lost(mounted: &table::Mounted) -> bool {
    mounted.read_only || closed_at(Path::new(&mounted.source), &mounted.dir).unwrap_or(false)
}

fn closed_at(image: &Path, dir: &Path) -> anyhow::Result<bool> {
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let (is_clean, was_at) = match &locate(&Rt::real_time(), &ImageSpec::parse(image)?, options)?.found {
        Found::Ufs(found) => (found.superblock.is_clean(), found.superblock.last_mount_point()),
        Found::Lfs(found) => (found.superblock.is_clean(), mounted_on(&found.superblock)),
    };
    Ok(is_clean && dir.to_str() == Some(&*was_at))
}
