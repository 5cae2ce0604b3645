//! A new volume of the arguments.

use super::args::{Args, For, Form, Order, VolumeType};
use super::clock::Clock;
use crate::out::usage;
use ordo_ondisk::lfs::newfs::initial;
use ordo_ondisk::lfs::{NewfsOptions, Version};
use ordo_ondisk::superblock::SBLOCKSIZE;
use ordo_ondisk::superblock::newfs::{NewfsParams, Rotation, System};
use ordo_ondisk::{Cgx, Endian, Format};
use ordofs::disk::{Disk, Existing};
use ordofs::rt::Rt;
use ordofs::{Acls, NewLfs, NewVolume, OpenError};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

/// Revolutions per second, and sectors of a track, of the disks for which rotational placement was designed.
const REVOLUTIONS: u32 = 60;
const SECTORS_OF_A_TRACK: u32 = 32;

/// Bytes of a block of UFS.
const BLOCK: u32 = 32 << 10;

/// The bytes of a superblock by which it is known as one.
const KNOWN_BY: Range<u64> = 1372..1376;

/// A volume that is about to be made.
pub(super) enum New {
    Ufs(NewVolume),
    Log(NewLfs),
}

impl New {
    /// Whether it can have this shape; if not, why.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            New::Ufs(new) => new.params.superblock().map(drop).map_err(|error| error.to_string()),
            New::Log(new) => new.options.superblock().map(drop).map_err(|error| error.to_string()),
        }
    }

    /// Makes it in a file.
    pub(super) fn create(&self, clock: Clock, path: &Path, existing: Existing) -> Result<(), OpenError> {
        let rt = clock.rt_of_empty();
        let (disk, zeroed) = match ordofs::disk::new_file(&rt, path, self.bytes(), existing) {
            Err(ordofs::disk::OpenError::Exists { path }) => {
                // With the name of what it holds.
                ordofs::refuse_existing(&path)?;
                return Err(ordofs::disk::OpenError::Exists { path }.into());
            }
            made => made?,
        };
        self.create_on(&rt, Rc::new(disk), zeroed)
    }

    /// Where its superblocks lie, which lead to all the rest; of the copies in the groups, what they are known by. The
    /// first one is the last: what has it is complete.
    pub(super) fn superblocks(&self) -> Vec<Range<u64>> {
        match self {
            New::Ufs(new) => {
                let Ok(sb) = new.params.superblock() else { return Vec::new() };
                let g = sb.geometry();
                let copies = (0..g.ncg).map(|c| g.byte(g.cgsblock(Cgx(c))).0);
                let copies = copies.map(|at| at + KNOWN_BY.start..at + KNOWN_BY.end);
                copies.chain(std::iter::once(sb.at.0..sb.at.0 + SBLOCKSIZE as u64)).collect()
            }
            New::Log(new) => {
                let found = initial(&new.options).map(|new| new.superblocks).unwrap_or_default();
                found.iter().map(|(at, bytes)| at.0..at.0 + bytes.len() as u64).collect()
            }
        }
    }

    /// Bytes of the device that it is made for.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            New::Ufs(new) => new.params.volume_bytes,
            New::Log(new) => new.options.device_bytes,
        }
    }

    /// Makes it on a disk. `zeroed`: every byte of it is zero.
    pub(super) fn create_on(&self, rt: &Rt, disk: Rc<dyn Disk>, zeroed: bool) -> Result<(), OpenError> {
        match self {
            New::Ufs(new) => new.create_on(rt, disk, zeroed),
            New::Log(new) => new.create_on(rt, disk),
        }
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
            VolumeType::Lfs => New::Log(NewLfs::new(bytes).with(|of| self.put(of, sector, clock))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::superblock::{Magic, Superblock};

    #[test]
    fn a_superblock_is_known_by_a_few_bytes_alone() {
        let mut sb: Superblock = NewfsParams::new(Format::Ufs2, 64 << 20).superblock().unwrap();
        let mut bytes = sb.encode(1);
        assert!(Magic::of(&bytes).is_some());
        bytes[KNOWN_BY.start as usize..KNOWN_BY.end as usize].fill(0);
        assert!(Magic::of(&bytes).is_none());
    }
}
