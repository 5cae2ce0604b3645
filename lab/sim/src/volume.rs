//! A trace's files as pages: what a layout has to place, and what the cache may hold.
//!
//! V1. A page is a block of 4 KB of a file, of a directory or of a table of inodes, or an indirect block. Pages are
//!     numbered densely, so everything that is known of one lies in an array.
//! V2. Which inode a file has does not depend on the layout: the first free one in the group of its directory. So all
//!     systems have the same pages.

use crate::trace::{Catalogue, Contents, Trace};

/// Blocks of an allocation group (Table I).
pub const GROUP: u32 = 32_768;
/// Sectors of a block.
pub(crate) const SECTORS: u64 = 8;
/// Nothing, where a page or block may stand.
pub(crate) const NONE: u32 = u32::MAX;
/// Inodes of 128 bytes in a block (Table I).
const INODES: u32 = 32;
/// Names of 256 bytes in a block (Table I).
const NAMES: u32 = 16;
/// Blocks that an inode points to by itself, and those that an indirect block does.
const DIRECT: u32 = 12;
const INDIRECT: u32 = 1024;

/// The two drives of the paper: name, and whole blocks of 4 KB.
const ATLAS: (&str, u32) = ("quantum_atlas_10k", 2_245_869);
const CHEETAH: (&str, u32) = ("seagate_cheetah_15k5", 35_843_685);
/// Sectors of the larger one.
pub(crate) const LARGEST_SECTORS: u64 = CHEETAH.1 as u64 * SECTORS;

/// The paper's drive for a trace that needs so many blocks of 4 KB: the Atlas 10K, if they are not too many for it.
pub fn drive_for(blocks: u32) -> &'static str {
    if blocks <= ATLAS.1 { ATLAS.0 } else { CHEETAH.0 }
}

/// Blocks of a drive.
pub(crate) fn blocks_of(drive: &str) -> u32 {
    if drive == ATLAS.0 { ATLAS.1 } else { CHEETAH.1 }
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data of a file of one block.
    Small,
    /// Data of a larger file.
    Large,
    /// A directory, inodes or pointers.
    Meta,
}

/// Pages that follow one another, to be placed together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) page: u32,
    pub(crate) pages: u32,
    /// The group where it should go.
    pub(crate) group: u32,
    /// A block of the group's table of inodes, by its number in it.
    pub(crate) table: Option<u32>,
}

/// A file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FileAt {
    /// Its data.
    pub(crate) page: u32,
    pub(crate) blocks: u32,
    /// Its indirect blocks.
    pub(crate) indirect: u32,
    /// The page of its inode.
    pub(crate) inode: u32,
    /// The page of its directory that has its name.
    pub(crate) entry: u32,
    pub(crate) directory: u32,
    pub(crate) new: bool,
}

/// A directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DirectoryAt {
    pub(crate) inode: u32,
    pub(crate) entry: u32,
    pub(crate) parent: Option<u32>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Volume {
    /// Blocks of the drive, and of a group.
    pub(crate) blocks: u32,
    pub(crate) group: u32,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) files: Vec<FileAt>,
    pub(crate) directories: Vec<DirectoryAt>,
    /// In the order in which a layout places them: a directory, its files, the next.
    pub(crate) walk: Vec<Run>,
    /// Of a device: where each page lies.
    pub(crate) places: Option<Vec<u32>>,
}

impl Volume {
    /// The volume of a trace, in groups of so many blocks.
    pub(crate) fn of(trace: &Trace, group: u32) -> Volume {
        let blocks = blocks_of(trace.drive);
        match &trace.contents {
            Contents::Files(catalogue) => Builder::new(blocks, group).build(catalogue),
            Contents::Device(places) => Volume::of_device(blocks, group, places),
        }
    }

    fn of_device(blocks: u32, group: u32, places: &[u32]) -> Volume {
        let pages = places.len() as u32;
        let all = FileAt { page: 0, blocks: pages, indirect: NONE, inode: NONE, entry: NONE, directory: 0, new: false };
        Volume {
            blocks,
            group,
            kinds: vec![Kind::Large; places.len()],
            files: vec![all],
            directories: Vec::new(),
            walk: Vec::new(),
            places: Some(places.to_vec()),
        }
    }

    pub(crate) fn pages(&self) -> usize {
        self.kinds.len()
    }

    /// Whole groups of the drive.
    pub(crate) fn groups(&self) -> u32 {
        self.blocks / self.group
    }
}

/// The indirect block of a file by which its block `block` is found; `None` if the inode points to it.
pub(crate) fn pointer(file: &FileAt, block: u32) -> Option<u32> {
    let beyond = block.checked_sub(DIRECT)?;
    (file.indirect != NONE).then_some(file.indirect + beyond / INDIRECT)
}

/// The first block behind `block` that is found by another indirect block, or the first that is found by one.
pub(crate) fn next_pointed(block: u32) -> u32 {
    block.checked_sub(DIRECT).map_or(DIRECT, |beyond| DIRECT + (beyond / INDIRECT + 1) * INDIRECT)
}

/// Numbers pages in the order of the walk.
struct Builder {
    volume: Volume,
    /// Inodes given out, by group.
    inodes: Vec<u32>,
    /// The page of the newest block of inodes, by group.
    newest: Vec<u32>,
}

impl Builder {
    fn new(blocks: u32, group: u32) -> Builder {
        let groups = (blocks / group) as usize;
        let volume = Volume {
            blocks,
            group,
            kinds: Vec::new(),
            files: Vec::new(),
            directories: Vec::new(),
            walk: Vec::new(),
            places: None,
        };
        Builder { volume, inodes: vec![0; groups], newest: vec![NONE; groups] }
    }

    fn pages(&mut self, count: u32, kind: Kind) -> u32 {
        let first = self.volume.kinds.len() as u32;
        self.volume.kinds.resize((first + count) as usize, kind);
        first
    }

    fn place(&mut self, page: u32, pages: u32, group: u32, table: Option<u32>) {
        self.volume.walk.push(Run { page, pages, group, table });
    }

    /// The page of the next inode of a group.
    fn inode(&mut self, group: u32) -> u32 {
        let at = group as usize;
        if self.inodes[at].is_multiple_of(INODES) {
            let page = self.pages(1, Kind::Meta);
            self.place(page, 1, group, Some(self.inodes[at] / INODES));
            self.newest[at] = page;
        }
        self.inodes[at] += 1;
        self.newest[at]
    }

    fn file(&mut self, blocks: u32, group: u32) -> (u32, u32) {
        let page = self.pages(blocks, if blocks <= 1 { Kind::Small } else { Kind::Large });
        let pointers = blocks.saturating_sub(DIRECT).div_ceil(INDIRECT);
        let indirect = if pointers > 0 { self.pages(pointers, Kind::Meta) } else { NONE };
        let direct = blocks.min(DIRECT);
        self.place(page, direct, group, None);
        for at in 0..pointers {
            let from = DIRECT + at * INDIRECT;
            self.place(indirect + at, 1, group, None);
            self.place(page + from, (blocks - from).min(INDIRECT), group, None);
        }
        (page, indirect)
    }

    fn build(mut self, catalogue: &Catalogue) -> Volume {
        let groups = self.inodes.len() as u32;
        let group_of = |place: f64| ((place * f64::from(groups)) as u32).min(groups - 1);
        // Files and directories in a directory, and the number of each in it.
        let mut names = vec![0_u32; catalogue.directories.len()];
        let mut number = |directory: u32| {
            let next = &mut names[directory as usize];
            *next += 1;
            *next - 1
        };
        let in_parent: Vec<_> = catalogue.directories.iter().map(|d| d.parent.map(&mut number)).collect();
        let in_directory: Vec<_> = catalogue.files.iter().map(|file| number(file.directory)).collect();
        let mut by_directory = vec![Vec::new(); catalogue.directories.len()];
        for (at, file) in catalogue.files.iter().enumerate() {
            by_directory[file.directory as usize].push(at);
        }
        let nothing = FileAt { page: 0, blocks: 0, indirect: NONE, inode: NONE, entry: NONE, directory: 0, new: false };
        self.volume.files = vec![nothing; catalogue.files.len()];
        let mut contents = Vec::new();
        for (at, directory) in catalogue.directories.iter().enumerate() {
            let group = group_of(directory.place);
            let inode = self.inode(group);
            let blocks = names[at].div_ceil(NAMES).max(1);
            let page = self.pages(blocks, Kind::Meta);
            self.place(page, blocks, group, None);
            contents.push(page);
            // OK to index: a parent comes first, so its contents are there.
            let entry = directory.parent.zip(in_parent[at]).map_or(NONE, |(up, n)| contents[up as usize] + n / NAMES);
            self.volume.directories.push(DirectoryAt { inode, entry, parent: directory.parent });
            for &index in &by_directory[at] {
                let file = &catalogue.files[index];
                let inode = self.inode(group);
                let (first, indirect) = self.file(file.blocks, group);
                self.volume.files[index] = FileAt {
                    page: first,
                    blocks: file.blocks,
                    indirect,
                    inode,
                    entry: page + in_directory[index] / NAMES,
                    directory: at as u32,
                    new: file.new,
                };
            }
        }
        self.volume
    }
}
