//! Inodes that were in use and had no name when NetBSD crashed.

use crate::common::{assert_clean, check, mount};
use crate::replays::log::Log;
use crate::replays::replay;
use crate::replays::volumes::{Bed, Case, cases, in_use, plain, put, superblock};
use ordo_fsck::Mode as Fsck;
use ordo_ondisk::{Cgx, Dinode, Ino};
use ordo_recover::NotReplayed;
use ordofs::disk::RamDisk;
use ordofs::path::{Held, resolve};
use ordofs::vfs::{Caller, FileSystem, Mode, Name};

/// A volume in use by NetBSD, with a file and a directory that were removed while they were open.
pub(crate) struct Removed {
    pub(crate) bed: Bed,
    /// The inodes without a name, with their modes.
    pub(crate) list: Vec<(u32, u32)>,
    /// The volume as the crash left it, without a log.
    pub(crate) home: RamDisk,
}

impl Removed {
    pub(crate) fn new(case: Case) -> Removed {
        let bed = Bed::new(case);
        let disk = bed.before.snapshot();
        let mounted = mount(&bed.rt, &disk, "sync");
        let fs = mounted.fs().clone();
        let (list, home) = bed.rt.block_on(async {
            let who = Caller { privileged: true, ..Caller::default() };
            // Enough for an indirect block.
            put(&fs, "/open", &vec![7; 13 * case.bsize as usize + 3000]).await;
            let name = Name::new(b"left").expect("a name");
            drop(Held::new(&fs, fs.mkdir(&who, fs.root(), name, Mode::new(0o700)).await.expect("a directory")));
            let file = resolve(&fs, b"/open", true).await.expect("the file");
            let dir = resolve(&fs, b"/left", true).await.expect("the directory");
            fs.unlink(fs.root(), Name::new(b"open").expect("a name")).await.expect("it is there");
            fs.rmdir(fs.root(), name).await.expect("it is empty");
            fs.syncfs().await.expect("the disk is well");
            let inodes = [(file.attr().ino, 0o100_644), (dir.attr().ino, 0o040_700)];
            (inodes.map(|(ino, mode)| (ino as u32, mode)).to_vec(), disk.snapshot())
        });
        drop(fs);
        bed.rt.block_on(mounted.unmount()).expect("the disk is well");
        in_use(&home);
        Removed { bed, list, home }
    }

    pub(crate) fn crashed(&self, log: &Log) -> RamDisk {
        let disk = self.home.snapshot();
        log.write(&disk);
        disk
    }

    /// The groups and the summaries as they are on the disk.
    pub(crate) fn maps(&self) -> Vec<(u64, Vec<u8>)> {
        let g = self.bed.geometry();
        let groups = (0..g.ncg).map(|c| (g.byte(g.cgtod(Cgx(c))).0, g.cgsize));
        let all = groups.chain([(g.byte(g.csaddr).0, g.cssize.next_multiple_of(g.fsize))]);
        let read = |(at, len): (u64, u32)| {
            let mut bytes = vec![0; len.next_multiple_of(g.fsize) as usize];
            self.home.peek(at, &mut bytes);
            (at, bytes)
        };
        all.map(read).collect()
    }

    pub(crate) fn inode(&self, disk: &RamDisk, ino: u32) -> Dinode {
        let g = self.bed.geometry();
        let mut bytes = vec![0; g.dinode_size as usize];
        disk.peek(Dinode::place(&g, Ino(ino)).0, &mut bytes);
        Dinode::decode(&bytes, &g, Ino(ino)).expect("an inode")
    }

    /// Nothing of the inodes is left, and the volume has the room of before.
    pub(crate) fn assert_freed(&self, disk: &RamDisk, what: &str) {
        assert_clean(&self.bed.rt, disk, what);
        for (ino, _) in &self.list {
            assert_eq!(self.inode(disk, *ino).mode, 0, "{what}: inode {ino}");
        }
        assert_eq!(superblock(disk).totals(), superblock(&self.bed.before).totals(), "{what}");
    }
}

#[test]
fn they_are_freed_with_all_that_they_have() {
    for case in cases() {
        let what = format!("{case:?}");
        let removed = Removed::new(case);
        let [file, dir] = removed.list[..] else { panic!("{:?}", removed.list) };
        assert_eq!(
            (removed.inode(&removed.home, file.0).nlink, removed.inode(&removed.home, file.0).size > 0),
            (0, true)
        );

        let mut in_one = removed.bed.log();
        in_one.inodes(true, &removed.list);
        let mut in_two = removed.bed.log();
        in_two.blocks(&removed.maps());
        in_two.inodes(true, &[dir]);
        in_two.inodes(true, &[file]);
        in_two.inodes(false, &[dir]);
        for (log, transactions) in [(in_one, 1), (in_two, 2)] {
            let disk = removed.crashed(&log);
            let done = replay(&removed.bed.rt, &disk).unwrap_or_else(|why| panic!("{what}: {why}"));
            assert_eq!((done.freed_inodes, done.segments), (2, transactions), "{what}");
            removed.assert_freed(&disk, &what);
        }
    }
}

#[test]
fn a_list_that_begins_anew_replaces_those_before() {
    let removed = Removed::new(plain());
    let mut log = removed.bed.log();
    log.inodes(true, &removed.list);
    log.inodes(true, &[]);
    let disk = removed.crashed(&log);
    assert_eq!(replay(&removed.bed.rt, &disk).expect("a log").freed_inodes, 0);
    assert_ne!(removed.inode(&disk, removed.list[0].0).mode, 0);
}

#[test]
fn what_has_a_name_is_left_and_what_was_never_made_is_freed() {
    let removed = Removed::new(plain());
    let Bed { rt, .. } = &removed.bed;
    let named = {
        let mounted = mount(rt, &removed.bed.before.snapshot(), "sync");
        let fs = mounted.fs().clone();
        let ino = rt.block_on(async { resolve(&fs, b"/old/stays", true).await.expect("the file").attr().ino });
        drop(fs);
        rt.block_on(mounted.unmount()).expect("the disk is well");
        ino as u32
    };
    // An inode that was allocated, and never written.
    let (g, bare) = (removed.bed.geometry(), 40);
    let mut word = [0; 4];
    let cg = g.byte(g.cgtod(Cgx(0))).0;
    removed.home.peek(cg + 92, &mut word);
    let byte = cg + u64::from(u32::from_le_bytes(word)) + bare / 8;
    let mut bits = [0];
    removed.home.peek(byte, &mut bits);
    assert_eq!(bits[0] >> (bare % 8) & 1, 0, "it is free");
    removed.home.poke(byte, &[bits[0] | 1 << (bare % 8)]);

    let mut log = removed.bed.log();
    let list = [&removed.list[..], &[(named, 0o100_644), (bare as u32, 0o040_755)]].concat();
    log.inodes(true, &list);
    let disk = removed.crashed(&log);
    assert_eq!(replay(rt, &disk).expect("a log").freed_inodes, 3);
    assert_ne!(removed.inode(&disk, named).nlink, 0);
    removed.assert_freed(&disk, "with others");
}

#[test]
fn damage_of_one_is_left_to_fsck_and_the_rest_counts() {
    let removed = Removed::new(plain());
    let g = removed.bed.geometry();
    for (ino, what) in
        [(0, "none"), (1, "none"), (2, "the root"), (u32::MAX, "beyond"), (g.ncg * g.ipg, "the first beyond")]
    {
        let mut log = removed.bed.log();
        log.inodes(true, &[&[(ino, 0o100_644)], &removed.list[..]].concat());
        let disk = removed.crashed(&log);
        assert_eq!(replay(&removed.bed.rt, &disk).expect(what).freed_inodes, 2, "{what}");
        let sb = superblock(&disk);
        assert!(!sb.is_clean() && !sb.features().wapbl, "{what}");
        assert!(check(&removed.bed.rt, &disk, Fsck::Preen).clean, "{what}");
        removed.assert_freed(&disk, what);
    }
    // A pointer that leads nowhere: the file is left whole, until the check.
    let (file, _) = removed.list[0];
    let mut dinode = removed.inode(&removed.home, file);
    dinode.db[3] = ordo_ondisk::FragNo(g.size + 77);
    let mut bytes = vec![0; g.dinode_size as usize];
    dinode.encode(&mut bytes, &g).expect("an inode");
    removed.home.poke(Dinode::place(&g, Ino(file)).0, &bytes);
    let mut log = removed.bed.log();
    log.inodes(true, &removed.list);
    let disk = removed.crashed(&log);
    assert_eq!(replay(&removed.bed.rt, &disk).expect("a log").freed_inodes, 1);
    assert!(!superblock(&disk).is_clean() && removed.inode(&disk, file) == dinode);
    let report = check(&removed.bed.rt, &disk, Fsck::Repair);
    assert!(report.clean, "{report:?}");
    assert_clean(&removed.bed.rt, &disk, "repaired");
}

#[test]
fn a_list_in_pieces_is_damage() {
    let removed = Removed::new(plain());
    let mut log = removed.bed.log();
    log.inodes(true, &removed.list);
    log.blocks(&removed.maps());
    log.inodes(false, &[]);
    let disk = removed.crashed(&log);
    let before = disk.to_vec();
    let why = replay(&removed.bed.rt, &disk).expect_err("damage");
    assert!(matches!(&why, NotReplayed::Corrupt(damage) if damage.field == "wc_clear"), "{why}");
    assert!(disk.to_vec() == before);
}
