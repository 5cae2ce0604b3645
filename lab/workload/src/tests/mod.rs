//! A file system that counts and records the calls on it, for tests.

use ordo_vfs::{Caller, DirEntry, FileSystem, NodeId, Result};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The wrapper.
pub(crate) struct Calls<F> {
    pub(crate) fs: F,
    counts: RefCell<BTreeMap<&'static str, u64>>,
    hash: Cell<u64>,
}

impl<F> Calls<F> {
    pub(crate) fn of(fs: F) -> Calls<F> {
        Calls { fs, counts: RefCell::default(), hash: Cell::new(0) }
    }

    /// Resets counts and record.
    pub(crate) fn reset(&self) {
        self.counts.borrow_mut().clear();
        self.hash.set(0);
    }

    pub(crate) fn count(&self, call: &str) -> u64 {
        self.counts.borrow().get(call).copied().unwrap_or_default()
    }

    /// A hash of all calls with their arguments, in order.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.get()
    }

    fn saw(&self, call: &'static str, what: impl Hash) {
        *self.counts.borrow_mut().entry(call).or_default() += 1;
        let mut hasher = rustc_hash::FxHasher::default();
        (self.hash.get(), call, what).hash(&mut hasher);
        self.hash.set(hasher.finish());
    }
}

macro_rules! seen {
    ($calls:ident, $call:ident($($arg:ident),*).await) => {{
        $calls.saw(stringify!($call), format!("{:?}", ($(&$arg,)*)));
        $calls.fs.$call($($arg),*).await
    }};
    ($calls:ident, $($call:tt)*) => {
        $calls.fs.$($call)*
    };
}

impl<F: FileSystem> FileSystem for Calls<F> {
    ordo_vfs::forward! { seen:
        root read_only forget lookup getattr setattr readlink mknod mkdir symlink tmpfile link unlink rmdir
        rename read fallocate seek fsync syncfs statfs getxattr setxattr listxattr removexattr
    }

    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        self.saw("write", (offset, data));
        self.fs.write(who, node, offset, data).await
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.saw("readdir", ());
        self.fs.readdir(node, cookie, take).await
    }
}
