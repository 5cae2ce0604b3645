//! What `ufs` offers to a worker in the background and to an observer of names, whatever they do: the reclaim of leaks
//! has tests of its own (`leaks`).

use crate::common;

use common::{SHAPES, assert_clean, fresh, mount};
use ordo_buf::{CallKind, Freed};
use ordo_ffs::Ffs;
use ordo_ondisk::Ino;
use ordo_ufs::{Access, EntryAt, Observer, Then, Ufs, Worker, Working};
use ordofs::Mounted;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId, RenameMode};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };

fn volume() -> (Rt, RamDisk, Mounted) {
    let rt = Rt::virtual_time(1);
    let ram = fresh(&rt, SHAPES[0], 24 << 20);
    let mounted = mount(&rt, &ram, "async");
    (rt, ram, mounted)
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("a name")
}

async fn mkdir(fs: &Ufs<Ffs>, dir: NodeId, text: &str) -> NodeId {
    fs.mkdir(&WHO, dir, name(text), Mode::new(0o755)).await.expect("room").node
}

async fn create(fs: &Ufs<Ffs>, dir: NodeId, text: &str) -> NodeId {
    fs.mknod(&WHO, dir, name(text), Kind::Regular, Mode::new(0o644), 0).await.expect("room").node
}

fn ino(node: NodeId) -> Ino {
    Ino(u32::try_from(node.0).expect("an inode's number"))
}

/// What an observer was notified of.
#[derive(Debug, PartialEq, Eq)]
enum Note {
    Entered { dir: Ino, ino: Ino, directory: bool, new: bool },
    Redirected { dir: Ino, was: Ino, ino: Ino },
    Cleared { dir: Ino, ino: Ino, parent: Option<Ino> },
}

#[derive(Default)]
struct Notes(RefCell<Vec<Note>>);

impl Notes {
    fn take(&self) -> Vec<Note> {
        self.0.take()
    }
}

impl Observer for Notes {
    fn entered(&self, EntryAt { dir, ino, .. }: EntryAt, directory: bool, new: bool) {
        self.0.borrow_mut().push(Note::Entered { dir, ino, directory, new });
    }

    fn redirected(&self, was: Ino, EntryAt { dir, ino, .. }: EntryAt, _: bool, freed: &Freed) {
        assert!(matches!(freed, Freed::DropLink { ino, .. } if *ino == was), "the ticket drops the link that it was");
        self.0.borrow_mut().push(Note::Redirected { dir, was, ino });
    }

    fn cleared(&self, EntryAt { dir, ino, .. }: EntryAt, freed: &Freed) {
        let Freed::DropLink { ino: dropped, parent, .. } = *freed else { panic!("a name is a link") };
        assert_eq!(dropped, ino);
        self.0.borrow_mut().push(Note::Cleared { dir, ino, parent });
    }
}

#[test]
fn observer_is_notified_of_every_change_of_an_entry_once_and_in_order() {
    let (rt, ram, mounted) = volume();
    let notes = Rc::new(Notes::default());
    rt.block_on(async {
        let (fs, root) = (&**ffs(&mounted), mounted.fs().root());
        mkdir(fs, root, "unobserved").await;
        fs.watch_names(Some(notes.clone()));
        let (a, b) = (mkdir(fs, root, "a").await, mkdir(fs, root, "b").await);
        let file = create(fs, a, "file").await;
        let new = |node, directory| Note::Entered { dir: Ino::ROOT, ino: ino(node), directory, new: directory };
        let made = Note::Entered { dir: ino(a), ino: ino(file), directory: false, new: false };
        assert_eq!(notes.take(), [new(a, true), new(b, true), made]);

        // A directory that moves (ufs-observer-2).
        fs.rename(root, name("a"), b, name("a"), RenameMode::Replace).await.expect("it can move");
        let moved = [
            Note::Entered { dir: ino(b), ino: ino(a), directory: true, new: false },
            Note::Redirected { dir: ino(a), was: Ino::ROOT, ino: ino(b) },
            Note::Cleared { dir: Ino::ROOT, ino: ino(a), parent: None },
        ];
        assert_eq!(notes.take(), moved);

        // A name over another one, then an empty directory.
        let over = create(fs, b, "over").await;
        notes.take();
        fs.rename(b, name("over"), a, name("file"), RenameMode::Replace).await.expect("it can be replaced");
        fs.unlink(a, name("file")).await.expect("it is there");
        fs.rmdir(b, name("a")).await.expect("it is empty");
        let gone = [
            Note::Redirected { dir: ino(a), was: ino(file), ino: ino(over) },
            Note::Cleared { dir: ino(b), ino: ino(over), parent: None },
            Note::Cleared { dir: ino(a), ino: ino(over), parent: None },
            Note::Cleared { dir: ino(b), ino: ino(a), parent: Some(ino(b)) },
        ];
        assert_eq!(notes.take(), gone);

        fs.watch_names(None);
        fs.rmdir(root, name("unobserved")).await.expect("it is empty");
        assert_eq!(notes.take(), []);
        mounted.unmount().await.expect("the disk is well");
    });
    assert_clean(&rt, &ram, "observed");
}

/// A worker that is alone for a while in each step, and counts.
struct Lone {
    rt: Rt,
    /// How often it lets other tasks run within a step.
    turns: u32,
    steps: u32,
    alone: Cell<bool>,
    begun: Cell<u32>,
    ended: Cell<u32>,
    stopped: Cell<u32>,
}

impl Lone {
    /// Attached to a volume, and not running yet.
    fn attached(rt: &Rt, mounted: &Mounted, steps: u32) -> Rc<Lone> {
        let zero = Cell::default;
        let (rt, alone) = (rt.clone(), Cell::default());
        let lone = Rc::new(Lone { rt, turns: 20, steps, alone, begun: zero(), ended: zero(), stopped: zero() });
        ffs(mounted).attach_worker(lone.clone());
        lone
    }
}

impl Worker<Ufs<Ffs>> for Lone {
    fn step<'a>(&'a self, fs: Access<'a, Ufs<Ffs>>) -> Working<'a> {
        Box::pin(async move {
            self.begun.set(self.begun.get() + 1);
            let alone = async |_| {
                self.alone.set(true);
                for _ in 0..self.turns {
                    self.rt.yield_now().await;
                }
                self.alone.set(false);
                Ok(())
            };
            fs.call_alone(CallKind::Reclaim, alone).await.expect("the disk is well");
            self.ended.set(self.ended.get() + 1);
            if self.ended.get() < self.steps { Then::Again } else { Then::Over }
        })
    }

    fn stopped(&self, _: Access<'_, Ufs<Ffs>>) {
        self.stopped.set(self.stopped.get() + 1);
    }
}

/// Notes whether names change while the worker is alone.
impl Observer for Lone {
    fn entered(&self, _: EntryAt, _: bool, _: bool) {
        assert!(!self.alone.get(), "a name is entered while the worker is alone");
    }

    fn redirected(&self, _: Ino, _: EntryAt, _: bool, _: &Freed) {
        assert!(!self.alone.get(), "a name is redirected while the worker is alone");
    }

    fn cleared(&self, _: EntryAt, _: &Freed) {
        assert!(!self.alone.get(), "a name is cleared while the worker is alone");
    }
}

#[test]
fn no_name_changes_while_the_worker_is_alone_and_writes_go_on() {
    let (rt, ram, mounted) = volume();
    let lone = Lone::attached(&rt, &mounted, 50);
    ffs(&mounted).watch_names(Some(lone.clone()));
    rt.spawn(Ufs::run_worker(Rc::downgrade(ffs(&mounted))));
    let writes = Rc::new(Cell::new(0));
    rt.block_on(async {
        let (fs, root) = (ffs(&mounted), mounted.fs().root());
        let file = create(fs, root, "file").await;
        let (writer, count, beside) = (fs.clone(), writes.clone(), lone.clone());
        rt.spawn(async move {
            while beside.ended.get() < 50 {
                writer.write(&WHO, file, 0, b"beside").await.expect("room");
                count.set(count.get() + u32::from(beside.alone.get()));
                beside.rt.yield_now().await;
            }
        });
        let mut names = 0;
        while lone.ended.get() < 50 {
            create(fs, root, "one").await;
            fs.rename(root, name("one"), root, name("two"), RenameMode::Replace).await.expect("it is there");
            fs.unlink(root, name("two")).await.expect("it is there");
            names += 1;
            rt.yield_now().await;
        }
        assert!(names > 10, "{names} rounds beside the worker");
        assert!(writes.get() > 100, "{} writes while the worker was alone", writes.get());
        mounted.unmount().await.expect("the disk is well");
    });
    // It was over before the unmount.
    assert_eq!((lone.begun.get(), lone.ended.get(), lone.stopped.get()), (50, 50, 0));
    assert_clean(&rt, &ram, "beside a worker");
}

#[test]
fn unmount_lets_the_step_end_and_no_other_begin() {
    for turns in [0, 1, 5, 30] {
        let (rt, ram, mounted) = volume();
        let lone = Lone::attached(&rt, &mounted, u32::MAX);
        rt.spawn(Ufs::run_worker(Rc::downgrade(ffs(&mounted))));
        rt.block_on(async {
            for _ in 0..turns {
                rt.yield_now().await;
            }
            mounted.unmount().await.expect("the disk is well");
            let begun = lone.begun.get();
            assert!((begun > 0) == (turns > 0), "{begun} steps after {turns} turns");
            assert_eq!((lone.ended.get(), lone.stopped.get(), lone.alone.get()), (begun, 1, false));
            for _ in 0..100 {
                rt.yield_now().await;
            }
            assert_eq!(lone.begun.get(), begun, "no step follows");
        });
        assert_clean(&rt, &ram, "a stopped worker");
    }
}

/// The file system with its layout: observers and workers are below the choice of one.
fn ffs(mounted: &Mounted) -> &Rc<Ufs<Ffs>> {
    let ordofs::Fs::Ffs(fs) = &**mounted.fs() else { panic!("it is UFS") };
    fs
}
