//! Processes, their descriptors and their directories.
//!
//! P1. A process that begins has its parent's descriptors and directory, as many as its flags say shared with it.
//! P2. An open file lives as long as a descriptor of it.

use super::tree::Place;
use std::collections::HashMap;

/// An open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) place: Place,
    /// Where the next read or write begins.
    pub(super) at: u64,
    pub(super) appends: bool,
    /// How many names the listing has told.
    pub(super) listed: u64,
    /// The descriptors of it.
    descriptors: u32,
}

/// The directory of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Working {
    pub(super) place: Option<Place>,
    /// What `-y` said of it last.
    pub(super) said: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Descriptor {
    open: u32,
    closes_on_exec: bool,
}

#[derive(Debug, Default)]
struct Files {
    descriptors: HashMap<u32, Descriptor>,
    users: u32,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    files: u32,
    working: u32,
}

/// All processes.
#[derive(Debug, Default)]
pub(super) struct Table {
    tasks: HashMap<u32, Task>,
    files: Vec<Files>,
    working: Vec<Working>,
    opens: Vec<Open>,
    /// The open files whose last descriptor is gone, until somebody asks.
    gone: Vec<u32>,
}

impl Table {
    pub(super) fn knows(&self, task: u32) -> bool {
        self.tasks.contains_key(&task)
    }

    /// The only process, if there is one alone.
    pub(super) fn only(&self) -> Option<u32> {
        let mut all = self.tasks.keys();
        all.next().copied().filter(|_| all.next().is_none())
    }

    /// A process about whose beginning nothing is known.
    pub(super) fn begin(&mut self, task: u32) {
        self.files.push(Files { users: 1, ..Files::default() });
        self.working.push(Working::default());
        self.tasks.insert(task, Task { files: self.files.len() as u32 - 1, working: self.working.len() as u32 - 1 });
    }

    /// A child (P1).
    pub(super) fn fork(&mut self, parent: u32, child: u32, shares_files: bool, shares_working: bool) {
        let Some(mut task) = self.tasks.get(&parent).copied() else { return self.begin(child) };
        self.end(child);
        if shares_files {
            self.files[task.files as usize].users += 1;
        } else {
            task.files = self.copy_files(task.files);
        }
        if !shares_working {
            self.working.push(self.working[task.working as usize].clone());
            task.working = self.working.len() as u32 - 1;
        }
        self.tasks.insert(child, task);
    }

    fn copy_files(&mut self, files: u32) -> u32 {
        let descriptors = self.files[files as usize].descriptors.clone();
        descriptors.values().for_each(|descriptor| self.opens[descriptor.open as usize].descriptors += 1);
        self.files.push(Files { descriptors, users: 1 });
        self.files.len() as u32 - 1
    }

    /// A process ends.
    pub(super) fn end(&mut self, task: u32) {
        let Some(Task { files, .. }) = self.tasks.remove(&task) else { return };
        let files = &mut self.files[files as usize];
        files.users -= 1;
        if files.users == 0 {
            let descriptors = std::mem::take(&mut files.descriptors);
            let mut opens: Vec<u32> = descriptors.values().map(|descriptor| descriptor.open).collect();
            opens.sort_unstable();
            opens.into_iter().for_each(|open| self.drop_one(open));
        }
    }

    /// A thread goes on as another process, or one gets its number.
    pub(super) fn rename(&mut self, from: u32, to: u32) {
        if from != to
            && let Some(task) = self.tasks.get(&from).copied()
        {
            self.end(to);
            self.tasks.remove(&from);
            self.tasks.insert(to, task);
        }
    }

    /// A process runs another program: it has descriptors of its own then, and only some of them.
    pub(super) fn exec(&mut self, task: u32) {
        let Task { files, working } = self.tasks[&task];
        if self.files[files as usize].users > 1 {
            let own = self.copy_files(files);
            self.files[files as usize].users -= 1;
            self.tasks.insert(task, Task { files: own, working });
        }
        let files = &mut self.files[self.tasks[&task].files as usize].descriptors;
        let mut closed: Vec<u32> =
            files.iter().filter(|(_, descriptor)| descriptor.closes_on_exec).map(|(number, _)| *number).collect();
        closed.sort_unstable();
        closed.into_iter().for_each(|number| self.close(task, number));
    }

    pub(super) fn working(&mut self, task: u32) -> &mut Working {
        &mut self.working[self.tasks[&task].working as usize]
    }

    fn descriptors(&mut self, task: u32) -> &mut HashMap<u32, Descriptor> {
        &mut self.files[self.tasks[&task].files as usize].descriptors
    }

    /// A new open file under this number.
    pub(super) fn open(&mut self, task: u32, number: u32, place: Place, appends: bool, closes_on_exec: bool) -> u32 {
        self.close(task, number);
        self.opens.push(Open { place, at: 0, appends, listed: 0, descriptors: 1 });
        let open = self.opens.len() as u32 - 1;
        self.descriptors(task).insert(number, Descriptor { open, closes_on_exec });
        open
    }

    /// A further descriptor of an open file.
    pub(super) fn dup(&mut self, task: u32, from: u32, to: u32, closes_on_exec: bool) {
        if from == to {
            return;
        }
        let open = self.find(task, from);
        if let Some(open) = open {
            self.opens[open as usize].descriptors += 1;
        }
        self.close(task, to);
        if let Some(open) = open {
            self.descriptors(task).insert(to, Descriptor { open, closes_on_exec });
        }
    }

    pub(super) fn close(&mut self, task: u32, number: u32) {
        if let Some(Descriptor { open, .. }) = self.descriptors(task).remove(&number) {
            self.drop_one(open);
        }
    }

    /// Closes descriptors from one number to another.
    pub(super) fn close_range(&mut self, task: u32, first: u64, last: u64) {
        let mut numbers: Vec<u32> = self.descriptors(task).keys().copied().collect();
        numbers.sort_unstable();
        let is_in = |number: &u32| (first..=last).contains(&u64::from(*number));
        numbers.into_iter().filter(is_in).for_each(|number| self.close(task, number));
    }

    pub(super) fn close_on_exec(&mut self, task: u32, number: u32, closes_on_exec: bool) {
        if let Some(descriptor) = self.descriptors(task).get_mut(&number) {
            descriptor.closes_on_exec = closes_on_exec;
        }
    }

    pub(super) fn find(&mut self, task: u32, number: u32) -> Option<u32> {
        self.descriptors(task).get(&number).map(|descriptor| descriptor.open)
    }

    pub(super) fn at(&mut self, open: u32) -> &mut Open {
        &mut self.opens[open as usize]
    }

    fn drop_one(&mut self, open: u32) {
        let file = &mut self.opens[open as usize];
        file.descriptors -= 1;
        if file.descriptors == 0 {
            self.gone.push(open);
        }
    }

    /// The places of the open files that have gone since the last question.
    pub(super) fn gone(&mut self) -> Vec<Place> {
        self.gone.drain(..).map(|open| self.opens[open as usize].place.clone()).collect()
    }
}
