//! A plan: which scheme, script, device and volume to explore, and how many states.

use crate::Error;
use crate::device::Device;
use crate::disks::{Disks, Split};
use crate::oracle::Oracle;
use crate::question::Question;
use crate::record::honest;
use crate::shape::Shape;
use crate::volume::{fresh, fresh_log};
use ordo_buf::{CrashLeaves, KeepsLog, LogKind, Promises, Scheme};
use ordo_disk::RamDisk;
use ordo_rt::Rt;
use ordo_schemes::Settings;
use ordo_workload::script::Script;
use ordofs::{LOG_SCHEME, LayoutName, without_rules};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A part of an exploration that several machines or threads share: it takes the images whose fingerprint falls to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Index of the part, from 0.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Shard {
    /// The whole exploration.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Part `part` of `parts` of this shard.
    pub fn split(self, part: u32, parts: u32) -> Shard {
        Shard { index: self.index + self.of * part, of: self.of * parts }
    }

    pub(crate) fn takes(self, number: u128) -> bool {
        number % u128::from(self.of) == u128::from(self.index)
    }
}

/// Weakens a scheme before it is explored, to check that the explorer notices.
pub type Mutilate = Arc<dyn Fn(Rc<dyn Scheme>) -> Rc<dyn Scheme> + Send + Sync>;

/// An exploration.
#[derive(Clone)]
pub struct Plan {
    /// Name of the scheme; of a log-structured volume [`ordofs::LOG_SCHEME`].
    pub scheme: String,
    /// Its settings, and the rules that are switched off.
    pub settings: Settings,
    /// The log of the scheme lies on a disk of its own.
    pub separate_log: bool,
    /// In a stream of messages on that disk.
    pub stream: bool,
    /// The engine reaches its disks through the NBD client, whose connections are lost ([`ordo_disk::NbdLoopback`]).
    pub through_nbd: bool,
    /// What is checked instead of what the scheme declares.
    pub question: Option<Question>,
    /// Inserted between the scheme and the engine.
    pub mutilate: Option<Mutilate>,
    /// The script that runs.
    pub script: Script,
    /// The device it runs on.
    pub device: Device,
    /// The volume it runs on.
    pub shape: Shape,
    /// States that are tried at most, not counting those of interrupted recoveries.
    pub states: u64,
    /// Undurable writes up to which every subset is tried.
    pub exhaustive: usize,
    /// One image in so many has its recovery cut at every write; 0 for none.
    pub recovery_cuts: u32,
    /// The random seed.
    pub seed: u64,
    /// Between calls, time sometimes passes, so that the syncer writes in the middle.
    pub pauses: bool,
    /// Mean time between calls, for a workload that goes on for hours. Without it, calls follow at once.
    pub pace: Option<Duration>,
    /// The engine takes the device's cache for non-volatile and never flushes it: a bug on a device where it is
    /// volatile.
    pub trusts_cache: bool,
    /// Every other random script is a variation of one that reached something new.
    pub steered: bool,
    /// Which part of the exploration to run.
    pub shard: Shard,
    /// Stop after this many violations.
    pub enough: usize,
    /// Stop at the first violation that this oracle finds.
    pub looks_for: Option<Oracle>,
}

impl Plan {
    /// The usual exploration of a script.
    pub fn new(scheme: &str, script: Script, device: &Device) -> Plan {
        Plan {
            scheme: scheme.into(),
            settings: Settings::default(),
            separate_log: false,
            stream: false,
            through_nbd: false,
            question: None,
            mutilate: None,
            script,
            device: device.clone(),
            shape: Shape::small(device),
            states: 5000,
            exhaustive: 10,
            recovery_cuts: 4,
            seed: 0,
            pauses: false,
            pace: None,
            trusts_cache: false,
            steered: false,
            shard: Shard::WHOLE,
            enough: usize::MAX,
            looks_for: None,
        }
    }

    /// The usual exploration of a script on a log-structured volume.
    pub fn on_log(script: Script, device: &Device) -> Plan {
        Plan { shape: Shape::small_log(device), ..Plan::new(LOG_SCHEME, script, device) }
    }

    /// The layout of the volume.
    pub fn layout(&self) -> LayoutName {
        if self.shape.log.is_some() { LayoutName::Lfs } else { LayoutName::Ffs }
    }

    /// The scheme that is explored, on UFS.
    ///
    /// # Errors
    /// There is no scheme of that name, or it has no such rule, or it has no log that could be on a separate disk.
    pub fn scheme(&self) -> Result<Rc<dyn Scheme>, Error> {
        let known = ordo_schemes::by_name(&self.scheme).ok_or_else(|| Error::NoScheme(self.scheme.clone()))?;
        let made = known.make(self.settings.clone())?;
        let keeps = made.clone().capabilities().log;
        let fits = |log: Rc<dyn KeepsLog>| log.kind() == LogKind::Redo && (!self.stream || log.takes_stream());
        if self.separate_log && !keeps.is_some_and(fits) {
            return Err(Error::NoLog(self.scheme.clone()));
        }
        Ok(match &self.mutilate {
            Some(mutilate) => mutilate(made),
            None => made,
        })
    }

    /// How an image is divided among the disks.
    pub(crate) fn split(&self) -> Split {
        Split::of(&self.shape, self.separate_log, self.stream)
    }

    /// The volume that the script begins with.
    pub(crate) fn fresh(&self) -> Result<RamDisk, Error> {
        match self.layout() {
            LayoutName::Lfs => fresh_log(&self.shape, self.split()),
            _ => fresh(&self.shape, self.split(), &self.scheme()?),
        }
    }

    /// The device as its driver sees it, over `ram`; two of them where the log has its own.
    pub(crate) fn disks(&self, rt: &Rt, ram: &RamDisk) -> Disks {
        let volatile = self.device.volatile && !self.trusts_cache;
        self.split().devices(&Device { volatile, ..self.device.clone() }, rt, ram, self.seed)
    }

    /// What the scheme declares, or what the question asks of it.
    ///
    /// # Errors
    /// Those of [`Plan::scheme`].
    pub fn promises(&self) -> Result<Promises, Error> {
        let declared = match self.layout() {
            LayoutName::Ffs => LayoutName::Ffs.promises(&*self.scheme()?),
            layout => {
                if self.separate_log {
                    return Err(Error::NoLog(self.scheme.clone()));
                }
                without_rules(&self.settings.without)?;
                // The log promises the same whatever the scheme (`Layout::promises`).
                layout.promises(&*honest("async", &Settings::default())?)
            }
        };
        Ok(self.question.map_or_else(|| declared.clone(), |question| question.promises(&declared)))
    }

    pub(crate) fn cuts_recovery_of(&self, fingerprint: u128) -> bool {
        self.recovery_cuts > 0 && (fingerprint >> 64).is_multiple_of(self.recovery_cuts.into())
    }
}

/// The promise about structure that is checked: what the scheme declares, or if it declares nothing, the least that any
/// file system must keep.
pub(crate) fn held_to(promises: &Promises) -> CrashLeaves {
    match promises.crash_leaves {
        CrashLeaves::Anything => CrashLeaves::Counts,
        declared => declared,
    }
}
