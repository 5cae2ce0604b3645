//! What each call does to names, files and descriptors; and the lines of a file trace that say so.
//!
//! F1. A call is done where it is over in the file. Its time is that at which it began, but no earlier than what it
//!     is about was made or moved: what a line names is there by then.
//! F2. A file is what its descriptor or its name leads to; what `-y` says decides where neither is known.
//! F3. The last name of a path is looked up each time, and those before it when they are met first.
//! F4. An `open` that may make a file is taken to make it if its name is unknown. Where more is found in it than was
//!     written, the line becomes a lookup.
//! F5. A number of a node is never given again. When its last name and its last descriptor are gone, it is forgotten,
//!     no earlier than the last line about it.

mod data;
mod names;
mod path;

use super::join::{Ending, Event, Happened, split};
use super::left::{Left, Strace, StraceError};
use super::table::Table;
use super::text::{self, Said, has};
use super::tree::{Place, ROOT, Root, Tree};
use crate::call::{Call, Found, Kind, Op, Outcome};
use std::collections::{HashMap, VecDeque};

/// The number of the only process of a trace without numbers.
const ONLY: u32 = 0;
/// Linux's errors of a name, and of an attribute, that is not there.
const NO_ENTRY: u32 = 2;
const NO_DATA: u32 = 61;

/// Why a call leads to no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It is about a file outside of the root.
    Outside,
    /// It was refused.
    Failed,
    /// It does not say about which file it is.
    Unplaced,
    /// Nothing here knows it.
    NotFollowed,
    /// It is no call of Linux.
    Bad(&'static str),
}

type Done = Result<(), Stop>;

/// A call.
struct Asked<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
    ending: Ending<'a>,
}

impl<'a> Asked<'a> {
    fn argument(&self, at: usize) -> Result<&'a str, Stop> {
        self.arguments.get(at).copied().ok_or(Stop::Bad("it has fewer arguments than its call"))
    }

    /// An argument that may be missing, as flags may.
    fn flags(&self, at: usize) -> &'a str {
        self.arguments.get(at).copied().unwrap_or_default()
    }

    fn string(&self, at: usize) -> Result<Vec<u8>, Stop> {
        // An address instead: strace could not read it.
        text::string(self.argument(at)?).ok_or(Stop::Unplaced)
    }

    fn number(&self, at: usize) -> Result<u64, Stop> {
        text::number(self.argument(at)?).ok_or(Stop::Bad("an argument is no number"))
    }

    /// What it returned.
    fn done(&self) -> Result<u64, Stop> {
        match &self.ending {
            Ending::Done(value, _) => Ok(*value),
            Ending::Refused(_) | Ending::Unknown => Err(Stop::Failed),
        }
    }

    /// The descriptor that it returned.
    fn made(&self) -> Result<(u32, Option<Said>), Stop> {
        match &self.ending {
            Ending::Done(value, said) => {
                let number = u32::try_from(*value).map_err(|_| Stop::Bad("its result is no descriptor"))?;
                Ok((number, said.as_ref().and_then(|said| said.said.clone())))
            }
            Ending::Refused(_) | Ending::Unknown => Err(Stop::Failed),
        }
    }

    fn is_refused_with(&self, error: &str) -> bool {
        self.ending == Ending::Refused(error)
    }
}

/// How a process was born, and by which event.
struct Birth {
    event: usize,
    parent: Option<u32>,
    shares_files: bool,
    shares_working: bool,
}

/// The state between calls.
struct Follower {
    tree: Tree,
    table: Table,
    births: HashMap<u32, VecDeque<Birth>>,
    calls: Vec<Call>,
    left: Left,
    task: u32,
    /// The line of the call, when it began, and when what it is about was there (F1).
    line: usize,
    now_us: u64,
    floor_us: u64,
}

/// Follows all of it.
pub(super) fn follow(events: &[Event<'_>], root: Root) -> Result<Strace, StraceError> {
    let mut follower = Follower {
        tree: Tree::new(root),
        table: Table::default(),
        births: HashMap::new(),
        calls: Vec::new(),
        left: Left::default(),
        task: ONLY,
        line: 0,
        now_us: 0,
        floor_us: 0,
    };
    follower.births(events);
    let mut seen = 0;
    for (at, event) in events.iter().enumerate() {
        seen += u64::from(follower.event(at, event)?);
    }
    let Follower { tree, mut calls, left, .. } = follower;
    for call in &mut calls {
        if let Outcome::Found(found) = &mut call.outcome {
            // What was taken for a file may have become known as something else.
            found.kind = tree.node(found.node as u32 - 1).kind;
        }
    }
    // A stable sort: what came at the same time stays in the order of the file.
    calls.sort_by_key(|call| call.at_us);
    Ok(Strace { calls, seen, left })
}

impl Follower {
    /// Who bears whom: a child may be seen before its parent's call is over.
    fn births(&mut self, events: &[Event<'_>]) {
        for (at, event) in events.iter().enumerate() {
            let Happened::Call(name, call) = &event.what else { continue };
            if !matches!(*name, "clone" | "clone3" | "fork" | "vfork") {
                continue;
            }
            let Ok((_, Ending::Done(child, _))) = split(call) else { continue };
            let birth = Birth {
                event: at,
                parent: event.pid,
                shares_files: has(call, "CLONE_FILES"),
                shares_working: has(call, "CLONE_FS"),
            };
            if let Ok(child) = u32::try_from(child) {
                self.births.entry(child).or_default().push_back(birth);
            }
        }
    }

    /// The process of an event. One that is new has what its parent has, if that is known.
    fn task(&mut self, pid: Option<u32>) -> u32 {
        let task = pid.unwrap_or_else(|| self.table.only().unwrap_or(ONLY));
        if self.table.knows(task) {
            return task;
        }
        match self.births.get_mut(&task).and_then(VecDeque::pop_front) {
            Some(birth) => self.bear(birth, task),
            // The first process gets its number where there is a second one.
            None if self.table.knows(ONLY) => self.table.rename(ONLY, task),
            None => self.table.begin(task),
        }
        task
    }

    fn bear(&mut self, birth: Birth, child: u32) {
        let parent = birth.parent.unwrap_or_else(|| self.table.only().unwrap_or(ONLY));
        if !self.table.knows(parent) {
            self.table.begin(parent);
        }
        if parent != child {
            self.table.fork(parent, child, birth.shares_files, birth.shares_working);
        }
    }

    /// Follows one event. Tells whether it was a call that was followed.
    fn event(&mut self, at: usize, event: &Event<'_>) -> Result<bool, StraceError> {
        self.task = self.task(event.pid);
        (self.line, self.now_us, self.floor_us) = (event.line, event.at_us, 0);
        let bad = |what| StraceError { line: event.line, what };
        let is_followed = match &event.what {
            Happened::Ended => {
                self.table.end(self.task);
                false
            }
            Happened::Superseded(thread) => {
                self.table.rename(*thread, self.task);
                false
            }
            Happened::Call(name, call) => {
                let (arguments, ending) = split(call).map_err(bad)?;
                let asked = Asked { name, arguments, ending };
                let done = self.call(at, &asked);
                match done {
                    Ok(()) => {}
                    Err(Stop::Outside) => self.left.outside += 1,
                    Err(Stop::Failed) => self.left.failed += 1,
                    Err(Stop::Unplaced) => self.left.unplaced += 1,
                    Err(Stop::NotFollowed) => *self.left.not_followed.entry(name.to_string()).or_default() += 1,
                    Err(Stop::Bad(what)) => return Err(bad(what)),
                }
                done.is_ok()
            }
        };
        for place in self.table.gone() {
            if let Place::In(node) = place {
                self.tree.node_mut(node).opens -= 1;
                self.forget_if_gone(node);
            }
        }
        Ok(is_followed)
    }

    fn call(&mut self, at: usize, asked: &Asked<'_>) -> Done {
        if let Some(directory) = asked.arguments.first().filter(|first| first.starts_with("AT_FDCWD<")) {
            // What -y says here helps calls that name no directory. If it has no place, the call itself says so.
            let _ = self.working(directory);
        }
        match asked.name {
            "clone" | "clone3" | "fork" | "vfork" => self.clone_process(at, asked),
            "execve" => self.exec(asked, (None, 0)),
            "execveat" => self.exec(asked, (Some(0), 1)),
            "exit" | "exit_group" => Ok(()),
            _ => match self.on_names(asked) {
                Err(Stop::NotFollowed) => self.on_data(asked),
                done => done,
            },
        }
    }

    fn clone_process(&mut self, at: usize, asked: &Asked<'_>) -> Done {
        let child = u32::try_from(asked.done()?).map_err(|_| Stop::Bad("its result is no process"))?;
        let births = self.births.entry(child).or_default();
        // Unless the child was seen before.
        if births.front().is_some_and(|birth| birth.event == at)
            && let Some(birth) = births.pop_front()
        {
            self.bear(Birth { parent: Some(self.task), ..birth }, child);
        }
        Ok(())
    }

    fn exec(&mut self, asked: &Asked<'_>, at: (Option<usize>, usize)) -> Done {
        if asked.done().is_err() {
            return self.refused(asked, at, true);
        }
        // Before the new program: it may be that of a descriptor which is closed now.
        let spot = self.spot(asked, at, true);
        self.table.exec(self.task);
        self.ask(&spot?).map(drop)
    }

    /// A line, now (F1).
    fn line(&self, op: Op, node: u32) -> Call {
        Call { line: self.line, ..Call::new(self.at_us(), op, number(node)) }
    }

    fn at_us(&self) -> u64 {
        self.now_us.max(self.floor_us)
    }

    /// What a line found or made.
    fn found(&self, node: u32) -> Outcome {
        let known = self.tree.node(node);
        Outcome::Found(Found { node: number(node), kind: known.kind, size: known.size })
    }

    /// Something is about this node: no line may be earlier than it.
    fn about(&mut self, node: u32) {
        self.floor_us = self.floor_us.max(self.tree.node(node).since_us);
    }

    /// A line about a node.
    fn push_on(&mut self, op: Op, node: u32, with: impl FnOnce(Call) -> Call) {
        self.about(node);
        let call = with(self.line(op, node));
        self.calls.push(call);
        self.used(node);
    }

    /// A line has just been about this node.
    fn used(&mut self, node: u32) {
        let at_us = self.at_us();
        let known = self.tree.node_mut(node);
        known.last_us = known.last_us.max(at_us);
    }

    fn forget_if_gone(&mut self, node: u32) {
        let known = self.tree.node_mut(node);
        if node != ROOT && known.names == 0 && known.opens == 0 && known.held > 0 {
            let len = std::mem::take(&mut known.held);
            // Others may have used it while this call was under way.
            self.floor_us = self.floor_us.max(known.last_us);
            self.push_on(Op::Forget, node, |call| Call { len, ..call });
        }
    }

    /// A node is seen to be of this kind and size.
    fn learn(&mut self, node: u32, kind: Option<Kind>, size: Option<u64>) {
        let known = self.tree.node_mut(node);
        known.kind = kind.unwrap_or(known.kind);
        let Some(size) = size else { return };
        // More than was written: it was there before (F4).
        if size > known.size
            && let Some(line) = known.doubt.take()
        {
            self.calls[line].op = Op::Lookup;
            if let Outcome::Found(found) = &mut self.calls[line].outcome {
                found.size = size;
            }
        }
        (known.size, known.is_sized) = (size, true);
    }
}

/// The number of a node in a file trace: the root has 1.
fn number(node: u32) -> u64 {
    u64::from(node) + 1
}
