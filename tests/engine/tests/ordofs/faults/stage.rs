//! A script that runs on a failing disk, and the checks at its end.

use crate::common;
use crate::common::tree::{Tree, look};
use ordo_model::{MemFs, Options};
use ordo_ondisk::{Endian, Format};
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordo_workload::Session;
use ordo_workload::random::{Features, Generator, Op, Outcome, Player, Shape};
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Name, Refusal, Stamp};
use ordofs::{MountOptions, Mounted};
use std::rc::Rc;
use std::time::Duration;

const ROOT: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };

/// A volume, and the script for it.
pub(crate) struct Stage {
    pub(crate) ram: RamDisk,
    pub(crate) scheme: &'static str,
    script: Vec<Op>,
    /// The model's answers.
    answers: Vec<Outcome>,
    /// The contents of the files that are made durable.
    witness: Vec<u8>,
}

/// Bytes of a file that the script makes durable.
const WITNESS: u32 = 9000;

/// The name of such a file, if `op` makes one.
fn witness(op: &Op) -> Option<&str> {
    match op {
        Op::Create { path, .. } => Some(&path[..]).filter(|path| path.starts_with("witness")),
        _ => None,
    }
}

impl Stage {
    pub(crate) fn new(shape: (Format, Endian, u32, u32), scheme: &'static str, seed: u64, steps: usize) -> Stage {
        let rt = Rt::virtual_time(5);
        let ram = common::fresh(&rt, shape, 8 << 20).volatile(true);
        let kinds = Shape {
            block: shape.2.into(),
            frag: shape.3.into(),
            max_offset: 1 << 19,
            max_transfer: 1 << 14,
            ..Shape::default()
        };
        let xattrs = shape.0 == Format::Ufs2;
        let features = Features { xattrs, acls: xattrs, devices: false, trusted: false, ..Features::all() };
        let mut ops = Generator::new(seed, kinds, features);
        let before: Vec<Op> = ops.by_ref().take(150).collect();
        let mut script = Vec::new();
        for (step, op) in ops.take(steps).enumerate() {
            script.push(op);
            if step % 8 == 0 {
                let path = format!("witness-{step}");
                script.push(Op::Create { path: path.clone(), mode: 0o600 });
                script.push(Op::Write { path: path.clone(), offset: 0, len: WITNESS, seed: 1 });
                // `async` promises nothing for a name before a sync.
                script.push(if scheme == "async" { Op::Sync } else { Op::Fsync { path, data_only: false } });
            }
        }
        let mounted = common::mount(&rt, &ram, "async");
        rt.block_on(async {
            let fs = &**mounted.fs();
            fs.rmdir(fs.root(), Name::new(b".snap").expect("a name")).await.expect("newfs made it");
            let mut player = Player::new(fs, ROOT);
            for op in &before {
                player.apply(op).await;
            }
        });
        rt.block_on(mounted.unmount()).expect("the disk is well");
        rt.drop_tasks();
        let clock = rt.clone();
        let model = MemFs::new(Options::default(), move || Stamp { secs: clock.wall().0, nanos: 0 });
        let (answers, witness) = rt.block_on(async {
            let mut player = Player::new(&model, ROOT);
            for op in &before {
                player.apply(op).await;
            }
            player = Player::new(&model, ROOT);
            let mut answers = Vec::new();
            for op in &script {
                answers.push(player.apply(op).await);
            }
            (answers, Session::new(&model).read_file("witness-0").await.expect("the model has it"))
        });
        Stage { ram, scheme, script, answers, witness }
    }

    /// Runs the script on a disk with this fault. `None`: the fault did not occur.
    pub(crate) fn play(&self, fault: Fault, what: &str) -> Option<Run> {
        let rt = Rt::virtual_time(6);
        let watch = rt.clone();
        rt.spawn(async move {
            watch.sleep(Duration::from_secs(1_000_000)).await;
            panic!("a call never ended");
        });
        let ram = self.ram.snapshot();
        let faulty = Faulty::new(Rc::new(ram.clone()), FaultPlan::new(1).with(fault));
        let options = MountOptions { scheme: Some(self.scheme.into()), cache: 128 << 10, ..MountOptions::default() };
        let located = common::located(&ram, Rc::new(faulty.clone()));
        let mounted = rt.block_on(Mounted::mount(&rt, located, &options));
        let mut run = Run { rt, ram, faulty, kept: Vec::new(), met: false, before: None, mounted: None };
        match mounted {
            Ok(mounted) => {
                let rt = run.rt.clone();
                rt.block_on(self.act(&mounted, &mut run, what));
                run.mounted = Some(mounted);
            }
            Err(error) => {
                assert!(error.to_string().contains("Input/output error"), "{what}: the mount says {error}");
                run.met = true;
            }
        }
        (!run.faulty.injected().is_empty()).then_some(run)
    }

    async fn act(&self, mounted: &Mounted, run: &mut Run, what: &str) {
        let mut player = Player::new(&**mounted.fs(), ROOT);
        // Successive steps without an error.
        let mut well = 0;
        for (step, (op, right)) in self.script.iter().zip(&self.answers).enumerate() {
            if step % 30 == 29 {
                // Lets the syncer run.
                run.rt.sleep(Duration::from_secs(32)).await;
            }
            let answer = player.apply(op).await;
            let place = format!("{what}, step {step}, {op}: {answer:?} instead of {right:?}");
            match &answer {
                Outcome::Failed(text) => {
                    let known = ["Input/output error", "left alone until fsck"].iter().any(|why| text.contains(why));
                    assert!(known && !run.faulty.injected().is_empty(), "{place}");
                    run.met = true;
                }
                Outcome::Refused(Refusal::ReadOnly) => {
                    assert!(mounted.degraded().is_some(), "{place}");
                    run.met = true;
                }
                _ => assert!(run.met || answer == *right, "{place}"),
            }
            well = if answer == *right { well + 1 } else { 0 };
            if well >= 3 && *right == Outcome::Done && matches!(op, Op::Sync | Op::Fsync { .. }) {
                run.kept.extend(witness(&self.script[step - 2]).map(str::to_owned));
            }
        }
    }
}

/// A finished run of a script.
pub(crate) struct Run {
    pub(crate) rt: Rt,
    pub(crate) ram: RamDisk,
    pub(crate) faulty: Faulty,
    /// Files that a call made durable.
    pub(crate) kept: Vec<String>,
    /// A call has returned the fault.
    met: bool,
    before: Option<Tree>,
    pub(crate) mounted: Option<Mounted>,
}

impl Run {
    /// Unmounts and repairs the volume. Everything that was durable must be there.
    pub(crate) fn end(mut self, stage: &Stage, what: &str) -> ordo_fsck::Report {
        if let Some(mounted) = self.mounted.take() {
            let sound = mounted.degraded().is_none();
            self.before = self.rt.block_on(look(&**mounted.fs())).ok().filter(|_| sound);
            let unmounted = self.rt.block_on(mounted.unmount());
            assert!(sound || unmounted.is_err(), "{what}: a volume that failed was unmounted as if it had not");
            // While the disk still fails, memory may hold more than it can show, and less than the disk will.
            if unmounted.is_err() || self.faulty.injected().len() > 1 {
                self.before = None;
            }
        }
        self.rt.drop_tasks();
        let (rt, ram) = (Rt::virtual_time(9), &self.ram);
        let found = common::judge(&rt, ram);
        assert!(!found.clean || found.findings.is_empty(), "{what}: marked clean, and is not: {found:#?}");
        let repair = common::check(&rt, ram, ordo_fsck::Mode::Repair);
        assert!(!repair.left, "{what}: {repair:#?}");
        common::assert_clean(&rt, ram, what);
        let again = common::mount(&rt, ram, "async");
        rt.block_on(async {
            let session = Session::new(&**again.fs());
            for path in &self.kept {
                let read = session.read_file(path).await;
                let read =
                    read.unwrap_or_else(|error| panic!("{what}: {path} was durable and is lost: {error}, {found:#?}"));
                assert!(read == stage.witness, "{what}: {path} was durable and is damaged");
            }
            if let Some(before) = &self.before {
                let after = look(&**again.fs()).await.expect("the disk is well");
                let (disk, memory) = (&after.leaves, &before.leaves);
                let differs = disk.iter().chain(memory).find(|(path, _)| disk.get(*path) != memory.get(*path));
                if let Some((path, _)) = differs {
                    let (path, disk, memory) = (String::from_utf8_lossy(path), disk.get(path), memory.get(path));
                    panic!("{what}: {path} is {disk:#?} on the disk and {memory:#?} in memory");
                }
            }
        });
        rt.drop_tasks();
        found
    }
}
