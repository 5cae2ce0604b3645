//! What the users believe to be on the volume: directories, files, and the space that they take.
//!
//! A file's number is larger than that of every file made before it, so a directory's list is in order of age.

use ordo_vfs::StatFs;

/// The space of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that users may fill: without the reserve.
    pub bytes: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Bytes of a fragment.
    pub fragment: u64,
}

impl Space {
    /// What is free for users on a volume.
    pub fn free_on(stat: &StatFs) -> Space {
        let (fragment, block) = (u64::from(stat.frag_size).max(1), u64::from(stat.block_size).max(1));
        Space { bytes: stat.avail_frags * fragment, block, fragment }
    }

    /// Bytes that a file takes: fragments behind the last of up to twelve whole blocks; then whole blocks, and those of
    /// pointers.
    pub(super) fn of(&self, bytes: u64) -> u64 {
        let blocks = bytes.div_ceil(self.block);
        match blocks.checked_sub(12) {
            None | Some(0) => bytes.next_multiple_of(self.fragment),
            Some(more) => (blocks + more.div_ceil(self.block / 4)) * self.block,
        }
    }
}

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File {
    pub(super) no: u32,
    pub(super) bytes: u64,
    /// The day on which it was made.
    pub(super) born: u32,
}

/// A directory.
#[derive(Debug, Clone)]
pub(super) struct Dir {
    /// The one that it lies in; `None`: the base.
    pub(super) parent: Option<u32>,
    /// Which of the profile's uses it belongs to.
    pub(super) of: usize,
    pub(super) files: Vec<File>,
}

/// All directories that there ever were, by number; one that is gone is empty.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) space: Space,
    pub(super) dirs: Vec<Dir>,
    /// Bytes taken by each use.
    pub(super) used: Vec<u64>,
    next: u32,
}

impl Tree {
    pub(super) fn new(space: Space, uses: usize) -> Tree {
        Tree { space, dirs: Vec::new(), used: vec![0; uses], next: 0 }
    }

    pub(super) fn dir(&self, dir: u32) -> &Dir {
        &self.dirs[dir as usize]
    }

    pub(super) fn mkdir(&mut self, of: usize, parent: Option<u32>) -> u32 {
        self.used[of] += self.space.fragment;
        self.dirs.push(Dir { parent, of, files: Vec::new() });
        self.dirs.len() as u32 - 1
    }

    pub(super) fn rmdir(&mut self, dir: u32) {
        let of = self.dir(dir).of;
        self.used[of] -= self.space.fragment;
    }

    pub(super) fn create(&mut self, dir: u32, bytes: u64, born: u32) -> u32 {
        let no = self.next;
        self.next += 1;
        let dir = &mut self.dirs[dir as usize];
        dir.files.push(File { no, bytes, born });
        self.used[dir.of] += self.space.of(bytes);
        no
    }

    /// The place of a file in its directory's list.
    fn find(&self, dir: u32, no: u32) -> Option<usize> {
        self.dir(dir).files.binary_search_by_key(&no, |file| file.no).ok()
    }

    /// The number of the file made last.
    pub(super) fn newest(&self) -> u32 {
        self.next.saturating_sub(1)
    }

    /// The size of a file; 0 of one that is not there.
    pub(super) fn bytes(&self, dir: u32, no: u32) -> u64 {
        self.find(dir, no).map_or(0, |at| self.dir(dir).files[at].bytes)
    }

    /// The day on which a file was made.
    pub(super) fn born(&self, dir: u32, no: u32) -> Option<u32> {
        self.find(dir, no).map(|at| self.dir(dir).files[at].born)
    }

    /// Bytes that the files of a directory take.
    pub(super) fn taken(&self, dir: u32) -> u64 {
        self.dir(dir).files.iter().map(|file| self.space.of(file.bytes)).sum()
    }

    /// Changes the size of the file at a place.
    pub(super) fn resize(&mut self, dir: u32, at: usize, bytes: u64) {
        let dir = &mut self.dirs[dir as usize];
        let old = std::mem::replace(&mut dir.files[at].bytes, bytes);
        self.used[dir.of] = self.used[dir.of] + self.space.of(bytes) - self.space.of(old);
    }

    /// Takes a file out, if it is there.
    pub(super) fn remove(&mut self, dir: u32, no: u32) -> Option<File> {
        let at = self.find(dir, no)?;
        let dir = &mut self.dirs[dir as usize];
        let file = dir.files.remove(at);
        self.used[dir.of] -= self.space.of(file.bytes);
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_fragments_then_blocks_and_pointers() {
        let space = Space { bytes: 1 << 30, block: 8192, fragment: 1024 };
        let kib = [0, 1, 3000, 8192, 20_000, 98_304, 98_305, 1 << 20].map(|bytes| space.of(bytes) / 1024);
        assert_eq!(kib, [0, 1, 3, 8, 20, 96, 112, 1032]);
    }

    #[test]
    fn what_is_used_is_the_sum_of_what_is_there() {
        let mut tree = Tree::new(Space { bytes: 1 << 30, block: 8192, fragment: 1024 }, 2);
        let dir = tree.mkdir(1, None);
        let files = [100, 5000, 200_000].map(|bytes| tree.create(dir, bytes, 0));
        tree.resize(dir, 1, 9000);
        assert_eq!(tree.used, [0, 1024 * (1 + 1 + 9 + 208)]);
        assert_eq!(tree.remove(dir, files[1]).map(|file| file.bytes), Some(9000));
        assert_eq!(tree.remove(dir, files[1]), None);
        tree.remove(dir, files[0]);
        tree.remove(dir, files[2]);
        tree.rmdir(dir);
        assert_eq!(tree.used, [0, 0]);
    }
}
