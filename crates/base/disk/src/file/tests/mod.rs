//! File disks: each engine against a disk in memory, locks between programs, windows, shrunk files, direct I/O.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, fcntl};
use tempfile::TempDir;

use super::*;
use crate::{Block, Kind, Queue, QueueOptions, RamDisk, Tag};

const SIZE: u64 = 1 << 20;

fn image() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk.img");
    File::create(&path).unwrap().set_len(SIZE).unwrap();
    (dir, path)
}

fn both() -> [FileOptions; 2] {
    [EngineChoice::Threads, EngineChoice::Auto].map(|engine| FileOptions { engine, ..Default::default() })
}

fn write(disk: &dyn Disk, rt: &Rt, at: u64, byte: u8, len: usize) -> Result<(), DiskError> {
    let part = WritePart { image: Block::copy_of(&vec![byte; len]).image(), tag: Kind::Data.into() };
    rt.block_on(disk.write(DiskOff(at), vec![part], false))
}

fn read(disk: &dyn Disk, rt: &Rt, at: u64, len: usize) -> Result<Block, DiskError> {
    let part = ReadPart { block: Block::zeroed(len), tag: Tag::default() };
    Ok(rt.block_on(disk.read(DiskOff(at), vec![part]))?.remove(0).block)
}

/// Random requests through a queue, many at a time; returns the final contents and the result of every read.
fn churn(rt: &Rt, disk: Rc<dyn Disk>, seed: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let queue = Queue::new(rt, disk, QueueOptions::default());
    let mut rng = ordo_rt::Rng::new(seed);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for i in 0..400u32 {
        let sector = rng.below(SIZE / 512 - 64);
        let (at, len) = (DiskOff(sector * 512), 512 * (1 + rng.below(64) as usize));
        match rng.below(8) {
            0..4 => reads.push(queue.read(at, len, Kind::Data.into())),
            4..6 => writes.push(queue.write(at, Block::copy_of(&vec![i as u8; len]).image(), Kind::Data.into())),
            6 => writes.push(queue.write_fua(at, Block::copy_of(&vec![!i as u8; len]).image(), Kind::Log.into())),
            _ => drop(queue.flush()),
        }
        if rng.chance(1, 10) {
            rt.run_until_idle();
        }
    }
    rt.block_on(async {
        let mut seen = Vec::new();
        for read in reads {
            seen.push(read.await.unwrap().to_vec());
        }
        for write in &writes {
            write.durable().await.unwrap();
        }
        let all = queue.read(DiskOff(0), SIZE as usize, Tag::default()).await.unwrap();
        (all.to_vec(), seen)
    })
}

#[test]
fn every_engine_gives_what_a_disk_in_memory_gives() {
    let rt = Rt::virtual_time(0);
    for seed in 0..4 {
        let expected = churn(&rt, Rc::new(RamDisk::new(SIZE)), seed);
        for options in both() {
            // With one caller some of the calls are made on this thread.
            for (rt, one) in [(Rt::virtual_time(0), false), (Rt::real_time(), false), (Rt::real_time(), true)] {
                rt.set_one_caller(one);
                let (_dir, path) = image();
                let disk = FileDisk::open(&rt, &path, &options).unwrap();
                let got = churn(&rt, Rc::new(disk.clone()), seed);
                assert!(got == expected, "seed {seed}, {}", disk.engine());
                assert!(std::fs::read(&path).unwrap() == expected.0);
            }
        }
    }
}

#[test]
fn a_file_is_never_a_disk_of_which_only_times_are_wanted() {
    let (_dir, path) = image();
    for options in both() {
        let disk = FileDisk::open(&Rt::real_time(), &path, &options).unwrap();
        assert!(!disk.info().times_only, "disk-sim-4");
    }
}

#[test]
fn requests_of_many_buffers_are_scattered_and_gathered() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = FileDisk::open(&rt, &path, &options).unwrap();
        let parts = (0..2000u32)
            .map(|i| WritePart { image: Block::copy_of(&[(i / 7) as u8; 512]).image(), tag: Tag::default() });
        rt.block_on(disk.write(DiskOff(512), parts.collect(), true)).unwrap();
        let parts = (0..2000).map(|_| ReadPart { block: Block::zeroed(512), tag: Tag::default() });
        let back = rt.block_on(disk.read(DiskOff(512), parts.collect())).unwrap();
        assert!(back.iter().enumerate().all(|(i, part)| part.block.iter().all(|&byte| byte == (i / 7) as u8)));
    }
}

#[test]
fn a_second_writer_is_refused_and_told_who_has_it() {
    let (_dir, path) = image();
    let rt = Rt::real_time();
    let open = |read_only| FileDisk::open(&rt, &path, &FileOptions { read_only, ..Default::default() });
    let first = open(false).unwrap();
    for read_only in [false, true] {
        let error = open(read_only).err().unwrap();
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("is in use") && text.contains("Unmount it there"), "{text}");
    }
    drop(first);
    let (_reader, _other) = (open(true).unwrap(), open(true).unwrap());
    assert!(matches!(open(false), Err(OpenError::Locked { .. })));
}

/// As after a server was killed: the process that took the lock is gone, the lock not yet.
#[test]
fn the_lock_of_a_process_that_has_ended_is_waited_for() {
    let (_dir, path) = image();
    let rt = Rt::real_time();
    for options in both() {
        let left = "exec 9<>\"$1\"; flock -n 9 && { sleep 0.3 >/dev/null & }";
        let mut shell = std::process::Command::new("sh");
        assert!(shell.args(["-c", left, "sh"]).arg(&path).status().unwrap().success());
        FileDisk::open(&rt, &path, &options).unwrap();
    }
}

/// As between fork and exec of a process whose parent drops the disk meanwhile.
#[test]
fn a_copy_of_the_open_file_does_not_keep_the_lock() {
    let (_dir, path) = image();
    let rt = Rt::real_time();
    for options in both() {
        let disk = FileDisk::open(&rt, &path, &options).unwrap();
        let _copy = disk.0.file.try_clone().unwrap();
        assert!(matches!(FileDisk::open(&rt, &path, &options), Err(OpenError::Locked { .. })));
        drop(disk);
        FileDisk::open(&rt, &path, &options).unwrap();
    }
}

/// The places of QEMU's locks: 100 and 101 say that it reads and writes, 200 and 201 that no other program may.
#[test]
fn locks_of_qemu_are_seen_and_ours_are_seen_by_qemu() {
    let (_dir, path) = image();
    let rt = Rt::real_time();
    let open = |read_only| FileDisk::open(&rt, &path, &FileOptions { read_only, ..Default::default() });
    let byte = |kind: i32, at| nix::libc::flock {
        l_type: kind as nix::libc::c_short,
        l_whence: 0,
        l_start: at,
        l_len: 1,
        l_pid: 0,
    };
    for (its, reader, writer) in [(100, true, false), (101, false, false), (200, false, false), (201, true, false)] {
        let qemu = File::open(&path).unwrap();
        fcntl(&qemu, FcntlArg::F_OFD_SETLK(&byte(nix::libc::F_RDLCK, its))).unwrap();
        assert_eq!((open(true).is_ok(), open(false).is_ok()), (reader, writer), "byte {its}");
        let text = open(false).err().unwrap().to_string();
        assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    }
    for (read_only, seen) in [(true, vec![100, 201, 203]), (false, vec![100, 101, 200, 201, 203])] {
        let _disk = open(read_only).unwrap();
        let qemu = File::open(&path).unwrap();
        let is_locked = |at: &i64| {
            let mut asked = byte(nix::libc::F_WRLCK, *at);
            fcntl(&qemu, FcntlArg::F_OFD_GETLK(&mut asked)).unwrap();
            asked.l_type != nix::libc::F_UNLCK as nix::libc::c_short
        };
        assert_eq!((100..300).filter(is_locked).collect::<Vec<i64>>(), seen);
    }
}

#[test]
fn a_window_hides_the_rest_of_the_file() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let window = FileOptions { offset: 4096, len: Some(8192), ..options };
        let disk = FileDisk::open(&rt, &path, &window).unwrap();
        assert_eq!(disk.info().size, 8192);
        write(&disk, &rt, 0, 5, 512).unwrap();
        assert!(write(&disk, &rt, 8192, 5, 512).is_err());
        assert_eq!(std::fs::read(&path).unwrap()[4095..4097], [0, 5]);
        drop(disk);
        let beyond = FileOptions { offset: SIZE, len: Some(512), ..window };
        assert!(matches!(FileDisk::open(&rt, &path, &beyond), Err(OpenError::Window { .. })));
    }
}

#[test]
fn a_file_that_has_shrunk_is_gone() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = FileDisk::open(&rt, &path, &options).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(SIZE / 2).unwrap();
        let error = read(&disk, &rt, SIZE - 512, 512).unwrap_err();
        assert_eq!(error.cause, Cause::Gone { size: SIZE });
        write(&disk, &rt, 0, 1, 512).unwrap();
        assert_eq!(rt.block_on(disk.flush()).unwrap_err().cause, Cause::Gone { size: SIZE });
    }
}

#[test]
fn a_reader_writes_nothing() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = FileDisk::open(&rt, &path, &FileOptions { read_only: true, ..options }).unwrap();
        assert_eq!(write(&disk, &rt, 0, 1, 512).unwrap_err().cause, Cause::ReadOnly);
        rt.block_on(disk.flush()).unwrap();
        assert_eq!(read(&disk, &rt, 0, 512).unwrap()[0], 0);
    }
}

#[test]
fn a_discarded_range_reads_as_zeros_or_is_refused() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = FileDisk::open(&rt, &path, &options).unwrap();
        write(&disk, &rt, 0, 9, 65536).unwrap();
        match rt.block_on(disk.discard(DiskOff(0), 65536)) {
            Ok(()) => assert_eq!(read(&disk, &rt, 4096, 512).unwrap()[0], 0),
            Err(error) => assert_eq!(error.cause, Cause::Unsupported),
        }
    }
}

#[test]
fn direct_writes_reach_the_file() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = match FileDisk::open(&rt, &path, &FileOptions { direct: true, ..options }) {
            Ok(disk) => disk,
            // Some file systems have no direct I/O, and report that at open.
            Err(OpenError::Io { source, .. }) => {
                assert_eq!(source.kind(), io::ErrorKind::InvalidInput);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        write(&disk, &rt, 4096, 3, 8192).unwrap();
        let mut byte = [0];
        File::open(&path).unwrap().read_exact_at(&mut byte, 12287).unwrap();
        assert_eq!((byte, read(&disk, &rt, 8192, 4096).unwrap()[0]), ([3], 3));
    }
}

#[test]
fn directories_and_missing_files_are_refused() {
    let rt = Rt::real_time();
    let dir = tempfile::tempdir().unwrap();
    let options = FileOptions::default();
    assert!(matches!(FileDisk::open(&rt, dir.path(), &options), Err(OpenError::NotADisk { .. })));
    assert!(matches!(FileDisk::open(&rt, dir.path().join("none"), &options), Err(OpenError::Io { .. })));
}

#[test]
fn a_write_that_nobody_awaits_is_done_before_the_disk_is_closed() {
    for options in both() {
        let (_dir, path) = image();
        let rt = Rt::real_time();
        let disk = FileDisk::open(&rt, &path, &options).unwrap();
        let part = WritePart { image: Block::copy_of(&[8; 512]).image(), tag: Tag::default() };
        drop(disk.write(DiskOff(0), vec![part; 100], true));
        drop(disk);
        assert_eq!(std::fs::read(&path).unwrap()[99 * 512], 8);
        rt.run_until_idle();
    }
}

#[test]
fn the_engine_that_is_asked_for_is_used() {
    let (_dir, path) = image();
    let rt = Rt::real_time();
    let open = |engine| FileDisk::open(&rt, &path, &FileOptions { engine, ..Default::default() });
    assert_eq!(open(EngineChoice::Threads).unwrap().engine(), "threads");
    match open(EngineChoice::Uring) {
        Ok(disk) => assert_eq!(disk.engine(), "io_uring"),
        Err(error) => assert!(matches!(error, OpenError::Io { .. }), "{error}"),
    }
}
