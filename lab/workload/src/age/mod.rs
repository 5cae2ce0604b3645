//! Months of use of a server's file system, day by day: what makes an old volume different from a new one.
//!
//! After the aging study of Seltzer, Smith and others (USENIX 1995, section 5), which had daily snapshots of the free
//! maps of real servers. They are not public, so the use is simulated: [`Profile`] has what is known of each server and
//! what is assumed, `course` the days, `sizes` the sizes of files, `tree` what the users know to be there, `plan` what
//! happens on a day, `relief` what the users do when there is no room, and `play` how that becomes calls.
//!
//! A1. A profile, a seed and the space of a volume decide what is done on every day, as long as the volume refuses
//!     nothing. What is done after a refusal depends on it, as it does for people.
//! A2. Contents do not matter. All files are written from one buffer.
//! A3. Between two days nothing is held: a volume can be unmounted, measured, mounted again, and used further.
//! A4. The users have no privilege and cannot fill the reserve, unless the profile says so.

mod aged;
mod aging;
mod course;
mod op;
mod plan;
mod play;
mod profile;
mod relief;
mod sizes;
mod state;
#[cfg(test)]
mod tests;
mod tree;

pub use aged::{Aged, Full};
pub use aging::Aging;
pub use course::{DAYS_OF_A_MONTH, Date, STUDY};
pub use op::Op;
pub use profile::{Kind, PROFILES, Profile, Use, Volume};
pub use sizes::Sizes;
pub use tree::Space;
