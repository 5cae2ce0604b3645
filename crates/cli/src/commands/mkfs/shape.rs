//! A new volume of the arguments.

use super::args::{Args, For, Form, Order, VolumeType};
use super::clock::Clock;
use crate::out::usage;
use ordo_ondisk::lfs::{NewfsOptions, Version};
use ordo_ondisk::superblock::newfs::{NewfsParams, Rotation, System};
use ordo_ondisk::{Endian, Format};
use ordofs::{Acls, NewLfs, NewVolume, Plan};

/// Revolutions per second, and sectors of a track, of the disks for which rotational placement was designed.
const REVOLUTIONS: u32 = 60;
const SECTORS_OF_A_TRACK: u32 = 32;

/// Bytes of a block of UFS.
const BLOCK: u32 = 32 << 10;

/// A volume that is about to be made.
pub(super) enum New {
    Ufs(NewVolume),
    Lfs(NewLfs),
}

impl New {
    /// Its shape; if it cannot have it, why.
    pub(super) fn plan(&self) -> Result<Plan, String> {
        let plan = match self {
            New::Ufs(new) => new.plan(),
            New::Lfs(new) => new.plan(),
        };
        plan.map_err(|error| error.to_string())
    }
}

impl Form {
    fn version(self) -> Version {
        match self {
            Form::One => Version::V1,
            Form::Two => Version::V2,
            Form::Wide => Version::Lfs64,
        }
    }
}

impl Args {
    /// Refuses what does not belong together.
    ///
    /// # Errors
    /// Wrong usage.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.system == Some(For::NetBsd) && self.log_size.is_some() {
            return Err(usage("a volume for NetBSD cannot record that it has a log; leave out --log-size"));
        }
        if let Some(label) = &self.label
            && let Some(odd) = label.chars().find(|&c| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        {
            return Err(usage(format!("--label {label:?}: {odd:?} is no letter, digit, - or _, and others refuse it")));
        }
        if self.acls() == Some(Acls::Posix) && (self.kind == VolumeType::Ufs1 || self.system == Some(For::NetBsd)) {
            return Err(usage("-o acls=posix: only a UFS2 volume of FreeBSD has access control lists; leave it out"));
        }
        let of_ufs = [
            ("--inode-density", self.inode_density.is_some()),
            ("--label", self.label.is_some()),
            ("-o acls=", self.acls().is_some()),
            ("--maxcontig", self.maxcontig.is_some()),
            ("--rotdelay", self.rotdelay.is_some()),
            ("--log-size", self.log_size.is_some()),
            ("--for freebsd", self.system == Some(For::FreeBsd)),
        ];
        let of_lfs = [
            ("--segment-size", self.segment_size.is_some()),
            ("--min-free-segments", self.min_free_segments.is_some()),
            ("--reserve-segments", self.reserve_segments.is_some()),
            ("--lfs-version", self.lfs_version.is_some()),
        ];
        let (unfit, kind) = match self.kind {
            VolumeType::Lfs => (&of_ufs[..], "lfs"),
            VolumeType::Ufs1 => (&of_lfs[..], "ufs1"),
            VolumeType::Ufs2 => (&of_lfs[..], "ufs2"),
        };
        match unfit.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(usage(format!("{option} does not go with --type {kind}; leave it out"))),
            None => Ok(()),
        }
    }

    /// The volume of `bytes` on a disk with such sectors.
    pub(super) fn new_volume(&self, bytes: u64, sector: u32, clock: Clock) -> New {
        match self.kind {
            VolumeType::Ufs1 => New::Ufs(NewVolume { params: self.params(Format::Ufs1, bytes, sector, clock) }),
            VolumeType::Ufs2 => New::Ufs(NewVolume { params: self.params(Format::Ufs2, bytes, sector, clock) }),
            VolumeType::Lfs => New::Lfs(NewLfs::new(bytes).with(|of| self.put(of, sector, clock))),
        }
    }

    /// The access control lists of its files, if that is said.
    fn acls(&self) -> Option<Acls> {
        self.options.last().copied()
    }

    /// Whether it is a log-structured volume.
    pub(super) fn is_lfs(&self) -> bool {
        self.kind == VolumeType::Lfs
    }

    fn byte_order(&self) -> Endian {
        match self.endian {
            Order::Little => Endian::Little,
            Order::Big => Endian::Big,
        }
    }

    fn put(&self, of: &mut NewfsOptions, sector: u32, clock: Clock) {
        of.version = self.lfs_version.map_or(of.version, Form::version);
        let block = self.block_size.or(of.block);
        let usual = of.fragment.map(|fragment| fragment.max(sector).min(block.unwrap_or(fragment)));
        (of.block, of.fragment) = (block, self.frag_size.or(usual));
        (of.segment, of.endian) = (self.segment_size, self.byte_order());
        (of.minfreeseg, of.resvseg) = (self.min_free_segments, self.reserve_segments);
        of.minfree = self.minfree.unwrap_or(of.minfree);
        (of.now, of.ident) = (clock.now.unsigned_abs(), clock.id());
    }

    fn params(&self, format: Format, volume_bytes: u64, sector: u32, clock: Clock) -> NewfsParams {
        let rotation = |rotdelay_ms| Rotation { rotdelay_ms, rps: REVOLUTIONS, nsect: SECTORS_OF_A_TRACK };
        let block = self.block_size.unwrap_or(BLOCK);
        let usual = NewfsParams::new(format, volume_bytes);
        NewfsParams {
            endian: self.byte_order(),
            sector,
            bsize: block,
            fsize: self.frag_size.unwrap_or_else(|| (block / 8).max(sector)),
            density: self.inode_density,
            minfree: self.minfree.unwrap_or(usual.minfree),
            maxcontig: self.maxcontig,
            label: self.label.clone().unwrap_or_default(),
            system: match self.system {
                Some(For::NetBsd) => System::NetBsd,
                _ => System::FreeBsd,
            },
            rotation: self.rotdelay.map(rotation),
            acls: self.acls() == Some(Acls::Posix),
            now: clock.now,
            id: clock.id(),
            ..usual
        }
    }
}
