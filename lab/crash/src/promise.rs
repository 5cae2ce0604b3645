//! The promises at a cut: for every name and every file, since which call its state must have survived.
//!
//! P1. A *floor* is the number of the call after which something is promised: what is found must be the state after
//!     that call or after a later one that had begun. Without a promise the floor is the set-up, which was synced.
//! P2. Floors follow from what the scheme declares, and from nothing else.

use crate::record::{Moment, Recording};
use crate::tree::{FileId, Tree};
use ordo_buf::{Durable, Promises};
use ordo_vfs::{Kind, RenameMode};
use ordo_workload::random::Op;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A name: its directory, and its entry there.
pub(crate) type NameAt = (FileId, Vec<u8>);

/// The floors at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Floors {
    /// The floor of everything.
    pub(crate) all: usize,
    /// The last call that had begun: the effects of later calls cannot be seen.
    pub(crate) top: usize,
    /// Names that a rename may lose, and the file that may be lost with it: see [`Promised::endangered`].
    pub(crate) endangered: Vec<(NameAt, Option<FileId>)>,
    names: FxHashMap<NameAt, usize>,
    directories: FxHashMap<FileId, usize>,
    data: FxHashMap<FileId, usize>,
    attributes: FxHashMap<FileId, usize>,
}

impl Floors {
    /// What syncs alone have promised.
    pub(crate) fn of_syncs(&self) -> Floors {
        Floors { all: self.all, top: self.top, ..Floors::default() }
    }

    /// The floor of a name.
    pub(crate) fn name(&self, dir: FileId, name: &[u8]) -> usize {
        let own = self.names.get(&(dir, name.to_vec())).copied().unwrap_or(0);
        own.max(self.directories.get(&dir).copied().unwrap_or(0)).max(self.all)
    }

    /// The floor of a file's contents and size.
    pub(crate) fn data(&self, file: FileId) -> usize {
        self.data.get(&file).copied().unwrap_or(0).max(self.all)
    }

    /// The floor of a file's mode, owner, flags and extended attributes.
    pub(crate) fn attributes(&self, file: FileId) -> usize {
        self.attributes.get(&file).copied().unwrap_or(0).max(self.all)
    }

    /// The earliest moment to which a scheme that keeps names in order may fall back: when the last promised name, or
    /// the last name of a promised directory, became what it was at its floor. An fsync that finds the name durable has
    /// nothing to write, so what other calls did before it may be lost.
    pub(crate) fn moment(&self, trees: &[Rc<Tree>]) -> usize {
        let last = trees.len() - 1;
        fn since<T: PartialEq>(floor: usize, what: impl Fn(usize) -> T) -> usize {
            let kept = what(floor);
            (0..floor).rev().take_while(|call| what(*call) == kept).last().unwrap_or(floor)
        }
        let names = self
            .names
            .iter()
            .map(|((dir, name), floor)| since((*floor).min(last), |call| trees[call].entry(*dir, name)));
        let directories = self
            .directories
            .iter()
            .map(|(dir, floor)| since((*floor).min(last), |call| trees[call].files.get(dir).map(|file| &file.names)));
        names.chain(directories).max().unwrap_or(0).max(self.all)
    }

    /// The files that have a durable name, and since which call.
    pub(crate) fn durably_named(&self, trees: &[Rc<Tree>]) -> BTreeMap<FileId, usize> {
        let last = trees.len() - 1;
        let mut named: BTreeMap<FileId, usize> =
            trees[self.all.min(last)].files.keys().map(|id| (*id, self.all)).collect();
        for ((dir, name), floor) in self.names.iter().filter(|(_, floor)| **floor > self.all) {
            let id = trees[(*floor).min(last)].entry(*dir, name);
            named.extend(id.map(|id| (id, named.get(&id).copied().unwrap_or(0).max(*floor))));
        }
        named
    }

    /// Raises the floor of `place` and of all names on the path to it, up to a directory of which `found` says that it
    /// has a durable name already.
    fn raise_name(&mut self, tree: &Tree, place: NameAt, floor: usize, found: impl Fn(&Floors, FileId) -> bool) {
        let mut dir = place.0;
        // The target of a symbolic link becomes durable with its name: no call can sync it separately.
        let link = tree.entry(dir, &place.1).filter(|id| tree.files[id].kind.0 == Kind::Symlink);
        if let Some(id) = link {
            self.data.insert(id, floor);
        }
        self.names.insert(place, floor);
        while dir != tree.root && !found(self, dir) {
            let Some(above) = tree.place_of(dir) else { return };
            dir = above.0;
            self.names.insert(above, floor);
        }
    }
}

/// Follows the calls of a recording and maintains the floors.
pub(crate) struct Promised<'a> {
    recording: &'a Recording,
    promises: &'a Promises,
    /// Calls that have returned.
    returned: usize,
    /// The files that the script holds open in its slots.
    slots: FxHashMap<String, FileId>,
    pub(crate) floors: Floors,
}

impl<'a> Promised<'a> {
    pub(crate) fn new(recording: &'a Recording, promises: &'a Promises) -> Promised<'a> {
        let slots = recording.held.iter().map(|(slot, id)| (format!("@{slot}"), *id)).collect();
        Promised { recording, promises, returned: 0, slots, floors: Floors::default() }
    }

    /// Advances to the cut after `moments` moments. `true` if the floors changed.
    pub(crate) fn go_on(&mut self, moments: usize) -> bool {
        let calls = &self.recording.calls;
        let returned = calls.iter().take_while(|call| call.returned <= moments).count();
        let top = calls.iter().take_while(|call| call.began <= moments).count();
        let changed = returned != self.returned || top != self.floors.top;
        self.floors.top = top;
        while self.returned < returned {
            self.returned += 1;
            self.kept(self.returned);
        }
        if changed {
            self.floors.endangered = self.endangered();
        }
        changed
    }

    /// What a crash may lose of renames that need not be durable yet, unless the names are those of one moment
    /// (`Promises::rename_never_loses`). A directory that replaces an empty one, or is exchanged, has two names for a
    /// while. No directory may have two, so the repair leaves it the old one. The empty directory is then lost; an
    /// exchanged one keeps its third name.
    fn endangered(&self) -> Vec<(NameAt, Option<FileId>)> {
        if self.promises.names_of_a_moment {
            return Vec::new();
        }
        let on_return = self.promises.name_added == Durable::OnReturn;
        let first = if on_return { self.returned } else { self.floors.all };
        (first..self.floors.top).flat_map(|call| self.endangered_by(call).unwrap_or_default()).collect()
    }

    fn endangered_by(&self, call: usize) -> Option<Vec<(NameAt, Option<FileId>)>> {
        let Some(Op::Rename { path, to, mode }) = &self.recording.calls.get(call)?.op else { return None };
        let tree = &self.recording.trees[call];
        let place = |path: &str| {
            let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
            let dir = self.resolve(dir, tree)?;
            Some(((dir, name.into()), tree.entry(dir, name.as_bytes())?))
        };
        let (from, to) = (place(path)?, place(to)?);
        let is_dir = |id| tree.files.get(&id).is_some_and(|file| file.kind.0 == Kind::Directory);
        match mode {
            RenameMode::Exchange => {
                let ends = [&from, &to].into_iter().filter(|end| is_dir(from.1) || is_dir(to.1) || is_dir(end.1));
                Some(ends.map(|end| (end.0.clone(), None)).collect())
            }
            _ if is_dir(to.1) => Some(vec![(to.0, Some(to.1))]),
            _ => None,
        }
    }

    /// Updates the floors for the return of call number `now`, counted from 1.
    fn kept(&mut self, now: usize) {
        let call = &self.recording.calls[now - 1];
        let (before, after) = (&self.recording.trees[now - 1], &self.recording.trees[now]);
        if call.syncs {
            self.floors.all = now;
            return;
        }
        if !Rc::ptr_eq(before, after) {
            self.changed_on_return(before, after, now);
        }
        if let Some(op) = call.op.as_ref().filter(|_| call.done) {
            self.note_slot(op, before, after);
            if let Op::Fsync { path, data_only } = op
                && let Some(id) = self.resolve(path, after)
            {
                self.synced(id, *data_only, after, now);
            }
        }
    }

    /// What a call that returned promises without a sync.
    fn changed_on_return(&mut self, before: &Tree, after: &Tree, now: usize) {
        let on_return = |what| what == Durable::OnReturn;
        let dirs = before.files.keys().chain(after.files.keys().filter(|id| !before.files.contains_key(id)));
        for dir in dirs {
            let (old, new) = (before.files.get(dir), after.files.get(dir));
            let (Some(old), Some(new)) = (old.or(new), new) else { continue };
            let created = !before.files.contains_key(dir);
            for (name, id) in &new.names {
                if (created || old.names.get(name) != Some(id)) && on_return(self.promises.name_added) {
                    self.floors.raise_name(after, (*dir, name.clone()), now, |_, _| false);
                }
            }
            for name in old.names.keys().filter(|name| !new.names.contains_key(*name)) {
                if on_return(self.promises.name_removed) {
                    self.floors.names.insert((*dir, name.clone()), now);
                }
            }
            if on_return(self.promises.data) && old.contents != new.contents {
                self.floors.data.insert(*dir, now);
            }
            let attributes = |file: &crate::tree::File| (file.mode, file.owner, file.flags);
            let differ = attributes(old) != attributes(new) || old.xattrs != new.xattrs;
            if on_return(self.promises.attributes) && differ {
                self.floors.attributes.insert(*dir, now);
            }
        }
    }

    fn synced(&mut self, id: FileId, data_only: bool, after: &Tree, now: usize) {
        self.floors.data.insert(id, now);
        if !data_only {
            self.floors.attributes.insert(id, now);
        }
        if !self.promises.fsync_covers_name {
            return;
        }
        if after.files.get(&id).is_some_and(|file| file.kind.0 == Kind::Directory) {
            self.floors.directories.insert(id, now);
        }
        let recording = self.recording;
        let trees = &recording.trees;
        let durable = &trees[self.floors.all];
        for (dir, name) in after.names_of().remove(&id).unwrap_or_default() {
            // A name that the file had before is durable; the fsync does not cover what became of the directories
            // above.
            let since = self.floors.names.get(&(dir, name.clone())).max(self.floors.directories.get(&dir)).copied();
            let kept = |since: usize| trees[since..=now].iter().all(|tree| tree.entry(dir, &name) == Some(id));
            if durable.entry(dir, &name) == Some(id) || since.is_some_and(kept) {
                continue;
            }
            // If a directory on the path has a durable name, the file can be reached by that one; a later rename of the
            // directory is not covered by the fsync. A name may also have become durable without a sync, which no call
            // reports: that is possible once a block of a directory was written.
            let was_there = |call: &usize| trees[*call].entry(dir, &name) == Some(id);
            let came = (0..now).rev().take_while(was_there).last().unwrap_or(now);
            let by_itself = a_directory_left(recording, came, now);
            let named = |floors: &Floors, id| {
                let at = |((dir, name), floor): (&NameAt, &usize)| trees[*floor].entry(*dir, name) == Some(id);
                let known = durable.files.contains_key(&id) || floors.names.iter().any(at);
                known || by_itself && was_renamed(trees, id, now)
            };
            self.floors.raise_name(after, (dir, name), now, named);
        }
    }

    fn note_slot(&mut self, op: &Op, before: &Tree, after: &Tree) {
        let (slot, id) = match op {
            Op::Open { slot, path } => (slot, self.resolve(path, after)),
            Op::Tmpfile { slot, .. } => (slot, after.nameless.keys().find(|id| before.file(**id).is_none()).copied()),
            Op::Close { slot } => (slot, None),
            _ => return,
        };
        self.slots.remove(&format!("@{slot}"));
        self.slots.extend(id.map(|id| (format!("@{slot}"), id)));
    }

    fn resolve(&self, path: &str, tree: &Tree) -> Option<FileId> {
        let mut at = tree.root;
        for (i, part) in path.split('/').filter(|part| !part.is_empty()).enumerate() {
            at = match self.slots.get(part).filter(|_| i == 0) {
                Some(held) => *held,
                None if part == ".." => tree.place_of(at).map_or(tree.root, |(above, _)| above),
                None => tree.entry(at, part.as_bytes())?,
            };
        }
        Some(at)
    }
}

/// A block of a directory was written after call number `from` had begun, and before call number `to` did.
fn a_directory_left(recording: &Recording, from: usize, to: usize) -> bool {
    let began = |call: usize| recording.calls[call.max(1) - 1].began;
    let is_directory = |moment: &Moment| match moment {
        Moment::Issued(write) => {
            let mut parts = recording.writes[*write].parts.iter();
            recording.log_structured || parts.any(|part| part.kind == ordo_disk::Kind::Directory)
        }
        _ => false,
    };
    recording.moments[began(from)..began(to)].iter().any(is_directory)
}

/// Before call number `now` the directory was in another place.
fn was_renamed(trees: &[Rc<Tree>], dir: FileId, now: usize) -> bool {
    let place = trees[now].place_of(dir);
    trees[..now].iter().any(|tree| tree.files.contains_key(&dir) && tree.place_of(dir) != place)
}
