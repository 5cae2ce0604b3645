//! New names that are not durable yet: what an fsync of a file must write in addition to the file, if no call waited
//! for its name.

use ordo_buf::{BufRef, Fields, Landing, Role, Step};
use ordo_ondisk::Ino;
use rustc_hash::{FxHashMap, FxHashSet};

/// What recently began to lead to inodes.
#[derive(Default)]
pub(crate) struct NewNames {
    /// For each inode the directories that name it, and the blocks with the names.
    names: FxHashMap<Ino, Vec<(Ino, Landing)>>,
    /// For each directory that grew, what leads to its new end: its inode and its indirect blocks.
    grown: FxHashMap<Ino, Vec<Landing>>,
}

impl NewNames {
    /// Records a step that may give an inode a name, or a directory more room for names.
    pub(crate) fn hear(&mut self, step: &Step<'_>) {
        let (dir, buf) = match *step {
            Step::LinkAdded { dir, block, ino, .. } | Step::LinkChanged { dir, block, ino, dotdot: false, .. } => {
                self.names.entry(ino).or_default().push((dir, Landing::of(block)));
                return;
            }
            Step::BlockAllocated { ino, role: Role::Directory, ref slot, .. } => (ino, slot.buf()),
            Step::SizeGrown { ino, inode, directory: true, .. }
            | Step::InodeChanged { ino, inode, fields: Fields::DirectorySize } => (ino, inode),
            _ => return,
        };
        let grown = self.grown.entry(dir).or_default();
        grown.retain(|landing| landing.key() != buf.key());
        grown.push(Landing::of(buf));
    }

    /// The blocks without which `ino` might not be found after a crash: those with its new names, and those of the
    /// directories above it.
    pub(crate) fn leading_to(&self, ino: Ino) -> Vec<BufRef> {
        let (mut blocks, mut asked, mut seen) = (Vec::new(), vec![ino], vec![ino]);
        while let Some(ino) = asked.pop() {
            let names = self.names.get(&ino).into_iter().flatten();
            for (dir, name) in names {
                blocks.extend(pending(name));
                if !seen.contains(dir) {
                    seen.push(*dir);
                    asked.push(*dir);
                }
            }
            blocks.extend(self.grown.get(&ino).into_iter().flatten().filter_map(pending));
        }
        blocks
    }

    /// Drops what is durable. A name is kept as long as something that leads to its directory.
    pub(crate) fn forget_durable(&mut self) {
        let NewNames { names, grown } = self;
        grown.retain(|_, ways| {
            ways.retain(|way| pending(way).is_some());
            !ways.is_empty()
        });
        let new: FxHashSet<Ino> = names.keys().chain(grown.keys()).copied().collect();
        names.retain(|_, names| {
            names.retain(|(dir, name)| new.contains(dir) || pending(name).is_some());
            !names.is_empty()
        });
    }
}

/// The buf, if its change has not landed, and it was not discarded.
fn pending(landing: &Landing) -> Option<BufRef> {
    landing.buf().filter(|_| !landing.is_done())
}
