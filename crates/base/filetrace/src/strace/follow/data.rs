//! Calls on descriptors.

use super::{Asked, Done, Follower, Stop, number};
use crate::call::{Call, Kind, Op};
use crate::strace::text::{self, has};
use crate::strace::tree::Place;

impl Follower {
    /// A call on a descriptor; `NotFollowed` if it is none.
    pub(super) fn on_data(&mut self, asked: &Asked<'_>) -> Done {
        match asked.name {
            "close" => {
                asked.done()?;
                let descriptor = text::descriptor(asked.argument(0)?).and_then(|found| found.number);
                self.table.close(self.task, descriptor.ok_or(Stop::Bad("an argument is no descriptor"))?);
                Ok(())
            }
            "close_range" => self.close_range(asked),
            "dup" | "dup2" | "dup3" => self.dup(asked, has(asked.flags(2), "O_CLOEXEC")),
            "fcntl" | "fcntl64" => self.fcntl(asked),
            "read" | "readv" => self.transfer(asked, Op::Read, None),
            "pread64" | "preadv" | "preadv2" => self.transfer(asked, Op::Read, Some(3)),
            "write" | "writev" => self.transfer(asked, Op::Write, None),
            "pwrite64" | "pwritev" | "pwritev2" => self.transfer(asked, Op::Write, Some(3)),
            "copy_file_range" => self.copy(asked, (0, Some(1)), (2, Some(3))),
            "sendfile" | "sendfile64" => self.copy(asked, (1, Some(2)), (0, None)),
            "lseek" => self.lseek(asked, asked.done().ok(), 2),
            "_llseek" => {
                asked.done()?;
                self.lseek(asked, Some(asked.number(2)?), 3)
            }
            "ftruncate" | "ftruncate64" => {
                asked.done()?;
                let (_, node) = self.file_of(asked.argument(0)?)?;
                self.resize(node, asked.number(1)?);
                Ok(())
            }
            "fallocate" => self.fallocate(asked),
            "fsync" => self.on_file(asked, Op::Fsync, 0),
            "fdatasync" => self.on_file(asked, Op::Fsync, 1),
            "fchmod" | "fchown" => self.on_file(asked, Op::Setattr, 0),
            "sync" => {
                asked.done()?;
                self.calls.push(Call { node: 0, ..self.line(Op::Syncfs, 0) });
                Ok(())
            }
            "syncfs" => self.on_volume(asked, Op::Syncfs),
            "fstatfs" | "fstatfs64" => self.on_volume(asked, Op::Statfs),
            "fstat" | "fstat64" | "oldfstat" => self.fstat(asked, 1),
            "getdents" | "getdents64" => self.getdents(asked),
            "fchdir" => {
                asked.done()?;
                let place = self.open_of(asked.argument(0)?).map(|open| self.table.at(open).place.clone());
                self.work_in(place)
            }
            "fgetxattr" => self.fxattr(asked, Op::Getxattr),
            "fsetxattr" => self.fxattr(asked, Op::Setxattr),
            "flistxattr" => self.fxattr(asked, Op::Listxattr),
            "fremovexattr" => self.fxattr(asked, Op::Removexattr),
            "mmap" | "mmap2" => self.mmap(asked),
            _ => Err(Stop::NotFollowed),
        }
    }

    /// A descriptor leads to this place from now on.
    pub(super) fn opened(&mut self, descriptor: u32, place: Place, appends: bool, closes_on_exec: bool) {
        if let Place::In(node) = place {
            self.tree.node_mut(node).opens += 1;
        }
        self.table.open(self.task, descriptor, place, appends, closes_on_exec);
    }

    fn close_range(&mut self, asked: &Asked<'_>) -> Done {
        asked.done()?;
        let (first, last) = (asked.number(0)?, asked.number(1)?);
        if !has(asked.flags(2), "CLOSE_RANGE_CLOEXEC") {
            self.table.close_range(self.task, first, last);
        }
        Ok(())
    }

    fn dup(&mut self, asked: &Asked<'_>, closes_on_exec: bool) -> Done {
        let (to, _) = asked.made()?;
        match self.open_of(asked.argument(0)?) {
            Ok(_) => {}
            Err(stop) => {
                self.table.close(self.task, to);
                return Err(stop);
            }
        }
        let from = text::descriptor(asked.argument(0)?).and_then(|found| found.number);
        self.table.dup(self.task, from.ok_or(Stop::Bad("an argument is no descriptor"))?, to, closes_on_exec);
        Ok(())
    }

    fn fcntl(&mut self, asked: &Asked<'_>) -> Done {
        match asked.argument(1)? {
            "F_DUPFD" => self.dup(asked, false),
            "F_DUPFD_CLOEXEC" => self.dup(asked, true),
            "F_SETFD" => {
                asked.done()?;
                let descriptor = text::descriptor(asked.argument(0)?).and_then(|found| found.number);
                if let Some(descriptor) = descriptor {
                    self.table.close_on_exec(self.task, descriptor, has(asked.argument(2)?, "FD_CLOEXEC"));
                }
                Ok(())
            }
            "F_SETFL" => {
                asked.done()?;
                let open = self.open_of(asked.argument(0)?)?;
                self.table.at(open).appends = has(asked.argument(2)?, "O_APPEND");
                Ok(())
            }
            _ => Err(Stop::NotFollowed),
        }
    }

    /// A read or a write. One without a place goes on where the last one ended.
    fn transfer(&mut self, asked: &Asked<'_>, op: Op, place: Option<usize>) -> Done {
        let len = asked.done()?;
        let (open, node) = self.file_of(asked.argument(0)?)?;
        // The place -1 is none.
        let place = match place {
            Some(at) if asked.argument(at)? != "-1" => Some(asked.number(at)?),
            _ => None,
        };
        let offset = self.offset(open, node, op, place, len);
        self.moved(op, node, offset, len);
        Ok(())
    }

    /// Where a transfer begins. Moves the open file behind it if the call does not say a place.
    fn offset(&mut self, open: u32, node: u32, op: Op, place: Option<u64>, len: u64) -> u64 {
        let (appends, at) = (op == Op::Write && self.table.at(open).appends, self.table.at(open).at);
        let known = self.tree.node(node);
        let offset = if appends { known.size } else { place.unwrap_or(at) };
        if appends && !known.is_sized && len > 0 {
            self.left.ends += 1;
        }
        if place.is_none() {
            self.table.at(open).at = offset.saturating_add(len);
        }
        offset
    }

    /// So many bytes were read or written.
    fn moved(&mut self, op: Op, node: u32, offset: u64, len: u64) {
        if len == 0 {
            return;
        }
        self.sized(op, node, offset.saturating_add(len));
        self.push_on(op, node, |call| Call { offset, len, ..call });
    }

    /// A file has at least the bytes before this place.
    fn sized(&mut self, op: Op, node: u32, end: u64) {
        let known = self.tree.node(node);
        let is_sized = known.is_sized;
        if end <= known.size {
            return;
        }
        match op {
            // More than was there: nobody here wrote it.
            Op::Read => {
                self.learn(node, None, Some(end));
                self.tree.node_mut(node).is_sized = is_sized;
            }
            _ => self.tree.node_mut(node).size = end,
        }
    }

    /// From one file to another: of each the descriptor, and where its place is.
    fn copy(&mut self, asked: &Asked<'_>, from: (usize, Option<usize>), to: (usize, Option<usize>)) -> Done {
        let len = asked.done()?;
        let place = |at: Option<usize>| match at.map(|at| asked.argument(at)).transpose()? {
            None | Some("NULL") => Ok(None),
            // [old] => [new]
            Some(places) => {
                let old = places.split(" => ").next().unwrap_or_default();
                text::number(old).map(Some).ok_or(Stop::Bad("an argument is no number"))
            }
        };
        let (source, target) = (self.file_of(asked.argument(from.0)?), self.file_of(asked.argument(to.0)?));
        let (read_at, write_at) = (place(from.1)?, place(to.1)?);
        let offset = source.map(|(open, node)| (node, self.offset(open, node, Op::Read, read_at, len)));
        let to_offset = target.map(|(open, node)| (node, self.offset(open, node, Op::Write, write_at, len)));
        match (offset, to_offset) {
            (Err(stop), Err(_)) => return Err(stop),
            (Ok((node, offset)), Ok((to, to_offset))) if from.0 == 0 && len > 0 => {
                self.sized(Op::Read, node, offset.saturating_add(len));
                self.sized(Op::Write, to, to_offset.saturating_add(len));
                self.about(to);
                self.push_on(Op::Copy, node, |call| Call { offset, to: number(to), to_offset, len, ..call });
                self.used(to);
            }
            // Of one file that is outside, or by sendfile: a read and a write.
            (read, write) => {
                if let Ok((node, offset)) = read {
                    self.moved(Op::Read, node, offset, len);
                }
                if let Ok((node, offset)) = write {
                    self.moved(Op::Write, node, offset, len);
                }
            }
        }
        Ok(())
    }

    fn lseek(&mut self, asked: &Asked<'_>, to: Option<u64>, whence: usize) -> Done {
        let to = to.ok_or(Stop::Failed)?;
        let (open, node) = self.file_of(asked.argument(0)?)?;
        self.table.at(open).at = to;
        let is_file = self.tree.node(node).kind == Kind::File;
        match asked.argument(whence)? {
            "SEEK_END" if is_file => {
                // From the end by so many bytes, which may be negative.
                let by: Option<i64> = asked.argument(1)?.parse().ok();
                let size = by.and_then(|by| u64::try_from(i128::from(to) - i128::from(by)).ok());
                self.learn(node, None, size);
            }
            "SEEK_DATA" | "SEEK_HOLE" => {
                let how = if asked.argument(whence)? == "SEEK_DATA" { 3 } else { 4 };
                let offset = asked.number(1)?;
                self.push_on(Op::Seek, node, |call| Call { offset, how, ..call });
            }
            _ => {}
        }
        Ok(())
    }

    fn fallocate(&mut self, asked: &Asked<'_>) -> Done {
        const FLAGS: [(&str, u32); 7] = [
            ("FALLOC_FL_KEEP_SIZE", 1),
            ("FALLOC_FL_PUNCH_HOLE", 2),
            ("FALLOC_FL_NO_HIDE_STALE", 4),
            ("FALLOC_FL_COLLAPSE_RANGE", 8),
            ("FALLOC_FL_ZERO_RANGE", 16),
            ("FALLOC_FL_INSERT_RANGE", 32),
            ("FALLOC_FL_UNSHARE_RANGE", 64),
        ];
        asked.done()?;
        let (_, node) = self.file_of(asked.argument(0)?)?;
        let mode = asked.argument(1)?;
        let how = FLAGS.iter().filter(|(flag, _)| has(mode, flag)).fold(0, |how, (_, bit)| how | bit);
        let (offset, len) = (asked.number(2)?, asked.number(3)?);
        self.push_on(Op::Fallocate, node, |call| Call { offset, len, how, ..call });
        let known = self.tree.node_mut(node);
        match how {
            8 => known.size = known.size.saturating_sub(len),
            32 => known.size = known.size.saturating_add(len),
            how if how & 1 == 0 => known.size = known.size.max(offset.saturating_add(len)),
            _ => {}
        }
        Ok(())
    }

    /// A call on the file of a descriptor.
    fn on_file(&mut self, asked: &Asked<'_>, op: Op, how: u32) -> Done {
        asked.done()?;
        let (_, node) = self.file_of(asked.argument(0)?)?;
        self.push_on(op, node, |call| Call { how, ..call });
        Ok(())
    }

    /// A call on the volume of a descriptor.
    fn on_volume(&mut self, asked: &Asked<'_>, op: Op) -> Done {
        asked.done()?;
        let (_, node) = self.file_of(asked.argument(0)?)?;
        self.push_on(op, node, |call| Call { node: 0, ..call });
        Ok(())
    }

    fn getdents(&mut self, asked: &Asked<'_>) -> Done {
        asked.done()?;
        let (open, node) = self.file_of(asked.argument(0)?)?;
        self.learn(node, Some(Kind::Directory), None);
        let file = self.table.at(open);
        let offset = file.listed;
        // Without -v only their number is there.
        let listing = asked.argument(1)?;
        let count = listing.split("/* ").nth(1).and_then(|text| text.split(' ').next()).and_then(text::number);
        file.listed += count.unwrap_or_else(|| listing.matches("d_ino=").count() as u64);
        self.push_on(Op::Readdir, node, |call| Call { offset, ..call });
        Ok(())
    }

    fn fxattr(&mut self, asked: &Asked<'_>, op: Op) -> Done {
        let (_, node) = self.file_of(asked.argument(0)?)?;
        self.xattr_of(asked, op, node)
    }

    /// What goes through a mapped file is not in the output of strace.
    fn mmap(&mut self, asked: &Asked<'_>) -> Done {
        let file = asked.argument(4)?;
        if file.starts_with('-') || asked.done().is_err() {
            return Err(Stop::NotFollowed);
        }
        self.file_of(file)?;
        self.left.maps += 1;
        Ok(())
    }
}
