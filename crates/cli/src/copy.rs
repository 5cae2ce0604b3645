//! Copies files and trees between any two file systems: an image, or a directory of the host.
//!
//! C1. Nothing is written outside the target (M6 of the security goals): names come from an image, and may be `..`, or
//!     contain a slash. Each is checked, every file is made in a directory that is held open, and no symbolic link is
//!     ever followed below the target.
//! C2. The contents of an image are not trusted on the host: devices are left out and set-user-id bits cleared unless
//!     requested, and of extended attributes only `user.*` and access control lists are copied.
//! C3. Holes stay holes, in both directions.
//! C4. A walk of a damaged image ends: no directory is entered twice, however many names lead to it.
//! C5. An interruption leaves complete files only: a file that is being copied is removed, and the directories on the
//!     way to it get their modes and times.
//! C6. Memory does not grow with the number of files or their length: a file with several names is held until all of
//!     them were met, and only the directories on the path to the present one are held. Of the others only the numbers
//!     are kept (C4).

use crate::interrupt::{self, Interrupted};
use crate::place::join;
use crate::stored;
use ordo_vfs::{Attr, Caller, FileSystem, Kind, Mode, Name, NodeId, Refusal, SetAttr, SetTime, XattrMode};
use ordofs::path::Held;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Bytes of one read.
const PIECE: u64 = 1 << 20;

/// What a copy includes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    /// Also directories.
    pub(crate) recursive: bool,
    /// Modes, owners, times, hard links and extended attributes.
    pub(crate) preserve: bool,
    /// Device files, also onto the host.
    pub(crate) devices: bool,
    /// Set-user-id and set-group-id bits, also onto the host.
    pub(crate) setuid: bool,
    /// The target is the host (C2).
    pub(crate) to_host: bool,
    /// The source is an image (C4). A host's tree has no loops, and its inode numbers repeat on other mounts.
    pub(crate) from_image: bool,
    /// Source and target are the same volume.
    pub(crate) one_volume: bool,
}

/// What was copied: of files that are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Files that were left out, each with a message.
    pub(crate) skipped: u64,
}

/// Called with the path of a file that is left out, and why.
pub(crate) type Complain<'a> = &'a mut dyn FnMut(&[u8], &str);

/// Whether the copy may continue; called before each file, and within long ones.
type MayGoOn = Box<dyn Fn() -> std::result::Result<(), Interrupted>>;

/// A copy in progress.
pub(crate) struct Copier<'a, S: FileSystem, D: FileSystem> {
    who: Caller,
    rules: Rules,
    complain: Complain<'a>,
    /// Files with several names, by their node; held, so that no other file can get the same number meanwhile.
    links: HashMap<NodeId, Linked<S, D>>,
    entered: BTreeSet<u64>,
    /// The first directory that was made: it must not be copied into itself.
    made: Option<u64>,
    may_go_on: MayGoOn,
    pub(crate) counts: Counts,
}

/// A file with several names, some of which were not met yet.
struct Linked<S: FileSystem, D: FileSystem> {
    _from: Held<S>,
    to: Held<D>,
    /// The number of names not met yet, according to the source.
    more: u32,
}

/// A directory whose contents are being copied.
struct Frame<S: FileSystem, D: FileSystem> {
    from: Held<S>,
    to: Rc<Held<D>>,
    names: std::vec::IntoIter<Vec<u8>>,
    path: Vec<u8>,
    fresh: bool,
}

/// A directory that is ready to be copied into.
struct Opened<S: FileSystem, D: FileSystem> {
    from: Held<S>,
    to: Held<D>,
    path: Vec<u8>,
    fresh: bool,
}

/// Why a file was not copied.
enum Left {
    /// The copy continues without it.
    Out(String),
    /// Nothing more can or may be copied.
    Stop(anyhow::Error),
}

impl From<Interrupted> for Left {
    fn from(interrupted: Interrupted) -> Left {
        Left::Stop(interrupted.into())
    }
}

impl From<ordo_vfs::Error> for Left {
    fn from(error: ordo_vfs::Error) -> Left {
        match error {
            ordo_vfs::Error::Refused(Refusal::NoSpace | Refusal::NoInodes | Refusal::ReadOnly | Refusal::NoMemory) => {
                Left::Stop(error.into())
            }
            other => Left::Out(other.to_string()),
        }
    }
}

type Step<T> = std::result::Result<T, Left>;
type Result<T> = anyhow::Result<T>;

impl<'a, S: FileSystem, D: FileSystem> Copier<'a, S, D> {
    /// A copy whose new files belong to `who`, if `rules` do not preserve owners.
    pub(crate) fn new(who: Caller, rules: Rules, complain: Complain<'a>) -> Copier<'a, S, D> {
        let (links, entered) = (HashMap::new(), BTreeSet::new());
        let may_go_on = Box::new(interrupt::check);
        Copier { who, rules, complain, links, entered, made: None, may_go_on, counts: Counts::default() }
    }

    /// Copies `from`, named `path` in messages, to `name` in `dir`, with everything below it.
    ///
    /// # Errors
    /// When nothing more can be copied, or the copy is interrupted. A file that cannot be copied is reported and
    /// counted.
    pub(crate) async fn copy(&mut self, from: Held<S>, path: &[u8], dir: &Held<D>, name: &[u8]) -> Result<()> {
        let mut stack = Vec::new();
        self.enter(&mut stack, from, path.to_vec(), dir, name).await?;
        self.go_on(stack).await
    }

    /// Copies the contents of the directory `from` into the directory `to`.
    ///
    /// # Errors
    /// As [`Copier::copy`].
    pub(crate) async fn fill(&mut self, from: Held<S>, path: &[u8], to: Held<D>) -> Result<()> {
        self.made = Some(to.attr().ino);
        self.entered.insert(from.attr().ino);
        let mut stack = Vec::new();
        self.open(&mut stack, Opened { from, to, path: path.to_vec(), fresh: false }).await?;
        self.go_on(stack).await
    }

    async fn go_on(&mut self, mut stack: Vec<Frame<S, D>>) -> Result<()> {
        let outcome = self.walk(&mut stack).await;
        // Also in a copy that was stopped: until now their modes are those their owner needs to fill them (C5).
        for frame in stack.iter().rev() {
            if let Err(Left::Out(why)) = self.finish(frame).await {
                (self.complain)(&frame.path, &why);
            }
        }
        outcome
    }

    /// Copies until the stack is empty.
    async fn walk(&mut self, stack: &mut Vec<Frame<S, D>>) -> Result<()> {
        while let Some(frame) = stack.last_mut() {
            let Some(name) = frame.names.next() else {
                if let Some(done) = stack.pop() {
                    let outcome = self.finish(&done).await;
                    self.judge(&done.path, outcome)?;
                }
                continue;
            };
            (self.may_go_on)()?;
            let below = join(&frame.path, &name);
            let child = frame.from.lookup(&name).await.map_err(Left::from);
            let Some(child) = self.judge(&below, child)? else { continue };
            let to = frame.to.clone();
            self.enter(stack, child, below, &to, &name).await?;
        }
        Ok(())
    }

    /// Copies a file, or makes a directory and pushes it onto the stack.
    async fn enter(
        &mut self,
        stack: &mut Vec<Frame<S, D>>,
        from: Held<S>,
        path: Vec<u8>,
        dir: &Held<D>,
        name: &[u8],
    ) -> Result<()> {
        if !from.is_dir() {
            let outcome = self.copy_file(from, dir, name).await;
            return self.judge(&path, outcome).map(drop);
        }
        let made = self.make_dir(&from, dir, name).await;
        let Some((to, fresh)) = self.judge(&path, made)? else { return Ok(()) };
        self.open(stack, Opened { from, to, path, fresh }).await
    }

    async fn open(&mut self, stack: &mut Vec<Frame<S, D>>, dir: Opened<S, D>) -> Result<()> {
        let Opened { from, to, path, fresh } = dir;
        let (names, outcome) = from.names().await;
        self.judge(&path, outcome.map_err(Left::from))?;
        stack.push(Frame { from, to: Rc::new(to), names: names.into_iter(), path, fresh });
        Ok(())
    }

    fn judge<T>(&mut self, path: &[u8], outcome: Step<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(Left::Stop(error)) => Err(error),
            Err(Left::Out(why)) => {
                self.counts.skipped += 1;
                (self.complain)(path, &why);
                Ok(None)
            }
        }
    }

    /// The directory to copy into, and whether it was made by this copy.
    async fn make_dir(&mut self, from: &Held<S>, dir: &Held<D>, name: &[u8]) -> Step<(Held<D>, bool)> {
        if !self.rules.recursive {
            return Err(Left::Out("is a directory; give -r to copy it".into()));
        }
        let name = checked(name)?;
        let ino = from.attr().ino;
        if self.rules.one_volume && self.made == Some(ino) {
            return Err(Left::Out("a directory cannot be copied into itself".into()));
        }
        if self.rules.from_image && !self.entered.insert(ino) {
            return Err(Left::Out("this directory was met before: the volume is damaged; run ordo fsck".into()));
        }
        if let Some(there) = dir.find(name.bytes()).await? {
            let blocked = || Left::Out("the target has a file of this name where a directory is needed".into());
            return if there.is_dir() { Ok((there, false)) } else { Err(blocked()) };
        }
        // The owner must be able to fill the directory; the final mode is set when it is full.
        let mode = Mode::new(u32::from(self.mode(from.attr()).bits()) & 0o777 | 0o700);
        let made = Held::new(dir.fs(), dir.fs().mkdir(&self.who, dir.node(), name, mode).await?);
        self.made.get_or_insert(made.attr().ino);
        self.counts.files += 1;
        Ok((made, true))
    }

    async fn finish(&mut self, frame: &Frame<S, D>) -> Step<()> {
        if self.rules.preserve {
            return self.preserve(&frame.from, &frame.to).await;
        }
        let wanted = Mode::new(u32::from(self.mode(frame.from.attr()).bits() & !self.who.umask));
        if frame.fresh && wanted.bits() & 0o700 != 0o700 {
            let set = SetAttr { mode: Some(wanted), ..SetAttr::default() };
            frame.to.fs().setattr(frame.to.node(), &set).await?;
        }
        Ok(())
    }

    /// The mode of a copy (C2).
    fn mode(&self, attr: &Attr) -> Mode {
        let dropped = match (self.rules.preserve, self.rules.to_host && !self.rules.setuid) {
            (true, false) => 0,
            (true, true) => 0o6000,
            (false, _) => 0o7000,
        };
        Mode::new(u32::from(attr.mode.bits() & !dropped))
    }

    async fn copy_file(&mut self, from: Held<S>, dir: &Held<D>, name: &[u8]) -> Step<()> {
        let name = checked(name)?;
        let attr = *from.attr();
        if attr.kind.is_device() && self.rules.to_host && !self.rules.devices {
            return Err(Left::Out("a device file, left out; give --devices to make it".into()));
        }
        let there = self.make_way(&attr, dir, name).await?;
        if let Some(first) = self.links.get_mut(&from.node()).filter(|_| self.rules.preserve) {
            if let Some(there) = there {
                drop(there);
                dir.fs().unlink(dir.node(), name).await?;
            }
            drop(Held::new(dir.fs(), dir.fs().link(first.to.node(), dir.node(), name).await?));
            self.counts.files += 1;
            first.more = first.more.saturating_sub(1);
            if first.more == 0 {
                self.links.remove(&from.node());
            }
            return Ok(());
        }
        let to = match there {
            Some(there) => there,
            None => self.make(&from, dir, name).await?,
        };
        if attr.kind == Kind::Regular {
            let copied = self.copy_contents(&from, &to).await;
            if let Err(Left::Stop(_)) = copied {
                dir.fs().unlink(dir.node(), name).await?;
            }
            self.counts.bytes += copied?;
        }
        if self.rules.preserve {
            self.preserve(&from, &to).await?;
        }
        self.counts.files += 1;
        if attr.nlink > 1 && self.rules.preserve {
            self.links.insert(from.node(), Linked { _from: from, to, more: attr.nlink - 1 });
        }
        Ok(())
    }

    /// Returns the existing file if it can be overwritten: a plain file with no other name. Links and files with
    /// several names are removed instead, so that nothing is changed through them (C1).
    async fn make_way(&mut self, attr: &Attr, dir: &Held<D>, name: Name<'_>) -> Step<Option<Held<D>>> {
        let Some(there) = dir.find(name.bytes()).await? else { return Ok(None) };
        if self.rules.one_volume && there.attr().ino == attr.ino {
            return Err(Left::Out("source and target are the same file".into()));
        }
        match (there.attr().kind, there.attr().nlink) {
            (Kind::Directory, _) => Err(Left::Out("the target has a directory of this name".into())),
            (Kind::Regular, 1) if attr.kind == Kind::Regular => {
                let set = SetAttr { size: Some(0), ..SetAttr::default() };
                there.fs().setattr(there.node(), &set).await?;
                Ok(Some(there))
            }
            (Kind::Regular | Kind::Symlink, _) => {
                drop(there);
                dir.fs().unlink(dir.node(), name).await?;
                Ok(None)
            }
            _ => Err(Left::Out("the target has a device, pipe or socket of this name".into())),
        }
    }

    async fn make(&self, from: &Held<S>, dir: &Held<D>, name: Name<'_>) -> Step<Held<D>> {
        let (fs, attr) = (dir.fs(), from.attr());
        let entry = match attr.kind {
            Kind::Symlink => {
                let target = from.fs().readlink(from.node()).await?;
                fs.symlink(&self.who, dir.node(), name, &target).await?
            }
            kind => fs.mknod(&self.who, dir.node(), name, kind, self.mode(attr), attr.rdev).await?,
        };
        Ok(Held::new(fs, entry))
    }

    /// C3: only stored ranges are read and written. Returns how many bytes they had.
    async fn copy_contents(&mut self, from: &Held<S>, to: &Held<D>) -> Step<u64> {
        let size = from.attr().size;
        let (mut at, mut end, mut copied) = (0, 0, 0);
        while let Some(range) = stored::next(from, at).await? {
            end = self.copy_range(from, to, range.start, range.end).await?;
            copied += end - range.start;
            if end < range.end {
                break;
            }
            at = range.end;
        }
        if end < size {
            let set = SetAttr { size: Some(size), ..SetAttr::default() };
            to.fs().setattr(to.node(), &set).await?;
        }
        Ok(copied)
    }

    /// Returns where it ended: before `end` if the file was truncated meanwhile.
    async fn copy_range(&mut self, from: &Held<S>, to: &Held<D>, start: u64, end: u64) -> Step<u64> {
        let mut at = start;
        while at < end {
            if at > 0 {
                (self.may_go_on)()?;
            }
            let pieces = from.fs().read(from.node(), at, (end - at).min(PIECE) as u32).await?;
            let before = at;
            for piece in &pieces {
                let mut rest = &piece[..];
                while !rest.is_empty() {
                    let written = to.fs().write(&self.who, to.node(), at, rest).await?;
                    at += u64::from(written);
                    rest = rest.get(written as usize..).unwrap_or_default();
                }
            }
            crate::progress::add(at - before);
            if at == before {
                break;
            }
        }
        Ok(at)
    }

    /// Owner first, because a change of owner clears set-user-id bits; times last, because everything else changes
    /// them.
    async fn preserve(&self, from: &Held<S>, to: &Held<D>) -> Step<()> {
        let (fs, attr) = (to.fs(), from.attr());
        self.copy_xattrs(from, to).await?;
        let owner = SetAttr { uid: Some(attr.uid), gid: Some(attr.gid), ..SetAttr::default() };
        match fs.setattr(to.node(), &owner).await {
            // Only root can change owners; other users own the copy.
            Err(ordo_vfs::Error::Refused(Refusal::NotPermitted | Refusal::Denied)) if self.rules.to_host => {}
            other => drop(other?),
        }
        if attr.kind != Kind::Symlink {
            let mode = SetAttr { mode: Some(self.mode(attr)), ..SetAttr::default() };
            fs.setattr(to.node(), &mode).await?;
        }
        let (atime, mtime) = (Some(SetTime::At(attr.atime)), Some(SetTime::At(attr.mtime)));
        fs.setattr(to.node(), &SetAttr { atime, mtime, ..SetAttr::default() }).await?;
        Ok(())
    }

    async fn copy_xattrs(&self, from: &Held<S>, to: &Held<D>) -> Step<()> {
        let optional = |error: &ordo_vfs::Error| {
            matches!(error, ordo_vfs::Error::Refused(Refusal::NotSupported | Refusal::NotPermitted | Refusal::Denied))
        };
        let names = match from.fs().listxattr(from.node()).await {
            Err(error) if optional(&error) => return Ok(()),
            names => names?,
        };
        let harmless = |name: &[u8]| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_");
        for name in names.iter().filter(|name| !self.rules.to_host || harmless(name)) {
            let value = from.fs().getxattr(from.node(), name).await?;
            match to.fs().setxattr(&self.who, to.node(), name, &value, XattrMode::Set).await {
                Err(error) if optional(&error) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

/// A name that stays in its directory (C1).
fn checked(name: &[u8]) -> Step<Name<'_>> {
    let name = Name::new(name)?;
    if name.is_dot_or_dotdot() {
        return Err(Left::Out("a name that leads to another directory; left out".into()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fresh::{Fresh, NewSize};
    use ordofs::disk::RamDisk;
    use ordofs::rt::Rt;
    use ordofs::{Fs, MountOptions, Mounted};

    /// A small volume in memory.
    fn in_ram(rt: &Rt) -> Mounted {
        let (disk, size) = (Rc::new(RamDisk::new(16 << 20)), NewSize::of(16 << 20));
        Fresh::on(rt, disk, None, size, &MountOptions::default()).unwrap().mounted
    }

    async fn put(fs: &Rc<Fs>, name: &str, kind: Kind, mode: u32) -> Held<Fs> {
        let name = Name::new(name.as_bytes()).unwrap();
        let who = Caller::default();
        let made = match kind {
            Kind::Directory => fs.mkdir(&who, fs.root(), name, Mode::new(mode)).await,
            kind => fs.mknod(&who, fs.root(), name, kind, Mode::new(mode), 0x103).await,
        };
        Held::new(fs, made.unwrap())
    }

    /// Copies everything from one root to the other; returns what was left out, and how much was copied.
    async fn copy_all(from: &Rc<Fs>, to: &Rc<Fs>, rules: Rules) -> (Vec<String>, Counts) {
        let mut left = Vec::new();
        let mut complain = |path: &[u8], _: &str| left.push(String::from_utf8_lossy(path).into_owned());
        let mut copier = Copier::new(Caller::default(), rules, &mut complain);
        let (source, target) = (Held::root(from).await.unwrap(), Held::root(to).await.unwrap());
        copier.fill(source, b"", target).await.unwrap();
        let counts = copier.counts;
        drop(copier);
        (left, counts)
    }

    const ALL: Rules = Rules {
        recursive: true,
        preserve: true,
        devices: false,
        setuid: false,
        to_host: true,
        from_image: true,
        one_volume: false,
    };

    #[test]
    fn the_host_gets_no_devices_no_set_user_id_and_no_trusted_attributes_unasked() {
        let rt = Rt::virtual_time(1);
        let (from, to, other) = (in_ram(&rt), in_ram(&rt), in_ram(&rt));
        let (from, to) = (from.fs(), to.fs());
        rt.block_on(async {
            drop(put(from, "device", Kind::BlockDevice, 0o600).await);
            let program = put(from, "program", Kind::Regular, 0o6755).await;
            for name in ["user.a", "trusted.b"] {
                let who = Caller::default();
                let set = from.setxattr(&who, program.node(), name.as_bytes(), b"1", XattrMode::Set);
                set.await.unwrap();
            }
            let (left, counts) = copy_all(from, to, ALL).await;
            assert_eq!((left, counts.files, counts.skipped), (vec!["/device".to_owned()], 1, 1));
            let copy = Held::root(to).await.unwrap().lookup(b"program").await.unwrap();
            assert_eq!(copy.attr().mode.bits(), 0o755);
            assert_eq!(to.listxattr(copy.node()).await.unwrap(), [b"user.a"]);

            let to = other.fs();
            let (left, _) = copy_all(from, to, Rules { devices: true, setuid: true, ..ALL }).await;
            assert!(left.is_empty());
            let root = Held::root(to).await.unwrap();
            assert_eq!(root.lookup(b"program").await.unwrap().attr().mode.bits(), 0o6755);
            assert_eq!(root.lookup(b"device").await.unwrap().attr().rdev, 0x103);
        });
    }

    #[test]
    fn holes_are_neither_read_nor_written_and_the_end_is_kept() {
        let rt = Rt::virtual_time(1);
        let (from, to) = (in_ram(&rt), in_ram(&rt));
        let (from, to) = (from.fs(), to.fs());
        rt.block_on(async {
            let file = put(from, "sparse", Kind::Regular, 0o644).await;
            from.write(&Caller::default(), file.node(), 5 << 20, b"data").await.unwrap();
            let longer = SetAttr { size: Some(9 << 20), ..SetAttr::default() };
            from.setattr(file.node(), &longer).await.unwrap();
            let (left, counts) = copy_all(from, to, ALL).await;
            assert!(left.is_empty() && counts.bytes < 1 << 20, "{counts:?}");
            let copy = Held::root(to).await.unwrap().lookup(b"sparse").await.unwrap();
            assert_eq!(copy.attr().size, 9 << 20);
            assert_eq!(to.read(copy.node(), 5 << 20, 4).await.unwrap().concat(), b"data");
        });
    }

    #[test]
    fn names_of_one_file_stay_names_of_one_file_and_nothing_stays_held() {
        let rt = Rt::virtual_time(1);
        let (from, to) = (in_ram(&rt), in_ram(&rt));
        let (from, to) = (from.fs(), to.fs());
        rt.block_on(async {
            let free = async || [from.statfs().await.unwrap().free_inodes, to.statfs().await.unwrap().free_inodes];
            let before = free().await;
            let file = put(from, "a", Kind::Regular, 0o644).await;
            let root = Held::root(from).await.unwrap();
            drop(Held::new(from, from.link(file.node(), root.node(), Name::new(b"b").unwrap()).await.unwrap()));
            drop(file);
            let mut complain = |path: &[u8], why: &str| panic!("{path:?}: {why}");
            let mut copier = Copier::new(Caller::default(), ALL, &mut complain);
            let (source, target) = (Held::root(from).await.unwrap(), Held::root(to).await.unwrap());
            copier.fill(source, b"", target).await.unwrap();
            assert!(copier.links.is_empty(), "the last name was met (C6)");
            let root = Held::root(to).await.unwrap();
            let (a, b) = (root.lookup(b"a").await.unwrap(), root.lookup(b"b").await.unwrap());
            assert_eq!((a.node(), a.attr().nlink), (b.node(), 2));
            drop((a, b));
            for (fs, name) in [from, to].into_iter().flat_map(|fs| [(fs, b"a"), (fs, b"b")]) {
                fs.unlink(fs.root(), Name::new(name).unwrap()).await.unwrap();
            }
            from.syncfs().await.unwrap();
            to.syncfs().await.unwrap();
            assert_eq!(free().await, before, "who holds a file that has no name keeps its inode");
        });
    }

    #[test]
    fn an_interruption_leaves_whole_files_and_directories_with_their_modes() {
        let rt = Rt::virtual_time(1);
        let (from, to) = (in_ram(&rt), in_ram(&rt));
        let (from, to) = (from.fs(), to.fs());
        rt.block_on(async {
            let dir = put(from, "dir", Kind::Directory, 0o555).await;
            for (name, len) in [("a", 10), ("b", 3 * PIECE as usize), ("c", 10)] {
                let name = Name::new(name.as_bytes()).unwrap();
                let file = from.mknod(&Caller::default(), dir.node(), name, Kind::Regular, Mode::new(0o644), 0).await;
                let file = Held::new(from, file.unwrap());
                from.write(&Caller::default(), file.node(), 0, &vec![7; len]).await.unwrap();
            }
            let mut complain = |path: &[u8], why: &str| panic!("{path:?}: {why}");
            let mut copier = Copier::new(Caller::default(), ALL, &mut complain);
            // Before `dir`, `a` and `b`, and then within `b`.
            let calls = std::cell::Cell::new(0);
            copier.may_go_on = Box::new(move || {
                calls.set(calls.get() + 1);
                if calls.get() < 4 { Ok(()) } else { Err(Interrupted::by(2)) }
            });
            let (source, target) = (Held::root(from).await.unwrap(), Held::root(to).await.unwrap());
            let error = copier.fill(source, b"", target).await.unwrap_err();
            assert!(error.is::<Interrupted>(), "{error}");
            assert_eq!(copier.counts.files, 2, "the directory and one file");
            let copy = Held::root(to).await.unwrap().lookup(b"dir").await.unwrap();
            assert_eq!((copy.attr().mode.bits(), copy.names().await.0), (0o555, vec![b"a".to_vec()]));
        });
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [&b".."[..], b".", b"a/b", b"", b"a\0b"] {
            assert!(checked(name).is_err(), "{name:?}");
        }
        assert!(checked(b"...").is_ok());
    }
}
