//! What comes of one image: is it recovered as declared, what tree is there then, does the volume still work. A function
//! of the image alone, so it is found out once for each (V1).
//!
//! V1. Images are known by their fingerprints. Many crashes leave the same image, and many images recover to the same
//!     one: what needs the recovered image only is found out once for each of those.
//! V2. A panic in recovery is a breach like any other, and does not end the exploration.

use crate::oracle::{Breach, Oracle};
use crate::record::{honest, mount};
use crate::recover::{Logged, Traced, changes, check, interruptions};
use crate::structure::{Class, allowed, classify};
use crate::tree::Tree;
use crate::{Error, Plan};
use buf::CrashLeaves;
use disk::RamDisk;
use fsck::Mode;
use rt::Rt;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use vfs::{Caller, FileSystem, Kind, Mode as Bits, Name};

/// What came of an image.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The tree after recovery, if it came to that.
    pub(crate) tree: Option<Rc<Tree>>,
    /// What is wrong whatever was promised of the tree.
    pub(crate) breach: Option<Rc<Breach>>,
    /// The worst that fsck found.
    pub(crate) worst: Class,
}

/// The tree of a recovered image, and what is wrong with it.
type Settled = (Option<Rc<Tree>>, Option<Rc<Breach>>);

/// Verdicts by image. Serves many scripts in a row, as long as volume, scheme and device are the same.
pub struct Memory {
    rt: Rt,
    /// The worst that a crash may leave.
    pub(crate) leaves: CrashLeaves,
    images: FxHashMap<u128, Verdict>,
    recovered: FxHashMap<u128, Settled>,
    /// What came of the images of cut recoveries, by their fingerprints.
    cut: FxHashMap<u128, Settled>,
    trees: FxHashMap<u128, Rc<Tree>>,
    /// Images that were recovered and checked, those of cut recoveries included.
    pub(crate) distinct: u64,
    /// Cut recoveries that were run.
    pub(crate) nested: u64,
    /// How often fsck found what, over all distinct images.
    pub(crate) findings: BTreeMap<&'static str, u64>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            rt: Rt::virtual_time(0),
            leaves: CrashLeaves::Anything,
            images: FxHashMap::default(),
            recovered: FxHashMap::default(),
            cut: FxHashMap::default(),
            trees: FxHashMap::default(),
            distinct: 0,
            nested: 0,
            findings: BTreeMap::new(),
        }
    }
}

/// Images that are remembered before all are forgotten; a tree, which many share, takes a few kilobytes.
const REMEMBERED: usize = 1 << 20;
const TREES: usize = 1 << 15;

/// An image after its recovery.
struct Recovered {
    fingerprint: u128,
    disk: RamDisk,
    log: Vec<Logged>,
    worst: Class,
}

impl Memory {
    /// Forgets images when there are too many; a sweep goes on as if it had just begun.
    pub(crate) fn bound(&mut self) {
        if self.images.len() + self.cut.len() > REMEMBERED || self.trees.len() > TREES {
            self.images = FxHashMap::default();
            self.recovered = FxHashMap::default();
            self.cut = FxHashMap::default();
            self.trees = FxHashMap::default();
        }
    }

    /// The verdict on an image that was seen before.
    pub(crate) fn known(&self, fingerprint: u128) -> Option<&Verdict> {
        self.images.get(&fingerprint)
    }

    /// Finds out.
    pub(crate) fn find_out(&mut self, plan: &Plan, fingerprint: u128, disk: RamDisk, bad: &[u64]) -> Verdict {
        self.distinct += u64::from(!self.cut.contains_key(&fingerprint));
        let before = disk.snapshot();
        let verdict = match self.recover(plan, fingerprint, disk, bad, true) {
            Err((breach, worst)) => Verdict { tree: None, breach: Some(Rc::new(breach)), worst },
            Ok(recovered) => {
                let Recovered { log, worst, .. } = &recovered;
                let (log, worst) = (log.clone(), *worst);
                let (tree, mut breach) = self.settled(plan, recovered);
                if let Some(tree) =
                    tree.as_ref().filter(|_| breach.is_none() && bad.is_empty() && plan.cuts_recovery_of(fingerprint))
                {
                    breach = self.cut_again(plan, fingerprint, &before, &log, tree).map(Rc::new);
                }
                Verdict { tree, breach, worst }
            }
        };
        self.images.insert(fingerprint, verdict.clone());
        verdict
    }

    /// Recovers the image on `disk` as the scheme declares.
    fn recover(
        &mut self,
        plan: &Plan,
        fingerprint: u128,
        disk: RamDisk,
        bad: &[u64],
        strict: bool,
    ) -> Result<Recovered, (Breach, Class)> {
        let before = disk.snapshot();
        let traced = Traced::new(disk.clone(), plan.device.sector, bad);
        let ran = guarded(|| check(&self.rt, Rc::new(traced.clone()), Mode::Preen));
        let recovers =
            |is: String| (Breach::new(Oracle::Recovers, "recovery", "fsck -p ends and repairs all", is), Class::Damage);
        let report = ran.map_err(recovers)?;
        let mut worst = Class::Nothing;
        for found in &report.findings {
            worst = worst.max(classify(&found.finding, found.severity));
            if strict {
                *self.findings.entry(found.finding.name()).or_default() += 1;
            }
        }
        let told = |wanted: &dyn Fn(&fsck::Found) -> bool| -> String {
            let told: Vec<String> =
                report.findings.iter().filter(|f| wanted(f)).map(|f| f.finding.to_string()).collect();
            told.join("; ")
        };
        let limit = allowed(self.leaves);
        if strict && worst > limit {
            let is = told(&|found| classify(&found.finding, found.severity) > limit);
            let should = format!("no worse than: {limit}");
            return Err((Breach::new(Oracle::Structure, "what fsck finds after the cut", should, is), worst));
        }
        if report.left || report.refused.is_some() {
            let why = report.refused.clone().unwrap_or_else(|| told(&|found| !found.repaired));
            return Err(recovers(format!("left: {why}")));
        }
        let log = traced.take_log();
        Ok(Recovered { fingerprint: fingerprint ^ changes(&before, &log), disk, log, worst })
    }

    /// What needs the recovered image only: its tree, whether a second recovery changes it, whether it works.
    fn settled(&mut self, plan: &Plan, recovered: Recovered) -> Settled {
        let Recovered { fingerprint, disk, .. } = recovered;
        if let Some(known) = self.recovered.get(&fingerprint) {
            return known.clone();
        }
        let found = match self.again(plan, &disk) {
            Some(breach) => (None, Some(breach)),
            None => match guarded(|| self.tree(plan, &disk)) {
                Ok(tree) => (
                    Some(tree.clone()),
                    guarded(|| works(plan, &disk, &tree)).err().map(|is| {
                        Breach::new(Oracle::Works, "a second program", "runs, and leaves a clean volume", is)
                    }),
                ),
                Err(is) => (None, Some(Breach::new(Oracle::Recovers, "the recovered tree", "can be read", is))),
            },
        };
        let found = (found.0, found.1.map(Rc::new));
        self.recovered.insert(fingerprint, found.clone());
        found
    }

    /// A second recovery finds nothing and writes nothing.
    fn again(&mut self, plan: &Plan, disk: &RamDisk) -> Option<Breach> {
        let traced = Traced::new(disk.snapshot(), plan.device.sector, &[]);
        let is = match guarded(|| check(&self.rt, Rc::new(traced.clone()), Mode::Repair)) {
            Err(why) => why,
            Ok(report) if !report.findings.is_empty() => report.findings[0].finding.to_string(),
            Ok(_) if !traced.take_log().is_empty() => "it writes".into(),
            Ok(_) => return None,
        };
        Some(Breach::new(Oracle::Idempotent, "a second recovery", "finds and changes nothing", is))
    }

    fn tree(&mut self, plan: &Plan, disk: &RamDisk) -> Result<Rc<Tree>, Error> {
        let rt = Rt::virtual_time(1);
        let traced = Traced::new(disk.snapshot(), plan.device.sector, &[]);
        let mounted = mount(&rt, disk, Rc::new(traced), honest("async", &plan.settings)?, true)?;
        let tree = rt.block_on(Tree::read(&**mounted.fs()));
        drop(mounted);
        rt.drop_tasks();
        let tree = tree.map_err(|error| Error::Run(format!("reading the recovered tree: {error}")))?;
        for (id, names) in tree.names_of() {
            let Some(file) = tree.files.get(&id).filter(|file| file.kind.0 != Kind::Directory) else { continue };
            if file.nlink as usize != names.len() {
                let path = tree.path_of(id);
                return Err(Error::Run(format!("{path}: {} links, {} names", file.nlink, names.len())));
            }
        }
        Ok(self.trees.entry(tree.digest()).or_insert_with(|| Rc::new(tree)).clone())
    }

    /// Cuts the recovery whose writes are `log` at every one of them, begins it again, and compares what comes of it.
    fn cut_again(
        &mut self,
        plan: &Plan,
        fingerprint: u128,
        before: &RamDisk,
        log: &[Logged],
        tree: &Rc<Tree>,
    ) -> Option<Breach> {
        for partial in interruptions(log, &plan.device) {
            let disk = before.snapshot();
            let cut = fingerprint ^ changes(before, &partial);
            if cut == fingerprint {
                continue;
            }
            for write in &partial {
                disk.poke(write.at, &write.image);
            }
            let is = match self.begun_again(plan, cut, disk) {
                (Some(other), None) if Rc::ptr_eq(&other, tree) || other.alike(tree) => continue,
                (_, Some(breach)) => format!("{}: {}", breach.what, breach.is),
                _ => "another tree".into(),
            };
            let what =
                format!("a recovery that is cut after {} of {} writes and begun again", partial.len(), log.len());
            return Some(Breach::new(Oracle::RecoveryCut, what, "ends in the same tree", is));
        }
        None
    }

    /// What comes of a recovery that was cut and left this image. Many cuts leave the same (V1).
    fn begun_again(&mut self, plan: &Plan, fingerprint: u128, disk: RamDisk) -> Settled {
        if let Some(known) = self.cut.get(&fingerprint) {
            return known.clone();
        }
        self.nested += 1;
        // A crash without a recovery may have left it, too, and then it was counted.
        self.distinct += u64::from(!self.images.contains_key(&fingerprint));
        let found = match self.recover(plan, fingerprint, disk, &[], false) {
            Err((breach, _)) => (None, Some(Rc::new(breach))),
            Ok(recovered) => self.settled(plan, recovered),
        };
        self.cut.insert(fingerprint, found.clone());
        found
    }
}

/// Runs `work`; a panic is an answer too (V2).
fn guarded<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(panic) => {
            let what =
                panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", what.unwrap_or("no message")))
        }
    }
}

/// Directories in which the second program works, at most.
const DIRECTORIES: usize = 8;

/// The second program: a file made, written and removed in each directory, and a clean unmount.
fn works(plan: &Plan, disk: &RamDisk, tree: &Tree) -> Result<(), Error> {
    let (rt, disk) = (Rt::virtual_time(2), disk.snapshot());
    let traced = Traced::new(disk.clone(), plan.device.sector, &[]);
    let mounted = mount(&rt, &disk, Rc::new(traced.clone()), honest("async", &plan.settings)?, false)?;
    let worked = rt.block_on(work(&**mounted.fs(), tree));
    let unmounted = rt.block_on(mounted.unmount());
    rt.drop_tasks();
    worked.and(unmounted).map_err(|error| Error::Run(error.to_string()))?;
    let report = check(&rt, Rc::new(traced), Mode::Check)?;
    match report.findings.first() {
        Some(found) => Err(Error::Run(format!("fsck afterwards: {}", found.finding))),
        None => Ok(()),
    }
}

async fn work<F: FileSystem>(fs: &F, tree: &Tree) -> vfs::Result<()> {
    let who = Caller { privileged: true, ..Caller::default() };
    let name = Name::new(b".second-program")?;
    let dirs = tree.files.iter().filter(|(_, file)| file.kind.0 == Kind::Directory).take(DIRECTORIES);
    for path in dirs.map(|(id, _)| tree.path(*id)) {
        let mut dir = fs.root();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let next = fs.lookup(dir, Name::new(part.as_bytes())?).await?.node;
            if dir != fs.root() {
                fs.forget(dir, 1);
            }
            dir = next;
        }
        let made = fs.mknod(&who, dir, name, Kind::Regular, Bits::new(0o600), 0).await;
        let outcome = match made {
            Ok(entry) => {
                let written = fs.write(&who, entry.node, 0, &[0xa5; 6000]).await;
                fs.forget(entry.node, 1);
                let removed = fs.unlink(dir, name).await;
                written.map(|_| ()).and(removed)
            }
            Err(error) => Err(error),
        };
        if dir != fs.root() {
            fs.forget(dir, 1);
        }
        match outcome {
            // A full volume is no fault of the crash.
            Err(vfs::Error::Refused(vfs::Refusal::NoSpace | vfs::Refusal::NotPermitted)) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
