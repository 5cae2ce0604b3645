//! SIGTERM and SIGINT: unmount, so that the kernel writes back and the volume is closed clean.
//!
//! The first signal unmounts; if the mount is in use, it is detached, and the service continues until its last user has
//! finished. The second one ends the service at once. Both arrive as bytes through a socket, so that the loop which
//! waits for the kernel also waits for them.
//!
//! What is under way is answered and written even then: a volume is not lost to an impatient user. Only an end that has
//! taken [`PATIENCE`], since the disk does not answer, is given up by a signal that comes after that.

use crate::mount::{MountPoint, unmount};
use ordo_rt::{Rt, Watch};
use rustix::io::read;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// How long an end may take before a signal gives it up.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Signals {
    rt: Rt,
    bytes: Rc<UnixStream>,
    watch: Watch,
    place: MountPoint,
    seen: Cell<usize>,
}

impl Signals {
    /// Catches both signals from now until the end of the process: a signal that comes while the volume is being closed
    /// must not stop that.
    pub(super) fn watch(rt: &Rt, place: MountPoint) -> io::Result<Signals> {
        let (bytes, sender) = UnixStream::pair()?;
        bytes.set_nonblocking(true)?;
        for signal in [SIGTERM, SIGINT] {
            pipe::register(signal, sender.try_clone()?)?;
        }
        let bytes = Rc::new(bytes);
        Ok(Signals { rt: rt.clone(), watch: rt.watch(bytes.clone()), bytes, place, seen: Cell::new(0) })
    }

    /// Ready when the service must end although the mount still exists. May be dropped and called again.
    pub(super) async fn end(&self) {
        loop {
            let before = self.seen.get();
            self.seen.set(before + self.come().await);
            if self.seen.get() > 1 {
                return;
            }
            if before == 0 && self.seen.get() == 1 {
                // On a thread of its own: the kernel may send requests before it unmounts, and waits for the answers.
                // If it fails, the mount stays until the next signal.
                let place = self.place.clone();
                std::thread::spawn(move || unmount::detach(&place));
            }
        }
    }

    /// Ready when the end has taken long, and a signal comes after that; `long` is called in between.
    pub(super) async fn give_up(&self, long: impl FnOnce()) {
        self.rt.sleep(PATIENCE).await;
        // Those that came before asked for the end, and got it.
        let _ = read(&self.bytes, &mut [0; 16]);
        long();
        while self.come().await == 0 {}
    }

    /// How many came; perhaps none, as a readiness may be stale.
    async fn come(&self) -> usize {
        self.watch.readable().await;
        read(&self.bytes, &mut [0; 16]).unwrap_or(0)
    }
}
