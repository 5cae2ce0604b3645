//! Volumes with an active journal, over several mounts.

use ordo_ondisk::{Cgx, Ino};
use ordofs::disk::{Disk, RamDisk};
use ordofs::path::{Held, resolve};
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{
    JournalChange, MountOptions, Mounted, NewVolume, Notice, Notices, Sought, Tuning, active_at_rest, copies_of,
    locate_on, scrub, scrub_and_adopt, versions_of,
};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

pub(crate) const FILES: u32 = 60;

pub(crate) struct Bed {
    pub(crate) rt: Rt,
    pub(crate) ram: RamDisk,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::of(NewVolume::new(64 << 20))
    }

    pub(crate) fn of(volume: NewVolume) -> Bed {
        let bed = Bed { rt: Rt::virtual_time(1), ram: RamDisk::new(64 << 20).volatile(true) };
        volume.create_on(&bed.rt, bed.disk(), true).unwrap();
        bed.tune(JournalChange::On(None));
        bed
    }

    pub(crate) fn disk(&self) -> Rc<dyn Disk> {
        Rc::new(self.ram.clone())
    }

    pub(crate) fn tune(&self, active: JournalChange) {
        Tuning { active: Some(active), ..Tuning::default() }.apply_on(&self.rt, self.disk()).unwrap();
    }

    pub(crate) fn mount(&self, scheme: &str, data: &str) -> Mounted {
        self.mount_and_hear(scheme, data).0
    }

    /// A mount, and what it told.
    fn mount_and_hear(&self, scheme: &str, data: &str) -> (Mounted, Vec<Notice>) {
        let mut options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
        if scheme == "active" {
            options.policy.near_head = Some(true);
            options.settings.set("data", data).unwrap().unwrap();
        }
        self.mount_with(options)
    }

    pub(crate) fn mount_with(&self, mut options: MountOptions) -> (Mounted, Vec<Notice>) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        options.notices = Notices::to(move |notice| to.lock().unwrap().push(notice.clone()));
        let located = locate_on(&self.rt, self.disk()).unwrap();
        let mounted = self.rt.block_on(Mounted::mount(&self.rt, located, &options)).unwrap();
        let told = heard.lock().unwrap().clone();
        (mounted, told)
    }

    pub(crate) fn write(&self, mounted: &Mounted, word: u32, fsync: bool) {
        let (fs, who) = (mounted.fs(), Caller { privileged: true, ..Caller::default() });
        self.rt.block_on(async {
            for file in 0..FILES {
                let name = format!("f{file}");
                let held = match resolve(fs, name.as_bytes(), true).await {
                    Ok(held) => held,
                    Err(_) => {
                        let name = Name::new(name.as_bytes()).unwrap();
                        Held::new(
                            fs,
                            fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await.unwrap(),
                        )
                    }
                };
                fs.write(&who, held.node(), 0, &contents(file, word)).await.unwrap();
                if fsync {
                    fs.fsync(held.node(), false).await.unwrap();
                }
            }
        });
    }

    pub(crate) fn check(&self, mounted: &Mounted, word: u32) {
        let fs = mounted.fs();
        self.rt.block_on(async {
            for file in 0..FILES {
                let held = resolve(fs, format!("f{file}").as_bytes(), true).await.unwrap();
                let read = fs.read(held.node(), 0, 1 << 20).await.unwrap().concat();
                assert!(read == contents(file, word), "file {file}, word {word}");
            }
        });
    }

    pub(crate) fn unmount(&self, mounted: Mounted) {
        self.rt.block_on(mounted.unmount()).unwrap();
        self.rt.drop_tasks();
    }

    /// As a kill of the server with a power cut.
    pub(crate) fn cut(&self, mounted: Mounted) {
        self.ram.power_cut();
        self.rt.drop_tasks();
        drop(mounted);
    }

    /// Nothing on the volume contradicts the map.
    pub(crate) fn is_right(&self) {
        let located = locate_on(&self.rt, self.disk()).unwrap();
        let done = scrub(&self.rt, &located).unwrap();
        assert_eq!((done.healed, done.rotten), (0, 0), "of {} fragments", done.blocks);
    }

    fn mapped(&self) -> u64 {
        let located = locate_on(&self.rt, self.disk()).unwrap();
        active_at_rest(&self.rt, &located).unwrap().unwrap().0.mapped
    }
}

pub(crate) fn contents(file: u32, word: u32) -> Vec<u8> {
    (0..3000 + file * 700).flat_map(|i| (i.wrapping_mul(file + 7) ^ word).to_le_bytes()).collect()
}

#[test]
fn after_an_unmount_the_map_is_that_of_the_homes() {
    for data in ["ordered", "journal"] {
        let bed = Bed::new();
        for word in 1..4 {
            let mounted = bed.mount("active", data);
            bed.write(&mounted, word, word == 2);
            bed.check(&mounted, word);
            bed.unmount(mounted);
            bed.is_right();
            assert!(bed.mapped() > 0);
            let mounted = bed.mount("active", data);
            bed.check(&mounted, word);
            assert_eq!(mounted.active().unwrap().healed, 0);
            bed.unmount(mounted);
            bed.is_right();
        }
    }
}

#[test]
fn after_a_power_cut_what_was_synced_is_there_and_the_map_is_right_whatever_mode_wrote_it() {
    let bed = Bed::new();
    for (word, data) in (1..).zip(["journal", "ordered", "journal", "journal", "ordered", "ordered", "journal"]) {
        let mounted = bed.mount("active", data);
        bed.write(&mounted, word, true);
        bed.cut(mounted);
        let mounted = bed.mount("active", "ordered");
        bed.check(&mounted, word);
        bed.unmount(mounted);
        bed.is_right();
    }
}

#[test]
fn what_another_scheme_has_written_does_not_come_back_from_a_copy() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    bed.unmount(mounted);
    let mounted = bed.mount("softupdates", "");
    bed.write(&mounted, 2, false);
    bed.unmount(mounted);
    assert_eq!(bed.mapped(), 0, "what the map knew is void");
    let (mounted, told) = bed.mount_and_hear("active", "journal");
    assert_eq!(told, [Notice::MapVoid]);
    bed.check(&mounted, 2);
    bed.unmount(mounted);
    bed.is_right();
    let (mounted, told) = bed.mount_and_hear("active", "journal");
    assert_eq!(told, [], "it counts again");
    bed.unmount(mounted);
}

/// With what was adopted before it each read of older bytes would be a heal.
#[test]
fn what_was_adopted_does_not_come_back_over_what_was_written_since() {
    let bed = Bed::new();
    for word in 1..9 {
        let (fsync, is_cut) = (word % 2 == 0, word % 3 == 0);
        let mounted = bed.mount("active", "ordered");
        bed.write(&mounted, word, fsync);
        if is_cut {
            bed.cut(mounted);
            bed.unmount(bed.mount("active", "ordered"));
        } else {
            bed.unmount(mounted);
        }
        bed.is_right();
        if fsync || !is_cut {
            let mounted = bed.mount("active", "ordered");
            bed.check(&mounted, word);
            bed.unmount(mounted);
        }
        let located = locate_on(&bed.rt, bed.disk()).unwrap();
        let (scrubbed, adopted) = scrub_and_adopt(&bed.rt, located, &Notices::default()).unwrap();
        bed.rt.drop_tasks();
        assert_eq!((scrubbed.healed, scrubbed.rotten, adopted.left), (0, 0, 0));
        assert!(adopted.new > 0 || is_cut, "word {word}");
    }
}

/// Small files that lie in one block are adopted one by one: who reads one reads no others, and a rotten one is the
/// only one that cannot be read.
#[test]
fn of_small_files_beside_each_other_each_is_verified_by_itself() {
    small_files_are_apart(|bed| {
        scrub_and_adopt(&bed.rt, locate_on(&bed.rt, bed.disk()).unwrap(), &Notices::default()).unwrap();
    });
}

/// Small files that lie beside each other, adopted, are verified one by one.
pub(crate) fn small_files_are_apart(adopt: impl FnOnce(&Bed)) {
    const SMALL: usize = 3000;
    let bed = Bed::new();
    let mounted = bed.mount("active", "ordered");
    let name = |file: usize| format!("small{file}");
    bed.rt.block_on(async {
        let (fs, who) = (mounted.fs(), Caller { privileged: true, ..Caller::default() });
        for file in 0..16 {
            let name = name(file);
            let made =
                fs.mknod(&who, fs.root(), Name::new(name.as_bytes()).unwrap(), Kind::Regular, Mode::new(0o644), 0);
            let held = Held::new(fs, made.await.unwrap());
            fs.write(&who, held.node(), 0, &vec![file as u8; SMALL]).await.unwrap();
        }
    });
    bed.unmount(mounted);
    adopt(&bed);
    bed.rt.drop_tasks();
    let located = locate_on(&bed.rt, bed.disk()).unwrap();
    let mounted = bed.mount("active", "ordered");
    let fs = mounted.fs();
    let read = async |file: usize| {
        let held = resolve(fs, name(file).as_bytes(), true).await?;
        Ok::<_, ordofs::vfs::Error>(fs.read(held.node(), 0, 1 << 20).await?.concat())
    };
    let ino = bed.rt.block_on(async { resolve(fs, name(5).as_bytes(), true).await.unwrap().node() });
    let at = copies_of(&bed.rt, &located, Ino(ino.0 as u32)).unwrap()[0].at[0];
    bed.ram.poke(at, &[0x55]);
    bed.rt.block_on(async {
        for file in 0..16 {
            let bytes = read(file).await;
            assert_eq!(bytes.is_err(), file == 5, "file {file}");
            assert!(bytes.is_err() || bytes.unwrap() == vec![file as u8; SMALL], "file {file}");
        }
    });
    bed.cut(mounted);
}

/// What cannot be read any more does not keep the rest from being known, and is told.
#[test]
fn a_volume_with_rotten_inodes_is_adopted_all_the_same() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "ordered");
    bed.write(&mounted, 1, false);
    bed.unmount(mounted);
    let adopt = || scrub_and_adopt(&bed.rt, locate_on(&bed.rt, bed.disk()).unwrap(), &Notices::default());
    adopt().unwrap();
    bed.rt.drop_tasks();
    let found = locate_on(&bed.rt, bed.disk()).unwrap();
    let g = found.found.ufs().unwrap().superblock.geometry();
    // Inodes of the second group: nothing needs them, and no copy has them.
    bed.ram.poke(g.byte(g.cgimin(Cgx(1))).0 + 5, &[0x55]);
    let (scrubbed, _) = adopt().unwrap();
    assert!(scrubbed.rotten > 0);
}

#[test]
fn a_volume_whose_journal_of_copies_is_gone_is_opened_without_it() {
    let bed = Bed::new();
    bed.unmount(bed.mount_with(MountOptions::default()).0);
    bed.tune(JournalChange::Off);
    // As if another system had removed the file.
    let mut sb = locate_on(&bed.rt, bed.disk()).unwrap().found.into_ufs().unwrap().superblock;
    sb.choose_scheme(Some("active"));
    let bytes = sb.encode(sb.fields.time);
    bed.ram.poke(sb.at.0, &bytes);
    let (mounted, told) = bed.mount_with(MountOptions::default());
    assert!(matches!(&told[..], [Notice::ActiveUnusable { scheme, .. }] if scheme == "softupdates"), "{told:?}");
    bed.write(&mounted, 1, false);
    bed.unmount(mounted);
    let located = locate_on(&bed.rt, bed.disk()).unwrap();
    let named = MountOptions { scheme: Some("active".into()), ..MountOptions::default() };
    assert!(bed.rt.block_on(Mounted::mount(&bed.rt, located, &named)).is_err(), "who names it must have it");
}

#[test]
fn a_repair_that_gives_the_map_up_first_writes_home_what_it_has_healed() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    bed.unmount(mounted);
    let located = locate_on(&bed.rt, bed.disk()).unwrap();
    let blocks = copies_of(&bed.rt, &located, Ino::ROOT).unwrap();
    assert!(blocks[0].at.len() > 1, "{blocks:?}");
    // The root directory at home, and a count in the superblock, which stays that of the active journal.
    bed.ram.poke(blocks[0].at[0] + 100, &[0x55; 300]);
    let mut sb = located.found.into_ufs().unwrap().superblock;
    let (keeper, _) = sb.keeper().unwrap();
    sb.fields.cs_nbfree += 3;
    let bytes = sb.encode_kept(sb.fields.time, &keeper);
    bed.ram.poke(sb.at.0, &bytes);
    let check = |mode| bed.rt.block_on(ordo_fsck::check(&bed.rt, bed.disk(), ordo_fsck::Options::new(mode))).unwrap();
    let found = check(ordo_fsck::Mode::Check);
    assert!(found.findings.iter().all(|found| found.finding.name() == "Totals"), "{:?}", found.findings);
    check(ordo_fsck::Mode::Repair);
    assert!(check(ordo_fsck::Mode::Check).findings.is_empty());
    let mounted = bed.mount("softupdates", "");
    bed.check(&mounted, 1);
    bed.unmount(mounted);
}

/// Homes may be very old while only the copies have what was synced. Reading must not show them, nor write.
#[test]
fn a_crashed_volume_is_read_as_it_will_be_and_not_written() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    (1..4).for_each(|word| bed.write(&mounted, word, true));
    bed.cut(mounted);
    let before = bed.ram.to_vec();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let options = MountOptions {
        read_only: true,
        notices: Notices::to(move |notice| to.lock().unwrap().push(notice.clone())),
        ..MountOptions::default()
    };
    let located = locate_on(&bed.rt, bed.disk()).unwrap();
    let mounted = bed.rt.block_on(Mounted::mount(&bed.rt, located, &options)).unwrap();
    bed.check(&mounted, 3);
    assert_eq!((heard.lock().unwrap().as_slice(), mounted.unread_log()), (&[Notice::ReplayedInMemory][..], None));
    bed.unmount(mounted);
    let (rt, disk) = (bed.rt.clone(), bed.disk());
    let looked = bed
        .rt
        .block_on(async move { ordo_fsck::check(&rt, disk, ordo_fsck::Options::new(ordo_fsck::Mode::Check)).await });
    let looked = looked.unwrap();
    assert_eq!((looked.journal, looked.clean), (Some(ordo_fsck::Journal::SeenReplayed), false));
    assert!(looked.findings.is_empty() && bed.ram.to_vec() == before, "{:?}", looked.findings);
}

/// The time in the superblock says whether another system has written since. If its check hash is wrong, that may be
/// what is damaged; a preen that took it for the truth would lose all that only the log has.
#[test]
fn a_superblock_that_does_not_tell_whether_its_log_counts_gives_the_log_not_up() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    bed.cut(mounted);
    // fs_time of the first superblock.
    let at = 65536 + 1072;
    let mut byte = [0];
    bed.ram.peek(at, &mut byte);
    bed.ram.poke(at, &[byte[0] ^ 0x55]);
    let before = bed.ram.to_vec();
    for mode in [ordo_fsck::Mode::Check, ordo_fsck::Mode::Preen] {
        let (rt, disk) = (bed.rt.clone(), bed.disk());
        let options = ordo_fsck::Options::new(mode);
        let done = bed.rt.block_on(async move { ordo_fsck::check(&rt, disk, options).await }).unwrap();
        assert!(matches!(done.journal, Some(ordo_fsck::Journal::NotReplayed(_))), "{:?}", done.journal);
        assert!(done.left && bed.ram.to_vec() == before, "{mode:?}");
    }
    bed.ram.poke(at, &byte);
    let mounted = bed.mount("active", "journal");
    bed.check(&mounted, 1);
    bed.unmount(mounted);
}

#[test]
fn older_versions_of_a_file_are_read_as_they_were() {
    let bed = Bed::new();
    // Some files that are written once, and one that is overwritten.
    let one = |mounted: &Mounted, word: u32| {
        let fs = mounted.fs();
        bed.rt.block_on(async {
            let held = resolve(fs, b"f0", true).await.unwrap();
            fs.write(&Caller { privileged: true, ..Caller::default() }, held.node(), 0, &contents(0, word))
                .await
                .unwrap();
            fs.fsync(held.node(), false).await.unwrap();
            bed.rt.sleep(std::time::Duration::from_secs(9)).await;
            u32::try_from(held.attr().ino).unwrap()
        })
    };
    let mounted = bed.mount("active", "journal");
    bed.write(&mounted, 1, true);
    let ino = [2, 3, 4].map(|word| one(&mounted, word))[0];
    bed.unmount(mounted);
    let versions = || {
        let located = locate_on(&bed.rt, bed.disk()).unwrap();
        let found = versions_of(&bed.rt, &located, &Sought::Here(Ino(ino), None)).unwrap();
        let read = |number| {
            let mut bytes = Vec::new();
            let done = found.read::<ordofs::disk::DiskError>(&bed.rt, number, |some| {
                bytes.extend_from_slice(some);
                Ok(())
            });
            assert!(done.unwrap());
            bytes
        };
        found.list().map(|version| read(version.number)).collect::<Vec<_>>()
    };
    let found = versions();
    assert_eq!(found[..2], [3, 2].map(|word| contents(0, word)), "of {} versions", found.len());
    // What is written with data=ordered is not in the journal: older contents are not known, and not shown.
    let mounted = bed.mount("active", "ordered");
    (5..7).for_each(|word| {
        one(&mounted, word);
    });
    bed.unmount(mounted);
    assert!(versions().iter().all(|bytes| (2..5).any(|word| *bytes == contents(0, word))));
}
