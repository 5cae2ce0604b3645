//! Runs the traced call.

use super::scribe::Scribe;
use super::{Trace, What};
use crate::bed::Bed;
use crate::{Error, Subject};
use ordo_buf::{CacheStats, TicketEvent};
use ordo_model::MemFs;
use ordo_probe::Tracer;
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem};
use ordo_workload::random::{Op, Outcome, Player};
use ordofs::{LayoutName, Mounted};
use std::rc::Rc;
use std::time::Duration;

/// What to trace.
#[derive(Clone)]
pub struct Asked {
    /// What is traced.
    pub subject: Subject,
    /// Calls that are made first, and made durable.
    pub setup: Vec<Op>,
    /// The call.
    pub call: Op,
    /// After the call has returned, all bufs are written at once in no chosen order, as under memory pressure.
    pub at_once: bool,
    /// The random seed.
    pub seed: u64,
}

/// Seconds after which no more writes are expected: the syncer lets a change wait 30 of them, and a write that depends
/// on another waits again.
const PATIENCE: u32 = 240;

/// Seconds without an event after which no more events are expected.
const QUIET: u32 = 45;

fn privileged() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// The size in bytes of the file `path` after these calls, 0 where there is none.
pub fn size_of(setup: &[Op], path: &str) -> u64 {
    let memory = MemFs::timeless();
    let mut player = Player::new(&memory, privileged());
    for op in setup {
        ordo_model::ready(player.apply(op));
    }
    match ordo_model::ready(player.apply(&Op::Stat { path: path.to_owned() })) {
        Outcome::Attr(seen) => seen.size,
        _ => 0,
    }
}

/// Makes the call, and traces until everything is durable.
///
/// # Errors
/// There is no such scheme; a call of the set-up fails; the volume fails.
pub fn trace(asked: &Asked) -> Result<Trace, Error> {
    let subject = &asked.subject;
    subject.promises()?;
    let bed = Bed::new(subject, asked.seed, subject.layout() == LayoutName::Lfs)?;
    let (rt, scribe) = (bed.rt.clone(), Rc::new(Scribe::new(&bed.rt, &bed.recorder)));
    let listener = scribe.clone();
    let order = subject.order()?.behind(Rc::new(move |scheme| {
        let listener = listener.clone();
        Rc::new(Tracer::of_everything(scheme, move |traced| listener.hear(traced)))
    }));
    bed.run(order, |mounted| {
        let outcome = Run { asked, rt: &rt, mounted, scribe: &scribe }.all();
        mounted.cache().ledger().watch(None);
        outcome
    })
}

struct Run<'a> {
    asked: &'a Asked,
    rt: &'a Rt,
    mounted: &'a Mounted,
    scribe: &'a Rc<Scribe>,
}

impl Run<'_> {
    fn all(&self) -> Result<Trace, Error> {
        let fs = &**self.mounted.fs();
        let mut player = Player::new(fs, privileged());
        for op in &self.asked.setup {
            match self.rt.block_on(player.apply(op)) {
                Outcome::Refused(why) => return Err(Error::Run(format!("set-up: {op}: {why:?}"))),
                Outcome::Failed(why) => return Err(Error::Run(format!("set-up: {op}: {why}"))),
                Outcome::Skipped => return Err(Error::Run(format!("set-up: {op}: means nothing here"))),
                _ => {}
            }
        }
        for _ in 0..2 {
            self.sync()?;
            self.sleep(2);
        }
        let before = self.mounted.cache().stats();
        self.watch_tickets();
        self.scribe.begin(self.mounted.lfs().map(|log| log.geometry));
        let refused = match self.rt.block_on(player.apply(&self.asked.call)) {
            Outcome::Failed(why) => return Err(Error::Run(format!("{}: {why}", self.asked.call))),
            Outcome::Refused(why) => Some(format!("{why:?}")),
            Outcome::Skipped => Some("it means nothing here".to_owned()),
            _ => None,
        };
        self.scribe.say(What::Returns);
        let returned_us = self.scribe.last();
        drop(player);
        if self.asked.at_once {
            let written = self.rt.block_on(self.mounted.cache().write_everything());
            written.map_err(|error| Error::Run(error.to_string()))?;
        }
        let needed_sync = !self.rest();
        let waits = self.mounted.cache().stats().waits - before.waits;
        if needed_sync {
            self.scribe.say(What::Sync);
            self.sync()?;
            self.sleep(2);
        }
        let durable_us = if needed_sync { self.scribe.last() } else { self.scribe.say_durable() };
        if needed_sync {
            self.scribe.say(What::Durable);
        }
        let trace = Trace { refused, returned_us, durable_us, needed_sync, waits, ..Trace::default() };
        Ok(self.finish(before, trace))
    }

    fn finish(&self, before: CacheStats, trace: Trace) -> Trace {
        let after = self.mounted.cache().stats();
        let flushes = self.scribe.flushes();
        let (mut events, lanes) = self.scribe.end();
        if let Some(durable) = events.iter_mut().rfind(|event| event.what == What::Durable) {
            // The check runs once a second; everything was durable from the line before on.
            durable.us = trace.durable_us;
        }
        Trace {
            scheme: self.asked.subject.scheme.clone(),
            disk: self.asked.subject.device.name.to_owned(),
            setup: self.asked.setup.iter().map(Op::to_string).collect(),
            call: self.asked.call.to_string(),
            lanes,
            events,
            writes: after.writes - before.writes,
            rollbacks: after.rollbacks - before.rollbacks,
            flushes,
            ..trace
        }
    }

    fn watch_tickets(&self) {
        let scribe = self.scribe.clone();
        self.mounted.cache().ledger().watch(Some(Rc::new(move |event| {
            if let TicketEvent::Settled(freed) = event {
                scribe.freed(freed);
            }
        })));
    }

    /// Advances the clock until nothing is left to be written. `false` if something stays unwritten.
    fn rest(&self) -> bool {
        let mut quiet = 0;
        for _ in 0..PATIENCE {
            let last = self.scribe.last();
            self.sleep(1);
            if self.is_durable() {
                return true;
            }
            quiet = if self.scribe.last() == last { quiet + 1 } else { 0 };
            if quiet > QUIET {
                break;
            }
        }
        false
    }

    fn is_durable(&self) -> bool {
        let cache = self.mounted.cache();
        cache.stats().dirty_bytes == 0 && self.scribe.is_idle() && cache.ledger().outstanding() == 0
    }

    fn sync(&self) -> Result<(), Error> {
        self.rt.block_on(self.mounted.fs().syncfs()).map_err(|error| Error::Run(format!("sync: {error}")))
    }

    fn sleep(&self, seconds: u64) {
        self.rt.block_on(self.rt.sleep(Duration::from_secs(seconds)));
    }
}
