//! An in-memory tree, mounted and used through the kernel, over each transport. Without root or /dev/fuse, or where a
//! transport is switched off, the tests say so and pass.

use ordo_fuse::{
    Ended, MountError, MountOptions, Reason, ServeOptions, Status, TransportChoice, Unmounted, mount, serve, unmount,
};
use ordo_model::{MemFs, Options};
use ordo_rt::Rt;
use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

fn can_mount(name: &str) -> bool {
    let can = Path::new("/dev/fuse").exists() && rustix::process::geteuid().is_root();
    if !can {
        eprintln!("{name}: skipped, needs root and /dev/fuse");
    }
    can
}

struct Mounted {
    dir: TempDir,
    server: Option<JoinHandle<(Reason, u64)>>,
}

impl Mounted {
    /// One mount over each transport; for a transport that is not available, the reason is printed.
    fn each(name: &'static str, opts: fn() -> ServeOptions) -> impl Iterator<Item = Mounted> {
        let transports = [TransportChoice::Classic, TransportChoice::Uring].into_iter().filter(move |transport| {
            let available = transport.available();
            if let Err(why) = available {
                eprintln!("{name}: skipped over {transport:?}: {why}");
            }
            available.is_ok()
        });
        transports.filter(move |_| can_mount(name)).map(move |transport| Mounted::new(transport, opts))
    }

    fn new(transport: TransportChoice, opts: fn() -> ServeOptions) -> Mounted {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().to_owned();
        let (usable, wait) = mpsc::channel();
        let server = std::thread::spawn(move || {
            let rt = Rt::real_time();
            let clock = rt.clone();
            let fs = Rc::new(MemFs::new(Options::default(), move || {
                let (secs, nanos) = clock.wall();
                ordo_vfs::Stamp { secs, nanos }
            }));
            let session = mount(&at, &MountOptions { allow_other: true, ..MountOptions::new("memory,test") }).unwrap();
            let ready = Some(Box::new(move || usable.send(()).unwrap()) as Box<dyn FnOnce()>);
            let ended =
                rt.block_on(serve(&rt, fs.clone(), session, ServeOptions { ready, transport, ..opts() })).unwrap();
            let Ended { reason, lease, .. } = ended;
            lease.expect("the mount has a number").end(Ok(()));
            (reason, fs.lookups())
        });
        wait.recv().expect("the server did not come up");
        Mounted { dir, server: Some(server) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Unmounts, and checks that the server returned every lookup.
    fn end(mut self) {
        // A child that another test starts also has our open files, until it has called exec.
        let mut tries = 0..500;
        let rt = Rt::real_time();
        let pause = || rt.block_on(rt.sleep(Duration::from_millis(10)));
        let unmounted = loop {
            match unmount(self.dir.path(), false) {
                Err(MountError::InUse(_)) if tries.next().is_some() => pause(),
                unmounted => break unmounted.unwrap(),
            }
        };
        assert_eq!(unmounted, Unmounted::Finished);
        let ended = self.server.take().map(|server| server.join().unwrap());
        assert_eq!(ended, Some((Reason::Unmounted, 0)));
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 0);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A test failed: its mount must be removed.
        if self.server.is_some() {
            let _ = unmount(self.dir.path(), true);
        }
    }
}

fn acls() -> ServeOptions {
    ServeOptions { acls: true, ..ServeOptions::default() }
}

fn sh(script: &str, dir: &Path) -> (bool, String) {
    let out = Command::new("sh").args(["-c", script]).current_dir(dir).output().unwrap();
    (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn files_are_made_written_read_and_removed() {
    for m in Mounted::each("files", ServeOptions::default) {
        let file = m.path("file");
        fs::write(&file, b"hello").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"hello");
        let mut open = OpenOptions::new().read(true).append(true).open(&file).unwrap();
        open.write_all(b" world").unwrap();
        assert_eq!(open.metadata().unwrap().len(), 11);
        assert_eq!(fs::read_to_string(&file).unwrap(), "hello world");
        open.set_len(4).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"hell");
        File::create(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().len(), 0);
        assert_eq!(OpenOptions::new().write(true).create_new(true).open(&file).unwrap_err().raw_os_error(), Some(17));
        // An open file without a name can still be used.
        open.write_all(b"alive").unwrap();
        fs::remove_file(&file).unwrap();
        open.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), open.metadata().unwrap().nlink()), ("alive", 0));
        assert_eq!(fs::metadata(&file).unwrap_err().raw_os_error(), Some(2));
        drop(open);
        m.end();
    }
}

#[test]
fn megabytes_come_back_as_they_were_written() {
    for m in Mounted::each("megabytes", ServeOptions::default) {
        let data: Vec<u8> = (0..(5 << 20) + 123u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(m.path("big"), &data).unwrap();
        // Not from the kernel's cache.
        fs::write("/proc/sys/vm/drop_caches", b"1").unwrap();
        assert!(fs::read(m.path("big")).unwrap() == data);
        let mut some = [0; 4096];
        let file = File::open(m.path("big")).unwrap();
        file.read_exact_at(&mut some, 1 << 20).unwrap();
        assert_eq!(some[..], data[1 << 20..(1 << 20) + 4096]);
        file.sync_all().unwrap();
        drop(file);
        m.end();
    }
}

#[test]
fn the_kernels_write_back_cache_loses_nothing() {
    let writeback = || ServeOptions { writeback: true, ..ServeOptions::default() };
    for m in Mounted::each("write-back", writeback) {
        let mut file = File::create(m.path("small")).unwrap();
        let data: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        data.chunks(77).for_each(|piece| file.write_all(piece).unwrap());
        assert_eq!(file.metadata().unwrap().len(), 100_000);
        let written = file.metadata().unwrap().modified().unwrap();
        file.sync_all().unwrap();
        drop(file);
        // Dirty when it is removed, and dirty when it is unmounted.
        fs::write(m.path("gone"), &data).unwrap();
        fs::remove_file(m.path("gone")).unwrap();
        fs::write("/proc/sys/vm/drop_caches", b"3").unwrap();
        assert!(fs::read(m.path("small")).unwrap() == data);
        assert_eq!(fs::metadata(m.path("small")).unwrap().modified().unwrap(), written);
        fs::write(m.path("late"), &data).unwrap();
        m.end();
    }
}

#[test]
fn directories_list_what_is_in_them() {
    for m in Mounted::each("directories", ServeOptions::default) {
        fs::create_dir_all(m.path("a/b")).unwrap();
        assert_eq!(fs::metadata(m.path("a")).unwrap().nlink(), 3);
        let mut names: Vec<String> = (0..3000).map(|i| format!("file-with-a-long-name-{i:05}")).collect();
        names.iter().for_each(|name| drop(File::create(m.path("a/b").join(name)).unwrap()));
        for drop_caches in [false, true] {
            if drop_caches {
                fs::write("/proc/sys/vm/drop_caches", b"2").unwrap();
            }
            let mut found: Vec<String> = fs::read_dir(m.path("a/b"))
                .unwrap()
                .map(|entry| {
                    let entry = entry.unwrap();
                    assert!(entry.metadata().unwrap().is_file());
                    entry.file_name().into_string().unwrap()
                })
                .collect();
            found.sort();
            assert_eq!(found, names);
        }
        let gone = names.pop().unwrap();
        fs::remove_file(m.path("a/b").join(gone)).unwrap();
        assert_eq!(fs::read_dir(m.path("a/b")).unwrap().count(), names.len());
        assert_eq!(fs::remove_dir(m.path("a/b")).unwrap_err().raw_os_error(), Some(39));
        fs::remove_dir_all(m.path("a/b")).unwrap();
        assert_eq!(fs::metadata(m.path("a")).unwrap().nlink(), 2);
        m.end();
    }
}

#[test]
fn the_kernels_cached_attributes_stay_right() {
    for m in Mounted::each("attributes", ServeOptions::default) {
        let (a, b, c) = (m.path("a"), m.path("b"), m.path("c"));
        fs::write(&a, b"a").unwrap();
        let nlink = |path: &Path| fs::metadata(path).unwrap().nlink();
        let ctime = |path: &Path| fs::metadata(path).map(|m| (m.ctime(), m.ctime_nsec())).unwrap();
        let changes = |path: &Path, what: &dyn Fn()| {
            let before = ctime(path);
            what();
            assert!(ctime(path) > before);
        };
        assert_eq!(nlink(&a), 1);
        changes(&a, &|| fs::hard_link(&a, &b).unwrap());
        assert_eq!((nlink(&a), nlink(&b)), (2, 2));
        fs::write(&c, b"c").unwrap();
        changes(&a, &|| fs::rename(&c, &b).unwrap());
        assert_eq!((nlink(&a), nlink(&b)), (1, 1));
        assert_eq!(fs::read(&b).unwrap(), b"c");
        changes(&a, &|| fs::set_permissions(&a, PermissionsExt::from_mode(0o640)).unwrap());
        changes(&a, &|| setxattr(&a, "user.x", b"y", XattrFlags::CREATE).unwrap());
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        let (ino_a, ino_b) = (fs::metadata(&a).unwrap().ino(), fs::metadata(&b).unwrap().ino());
        rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, flags).unwrap();
        assert_eq!((fs::metadata(&a).unwrap().ino(), fs::metadata(&b).unwrap().ino()), (ino_b, ino_a));
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        let refused = rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, flags);
        assert_eq!(refused, Err(rustix::io::Errno::EXIST));
        // A name that did not exist, and then does.
        assert!(fs::metadata(m.path("later")).is_err());
        fs::hard_link(&a, m.path("later")).unwrap();
        assert_eq!(nlink(&m.path("later")), 2);
        m.end();
    }
}

/// What a save of requests may get wrong: each thing is seen, or cached as absent, before it changes, and is changed by
/// another way than it is seen by.
fn nothing_stale_is_seen(m: &Mounted, xattrs: bool, writeback: bool) {
    let (a, b) = (m.path("a"), m.path("b"));
    let meta = |path: &Path| fs::metadata(path).unwrap();
    let mode = |path: &Path| meta(path).mode() & 0o7777;
    let times = |path: &Path| (meta(path).mtime(), meta(path).mtime_nsec());
    // Two names, two open files: contents, size, mode and times are the file's.
    fs::write(&a, b"first").unwrap();
    fs::hard_link(&a, &b).unwrap();
    let (one, two) = (OpenOptions::new().append(true).open(&a).unwrap(), File::open(&b).unwrap());
    let mut text = [0; 64];
    for round in 1..=3 {
        let before = times(&b);
        (&one).write_all(b" more").unwrap();
        let len = 5 + 5 * round;
        assert_eq!((meta(&a).len(), meta(&b).len(), two.metadata().unwrap().len()), (len, len, len));
        assert_eq!(two.read_at(&mut text, 0).unwrap() as u64, len);
        assert_eq!(text[len as usize - 5..len as usize], *b" more");
        // With the write-back cache the times are the kernel's, which stands still within a tick.
        assert!(times(&b) > before || writeback, "a write by another name does not change the time");
    }
    fs::set_permissions(&b, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!((mode(&a), one.metadata().unwrap().mode() & 0o7777), (0o600, 0o600));
    std::os::unix::fs::chown(&b, Some(5), Some(6)).unwrap();
    assert_eq!((meta(&a).uid(), meta(&a).gid()), (5, 6));
    OpenOptions::new().write(true).open(&b).unwrap().set_len(3).unwrap();
    assert_eq!((meta(&a).len(), two.read_at(&mut text, 0).unwrap()), (3, 3));
    // A time that is set stays, and the next write changes it.
    assert!(sh("touch -d @1000000000.5 b", m.dir.path()).0);
    assert_eq!(times(&a), (1_000_000_000, 500_000_000));
    one.sync_all().unwrap();
    assert_eq!(times(&a), (1_000_000_000, 500_000_000));
    (&one).write_all(b"!").unwrap();
    assert!(times(&b).0 > 1_000_000_000);
    // An open file outlives the name that another file takes.
    fs::write(m.path("c"), b"other").unwrap();
    fs::rename(m.path("c"), &b).unwrap();
    assert_eq!((fs::read(&b).unwrap(), fs::read(&a).unwrap()), (b"other".to_vec(), b"fir!".to_vec()));
    assert_eq!((meta(&a).nlink(), meta(&b).nlink(), two.metadata().unwrap().len()), (1, 1, 4));
    // A directory's mode is asked again at each change of its names: what it was must not come back.
    let dir = m.path("d");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, PermissionsExt::from_mode(0o711)).unwrap();
    File::create(dir.join("x")).unwrap();
    assert_eq!(mode(&dir), 0o711);
    // Names that were absent, however they come, and that go again.
    let absent = |name: &str| fs::symlink_metadata(dir.join(name)).is_err_and(|why| why.raw_os_error() == Some(2));
    let makers: [&dyn Fn(&Path); 5] = [
        &|path| drop(File::create(path).unwrap()),
        &|path| fs::create_dir(path).unwrap(),
        &|path| symlink("x", path).unwrap(),
        &|path| fs::hard_link(&a, path).unwrap(),
        &|path| fs::rename(&b, path).unwrap(),
    ];
    for (number, make) in makers.iter().enumerate() {
        let name = format!("name {number}");
        assert!(absent(&name) && absent(&name));
        make(&dir.join(&name));
        assert!(!absent(&name), "{name}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2 + number);
    }
    fs::rename(&dir, m.path("e")).unwrap();
    assert!(absent("name 0") && !m.path("d").exists() && m.path("e/name 0").exists());
    // An attribute that was absent, that comes, changes and goes.
    let value = || {
        let mut room = [0; 16];
        getxattr(&a, "user.later", &mut room).map(|len| room[..len].to_vec())
    };
    if xattrs {
        assert_eq!(value(), Err(rustix::io::Errno::NODATA));
        (&one).write_all(b"?").unwrap();
        for text in [b"one", b"two"] {
            setxattr(&a, "user.later", text, XattrFlags::empty()).unwrap();
            assert_eq!(value(), Ok(text.to_vec()));
        }
        rustix::fs::removexattr(&a, "user.later").unwrap();
        assert_eq!(value(), Err(rustix::io::Errno::NODATA));
    } else {
        assert_eq!(value(), Err(rustix::io::Errno::OPNOTSUPP));
        assert_eq!(setxattr(&a, "user.later", b"", XattrFlags::empty()), Err(rustix::io::Errno::OPNOTSUPP));
    }
}

#[test]
fn nothing_stale_is_seen_whatever_the_kernel_keeps() {
    type Case = (&'static str, bool, bool, fn() -> ServeOptions);
    let cases: [Case; 3] = [
        ("stale", true, false, ServeOptions::default),
        ("stale, no attributes", false, false, || ServeOptions { xattrs: false, ..ServeOptions::default() }),
        ("stale, write-back", true, true, || ServeOptions { writeback: true, ..ServeOptions::default() }),
    ];
    for (name, xattrs, writeback, opts) in cases {
        for m in Mounted::each(name, opts) {
            nothing_stale_is_seen(&m, xattrs, writeback);
            m.end();
        }
    }
}

/// How often the server was asked for an attribute that it does not have.
static ASKED: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_volume_without_attributes_is_asked_for_them_once() {
    fn counted(busy: bool) -> ServeOptions {
        let status = move || {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Status { text: String::new(), busy }
        };
        ServeOptions { xattrs: false, status: Some(Box::new(status)), ..ServeOptions::default() }
    }
    type Case = (&'static str, u32, fn() -> ServeOptions);
    let cases: [Case; 2] = [("asked once", 1, || counted(false)), ("asked always", 40, || counted(true))];
    for (name, times, opts) in cases {
        for m in Mounted::each(name, opts) {
            let before = ASKED.load(Ordering::Relaxed);
            for number in 0..20 {
                let file = m.path(&number.to_string());
                fs::write(&file, b"x").unwrap();
                std::os::unix::fs::chown(&file, Some(1), Some(1)).unwrap();
            }
            assert_eq!(ASKED.load(Ordering::Relaxed) - before, times, "{name}");
            m.end();
        }
    }
}

#[test]
fn links_devices_times_and_holes_pass_through() {
    for m in Mounted::each("links", ServeOptions::default) {
        symlink("where/ever", m.path("link")).unwrap();
        assert_eq!(fs::read_link(m.path("link")).unwrap(), Path::new("where/ever"));
        let (ok, shown) = sh("mknod null c 1 3 && mkfifo pipe && stat -c %t:%T:%F null pipe", m.dir.path());
        assert!(ok && shown == "1:3:character special file\n0:0:fifo\n", "{shown}");
        let file = File::create(m.path("file")).unwrap();
        file.write_at(b"x", 1 << 20).unwrap();
        let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0)).unwrap();
        assert_eq!(hole, 1 << 20);
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, 4 << 20).unwrap();
        let meta = file.metadata().unwrap();
        assert_eq!((meta.len(), meta.blocks() >= 8192), ((1 << 20) + 1, true));
        drop(file);
        let (ok, shown) = sh("touch -d @1000000000.5 file && stat -c %.Y file && stat -c %W file", m.dir.path());
        assert!(ok && shown.starts_with("1000000000.50"), "{shown}");
        assert_ne!(shown.lines().nth(1), Some("0"), "no birth time");
        let space = rustix::fs::statvfs(m.dir.path()).unwrap();
        assert!(space.f_blocks > 0 && space.f_namemax == 255);
        m.end();
    }
}

#[test]
fn a_file_without_a_name_can_be_given_one() {
    for m in Mounted::each("tmpfile", ServeOptions::default) {
        use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
        let flags = OFlags::TMPFILE | OFlags::RDWR;
        let file = File::from(openat(CWD, m.dir.path(), flags, Mode::from_raw_mode(0o600)).unwrap());
        file.write_at(b"text", 0).unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        linkat(CWD, own, CWD, m.path("named"), AtFlags::SYMLINK_FOLLOW).unwrap();
        assert_eq!(fs::read(m.path("named")).unwrap(), b"text");
        drop(file);
        m.end();
    }
}

#[test]
fn set_user_id_goes_when_a_stranger_writes_or_the_owner_changes() {
    for m in Mounted::each("set-user-id", ServeOptions::default) {
        let file = m.path("file");
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o7777;
        let set = |bits| fs::set_permissions(&file, PermissionsExt::from_mode(bits)).unwrap();
        fs::write(&file, b"#!/bin/sh").unwrap();
        fs::set_permissions(m.dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let stranger = |script: &str| {
            let run = format!("setpriv --reuid 1234 --regid 1234 --clear-groups sh -c '{script}'");
            assert!(sh(&run, m.dir.path()).0, "{run}");
        };
        set(0o6777);
        assert_eq!(mode(), 0o6777);
        stranger("echo >> file");
        assert_eq!(mode(), 0o777);
        set(0o6777);
        stranger("truncate -s 3 file");
        assert_eq!(mode(), 0o777);
        set(0o6777);
        std::os::unix::fs::chown(&file, Some(7), None).unwrap();
        assert_eq!(mode(), 0o777);
        set(0o6777);
        stranger("fallocate -l 100 file");
        assert_eq!(mode(), 0o777);
        set(0o4755);
        fs::write(&file, b"by root").unwrap();
        assert_eq!(mode(), 0o4755);
        m.end();
    }
}

/// `u::rw- u:1234:rwx g::--- m::mask o::---` as the kernel stores it.
fn acl(mask: u16) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, bits, id) in
        [(1u16, 6u16, u32::MAX), (2, 7, 1234), (4, 0, u32::MAX), (16, mask, u32::MAX), (32, 0, u32::MAX)]
    {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn flags_and_acls_are_kept() {
    for m in Mounted::each("flags", acls) {
        fs::write(m.path("file"), b"x").unwrap();
        let (ok, shown) =
            sh("chattr +i file && lsattr file && ! rm -f file 2>/dev/null && chattr -i file", m.dir.path());
        assert!(ok && shown.starts_with("----i-"), "{shown}");
        let ctime = || fs::metadata(m.path("file")).map(|m| (m.ctime(), m.ctime_nsec())).unwrap();
        let before = ctime();
        assert!(sh("chattr +d file", m.dir.path()).0);
        assert!(ctime() > before, "the kernel kept the attributes");
        let acl = acl(0o7);
        setxattr(m.path("file"), "system.posix_acl_access", &acl, XattrFlags::empty()).unwrap();
        let mode = fs::metadata(m.path("file")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o670, "the mask is the group's part of the mode");
        let mut back = [0; 100];
        let len = getxattr(m.path("file"), "system.posix_acl_access", &mut back).unwrap();
        assert_eq!(back[..len], acl);
        // The kernel consults the ACL: a user whom only the ACL names may write.
        fs::set_permissions(m.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let by = |uid: u32| format!("setpriv --reuid {uid} --regid {uid} --clear-groups sh -c 'echo x >> file' 2>&1");
        assert!(sh(&by(1234), m.dir.path()).0);
        assert!(!sh(&by(1235), m.dir.path()).0);
        // A directory's default ACL decides instead of the umask.
        fs::create_dir(m.path("d")).unwrap();
        setxattr(m.path("d"), "system.posix_acl_default", &acl, XattrFlags::empty()).unwrap();
        let (ok, shown) = sh("umask 077 && touch d/f && stat -c %a d/f", m.dir.path());
        assert!(ok && shown == "660\n", "{shown}");
        assert_eq!(listxattr(m.path("d/f"), &mut back).map(|len| len > 0), Ok(true));
        m.end();
    }
}

#[test]
fn a_mount_in_use_is_not_unmounted_and_a_second_one_is_refused() {
    for m in Mounted::each("busy", ServeOptions::default) {
        let open = File::create(m.path("file")).unwrap();
        assert!(matches!(unmount(m.dir.path(), false), Err(MountError::InUse(_))));
        assert!(matches!(mount(m.dir.path(), &MountOptions::new("x")), Err(MountError::Busy(_))));
        drop(open);
        m.end();
    }
}

#[test]
fn a_mount_that_was_never_served_leaves_nothing_behind() {
    if !can_mount("never served") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let session = mount(dir.path(), &MountOptions::new("x")).unwrap();
    assert!(matches!(mount(dir.path(), &MountOptions::new("x")), Err(MountError::Busy(_))));
    drop(session);
    assert!(matches!(unmount(dir.path(), false), Err(MountError::NotMounted(_))));
}
