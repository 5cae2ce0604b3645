//! Changes to an unmounted volume: label, reserve, soft updates and their journal, its scheme, check hashes, access
//! control lists.
//!
//! T1. Only a clean volume is changed, and it is clean again afterwards. All is checked before anything is written.
//! T2. The superblock says that there is a journal only while its file is complete: the flag is set after the file was
//!     made, and cleared before it is removed. A crash between leaves an unused file, which the next change removes.
//! T3. Files are made and removed by the file system itself, in the order of the scheme `sync`.
//! T4. The superblock says that there are check hashes only while all of them are right (`hashes`).
//! T5. A volume has a chosen scheme only while the log of that scheme is there: the choice goes before a log is
//!     removed, and comes when one is complete. A crash between would leave a volume that no mount opens by itself.

mod error;
mod hashes;
mod journal;
mod mmp;
mod superblock;

pub use error::TuneError;
pub(crate) use journal::is_active;
pub use mmp::MmpChange;

use crate::claim;
use crate::locate::located_direct;
use crate::schemes::{self, Settings};
use crate::{Found, ImageSpec, Located, Notices, default_scheme, locate_on};
use ordo_buf::LogKind;
use ordo_disk::{Disk, FileOptions};
use ordo_ondisk::superblock::Keeper;
use ordo_ondisk::superblock::fields::{SbFields, flag};
use ordo_ondisk::superblock::search::Copy;
use ordo_ondisk::{Dialect, Format, Superblock};
use ordo_rt::{OwnRt, Rt};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use superblock::{Map, change_superblock};

/// A change of the journal of soft updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalChange {
    /// Remove it.
    Off,
    /// Make one of this many bytes; `None` for a size that fits the volume.
    On(Option<u64>),
}

/// What to change; `None` leaves a property unchanged.
///
/// ```
/// use ordofs::disk::RamDisk;
/// use ordofs::rt::Rt;
/// use ordofs::{NewVolume, Tuning};
/// use std::rc::Rc;
///
/// let (rt, disk) = (Rt::virtual_time(1), Rc::new(RamDisk::new(16 << 20)));
/// NewVolume::new(16 << 20).create_on(&rt, disk.clone(), true)?;
/// let changes = Tuning { label: Some("home".into()), ..Tuning::default() }.apply_on(&rt, disk)?;
/// assert_eq!((changes[0].what, changes[0].is.as_str()), ("label", "home"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Whether the superblock says that soft updates order the metadata.
    pub softupdates: Option<bool>,
    /// The journal of soft updates.
    pub journal: Option<JournalChange>,
    /// The transaction log file that `journal-file`, `wafs` and `block-journal` keep.
    pub log: Option<JournalChange>,
    /// The active journal, for the scheme `active`.
    pub active: Option<JournalChange>,
    /// The scheme with which the volume is mounted if the mount names none; an empty one: as its flags say. An active
    /// journal that is made chooses `active` by itself, and one that is removed takes that back.
    pub scheme: Option<String>,
    /// The name of the volume: at most 31 bytes, without NUL.
    pub label: Option<String>,
    /// Percent of the data space kept for the privileged: 0 to 99.
    pub minfree: Option<u32>,
    /// The check hashes of FreeBSD's UFS2. Without them NetBSD can also write to the volume.
    pub check_hashes: Option<bool>,
    /// Which access control lists apply.
    pub acls: Option<Acls>,
    /// The record of the one writer.
    pub mmp: Option<MmpChange>,
    /// The volume's id, by which FreeBSD names it in `/dev/ufsid`.
    pub id: Option<VolumeId>,
}

/// A new id of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeId {
    /// The time in the first half, chance in the second, as newfs makes it.
    Random,
    /// These two halves.
    Is([u32; 2]),
}

/// The access control lists of a volume's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acls {
    /// None apply; those that are stored stay.
    Off,
    /// POSIX.1e's.
    Posix,
    /// NFSv4's, which FreeBSD obeys. This program then only reads the volume.
    Nfs4,
}

/// A requested change, with the old and the new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuned {
    /// `softupdates`, `journal`, `log`, `active`, `scheme`, `label`, `minfree`, `check-hashes`, `acls`, `id` or `mmp`.
    pub what: &'static str,
    /// The old value.
    pub was: String,
    /// The new value.
    pub is: String,
}

impl Tuning {
    /// Changes the volume in an image. Returns the requested changes, with old and new values.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn apply(&self, spec: &ImageSpec) -> Result<Vec<Tuned>, TuneError> {
        self.apply_telling(spec, &Notices::default())
    }

    /// The same, and tells why it waits, if it has to.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn apply_telling(&self, spec: &ImageSpec, notices: &Notices) -> Result<Vec<Tuned>, TuneError> {
        let rt = OwnRt::real_time();
        self.apply_located(&rt, located_direct(&rt, spec, &FileOptions::default(), false)?, notices)
    }

    /// The same for the volume on a disk.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn apply_on(&self, rt: &Rt, disk: Rc<dyn Disk>) -> Result<Vec<Tuned>, TuneError> {
        self.apply_located(rt, locate_on(rt, disk)?, &Notices::default())
    }

    /// Claims the volume, if its record is on, and gives it back.
    fn apply_located(&self, rt: &Rt, located: Located, notices: &Notices) -> Result<Vec<Tuned>, TuneError> {
        let was = mmp::check(rt, self.mmp, &located)?;
        let anew = self.mmp.is_some();
        let mut located = rt.block_on(claim::claimed_anew(rt, located, "ordo tune", notices, anew))?;
        let (claim, disk, place) = (located.claim.take(), located.disk.clone(), claim::place_of(&located.found));
        let changed = match &located.found {
            Found::Lfs(found) if *self == (Tuning { mmp: self.mmp, ..Tuning::default() }) => {
                if found.superblock.is_clean() { Ok(Vec::new()) } else { Err(TuneError::Dirty) }
            }
            _ => self.change(rt, located),
        };
        match (changed, self.mmp) {
            (Ok(mut changed), Some(change)) => {
                let is = mmp::changed(rt, change, claim, &disk, place)?;
                changed.push(Tuned { what: "mmp", was, is });
                Ok(changed)
            }
            (changed, _) => {
                rt.block_on(claim::given_back(claim.as_ref()));
                changed
            }
        }
    }

    fn change(&self, rt: &Rt, located: Located) -> Result<Vec<Tuned>, TuneError> {
        let found = located.found.into_ufs()?;
        if found.copy != Copy::Primary {
            return Err(TuneError::Backup);
        }
        let before = found.superblock;
        if !before.is_clean() || before.features().unclean {
            return Err(TuneError::Dirty);
        }
        // A volume whose only obstacle is its NFSv4 lists can be taken back from them.
        let mut gate = before.clone();
        if self.acls.is_some() {
            gate.fields.flags &= !flag::NFS4ACLS;
        }
        gate.write_gate()?;
        let journal = self.check(&before)?;
        let disk = located.disk;
        let scheme = self.scheme_after(rt, &disk, &before)?;
        self.scrub_first(rt, &disk, &before)?;
        let kinds = [LogKind::Intents, LogKind::Redo, LogKind::Active];
        if scheme != before.chosen_scheme() && kinds.into_iter().any(|kind| self.ends(kind)) {
            // T5.
            change_superblock(rt, &disk, Map::Stays, |sb| sb.choose_scheme(None))?;
        }
        if let Some(change) = journal {
            // T2: the flag is cleared first, and set again when the file is complete.
            change_superblock(rt, &disk, Map::Stays, |sb| sb.fields.flags &= !flag::SUJ)?;
            journal::change(rt, &disk, &journal::INTENTS, change)?;
        }
        let had_log = journal::is_there(rt, &disk, &before)?;
        match self.log {
            // An existing log stays if no size was requested.
            Some(JournalChange::On(None)) if had_log => {}
            Some(JournalChange::On(size)) => {
                journal::change(rt, &disk, &journal::REDO, Some(journal::log_size(&before, size)?))?;
            }
            Some(JournalChange::Off) => journal::change(rt, &disk, &journal::REDO, None)?,
            None => {}
        }
        let was_active = self.change_active(rt, &disk, &before)?;
        let id = self.id.map(|id| chosen(rt, id));
        change_superblock(rt, &disk, Map::Stays, |sb| {
            self.put(&mut sb.fields);
            sb.fields.id = id.unwrap_or(sb.fields.id);
            if scheme != sb.chosen_scheme() {
                sb.choose_scheme(scheme.as_deref());
            }
        })?;
        if let Some(on) = self.check_hashes {
            hashes::switch(rt, &disk, on)?;
        }
        let after = locate_on(rt, disk.clone())?.found.into_ufs()?.superblock;
        let mut told = self.told(&before, &after);
        if self.log.is_some() {
            let on = |on: bool| if on { "on" } else { "off" }.to_owned();
            let is = journal::is_there(rt, &disk, &after)?;
            told.push(Tuned { what: "log", was: on(had_log), is: on(is) });
        }
        if let Some(was) = was_active {
            let on = |on: bool| if on { "on" } else { "off" }.to_owned();
            told.push(Tuned { what: "active", was: on(was), is: on(journal::is_active(rt, &disk, &after)?) });
        }
        Ok(told)
    }

    /// Makes or removes the active journal; returns whether there was one, if it is to be changed.
    fn change_active(&self, rt: &Rt, disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<Option<bool>, TuneError> {
        let Some(change) = self.active else { return Ok(None) };
        // A damaged one can be made anew.
        let had = journal::is_active(rt, disk, sb).unwrap_or(false);
        match change {
            JournalChange::On(None) if had => {}
            JournalChange::On(asked) => {
                let (size, section) = journal::active_size(sb, asked)?;
                journal::change_spread(rt, disk, &journal::ACTIVE, Some(size), Some(section))?;
                journal::is_active(rt, disk, &locate_on(rt, disk.clone())?.found.into_ufs()?.superblock)?;
            }
            JournalChange::Off => journal::change(rt, disk, &journal::ACTIVE, None)?,
        }
        Ok(Some(had))
    }

    /// What only a copy has right would be lost with the active journal: it goes home before that is removed, or made
    /// anew.
    fn scrub_first(&self, rt: &Rt, disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<(), TuneError> {
        let stays = matches!(self.active, None | Some(JournalChange::On(None)));
        if stays || !sb.has_live_map() || !journal::is_active(rt, disk, sb).unwrap_or(false) {
            return Ok(());
        }
        match crate::active::scrub(rt, &locate_on(rt, disk.clone())?)?.rotten {
            0 => Ok(()),
            rotten => Err(TuneError::Rotten(rotten)),
        }
    }

    /// The change of this kind of log.
    fn of_log(&self, kind: LogKind) -> Option<JournalChange> {
        match kind {
            LogKind::Intents => self.journal,
            LogKind::Redo => self.log,
            LogKind::Active => self.active,
        }
    }

    /// Whether it is removed.
    fn ends(&self, kind: LogKind) -> bool {
        self.of_log(kind) == Some(JournalChange::Off)
    }

    /// The chosen scheme after the change: one that is asked for has its log then, and one whose log is removed is
    /// chosen no more.
    fn scheme_after(&self, rt: &Rt, disk: &Rc<dyn Disk>, before: &Superblock) -> Result<Option<String>, TuneError> {
        let name = match self.scheme.as_deref() {
            Some("") => return Ok(None),
            Some(name) => name,
            None if matches!(self.active, Some(JournalChange::On(_))) => return Ok(Some(Keeper::ACTIVE.into())),
            None => {
                let ends = |name: &String| schemes::by_name(name).and_then(log_of).is_some_and(|kind| self.ends(kind));
                return Ok(before.chosen_scheme().filter(|name| !ends(name)));
            }
        };
        if let Some((known, kind)) = schemes::by_name(name).and_then(|known| Some((known, log_of(known)?))) {
            let had = match kind {
                LogKind::Intents => before.features().suj,
                LogKind::Redo => journal::is_there(rt, disk, before)?,
                LogKind::Active => journal::is_active(rt, disk, before).unwrap_or(false),
            };
            if self.ends(kind) || !had && self.of_log(kind).is_none() {
                return Err(TuneError::NoLogFor(known.name));
            }
        }
        Ok(Some(name.to_owned()))
    }

    /// The changes that a scheme with such a log needs on a new volume.
    pub fn for_log(kind: LogKind) -> Tuning {
        match kind {
            LogKind::Intents => Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() },
            LogKind::Redo => Tuning { log: Some(JournalChange::On(None)), ..Tuning::default() },
            LogKind::Active => Tuning { active: Some(JournalChange::On(None)), ..Tuning::default() },
        }
    }

    /// Whether a new volume, which will have this superblock, can be changed so: it is empty.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn check_new(&self, sb: &Superblock) -> Result<(), TuneError> {
        let mut sb = sb.clone();
        // But for the root and `.snap`.
        sb.fields.cs_nbfree = sb.fields.dsize / i64::from(sb.fields.frag.max(1)) - 2;
        self.check(&sb).map(drop)
    }

    /// Checks that all changes are possible (T1); returns the size of the journal if one is to be made.
    fn check(&self, sb: &Superblock) -> Result<Option<Option<u64>>, TuneError> {
        let of_freebsd = |what, asked: bool| match sb.dialect {
            dialect if asked && dialect != Dialect::FreeBsd => Err(TuneError::Dialect { what, dialect }),
            _ => Ok(()),
        };
        of_freebsd("soft updates", self.softupdates == Some(true))?;
        of_freebsd("the journal of soft updates", matches!(self.journal, Some(JournalChange::On(_))))?;
        of_freebsd("the superblock's place for what a log needs", matches!(self.log, Some(JournalChange::On(_))))?;
        of_freebsd("check hashes", self.check_hashes == Some(true))?;
        of_freebsd("a flag of access control lists", self.acls.is_some())?;
        if sb.format == Format::Ufs1 && self.acls.is_some_and(|acls| acls != Acls::Off) {
            return Err(TuneError::AclsOfUfs1);
        }
        if self.check_hashes == Some(true) && sb.format == Format::Ufs1 {
            return Err(TuneError::HashesOfUfs1);
        }
        of_freebsd(
            "the superblock's place for what an active journal needs",
            matches!(self.active, Some(JournalChange::On(_))),
        )?;
        if let Some(JournalChange::On(size)) = self.active {
            journal::active_size(sb, size)?;
        }
        if let Some(JournalChange::On(size)) = self.log {
            journal::log_size(sb, size)?;
        }
        if let Some(name) = self.scheme.as_deref().filter(|name| !name.is_empty()) {
            if schemes::by_name(name).is_none() {
                return Err(TuneError::NoScheme(name.into()));
            }
            if !sb.can_choose_scheme() {
                return Err(TuneError::NoPlaceForScheme);
            }
        }
        if let Some(label) = self.label.as_ref().filter(|label| label.len() > 31 || label.contains('\0')) {
            return Err(TuneError::Label(label.len()));
        }
        if let Some(percent) = self.minfree.filter(|percent| *percent > 99) {
            return Err(TuneError::Minfree(percent));
        }
        let has = sb.features().suj;
        let stays = if self.journal.is_none() { has } else { self.journal != Some(JournalChange::Off) };
        if self.softupdates == Some(false) && stays {
            return Err(TuneError::JournalNeedsSoftUpdates);
        }
        match self.journal {
            Some(JournalChange::On(size)) if !has || size.is_some() => {
                journal::size(sb, size).map(|size| Some(Some(size)))
            }
            Some(JournalChange::Off) => Ok(Some(None)),
            _ => Ok(None),
        }
    }

    /// Stores the requested values in the superblock.
    fn put(&self, f: &mut SbFields) {
        let mut flag = |bit: u32, on: Option<bool>| match on {
            Some(true) => f.flags |= bit,
            Some(false) => f.flags &= !bit,
            None => {}
        };
        flag(flag::DOSOFTDEP, self.softupdates);
        flag(flag::ACLS, self.acls.map(|acls| acls == Acls::Posix));
        flag(flag::NFS4ACLS, self.acls.map(|acls| acls == Acls::Nfs4));
        if let Some(JournalChange::On(_)) = self.journal {
            flag(flag::DOSOFTDEP | flag::SUJ, Some(true));
        }
        if let Some(label) = &self.label {
            f.volname = [0; 32];
            f.volname.iter_mut().zip(label.bytes()).for_each(|(to, from)| *to = from);
        }
        if let Some(percent) = self.minfree {
            f.minfree = i32::try_from(percent).unwrap_or(f.minfree);
        }
    }

    fn told(&self, before: &Superblock, after: &Superblock) -> Vec<Tuned> {
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        let one = |what, asked: bool, of: &dyn Fn(&Superblock) -> String| {
            asked.then(|| Tuned { what, was: of(before), is: of(after) })
        };
        let softupdates = self.softupdates.is_some() || matches!(self.journal, Some(JournalChange::On(_)));
        let all = [
            one("softupdates", softupdates, &|sb| on(sb.features().softdep)),
            one("journal", self.journal.is_some(), &|sb| on(sb.features().suj)),
            one("scheme", before.chosen_scheme() != after.chosen_scheme() || self.scheme.is_some(), &default_scheme),
            one("label", self.label.is_some(), &Superblock::label),
            one("minfree", self.minfree.is_some(), &|sb| sb.fields.minfree.to_string()),
            one("acls", self.acls.is_some(), &acls_of),
            one("id", self.id.is_some(), &Superblock::ufsid),
            one("check-hashes", self.check_hashes.is_some(), &|sb| on(sb.features().hashes)),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The halves of a new id.
fn chosen(rt: &Rt, id: VolumeId) -> [u32; 2] {
    match id {
        VolumeId::Is(halves) => halves,
        // OK to cut: newfs, too, takes the low half of the time. A `RandomState` has a seed of its own.
        VolumeId::Random => [rt.wall().0 as u32, RandomState::new().hash_one(rt.wall()) as u32],
    }
}

fn log_of(known: &schemes::Known) -> Option<LogKind> {
    known.make(Settings::default()).ok().and_then(|scheme| scheme.capabilities().log_kind())
}

fn acls_of(sb: &Superblock) -> String {
    let on = sb.features();
    match (on.nfs4acls, on.acls) {
        (true, _) => "nfs4",
        (false, true) => "posix",
        (false, false) => "off",
    }
    .into()
}
