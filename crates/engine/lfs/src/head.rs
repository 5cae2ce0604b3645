//! Where the log goes on, checked before anything is written there.
//!
//! D1. Each of the two superblocks that checkpoints write lies in a segment whose entry of the usage table says so:
//!     the log writes from the start of every other.
//! D2. The head of the log is behind the partial segments that the superblock stands for. Their number is in the usage
//!     table, and their serial numbers are not above the superblock's; what follows is from an earlier turn of the log.
//!     Of version 1 only those that OrdoFS wrote have numbers; elsewhere nothing can be said.

use crate::disk::Disk;
use crate::ifile::Ifile;
use ordo_buf::Role;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{Serial, Summary, Superblock};
use ordo_ondisk::{Corrupt, Rule, Structure};
use ordo_vfs::{Error, Result};

/// Whether the log may be written as this superblock says.
///
/// # Errors
/// `Corrupt`: something would be overwritten; `Io`.
pub(crate) async fn check(disk: &Disk<'_>, sb: &Superblock, ifile: &Ifile) -> Result<()> {
    let (g, f) = (sb.geometry(), &sb.fields);
    // D1.
    for n in g.sboffs.iter().take(2).filter_map(|at| g.segment_of(*at)) {
        let flags = ifile.usage(n).flags;
        if !flags.has(SegFlags::SUPERBLOCK) {
            let rule = Rule::Words("without the mark of the superblock in that segment");
            return Err(Error::corrupt(Corrupt::new(Structure::SegmentUsage(n.0), "su_flags", flags.0, rule)));
        }
    }
    // D2.
    let Some(n) = g.segment_starting(f.curseg).filter(|_| sb.has_serial()) else { return Ok(()) };
    let usage = ifile.usage(n);
    let mut at = Some(g.first_pseg(n, usage.flags.has(SegFlags::SUPERBLOCK)));
    let mut last = Serial(0);
    for _ in 0..usage.nsums {
        let Some(here) = at.filter(|at| g.is_data_range(*at, g.summary_units())) else { break };
        let bytes = disk.read(g.byte(here).0, g.sumsize as usize, Role::Superblock).await?;
        let Ok(summary) = Summary::decode(&bytes, &g) else { break };
        let Ok(pseg) = summary.walk(&g, here) else { break };
        if summary.serial == Serial(0) || summary.is_stale(&g, last) || summary.serial > f.serial {
            break;
        }
        if pseg.end > f.offset {
            let rule = Rule::AtLeast(pseg.end.0.into());
            return Err(Error::corrupt(Corrupt::new(Structure::Superblock, "lfs_offset", f.offset.0, rule)));
        }
        (last, at) = (summary.serial, pseg.next_here(&g));
    }
    Ok(())
}
