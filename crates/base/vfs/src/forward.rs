//! A file system before a file system: the calls that it hands on.
//!
//! forward-1. Every method of [`FileSystem`](crate::FileSystem) is in the table below. `all` is all of them: one that
//!     were missing would get the trait's default, and a copy within a file would no longer be the layout's.
//! forward-2. An implementation that does not hand on all names what it hands on. For it the defaults of the trait are
//!     a choice: it sees the calls that they make.

/// Methods of an implementation of [`FileSystem`](crate::FileSystem) that do the same as each other. What they do is
/// said by a macro of the caller, which gets `self` and the call: `lookup(dir, name).await`, or `root()` for the three
/// that wait for nothing.
///
/// ```
/// use ordo_vfs::FileSystem;
///
/// struct Door<F>(F);
///
/// macro_rules! inner {
///     ($door:ident, $($call:tt)*) => { $door.0.$($call)* };
/// }
///
/// impl<F: FileSystem> FileSystem for Door<F> {
///     ordo_vfs::forward! { inner: all }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($with:ident: all) => {
        $crate::forward! { $with:
            root read_only forget lookup by_number getattr setattr readlink mknod mkdir symlink
            tmpfile link unlink rmdir rename read write fallocate copy_range seek readdir fsync
            syncfs statfs getxattr setxattr listxattr removexattr
        }
    };
    ($with:ident: $($name:ident)*) => {
        $($crate::forward! { @ $with $name })*
    };
    (@ $with:ident root) => {
        fn root(&self) -> $crate::NodeId {
            $with!(self, root())
        }
    };
    (@ $with:ident read_only) => {
        fn read_only(&self) -> bool {
            $with!(self, read_only())
        }
    };
    (@ $with:ident forget) => {
        fn forget(&self, node: $crate::NodeId, lookups: u64) {
            $with!(self, forget(node, lookups))
        }
    };
    (@ $with:ident lookup) => {
        $crate::forward! { @ $with lookup (dir: $crate::NodeId, name: $crate::Name<'_>) -> $crate::Entry }
    };
    (@ $with:ident by_number) => {
        $crate::forward! { @ $with by_number (ino: u64, generation: u32) -> $crate::Entry }
    };
    (@ $with:ident getattr) => { $crate::forward! { @ $with getattr (node: $crate::NodeId) -> $crate::Attr } };
    (@ $with:ident setattr) => {
        $crate::forward! { @ $with setattr (node: $crate::NodeId, set: &$crate::SetAttr) -> $crate::Attr }
    };
    (@ $with:ident readlink) => { $crate::forward! { @ $with readlink (node: $crate::NodeId) -> $crate::Bytes } };
    (@ $with:ident mknod) => {
        $crate::forward! { @ $with mknod (
            who: &$crate::Caller, dir: $crate::NodeId, name: $crate::Name<'_>, kind: $crate::Kind,
            mode: $crate::Mode, rdev: u64
        ) -> $crate::Entry }
    };
    (@ $with:ident mkdir) => { $crate::forward! { @ $with mkdir (
        who: &$crate::Caller, dir: $crate::NodeId, name: $crate::Name<'_>, mode: $crate::Mode
    ) -> $crate::Entry } };
    (@ $with:ident symlink) => { $crate::forward! { @ $with symlink (
        who: &$crate::Caller, dir: $crate::NodeId, name: $crate::Name<'_>, target: &[u8]
    ) -> $crate::Entry } };
    (@ $with:ident tmpfile) => { $crate::forward! { @ $with tmpfile (
        who: &$crate::Caller, dir: $crate::NodeId, mode: $crate::Mode
    ) -> $crate::Entry } };
    (@ $with:ident link) => { $crate::forward! { @ $with link (
        node: $crate::NodeId, dir: $crate::NodeId, name: $crate::Name<'_>
    ) -> $crate::Entry } };
    (@ $with:ident unlink) => {
        $crate::forward! { @ $with unlink (dir: $crate::NodeId, name: $crate::Name<'_>) -> () }
    };
    (@ $with:ident rmdir) => { $crate::forward! { @ $with rmdir (dir: $crate::NodeId, name: $crate::Name<'_>) -> () } };
    (@ $with:ident rename) => {
        $crate::forward! { @ $with rename (
            dir: $crate::NodeId, name: $crate::Name<'_>, to_dir: $crate::NodeId,
            to_name: $crate::Name<'_>, mode: $crate::RenameMode
        ) -> () }
    };
    (@ $with:ident read) => {
        $crate::forward! { @ $with read (node: $crate::NodeId, offset: u64, len: u32) -> $crate::Segments }
    };
    (@ $with:ident write) => {
        $crate::forward! { @ $with write (who: &$crate::Caller, node: $crate::NodeId, offset: u64, data: &[u8]) -> u32 }
    };
    (@ $with:ident fallocate) => { $crate::forward! { @ $with fallocate (
        who: &$crate::Caller, node: $crate::NodeId, offset: u64, len: u64, mode: $crate::FallocMode
    ) -> () } };
    (@ $with:ident copy_range) => { $crate::forward! { @ $with copy_range (
        who: &$crate::Caller, from: $crate::NodeId, offset: u64, to: $crate::NodeId, at: u64, len: u64
    ) -> u64 } };
    (@ $with:ident seek) => {
        $crate::forward! { @ $with seek (node: $crate::NodeId, offset: u64, whence: $crate::Whence) -> u64 }
    };
    (@ $with:ident readdir) => { $crate::forward! { @ $with readdir (
        node: $crate::NodeId, cookie: u64, take: &mut dyn FnMut($crate::DirEntry<'_>) -> bool
    ) -> () } };
    (@ $with:ident fsync) => { $crate::forward! { @ $with fsync (node: $crate::NodeId, data_only: bool) -> () } };
    (@ $with:ident syncfs) => { $crate::forward! { @ $with syncfs () -> () } };
    (@ $with:ident statfs) => { $crate::forward! { @ $with statfs () -> $crate::StatFs } };
    (@ $with:ident getxattr) => {
        $crate::forward! { @ $with getxattr (node: $crate::NodeId, name: &[u8]) -> $crate::Bytes }
    };
    (@ $with:ident setxattr) => { $crate::forward! { @ $with setxattr (
        who: &$crate::Caller, node: $crate::NodeId, name: &[u8], value: &[u8], mode: $crate::XattrMode
    ) -> () } };
    (@ $with:ident listxattr) => { $crate::forward! { @ $with listxattr (node: $crate::NodeId) -> Vec<Vec<u8>> } };
    (@ $with:ident removexattr) => {
        $crate::forward! { @ $with removexattr (node: $crate::NodeId, name: &[u8]) -> () }
    };
    (@ $with:ident $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        #[inline]
        async fn $name(&self $(, $arg: $ty)*) -> $crate::Result<$ret> {
            $with!(self, $name($($arg),*).await)
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// forward-1, read from the texts of the trait and of the table.
    #[test]
    fn every_method_of_a_file_system_is_in_the_table() {
        let text = include_str!("fs.rs").split_once("pub trait FileSystem {").expect("it is there").1;
        let lines = text.split_once("\n}\n").expect("it ends").0.lines();
        let method = |line: &'static str| line.strip_prefix("    ")?.trim_start_matches("async ").strip_prefix("fn ");
        let methods: BTreeSet<_> = lines.filter_map(method).filter_map(|rest| rest.split('(').next()).collect();
        let table = include_str!("forward.rs").split_once("forward! { $with:\n").expect("it is there").1;
        let table = table.split_once('}').expect("it ends").0;
        assert_eq!(methods, table.split_whitespace().collect());
    }
}
