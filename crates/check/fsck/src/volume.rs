//! State shared by the phases: the image, the superblock, and what is known of fragments and inodes so far.

use crate::bits::Bits;
use crate::report::Report;
use crate::{Error, Finding, Mode, Phase, Progress, Severity};
use ordo_ondisk::{ByteOff, Cgx, Dinode, FragNo, Geometry, Ino, Superblock};
use ordo_recover::{Image, Order, Pointer, Slot, Walk};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// The state of an inode, as determined by the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InodeState {
    #[default]
    Free,
    File,
    Dir,
    /// A directory without contents: its names are removed, then it is freed.
    EmptyDir,
    /// An inode that its system keeps without a name: NetBSD's log and quotas.
    Hidden,
}

/// What is known of an inode. Kept for every initialised inode, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) state: InodeState,
    /// `d_type` of its names.
    pub(crate) type_: u8,
    /// The link count on the disk.
    pub(crate) nlink: u16,
    /// The links that were found.
    pub(crate) links: u32,
}

/// What is known of a cylinder group.
#[derive(Default)]
pub(crate) struct Group {
    /// Inodes whose blocks are initialised; the others must not be read.
    pub(crate) inited: u32,
    /// The inodes up to the last one in use.
    pub(crate) inodes: Vec<Known>,
}

/// A directory.
#[derive(Clone, Debug)]
pub(crate) struct Dir {
    pub(crate) ino: u32,
    /// First fragment, to read ahead.
    pub(crate) first: FragNo,
    /// The directory that names it; 0 if none does.
    pub(crate) parent: u32,
    /// The number in its `..`.
    pub(crate) dotdot: u32,
    /// Byte of the volume where the entry that names it is.
    pub(crate) named_at: u64,
    /// It was cleared, or has no contents any more.
    pub(crate) gone: bool,
}

/// A contiguous part of a directory.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) at: ByteOff,
    pub(crate) len: u64,
    /// Byte of the directory.
    pub(crate) offset: u64,
}

/// What is known of `lost+found` in this round.
#[derive(Default)]
pub(crate) struct Lost {
    /// 0 until the directory was looked up.
    pub(crate) ino: u32,
    /// It does not exist and cannot be made.
    pub(crate) hopeless: bool,
    /// It was made in this round, which adds a link to the root.
    pub(crate) made: bool,
    pub(crate) extents: Vec<Extent>,
    /// The first extent, and the block in it, that may have room.
    pub(crate) next: (usize, u64),
    /// The names in use.
    pub(crate) names: FxHashSet<Vec<u8>>,
}

/// A pointer to contents that must get a place of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dup {
    pub(crate) ino: u32,
    pub(crate) pointer: Pointer,
    pub(crate) place: Place,
}

/// Whose the fragments are to which such a pointer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// They have another owner.
    Shared,
    /// They are its own, but lie across the border of two blocks.
    Own,
}

/// The volume under check. The modules describe the phases.
pub(crate) struct Volume {
    pub(crate) image: Image,
    pub(crate) sb: Superblock,
    pub(crate) geo: Geometry,
    /// The geometry for decoding without check hashes: a wrong one is found and repaired, not refused.
    pub(crate) lax: Geometry,
    pub(crate) mode: Mode,
    /// Seconds since 1970.
    pub(crate) now: i64,
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    /// Whether this round's findings go to the report.
    pub(crate) telling: bool,
    /// Names of free inodes on a volume of soft updates, until it is known whether the root reaches them.
    pub(crate) to_free: Vec<Finding>,
    /// Findings of this round.
    pub(crate) found: u64,
    /// Those of them that a preen leaves to the user.
    pub(crate) manual: u64,

    /// Fragments in use.
    pub(crate) used: Bits,
    pub(crate) groups: Vec<Group>,
    /// All directories, by inode number.
    pub(crate) dirs: Vec<Dir>,
    pub(crate) dups: Vec<Dup>,
    pub(crate) snapshots: Vec<u32>,
    /// Block at which the next search for free fragments starts.
    pub(crate) rotor: u64,
    /// The shortest run of fragments for which a search has failed.
    pub(crate) no_room_for: u32,
    pub(crate) lost: Lost,
    /// Inodes that the repair itself allocated, in this round or in an earlier one.
    pub(crate) born: BTreeSet<u32>,
    /// Inodes that have more links than on the disk.
    pub(crate) raised: BTreeSet<u32>,
    /// Blocks of which the repair has freed something, in this round or in an earlier one.
    pub(crate) freed_blocks: FxHashSet<u64>,
    /// Inodes that the repair has freed.
    pub(crate) freed_inodes: FxHashSet<u32>,
    /// The links of `.` and `..` are counted: from then on, code that makes a directory must count them itself.
    pub(crate) dots_counted: bool,
}

impl Volume {
    pub(crate) fn new(
        image: Image,
        sb: Superblock,
        mode: Mode,
        now: i64,
        report: Report,
        progress: Progress,
    ) -> Volume {
        let geo = sb.geometry();
        let mut lax = geo.clone();
        lax.inode_hash = false;
        let mut volume = Volume {
            image,
            sb,
            lax,
            mode,
            now,
            report,
            progress,
            telling: true,
            to_free: vec![],
            found: 0,
            manual: 0,
            used: Bits::new(0),
            groups: vec![],
            dirs: vec![],
            dups: vec![],
            snapshots: vec![],
            rotor: 0,
            no_room_for: u32::MAX,
            born: BTreeSet::new(),
            raised: BTreeSet::new(),
            freed_blocks: FxHashSet::default(),
            freed_inodes: FxHashSet::default(),
            lost: Lost::default(),
            dots_counted: false,
            geo,
        };
        volume.forget();
        volume
    }

    /// Clears what the phases learned, to run them again on the repaired image.
    pub(crate) fn forget(&mut self) {
        (self.found, self.manual) = (0, 0);
        self.used = Bits::new(self.geo.size);
        self.groups = (0..self.geo.ncg).map(|_| Group::default()).collect();
        (self.dirs, self.dups, self.snapshots) = (vec![], vec![], vec![]);
        (self.rotor, self.no_room_for, self.lost) = (0, u32::MAX, Lost::default());
        self.dots_counted = false;
        for c in (0..self.geo.ncg).map(Cgx) {
            let first = if c.0 == 0 { FragNo(0) } else { self.geo.cgsblock(c) };
            self.used.set(first.0, self.geo.cgdmin(c).0 - first.0);
        }
        self.used.set(self.geo.csaddr.0, self.geo.csfrags().into());
    }

    /// Records a finding of the default severity; its repair follows.
    pub(crate) fn find(&mut self, finding: Finding) {
        let severity = finding.severity();
        self.find_as(finding, severity);
    }

    /// Records a finding whose severity depends on the situation.
    pub(crate) fn find_as(&mut self, finding: Finding, severity: Severity) {
        self.found += 1;
        self.manual += u64::from(severity == Severity::Manual);
        if self.telling {
            self.report.note(finding, severity);
        }
    }

    /// Soft updates was on, and everything found so far is what it leaves: then a nameless file was being removed. A
    /// check that writes nothing assumes that too: if it made `lost+found` in memory, it would report an inode and
    /// fragments as in use but marked free, although nothing uses them.
    pub(crate) fn trusts_soft_updates(&self) -> bool {
        self.mode != Mode::Repair && self.sb.features().softdep && self.manual == 0
    }

    pub(crate) fn step(&mut self, phase: Phase, done: u64, total: u64) {
        if let Some(progress) = &mut self.progress {
            progress(phase, done, total);
        }
    }

    /// What is known of an inode; one beyond those of the volume is free.
    #[inline]
    pub(crate) fn known(&self, ino: u32) -> Known {
        let group = self.groups.get((ino / self.geo.ipg) as usize);
        group.and_then(|group| group.inodes.get((ino % self.geo.ipg) as usize)).copied().unwrap_or_default()
    }

    /// The same, mutable; `None` beyond the inodes in use.
    pub(crate) fn known_mut(&mut self, ino: u32) -> Option<&mut Known> {
        let group = self.groups.get_mut((ino / self.geo.ipg) as usize)?;
        group.inodes.get_mut((ino % self.geo.ipg) as usize)
    }

    /// Counts links; `by` may be negative.
    pub(crate) fn count_link(&mut self, ino: u32, by: i32) {
        if let Some(known) = self.known_mut(ino) {
            known.links = known.links.saturating_add_signed(by);
        }
    }

    pub(crate) fn dir(&self, ino: u32) -> Option<&Dir> {
        self.dirs.get(self.dir_index(ino)?)
    }

    pub(crate) fn dir_mut(&mut self, ino: u32) -> Option<&mut Dir> {
        let index = self.dir_index(ino)?;
        self.dirs.get_mut(index)
    }

    pub(crate) fn dir_index(&self, ino: u32) -> Option<usize> {
        let index = self.dirs.binary_search_by_key(&ino, |dir| dir.ino).ok()?;
        self.dirs.get(index).is_some_and(|dir| !dir.gone).then_some(index)
    }

    /// Marks that this is no longer a directory. Its slot in the table stays: closing the gap each time would take too
    /// long.
    pub(crate) fn forget_dir(&mut self, ino: u32) {
        if let Some(dir) = self.dir_mut(ino) {
            dir.gone = true;
        }
    }

    /// The directory in a slot of the table, if it still is one.
    pub(crate) fn dir_at(&self, index: usize) -> Option<Dir> {
        self.dirs.get(index).filter(|dir| !dir.gone).cloned()
    }

    /// Reads an inode, whatever its check hash.
    pub(crate) async fn dinode(&mut self, ino: u32) -> Result<Dinode, Error> {
        let (line, within) = self.image.line(Dinode::place(&self.geo, Ino(ino))).await?;
        Ok(Dinode::decode(line.get(within..).unwrap_or_default(), &self.lax, Ino(ino))?)
    }

    /// Inodes as they must be on the disk before an additional name leads to them: those that the repair allocated, and
    /// those that gain a link, without other changes.
    pub(crate) async fn before_names(&mut self) -> Result<Vec<(ByteOff, Vec<u8>)>, Error> {
        let mut images = vec![];
        for ino in self.born.union(&self.raised).copied().collect::<Vec<_>>() {
            let (at, new) = (Dinode::place(&self.geo, Ino(ino)), self.dinode(ino).await?);
            if new.mode == 0 {
                continue;
            }
            let mut bytes = vec![0; self.geo.dinode_size as usize];
            let dinode = if self.born.contains(&ino) {
                self.image.read(at, &mut bytes).await?;
                new
            } else {
                self.image.read_stored(at, &mut bytes).await?;
                Dinode { nlink: new.nlink, ..Dinode::decode(&bytes, &self.lax, Ino(ino))? }
            };
            let done = dinode.encode(&mut bytes, &self.geo);
            debug_assert!(done.is_some(), "an inode fits in its bytes");
            images.push((at, bytes));
        }
        Ok(images)
    }

    /// Writes an inode with its check hash.
    pub(crate) async fn put_dinode(&mut self, ino: u32, dinode: &Dinode) -> Result<(), Error> {
        let at = Dinode::place(&self.geo, Ino(ino));
        let mut bytes = [0; 256];
        let bytes = bytes.get_mut(..self.geo.dinode_size as usize).unwrap_or_default();
        self.image.read(at, bytes).await?;
        let done = dinode.encode(bytes, &self.geo);
        debug_assert!(done.is_some(), "an inode fits in its bytes");
        self.image.write(at, bytes, Order::Inodes).await
    }

    /// Frees an inode, and everything that it owns.
    pub(crate) async fn clear_inode(&mut self, ino: u32) -> Result<(), Error> {
        let dinode = self.dinode(ino).await?;
        self.release(&dinode).await?;
        self.freed_inodes.insert(ino);
        // The generation stays, otherwise a stale NFS handle would match the next file with this number.
        self.put_dinode(ino, &Dinode { gen_: dinode.gen_, ..Dinode::default() }).await?;
        if let Some(known) = self.known_mut(ino) {
            *known = Known::default();
        }
        self.forget_dir(ino);
        Ok(())
    }

    /// Sets a pointer. One in the inode is changed in `dinode` only; the caller writes that.
    pub(crate) async fn set_pointer(&mut self, dinode: &mut Dinode, slot: Slot, to: FragNo) -> Result<(), Error> {
        let root = match slot {
            Slot::Direct(index) => dinode.db.get_mut(index),
            Slot::Indirect(index) => dinode.ib.get_mut(index),
            Slot::Ext(index) => dinode.extb.get_mut(index),
            Slot::Block(at) => {
                let mut bytes = [0; 8];
                let bytes = bytes.get_mut(..self.geo.pointer_size()).unwrap_or_default();
                let done = self.geo.put_pointer(bytes, 0, to);
                debug_assert!(done.is_some(), "a pointer fits in its bytes");
                return self.image.write(at, bytes, Order::Contents).await;
            }
        };
        if let Some(root) = root {
            *root = to;
        }
        Ok(())
    }

    /// Marks everything that an inode owns as free.
    pub(crate) async fn release(&mut self, dinode: &Dinode) -> Result<(), Error> {
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            self.free_frags(pointer.frag, pointer.count);
        }
        Ok(())
    }

    /// Byte of the volume at which a fragment begins.
    pub(crate) fn byte(&self, frag: FragNo) -> ByteOff {
        self.geo.byte(frag)
    }
}
