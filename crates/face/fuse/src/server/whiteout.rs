//! Renames that leave a whiteout (`RENAME_WHITEOUT`): overlayfs moves a file of its upper layer, and a character device
//! 0:0 in the old place hides the file of that name in a lower layer.
//!
//! H1. Callers see both or nothing: the kernel keeps both directories locked until the reply.
//! H2. The whiteout is made first, under a name of its own. A full volume therefore refuses the call before anything
//!     has moved.
//! H3. To a crash these are three calls in a row, each as durable as the scheme makes it. What a crash in between
//!     leaves is the whiteout under its own name, which overlayfs does not show, and perhaps the file in its new place
//!     without a whiteout in the old one.

use super::shared::Server;
use crate::proto::reply::{Answer, Reply};
use crate::transport::Transport;
use ordo_vfs::{Caller, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result};

/// What a crash left of earlier whiteouts is passed over.
const NAMES: u64 = 64;

impl<F: FileSystem, T: Transport> Server<F, T> {
    /// Renames `from` in `dir` to `to`, which is replaced, and leaves a whiteout. `unique` is the request's number.
    pub(super) async fn rename_and_hide(
        &self,
        who: &Caller,
        (dir, from): (NodeId, Name<'_>),
        (to_dir, to): (NodeId, Name<'_>),
        unique: u64,
    ) -> Answer {
        let moved = async {
            let own = self.make_whiteout(who, dir, unique).await?;
            let own = Name::new(own.as_bytes())?;
            if let Err(error) = self.fs.rename(dir, from, to_dir, to, RenameMode::Replace).await {
                self.fs.unlink(dir, own).await?;
                return Err(error);
            }
            self.fs.rename(dir, own, dir, from, RenameMode::NoReplace).await
        };
        moved.await.map(|()| Reply::Done).map_err(|error| self.refuse(&error))
    }

    /// Makes a whiteout in `dir`; returns its name.
    async fn make_whiteout(&self, who: &Caller, dir: NodeId, unique: u64) -> Result<String> {
        for number in unique..unique.saturating_add(NAMES) {
            let own = format!(".ordofs-whiteout-{number}");
            let made = self.fs.mknod(who, dir, Name::new(own.as_bytes())?, Kind::CharDevice, Mode::new(0), 0).await;
            match made {
                Ok(entry) => {
                    self.fs.forget(entry.node, 1);
                    return Ok(own);
                }
                Err(Error::Refused(Refusal::Exists)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Refusal::Exists.into())
    }
}
