//! Names and nodes below the root of the trace, as far as the calls have told.

use std::collections::HashMap;

use crate::call::Kind;

/// The node that is the root of the trace.
pub(super) const ROOT: u32 = 0;

/// A path as its names, from `/` on.
pub(super) type Path = Vec<Vec<u8>>;

/// The directory that becomes the root of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: Path,
    /// What lies in it and is another file system.
    apart: &'static [&'static str],
}

impl Default for Root {
    /// `/`, without `/dev`, `/proc` and `/sys`.
    fn default() -> Root {
        Root { path: Vec::new(), apart: &["dev", "proc", "sys"] }
    }
}

impl Root {
    /// The directory of this path; `None` if it does not begin with `/`.
    pub fn new(path: &[u8]) -> Option<Root> {
        path.starts_with(b"/").then(|| {
            let mut names = Path::new();
            for name in names_of(path) {
                match name {
                    b".." => drop(names.pop()),
                    name => names.push(name.to_vec()),
                }
            }
            match names.is_empty() {
                true => Root::default(),
                false => Root { path: names, apart: &[] },
            }
        })
    }
}

/// The names of a path, without those that are empty or `.`.
pub(super) fn names_of(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".")
}

/// Where a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// This node.
    In(u32),
    /// Outside of the root.
    Out(Path),
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) size: u64,
    /// The size is right, and not only the least that it can be.
    pub(super) is_sized: bool,
    /// The directory in which it has a name.
    pub(super) parent: u32,
    /// The names that are known.
    pub(super) names: u32,
    /// The open files of it.
    pub(super) opens: u32,
    /// The lines that have found or made it, which a `forget` gives back.
    pub(super) held: u64,
    /// Earlier, nothing can be done to it.
    pub(super) since_us: u64,
    /// When the last line about it begins.
    pub(super) last_us: u64,
    /// The line that may have found it instead of making it.
    pub(super) doubt: Option<usize>,
    /// Where a symbolic link leads.
    pub(super) target: Option<Vec<u8>>,
    /// A directory that the trace has made: what no call has put there is not there.
    pub(super) is_whole: bool,
}

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// What it names; `None` if nothing does.
    pub(super) node: Option<u32>,
    /// Since when.
    pub(super) since_us: u64,
}

/// Names and nodes.
#[derive(Debug)]
pub(super) struct Tree {
    root: Root,
    pub(super) nodes: Vec<Node>,
    names: HashMap<(u32, Vec<u8>), Name>,
}

impl Tree {
    pub(super) fn new(root: Root) -> Tree {
        let mut tree = Tree { root, nodes: Vec::new(), names: HashMap::new() };
        tree.add(Kind::Directory, ROOT, 0);
        tree
    }

    pub(super) fn add(&mut self, kind: Kind, parent: u32, since_us: u64) -> u32 {
        self.nodes.push(Node {
            kind,
            size: 0,
            is_sized: false,
            parent,
            names: 0,
            opens: 0,
            held: 0,
            since_us,
            last_us: since_us,
            doubt: None,
            target: None,
            is_whole: false,
        });
        self.nodes.len() as u32 - 1
    }

    pub(super) fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    pub(super) fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    /// Where every path begins.
    pub(super) fn top(&self) -> Place {
        self.place(Path::new())
    }

    fn place(&self, path: Path) -> Place {
        if path == self.root.path { Place::In(ROOT) } else { Place::Out(path) }
    }

    /// The directory above.
    pub(super) fn above(&self, place: Place) -> Place {
        match place {
            Place::In(ROOT) => {
                let mut path = self.root.path.clone();
                path.pop();
                self.place(path)
            }
            Place::In(node) => Place::In(self.node(node).parent),
            Place::Out(mut path) => {
                path.pop();
                self.place(path)
            }
        }
    }

    /// The place of a name in a directory, if that is not inside.
    pub(super) fn outside(&self, directory: &Place, name: &[u8]) -> Option<Place> {
        match directory {
            Place::Out(path) => {
                let mut path = path.clone();
                path.push(name.to_vec());
                Some(self.place(path))
            }
            Place::In(ROOT) if self.root.apart.iter().any(|apart| apart.as_bytes() == name) => {
                Some(Place::Out(vec![name.to_vec()]))
            }
            Place::In(_) => None,
        }
    }

    pub(super) fn name(&self, directory: u32, name: &[u8]) -> Option<Name> {
        self.names.get(&(directory, name.to_vec())).copied()
    }

    /// Says what a name names from now on, and returns what it named.
    pub(super) fn set(&mut self, directory: u32, name: &[u8], node: Option<u32>, since_us: u64) -> Option<u32> {
        if let Some(node) = node {
            let node = self.node_mut(node);
            (node.parent, node.names) = (directory, node.names + 1);
        }
        let old = self.names.insert((directory, name.to_vec()), Name { node, since_us })?.node?;
        self.node_mut(old).names -= 1;
        Some(old)
    }

    /// Nobody knows any more what a name names.
    pub(super) fn unknown(&mut self, directory: u32, name: &[u8], now_us: u64) {
        self.set(directory, name, None, now_us);
        self.node_mut(directory).is_whole = false;
        self.names.remove(&(directory, name.to_vec()));
    }
}
