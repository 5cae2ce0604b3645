//! The verdict on one image: is it recovered as declared, which tree results, does the volume still work? It depends on
//! the image alone, so it is computed once for each image (V1).
//!
//! V1. Images are known by their fingerprints. Many crashes leave the same image, and many images recover to the same
//!     one: what depends on the recovered image only is computed once for each of those.
//! V2. A panic in recovery is a breach like any other, and does not end the exploration.
//! V3. A volume that may be mounted at once may also be given to fsck: both ways are tried, each is cut, and they must
//!     end in the same tree. Otherwise fsck could lose what a mount keeps.
//! V4. A volume with a journal that another system would replay may be given to that (`peer`).

use crate::guard::guarded;
use crate::oracle::{Breach, Oracle};
use crate::peer::{self, Left, Peer};
use crate::plan::Plan;
use crate::recover::{Logged, Traced, changes, check, interruptions};
use crate::recovery::{Recovery, mount_at_once, read};
use crate::structure::{Class, classify};
use crate::subject::held_to;
use crate::tree::Tree;
use crate::works::works;
use crate::{Error, older};
use ordo_buf::{CrashLeaves, Promises};
use ordo_disk::RamDisk;
use ordo_fsck::{Found, Mode};
use ordo_rt::Rt;
use ordo_vfs::Kind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The verdict on an image.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The tree after recovery, if recovery ended.
    pub(crate) tree: Option<Rc<Tree>>,
    /// A breach that does not depend on what was promised about the tree.
    pub(crate) breach: Option<Rc<Breach>>,
    /// The worst that fsck found.
    pub(crate) worst: Class,
    /// The tree that the older superblock of a log leads to by itself.
    pub(crate) older: Option<Result<Rc<Tree>, Rc<Breach>>>,
}

/// The tree of a recovered image, and what is wrong with it.
type Settled = (Option<Rc<Tree>>, Option<Rc<Breach>>);

/// Verdicts by image. Reusable for many scripts in a row, as long as volume, scheme and device are the same.
pub struct Memory {
    rt: Rt,
    /// The worst that a crash may leave.
    leaves: CrashLeaves,
    /// What the scheme does after a crash.
    recovery: Recovery,
    images: FxHashMap<u128, Verdict>,
    recovered: FxHashMap<(Recovery, u128), Settled>,
    /// Results of interrupted recoveries that were begun again, by the fingerprint of the image that they left.
    cut: FxHashMap<(Recovery, u128), Settled>,
    /// What the replay of another system leaves, by the fingerprint of that (peer-2).
    peers: FxHashMap<u128, Settled>,
    trees: FxHashMap<u128, Rc<Tree>>,
    /// Images that were recovered and checked, including those of interrupted recoveries.
    pub(crate) distinct: u64,
    /// Recoveries of images that an interrupted recovery left.
    pub(crate) nested: u64,
    /// Segments that the recoveries of crashes have cleaned, on a log-structured volume.
    pub(crate) cleaned: u64,
    /// How often fsck reported each finding, over all distinct images.
    pub(crate) findings: BTreeMap<&'static str, u64>,
    /// The images that were counted, if they are to be told; [`Memory::bound`] does not forget them.
    counted: Option<FxHashSet<u128>>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            rt: Rt::virtual_time(0),
            leaves: CrashLeaves::Anything,
            recovery: Recovery::Fsck,
            images: FxHashMap::default(),
            recovered: FxHashMap::default(),
            cut: FxHashMap::default(),
            peers: FxHashMap::default(),
            trees: FxHashMap::default(),
            distinct: 0,
            nested: 0,
            cleaned: 0,
            findings: BTreeMap::new(),
            counted: None,
        }
    }
}

/// Images that are remembered before all are dropped; a tree, which many share, takes a few kilobytes.
const REMEMBERED: usize = 1 << 20;
const TREES: usize = 1 << 15;

/// An image after its recovery.
struct Recovered {
    fingerprint: u128,
    disk: RamDisk,
    log: Vec<Logged>,
    worst: Class,
    /// The worst that may be found on it now.
    left: Class,
}

impl Memory {
    /// Sets the promises that all images are checked against.
    pub(crate) fn hold_to(&mut self, promises: &Promises) {
        (self.leaves, self.recovery) = (held_to(promises), Recovery::of(promises));
    }

    /// An empty memory that keeps a list of the images that it counts.
    pub(crate) fn listing() -> Memory {
        Memory { counted: Some(FxHashSet::default()), ..Memory::default() }
    }

    /// The images that were counted, if this memory keeps a list.
    pub(crate) fn counted(&self) -> impl Iterator<Item = u128> {
        self.counted.iter().flatten().copied()
    }

    fn count(&mut self, fingerprint: u128) {
        self.distinct += u64::from(!self.is_counted(fingerprint));
        if let Some(counted) = &mut self.counted {
            counted.insert(fingerprint);
        }
    }

    /// Drops all images when there are too many; a sweep then goes on as if it had just begun.
    pub(crate) fn bound(&mut self) {
        if self.images.len() + self.cut.len() > REMEMBERED || self.trees.len() > TREES {
            self.images = FxHashMap::default();
            self.recovered = FxHashMap::default();
            self.cut = FxHashMap::default();
            self.peers = FxHashMap::default();
            self.trees = FxHashMap::default();
        }
    }

    /// The verdict on an image, if it is known.
    pub(crate) fn known(&self, fingerprint: u128) -> Option<&Verdict> {
        self.images.get(&fingerprint)
    }

    /// Whether an image was counted, as left by a crash or by an interrupted recovery.
    fn is_counted(&self, fingerprint: u128) -> bool {
        let cut = |how| self.cut.contains_key(&(how, fingerprint));
        self.images.contains_key(&fingerprint) || cut(Recovery::Fsck) || cut(Recovery::Mount)
    }

    /// Computes the verdict on a new image.
    pub(crate) fn find_out(&mut self, plan: &Plan, fingerprint: u128, disk: RamDisk, bad: &[u64]) -> Verdict {
        self.count(fingerprint);
        let mut verdict = self.found_by(self.recovery, plan, fingerprint, disk.snapshot(), bad);
        if plan.subject.shape.log.is_some() && bad.is_empty() {
            verdict.older = self.by_the_older(plan, &disk);
        }
        if let (Recovery::Mount, Some(tree), None) = (self.recovery, &verdict.tree, &verdict.breach) {
            verdict.breach = self.by_fsck_too(plan, fingerprint, disk.snapshot(), bad, tree);
        }
        if let (Some(tree), None, true) =
            (&verdict.tree, &verdict.breach, bad.is_empty() && peer::is_there(&plan.subject))
        {
            verdict.breach = self.by_peer_too(plan, fingerprint, &disk, tree);
        }
        self.images.insert(fingerprint, verdict.clone());
        verdict
    }

    fn by_the_older(&mut self, plan: &Plan, disk: &RamDisk) -> Option<Result<Rc<Tree>, Rc<Breach>>> {
        match guarded(|| older::older(&plan.subject, disk)) {
            Ok(tree) => tree.map(|tree| Ok(self.shared(tree))),
            Err(is) => Some(Err(Rc::new(older::unreadable(is)))),
        }
    }

    /// The same tree, as it is known already.
    fn shared(&mut self, tree: Tree) -> Rc<Tree> {
        self.trees.entry(tree.digest()).or_insert_with(|| Rc::new(tree)).clone()
    }

    /// The result of one way of recovery, with its interruptions.
    fn found_by(&mut self, how: Recovery, plan: &Plan, fingerprint: u128, disk: RamDisk, bad: &[u64]) -> Verdict {
        let before = disk.snapshot();
        match self.recover(how, plan, fingerprint, disk, bad, how == self.recovery) {
            Err((breach, worst)) => Verdict { tree: None, breach: Some(Rc::new(breach)), worst, older: None },
            Ok(recovered) => {
                let Recovered { log, worst, .. } = &recovered;
                let (log, worst) = (log.clone(), *worst);
                let (tree, mut breach) = self.settled(how, plan, recovered);
                if let Some(tree) = tree
                    .as_ref()
                    .filter(|_| breach.is_none() && bad.is_empty() && plan.budget.cuts_recovery_of(fingerprint))
                {
                    breach = self.cut_again(how, plan, fingerprint, &before, &log, tree).map(Rc::new);
                }
                Verdict { tree, breach, worst, older: None }
            }
        }
    }

    /// V3: what is wrong when the same image is repaired instead of being mounted.
    fn by_fsck_too(
        &mut self,
        plan: &Plan,
        fingerprint: u128,
        disk: RamDisk,
        bad: &[u64],
        mounted: &Tree,
    ) -> Option<Rc<Breach>> {
        let Verdict { tree, breach, .. } = self.found_by(Recovery::Fsck, plan, fingerprint, disk, bad);
        let same = || tree.is_some_and(|repaired| mounted.leaks_into(&repaired));
        breach.or_else(|| {
            let is = "another tree";
            (!same())
                .then(|| Rc::new(Breach::new(Oracle::Recovers, "fsck -p", "leaves the tree that a mount shows", is)))
        })
    }

    /// V4: what is wrong when another system replays the journal.
    fn by_peer_too(&mut self, plan: &Plan, fingerprint: u128, disk: &RamDisk, ours: &Tree) -> Option<Rc<Breach>> {
        let left = match peer::replayed(&plan.subject, fingerprint, disk) {
            Peer::Silent => return None,
            Peer::GivesUp(breach) => return Some(Rc::new(breach)),
            Peer::Leaves(left) => left,
        };
        if !self.peers.contains_key(&left.fingerprint) {
            let found = self.left_by_peer(plan, &left);
            self.peers.insert(left.fingerprint, found);
        }
        let (tree, breach) = self.peers.get(&left.fingerprint)?.clone();
        breach.or_else(|| Some(Rc::new(peer::differs(&*tree?, ours)?)))
    }

    /// The result of a full repair after the other system's replay, which must have nothing to do.
    fn left_by_peer(&mut self, plan: &Plan, left: &Left) -> Settled {
        let traced = Traced::of(&plan.subject, left.disk.clone(), &[]);
        let is = match guarded(|| check(&self.rt, traced.disks(), Mode::Repair)) {
            Err(why) => why,
            Ok(report) => match report.findings.iter().find(|found| !peer::leaves(found, &report.findings, left)) {
                Some(found) => found.finding.to_string(),
                None => match guarded(|| self.tree(Recovery::Fsck, plan, &left.disk)) {
                    Ok(tree) => return (Some(tree), None),
                    Err(why) => why,
                },
            },
        };
        (None, Some(Rc::new(peer::breach("leaves a sound volume", is))))
    }

    /// Recovers the image on `disk` in one of the ways. With `strict`, the findings of fsck are checked against what
    /// the scheme declares; for a mount they always are.
    fn recover(
        &mut self,
        how: Recovery,
        plan: &Plan,
        fingerprint: u128,
        disk: RamDisk,
        bad: &[u64],
        strict: bool,
    ) -> Result<Recovered, (Breach, Class)> {
        let before = disk.snapshot();
        let traced = Traced::of(&plan.subject, disk.clone(), bad);
        let recovers = |is: String| (Breach::new(Oracle::Recovers, "recovery", how.says(), is), Class::Damage);
        let mode = if how == Recovery::Fsck { Mode::Preen } else { Mode::Check };
        let report = guarded(|| check(&self.rt, traced.disks(), mode)).map_err(recovers)?;
        let mut worst = Class::Nothing;
        for found in &report.findings {
            worst = worst.max(class(found));
            if strict {
                *self.findings.entry(found.finding.name()).or_default() += 1;
            }
        }
        let told = |wanted: &dyn Fn(&Found) -> bool| -> String {
            let told: Vec<String> =
                report.findings.iter().filter(|f| wanted(f)).map(|f| f.finding.to_string()).collect();
            told.join("; ")
        };
        let limit = how.limit(self.leaves);
        if (strict || how == Recovery::Mount) && worst > limit {
            let is = told(&|found| class(found) > limit);
            let should = format!("no worse than: {limit}");
            return Err((Breach::new(Oracle::Structure, "what fsck finds after the cut", should, is), worst));
        }
        let left = match how {
            Recovery::Fsck if report.left || report.refused.is_some() => {
                let why = report.refused.clone().unwrap_or_else(|| told(&|found| !found.repaired));
                return Err(recovers(format!("left: {why}")));
            }
            Recovery::Fsck => Class::Nothing,
            Recovery::Mount => {
                let left = guarded(|| mount_at_once(&plan.subject, &disk, &traced)).map_err(recovers)?;
                // An image that a cut recovery left may be recovered by several threads.
                self.cleaned += if strict { left.cleaned } else { 0 };
                left.class
            }
        };
        let log = traced.take_log();
        Ok(Recovered { fingerprint: fingerprint ^ changes(&before, &log), disk, log, worst, left })
    }

    /// What depends on the recovered image only: its tree, whether a second recovery changes it, whether it works.
    fn settled(&mut self, how: Recovery, plan: &Plan, recovered: Recovered) -> Settled {
        let Recovered { fingerprint, disk, left, .. } = recovered;
        if let Some(known) = self.recovered.get(&(how, fingerprint)) {
            return known.clone();
        }
        let again = match how {
            Recovery::Fsck => self.again(plan, &disk),
            Recovery::Mount => self.no_worse_than(left, plan, &disk),
        };
        let found = match again {
            Some(breach) => (None, Some(breach)),
            None => match guarded(|| self.tree(how, plan, &disk)) {
                Ok(tree) => (
                    Some(tree.clone()),
                    guarded(|| works(&plan.subject, &disk, &tree, left)).err().map(|is| {
                        Breach::new(Oracle::Works, "a second program", "runs, and leaves a sound volume", is)
                    }),
                ),
                Err(is) => (None, Some(Breach::new(Oracle::Recovers, "the recovered tree", "can be read", is))),
            },
        };
        let found = (found.0, found.1.map(Rc::new));
        self.recovered.insert((how, fingerprint), found.clone());
        found
    }

    /// A second recovery finds nothing and writes nothing.
    fn again(&mut self, plan: &Plan, disk: &RamDisk) -> Option<Breach> {
        let traced = Traced::of(&plan.subject, disk.snapshot(), &[]);
        let is = match guarded(|| check(&self.rt, traced.disks(), Mode::Repair)) {
            Err(why) => why,
            Ok(report) if !report.findings.is_empty() => report.findings[0].finding.to_string(),
            Ok(_) if !traced.take_log().is_empty() => "it writes".into(),
            Ok(_) => return None,
        };
        Some(Breach::new(Oracle::Idempotent, "a second recovery", "finds and changes nothing", is))
    }

    /// A mount makes nothing worse.
    fn no_worse_than(&mut self, left: Class, plan: &Plan, disk: &RamDisk) -> Option<Breach> {
        let traced = Traced::of(&plan.subject, disk.snapshot(), &[]);
        let is = match guarded(|| check(&self.rt, traced.disks(), Mode::Check)) {
            Err(why) => why,
            Ok(report) => report.findings.iter().find(|found| class(found) > left)?.finding.to_string(),
        };
        Some(Breach::new(Oracle::Structure, "what fsck finds after the mount", format!("no worse than: {left}"), is))
    }

    fn tree(&mut self, how: Recovery, plan: &Plan, disk: &RamDisk) -> Result<Rc<Tree>, Error> {
        let tree = read(&plan.subject, &disk.snapshot(), "the recovered tree")?;
        for (id, names) in tree.names_of() {
            let Some(file) = tree.files.get(&id).filter(|file| file.kind.0 != Kind::Directory) else { continue };
            let links = file.nlink as usize;
            if links < names.len() || links > names.len() && how == Recovery::Fsck {
                let path = tree.path_of(id);
                return Err(Error::Run(format!("{path}: {} links, {} names", file.nlink, names.len())));
            }
        }
        Ok(self.shared(tree))
    }

    /// Cuts the recovery whose writes are `log` at each of them, begins it again, and compares the resulting trees.
    fn cut_again(
        &mut self,
        how: Recovery,
        plan: &Plan,
        fingerprint: u128,
        before: &RamDisk,
        log: &[Logged],
        tree: &Rc<Tree>,
    ) -> Option<Breach> {
        for partial in interruptions(log, &plan.subject.device) {
            let disk = before.snapshot();
            let cut = fingerprint ^ changes(before, &partial);
            if cut == fingerprint {
                continue;
            }
            for write in &partial {
                disk.poke(write.at, &write.image);
            }
            let is = match self.begun_again(how, plan, cut, disk) {
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

    /// The result of recovering the image that an interrupted recovery left. Many interruptions leave the same (V1).
    fn begun_again(&mut self, how: Recovery, plan: &Plan, fingerprint: u128, disk: RamDisk) -> Settled {
        if let Some(known) = self.cut.get(&(how, fingerprint)) {
            return known.clone();
        }
        self.nested += 1;
        // A crash may have left the same image, too; then it was counted already.
        self.count(fingerprint);
        let found = match self.recover(how, plan, fingerprint, disk, &[], false) {
            Err((breach, _)) => (None, Some(Rc::new(breach))),
            Ok(recovered) => self.settled(how, plan, recovered),
        };
        self.cut.insert((how, fingerprint), found.clone());
        found
    }
}

fn class(found: &Found) -> Class {
    classify(&found.finding, found.severity)
}
