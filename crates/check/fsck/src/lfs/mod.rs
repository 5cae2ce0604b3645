//! Checks and repairs log-structured volumes.
//!
//! G1. Of the state that is checked, everything written after the checkpoint is part, as far as the log verifies: what
//!     a mount would see. With [`Mode::Check`] that, too, is only in memory.
//! G2. Nothing is changed in place (`volume.rs`). Repairs are made in memory, in rounds, until a round finds nothing;
//!     then all that differs is appended to the log and the superblocks are written, last (`write.rs`).
//! G3. What the ifile lost is searched in the log (`scan.rs`): a file is given up only if its inode is nowhere.
//! G4. Version 1 has no serial numbers but those that OrdoFS adds. Where it did not write the last checkpoint, the
//!     newest copy of anything is not known: the volume is checked as its checkpoint says, without the accounts, which
//!     other systems keep in their own ways, and not repaired.

mod dirblock;
mod finding;
mod freelist;
mod ifile;
mod inodes;
mod layout;
mod log;
mod lost;
mod names;
mod newest;
mod open;
mod roll;
mod scan;
mod segments;
mod tables;
mod tree;
mod volume;
mod write;

pub use finding::LfsFinding;

use crate::bits::Bits;
use crate::report::{Journal, Report, Usage};
use crate::{Error, Mode, Options};
use log::LogEnd;
use open::Opened;
use ordo_disk::{Block, Disk, DiskOff, Kind, ReadPart, Tag};
use ordo_ondisk::lfs::{LABEL_PAD, recognise};
use ordo_recover::Image;
use ordo_rt::Rt;
use std::rc::Rc;
use tables::Ifile;
use volume::Volume;

/// Rounds before the check gives up.
const ROUNDS_MAX: u32 = 12;
/// Bytes of a line of the image.
const LINE: u32 = 8192;

/// Whether a log-structured volume begins with the first byte of a disk: by the first bytes of its superblock.
///
/// # Errors
/// The disk fails.
pub async fn is_log_structured(disk: &Rc<dyn Disk>) -> Result<bool, Error> {
    let info = disk.info();
    let sector = u64::from(info.sector.max(512));
    let mut bytes = vec![];
    if info.size >= u64::from(LABEL_PAD) + sector {
        let part = ReadPart { block: Block::zeroed(sector as usize), tag: Tag::of(Kind::Superblock) };
        let parts = disk.read(DiskOff(LABEL_PAD.into()), vec![part]).await?;
        bytes.extend(parts.iter().flat_map(|part| part.block.iter().copied()));
    }
    Ok(recognise(&bytes).is_some())
}

/// Whether a further copy of a log-structured volume's superblock is anywhere on a disk.
pub(crate) async fn has_copy(disk: &Rc<dyn Disk>) -> Result<bool, Error> {
    let mut image = Image::new(disk.clone(), disk.info().size, LINE);
    Ok(open::search(&mut image, disk).await?.is_some())
}

/// Checks the log-structured volume on `disk`, and repairs it as far as the mode allows.
///
/// # Errors
/// The disk fails, or nothing on it can be used as a superblock.
pub(crate) async fn check(rt: &Rt, disk: Rc<dyn Disk>, options: Options) -> Result<Report, Error> {
    let Options { mode, progress, .. } = options;
    let mut image = Image::new(disk.clone(), disk.info().size, LINE);
    let opened = open::open(&mut image, &disk).await?;
    let clean = opened.sb.is_clean();
    let report = Report { clean, ..Report::default() };
    if mode == Mode::Preen && clean && opened.findings.is_empty() {
        return Ok(report);
    }
    let Opened { sb, newer, latest, findings } = opened;
    let g = sb.geometry();
    let log = LogEnd { offset: sb.fields.offset, serial: sb.fields.serial, ends_at: None, reached: true };
    let mut volume = Volume {
        image,
        g,
        sb,
        latest,
        mode,
        now: u64::try_from(rt.wall().0).unwrap_or(0),
        report,
        progress,
        found: 0,
        manual: 0,
        ifile: Ifile::default(),
        inodes: Default::default(),
        blocks: Default::default(),
        copied: 0,
        used: Bits::new(0),
        inode_blocks: Default::default(),
        live: vec![],
        dirs: vec![],
        files: 0,
        names: Default::default(),
        lost: Default::default(),
        briefs: vec![],
        last_inodes: None,
        log,
        scan: None,
        tail_segments: Default::default(),
        rolled: false,
        misplaced: false,
    };
    volume.report.scanned = true;
    if mode != Mode::Check && !volume.sb.has_serial() {
        volume.report.refused = Some("a volume of version 1 that another system wrote is only checked".to_owned());
    }
    for finding in findings {
        volume.find(finding);
    }
    volume.run(newer, clean).await
}

impl Volume {
    async fn run(mut self, newer: Option<u64>, clean: bool) -> Result<Report, Error> {
        self.log.reached =
            matches!(log::position(&mut self.image, &self.g, &self.sb).await?, log::Position::Reached(_));
        self.load_ifile().await?;
        let waits = !clean && self.sb.has_serial();
        let psegs = if waits { self.roll_forward(newer).await? } else { 0 };
        if psegs > 0 {
            self.report.journal = Some(Journal::LogWaits { psegs });
        }
        let settled = self.rounds().await?;
        self.count_usage();
        self.finish(settled, clean, psegs).await
    }

    /// Runs the phases until a round finds nothing; returns whether that happened.
    async fn rounds(&mut self) -> Result<bool, Error> {
        for round in 0..ROUNDS_MAX {
            // What was found while opening counts for the first round.
            if round > 0 {
                (self.found, self.manual) = (0, 0);
            }
            self.report.rounds = round + 1;
            self.one_round().await?;
            if self.found == 0 {
                return Ok(true);
            }
            let stuck = self.mode == Mode::Preen && self.manual > 0;
            if self.mode == Mode::Check || self.report.refused.is_some() || stuck {
                return Ok(false);
            }
        }
        Ok(false)
    }

    async fn one_round(&mut self) -> Result<(), Error> {
        self.used = Bits::new(self.g.size);
        self.inode_blocks.clear();
        self.live = vec![0; self.g.nseg as usize];
        self.dirs.clear();
        self.lost = Default::default();
        self.files = 0;
        self.briefs = vec![None; self.ifile.entries.len()];
        self.check_inodes().await?;
        self.check_names().await?;
        self.check_connectivity().await?;
        self.check_links().await?;
        if self.sb.has_serial() {
            self.check_free_list().await?;
            self.check_segments().await?;
        }
        Ok(())
    }

    fn count_usage(&mut self) {
        let totals = self.g.totals(self.ifile.usage.iter().copied(), self.log.offset);
        let free = u64::try_from(totals.nearest_bfree(self.sb.fields.bfree)).unwrap_or(0);
        let per_block = u64::from(self.g.block_units.max(1));
        self.report.usage = Usage {
            files: self.files,
            directories: self.dirs.len() as u64,
            used_frags: self.g.units(self.live.iter().sum()),
            free_blocks: free / per_block,
            free_frags: free % per_block,
            free_inodes: (self.ifile.entries.len() as u64).saturating_sub(self.files + 2),
            data_frags: self.g.dsize,
            frag_bytes: self.g.unit,
        };
    }

    /// Writes the repairs, if the mode allows it, and marks the volume clean.
    async fn finish(mut self, settled: bool, was_clean: bool, psegs: u64) -> Result<Report, Error> {
        let found = self.report.count() > 0;
        let writes = self.mode != Mode::Check && settled && self.report.refused.is_none();
        if !writes || was_clean && !found {
            return Ok(self.report);
        }
        if self.is_changed().await? || found {
            if !self.write_repairs().await? {
                self.no_space();
                return Ok(self.report);
            }
        } else {
            self.put_superblocks().await?;
        }
        self.report.repaired();
        if psegs > 0 {
            self.report.journal = Some(Journal::RolledForward { psegs });
        }
        self.report.clean = true;
        Ok(self.report)
    }
}
