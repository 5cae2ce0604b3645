//! A machine on which workloads run: drive, CPU, memory, and how its system used them.

use std::time::Duration;

use ordo_drive::{Profile, ProfileError};
use ordofs::ondisk::superblock::newfs::{NewfsParams, Rotation};
use ordofs::ondisk::{Endian, Format};
use ordofs::{NewLfs, NewVolume, Policy};

use crate::cpu::Costs;
use crate::policies;

/// A modelled machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The drive, by its name among the built-in profiles.
    pub drive: String,
    /// Requests that the drive accepts at a time; with more than one it chooses among them itself (tagged queueing).
    pub tags: u32,
    /// The CPU time of each kind of work.
    pub costs: Costs,
    /// Memory for its cache, in bytes.
    pub memory: usize,
    /// How its system uses memory and disk.
    pub policy: Policy,
    /// Size of its volume in bytes, if the drive is that large; `None`: all of the drive.
    pub volume: Option<u64>,
    /// The parameters of its volume.
    pub shape: Shape,
    /// A new block of contents that must be initialised is first written with zeroes, then with the contents.
    pub zeroes_first: bool,
    /// Bytes that one read or write moves at once. One of more moves so many, and then the next: the disk works
    /// meanwhile.
    pub piece: u32,
    /// The drive and the cache keep the contents of files, which only takes the memory and the time of the machine that
    /// computes: no result of a run depends on them (disk-sim-4).
    pub keeps_contents: bool,
}

/// The parameters of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// UFS1 or UFS2.
    pub format: Format,
    /// Bytes of a block.
    pub block: u32,
    /// Bytes of a fragment.
    pub frag: u32,
    /// Bytes per inode; `None` for the format's default.
    pub density: Option<u32>,
    /// Contiguous blocks before a gap; `None` for clusters as large as a transfer.
    pub maxcontig: Option<u32>,
    /// The gap, for drives that could not process the next sector in time (UFS1).
    pub rotation: Option<Rotation>,
    /// Fragments of a cylinder group; `None` for as many as its block can map.
    pub group: Option<u32>,
    /// Bytes of a segment of a log-structured volume, whose inode blocks are then whole blocks, as 4.4BSD has them;
    /// `None` for NetBSD's defaults.
    pub segment: Option<u32>,
}

impl Machine {
    /// A machine of today with the drive `drive`: its CPU costs are almost zero, and everything else is the default,
    /// except the syncer, which is that of the papers. It sends the drive as many requests at a time as that accepts.
    pub fn today(drive: &str) -> Machine {
        let micro = Duration::from_micros;
        let costs = Costs {
            call: micro(1),
            create: micro(2),
            remove: micro(2),
            free_block: Duration::ZERO,
            kib: Duration::from_nanos(100),
            request: micro(5),
            block_copy: micro(1),
            chain: micro(1),
            search_kib: Duration::ZERO,
            init_kib: Duration::ZERO,
            log_record: Duration::ZERO,
            log_call: Duration::ZERO,
            segment_kib: Duration::ZERO,
        };
        let shape = Shape {
            format: Format::Ufs2,
            block: 32768,
            frag: 4096,
            density: None,
            maxcontig: None,
            rotation: None,
            group: None,
            segment: None,
        };
        Machine {
            drive: drive.to_owned(),
            tags: Profile::named(drive).map_or(1, |profile| profile.tags()),
            costs,
            memory: 256 << 20,
            policy: policies::today(),
            volume: None,
            shape,
            zeroes_first: false,
            piece: u32::MAX,
            keeps_contents: false,
        }
    }

    /// The machine of Ganger and Patt (OSDI 1994, section 2): an NCR 3433 with a 33 MHz 80486, 44 MB, an HP C2447 and
    /// UNIX SVR4 MP. What the paper states is used as stated; the rest, and the costs, are derived in
    /// `docs/papers/mup1994.md`.
    pub fn of_1994() -> Machine {
        let micro = Duration::from_micros;
        let costs = Costs {
            call: micro(250),
            create: micro(3500),
            remove: micro(2140),
            free_block: micro(125),
            kib: micro(350),
            request: micro(1100),
            block_copy: micro(210),
            chain: micro(250),
            search_kib: micro(30),
            init_kib: micro(180),
            log_record: Duration::ZERO,
            log_call: Duration::ZERO,
            segment_kib: Duration::ZERO,
        };
        let rotation = Some(Rotation { rotdelay_ms: 4, rps: 90, nsect: 64 });
        let shape = Shape {
            format: Format::Ufs1,
            block: 4096,
            frag: 1024,
            density: Some(4096),
            maxcontig: Some(1),
            rotation,
            group: None,
            segment: None,
        };
        Machine {
            drive: "hp_c2447".to_owned(),
            tags: 1,
            costs,
            memory: 36 << 20,
            policy: policies::OF_1994,
            volume: Some(720 << 20),
            shape,
            zeroes_first: true,
            piece: u32::MAX,
            keeps_contents: false,
        }
    }

    /// The machine of Seltzer and others (USENIX 2000, section 7): a 500 MHz Pentium III with 512 MB, a Seagate Cheetah
    /// of 9 GB and FreeBSD of January 2000. What the paper states is used as stated; the rest, and the costs, are
    /// derived in `docs/papers/jsu2000.md`.
    pub fn of_2000() -> Machine {
        let micro = Duration::from_micros;
        let costs = Costs {
            call: micro(5),
            create: micro(35),
            remove: micro(25),
            free_block: micro(3),
            kib: micro(5),
            request: micro(60),
            block_copy: micro(30),
            chain: micro(10),
            search_kib: micro(1),
            init_kib: micro(1),
            log_record: micro(8),
            log_call: micro(22),
            segment_kib: Duration::ZERO,
        };
        let shape = Shape {
            format: Format::Ufs1,
            block: 8192,
            frag: 1024,
            density: None,
            maxcontig: Some(8),
            rotation: None,
            group: None,
            segment: None,
        };
        Machine {
            drive: "seagate_cheetah_9gb_2000".to_owned(),
            tags: 64,
            costs,
            memory: 400 << 20,
            policy: policies::OF_2000,
            volume: Some(8555 << 20),
            shape,
            zeroes_first: false,
            piece: u32::MAX,
            keeps_contents: false,
        }
    }

    /// The machine of Seltzer, Smith and others (USENIX 1995, Table 1): a SPARCstation 2 with a DSP 3105 and 4.4BSD,
    /// its volume made for clusters of 64 KB without gaps. What the paper states is used as stated; the rest, and the
    /// costs, are derived in `docs/papers/lvc1995.md`.
    pub fn of_1995() -> Machine {
        let micro = Duration::from_micros;
        let costs = Costs {
            call: micro(120),
            create: micro(1200),
            remove: micro(900),
            free_block: micro(20),
            kib: micro(225),
            request: micro(100),
            block_copy: Duration::ZERO,
            chain: Duration::ZERO,
            search_kib: micro(30),
            init_kib: Duration::ZERO,
            log_record: Duration::ZERO,
            log_call: Duration::ZERO,
            segment_kib: micro(225),
        };
        let shape = Shape {
            format: Format::Ufs1,
            block: 8192,
            frag: 1024,
            density: Some(4096),
            maxcontig: Some(8),
            rotation: None,
            // 16 cylinders of 14 tracks of 57 sectors.
            group: Some(6384),
            segment: Some(1 << 20),
        };
        Machine {
            drive: "dec_dsp3105".to_owned(),
            tags: 1,
            costs,
            memory: 4 << 20,
            policy: policies::OF_1995,
            volume: Some(1000 << 20),
            shape,
            zeroes_first: false,
            piece: 64 << 10,
            keeps_contents: false,
        }
    }

    /// The same with a log-structured system of its time, in what such a system does otherwise.
    pub fn over_a_log(mut self) -> Machine {
        if let Some(over_a_log) = policies::over_a_log(self.policy) {
            self.policy = over_a_log;
            self.memory = self.memory_for_bufs();
        }
        self
    }

    /// Bytes that its bufs take where it counts them, each as large as a block, with the inodes beside them. Its memory
    /// where it does not.
    pub(crate) fn memory_for_bufs(&self) -> usize {
        /// Those of some 700 files.
        const DINODES: usize = 256 << 10;
        let bufs = self.policy.counts.map(|counts| counts.most.saturating_mul(self.shape.block as usize));
        bufs.map_or(self.memory, |bufs| bufs.saturating_add(DINODES))
    }

    /// Its drive.
    ///
    /// # Errors
    /// `Unknown`.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        Profile::named(&self.drive)
    }

    /// Bytes of its volume on a disk of so many, or of another for which `asked` is given.
    pub(crate) fn volume_size(&self, asked: Option<u64>, disk: u64) -> u64 {
        asked.or(self.volume).unwrap_or(u64::MAX).min(disk)
    }

    /// A log-structured volume of `size` bytes on it, with the blocks of its UFS volumes.
    pub(crate) fn make_lfs(&self, size: u64) -> NewLfs {
        let Shape { block, frag, segment, .. } = self.shape;
        NewLfs::new(size).with(|of| {
            (of.segment, of.ibsize) = (segment, segment.map(|_| block));
            // Larger fragments than a superblock are not possible there.
            (of.block, of.fragment) = (Some(block), Some(frag.min(8192)));
            (of.now, of.ident) = (946_684_800, 1);
        })
    }

    /// A volume of `size` bytes on it.
    pub(crate) fn make(&self, size: u64) -> NewVolume {
        let Shape { format, block, frag, density, maxcontig, rotation, group, .. } = self.shape;
        let params = NewfsParams::new(format, size);
        NewVolume {
            params: NewfsParams {
                bsize: block,
                fsize: frag,
                density,
                maxcontig,
                rotation,
                max_fpg: group,
                endian: Endian::Little,
                // Volumes are identical each time they are made.
                now: 946_684_800,
                id: 1,
                ..params
            },
        }
    }
}
