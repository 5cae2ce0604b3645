//! The second pass: the tree from the root on, one block of a directory at a time (reclaim-2).

use crate::Phase;
use crate::reclaimer::{Next, Pass, damage};
use ordo_ondisk::{Ino, dirent};
use ordo_ufs::Inode;
use ordo_vfs::{Error, Result};
use std::rc::Rc;

/// Blocks of directories in one step.
const BLOCKS: usize = 16;

/// An entry that was read.
struct Read {
    offset: u64,
    ino: Ino,
    /// It is `.` or `..`.
    dot: bool,
}

impl Pass<'_> {
    pub(crate) async fn walk_step(self) -> Result<()> {
        for _ in 0..BLOCKS {
            let at = self.reclaimer.scan(|scan| scan.cursor).flatten();
            match at {
                Some((dir, from)) => self.walk_block(dir, from).await?,
                None if self.next_directory().await? => {}
                None => return self.names_counted(),
            }
        }
        Ok(())
    }

    /// All names are counted. Looks for counts that are too low now, before anything is freed (reclaim-4).
    fn names_counted(self) -> Result<()> {
        if let Some(ino) = self.reclaimer.scan(|scan| scan.names.too_low()).flatten() {
            return Err(damage(format_args!("inode {}: the link count is lower than its names are many", ino.0)));
        }
        self.reclaimer.phase(Phase::FreeInodes, Next::SecondNames);
        Ok(())
    }

    /// Begins with the next directory that was named. `false` if there is none.
    async fn next_directory(self) -> Result<bool> {
        let next = self.reclaimer.scan(|scan| {
            while let Some(dir) = scan.waiting.pop() {
                if scan.walked.insert(dir) {
                    scan.cursor = Some((dir, 0));
                    return true;
                }
            }
            false
        });
        if next == Some(true) {
            self.reclaimer.count(|progress| progress.directories += 1);
        }
        Ok(next == Some(true))
    }

    async fn walk_block(self, dir: Ino, from: u64) -> Result<()> {
        let Some(inode) = self.suspect(dir).await? else { return self.leave_directory(dir) };
        let _shared = inode.lock.read().await;
        let still = self.reclaimer.scan(|scan| scan.cursor) == Some(Some((dir, from)));
        if !still {
            return Ok(());
        }
        // Removed, or not a directory: the number of a named directory was reused for a file.
        if !inode.is_dir() || inode.links_seen() == 0 || from >= inode.size() {
            return self.leave_directory(dir);
        }
        let (entries, next) = self.read_entries(&inode, from).await?;
        let mut strangers = Vec::new();
        self.reclaimer.scan(|scan| {
            for entry in &entries {
                scan.names.add(entry.ino);
                match scan.names.is_dir(entry.ino) {
                    _ if entry.dot => {}
                    Some(true) => scan.met_directory(dir, entry.offset, entry.ino),
                    Some(false) => {}
                    None => strangers.push(entry.ino),
                }
            }
            scan.cursor = Some((dir, next));
        });
        for ino in strangers {
            // Made since the mount, or else a name that leads nowhere; it cannot be removed while the directory is
            // locked.
            let Some(stranger) = self.suspect(ino).await? else {
                return Err(damage(format_args!("directory {}: a name leads to the free inode {}", dir.0, ino.0)));
            };
            if stranger.is_dir() {
                self.reclaimer.scan(|scan| scan.waiting.push(ino));
            }
        }
        Ok(())
    }

    fn leave_directory(self, dir: Ino) -> Result<()> {
        self.reclaimer.scan(|scan| {
            if scan.cursor.is_some_and(|(at, _)| at == dir) {
                scan.cursor = None;
            }
        });
        Ok(())
    }

    /// The entries of the block at `from`, and where the next one begins.
    async fn read_entries(self, dir: &Rc<Inode>, from: u64) -> Result<(Vec<Read>, u64)> {
        let (format, size) = (self.layout().geometry().dir_format(), dir.size());
        let (block, mut within) = self.fs.dir_block(dir, from).await?;
        let (bytes, mut at, mut entries) = (block.bytes(), from, Vec::new());
        while within + format.block <= bytes.len() && at < size {
            for entry in dirent::entries(&bytes[within..within + format.block], format, dir.ino(), at) {
                let entry = entry.map_err(Error::corrupt)?;
                if entry.is_name() {
                    let dot = matches!(entry.name, b"." | b"..");
                    entries.push(Read { offset: at + entry.offset as u64, ino: entry.ino, dot });
                }
            }
            within += format.block;
            at += format.block as u64;
        }
        Ok((entries, at))
    }
}
