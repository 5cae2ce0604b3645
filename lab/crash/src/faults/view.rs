//! A tree by its paths, without regard to inode numbers, and which part of it was promised.

use crate::tree::{File, FileId, Tree};
use ordo_buf::Promises;
use ordo_vfs::Kind;
use ordo_workload::random::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A file, and the first of its paths: two names of one file have the same first path.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    first: String,
    file: File,
}

/// The files by path. The root is the empty path.
#[derive(Debug)]
pub(super) struct View {
    items: BTreeMap<String, Item>,
    ids: BTreeMap<String, FileId>,
}

impl View {
    pub(super) fn of(tree: &Tree) -> View {
        let (mut ids, mut waiting) = (BTreeMap::new(), vec![(String::new(), tree.root)]);
        // A damaged directory may be its own descendant.
        let mut gone_through = BTreeSet::new();
        while let Some((path, id)) = waiting.pop() {
            let names = tree.files.get(&id).map(|file| &file.names).filter(|_| gone_through.insert(id));
            for (name, below) in names.into_iter().flatten() {
                waiting.push((format!("{path}/{}", String::from_utf8_lossy(name)), *below));
            }
            ids.insert(path, id);
        }
        let mut first: BTreeMap<FileId, &String> = BTreeMap::new();
        ids.iter().for_each(|(path, id)| _ = first.entry(*id).or_insert(path));
        let item = |(path, id): (&String, &FileId)| {
            let file = File { names: BTreeMap::new(), ..tree.files.get(id)?.clone() };
            Some((path.clone(), Item { first: first[id].clone(), file }))
        };
        let items = ids.iter().filter_map(item).collect();
        View { items, ids }
    }

    /// The first path where `found` differs, and how.
    pub(super) fn differs(&self, found: &View) -> Option<String> {
        let paths = self.items.keys().chain(found.items.keys());
        paths.map(String::as_str).find_map(|path| self.differs_at(found, path, true))
    }

    fn differs_at(&self, found: &View, path: &str, attributes: bool) -> Option<String> {
        let name = if path.is_empty() { "/" } else { path };
        let (right, is) = match (self.items.get(path), found.items.get(path)) {
            (Some(right), Some(is)) => (right, is),
            (Some(_), None) => return Some(format!("{name} is not there")),
            (None, Some(_)) => return Some(format!("{name} should not be there")),
            (None, None) => return None,
        };
        let (a, b) = (&right.file, &is.file);
        let what = if a.size != b.size {
            format!("has {} bytes instead of {}", b.size, a.size)
        } else if a.contents != b.contents {
            "holds other bytes".into()
        } else if attributes && a != b {
            "has other attributes".into()
        } else if attributes && right.first != is.first {
            format!("is the same file as {}", is.first)
        } else {
            return None;
        };
        Some(format!("{name} {what}"))
    }
}

/// What was promised, in the run without a fault, when the fault was first met.
pub(super) struct Kept<'a> {
    /// The views before the first call, and after each.
    pub(super) views: &'a [Rc<View>],
    pub(super) calls: &'a [Op],
    pub(super) promises: &'a Promises,
}

impl Kept<'_> {
    /// What of that is missing in `found`, after a run whose first `right` calls behaved as expected. Checks only what
    /// no later call of the script touches: the effect of those after an error is unknown.
    pub(super) fn lost(&self, right: usize, found: &View) -> Option<String> {
        let (mut synced, mut files) = (0, BTreeMap::new());
        for (i, op) in self.calls.iter().take(right).enumerate() {
            match op {
                Op::Sync => {
                    files.clear();
                    synced = i + 1;
                }
                Op::Fsync { path, data_only } => {
                    let path = path.trim_matches('/');
                    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
                    if self.promises.fsync_covers_name || self.is_named(&path, synced, i + 1) {
                        files.insert(path, (i + 1, !data_only));
                    }
                }
                _ => {}
            }
        }
        let all = self.views[synced].items.keys().map(|path| (path.as_str(), (synced, true)));
        let each = files.iter().map(|(path, since)| (path.as_str(), *since));
        all.chain(each).find_map(|(path, (since, attributes))| {
            let right = &self.views[since];
            let item = right.items.get(path)?;
            let same =
                |view: &Rc<View>| view.ids.get(path) == right.ids.get(path) && view.items.get(path) == Some(item);
            let is_there = found.items.contains_key(path);
            let stays = self.views[since..].iter().all(same) && (is_there || self.is_left_alone(path, since));
            // The link count of a directory depends on the directories in it, not on the directory itself.
            let attributes = attributes && item.file.kind.0 != Kind::Directory;
            let lost = right.differs_at(found, path, attributes).filter(|_| stays);
            lost.map(|lost| format!("{lost}, promised since call {since}"))
        })
    }

    /// No later call changes a directory that leads to `path`, or the scheme keeps what was durable. Without an order a
    /// directory that grows may move: its inode then points to a place where the write of its names has failed.
    fn is_left_alone(&self, path: &str, since: usize) -> bool {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        self.promises.durable_stays
            || above.into_iter().all(|dir| {
                self.views[since..].iter().all(|view| names_in(view, dir).eq(names_in(&self.views[since], dir)))
            })
    }

    /// The path refers to the same file in all trees from one to another.
    fn is_named(&self, path: &str, from: usize, to: usize) -> bool {
        let id = self.views[to].ids.get(path);
        id.is_some() && self.views[from..to].iter().all(|view| view.ids.get(path) == id)
    }
}

/// The paths of what is in the directory.
fn names_in<'a>(view: &'a View, dir: &'a str) -> impl Iterator<Item = &'a String> {
    view.items.keys().filter(move |path| path.rsplit_once('/').is_some_and(|(parent, _)| parent == dir))
}
