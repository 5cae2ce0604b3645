//! A reader of a volume with FreeBSD's journal sees it as it is after the replay, and nothing is written.

use crate::common::{fresh, judge, located, mount};
use crate::replays::replay;
use crate::replays::volumes::{put, read};
use ordo_fsck::Journal;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{Endian, Format};
use ordofs::disk::RamDisk;
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Name, StatFs};
use ordofs::{JournalChange, MountOptions, Mounted, Notice, Notices, Tuning, UnreadLog};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// A volume whose power failed while a removed file was open.
fn crashed(rt: &Rt, format: Format, endian: Endian) -> RamDisk {
    let ram = fresh(rt, (format, endian, 8192, 1024), 24 << 20);
    let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
    journal.apply_on(rt, Rc::new(ram.clone())).expect("there is room for a journal");
    let mounted = mount(rt, &ram, "suj");
    let fs = mounted.fs().clone();
    let crashed = rt.block_on(async {
        put(&fs, "/stays", b"here").await;
        put(&fs, "/open", &[7; 200_000]).await;
        fs.syncfs().await.expect("the disk is well");
        let held = resolve(&fs, b"/open", true).await.expect("the file");
        fs.unlink(fs.root(), Name::new(b"open").expect("a name")).await.expect("it is there");
        fs.syncfs().await.expect("the disk is well");
        let crashed = ram.snapshot();
        drop(held);
        crashed
    });
    drop(fs);
    rt.block_on(mounted.unmount()).expect("the disk is well");
    crashed
}

/// What a read-only mount says, and shows.
fn seen(rt: &Rt, disk: &RamDisk) -> (Vec<Notice>, Option<UnreadLog>, StatFs) {
    let before = disk.to_vec();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let notices = Notices::to(move |notice| to.lock().expect("one thread").push(notice.clone()));
    let options = MountOptions { read_only: true, notices, ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(rt, located(disk, Rc::new(disk.clone())), &options));
    let mounted = mounted.expect("it can be mounted");
    let fs = mounted.fs().clone();
    assert_eq!(rt.block_on(read(&fs, "/stays")).as_deref(), Some(&b"here"[..]));
    let (unread, space) = (mounted.unread_log(), mounted.space());
    drop(fs);
    rt.block_on(mounted.unmount()).expect("nothing is written");
    assert!(disk.to_vec() == before, "a reader wrote");
    let heard = heard.lock().expect("one thread").clone();
    (heard, unread, space)
}

#[test]
fn a_reader_sees_the_volume_after_the_replay() {
    let rt = Rt::virtual_time(1);
    for (format, endian) in [(Format::Ufs2, Endian::Little), (Format::Ufs1, Endian::Big)] {
        let disk = crashed(&rt, format, endian);
        let (heard, unread, space) = seen(&rt, &disk);
        assert_eq!((heard, unread), (vec![Notice::ReplayedInMemory], None));
        let before = disk.to_vec();
        let looked = judge(&rt, &disk);
        assert_eq!((looked.journal, looked.clean, looked.left), (Some(Journal::SeenReplayed), false, false));
        assert!(looked.findings.is_empty() && disk.to_vec() == before, "{:?}", looked.findings);

        let done = replay(&rt, &disk).expect("a journal");
        assert_eq!(done.freed_inodes, 1, "the open file");
        let (heard, _, after) = seen(&rt, &disk);
        assert!(heard.is_empty());
        assert_eq!(space, after, "{format:?}: what a reader was shown was not what the replay made");
    }
}

#[test]
fn a_journal_that_cannot_be_replayed_is_said_in_one_line() {
    let rt = Rt::virtual_time(1);
    let disk = crashed(&rt, Format::Ufs2, Endian::Little);
    let found = located(&disk, Rc::new(disk.clone())).found;
    let mut sb = found.ufs().expect("UFS").superblock.clone();
    // An earlier check has found damage: the journal does not count.
    sb.fields.flags |= flag::NEEDSFSCK;
    let damaged = disk.snapshot();
    damaged.poke(sb.at.0, &sb.encode(1));
    let (heard, unread, _) = seen(&rt, &damaged);
    assert_eq!((heard, unread), (vec![Notice::LogUnread(UnreadLog::Intents)], Some(UnreadLog::Intents)));
    // The journal is of another mount.
    sb.fields.flags &= !flag::NEEDSFSCK;
    sb.fields.mtime += 1;
    disk.poke(sb.at.0, &sb.encode(1));
    let (heard, unread, _) = seen(&rt, &disk);
    assert!(matches!(&heard[..], [Notice::LogUnreadable(why)] if why.contains("last mount")), "{heard:?}");
    assert_eq!(unread, Some(UnreadLog::Intents));
}
