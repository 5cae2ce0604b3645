//! Draws calls for a volume of known geometry and for the tree that the calls before have left, so that most of them do
//! something.

mod contents;

pub(in crate::script::random) use contents::{LISTS, longest_attribute};

use super::ground::Ground;
use super::profile::{Profile, Ways, What};
use crate::paths::{Session, join};
use crate::random::Op;
use ordo_model::{MemFs, ready};
use ordo_rt::Rng;
use ordo_vfs::{Kind, Name, RenameMode};

/// Number of short names: few, so that calls interact.
const NAMES: u64 = 7;
/// Number of long ones: enough for a directory to need some blocks.
const LONG_NAMES: u64 = 24;
/// Depth of nested directories.
const DEPTH: usize = 3;
/// Direct pointers of an inode.
const DIRECT: u64 = 12;
/// Size of the piece of a directory that no entry crosses, in bytes.
const DIRBLK: u64 = 512;
/// Most names with which the set-up fills a directory.
const FILL_MAX: u64 = 200;
/// Bytes of an inode, and of an entry of the inode map, in the formats that there are.
const INODES: [u64; 5] = [256, 128, 12, 20, 32];
/// How far the number of files is from an edge. The first numbers are the volume's own.
const BESIDE: u64 = 9;
/// Most files of a set-up.
const FILES_MAX: u64 = 420;
/// Slots for open files; one more is for files without a name.
const SLOTS: u64 = 2;
const TMPFILE: u8 = 2;

/// Durations of pauses, in milliseconds: the syncer's second, a journal's five seconds, half of the syncer's age limit,
/// the limit with the seconds around it in which waits end, and twice that.
const PAUSES: [u64; 9] = [400, 1_100, 2_300, 5_400, 15_500, 29_600, 31_000, 33_500, 62_000];

/// The files that exist.
#[derive(Debug, Default)]
struct Known {
    /// Paths of directories, the root (the empty one) first.
    dirs: Vec<String>,
    /// Paths of regular files, and their sizes.
    files: Vec<(String, u64)>,
    /// Paths of other things.
    others: Vec<String>,
}

impl Known {
    async fn of(fs: &MemFs) -> ordo_vfs::Result<Known> {
        let session = Session::new(fs);
        let mut known = Known { dirs: vec![String::new()], ..Known::default() };
        let mut at = 0;
        while let Some(path) = known.dirs.get(at).cloned() {
            let dir = session.resolve(&path).await?;
            let mut names = session.list(&dir).await?;
            names.sort_unstable();
            for (name, _) in names {
                let path = join(&path, &String::from_utf8_lossy(&name));
                let held = session.lookup(&dir, Name::new(&name)?).await?;
                match held.attr.kind {
                    Kind::Directory => known.dirs.push(path),
                    Kind::Regular => known.files.push((path, held.attr.size)),
                    _ => known.others.push(path),
                }
            }
            at += 1;
        }
        Ok(known)
    }
}

/// Draws calls.
pub(super) struct Author {
    rng: Rng,
    ground: Ground,
    ways: Ways,
    known: Known,
    short: Vec<String>,
    long: Vec<String>,
    /// The name that the last rename freed.
    left: Option<String>,
    /// The file that was used last: most changes are of one file, since changes of one file interact.
    focus: Option<String>,
    /// Files stay within two blocks, where every change affects fragments.
    small: bool,
}

impl Author {
    pub(super) fn new(profile: Profile, seed: u64, ground: Ground) -> Author {
        let mut rng = Rng::new(seed ^ 0x6175_7468_6f72);
        let short = (0..NAMES).map(|i| char::from(b'a' + i as u8).to_string()).collect();
        let long = (0..LONG_NAMES).map(|i| long_name(i, &mut rng)).collect();
        let small = rng.chance(60, 100);
        Author {
            rng,
            ground,
            ways: profile.ways(),
            known: Known { dirs: vec![String::new()], ..Known::default() },
            short,
            long,
            left: None,
            focus: None,
            small,
        }
    }

    /// How many calls in the set-up, and how many after it.
    pub(super) fn lengths(&mut self) -> (u64, u64) {
        let calls = *self.rng.pick(&self.ways.calls);
        let setup = if self.rng.chance(25, 100) { 0 } else { self.rng.within(self.ways.setup.0, self.ways.setup.1) };
        (setup, self.rng.within(calls.0, calls.1))
    }

    /// Whether to make something durable now.
    pub(super) fn is_durable_now(&mut self) -> bool {
        self.rng.chance(self.ways.durable, 100)
    }

    /// A pause, now and then.
    pub(super) fn pause(&mut self) -> Option<Op> {
        self.rng.chance(self.ways.pauses, 100).then(|| Op::Pause { millis: *self.rng.pick(&PAUSES) })
    }

    /// Reads the current tree.
    pub(super) fn look(&mut self, fs: &MemFs) {
        // OK to ignore: the model refuses no call on what it lists.
        if let Ok(known) = ready(Known::of(fs)) {
            self.known = known;
        }
    }

    /// Files for the set-up, nearly as many as fill whole blocks of inodes or of an inode map, or a few more.
    fn many(&mut self) -> Vec<Op> {
        let block = self.ground.block;
        let edges: Vec<u64> = INODES
            .iter()
            .flat_map(|size| (1..=2).map(move |blocks| block / size * blocks))
            .filter(|count| (2 * BESIDE..=FILES_MAX).contains(count))
            .collect();
        if edges.is_empty() {
            return Vec::new();
        }
        let count = *self.rng.pick(&edges) + 2 - self.rng.below(BESIDE);
        (0..count).map(|i| Op::Create { path: format!("n{i}"), mode: 0o644 }).collect()
    }

    /// Calls that fill a new directory up to the edge of a fragment, of a block, or of its direct blocks; now and then.
    pub(super) fn fill(&mut self) -> Vec<Op> {
        if self.ways.many_files {
            return self.many();
        }
        if self.ways.long_names == 0 || !self.rng.chance(self.ways.long_names / 6, 100) {
            return Vec::new();
        }
        let edge = *self.rng.pick(&[self.ground.frag, self.ground.block, self.ground.block * DIRECT]);
        // Two names fill a piece that no entry crosses; the dots are in the first.
        let count = (edge / DIRBLK * 2).saturating_sub(self.rng.within(1, 4)).min(FILL_MAX);
        let (dir, file) = (self.short[3].clone(), self.short[0].clone());
        let mut calls =
            vec![Op::Mkdir { path: dir.clone(), mode: 0o755 }, Op::Create { path: file.clone(), mode: 0o644 }];
        calls.extend((0..count).map(|i| {
            let name = format!("F{i}");
            Op::Link { path: file.clone(), to: format!("{dir}/{name}{}", "x".repeat(235 - name.len())) }
        }));
        calls
    }

    /// The next call, or `None` if nothing fits.
    pub(super) fn draw(&mut self) -> Option<Op> {
        let mut at = self.rng.below(self.ways.weights.iter().map(|(weight, _)| weight).sum());
        let drawn = self.ways.weights.iter().find(|(weight, _)| match at.checked_sub(*weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        let (_, what) = drawn?;
        match what {
            What::Write | What::Append | What::Truncate | What::Fallocate | What::Reserve | What::Fill => {
                self.contents(*what)
            }
            What::SetAcl => self.access_list(),
            What::SetXattr | What::RemoveXattr => self.attribute(*what),
            what => self.names(*what),
        }
    }

    /// A call that makes the last change durable, or another one, or everything.
    pub(super) fn make_durable(&mut self, last: Option<String>) -> Op {
        let data_only = self.rng.chance(30, 100);
        let path = match self.rng.below(10) {
            0..3 => last,
            3..5 => self.file().map(|(path, _)| path),
            5 => self.dir_path(),
            6..8 => last.map(|path| above(&path).to_owned()),
            8 => Some(String::new()),
            _ => None,
        };
        match path {
            Some(path) => Op::Fsync { path: if path.is_empty() { "/".into() } else { path }, data_only },
            None => Op::Sync,
        }
    }

    fn name(&mut self) -> String {
        let long = self.rng.chance(self.ways.long_names, 100);
        let names = if long { &self.long } else { &self.short };
        names[self.rng.below(names.len() as u64) as usize].clone()
    }

    /// A directory; the root is the empty path.
    fn dir(&mut self) -> String {
        if self.rng.chance(30, 100) {
            return String::new();
        }
        self.known.dirs[self.rng.below(self.known.dirs.len() as u64) as usize].clone()
    }

    /// A directory other than the root.
    fn dir_path(&mut self) -> Option<String> {
        let below = &self.known.dirs[1..];
        (!below.is_empty()).then(|| below[self.rng.below(below.len() as u64) as usize].clone())
    }

    fn file(&mut self) -> Option<(String, u64)> {
        let files = &self.known.files;
        (!files.is_empty()).then(|| files[self.rng.below(files.len() as u64) as usize].clone())
    }

    /// Any named file.
    fn any(&mut self) -> Option<String> {
        let other = self.known.others.len() as u64;
        match self.rng.below(10) {
            0..4 => self.dir_path(),
            4..6 if other > 0 => Some(self.known.others[self.rng.below(other) as usize].clone()),
            _ => self.file().map(|(path, _)| path),
        }
    }

    /// A path for a new file; it may be taken.
    fn place(&mut self) -> String {
        let dir = self.dir();
        let dir = if dir.matches('/').count() + 1 >= DEPTH { String::new() } else { dir };
        join(&dir, &self.name())
    }

    fn names(&mut self, what: What) -> Option<Op> {
        let mode = *self.rng.pick(&[0o644, 0o600, 0o755]);
        Some(match what {
            What::Create => Op::Create { path: self.place(), mode },
            What::Mkdir => Op::Mkdir { path: self.place(), mode: 0o755 },
            What::Mknod => {
                let kind = *self.rng.pick(&[Kind::Fifo, Kind::Socket, Kind::CharDevice]);
                Op::Mknod { path: self.place(), kind, mode, rdev: if kind.is_device() { 259 } else { 0 } }
            }
            // Around the longest that fits into an inode of either format, and the longest of all.
            What::Symlink => {
                let len = *self.rng.pick(&[1, 59, 60, 119, 120, 200, 1023]);
                Op::Symlink { path: self.place(), target: "t/".repeat(len / 2 + 1)[..len].to_owned() }
            }
            What::Link => Op::Link { path: self.file()?.0, to: self.place() },
            What::Unlink => {
                let other = self.known.others.len() as u64;
                if other > 0 && self.rng.chance(20, 100) {
                    Op::Unlink { path: self.known.others[self.rng.below(other) as usize].clone() }
                } else {
                    Op::Unlink { path: self.file()?.0 }
                }
            }
            What::Rmdir => Op::Rmdir { path: self.dir_path()? },
            What::Rename => {
                let path = self.any()?;
                let to = if self.rng.chance(60, 100) { self.place() } else { self.any()? };
                self.rename(path, to)
            }
            What::RenameDir => {
                let path = self.dir_path()?;
                let to = if self.rng.chance(80, 100) { self.place() } else { self.dir_path()? };
                self.rename(path, to)
            }
            What::Exchange => {
                let (path, to) = (self.any()?, self.any()?);
                Op::Rename { path, to, mode: RenameMode::Exchange }
            }
            What::OldName => {
                let path = self.left.take()?;
                if self.rng.chance(40, 100) { Op::Mkdir { path, mode: 0o755 } } else { Op::Create { path, mode } }
            }
            What::Tmpfile => Op::Tmpfile { slot: TMPFILE, path: self.dir_path().unwrap_or_else(|| "/".into()), mode },
            What::LinkTmpfile => Op::Link { path: format!("@{TMPFILE}"), to: self.place() },
            What::Open => {
                let slot = self.rng.below(SLOTS) as u8;
                Op::Open { slot, path: if self.rng.chance(70, 100) { self.file()?.0 } else { self.dir_path()? } }
            }
            What::Close => Op::Close { slot: self.rng.below(SLOTS + 1) as u8 },
            What::Chmod => Op::Chmod { path: self.any()?, mode },
            What::ChmodHeld => Op::Chmod { path: self.slot(), mode },
            _ => return None,
        })
    }

    fn rename(&mut self, path: String, to: String) -> Op {
        self.left = Some(path.clone());
        let mode = if self.rng.chance(30, 100) { RenameMode::NoReplace } else { RenameMode::Replace };
        Op::Rename { path, to, mode }
    }

    /// A slot for an open file; there may be none in it.
    fn slot(&mut self) -> String {
        format!("@{}", self.rng.below(SLOTS + 1))
    }
}

/// The directory of the last name of a path.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// A name of any length, mostly such that two fill a piece of a directory that no entry crosses.
fn long_name(number: u64, rng: &mut Rng) -> String {
    let len = match rng.below(10) {
        0 => rng.within(3, 255),
        1 => 255,
        2..5 => rng.within(232, 235),
        5 => rng.within(244, 248),
        6 => rng.within(110, 120),
        _ => rng.within(200, 255),
    };
    let name = format!("L{number}");
    let rest = (len as usize).saturating_sub(name.len());
    name + &"x".repeat(rest)
}
