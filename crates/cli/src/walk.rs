//! Goes through a tree of an image: each directory before its contents, names in order.
//!
//! W1. The walk of a damaged image ends: no directory is entered twice, however many names lead to it.
//! W2. No symbolic link is followed, not even the one it starts at.
//! W3. What cannot be read is reported and counted, and the rest is visited.

use crate::image::Tally;
use crate::interrupt::{self, Interrupted};
use crate::place::join;
use crate::text;
use ordofs::Fs;
use ordofs::path::Held;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A file, and its path from the root of the image.
pub(crate) type Visited = (Vec<u8>, Rc<Held<Fs>>);

/// A walk in progress.
pub(crate) struct Walk {
    /// What was visited last, or where the walk starts.
    last: Option<Visited>,
    started: bool,
    recursive: bool,
    stack: Vec<Frame>,
    entered: BTreeSet<u64>,
    /// What could not be read.
    pub(crate) tally: Tally,
}

/// A directory whose names are being visited.
struct Frame {
    dir: Rc<Held<Fs>>,
    path: Vec<u8>,
    names: std::vec::IntoIter<Vec<u8>>,
}

impl Walk {
    /// A walk from `file`, which is at `path`; only that file unless `recursive`.
    pub(crate) fn new(path: &[u8], file: Held<Fs>, recursive: bool) -> Walk {
        Walk {
            last: Some((path.to_vec(), Rc::new(file))),
            started: false,
            recursive,
            stack: Vec::new(),
            entered: BTreeSet::new(),
            tally: Tally::new(),
        }
    }

    /// The next file; `None` at the end.
    ///
    /// # Errors
    /// When the user interrupts it.
    pub(crate) async fn next(&mut self) -> Result<Option<Visited>, Interrupted> {
        interrupt::check()?;
        if !self.started {
            self.started = true;
            return Ok(self.last.clone());
        }
        if let Some((path, dir)) = self.last.take().filter(|(_, file)| self.recursive && file.is_dir()) {
            self.enter(path, dir).await;
        }
        while let Some(frame) = self.stack.last_mut() {
            let Some(name) = frame.names.next() else {
                self.stack.pop();
                continue;
            };
            let path = join(&frame.path, &name);
            let found = frame.dir.lookup(&name).await;
            if let Some(file) = self.tally.judge(&text::escape(&path), found) {
                self.last = Some((path, Rc::new(file)));
                return Ok(self.last.clone());
            }
        }
        Ok(None)
    }

    async fn enter(&mut self, path: Vec<u8>, dir: Rc<Held<Fs>>) {
        if !self.entered.insert(dir.attr().ino) {
            return self.tally.complain(&text::escape(&path), &"met before: the volume is damaged; run ordo fsck");
        }
        let (names, outcome) = dir.names().await;
        self.tally.judge(&text::escape(&path), outcome);
        self.stack.push(Frame { dir, path, names: names.into_iter() });
    }
}
