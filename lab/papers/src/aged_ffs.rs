//! Volumes as old as those of the aging study (Seltzer, Smith and others, USENIX 1995, section 5), and new ones of the
//! same shape.
//!
//! The study copied the free maps of real servers to a disk, on four dates of nine months, and ran its tests there.
//! Here a simulated use makes the volumes ([`ordo_workload::age`]), whole ones with their files.
//!
//! aged-ffs-1. A server, a seed and the disk decide the volumes. They are made in memory, where nothing takes time, by
//!     one scheme; contents of files are not kept.
//! aged-ffs-2. Each date's volume was unmounted cleanly. The use then goes on with the next mount, as on a server that
//!     was down for a moment.
//! aged-ffs-3. The shape is that of the study: UFS1, blocks of 8 KB, fragments of 1 KB, `maxcontig` 7, no rotational
//!     delay, a reserve of 10 percent (that of SunOS), as many groups as the server had, each of as many blocks. Where
//!     new directories go, and that no part of a group is set aside for them, is that of the time, too.

use crate::error::Result;
use ordo_vfs::FileSystem;
use ordo_workload::Session;
use ordo_workload::age::{Aged, Aging, Date, Profile, Space};
use ordofs::disk::{Disk, Frozen, RamDisk};
use ordofs::ondisk::Format;
use ordofs::ondisk::superblock::newfs::System;
use ordofs::rt::Rt;
use ordofs::{MountOptions, Mounted, NewVolume, Placement, Policy, Spread, locate_on};
use std::rc::Rc;

/// Bytes of a block and of a fragment.
const SIZES: (u32, u32) = (8192, 1024);
/// Blocks of a transfer.
const MAXCONTIG: u32 = 7;
/// Percent that users cannot have.
const MINFREE: u32 = 10;
/// The scheme that writes least.
const SCHEME: &str = "async";
/// The directory in which the users are.
const BASE: &str = "aged";
/// Memory of the machine that ages.
const CACHE: usize = 256 << 20;

/// A server whose volume is aged.
#[derive(Debug, Clone, Copy)]
pub struct AgedFfs<'a> {
    /// The server.
    pub profile: &'a Profile,
    /// One of the histories that it could have had.
    pub seed: u64,
    /// Groups of the volume; `None`: as many as the server had. Fewer are an equally busy, smaller server.
    pub groups: Option<u32>,
    /// Bytes of the disk on which the volume begins, at least as large; `None`: its own size. A drive that is to begin
    /// with the volume must have this size.
    pub disk: Option<u64>,
}

/// A volume at a date.
#[derive(Clone)]
pub struct AgedVolume {
    /// The date.
    pub date: Date,
    /// The disk.
    pub contents: Frozen,
    /// Where everything lies on it.
    pub placement: Placement,
    /// What had happened until then.
    pub aged: Aged,
}

impl AgedFfs<'_> {
    /// The volume that newfs makes.
    pub fn shape(&self) -> NewVolume {
        let volume = self.profile.volume;
        let groups = self.groups.unwrap_or(volume.groups);
        let bytes = u64::from(groups) * u64::from(volume.blocks) * u64::from(SIZES.0);
        NewVolume::new(bytes).with(|of| {
            (of.format, of.bsize, of.fsize) = (Format::Ufs1, SIZES.0, SIZES.1);
            (of.max_fpg, of.maxcontig, of.minfree) =
                (Some(volume.blocks * SIZES.0 / SIZES.1), Some(MAXCONTIG), MINFREE);
            // Volumes are identical each time they are made; nothing is set aside for directories.
            (of.system, of.now, of.id) = (System::NetBsd, 783_993_600, 1);
        })
    }

    /// The disk with the new volume, empty.
    ///
    /// # Errors
    /// The shape is impossible, or larger than the disk.
    pub fn empty(&self) -> Result<Frozen> {
        let rt = Rt::virtual_time(self.seed);
        let disk = self.disk();
        self.shape().create_on(&rt, Rc::new(disk.clone()), true)?;
        Ok(disk.frozen())
    }

    /// The volume at the four dates of the study.
    ///
    /// # Errors
    /// As [`AgedFfs::empty`]; errors of the file system.
    pub fn at_all_dates(&self) -> Result<Vec<AgedVolume>> {
        let rt = Rt::virtual_time(self.seed);
        let disk = self.disk();
        let volumes = self.on(&rt, &disk);
        // Tasks hold the executor, and through it the cache.
        rt.drop_tasks();
        volumes
    }

    fn disk(&self) -> RamDisk {
        let bytes = self.shape().params.volume_bytes;
        RamDisk::new(self.disk.unwrap_or(bytes)).with(|info| info.times_only = true)
    }

    fn on(&self, rt: &Rt, ram: &RamDisk) -> Result<Vec<AgedVolume>> {
        let disk: Rc<dyn Disk> = Rc::new(ram.clone());
        self.shape().create_on(rt, disk.clone(), true)?;
        let mut aging = None;
        let mut volumes = Vec::new();
        for date in self.profile.dates() {
            let mounted = mount(rt, &disk)?;
            let played = rt.block_on(self.until(&mounted, date, &mut aging));
            let closed = rt.block_on(mounted.unmount());
            let aged = played?;
            closed?;
            let placement = Placement::of(rt, &locate_on(rt, disk.clone())?)?;
            volumes.push(AgedVolume { date, contents: ram.frozen(), placement, aged });
        }
        Ok(volumes)
    }

    /// Plays the days up to the end of `date`.
    async fn until(&self, mounted: &Mounted, date: Date, aging: &mut Option<Aging>) -> Result<Aged> {
        let fs = &**mounted.fs();
        let aging = match aging {
            Some(aging) => aging,
            None => {
                let space = Space::free_on(&fs.statfs().await?);
                Session::new(fs).mkdir_all(BASE).await?;
                aging.insert(Aging::new(self.profile, self.seed, space))
            }
        };
        while aging.played() < aging.days_until(date.day) {
            aging.play(fs, BASE).await?;
        }
        Ok(aging.aged().clone())
    }
}

fn mount(rt: &Rt, disk: &Rc<dyn Disk>) -> Result<Mounted> {
    let options = MountOptions {
        scheme: Some(SCHEME.to_owned()),
        cache: CACHE,
        policy: Policy { spread: Spread::Evenly, ..Policy::default() },
        ..MountOptions::default()
    };
    Ok(rt.block_on(Mounted::mount(rt, locate_on(rt, disk.clone())?, &options))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_fsck::{Mode, Options};
    use ordofs::Part;

    fn small(name: &str, seed: u64) -> AgedFfs<'static> {
        let profile = Profile::named(name).expect("a server");
        AgedFfs { profile, seed, groups: Some(5), disk: Some(96 << 20) }
    }

    fn share(part: Part) -> f64 {
        part.share().expect("there are some")
    }

    /// A disk that holds what was frozen.
    fn thawed(contents: &Frozen) -> Rc<dyn Disk> {
        let disk = RamDisk::new(96 << 20);
        disk.begin_with(contents);
        Rc::new(disk)
    }

    #[test]
    fn the_empty_volume_has_the_shape_of_the_server() {
        for profile in ordo_workload::age::PROFILES {
            let server = AgedFfs { profile, seed: 1, groups: None, disk: None };
            let g = server.shape().params.superblock().expect("it is possible").geometry();
            assert_eq!((g.ncg, g.fpg / g.frag), (profile.volume.groups, profile.volume.blocks), "{}", profile.name);
            assert_eq!((g.bsize, g.fsize, g.maxcontig, g.rotdelay, g.metaspace), (8192, 1024, 7, 0, 0));
        }
        let (rt, server) = (Rt::virtual_time(1), small("white", 1));
        let empty = thawed(&server.empty().expect("it is possible"));
        let seen = Placement::of(&rt, &locate_on(&rt, empty).expect("a volume")).expect("whole");
        assert_eq!((seen.files, seen.score.of), (0, 0));
        assert!(share(seen.in_use()) < 0.01, "{seen:?}");
    }

    #[test]
    fn an_aged_volume_is_whole_looks_old_and_is_the_same_each_time() {
        let volumes = small("white", 1).at_all_dates().expect("it is aged");
        assert_eq!(volumes.iter().map(|of| of.date.day).collect::<Vec<_>>(), [6, 98, 188, 279]);
        for of in &volumes {
            let rt = Rt::virtual_time(1);
            let report = rt.block_on(ordo_fsck::check(&rt, thawed(&of.contents), Options::new(Mode::Check)));
            let report = report.expect("the disk is well");
            assert!(report.findings.is_empty() && report.clean, "{}: {report:#?}", of.date.name);
        }
        let [first, .., last] = &volumes[..] else { panic!("four dates") };
        let (new, old) = (&first.placement, &last.placement);
        assert!(last.aged.created > first.aged.created && share(old.score) < share(new.score), "{new:?} {old:?}");
        // Small files are less contiguous than large ones; what is free lies behind in the groups.
        assert!(share(old.two_blocks) < 0.6 && share(old.two_blocks) < share(old.thirty_two_blocks), "{old:?}");
        assert!(share(old.free_in_second_half()) > 0.6, "{old:?}");
        assert!((0.55..0.95).contains(&share(old.in_use())), "{old:?}");

        let again = small("white", 1).at_all_dates().expect("it is aged");
        assert!(volumes.iter().zip(&again).all(|(a, b)| (&a.placement, &a.aged) == (&b.placement, &b.aged)));
        let other = small("white", 2).at_all_dates().expect("it is aged");
        assert_ne!(other[3].placement, *old);
    }

    #[test]
    fn the_news_server_runs_out_of_blocks_with_fragments_free_and_recovers() {
        let volumes = small("cnews", 1).at_all_dates().expect("it is aged");
        let [before, january, april, _] = &volumes[..] else { panic!("four dates") };
        assert_eq!(before.aged.full, []);
        let full = &january.aged.full;
        assert!(full.iter().any(|of| (60..=98).contains(&of.day)), "{full:?}");
        let space = january.placement.data_frags * 1024;
        assert!(full.iter().all(|of| of.free * 50 > space), "fragments are free when there is no block: {full:?}");
        // What is free then is free in fragments first.
        let in_blocks = |of: &AgedVolume| of.placement.free_blocks * 8;
        assert!(january.placement.free_frags > in_blocks(january), "{:?}", january.placement);
        assert!(in_blocks(january) < in_blocks(april), "{:?}", april.placement);
        assert!(april.aged.full.iter().all(|of| of.day < 131), "it has recovered: {:?}", april.aged.full);
    }
}
