//! What is explored: a scheme on a volume on disks. And what it is held to.

use crate::Error;
use crate::device::Device;
use crate::disks::{Disks, Split};
use crate::order::{Order, honest};
use crate::question::Question;
use crate::shape::Shape;
use ordo_buf::{CrashLeaves, KeepsLog, LogKind, Promises, Scheme};
use ordo_disk::RamDisk;
use ordo_rt::Rt;
use ordo_schemes::Settings;
use ordofs::lfs::Around;
use ordofs::{LFS_SCHEME, LayoutName, without_rules};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Weakens a scheme before it is explored, to check that the explorer notices.
pub type Mutilate = Arc<dyn Fn(Rc<dyn Scheme>) -> Rc<dyn Scheme> + Send + Sync>;

/// What is explored.
#[derive(Clone)]
pub struct Subject {
    /// Name of the scheme; of a log-structured volume [`ordofs::LFS_SCHEME`].
    pub scheme: String,
    /// Its settings, and the rules that are switched off.
    pub settings: Settings,
    /// Inserted between the scheme and the engine.
    pub mutilate: Option<Mutilate>,
    /// What is checked instead of what the scheme declares.
    pub question: Option<Question>,
    /// The volume.
    pub shape: Shape,
    /// The device on which it lies.
    pub device: Device,
    /// The log of the scheme lies on a disk of its own.
    pub separate_log: bool,
    /// In a stream of messages on that disk.
    pub stream: bool,
    /// The engine reaches its disks through the NBD client, whose connections are lost ([`ordo_simdisk::NbdLoopback`]).
    pub through_nbd: bool,
    /// The engine takes the device's cache for non-volatile and never flushes it: a bug on a device where it is
    /// volatile.
    pub trusts_cache: bool,
}

impl Subject {
    /// A scheme by name with its usual settings, on a small volume.
    pub fn new(scheme: &str, device: &Device) -> Subject {
        Subject {
            scheme: scheme.into(),
            settings: Settings::default(),
            mutilate: None,
            question: None,
            shape: Shape::small(device),
            device: device.clone(),
            separate_log: false,
            stream: false,
            through_nbd: false,
            trusts_cache: false,
        }
    }

    /// A small log-structured volume.
    pub fn on_log(device: &Device) -> Subject {
        Subject { shape: Shape::small_log(device), ..Subject::new(LFS_SCHEME, device) }
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

    /// The device as its driver sees it, over `ram`; two of them where the log has its own.
    pub(crate) fn disks(&self, rt: &Rt, ram: &RamDisk, seed: u64) -> Disks {
        let volatile = self.device.volatile && !self.trusts_cache;
        self.split().devices(&Device { volatile, ..self.device.clone() }, rt, ram, seed)
    }

    /// What keeps the order.
    ///
    /// # Errors
    /// Those of [`Subject::scheme`].
    pub(crate) fn order(&self) -> Result<Order, Error> {
        if self.layout() == LayoutName::Ffs {
            return self.scheme().map(Order::Scheme);
        }
        let around = self.mutilate.clone().map(|mutilate| -> Around { Rc::new(move |scheme| mutilate(scheme)) });
        Ok(Order::Log { without: self.settings.without.clone(), around })
    }

    /// What the explorer itself mounts with after a recovery: `scheme`, or the log with all its rules.
    ///
    /// # Errors
    /// There is no scheme of that name.
    pub(crate) fn honest(&self, scheme: &str) -> Result<Order, Error> {
        match self.layout() {
            LayoutName::Lfs => Ok(Order::Log { without: BTreeSet::new(), around: None }),
            _ => honest(scheme, &self.settings).map(Order::Scheme),
        }
    }

    /// What the scheme declares, or what the question asks of it.
    ///
    /// # Errors
    /// Those of [`Subject::scheme`].
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
}

/// The promise about structure that is checked: what the scheme declares, or if it declares nothing, the least that any
/// file system must keep.
pub(crate) fn held_to(promises: &Promises) -> CrashLeaves {
    match promises.crash_leaves {
        CrashLeaves::Anything => CrashLeaves::Counts,
        declared => declared,
    }
}
