//! Locks: no other program writes to the bytes of an open disk, under any of its names.
//!
//! L1. A disk is a stack: a partition lies on a whole disk, a loop device on a file. Every file of the stack is locked.
//!     So two disks with the same bytes meet at the file that they share.
//! L2. What an opener does, and what it does not allow others to do, are shared locks, each at a place of its own: an
//!     opener is refused if it does what another does not allow. This is QEMU's protocol ([`QEMU`]), once at its own
//!     places, where QEMU sees it, and once for ranges of bytes ([`PART`]), so that two partitions of a disk can be in
//!     use at the same time.
//! L3. All locks are taken first and checked then: of two concurrent opens both may be refused, but it never happens
//!     that neither is refused.
//! L4. A file that has lost the name from which a loop device was made cannot be locked through that device. Its other
//!     loop devices, and the processes that have it open, are found in `/proc/locks`, by its inode number.
//! L5. The kernel does not see these locks. Its own uses (mounts, swap) are checked when a disk is opened for writing.
//!     A device is open exclusively, so the kernel cannot use it from then on; a loop device made of a file later is
//!     not prevented.
//!      of the file later is not.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use super::below::{Inode, Layer, Loop, below, loops};
use super::holder::{self, Holder, Lock};
use crate::error::OpenError;

/// How long the system may take to release the lock of a process that has ended.
const PATIENCE: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(10);
/// The greatest depth of loop devices on loop devices that is searched.
const DEEPEST: usize = 8;

/// The offsets of the two kinds of locks: what is done, and what is not allowed. From each on there is one place per
/// right.
#[derive(Clone, Copy)]
struct Places {
    does: u64,
    bears_not: u64,
}

/// QEMU's: one byte for each right to the whole file.
const QEMU: Places = Places { does: 100, bears_not: 200 };
const READ: u64 = 0;
const WRITE: u64 = 1;
const RESIZE: u64 = 3;
/// Ours: one byte for each byte that is written.
const PART: Places = Places { does: 1 << 61, bears_not: 1 << 62 };
/// Greater than any file.
const ALL: u64 = 1 << 60;

/// A range of places to be locked, or to be free of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    len: u64,
}

impl Range {
    fn meets(self, lock: Lock) -> bool {
        lock.first < self.first + self.len && self.first <= lock.last
    }
}

/// What one open disk locks in one file, and which locks of others conflict with it there.
#[derive(Default)]
struct Claim {
    takes: Vec<Range>,
    meets_none: Vec<Range>,
}

impl Claim {
    /// Use of a whole file: a reader allows no writer, a writer allows no other opener.
    fn whole(writes: bool) -> Claim {
        let (does, bears_not): (&[u64], &[u64]) =
            if writes { (&[READ, WRITE], &[READ, WRITE, RESIZE]) } else { (&[READ], &[WRITE, RESIZE]) };
        Claim::default().rights(does, bears_not).part(writes, 0, ALL)
    }

    /// Use of a part of what lies below. Others may use other parts, but a program that does not lock parts must not
    /// write.
    fn below(writes: bool, at: u64, len: u64) -> Claim {
        let does: &[u64] = if writes { &[READ, WRITE] } else { &[READ] };
        Claim::default().rights(does, &[]).part(writes, at.min(ALL), len.clamp(1, ALL))
    }

    fn rights(mut self, does: &[u64], bears_not: &[u64]) -> Claim {
        let one = |first| Range { first, len: 1 };
        self.takes.extend(does.iter().map(|right| one(QEMU.does + right)));
        self.takes.extend(bears_not.iter().map(|right| one(QEMU.bears_not + right)));
        self.meets_none.extend(does.iter().map(|right| one(QEMU.bears_not + right)));
        self.meets_none.extend(bears_not.iter().map(|right| one(QEMU.does + right)));
        self
    }

    fn part(mut self, writes: bool, at: u64, len: u64) -> Claim {
        let (does, bears_not) = (Range { first: PART.does + at, len }, Range { first: PART.bears_not + at, len });
        self.takes.push(bears_not);
        self.meets_none.push(does);
        if writes {
            self.takes.push(does);
            self.meets_none.push(bears_not);
        }
        self
    }

    fn meets(&self, lock: Lock) -> bool {
        self.meets_none.iter().any(|range| range.meets(lock))
    }
}

/// A file to which no other program may write while it is open, with what lies below it.
///
/// The locks are released explicitly, since closing is not enough: a process that is being spawned holds a copy of the
/// file until it runs its program, and the next open of the disk would find it locked without a visible holder.
pub(super) struct Locked(Vec<File>);

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        // The disk itself is the first, and always present.
        &self.0[0]
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.iter().for_each(unlock);
    }
}

fn unlock(file: &File) {
    // Whatever is wrong with the file, it is about to be closed.
    let _ = flock(file, FlockOperation::Unlock);
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&record(libc::F_UNLCK, Range { first: 0, len: 0 })));
}

fn record(kind: i32, range: Range) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        // Below `1 << 62` plus `ALL`, which is less than the greatest offset.
        l_start: range.first as libc::off_t,
        l_len: range.len as libc::off_t,
        l_pid: 0,
    }
}

/// Why it cannot be locked now.
enum Refused {
    By(Holder),
    /// Conflict through another name of the same bytes.
    At(PathBuf, Holder),
    System(io::Error),
}

/// Locks the open disk `file`. `writes`: for writing; two readers may share it.
///
/// The locks belong to the open file, not to the process: a second open by the same program is refused, too. The locks
/// of a killed process may outlive it: the system closes what its io_uring had in use some time later. No user can
/// unmount there, so this waits for it.
pub(super) fn lock(file: File, path: &Path, writes: bool, inode: Inode) -> Result<Locked, OpenError> {
    let mut own = Layer { path: path.into(), file, inode, at: 0, len: ALL };
    let mut waited = Duration::ZERO;
    loop {
        let (holder, place) = match try_lock(own, writes) {
            Ok(locked) => return Ok(locked),
            Err((_, Refused::System(source))) => return Err(OpenError::Io { path: path.into(), source }),
            Err((layer, Refused::By(holder))) => {
                own = layer;
                (holder, None)
            }
            Err((layer, Refused::At(place, holder))) => {
                own = layer;
                (holder, Some(place))
            }
        };
        if holder.lives() || waited >= PATIENCE {
            let who = match place {
                Some(place) => format!("{holder}, through {}", place.display()),
                None => holder.to_string(),
            };
            return Err(OpenError::Locked { path: path.into(), who });
        }
        pause(NAP);
        waited += NAP;
    }
}

#[expect(clippy::disallowed_methods, reason = "it is the system that is waited for, before there is a disk or a task")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Returns the file if it could not be locked.
fn try_lock(own: Layer, writes: bool) -> Result<Locked, (Layer, Refused)> {
    let mut stack = vec![own];
    while let Some(next) = stack.last().filter(|_| stack.len() < DEEPEST).and_then(Layer::rdev).and_then(below) {
        // Where a part of a part begins in what lies below both.
        let (at, len) = stack.last().map_or((0, ALL), |above| (above.at, above.len));
        stack.push(Layer { at: next.at.saturating_add(at), len: next.len.min(len), ..next });
    }
    let outcome = stack.iter().enumerate().try_for_each(|(i, layer)| take(layer, i == 0, writes));
    match outcome.and_then(|()| look_beside(&stack, writes)) {
        Ok(()) => Ok(Locked(stack.into_iter().map(|layer| layer.file).collect())),
        Err(why) => {
            stack.iter().for_each(|layer| unlock(&layer.file));
            Err((stack.swap_remove(0), why))
        }
    }
}

/// Takes the locks of one layer, and checks for conflicting locks of others (L3).
fn take(layer: &Layer, is_own: bool, writes: bool) -> Result<(), Refused> {
    let alone = is_own && writes;
    let how = if alone { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
    let refused = |holder| if is_own { Refused::By(holder) } else { Refused::At(layer.path.clone(), holder) };
    match flock(&layer.file, how) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(refused(holder::of_file(layer.inode))),
        // A layer below may be on a file system without such locks; then no other program locks it either.
        Err(_) if !is_own => return Ok(()),
        Err(errno) => return Err(Refused::System(errno.into())),
    }
    let claim = if is_own { Claim::whole(writes) } else { Claim::below(writes, layer.at, layer.len) };
    for range in &claim.takes {
        match fcntl(&layer.file, FcntlArg::F_OFD_SETLK(&record(libc::F_RDLCK, *range))) {
            Ok(_) => {}
            // Another program has locked the whole file, with lockf(3) or a similar call.
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => {
                return Err(refused(holder::of_file(layer.inode)));
            }
            // A file system without such locks: QEMU takes none there, either.
            Err(_) => return Ok(()),
        }
    }
    let met = claim.meets_none.iter().any(|range| {
        let mut record = record(libc::F_WRLCK, *range);
        let asked = fcntl(&layer.file, FcntlArg::F_OFD_GETLK(&mut record));
        asked.is_ok() && record.l_type != libc::F_UNLCK as libc::c_short
    });
    match met {
        true => Err(refused(holder::of_bytes(layer.inode, |lock| claim.meets(lock)))),
        false => Ok(()),
    }
}

/// Finds users of the same bytes through names that are not below this one: loop devices of a file in the stack (L4,
/// L5).
fn look_beside(stack: &[Layer], writes: bool) -> Result<(), Refused> {
    let all = loops();
    if all.is_empty() {
        return Ok(());
    }
    let in_stack = |one: &Loop| stack.iter().any(|layer| layer.path == one.device());
    let own: Vec<Inode> = all.iter().filter(|one| in_stack(one)).filter_map(|one| one.inode).collect();
    let claim = Claim::whole(writes);
    // The file of a loop device in the stack that could not be opened by its name.
    for inode in own.iter().filter(|inode| stack.iter().all(|layer| layer.inode != **inode)) {
        if holder::byte_locks(*inode).into_iter().any(|lock| claim.meets(lock)) {
            let who = holder::of_bytes(*inode, |lock| claim.meets(lock));
            return Err(Refused::At("the file below it".into(), who));
        }
    }
    let shared = |one: &&Loop| {
        one.inode.is_some_and(|inode| own.contains(&inode) || stack.iter().any(|layer| layer.inode == inode))
    };
    for one in all.iter().filter(|one| !in_stack(one)).filter(shared) {
        let device = one.device();
        let Ok(stat) = rustix::fs::stat(&device) else { continue };
        let inode = Inode::of(&stat);
        if holder::byte_locks(inode).into_iter().any(|lock| claim.meets(lock)) {
            return Err(Refused::At(device, holder::of_bytes(inode, |lock| claim.meets(lock))));
        }
        if writes && let Some(how) = used_by_the_system(one) {
            return Err(Refused::At(device, Holder::System(how)));
        }
    }
    Ok(())
}

/// How the kernel uses this loop device, or a partition of it, if it does.
fn used_by_the_system(one: &Loop) -> Option<String> {
    if let Some(dir) = holder::mounted(&one.numbers()) {
        return Some(format!("the system has mounted it on {dir}"));
    }
    let exclusive = open(one.device(), OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
    (exclusive.err() == Some(Errno::BUSY)).then(|| "the system uses it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the second claim can be made while the first is held.
    fn agree(one: &Claim, other: &Claim) -> bool {
        let lock = |range: &Range| Lock { first: range.first, last: range.first + range.len - 1 };
        let met = |one: &Claim, other: &Claim| other.takes.iter().map(lock).any(|lock| one.meets(lock));
        assert_eq!(met(one, other), met(other, one), "who comes first must not matter");
        !met(one, other)
    }

    #[test]
    fn readers_agree_and_writers_agree_about_other_parts_only() {
        let (whole, below) = (Claim::whole, Claim::below);
        assert!(agree(&whole(false), &whole(false)) && agree(&whole(false), &below(false, 512, 512)));
        assert!(!agree(&whole(true), &whole(false)) && !agree(&whole(true), &whole(true)));
        assert!(!agree(&whole(false), &below(true, 512, 512)) && !agree(&whole(true), &below(false, 512, 512)));
        assert!(
            agree(&below(true, 0, 512), &below(true, 512, 512)) && agree(&below(true, 0, 512), &below(false, 512, 9))
        );
        assert!(
            !agree(&below(true, 0, 513), &below(true, 512, 512)) && !agree(&below(true, 0, 513), &below(false, 9, 9))
        );
    }
}
