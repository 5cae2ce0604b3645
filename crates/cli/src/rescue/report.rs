//! What a recovery says at its end: in text, as JSON, and in a file beside what it has copied.

use crate::listing::json_text;
use crate::{size, text};
use serde::Serialize;
use std::ops::Range;

/// Entries of a list that are kept; the rest is counted.
const KEPT: usize = 10_000;
/// Ranges of one file that are kept.
const RANGES: usize = 1000;

/// Bytes of a file, or of a directory, that are missing.
#[derive(Debug, Serialize)]
pub(crate) struct Gap {
    offset: u64,
    len: u64,
    why: String,
}

/// The gaps of one file.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Gaps {
    pub(crate) ranges: Vec<Gap>,
    /// Ranges beyond those.
    more: u64,
    bytes: u64,
}

impl Gaps {
    pub(crate) fn add(&mut self, offset: u64, len: u64, why: String) {
        self.bytes = self.bytes.saturating_add(len);
        let full = self.ranges.len() >= RANGES;
        match self.ranges.last_mut() {
            Some(last) if last.offset.saturating_add(last.len) == offset && last.why == why => last.len += len,
            _ if full => self.more += 1,
            _ => self.ranges.push(Gap { offset, len, why }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// A file that is not whole.
#[derive(Debug, Default, Serialize)]
pub(crate) struct NotWhole {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    inode: u32,
    #[serde(flatten)]
    gaps: Gaps,
}

/// Something that was not copied, or not as it was.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Entry {
    /// Where; empty for an inode without a name.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    inode: u32,
    why: String,
}

/// A list that does not grow beyond reason.
#[derive(Debug, Default, Serialize)]
pub(crate) struct List<T> {
    pub(crate) count: u64,
    pub(crate) first: Vec<T>,
}

impl<T> List<T> {
    fn push(&mut self, entry: T) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(entry);
        }
    }
}

/// The whole report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) image: String,
    pub(crate) superblock: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    /// Bytes of the volume that the image lacks at its end.
    pub(crate) cut: u64,
    /// All that could be asked for was read.
    pub(crate) complete: bool,
    pub(crate) directories: u64,
    /// Files that are whole, links and pipes included.
    pub(crate) whole: u64,
    pub(crate) bytes: u64,
    /// Files and directories to which no directory leads, in lost+found.
    pub(crate) without_a_name: u64,
    pub(crate) with_gaps: List<NotWhole>,
    pub(crate) missing: List<Entry>,
    /// Parts of the tables of inodes that cannot be read: what had no name there is not known.
    pub(crate) unread_inodes: List<Entry>,
    /// Copied, but the check hash of the inode is wrong: something in it is not what was written.
    pub(crate) doubtful: List<Entry>,
    /// Neither lost nor copied: devices, sockets, snapshots.
    pub(crate) left_out: List<Entry>,
}

fn entry(path: &[u8], inode: u32, why: String) -> Entry {
    let (path, path_hex) = json_text(path);
    Entry { path, path_hex, inode, why }
}

impl Report {
    pub(crate) fn gaps(&mut self, path: &[u8], inode: u32, gaps: Gaps) {
        let (path, path_hex) = json_text(path);
        self.with_gaps.push(NotWhole { path, path_hex, inode, gaps });
    }

    pub(crate) fn missing(&mut self, path: &[u8], inode: u32, why: impl Into<String>) {
        self.missing.push(entry(path, inode, why.into()));
    }

    pub(crate) fn unread_inodes(&mut self, first: u32, why: impl Into<String>) {
        self.unread_inodes.push(entry(b"", first, why.into()));
    }

    pub(crate) fn doubtful(&mut self, path: &[u8], inode: u32) {
        self.doubtful.push(entry(path, inode, "the check hash of its inode is wrong".into()));
    }

    pub(crate) fn left_out(&mut self, path: &[u8], inode: u32, why: impl Into<String>) {
        self.left_out.push(entry(path, inode, why.into()));
    }

    /// Whether nothing is missing.
    pub(crate) fn finish(&mut self) {
        self.complete = self.with_gaps.count == 0 && self.missing.count == 0 && self.doubtful.count == 0;
        self.complete &= self.unread_inodes.count == 0;
    }

    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: described by {}", self.image, self.superblock)];
        lines.extend(self.log.clone());
        if self.cut > 0 {
            lines.push(format!("the image lacks the last {} bytes of the volume", self.cut));
        }
        let (whole, directories, bytes) = (self.whole, self.directories, size::human(self.bytes));
        lines.push(format!("{whole} files whole, {directories} directories, {bytes} copied"));
        if self.without_a_name > 0 {
            lines.push(format!("{} without a name, in lost+found by their inodes", self.without_a_name));
        }
        lines.push(format!("{} files with gaps, {} missing", self.with_gaps.count, self.missing.count));
        for file in &self.with_gaps.first {
            let shown = |gap: &Gap| {
                let Range { start, end } = gap.offset..gap.offset.saturating_add(gap.len);
                format!("  bytes {start} to {end}: {}", gap.why)
            };
            lines.push(format!("{} (inode {}): {} bytes are zeroes", file.path, file.inode, file.gaps.bytes));
            lines.extend(file.gaps.ranges.iter().map(shown));
            lines.extend((file.gaps.more > 0).then(|| format!("  and {} more ranges", file.gaps.more)));
        }
        for (title, list) in [("missing", &self.missing), ("doubtful", &self.doubtful), ("left out", &self.left_out)] {
            lines.extend(list.first.iter().map(|entry| {
                let path = if entry.path.is_empty() { "without a name" } else { &entry.path };
                format!("{title}: {path} (inode {}): {}", entry.inode, entry.why)
            }));
            let more = list.count.saturating_sub(list.first.len() as u64);
            lines.extend((more > 0).then(|| format!("{title}: and {more} more")));
        }
        let unread = &self.unread_inodes;
        if let Some(first) = unread.first.first() {
            let (count, ino, why) = (unread.count, first.inode, &first.why);
            lines.push(format!(
                "{count} blocks of inodes cannot be read, the first from inode {ino} on: {why}; files in them that no \
                 directory names are not known"
            ));
        }
        lines.iter().map(|line| text::one_line(line)).collect()
    }
}
