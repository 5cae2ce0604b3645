//! One writer of a disk that nothing can lock: network block devices, disks that two machines share, files on a network
//! file system. Multiple-mount protection: a writer claims a record on the disk ([`ordo_ondisk::mmp`]) and renews it,
//! a second one watches before it claims, and one that was stopped looks before it writes on.
//!
//! The record has two sectors: the *owner*, written when the disk is claimed and released, and the *beat*, written
//! once in an interval I. [`Claim`] is a claim, [`Fence`] the disk on which the writer writes. All waits are in parts
//! of I ([`Times`]), on a clock that goes on while the machine sleeps; times of day are for people only.
//!
//! V1. A request that changes the disk is given to the disk below only less than VALID after the *begin* of a look at
//!     the record that found this claim in the sector of the owner. An older look is repeated first. So a writer that
//!     was stopped before this check does not write when it goes on.
//! V2. A claimant that replaces another one's claim has watched for WATCH that neither sector changed, and begins to
//!     work only SETTLE after its own claim is durable, if that is then still there. SETTLE is longer than VALID: the
//!     old writer's last valid look was before the claim, so by V1 it gives nothing to the disk any more.
//! V3. Where nobody has the disk, nobody is inside VALID: a writer has stopped writing before it releases, and by V2
//!     one that was replaced had stopped earlier. Then only claimants compete. Each gives its claim to the disk at most
//!     QUICK after the begin of the look that showed the record to it, and waits more than QUICK after it is done: the
//!     last one of them is seen by all.
//! V4. A claim that took longer than QUICK may have been overtaken by anybody. Its owner waits as for V2, with the
//!     longest interval that there is: whoever it hit has looked by then, and stopped.
//! V5. A beat decides nothing, except that a watcher waits. So it does no harm when it arrives late: the claim is in
//!     another sector, which this writer does not write again.
//! V6. A look that fails is no look. What waits for one gets its error, and nothing is written.
//! V7. Once lost, a claim is lost: a writer never claims again by itself, since what it has in memory is old.
//! V8. A writer has one write of the record in flight at a time. It releases at most QUICK after a look, with a beat
//!     between. So a release that arrives late, over another one's claim, finds that one's beats beside it; who reads
//!     the two watches as if it were claimed.
//! V9. A disk that keeps requests and sends them later, also again (a network block device), is told of a [`Lease`]
//!     when the claim counts. What changes the disk it sends only less than LEASE after the begin of a look that found
//!     the claim; later it gives up. LEASE is longer than VALID, so that what V1 has just let through is not stopped
//!     on its way, and shorter than SETTLE, so V2 holds for what is sent again as well.
//!
//! What cannot be had on a disk without reservations: a request that was given to the system before the machine was
//! stopped, and one whose machine stops between the look at the clock and the system call, arrive when they arrive. A
//! virtual machine whose clocks stand still while it is stopped believes its last look for up to VALID of its own time.

mod claim;
mod disk;
mod error;
mod lease;
mod record;
mod times;

pub use claim::{Claim, DEFAULT_INTERVAL, Waiting, make_record};
pub use disk::Fence;
pub use error::{ClaimError, Taken, TakenOver};
pub use lease::Lease;
pub use record::{Seen, look, look_at_damage, look_to_claim};
pub use times::Times;

#[cfg(test)]
mod tests;
