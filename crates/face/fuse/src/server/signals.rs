//! SIGTERM, SIGINT, SIGHUP: unmount, so that the kernel writes back and the volume is closed clean.
//!
//! The first signal unmounts; if the mount is in use, it is detached, and the service continues until its last user has
//! finished. The second one ends the service at once. Both arrive as bytes through a socket, so that the loop which
//! waits for the kernel also waits for them. SIGHUP is what a server in a terminal gets when the window is closed.
//!
//! A server that has given up its rights may not unmount. It would go on for ever after the first signal, so it makes
//! everything durable and ends the service, as after a second one: the mount stays, and whoever may removes it. In both
//! cases programs may still have files mapped into memory: `end` takes what they have written there.
//!
//! What is under way is answered and written even then: a volume is not lost to an impatient user. Only an end that has
//! taken [`PATIENCE`], since the disk does not answer, is given up by a signal that comes after that.

use super::reason::Reason;
use crate::mount::{MountError, MountPoint, unmount};
use ordo_rt::{Rt, Watch};
use rustix::io::read;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::cell::Cell;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long an end may take before a signal gives it up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The signals that end a server: not SIGHUP where it is ignored, as it is under nohup(1).
pub fn end_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let mut signals = vec![SIGTERM, SIGINT];
    signals.extend((ignored & 1 << (SIGHUP - 1) == 0).then_some(SIGHUP));
    signals
}

pub(super) struct Signals {
    rt: Rt,
    bytes: Rc<UnixStream>,
    sender: UnixStream,
    watch: Watch,
    place: MountPoint,
    seen: Cell<usize>,
    /// The unmount was refused.
    refused: Arc<AtomicBool>,
}

impl Signals {
    /// Catches the signals from now until the end of the process: a signal that comes while the volume is being closed
    /// must not stop that.
    pub(super) fn watch(rt: &Rt, place: MountPoint) -> io::Result<Signals> {
        let (bytes, sender) = UnixStream::pair()?;
        bytes.set_nonblocking(true)?;
        for signal in end_signals() {
            pipe::register(signal, sender.try_clone()?)?;
        }
        let bytes = Rc::new(bytes);
        let watch = rt.watch(bytes.clone());
        Ok(Signals { rt: rt.clone(), watch, bytes, sender, place, seen: Cell::new(0), refused: Arc::default() })
    }

    /// Ready when the service must end although the mount still exists: the reason. May be dropped and called again.
    pub(super) async fn end(&self) -> Reason {
        loop {
            let before = self.seen.get();
            self.seen.set(before + self.come().await);
            if self.seen.get() > 1 {
                return if self.refused.load(Ordering::Acquire) { Reason::MayNotUnmount } else { Reason::Signalled };
            }
            if before == 0 && self.seen.get() == 1 {
                self.unmount();
            }
        }
    }

    /// Unmounts on a thread of its own: the kernel may send requests before it unmounts, and waits for the answers. If
    /// it fails, the mount stays until the next signal.
    fn unmount(&self) {
        let (place, refused) = (self.place.clone(), self.refused.clone());
        let sender = self.sender.try_clone();
        std::thread::spawn(move || {
            if let Err(MountError::Permission(_)) = unmount::detach(&place) {
                refused.store(true, Ordering::Release);
                // It wakes the loop as a signal does. If it cannot, the next signal ends the service.
                let _ = sender.and_then(|mut sender| sender.write_all(b"e"));
            }
        });
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
