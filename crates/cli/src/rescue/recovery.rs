//! Copies all that can be read of a damaged volume to the host.
//!
//! Y1. What cannot be read is noted, and the rest goes on; only a host that cannot take more ends it.
//! Y2. A file that no directory reaches goes to `lost+found` by its number; a directory with all that it holds.

use super::host::{self, Host};
use super::report::{Gaps, Report};
use crate::interrupt;
use ordo_ondisk::Ino;
use ordo_ondisk::dinode::{Dinode, flags, mode};
use ordo_rescue::{Entered, Event, Inode, Piece, Volume, Why};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

/// A recovery in progress.
pub(crate) struct Recovery<'a> {
    volume: &'a Volume,
    host: Host,
    pub(crate) report: Report,
    /// The first names of files that have several.
    links: HashMap<Ino, Vec<u8>>,
    /// Inodes that were met, copied or not.
    met: HashSet<Ino>,
    entered: Entered,
    /// Directories that were made, whose modes and times are set at the end.
    made: Vec<(Vec<u8>, Dinode)>,
}

/// Whether the host can take no more: then the rest would fail as well.
fn is_the_end(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
        || matches!(error.raw_os_error(), Some(5 | 24))
}

impl<'a> Recovery<'a> {
    /// To a directory that is made, or empty.
    pub(crate) fn new(volume: &'a Volume, to: &Path) -> anyhow::Result<Recovery<'a>> {
        let (host, report) = (Host::new(to)?, Report::default());
        let (links, met, entered) = (HashMap::new(), HashSet::new(), Entered::default());
        Ok(Recovery { volume, host, report, links, met, entered, made: Vec::new() })
    }

    /// Copies everything.
    ///
    /// # Errors
    /// The host can take no more, or a signal came.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        self.tree(b"", Ino::ROOT)?;
        self.nameless()?;
        // What is inside first: a directory may lose the permission to be entered.
        for (path, dinode) in std::mem::take(&mut self.made).into_iter().rev() {
            let done = if path.is_empty() { Ok(()) } else { self.host.finish_dir(&path, &dinode) };
            self.judge(&path, Ino::NONE, done)?;
        }
        self.report.finish();
        Ok(())
    }

    /// Writes the report to a file of its own.
    pub(crate) fn write_report(&mut self) -> anyhow::Result<()> {
        let name = self.host.free_name("REPORT");
        let file = self.host.create(name.as_bytes())?;
        let text = self.report.lines().join("\n") + "\n";
        Ok(host::write(&file, 0, text.as_bytes())?)
    }

    fn tree(&mut self, path: &[u8], start: Ino) -> anyhow::Result<()> {
        let volume = self.volume;
        let mut entered = std::mem::take(&mut self.entered);
        let mut walk = volume.walk(path.to_vec(), start, &mut entered);
        let outcome = walk.try_for_each(|event| {
            interrupt::check()?;
            self.event(event)
        });
        self.entered = entered;
        outcome
    }

    fn event(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::File { path, inode } => {
                let ino = inode.ino;
                self.met.insert(ino);
                let done = self.copy(&path, &inode);
                self.judge(&path, ino, done)?;
            }
            Event::Lost { path, ino, why } => {
                self.met.insert(ino);
                self.report.missing(&path, ino.0, why.to_string());
            }
            Event::Hidden { path, ino, range, why } => {
                let what = format!("names in bytes {} to {} of the directory: {why}", range.start, range.end);
                self.report.missing(&path, ino.0, what);
            }
            Event::Again { path, ino } => self.report.missing(&path, ino.0, "a second name of a directory"),
        }
        Ok(())
    }

    /// Notes what the host refused, or ends.
    fn judge(&mut self, path: &[u8], ino: Ino, done: io::Result<()>) -> anyhow::Result<()> {
        match done {
            Err(error) if is_the_end(&error) => Err(anyhow::Error::new(error).context("the copies cannot be written")),
            Err(error) => {
                self.report.missing(path, ino.0, format!("it cannot be made here: {error}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn copy(&mut self, path: &[u8], inode: &Inode) -> io::Result<()> {
        let (ino, dinode) = (inode.ino, &inode.dinode);
        if inode.suspect {
            self.report.doubtful(path, ino.0);
        }
        if dinode.is_dir() {
            if !path.is_empty() {
                self.host.make_dir(path)?;
            }
            self.report.directories += 1;
            self.made.push((path.to_vec(), dinode.clone()));
            return if path.is_empty() { Ok(()) } else { self.attributes(path, inode) };
        }
        let several = dinode.nlink > 1;
        if let Some(first) = self.links.get(&ino).filter(|_| several) {
            self.host.link(first, path)?;
            self.report.whole += 1;
            return Ok(());
        }
        match dinode.kind() {
            mode::REG if dinode.flags & flags::SF_SNAPSHOT != 0 => {
                self.report.left_out(path, ino.0, "a snapshot of the volume");
                return Ok(());
            }
            mode::REG => self.regular(path, inode)?,
            mode::LNK => match self.volume.link_target(inode) {
                Ok(target) => {
                    self.host.symlink(path, &target, dinode)?;
                    self.report.whole += 1;
                }
                Err(why) => self.report.missing(path, ino.0, why.to_string()),
            },
            mode::FIFO => {
                self.host.pipe(path, dinode)?;
                self.report.whole += 1;
            }
            mode::SOCK => self.report.left_out(path, ino.0, "a socket"),
            _ => self.report.left_out(path, ino.0, "a device"),
        }
        if several && !matches!(dinode.kind(), mode::SOCK | mode::CHR | mode::BLK) {
            self.links.insert(ino, path.to_vec());
        }
        Ok(())
    }

    fn regular(&mut self, path: &[u8], inode: &Inode) -> io::Result<()> {
        let file = self.host.create(path)?;
        let (mut gaps, mut bytes) = (Gaps::default(), 0u64);
        self.volume.contents(inode, &mut |at, piece| match piece {
            Piece::Data(data) => {
                bytes += data.len() as u64;
                crate::progress::add(data.len() as u64);
                host::write(&file, at, data)
            }
            Piece::Hole(_) => Ok(()),
            Piece::Gap(len, why) => {
                gaps.add(at, len, why.to_string());
                Ok(())
            }
        })?;
        file.set_len(inode.dinode.size)?;
        self.attributes(path, inode)?;
        self.host.finish(path, &file, &inode.dinode)?;
        self.report.bytes += bytes;
        match gaps.is_empty() {
            true => self.report.whole += 1,
            false => self.report.gaps(path, inode.ino.0, gaps),
        }
        Ok(())
    }

    /// Users' attributes. The system's are permissions and labels of another system: they are counted.
    fn attributes(&mut self, path: &[u8], inode: &Inode) -> io::Result<()> {
        let found = self.volume.attributes(inode);
        let kept = found.user.is_empty() || self.host.attributes(path, &inode.dinode, &found.user)?;
        if let Some(why) = found.why {
            self.report.missing(path, inode.ino.0, format!("extended attributes: {why}"));
        }
        if !kept {
            self.report.left_out(path, inode.ino.0, "extended attributes that are not kept here");
        }
        if found.system > 0 {
            self.report.left_out(path, inode.ino.0, "its attributes of the system (access control lists, labels)");
        }
        Ok(())
    }

    /// Y2.
    fn nameless(&mut self) -> anyhow::Result<()> {
        let (mut dirs, mut files) = (Vec::new(), Vec::new());
        let volume = self.volume;
        for (ino, found) in volume.inodes() {
            interrupt::check()?;
            match found {
                _ if self.met.contains(&ino) => {}
                Ok(inode) if inode.dinode.is_dir() => dirs.push(ino),
                Ok(_) => files.push(ino),
                Err(why @ (Why::Unreadable | Why::Beyond)) => self.report.unread_inodes(ino.0, why.to_string()),
                Err(why) => self.report.missing(b"", ino.0, why.to_string()),
            }
        }
        if dirs.is_empty() && files.is_empty() {
            return Ok(());
        }
        let found = b"lost+found";
        self.host.make_dir(found)?;
        // A directory below another one without a name comes with that one; the last pass is for circles.
        let below: HashSet<Ino> = dirs
            .iter()
            .filter_map(|dir| volume.inode(*dir).ok())
            .flat_map(|dir| volume.names(&dir).names.into_iter().filter(move |name| name.ino != dir.ino))
            .map(|name| name.ino)
            .collect();
        let (inner, outer): (Vec<Ino>, Vec<Ino>) = dirs.into_iter().partition(|dir| below.contains(dir));
        for ino in outer.into_iter().chain(inner).chain(files) {
            if !self.met.contains(&ino) {
                self.report.without_a_name += 1;
                let path = [&found[..], ino.0.to_string().as_bytes()].join(&b'/');
                self.tree(&path, ino)?;
            }
        }
        Ok(())
    }
}
