//! Compares a recovered tree with what was promised.

use crate::oracle::{Breach, Oracle};
use crate::promise::Floors;
use crate::record::{Call, Recording};
use crate::tree::{File, FileId, LOST, Tree};
use bytes::Bytes;
use ordo_buf::Promises;
use ordo_vfs::Kind;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

const SECTOR: usize = ordo_disk::SECTOR;

/// The view at one cut: what was promised, and which trees may be seen.
pub(crate) struct Judge<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) promises: &'a Promises,
    pub(crate) floors: &'a Floors,
}

impl Judge<'_> {
    /// The first promise that `found` breaks.
    pub(crate) fn judge(&self, found: &Tree) -> Option<Breach> {
        let trees = &self.recording.trees;
        let top = &trees[self.floors.top.min(trees.len() - 1)];
        if **top == *found {
            return None;
        }
        self.names(found).or_else(|| self.nobody_nameless(found)).or_else(|| self.moment(found)).or_else(|| {
            let lost = self.new_lost(found);
            let mut files = found.files.iter().filter(|(id, _)| lost != Some(**id));
            files.find_map(|(id, file)| self.file(found, *id, file))
        })
    }

    /// The `lost+found` that the recovery made. Its inode may be one whose earlier use was never durable, with the same
    /// generation.
    fn new_lost(&self, found: &Tree) -> Option<FileId> {
        let known = self.recording.trees.iter().any(|tree| tree.entry(tree.root, LOST).is_some());
        found.entry(found.root, LOST).filter(|_| !known)
    }

    /// The trees from `floor` to the last one that may be seen.
    fn window(&self, floor: usize) -> &[Rc<Tree>] {
        let trees = &self.recording.trees;
        let top = self.floors.top.min(trees.len() - 1);
        &trees[floor.min(top)..=top]
    }

    fn since(&self, floor: usize) -> String {
        match floor.checked_sub(1).and_then(|call| self.recording.calls.get(call)) {
            Some(call) => format!("after call {floor}, {}", call.short()),
            None => "after the set-up".into(),
        }
    }

    fn names(&self, found: &Tree) -> Option<Breach> {
        let lost = self.new_lost(found);
        for (dir, file) in found.files.iter().filter(|(dir, _)| lost != Some(**dir)) {
            let mut names: BTreeSet<&[u8]> = file.names.keys().map(Vec::as_slice).collect();
            for tree in self.window(self.floors.all) {
                let known = tree.files.get(dir);
                names.extend(known.iter().flat_map(|file| file.names.keys().map(Vec::as_slice)));
            }
            if lost.is_some() && *dir == found.root {
                names.remove(LOST);
            }
            for name in names {
                if self.is_aside(name) {
                    continue;
                }
                let is = file.names.get(name).copied();
                let floor = self.floors.name(*dir, name);
                let window = self.window(floor);
                let place = (*dir, name.to_vec());
                if is.is_none() && self.floors.endangered.iter().any(|(endangered, _)| *endangered == place) {
                    continue;
                }
                if !window.iter().any(|tree| tree.entry(*dir, name) == is) {
                    let may: BTreeSet<String> = window.iter().map(|tree| self.told(tree.entry(*dir, name))).collect();
                    let what = format!("the name {}{}", found.path(*dir), String::from_utf8_lossy(name));
                    let should = format!("{}, {}", any_of(may), self.since(floor));
                    return Some(Breach::new(Oracle::Durable, what, should, self.told(is)));
                }
            }
        }
        None
    }

    /// The temporary name of a file while it is exchanged with another one, because two entries do not change at once.
    /// A crash may leave it, unless the names are those of one moment.
    fn is_aside(&self, name: &[u8]) -> bool {
        let exchanges = |call: &Call| {
            matches!(call.op, Some(ordo_workload::random::Op::Rename { mode: ordo_vfs::RenameMode::Exchange, .. }))
        };
        let begun = &self.recording.calls[..self.floors.top.min(self.recording.calls.len())];
        !self.promises.names_of_a_moment && name.starts_with(b".exchange-") && begun.iter().any(exchanges)
    }

    /// What a name refers to, in words.
    fn told(&self, id: Option<FileId>) -> String {
        let Some(id) = id else { return "absent".into() };
        let made = self.recording.trees.iter().position(|tree| tree.file(id).is_some());
        match made {
            Some(0) => format!("inode {} (of the set-up)", id.ino),
            Some(call) => format!("inode {} (made by call {call}, {})", id.ino, self.recording.calls[call - 1].short()),
            None => format!("inode {} of generation {}, which no call made", id.ino, id.generation),
        }
    }

    /// Every file that had a durable name, and was never to be without one, has a name.
    fn nobody_nameless(&self, found: &Tree) -> Option<Breach> {
        if !self.promises.rename_never_loses {
            return None;
        }
        let lost = found.entry(found.root, LOST);
        let named: BTreeSet<FileId> = found
            .files
            .iter()
            .filter(|(dir, _)| lost != Some(**dir))
            .flat_map(|(_, f)| f.names.values().copied())
            .collect();
        let before = &self.window(self.floors.all)[0];
        let durable = self.floors.durably_named(&self.recording.trees);
        for (id, floor) in durable.into_iter().filter(|(id, _)| *id != before.root && !named.contains(id)) {
            let id = &id;
            if self.floors.endangered.iter().any(|(_, endangered)| *endangered == Some(*id)) {
                continue;
            }
            if self.window(floor).iter().all(|tree| tree.files.contains_key(id)) {
                let path = self.window(floor)[0].path_of(*id);
                let should = format!("a name, as in every tree {}: {path}", self.since(floor));
                return Some(Breach::new(Oracle::Rename, format!("inode {}", id.ino), should, "no name"));
            }
        }
        None
    }

    /// The names are those of one moment.
    fn moment(&self, found: &Tree) -> Option<Breach> {
        if !self.promises.names_of_a_moment {
            return None;
        }
        fn names(tree: &Tree) -> impl Iterator<Item = (&FileId, &BTreeMap<Vec<u8>, FileId>)> {
            let directories = tree.files.iter().filter(|(_, file)| file.kind.0 == Kind::Directory);
            directories.map(|(id, file)| (id, &file.names))
        }
        let floor = self.floors.moment(&self.recording.trees);
        if self.window(floor).iter().any(|tree| names(tree).eq(names(found))) {
            return None;
        }
        let should = format!("those of one moment {}", self.since(floor));
        Some(Breach::new(Oracle::Order, "all names", should, "of several moments"))
    }

    fn file(&self, found: &Tree, id: FileId, file: &File) -> Option<Breach> {
        let known = |floor| self.window(floor).iter().filter_map(|tree| tree.file(id)).collect::<Vec<_>>();
        let (data, attributes) = (known(self.floors.data(id)), known(self.floors.attributes(id)));
        let path = || found.path_of(id);
        if attributes.is_empty() || data.is_empty() {
            return None;
        }
        if !attributes.iter().any(|was| was.kind == file.kind) {
            let should = format!("{:?}", attributes[0].kind.0);
            return Some(Breach::new(
                Oracle::Durable,
                format!("the kind of {}", path()),
                should,
                format!("{:?}", file.kind.0),
            ));
        }
        self.attributes(&path, id, file, &attributes).or_else(|| self.data(&path, id, file, &data))
    }

    fn attributes(&self, path: &dyn Fn() -> String, id: FileId, file: &File, may: &[&File]) -> Option<Breach> {
        let breach = |what: &str, should: BTreeSet<String>, is: String| {
            let should = format!("{}, {}", any_of(should), self.since(self.floors.attributes(id)));
            Some(Breach::new(Oracle::Durable, format!("{what} of {}", path()), should, is))
        };
        if !may.iter().any(|was| was.mode == file.mode) {
            return breach(
                "the mode",
                may.iter().map(|was| format!("{:o}", was.mode)).collect(),
                format!("{:o}", file.mode),
            );
        }
        if !may.iter().any(|was| was.owner == file.owner) {
            return breach(
                "the owner",
                may.iter().map(|was| format!("{:?}", was.owner)).collect(),
                format!("{:?}", file.owner),
            );
        }
        if !may.iter().any(|was| was.flags == file.flags) {
            return breach(
                "the flags",
                may.iter().map(|was| format!("{:x}", was.flags)).collect(),
                format!("{:x}", file.flags),
            );
        }
        let names: BTreeSet<&Vec<u8>> =
            may.iter().flat_map(|was| was.xattrs.keys()).chain(file.xattrs.keys()).collect();
        for name in names {
            let is = file.xattrs.get(name);
            if !may.iter().any(|was| was.xattrs.get(name) == is) {
                let told = |value: Option<&Bytes>| {
                    value.map_or("absent".into(), |value| {
                        format!("{} bytes {:02x?}…", value.len(), &value[..value.len().min(8)])
                    })
                };
                let should = may.iter().map(|was| told(was.xattrs.get(name))).collect();
                return breach(&format!("the attribute {}", String::from_utf8_lossy(name)), should, told(is));
            }
        }
        None
    }

    fn data(&self, path: &dyn Fn() -> String, id: FileId, file: &File, may: &[&File]) -> Option<Breach> {
        if !matches!(file.kind.0, Kind::Regular | Kind::Symlink) {
            return None;
        }
        let since = || self.since(self.floors.data(id));
        // A file that was being created may be present without its bytes.
        let new = self.window(self.floors.data(id)).iter().any(|tree| tree.file(id).is_none());
        let same = |was: &&File| was.size == may[0].size && was.sectors == may[0].sectors;
        let unchanged = !new && may.iter().all(|was| same(was) && was.contents == may[0].contents);
        if !unchanged && !self.promises.durable_stays {
            return None;
        }
        let (least, most) =
            may.iter().fold((u64::MAX, 0), |(least, most), was| (least.min(was.size), most.max(was.size)));
        let least = if new { 0 } else { least };
        // A file of this format cannot end in a hole: a repair truncates it after its last block, and removes only
        // zeroes.
        let only_zeroes = || {
            may.iter().any(|was| was.size != may[0].size) && may.iter().any(|was| was.is_zero_between(file.size, least))
        };
        if file.size < least && only_zeroes() {
            return None;
        }
        if !(least..=most).contains(&file.size) {
            let should = format!("{least} to {most}, {}", since());
            return Some(Breach::new(Oracle::Durable, format!("the size of {}", path()), should, file.size));
        }
        if unchanged && file.sectors != may[0].sectors {
            let should = format!("{} sectors, {}", may[0].sectors, since());
            return Some(Breach::new(Oracle::Durable, format!("the space of {}", path()), should, file.sectors));
        }
        if may.iter().any(|was| {
            Rc::ptr_eq(&was.contents, &file.contents) || was.size == file.size && was.contents == file.contents
        }) {
            return None;
        }
        for (from, piece) in file.contents.iter() {
            for (i, bytes) in piece.chunks(SECTOR).enumerate() {
                let offset = from + (i * SECTOR) as u64;
                // The bytes of a large file are known only in part (tree-2).
                let known: Option<Vec<Bytes>> = may.iter().map(|was| was.bytes(offset, bytes.len())).collect();
                let Some(mut allowed) = known else { continue };
                if new {
                    allowed.push(vec![0; bytes.len()].into());
                }
                if allowed.iter().any(|was| **was == *bytes) {
                    continue;
                }
                // Zeroes may be a hole that got its block only later: bytes there count as changing, not as settled.
                let zeroes = allowed[0].iter().all(|byte| *byte == 0);
                let settled = !new && allowed.iter().all(|was| *was == allowed[0]) && (unchanged || !zeroes);
                if let Some(breach) = self.wrong_bytes(path, id, offset, bytes, settled) {
                    return Some(breach);
                }
            }
        }
        None
    }

    /// Bytes that the file never had there. If they were settled, they are wrong under every scheme; if the file was
    /// changing, only if the scheme promises that no stale data is seen.
    fn wrong_bytes(
        &self,
        path: &dyn Fn() -> String,
        id: FileId,
        offset: u64,
        bytes: &[u8],
        settled: bool,
    ) -> Option<Breach> {
        if !settled && !self.promises.no_stale_data {
            return None;
        }
        let owner = self.whose(bytes);
        let oracle =
            if owner.as_ref().is_some_and(|(owner, _)| *owner != id) { Oracle::Foreign } else { Oracle::Contents };
        let is = match owner {
            Some((owner, at)) => format!("bytes {at} of {}", self.told(Some(owner))),
            None if bytes.iter().all(|byte| *byte == 0) => "zeroes".into(),
            None => format!("{:02x?}…, which no file ever held", &bytes[..bytes.len().min(8)]),
        };
        let should =
            if settled { "what was written there" } else { "what was written there, or what was there before" };
        let should = format!("{should}, {}", self.since(self.floors.data(id)));
        Some(Breach::new(
            oracle,
            format!("bytes {offset} to {} of {}", offset + bytes.len() as u64 - 1, path()),
            should,
            is,
        ))
    }

    /// Which file ever held these bytes, and where.
    fn whose(&self, bytes: &[u8]) -> Option<(FileId, u64)> {
        if bytes.iter().all(|byte| *byte == 0) {
            return None;
        }
        let mut seen: FxHashMap<*const Vec<(u64, Bytes)>, ()> = FxHashMap::default();
        for (id, file) in self.recording.trees.iter().flat_map(|tree| tree.files.iter().chain(&tree.nameless)) {
            if seen.insert(Rc::as_ptr(&file.contents), ()).is_some() {
                continue;
            }
            for (from, piece) in file.contents.iter() {
                let at = piece
                    .chunks(SECTOR)
                    .position(|sector| sector.len() >= bytes.len() && sector[..bytes.len()] == *bytes);
                if let Some(at) = at {
                    return Some((*id, from + (at * SECTOR) as u64));
                }
            }
        }
        None
    }
}

fn any_of(values: BTreeSet<String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    values.join(", or ")
}
