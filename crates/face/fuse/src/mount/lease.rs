//! The lease: how `umount` learns that the image can be moved.
//!
//! umount(2) returns when the mount is gone, but the server writes its caches back after that. Therefore the server
//! has a file in memory (memfd) that it keeps locked as long as it has the image open. `umount` finds it among the open
//! files of processes in `/proc`, unmounts, waits for the lock, and reads the result of the last writes. The
//! kernel unlocks the file however the server ends. There is no name that others could take, no queue that they could
//! fill, and nothing that is left behind.
//!
//! U1. The lease outlives the open image.
//! U2. `umount` waits for the server of this mount only. The lease belongs to the mount's owner, as the kernel names
//!     him in the table of mounts, and the file's owner is as hard to forge as the mount's. A mount that root has made
//!     is root's, and so is its lease, whoever its server runs as: else each process of that user could answer for it.
//!     The kernel gives the number of a mount to the next one while the server of the first still writes, or hangs: the
//!     lease has the mount's mark, too, which no later mount has. Of several the newest counts.
//! U3. Only a server that has closed the image reports the result. An end without a report means a server that was
//!     killed, or that failed: what it had not written is lost, and `umount` must not ignore that.
//! U4. The search for a lease never waits, and no user can make it long by opening many files or starting programs of
//!     root's: all user numbers of a server are those of one user, and the lease is among its first descriptors. Other
//!     users' processes are searched only for a mount of root's whose server is not found among root's processes.
//! U5. The server has the lease open for writing, and a process that waits for it only for reading. So a waiting
//!     process is never taken for the server, and never ended in its place.
//! U6. `umount` waits for the last writes. It does not wait for a mount that another namespace still has, for as long
//!     as that likes: if the server does not learn of the end of its mount within some seconds, the wait ends.

use super::table::Mounted;
use ordo_rt::Rt;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FlockOperation, MemfdFlags, Mode, OFlags, flock, fstat, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the names of these files begin; number and mark of the mount, and time follow.
const NAME: &str = "ordo-lease";
/// The first bytes of the file: it is locked, and the mount is there; or the mount is gone. A report follows.
const HELD: &[u8] = b"held\n";
const GONE: &[u8] = b"gone\n";
/// The report of a server that has written everything.
const WRITTEN: &[u8] = b"written\n";
/// The maximum length of a report, in bytes.
const ROOM: usize = 4096;

/// States that this process still has the image of a mount open. [`Lease::end`] is called when the image is closed; a
/// dropped lease means that the server failed.
#[derive(Debug)]
#[must_use = "without an end it says that the last writes are lost"]
pub struct Lease {
    file: File,
}

impl Lease {
    /// Takes the lease of a mount that this user has just made.
    pub(super) fn take(mounted: &Mounted) -> io::Result<Lease> {
        let now = clock_gettime(ClockId::Boottime);
        let name = format!("{}{:020}.{:09}", begin_of(mounted), now.tv_sec, now.tv_nsec);
        let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
        flock(&file, FlockOperation::LockExclusive)?;
        // Only now can it be taken for a lease: one that is not locked would mean a server that has ended.
        file.write_all_at(HELD, 0)?;
        Ok(Lease { file })
    }

    /// The mount is gone, and its number may be another's (U2). Who waits goes on waiting.
    pub(crate) fn is_unmounted(&self) {
        // Without memory for five bytes the lease still ends as it should.
        let _ = self.file.write_all_at(GONE, 0);
    }

    /// Reports the result of the last writes to `umount`: `Err` says in one line why they failed. Must be called when
    /// the image is closed.
    pub fn end(self, written: Result<(), &str>) {
        let said = match written {
            Ok(()) => WRITTEN,
            Err(why) => &why.as_bytes()[..why.len().min(ROOM)],
        };
        // If nothing can be said, `umount` does not take that for success (U3).
        let _ = self.file.write_all_at(said, HELD.len() as u64);
    }
}

/// How the names of a mount's leases begin (U2).
fn begin_of(Mounted { device, mark, .. }: &Mounted) -> String {
    match mark {
        Some(mark) => format!("{NAME}:{device}/{mark}:"),
        None => format!("{NAME}:{device}:"),
    }
}

/// What is known of the last writes of a server that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LastWrites {
    Done,
    /// They failed, for this reason.
    Failed(String),
    /// The server ended without a report (U3).
    Unknown,
}

impl LastWrites {
    fn of(report: &[u8]) -> LastWrites {
        match report {
            WRITTEN => LastWrites::Done,
            b"" => LastWrites::Unknown,
            why => LastWrites::Failed(String::from_utf8_lossy(why).into_owned()),
        }
    }
}

/// Waits for a lease to end.
#[derive(Debug)]
pub(super) struct Waiter {
    file: File,
    /// The server's number, and a handle of it that is never another's.
    process: i32,
    handle: Option<OwnedFd>,
}

impl Waiter {
    /// Finds the server of a mount; `None` if none is visible from here (it is dead, in another PID namespace, or
    /// another user's, whose files only root may see).
    pub(super) fn find(mounted: &Mounted) -> Option<Waiter> {
        let (owner, memory) = (mounted.owner?, MountId::of_memory()?);
        let begin = format!("/memfd:{}", begin_of(mounted));
        let found = Waiter::among(processes(|user| user == owner), &begin, owner, memory);
        // One that has given up root's rights.
        found.or_else(|| Waiter::among(processes(|user| owner == 0 && user != 0), &begin, owner, memory))
    }

    fn among(processes: Vec<i32>, begin: &str, owner: u32, memory: MountId) -> Option<Waiter> {
        let held = holders(processes, begin, memory).into_iter().filter_map(|holder| {
            let file = open_lease(&holder.path, &holder.name, owner)?;
            Some((holder.name, Waiter { file, process: holder.process, handle: holder.handle }))
        });
        // Of equal ones the first: a program that the server is about to start has a copy until then.
        held.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, waiter)| waiter)
    }

    /// Returns when the server has closed the image, or is dead; `None` if it is not told that the mount is gone (U6).
    pub(super) fn wait(self) -> Option<LastWrites> {
        let rt = Rt::real_time();
        for _ in 0..LEARNS * LOOKS {
            if flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok() {
                return Some(self.report());
            }
            if !is_held(&self.file) {
                while let Err(Errno::INTR) = flock(&self.file, FlockOperation::LockShared) {}
                return Some(self.report());
            }
            rt.block_on(rt.sleep(Duration::from_secs(1) / LOOKS));
        }
        None
    }

    fn report(&self) -> LastWrites {
        let mut said = vec![0; ROOM];
        let len = self.file.read_at(&mut said, HELD.len() as u64).unwrap_or(0);
        LastWrites::of(&said[..len])
    }
}

/// How often a server that is to give up is told so, and from when on. It has an end of its own that takes a while, and
/// counts the signals (`server::signals`).
const TOLD: std::ops::Range<u32> = 6..30;
/// The seconds in which a server learns that its mount is gone, also on a machine that is busy.
const LEARNS: u32 = 10;
/// How often a second the lock is asked for.
const LOOKS: u32 = 20;

impl Waiter {
    /// As [`Waiter::wait`]; a server that needs long is told to give up. `Err` is its number if it goes on then.
    pub(super) fn insist(self) -> Result<LastWrites, i32> {
        let rt = Rt::real_time();
        for look in 0..TOLD.end * LOOKS {
            if flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok() {
                return Ok(self.report());
            }
            if let (Some(handle), true) = (&self.handle, look % LOOKS == 0 && look >= TOLD.start * LOOKS) {
                let _ = pidfd_send_signal(handle, Signal::TERM);
            }
            rt.block_on(rt.sleep(Duration::from_secs(1) / LOOKS));
        }
        Err(self.process)
    }
}

/// A process that can write a file in memory.
#[derive(Debug)]
struct Holder {
    process: i32,
    handle: Option<OwnedFd>,
    /// What the kernel calls the file, and where it can be opened.
    name: String,
    path: PathBuf,
}

/// The processes all of whose user numbers are one, and such a one. A program that belongs to root and that another
/// user has started has both.
fn processes(wanted: impl Fn(u32) -> bool) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_one = |process: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        let mut users = users.split_whitespace();
        let first = users.next();
        first.and_then(|user| user.parse::<u32>().ok()).is_some_and(&wanted) && users.all(|user| Some(user) == first)
    };
    let mut found: Vec<i32> = numbers.filter(of_one).collect();
    found.sort_unstable();
    found
}

/// Of these processes, those that can write files in memory whose names begin so (U5).
fn holders(processes: Vec<i32>, begin: &str, memory: MountId) -> Vec<Holder> {
    let held = processes.into_iter().flat_map(|process| {
        let files = files_called(process, begin, memory);
        // Only for who has any: it may be the number of another process by then, and what is opened is looked at.
        let handle = if files.is_empty() { None } else { handle_of(process) };
        files.into_iter().map(move |(name, path)| {
            let handle = handle.as_ref().and_then(|handle| handle.try_clone().ok());
            Holder { process, handle, name, path }
        })
    });
    held.collect()
}

fn handle_of(process: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()
}

/// The descriptors of a process that are looked at (U4); the kernel lists the lowest first.
const FIRST: usize = 256;

/// The files in memory that a process can write and whose names begin so. A file of a file system may have the same
/// name, and opening it may wait for somebody (U4): files in memory are on one mount of the kernel's own.
fn files_called(process: i32, begin: &str, memory: MountId) -> Vec<(String, PathBuf)> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let named = all.take(FIRST).filter_map(|entry| {
        let name = std::fs::read_link(entry.path()).ok()?.to_str()?.to_owned();
        let is_one = name.starts_with(begin) && Descriptor::of(process, &entry.file_name())?.writes(memory);
        is_one.then(|| (name, entry.path()))
    });
    named.collect()
}

/// What the kernel says of an open file.
struct Descriptor(String);

impl Descriptor {
    fn of(process: i32, fd: &OsStr) -> Option<Descriptor> {
        std::fs::read_to_string(Path::new(&format!("/proc/{process}/fdinfo")).join(fd)).ok().map(Descriptor)
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    fn mount(&self) -> Option<MountId> {
        self.field("mnt_id:")?.parse().ok().map(MountId)
    }

    /// It is a file of this mount, opened to be written.
    fn writes(&self, mount: MountId) -> bool {
        let flags = self.field("flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok());
        let writes = |flags| OFlags::from_bits_retain(flags).intersects(OFlags::WRONLY | OFlags::RDWR);
        self.mount() == Some(mount) && flags.is_some_and(writes)
    }
}

/// The number of the mount on which an open file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MountId(u64);

impl MountId {
    /// That of all files in memory.
    fn of_memory() -> Option<MountId> {
        let file = memfd_create(NAME, MemfdFlags::CLOEXEC).ok()?;
        Descriptor::of(std::process::id().cast_signed(), OsStr::new(&file.as_raw_fd().to_string()))?.mount()
    }
}

/// Opens a lease that is held: with this name, and this owner's. The process may have ended meanwhile, and its number
/// be another's: what was opened is looked at, not what was to be opened.
fn open_lease(path: &Path, name: &str, owner: u32) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let own = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    (own.to_str() == Some(name) && fstat(&file).ok()?.st_uid == owner && is_held(&file)).then_some(file)
}

/// The mount is there, as far as the server knows.
fn is_held(file: &File) -> bool {
    let mut state = [0; HELD.len()];
    file.read_exact_at(&mut state, 0).is_ok() && state == HELD
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn mounted(device: &str) -> Mounted {
        let owner = Some(rustix::process::geteuid().as_raw());
        Mounted { device: format!("{device}-{}", std::process::id()), owner, ..Mounted::default() }
    }

    #[test]
    fn the_wait_ends_with_the_lease_and_not_before() {
        let mount = mounted("ends");
        assert!(Waiter::find(&mount).is_none());
        let lease = Lease::take(&mount).unwrap();
        let waiter = Waiter::find(&mount).unwrap();
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || done.send(waiter.wait()).unwrap());
        assert!(ended.recv_timeout(Duration::from_millis(50)).is_err());
        lease.is_unmounted();
        assert!(ended.recv_timeout(Duration::from_millis(50)).is_err(), "the image is still open");
        lease.end(Ok(()));
        assert_eq!(ended.recv().unwrap(), Some(LastWrites::Done));
        assert!(Waiter::find(&mount).is_none());
    }

    #[test]
    fn what_failed_is_told_to_all_who_wait_and_silence_is_no_success() {
        let mount = mounted("failed");
        let lease = Lease::take(&mount).unwrap();
        let waiters = [(); 2].map(|()| Waiter::find(&mount).unwrap());
        lease.end(Err("no space"));
        for waiter in waiters {
            assert_eq!(waiter.wait(), Some(LastWrites::Failed("no space".into())));
        }
        let lease = Lease::take(&mount).unwrap();
        let waiter = Waiter::find(&mount).unwrap();
        drop(lease);
        assert_eq!(waiter.wait(), Some(LastWrites::Unknown));
    }

    #[test]
    fn a_server_that_still_has_its_mount_is_not_waited_for() {
        let mount = mounted("elsewhere");
        let lease = Lease::take(&mount).unwrap();
        assert_eq!(Waiter::find(&mount).unwrap().wait(), None);
        lease.end(Ok(()));
    }

    #[test]
    fn who_waits_is_never_taken_for_the_server() {
        let mount = mounted("waits");
        let lease = Lease::take(&mount).unwrap();
        let waiters = [(); 2].map(|()| Waiter::find(&mount).unwrap());
        let own = vec![std::process::id().cast_signed()];
        let found = holders(own, &format!("/memfd:{}", begin_of(&mount)), MountId::of_memory().unwrap());
        let server = format!("/proc/{}/fd/{}", std::process::id(), lease.file.as_raw_fd());
        assert_eq!(found.iter().map(|holder| &holder.path).collect::<Vec<_>>(), [Path::new(&server)]);
        lease.end(Ok(()));
        assert_eq!(waiters.map(Waiter::wait), [(); 2].map(|()| Some(LastWrites::Done)));
    }

    #[test]
    fn a_mount_that_has_got_the_number_of_another_one_has_its_own_lease() {
        let mount = mounted("reused");
        let (older, newer) = (Lease::take(&mount).unwrap(), Lease::take(&mount).unwrap());
        let waiter = Waiter::find(&mount).unwrap();
        newer.end(Ok(()));
        assert_eq!(waiter.wait(), Some(LastWrites::Done), "the older one is still held");
        assert!(Waiter::find(&mount).is_some());
        older.is_unmounted();
        assert!(Waiter::find(&mount).is_none(), "the server of this mount is dead, and the other one not waited for");
        older.end(Ok(()));
    }

    #[test]
    fn a_server_that_hangs_is_not_that_of_a_later_mount_with_its_number() {
        let mount = Mounted { mark: Some(1), ..mounted("hangs") };
        let later = Mounted { mark: Some(2), ..mount.clone() };
        let lease = Lease::take(&mount).unwrap();
        assert!(Waiter::find(&mount).is_some());
        assert!(Waiter::find(&later).is_none(), "it has not said that its mount is gone");
        lease.end(Ok(()));
    }

    #[test]
    fn a_lease_of_another_user_than_the_mounts_owner_is_none() {
        let mount = mounted("foreign");
        let lease = Lease::take(&mount).unwrap();
        let foreign = Mounted { owner: mount.owner.map(|owner| owner + 1), ..mount.clone() };
        assert!(Waiter::find(&foreign).is_none());
        if rustix::process::geteuid().is_root() {
            let other = rustix::process::Uid::from_raw(1);
            rustix::fs::fchown(&lease.file, Some(other), None).unwrap();
            assert!(Waiter::find(&mount).is_none(), "it is not his");
        }
        lease.end(Ok(()));
    }
}
