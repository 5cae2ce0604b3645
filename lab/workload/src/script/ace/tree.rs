//! The state of the tree after the calls so far, as far as later calls depend on it.

use std::collections::{BTreeMap, BTreeSet};

/// A file or directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    /// Length in bytes.
    pub(super) size: u64,
    /// It has the attribute.
    pub(super) xattr: bool,
    /// A call changed it.
    pub(super) changed: bool,
}

/// Paths and what they refer to. The root always exists and has no path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    names: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    /// Paths that calls changed or removed.
    touched: BTreeSet<String>,
}

/// The path of the parent directory of `path`; empty for the root.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

impl Tree {
    pub(super) fn has(&self, path: &str) -> bool {
        matches!(path, "" | "/") || self.names.contains_key(path)
    }

    /// No call has affected this path, so what the set-up made there still exists.
    pub(super) fn is_untouched(&self, path: &str) -> bool {
        !self.touched.iter().any(|touched| touched == path || is_below(path, touched))
    }

    pub(super) fn touch(&mut self, path: &str) {
        self.touched.insert(path.to_owned());
    }

    pub(super) fn add(&mut self, path: &str) {
        self.names.insert(path.to_owned(), self.nodes.len());
        self.nodes.push(Node::default());
    }

    pub(super) fn link(&mut self, path: &str, to: &str) {
        if let Some(node) = self.names.get(path) {
            self.names.insert(to.to_owned(), *node);
        }
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.names.remove(path);
    }

    pub(super) fn are_one(&self, path: &str, other: &str) -> bool {
        self.names.get(path).is_some_and(|node| self.names.get(other) == Some(node))
    }

    /// Moves a path and all below it.
    pub(super) fn rename(&mut self, path: &str, to: &str) {
        let below = self.names.keys().filter(|name| *name == path || is_below(name, path));
        for name in below.cloned().collect::<Vec<_>>() {
            if let Some(node) = self.names.remove(&name) {
                self.names.insert(format!("{to}{}", &name[path.len()..]), node);
            }
        }
    }

    /// All paths below a directory, the contents of a directory before the directory.
    pub(super) fn below(&self, dir: &str) -> Vec<String> {
        self.names.keys().rev().filter(|name| is_below(name, dir)).cloned().collect()
    }

    /// A path that must exist by now.
    pub(super) fn node(&self, path: &str) -> Node {
        self.names.get(path).map(|node| self.nodes[*node]).unwrap_or_default()
    }

    pub(super) fn change(&mut self, path: &str, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.names.get(path) {
            change(&mut self.nodes[*node]);
        }
    }
}
