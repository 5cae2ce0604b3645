//! One run: the requests of a trace, the memory, the queue and the drive, event by event.
//!
//! R1. A request is a row of steps: the names on its way and its inode, the blocks that point to its data, its data.
//!     The reads of a step are in the queue together; the next step begins when all are there.
//! R2. A write changes memory, and is done. A read sets the time of last access in the inode, which is a change, too.
//! R3. Memory is written back when the timer ends, or when too much of it is dirty; one write-back at a time.
//! R4. What a layout learns from is the order in which data is asked for: not that in which the blocks that point to it
//!     happen to come.
//! R5. What the kernel reads ahead of a reader goes into the queue behind what the reader waits for. Nobody waits for
//!     it.
//! R6. Of events at one time the drive's comes first, then the timer's, then the next request.

use crate::ahead::Ahead;
use crate::cache::Cache;
use crate::layout::{self, Batch, Layout};
use crate::result::{Outcome, Seeks, Work, summary};
use crate::sched::{NO_COPIES, Queue, Tag, Taken};
use crate::setting::{Setting, SettingError, System};
use crate::trace::{Op, Request, Trace};
use crate::volume::{Kind, NONE, SECTORS, Volume, next_pointed, pointer};
use ordo_drive::{Drive, Kind as DriveKind, Lbn, Location, Ms, Profile, Request as DriveRequest};

/// A run that is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The drive is not one of those that are built in.
    #[error("drive {name}")]
    Drive {
        /// Its name.
        name: &'static str,
        /// Why.
        #[source]
        cause: ordo_drive::ProfileError,
    },
    /// The drive has no arm.
    #[error("{name} is no mechanical drive; choose one with cylinders")]
    NoArm {
        /// Its name.
        name: &'static str,
    },
    /// Something cannot be set so.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The drive refuses a request: a mistake of this program.
    #[error("a request of the simulator")]
    Request(#[from] ordo_drive::RequestError),
}

/// Plays a trace on a system.
///
/// # Errors
/// If its drive does not exist.
pub fn run(system: System, trace: &Trace, setting: &Setting) -> Result<Outcome, SimError> {
    let volume = Volume::of(trace, setting.checked()?.group);
    let mut sim = Sim::new(system, trace, &volume, setting)?;
    sim.play()?;
    sim.work.add(sim.layout.done());
    sim.work.end_ms = sim.now;
    sim.work.mean_place /= sim.work.blocks_written.max(1) as f64;
    let (mean, p95, max, distribution) = summary(&mut sim.responses);
    Ok(Outcome {
        system: system.name(),
        trace: trace.name.clone(),
        requests: trace.requests.len(),
        mean_response_ms: mean,
        p95_ms: p95,
        max_ms: max,
        distribution,
        seeks: sim.seeks,
        work: sim.work,
    })
}

/// A request that waits for the drive.
#[derive(Debug, Clone, Copy)]
struct Job {
    request: u32,
    waiting: u32,
    /// Its data has been asked for: when that is there, it is done.
    last: bool,
}

/// A write-back.
#[derive(Debug)]
struct Flush {
    batch: Batch,
    step: u32,
    outstanding: usize,
}

struct Sim<'a> {
    trace: &'a Trace,
    volume: &'a Volume,
    layout: Box<dyn Layout>,
    cache: Cache,
    queue: Queue,
    drive: Drive,
    profile: ordo_drive::DiskProfile,
    now: f64,
    /// Jobs, and the free ones of them.
    jobs: Vec<Job>,
    idle: Vec<u32>,
    unfinished: usize,
    /// The request in the queue that brings a page, and 1; 0 if none does.
    reading: Vec<u32>,
    missing: Vec<u32>,
    /// What is read ahead in each file; of no file if the kernel does not.
    ahead: Vec<Ahead>,
    /// Files that a first write has made.
    made: Vec<bool>,
    dirty: Vec<u32>,
    flush: Option<Flush>,
    due: bool,
    timer_ms: f64,
    tick: f64,
    began: Option<f64>,
    /// What the drive serves, and until when.
    served: Option<(Taken, f64)>,
    head: u32,
    arm: Location,
    responses: Vec<f64>,
    seeks: Seeks,
    work: Work,
}

impl<'a> Sim<'a> {
    fn new(system: System, trace: &'a Trace, volume: &'a Volume, setting: &Setting) -> Result<Sim<'a>, SimError> {
        let name = trace.drive;
        let profile = Profile::named(name).map_err(|cause| SimError::Drive { name, cause })?;
        let DriveKind::Disk(disk) = &profile.kind else { return Err(SimError::NoArm { name }) };
        let pages = volume.pages();
        let inodes = (volume.files.len() + volume.directories.len()) as u32;
        Ok(Sim {
            trace,
            volume,
            layout: layout::of(system, volume, setting),
            cache: Cache::new(setting.cache, pages as u32, inodes),
            queue: Queue::new(setting.scheduler),
            profile: disk.clone(),
            drive: Drive::new(profile),
            now: 0.0,
            jobs: Vec::new(),
            idle: Vec::new(),
            unfinished: 0,
            reading: vec![0; pages],
            missing: Vec::new(),
            ahead: vec![
                Ahead::default();
                if setting.prefetch && volume.places.is_none() { volume.files.len() } else { 0 }
            ],
            made: vec![false; volume.files.len()],
            dirty: Vec::new(),
            flush: None,
            due: false,
            timer_ms: setting.timer_ms,
            tick: f64::INFINITY,
            began: None,
            served: None,
            head: 0,
            arm: Location::default(),
            responses: Vec::with_capacity(trace.requests.len()),
            seeks: Seeks::default(),
            work: Work { shortest_interval_ms: f64::INFINITY, ..Work::default() },
        })
    }

    fn play(&mut self) -> Result<(), SimError> {
        let mut next = 0;
        loop {
            let arrival = self.trace.requests.get(next).map_or(f64::INFINITY, |request| request.at_ms);
            if arrival == f64::INFINITY && self.unfinished == 0 {
                return Ok(());
            }
            let ready = self.dispatch()?;
            if ready <= self.tick && ready <= arrival {
                self.now = ready;
                self.complete();
            } else if self.tick <= arrival {
                self.now = self.tick;
                self.tick = f64::INFINITY;
                self.due = self.flush.is_some();
                if !self.due {
                    self.write_back();
                }
            } else {
                self.now = arrival;
                self.proceed(next as u32, None);
                next += 1;
            }
        }
    }

    /// Gives the drive something to do; when it has to be looked at again.
    fn dispatch(&mut self) -> Result<f64, SimError> {
        if let Some((_, until)) = self.served {
            return Ok(until);
        }
        if let Some(until) = self.queue.held_until(self.now, self.head) {
            return Ok(until);
        }
        let Some(taken) = self.queue.take(self.now, self.head) else { return Ok(f64::INFINITY) };
        let (lbn, blocks) = (Lbn(u64::from(taken.block) * SECTORS), u64::from(taken.blocks) * SECTORS);
        let read = taken.tag == Tag::Read;
        let request = if read { DriveRequest::read(lbn, blocks) } else { DriveRequest::write(lbn, blocks) };
        let done = self.drive.submit(Ms(self.now), request)?;
        if read {
            self.work.reads += 1;
            self.work.blocks_read += u64::from(taken.blocks);
        } else {
            self.work.writes += 1;
            self.work.blocks_written += u64::from(taken.blocks);
            self.work.mean_place += f64::from(taken.blocks) * f64::from(taken.block) / f64::from(self.volume.blocks);
            match taken.tag {
                Tag::Journal => self.work.journal_blocks += u64::from(taken.blocks),
                Tag::Checkpoint => self.work.checkpoint_blocks += u64::from(taken.blocks),
                Tag::Read | Tag::Home => (),
            }
        }
        if !(read && done.buffered) {
            self.moved(&taken, lbn.0, blocks);
        }
        self.work.busy_ms += done.at.0 - self.now;
        self.head = taken.block + taken.blocks;
        self.served = Some((taken, done.at.0));
        Ok(done.at.0)
    }

    /// Counts a movement of the arm.
    fn moved(&mut self, taken: &Taken, lbn: u64, blocks: u64) {
        let to = self.profile.geometry.locate(lbn);
        let cylinders = to.cylinder.abs_diff(self.arm.cylinder);
        let ms = self.profile.seek.time(cylinders, to.head != self.arm.head, taken.tag != Tag::Read);
        self.seeks.count(cylinders, ms);
        if taken.tag == Tag::Journal {
            self.work.commit_writes += 1;
            self.work.commit_cylinders += u64::from(cylinders);
            self.work.commit_seek_ms += ms;
        }
        let last = lbn + blocks - 1;
        self.arm = if last <= to.track_last { to } else { self.profile.geometry.locate(last) };
    }

    /// The drive is done, or has been held back for long enough.
    fn complete(&mut self) {
        let Some((taken, _)) = self.served.take() else { return };
        self.queue.done(self.now, taken.tag);
        let members = std::mem::take(&mut self.queue.taken);
        if taken.tag != Tag::Read {
            members.iter().for_each(|id| self.queue.release(*id));
            if let Some(flush) = &mut self.flush {
                flush.outstanding -= members.len();
                if flush.outstanding == 0 {
                    self.next_step();
                }
            }
        } else {
            for &id in &members {
                let io = &self.queue.ios[id as usize];
                for page in io.page..io.page + io.blocks {
                    self.cache.insert(page);
                    self.reading[page as usize] = 0;
                }
            }
            for &id in &members {
                let mut waiters = std::mem::take(&mut self.queue.ios[id as usize].waiters);
                for job in waiters.drain(..) {
                    self.wake(job);
                }
                self.queue.ios[id as usize].waiters = waiters;
                self.queue.release(id);
            }
        }
        self.queue.taken = members;
    }

    fn wake(&mut self, job: u32) {
        let state = &mut self.jobs[job as usize];
        state.waiting -= 1;
        if state.waiting > 0 {
            return;
        }
        let Job { request, last, .. } = *state;
        if last {
            self.finish(request, Some(job));
        } else {
            self.proceed(request, Some(job));
        }
    }

    fn finish(&mut self, request: u32, job: Option<u32>) {
        self.responses.push(self.now - self.trace.requests[request as usize].at_ms);
        if let Some(job) = job {
            self.idle.push(job);
            self.unfinished -= 1;
        }
    }

    /// Takes a request as far as memory lets it.
    fn proceed(&mut self, index: u32, job: Option<u32>) {
        let request = self.trace.requests[index as usize];
        let file = self.volume.files[request.file as usize];
        if job.is_none() && request.op == Op::Read {
            for page in file.page + request.first..file.page + request.first + request.blocks {
                if !self.cache.has(page) && self.reading[page as usize] == 0 {
                    self.layout.reads(self.now, page);
                }
            }
        }
        if file.inode != NONE {
            if let Some(page) = self.unnamed(request.file) {
                self.missing.push(page);
                return self.fetch(index, job, false);
            }
            match request.op {
                Op::Look => return self.finish(index, job),
                Op::Read => (),
                Op::Write => self.write_names(request.file),
            }
        }
        let (first, end) = (request.first, request.first + request.blocks);
        let pointers = pointer(&file, first).or_else(|| pointer(&file, end - 1)).zip(pointer(&file, end - 1));
        if let Some((from, to)) = pointers {
            let new = request.op == Op::Write && file.new;
            for page in from..=to {
                if new {
                    self.soil(page);
                } else if !self.cache.touch(page) {
                    self.missing.push(page);
                }
            }
        }
        if !self.missing.is_empty() {
            return self.fetch(index, job, false);
        }
        if request.op == Op::Read && file.inode != NONE {
            self.soil(file.inode);
        }
        for page in file.page + first..file.page + end {
            if request.op == Op::Write {
                self.soil(page);
            } else if !self.cache.touch(page) {
                self.missing.push(page);
            }
        }
        if self.cache.is_soiled() && self.flush.is_none() {
            self.write_back();
        }
        let ahead = if request.op == Op::Read { self.read_ahead(&request) } else { Vec::new() };
        if self.missing.is_empty() {
            self.finish(index, job);
        } else {
            self.fetch(index, job, true);
        }
        self.fetch_ahead(&ahead);
    }

    /// The pages that the kernel reads besides those of a request.
    fn read_ahead(&mut self, request: &Request) -> Vec<u32> {
        let file = self.volume.files[request.file as usize];
        let Some(ahead) = self.ahead.get_mut(request.file as usize) else { return Vec::new() };
        let (first, end) = (request.first, request.first + request.blocks);
        // Where a block lies is in memory, or it is not read ahead.
        let mut known = next_pointed(end - 1);
        while known < file.blocks && pointer(&file, known).is_none_or(|pointer| self.cache.has(pointer)) {
            known = next_pointed(known);
        }
        ahead.begins(first, request.blocks);
        let mut pages = Vec::new();
        for block in first..end {
            // Those that the reader waits for, and those that are on their way.
            let comes = !self.cache.has(file.page + block);
            let more = ahead.at(block, comes, known.min(file.blocks)).filter(|more| !(first..end).contains(more));
            pages.extend(more.map(|more| file.page + more));
        }
        pages.retain(|page| !self.cache.has(*page) && self.reading[*page as usize] == 0);
        pages
    }

    fn fetch_ahead(&mut self, mut pages: &[u32]) {
        while let Some(&page) = pages.first() {
            let (_, count) = self.ask(pages);
            (page..page + count as u32).for_each(|page| self.layout.reads(self.now, page));
            pages = &pages[count..];
        }
    }

    /// The page that must be read before a file's inode is in memory: the first that is missing on the way from the
    /// root.
    fn unnamed(&mut self, file: u32) -> Option<u32> {
        if self.cache.touch(self.cache.inode(file)) {
            return None;
        }
        let of_file = self.volume.files[file as usize];
        if let Some(page) = self.unnamed_directory(of_file.directory) {
            return Some(page);
        }
        self.unknown(file, of_file.entry, of_file.inode)
    }

    fn unnamed_directory(&mut self, directory: u32) -> Option<u32> {
        let number = self.volume.files.len() as u32 + directory;
        if self.cache.touch(self.cache.inode(number)) {
            return None;
        }
        let of_directory = self.volume.directories[directory as usize];
        if let Some(page) = of_directory.parent.and_then(|parent| self.unnamed_directory(parent)) {
            return Some(page);
        }
        self.unknown(number, of_directory.entry, of_directory.inode)
    }

    /// A name and its inode: the page that is missing, or the slab gets both.
    fn unknown(&mut self, number: u32, entry: u32, inode: u32) -> Option<u32> {
        let name = self.cache.name(number);
        if entry != NONE && !self.cache.touch(name) {
            if !self.cache.touch(entry) {
                return Some(entry);
            }
            self.cache.insert(name);
        }
        if !self.cache.touch(inode) {
            return Some(inode);
        }
        self.cache.insert(self.cache.inode(number));
        None
    }

    /// A write changes the inode; the first one to a new file, the directory, too.
    fn write_names(&mut self, file: u32) {
        let of_file = self.volume.files[file as usize];
        self.soil(of_file.inode);
        if of_file.new && !self.made[file as usize] {
            self.made[file as usize] = true;
            self.soil(of_file.entry);
        }
    }

    fn soil(&mut self, page: u32) {
        if self.volume.kinds[page as usize] == Kind::Meta {
            self.work.updates += 1;
        }
        self.layout.changes(page);
        if self.cache.soil(page) {
            self.dirty.push(page);
            if self.tick == f64::INFINITY && !self.due {
                self.tick = ((self.now / self.timer_ms) as u64 + 1) as f64 * self.timer_ms;
            }
        }
    }

    /// Asks for the missing pages, and lets the request wait for them.
    fn fetch(&mut self, request: u32, job: Option<u32>, last: bool) {
        let job = job.unwrap_or_else(|| {
            self.unfinished += 1;
            let new = Job { request, waiting: 0, last };
            match self.idle.pop() {
                Some(id) => {
                    self.jobs[id as usize] = new;
                    id
                }
                None => {
                    self.jobs.push(new);
                    self.jobs.len() as u32 - 1
                }
            }
        });
        let mut missing = std::mem::take(&mut self.missing);
        let mut waiting = 0;
        let mut at = 0;
        while at < missing.len() {
            let page = missing[at];
            let (id, pages) = match self.reading[page as usize] {
                0 => self.ask(&missing[at..]),
                coming => (coming - 1, 1),
            };
            let waiters = &mut self.queue.ios[id as usize].waiters;
            if waiters.last() != Some(&job) {
                waiters.push(job);
                waiting += 1;
            }
            at += pages;
        }
        missing.clear();
        self.missing = missing;
        let state = &mut self.jobs[job as usize];
        (state.waiting, state.last) = (waiting, last);
    }

    /// Puts a read into the queue for the first of these pages, and for those that follow it on the disk. Another place
    /// counts only if copies of all of them follow one another there, too.
    fn ask(&mut self, pages: &[u32]) -> (u32, usize) {
        let page = pages[0];
        let (block, mut copies) = (self.layout.place(page), self.layout.copies(page));
        let mut count = 1;
        let follows = |at: u32, next: u32| {
            next == page + at
                && self.reading[next as usize] == 0
                && !self.cache.has(next)
                && self.layout.place(next) == block + at
        };
        while pages.get(count).is_some_and(|next| follows(count as u32, *next)) {
            count += 1;
        }
        for (which, copy) in copies.iter_mut().enumerate().filter(|(_, copy)| **copy != NONE) {
            let together = (1..count as u32).all(|at| self.layout.copies(page + at)[which] == *copy + at);
            if !together {
                *copy = NONE;
            }
        }
        let id = self.queue.add(self.now, Taken { block, blocks: count as u32, tag: Tag::Read }, copies, page);
        self.reading[page as usize..page as usize + count].fill(id + 1);
        (id, count)
    }

    /// Begins to write what is dirty.
    fn write_back(&mut self) {
        if let Some(began) = self.began.replace(self.now) {
            self.work.shortest_interval_ms = self.work.shortest_interval_ms.min(self.now - began);
        }
        self.due = false;
        self.tick = f64::INFINITY;
        let mut pages = std::mem::take(&mut self.dirty);
        pages.sort_unstable();
        pages.iter().for_each(|page| self.cache.begin(*page));
        let is_metadata = |page: &u32| self.volume.kinds[*page as usize] == Kind::Meta;
        let (metadata, data) = pages.into_iter().partition(is_metadata);
        self.flush = Some(Flush { batch: Batch { data, metadata }, step: 0, outstanding: 0 });
        self.next_step();
    }

    /// The next step of the write-back that has something to write, or its end.
    fn next_step(&mut self) {
        let Some(mut flush) = self.flush.take() else { return };
        let mut writes = Vec::new();
        while self.layout.step(&flush.batch, flush.step, self.head, &mut writes) {
            flush.step += 1;
            if !writes.is_empty() {
                flush.outstanding = writes.len();
                for taken in writes {
                    self.queue.add(self.now, taken, NO_COPIES, NONE);
                }
                self.flush = Some(flush);
                return;
            }
        }
        flush.batch.data.iter().chain(&flush.batch.metadata).for_each(|page| self.cache.end(*page));
        if self.due {
            self.write_back();
        }
    }
}
