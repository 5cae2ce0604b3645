//! The walks that prove the seam: the steps that the engine reports to a scheme, the scheme's answers, and the disk
//! requests meanwhile, from a live run. `docs/runs/walks.md` is that run, byte for byte; `ORDO_BLESS=1` rewrites it.

use crate::common;
mod crash;
mod list;

use common::{fresh, located};
use list::{Walk, walks};
use ordo_ondisk::{Endian, Format};
use ordo_probe::{Line, Tracer};
use ordo_simdisk::{Event, Recorder};
use ordo_workload::Session;
use ordofs::disk::{DiskOp, Kind as Role, RamDisk};
use ordofs::rt::Rt;
use ordofs::schemes::Settings;
use ordofs::vfs::FileSystem;
use ordofs::{MountOptions, Mounted};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

const BLOCK: u64 = 4096;
const FRAGMENT: u64 = 512;
/// Blocks after which a sequential writer's cluster is full.
const CLUSTER: u64 = (1 << 20) / BLOCK;
/// Pointers in an indirect block.
const POINTERS: u64 = BLOCK / 8;

const HEAD: &str = "\
# Walks

The steps of a call that the engine reports to a scheme, what the scheme demands before the engine goes on, and the
requests that the disk gets meanwhile. Made from a live run by `tests/engine/tests/ordofs/walks/mod.rs`;
`ORDO_BLESS=1 cargo test -p ordo-engine-tests --test ordofs walks` rewrites it. By rule seam-0
(`crates/engine/buf/src/scheme.rs`) the order of the steps is one that would be safe if each were durable before the
next began.

The volume: UFS2, blocks of 4096 bytes and fragments of 512, on a disk with a volatile cache. `@n+m` means m fragments
from fragment n on. Before each walk everything is durable. `-> ` is what the scheme demands, `disk: ` a request to the
disk; below `later` is what a sync after the call writes. A block number such as -12 is an indirect block: -12
is the first.
";

/// Records the story: the steps as they are reported, and before each of them the requests to the disk.
struct Scribe {
    recorder: Recorder,
    lines: RefCell<Vec<String>>,
    /// The walk has begun.
    listening: Cell<bool>,
}

impl Scribe {
    fn hear(&self, line: Line) {
        if !self.listening.get() {
            return;
        }
        self.look_at_the_disk();
        let bracket = line.step.starts_with("begin ") || line.step.starts_with("end ");
        self.say(format!("{}{}", if bracket { "" } else { "  " }, line.step));
        if !line.answer.is_empty() {
            self.say(format!("    -> {}", line.answer));
        }
    }

    fn look_at_the_disk(&self) {
        for event in self.recorder.take() {
            let Event::Begin { op, at, parts, .. } = event else { continue };
            let mut at = at.0 / FRAGMENT;
            match op {
                DiskOp::Flush => self.say("      disk: flush".into()),
                DiskOp::Write => {
                    for part in parts {
                        let frags = part.len / FRAGMENT;
                        self.say(format!("      disk: write {}, @{at}+{frags}", kind(part.tag.kind)));
                        at += frags;
                    }
                }
                _ => {}
            }
        }
    }

    fn say(&self, line: String) {
        self.lines.borrow_mut().push(line);
    }
}

fn kind(kind: Role) -> &'static str {
    match kind {
        Role::Superblock => "superblock",
        Role::Maps => "cylinder group",
        Role::Inodes => "inode block",
        Role::Directory => "directory block",
        Role::Indirect => "indirect block",
        Role::Data => "data",
        Role::Summary => "summary",
        _ => "something else",
    }
}

/// A volume on which a walk is about to begin; everything is durable.
struct Ready {
    rt: Rt,
    ram: RamDisk,
    recorder: Recorder,
    scribe: Rc<Scribe>,
    mounted: Mounted,
}

impl Ready {
    fn new(walk: &Walk, scheme: &str) -> Ready {
        let rt = Rt::virtual_time(7);
        let shape = (Format::Ufs2, Endian::Little, BLOCK as u32, FRAGMENT as u32);
        let ram = fresh(&rt, shape, 16 << 20).volatile(true);
        let recorder = Recorder::new(&rt, Rc::new(ram.clone()), true);
        let scribe = Scribe { recorder: recorder.clone(), lines: RefCell::default(), listening: Cell::new(false) };
        let scribe = Rc::new(scribe);
        let inner = ordo_schemes::by_name(scheme).expect("it is known").make(Settings::default());
        let inner = inner.expect("it breaks no rule");
        let listener = scribe.clone();
        let tracer = Rc::new(Tracer::new(inner, move |line| listener.hear(line)));
        let (located, options) = (located(&ram, Rc::new(recorder.clone())), MountOptions::default());
        let mounted = rt.block_on(Mounted::mount_with(&rt, located, tracer, &options)).expect("it can be mounted");
        rt.block_on(async {
            (walk.before)(&Session::new(&**mounted.fs())).await.expect("there is room");
            mounted.fs().syncfs().await.expect("the disk is well");
        });
        recorder.take();
        Ready { rt, ram, recorder, scribe, mounted }
    }

    fn call(&self, walk: &Walk) {
        self.rt.block_on((walk.call)(&Session::new(&**self.mounted.fs()))).expect("there is room");
    }

    fn sync(&self) {
        self.rt.block_on(self.mounted.fs().syncfs()).expect("the disk is well");
    }
}

/// The story of a walk under a scheme.
fn story(walk: &Walk, scheme: &str) -> Vec<String> {
    let ready = Ready::new(walk, scheme);
    let scribe = ready.scribe.clone();
    scribe.listening.set(true);
    ready.call(walk);
    scribe.look_at_the_disk();
    scribe.say("later".into());
    ready.sync();
    scribe.look_at_the_disk();
    scribe.listening.set(false);
    ready.rt.block_on(ready.mounted.unmount()).expect("the disk is well");
    common::assert_clean(&ready.rt, &ready.ram, walk.name);
    ready.rt.drop_tasks();
    scribe.lines.take()
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for walk in walks() {
        text += &format!("\n## {}\n\n{}\n", walk.name, walk.about);
        for scheme in ["sync", "async"] {
            text += &format!("\n`{scheme}`:\n\n```text\n{}\n```\n", story(&walk, scheme).join("\n"));
        }
    }
    text
}

#[test]
fn the_walks_are_those_of_the_document() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs/walks.md");
    let text = document();
    assert_eq!(text, document(), "two runs are the same");
    if std::env::var_os("ORDO_BLESS").is_some() {
        std::fs::write(&path, &text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(old, new)| old != new);
    assert!(kept == text, "docs/runs/walks.md is old from line {differs:?} on; ORDO_BLESS=1 rewrites it:\n{text}");
}
