//! Calls on paths.

use super::path::Spot;
use super::{Asked, Done, Follower, NO_DATA, Stop, number};
use crate::call::{Call, Kind, Op, Outcome};
use crate::strace::text::{self, Said, field, has};
use crate::strace::tree::Place;

/// Which arguments are the directory and the path.
type At = (Option<usize>, usize);
const PATH: At = (None, 0);
const AT: At = (Some(0), 1);
/// The longest target of a symbolic link that is kept.
const LONGEST_TARGET: usize = 4096;

impl Follower {
    /// A call on a path; `NotFollowed` if it is none.
    pub(super) fn on_names(&mut self, asked: &Asked<'_>) -> Done {
        match asked.name {
            "open" => self.open(asked, PATH, asked.argument(1)?),
            "creat" => self.open(asked, PATH, "O_WRONLY|O_CREAT|O_TRUNC"),
            "openat" | "openat2" => self.open(asked, AT, asked.argument(2)?),
            "stat" | "stat64" | "oldstat" => self.stat(asked, PATH, 1, true),
            "lstat" | "lstat64" | "oldlstat" => self.stat(asked, PATH, 1, false),
            "newfstatat" | "fstatat64" => self.stat(asked, AT, 2, !has(asked.flags(3), "AT_SYMLINK_NOFOLLOW")),
            "statx" => self.stat(asked, AT, 4, !has(asked.argument(2)?, "AT_SYMLINK_NOFOLLOW")),
            "access" => self.only_ask(asked, PATH, true),
            "faccessat" | "faccessat2" => self.only_ask(asked, AT, !has(asked.flags(3), "AT_SYMLINK_NOFOLLOW")),
            "readlink" => self.readlink(asked, PATH),
            "readlinkat" => self.readlink(asked, AT),
            "mkdir" => self.make(asked, PATH, Op::Mkdir, Kind::Directory),
            "mkdirat" => self.make(asked, AT, Op::Mkdir, Kind::Directory),
            "mknod" => self.make(asked, PATH, Op::Create, kind_of(asked.argument(1)?).unwrap_or(Kind::File)),
            "mknodat" => self.make(asked, AT, Op::Create, kind_of(asked.argument(2)?).unwrap_or(Kind::File)),
            "symlink" => self.make(asked, (None, 1), Op::Symlink, Kind::Symlink),
            "symlinkat" => self.make(asked, (Some(1), 2), Op::Symlink, Kind::Symlink),
            "link" => self.link(asked, PATH, (None, 1), ""),
            "linkat" => self.link(asked, AT, (Some(2), 3), asked.flags(4)),
            "unlink" => self.remove(asked, PATH, Op::Unlink),
            "rmdir" => self.remove(asked, PATH, Op::Rmdir),
            "unlinkat" if has(asked.flags(2), "AT_REMOVEDIR") => self.remove(asked, AT, Op::Rmdir),
            "unlinkat" => self.remove(asked, AT, Op::Unlink),
            "rename" => self.rename(asked, PATH, (None, 1), ""),
            "renameat" | "renameat2" => self.rename(asked, AT, (Some(2), 3), asked.flags(4)),
            "truncate" | "truncate64" => self.truncate(asked),
            "chdir" => self.chdir(asked),
            "chmod" | "chown" | "utime" | "utimes" => self.attributes(asked, PATH, true),
            "lchown" => self.attributes(asked, PATH, false),
            "fchmodat" | "fchmodat2" | "fchownat" | "utimensat" | "futimesat" => {
                let follows = !asked.arguments.iter().skip(2).any(|flags| has(flags, "AT_SYMLINK_NOFOLLOW"));
                self.attributes(asked, AT, follows)
            }
            "statfs" | "statfs64" => self.statfs(asked),
            "getxattr" | "lgetxattr" => self.xattr(asked, Op::Getxattr),
            "setxattr" | "lsetxattr" => self.xattr(asked, Op::Setxattr),
            "listxattr" | "llistxattr" => self.xattr(asked, Op::Listxattr),
            "removexattr" | "lremovexattr" => self.xattr(asked, Op::Removexattr),
            _ => Err(Stop::NotFollowed),
        }
    }

    fn open(&mut self, asked: &Asked<'_>, at: At, flags: &str) -> Done {
        let makes = has(flags, "O_CREAT");
        let follows = !(has(flags, "O_NOFOLLOW") || makes && has(flags, "O_EXCL"));
        let Ok((descriptor, said)) = asked.made() else { return self.refused(asked, at, follows) };
        // What -y says is the path behind all symbolic links.
        let spot = match &said {
            Some(Said::Path(path)) if !has(flags, "O_TMPFILE") => self.walk(self.tree.top(), path, false, true),
            _ => self.spot(asked, at, follows),
        };
        let place = match spot {
            Ok(Spot::Outside(path)) => Ok(Place::Out(path)),
            Ok(spot) => self.open_at(&spot, flags).map(Place::In),
            Err(stop) => Err(stop),
        };
        let place = match place {
            Ok(place) => place,
            Err(stop) => {
                // Whatever had this number before is closed.
                self.table.close(self.task, descriptor);
                return Err(stop);
            }
        };
        let is_outside = matches!(place, Place::Out(_));
        self.opened(descriptor, place, has(flags, "O_APPEND"), has(flags, "O_CLOEXEC"));
        if is_outside { Err(Stop::Outside) } else { Ok(()) }
    }

    /// Opens what is inside, and says so (strace-follow-4).
    fn open_at(&mut self, spot: &Spot, flags: &str) -> Result<u32, Stop> {
        if has(flags, "O_TMPFILE") {
            let directory = self.node_of(spot, Kind::Directory)?;
            let node = self.new_node(Kind::File, directory);
            let outcome = self.found(node);
            self.push_on(Op::Tmpfile, directory, |call| Call { outcome, ..call });
            return Ok(node);
        }
        if let Spot::Name(directory, name) = spot
            && has(flags, "O_CREAT")
        {
            let known = self.tree.name(*directory, name);
            if known.is_none_or(|known| known.node.is_none()) {
                let is_new = known.is_some() || self.tree.node(*directory).is_whole || has(flags, "O_EXCL");
                let line = self.calls.len();
                let node = self.create(*directory, name, Op::Create, Kind::File, 0);
                // What is cut to nothing can just as well be new.
                self.tree.node_mut(node).doubt = (!is_new && !has(flags, "O_TRUNC")).then_some(line);
                return Ok(node);
            }
        }
        let node = self.ask(spot)?;
        if has(flags, "O_DIRECTORY") {
            self.learn(node, Some(Kind::Directory), None);
        }
        let known = self.tree.node(node);
        if has(flags, "O_TRUNC") && known.kind == Kind::File && !(known.is_sized && known.size == 0) {
            self.resize(node, 0);
        }
        Ok(node)
    }

    /// A node whose size is known, for it is new.
    fn new_node(&mut self, kind: Kind, directory: u32) -> u32 {
        let node = self.tree.add(kind, directory, self.at_us());
        let known = self.tree.node_mut(node);
        (known.is_sized, known.is_whole, known.held) = (true, kind == Kind::Directory, 1);
        node
    }

    /// A line that makes a name.
    fn create(&mut self, directory: u32, name: &[u8], op: Op, kind: Kind, size: u64) -> u32 {
        self.about(directory);
        let node = self.new_node(kind, directory);
        self.tree.node_mut(node).size = size;
        let outcome = self.found(node);
        self.push_on(op, directory, |call| Call { name: name.to_vec(), len: size, outcome, ..call });
        self.name(directory, name, Some(node));
        node
    }

    /// A name names something else now.
    fn name(&mut self, directory: u32, name: &[u8], node: Option<u32>) {
        if let Some(old) = self.tree.set(directory, name, node, self.at_us()) {
            self.forget_if_gone(old);
        }
    }

    fn stat(&mut self, asked: &Asked<'_>, at: At, structure: usize, follows: bool) -> Done {
        if at == AT && is_itself(asked) {
            return self.fstat(asked, structure);
        }
        if asked.done().is_err() {
            return self.refused(asked, at, follows);
        }
        let spot = self.spot(asked, at, follows)?;
        let (kind, size) = seen(asked.argument(structure)?);
        if let Spot::Name(directory, name) = &spot
            && let Some(node) = self.tree.name(*directory, name).and_then(|known| known.node)
        {
            // What a link leads to is not the link.
            if !follows || self.tree.node(node).kind != Kind::Symlink {
                self.learn(node, kind, size);
            }
        }
        self.ask_for(&spot, kind, size.unwrap_or(0)).map(drop)
    }

    pub(super) fn fstat(&mut self, asked: &Asked<'_>, structure: usize) -> Done {
        asked.done()?;
        let (_, node) = self.file_or_working(asked.argument(0)?)?;
        let (kind, size) = seen(asked.argument(structure)?);
        self.learn(node, kind, size);
        let outcome = self.found(node);
        self.push_on(Op::Getattr, node, |call| Call { outcome, ..call });
        Ok(())
    }

    /// The file of a descriptor; `AT_FDCWD` is the directory of the process.
    fn file_or_working(&mut self, argument: &str) -> Result<(Option<u32>, u32), Stop> {
        if !argument.starts_with("AT_FDCWD") {
            return self.file_of(argument).map(|(open, node)| (Some(open), node));
        }
        match self.working(argument)? {
            Place::In(node) => Ok((None, node)),
            Place::Out(_) => Err(Stop::Outside),
        }
    }

    fn only_ask(&mut self, asked: &Asked<'_>, at: At, follows: bool) -> Done {
        if asked.done().is_err() {
            return self.refused(asked, at, follows);
        }
        let spot = self.spot(asked, at, follows)?;
        self.ask(&spot).map(drop)
    }

    fn readlink(&mut self, asked: &Asked<'_>, at: At) -> Done {
        let Ok(size) = asked.done() else { return self.refused(asked, at, false) };
        let spot = self.spot(asked, at, false)?;
        let node = self.node_of(&spot, Kind::Symlink)?;
        self.learn(node, Some(Kind::Symlink), Some(size));
        // A longer one is cut off in the line.
        let target = text::string(asked.argument(at.1 + 1)?).filter(|target| target.len() as u64 == size);
        let known = self.tree.node_mut(node);
        known.target = target.filter(|target| target.len() <= LONGEST_TARGET).or(known.target.take());
        self.push_on(Op::Readlink, node, |call| call);
        Ok(())
    }

    fn make(&mut self, asked: &Asked<'_>, at: At, op: Op, kind: Kind) -> Done {
        asked.done()?;
        match self.spot(asked, at, false)? {
            Spot::Outside(_) => Err(Stop::Outside),
            Spot::Directory(_) => Err(Stop::Unplaced),
            Spot::Name(directory, name) => {
                let target = if kind == Kind::Symlink { Some(asked.string(0)?) } else { None };
                let size = target.as_ref().map_or(0, |target| target.len() as u64);
                let node = self.create(directory, &name, op, kind, size);
                self.tree.node_mut(node).target = target.filter(|target| target.len() <= LONGEST_TARGET);
                Ok(())
            }
        }
    }

    fn link(&mut self, asked: &Asked<'_>, from: At, to: At, flags: &str) -> Done {
        asked.done()?;
        let old = match has(flags, "AT_EMPTY_PATH") && asked.string(from.1)?.is_empty() {
            true => self.file_or_working(asked.argument(0)?).map(|(_, node)| node),
            false => {
                let spot = self.spot(asked, from, has(flags, "AT_SYMLINK_FOLLOW"))?;
                self.node_of(&spot, Kind::File)
            }
        };
        let Spot::Name(directory, name) = self.spot(asked, to, false)? else { return Err(Stop::Outside) };
        match old {
            Ok(node) => {
                self.push_on(Op::Link, directory, |call| Call { name: name.clone(), to: number(node), ..call });
                self.tree.node_mut(node).held += 1;
                self.used(node);
                self.name(directory, &name, Some(node));
                Ok(())
            }
            Err(stop) => {
                self.tree.unknown(directory, &name, self.now_us);
                Err(stop)
            }
        }
    }

    fn remove(&mut self, asked: &Asked<'_>, at: At, op: Op) -> Done {
        asked.done()?;
        match self.spot(asked, at, false)? {
            Spot::Outside(_) => Err(Stop::Outside),
            Spot::Directory(_) => Err(Stop::Unplaced),
            Spot::Name(directory, name) => {
                if let Some(node) = self.tree.name(directory, &name).and_then(|known| known.node) {
                    self.about(node);
                }
                self.push_on(op, directory, |call| Call { name: name.clone(), ..call });
                self.name(directory, &name, None);
                Ok(())
            }
        }
    }

    fn rename(&mut self, asked: &Asked<'_>, from: At, to: At, flags: &str) -> Done {
        asked.done()?;
        let exchanges = has(flags, "RENAME_EXCHANGE");
        let (old, new) = (self.spot(asked, from, false)?, self.spot(asked, to, false)?);
        let (Spot::Name(directory, name), Spot::Name(to, to_name)) = (&old, &new) else {
            // What goes over the border of the root is not followed.
            for spot in [&old, &new] {
                if let Spot::Name(directory, name) = spot {
                    self.tree.unknown(*directory, name, self.now_us);
                }
            }
            return Err(Stop::Outside);
        };
        let node = self.node_of(&old, Kind::File)?;
        let other = if exchanges { Some(self.node_of(&new, Kind::File)?) } else { None };
        self.about(*to);
        let how = if exchanges { 2 } else { u32::from(has(flags, "RENAME_NOREPLACE")) };
        self.push_on(Op::Rename, *directory, |call| Call {
            name: name.clone(),
            to: number(*to),
            to_name: to_name.clone(),
            how,
            ..call
        });
        // Two names of one file stay as they are.
        let same = self.tree.name(*to, to_name).and_then(|known| known.node) == Some(node);
        if same {
            return Ok(());
        }
        // The new name first: a file that has a name is not forgotten.
        let replaced = self.tree.set(*to, to_name, Some(node), self.at_us());
        self.tree.set(*directory, name, other, self.at_us());
        self.tree.node_mut(node).parent = *to;
        if let Some(replaced) = replaced {
            self.forget_if_gone(replaced);
        }
        Ok(())
    }

    fn truncate(&mut self, asked: &Asked<'_>) -> Done {
        asked.done()?;
        let spot = self.spot(asked, PATH, true)?;
        let node = self.node_of(&spot, Kind::File)?;
        self.resize(node, asked.number(1)?);
        Ok(())
    }

    /// A line that sets a size.
    pub(super) fn resize(&mut self, node: u32, len: u64) {
        self.push_on(Op::Setattr, node, |call| Call { how: 1, len, ..call });
        let known = self.tree.node_mut(node);
        (known.size, known.is_sized) = (len, true);
    }

    fn chdir(&mut self, asked: &Asked<'_>) -> Done {
        if asked.done().is_err() {
            return self.refused(asked, PATH, true);
        }
        let place = match self.spot(asked, PATH, true) {
            Ok(Spot::Outside(path)) => Ok(Place::Out(path)),
            Ok(spot) => self.ask_for(&spot, Some(Kind::Directory), 0).map(Place::In),
            Err(stop) => Err(stop),
        };
        self.work_in(place)
    }

    /// The process works in another directory; in one that is not known, if that cannot be said.
    pub(super) fn work_in(&mut self, place: Result<Place, Stop>) -> Done {
        if let Ok(Place::In(node)) = place {
            self.learn(node, Some(Kind::Directory), None);
        }
        let working = self.table.working(self.task);
        (working.place, working.said) = (place.clone().ok(), Vec::new());
        match place? {
            Place::In(_) => Ok(()),
            Place::Out(_) => Err(Stop::Outside),
        }
    }

    fn attributes(&mut self, asked: &Asked<'_>, at: At, follows: bool) -> Done {
        let node = if at == AT && is_itself(asked) {
            asked.done()?;
            self.file_or_working(asked.argument(0)?)?.1
        } else if asked.done().is_err() {
            return self.refused(asked, at, follows);
        } else {
            let spot = self.spot(asked, at, follows)?;
            self.node_of(&spot, Kind::File)?
        };
        self.push_on(Op::Setattr, node, |call| call);
        Ok(())
    }

    fn statfs(&mut self, asked: &Asked<'_>) -> Done {
        if asked.done().is_err() {
            return self.refused(asked, PATH, true);
        }
        let spot = self.spot(asked, PATH, true)?;
        let node = self.node_of(&spot, Kind::Directory)?;
        self.push_on(Op::Statfs, node, |call| Call { node: 0, ..call });
        Ok(())
    }

    /// A call on an extended attribute, of a path.
    fn xattr(&mut self, asked: &Asked<'_>, op: Op) -> Done {
        let follows = !asked.name.starts_with('l') || asked.name == "listxattr";
        // That an attribute is not there says that the file is.
        if asked.done().is_err() && !asked.is_refused_with("ENODATA") {
            return self.refused(asked, PATH, follows);
        }
        let spot = self.spot(asked, PATH, follows)?;
        let node = self.node_of(&spot, Kind::File)?;
        self.xattr_of(asked, op, node)
    }

    /// A call on an extended attribute of a node. That it is not there is an answer, too.
    pub(super) fn xattr_of(&mut self, asked: &Asked<'_>, op: Op, node: u32) -> Done {
        let outcome = match asked.is_refused_with("ENODATA") {
            true if op == Op::Getxattr => Outcome::Refused(NO_DATA),
            true => return Err(Stop::Failed),
            false => {
                asked.done()?;
                Outcome::Done
            }
        };
        let name = if op == Op::Listxattr { Vec::new() } else { asked.string(1)? };
        let len = if op == Op::Setxattr { asked.number(3)? } else { 0 };
        self.push_on(op, node, |call| Call { name, len, outcome, ..call });
        Ok(())
    }
}

/// Whether a call means the descriptor itself: its path is empty, or there is none.
fn is_itself(asked: &Asked<'_>) -> bool {
    matches!(asked.argument(1), Ok("\"\"" | "NULL"))
}

/// What `S_IF…` says.
fn kind_of(mode: &str) -> Option<Kind> {
    mode.split(['|', ' ']).find_map(|word| match word {
        "S_IFREG" => Some(Kind::File),
        "S_IFDIR" => Some(Kind::Directory),
        "S_IFLNK" => Some(Kind::Symlink),
        "S_IFIFO" | "S_IFCHR" | "S_IFBLK" | "S_IFSOCK" => Some(Kind::Other),
        _ => None,
    })
}

/// The kind and the size in a `struct stat` or `statx`.
fn seen(structure: &str) -> (Option<Kind>, Option<u64>) {
    let of = |name: &str, longer: &str| field(structure, name).or_else(|| field(structure, longer));
    (of("st_mode", "stx_mode").and_then(kind_of), of("st_size", "stx_size").and_then(text::number))
}
