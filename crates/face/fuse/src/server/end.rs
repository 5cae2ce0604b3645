//! The end of a service whose mount is still in use.
//!
//! E1. What programs have written into maps of files is in the kernel until it sends that, and a program that keeps its
//!     map learns nothing of the end: it would be lost without a word. The service cannot ask for it with fsync(2),
//!     since this process may be kept from the directory, and syncfs(2) waits for no FUSE server. But before the kernel
//!     drops pages that are called stale, it writes them, and waits for the answer.
//! E2. No page comes back after that: reads are refused, so a program that goes on writing gets SIGBUS, and no success.
//! E3. A thread that waits in the kernel for an answer cannot be ended, and keeps the process and the device. So
//!     nothing is called stale before the disk has answered.

use super::dispatch::Drained;
use super::shared::Server;
use crate::first::{First, first};
use crate::proto::reply::Notice;
use crate::transport::Transport;
use ordo_rt::Rt;
use ordo_vfs::{Error, FileSystem};
use rustix::io::read;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

impl<F: FileSystem + 'static, T: Transport + 'static> Server<F, T> {
    /// Takes what programs have written into maps of files (E1). A failure is told as that of any write is.
    pub(super) async fn take_what_is_mapped(self: &Rc<Self>, rt: &Rt) {
        // A failure is an answer, too (E3).
        if let Err(error) = self.fs.syncfs().await {
            self.refuse(&error);
        }
        let done = match self.call_all_stale() {
            Ok(done) => Rc::new(done),
            Err(error) => {
                let text = "what programs have written into maps of files, and not synced, may be lost";
                self.refuse(&Error::io(error).told_as(text));
                return;
            }
        };
        let watch = rt.watch(done.clone());
        loop {
            match self.drain(rt) {
                Err(_) => return,
                Ok(Drained::More) => rt.yield_now().await,
                Ok(Drained::All) => {
                    // A readiness may be stale; at the end there is nothing to be read.
                    let told = matches!(first(self.transport.ready(), watch.readable()).await, First::Right(()));
                    if told && read(&done, &mut [0; 1]) == Ok(0) {
                        return;
                    }
                }
            }
        }
    }

    /// On a thread of its own, since the notices wait for answers. The stream ends when all are taken.
    fn call_all_stale(&self) -> io::Result<UnixStream> {
        let (notify, (here, there)) = (self.transport.notifier()?, UnixStream::pair()?);
        here.set_nonblocking(true)?;
        self.ends.set(true);
        let nodes: Vec<u64> = self.lookups.borrow().nodes().into_iter().map(|node| self.show.swap(node.0)).collect();
        std::thread::Builder::new().name("ordo-stale".into()).spawn(move || {
            nodes.into_iter().for_each(|node| notify(Notice::Stale(node)));
            drop(there);
        })?;
        Ok(here)
    }
}
