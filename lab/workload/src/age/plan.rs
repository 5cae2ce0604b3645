//! What happens on a day.
//!
//! P1. A day's operations are planned before the first is played. They are those of a volume with room for all of them.
//! P2. After a day each use takes its share of the fill level, to within the last file; packages to within a
//!     fiftieth, or the last one.

use super::aging::Aging;
use super::op::Op;
use super::profile::Kind;
use super::state::{KEPT, State};
use super::tree::Tree;
use ordo_rt::Rng;
use std::collections::VecDeque;

/// A user's directories, and those of a package, at most.
const FAMILY: u64 = 8;
/// Directories of a use in which people work at a time, of all: one in so many, and at least so many.
const WORKING: (usize, usize) = (20, 4);
/// Installed software is left as it is this far from its fill level.
const SLACK: u64 = 50;
/// The largest file takes this part of the volume.
const LARGEST: u64 = 32;

impl Aging {
    /// The operations of the next day.
    pub fn plan(&mut self) -> Vec<Op> {
        let level = self.sway.next(&mut self.rng, &self.profile, self.day);
        let full = self.tree.space.bytes * level / 1000;
        let mut ops = Vec::new();
        for (of, state) in self.uses.iter_mut().enumerate() {
            let target = full * u64::from(state.use_.share) / 1000;
            let mut day =
                Day { of, target, state, tree: &mut self.tree, rng: &mut self.rng, day: self.day, ops: &mut ops };
            match day.state.use_.kind {
                Kind::Spool => day.spool(),
                Kind::Accounts => day.accounts(),
                Kind::Packages => day.packages(),
            }
        }
        ops
    }
}

/// A day of one use.
struct Day<'d> {
    of: usize,
    /// Bytes that it takes at the end of the day.
    target: u64,
    state: &'d mut State,
    tree: &'d mut Tree,
    rng: &'d mut Rng,
    day: u32,
    ops: &'d mut Vec<Op>,
}

impl Day<'_> {
    fn used(&self) -> u64 {
        self.tree.used[self.of]
    }

    /// Bytes that are written and last on a day.
    fn turnover(&self) -> u64 {
        self.used() * u64::from(self.state.use_.turnover) / 10_000
    }

    fn size(&mut self) -> u64 {
        self.state.use_.sizes.draw(self.rng, self.tree.space.bytes / LARGEST)
    }

    fn mkdir(&mut self, parent: Option<u32>) -> u32 {
        let dir = self.tree.mkdir(self.of, parent);
        self.ops.push(Op::Mkdir { dir });
        dir
    }

    /// Makes a file, and returns its number and the space that it takes.
    fn create(&mut self, dir: u32) -> (u32, u64) {
        let bytes = self.size();
        let file = self.tree.create(dir, bytes, self.day);
        let first = bytes.min(self.state.use_.first);
        self.ops.push(Op::Create { dir, file, bytes, first });
        (file, self.tree.space.of(bytes))
    }

    fn remove(&mut self, dir: u32, file: u32) {
        if self.tree.remove(dir, file).is_some() {
            self.ops.push(Op::Remove { dir, file });
        }
    }

    /// How many files a new directory gets.
    fn some_files(&mut self) -> u64 {
        self.rng.within(1, 2 * u64::from(self.state.use_.files) - 1)
    }

    // News.

    /// On the day articles come; in the night the oldest go.
    fn spool(&mut self) {
        if self.state.families.is_empty() {
            self.newsgroups();
        }
        let until = (self.used() + self.turnover()).max(self.target);
        while self.used() < until {
            // The first groups have most of the articles.
            let most = self.rng.below(self.state.families.len() as u64) + 1;
            let group = self.rng.below(most) as usize;
            let dir = self.state.families[group][0];
            let (file, _) = self.create(dir);
            self.state.queues[group % KEPT.len()].push_back((dir, file));
        }
        self.expire(self.target);
    }

    fn newsgroups(&mut self) {
        let mean = (0..256).map(|_| self.size()).sum::<u64>() / 256;
        let articles = self.target / self.tree.space.of(mean).max(1);
        for _ in 0..(articles / u64::from(self.state.use_.files)).max(1) {
            let dir = self.mkdir(None);
            self.state.families.push(vec![dir]);
        }
    }

    /// Removes the oldest articles, by how long their groups keep them, until no more than `most` bytes are left. The
    /// program that does so goes from group to group.
    fn expire(&mut self, most: u64) {
        let mut gone = Vec::new();
        let mut left = self.used();
        while left > most {
            // The first in each queue is the oldest there.
            let age = |(class, queue): (usize, &VecDeque<(u32, u32)>)| {
                let file = queue.front().map(|(_, file)| u64::from(*file))?;
                let newest = u64::from(self.tree.newest());
                Some(((newest - file) * 1000 / u64::from(KEPT[class]), class))
            };
            let oldest = self.state.queues.iter().enumerate().filter_map(age).max();
            let Some((dir, file)) = oldest.and_then(|(_, class)| self.state.queues[class].pop_front()) else { break };
            left -= self.tree.space.of(self.tree.bytes(dir, file));
            gone.push((dir, file));
        }
        gone.sort_unstable();
        for (dir, file) in gone {
            self.remove(dir, file);
        }
    }

    // Accounts.

    fn accounts(&mut self) {
        self.change_working();
        let (until, mut lasting) = (self.turnover(), 0);
        while lasting < until && !self.state.working.is_empty() {
            lasting += self.session();
        }
        self.tidy();
        self.grow();
    }

    /// A fifth of the directories in which people work are others than yesterday.
    fn change_working(&mut self) {
        let all = self.state.families.iter().map(Vec::len).sum::<usize>();
        let wanted = (all / WORKING.0).max(WORKING.1).min(all);
        let stay = self.state.working.len() * 4 / 5;
        self.rng.shuffle(&mut self.state.working);
        self.state.working.truncate(stay.min(wanted));
        while self.state.working.len() < wanted {
            let dir = self.any_dir();
            self.state.working.push(dir);
        }
    }

    fn any_dir(&mut self) -> u32 {
        let family = self.rng.below(self.state.families.len() as u64) as usize;
        *self.rng.pick(&self.state.families[family])
    }

    /// Someone works in a directory for a while. Returns the bytes written that last longer than the day.
    fn session(&mut self) -> u64 {
        let dir = *self.rng.pick(&self.state.working);
        let (mut passing, mut lasting) = (Vec::new(), 0);
        for _ in 0..self.rng.within(2, 16) {
            if self.rng.chance(1, 3) && !passing.is_empty() {
                let gone = passing.swap_remove(self.rng.below(passing.len() as u64) as usize);
                self.remove(dir, gone);
            }
            match self.rng.below(10) {
                0..4 => {
                    let (file, bytes) = self.create(dir);
                    match self.rng.chance(self.state.use_.passing.into(), 100) {
                        true => passing.push(file),
                        false => lasting += bytes,
                    }
                }
                4..7 => lasting += self.rewrite(dir),
                7..9 => lasting += self.append(dir),
                _ => {
                    if let Some(at) = self.some_place(dir) {
                        self.remove(dir, self.tree.dir(dir).files[at].no);
                    }
                }
            }
        }
        passing.into_iter().for_each(|file| self.remove(dir, file));
        // Even a session that has written nothing ends the day some time.
        lasting.max(self.tree.space.fragment)
    }

    /// A place in the list of a directory that has files.
    fn some_place(&mut self, dir: u32) -> Option<usize> {
        let files = self.tree.dir(dir).files.len() as u64;
        (files > 0).then(|| (0..3).map(|_| self.rng.below(files)).max().unwrap_or(0) as usize)
    }

    /// Writes a file again, a quarter larger or smaller at most.
    fn rewrite(&mut self, dir: u32) -> u64 {
        let Some(at) = self.some_place(dir) else { return 0 };
        let file = self.tree.dir(dir).files[at];
        let bytes = self.rng.within(file.bytes - file.bytes / 4, file.bytes + file.bytes / 4);
        self.tree.resize(dir, at, bytes);
        self.ops.push(Op::Rewrite { dir, file: file.no, bytes });
        self.tree.space.of(bytes)
    }

    /// Lines are added to a file, as to a log or a mailbox.
    fn append(&mut self, dir: u32) -> u64 {
        let Some(at) = self.some_place(dir) else { return 0 };
        let file = self.tree.dir(dir).files[at];
        let bytes = self.rng.within(80, 4000);
        self.tree.resize(dir, at, file.bytes + bytes);
        self.ops.push(Op::Append { dir, file: file.no, from: file.bytes, bytes });
        bytes
    }

    /// Someone cleans up, until no more is used than the target: most or all of a directory, or what came last.
    fn tidy(&mut self) {
        while self.used() > self.target && !self.state.families.is_empty() {
            let family = self.rng.below(self.state.families.len() as u64) as usize;
            let at = self.rng.below(self.state.families[family].len() as u64) as usize;
            let dir = self.state.families[family][at];
            let files: Vec<u32> = self.tree.dir(dir).files.iter().map(|file| file.no).collect();
            let count = self.rng.within(1, files.len().max(1) as u64) as usize;
            let from = match self.rng.chance(1, 2) {
                true => files.len().saturating_sub(count),
                false => self.rng.below((files.len().saturating_sub(count) + 1) as u64) as usize,
            };
            for file in files.into_iter().skip(from).take(count) {
                self.remove(dir, file);
            }
            // The first is the user's own, in which the others lie.
            if self.tree.dir(dir).files.is_empty() && at > 0 {
                self.rmdir(family, at);
            }
        }
    }

    fn rmdir(&mut self, family: usize, at: usize) {
        let dir = self.state.families[family].remove(at);
        self.state.working.retain(|other| *other != dir);
        self.tree.rmdir(dir);
        self.ops.push(Op::Rmdir { dir });
    }

    /// Files come until the target is reached, some in new directories, some of new users.
    fn grow(&mut self) {
        while self.used() < self.target {
            let (dir, files) = match self.rng.below(4) {
                0 => (self.new_dir(), self.some_files()),
                _ if self.state.working.is_empty() => (self.new_dir(), self.some_files()),
                _ => (*self.rng.pick(&self.state.working), self.rng.within(1, 8)),
            };
            for _ in 0..files {
                if self.used() < self.target {
                    self.create(dir);
                }
            }
        }
    }

    /// A directory of an account, of a new one if all have enough.
    fn new_dir(&mut self) -> u32 {
        let families = self.state.families.len() as u64;
        let family = self.rng.below(families.max(1)) as usize;
        match self.state.families.get(family).filter(|dirs| (dirs.len() as u64) < FAMILY).map(|dirs| dirs[0]) {
            Some(home) => {
                let dir = self.mkdir(Some(home));
                self.state.families[family].push(dir);
                dir
            }
            None => {
                let home = self.mkdir(None);
                self.state.families.push(vec![home]);
                home
            }
        }
    }

    // Packages.

    /// A new release replaces an old one when enough is due; others are added or go until the target is reached.
    fn packages(&mut self) {
        self.state.due += self.turnover();
        while self.state.due > 0 && self.state.families.len() > 1 {
            let old = self.rng.below(self.state.families.len() as u64) as usize;
            let size = self.state.families[old].iter().map(|dir| self.tree.taken(*dir)).sum::<u64>();
            if size > self.state.due && self.rng.chance(size - self.state.due, size) {
                break;
            }
            self.install(u64::MAX);
            self.uninstall(old);
            self.state.due = self.state.due.saturating_sub(size);
        }
        // Nobody removes a package for a little room, and builds another for a little more.
        let slack = self.target / SLACK;
        while self.used() > self.target + slack && self.state.families.len() > 1 {
            let old = self.rng.below(self.state.families.len() as u64) as usize;
            self.uninstall(old);
        }
        if self.used() + slack < self.target {
            while self.used() < self.target {
                self.install(self.target);
            }
        }
    }

    /// Builds a package: sources and what is made of them, of which the intermediate files go in the end. Ends early
    /// when `most` bytes are used.
    fn install(&mut self, most: u64) {
        let mut dirs = Vec::new();
        let mut passing = Vec::new();
        for _ in 0..self.rng.within(1, FAMILY) {
            let dir = self.mkdir(dirs.first().copied());
            dirs.push(dir);
            for _ in 0..self.some_files() {
                if self.used() >= most {
                    break;
                }
                let (file, _) = self.create(dir);
                if self.rng.chance(self.state.use_.passing.into(), 100) {
                    passing.push((dir, file));
                }
            }
        }
        self.state.families.push(dirs);
        passing.into_iter().for_each(|(dir, file)| self.remove(dir, file));
    }

    fn uninstall(&mut self, family: usize) {
        let dirs = self.state.families.swap_remove(family);
        for dir in dirs.into_iter().rev() {
            let files: Vec<u32> = self.tree.dir(dir).files.iter().map(|file| file.no).collect();
            files.into_iter().for_each(|file| self.remove(dir, file));
            self.tree.rmdir(dir);
            self.ops.push(Op::Rmdir { dir });
        }
    }
}
