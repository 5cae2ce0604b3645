//! When the space of a removed file becomes free: with the call, or later, in the background.

use crate::bed::Bed;
use crate::{Error, Subject};
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem};
use ordo_workload::random::{Outcome, Player};
use ordo_workload::script::Script;
use ordofs::Mounted;
use std::time::Duration;

/// The script that removes a file.
const REMOVAL: &str = "create a\nwrite a 0 200000\n---\nunlink a";

/// Virtual seconds until the syncer has written everything.
const LATER: Duration = Duration::from_secs(90);

/// Growth of the free space in the maps since before the removal, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freed {
    /// When the call returned.
    pub at_return: u64,
    /// 90 virtual seconds later.
    pub later: u64,
}

impl Freed {
    /// Something became free after the call had returned.
    pub fn in_background(self) -> bool {
        self.later > self.at_return
    }
}

/// Removes a file of 200,000 bytes on a subject, and reads the maps.
///
/// # Errors
/// See [`Error`]: the scheme cannot be made, or a call fails.
pub fn freed(subject: &Subject) -> Result<Freed, Error> {
    // OK to expect: the text is part of the program, and the tests of this module read it.
    let script = Script::parse("removal", REMOVAL).expect("the script can be read");
    let bed = Bed::new(subject, 0, false)?;
    let rt = bed.rt.clone();
    bed.run(subject.order()?, |mounted| rt.block_on(remove(&rt, mounted, &script)))
}

async fn remove(rt: &Rt, mounted: &Mounted, script: &Script) -> Result<Freed, Error> {
    let mut player = Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() });
    for op in &script.setup {
        done(player.apply(op).await)?;
    }
    mounted.fs().syncfs().await.map_err(|error| Error::Run(format!("sync: {error}")))?;
    rt.sleep(LATER).await;
    let before = free(mounted);
    for op in &script.calls {
        done(player.apply(op).await)?;
    }
    let at_return = free(mounted).saturating_sub(before);
    rt.sleep(LATER).await;
    Ok(Freed { at_return, later: free(mounted).saturating_sub(before) })
}

fn done(outcome: Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Failed(why) => Err(Error::Run(format!("removal: {why}"))),
        Outcome::Refused(why) => Err(Error::Run(format!("removal: {why}"))),
        _ => Ok(()),
    }
}

/// Bytes that the maps show as free, without those of outstanding tickets.
fn free(mounted: &Mounted) -> u64 {
    let space = mounted.space();
    space.free_frags.saturating_sub(mounted.cache().ledger().frags()) * u64::from(space.frag_size)
}
