//! Active journaling: a journal that is not just a log.
//!
//! After "Not Just a Log". A journal has a copy of each block that it commits, and after the commit it forgets it. Here
//! the copies are kept, and used. [`Active`] is a disk over a disk: a file system and a journal of whole blocks
//! ([`ordo_disk::KeepsCopies`]) above it need not know. It gives the journal a range of addresses behind the end of the
//! volume, puts what is written there into *group journals*, wherever one is near the head, and keeps a map of which
//! block has which checksum and which copy (*vmap*). Each read at home is verified with it; a wrong block is replaced
//! by its copy, in the answer and at home.
//!
//! A1. The map is never older than a home. An entry describes the newest committed bytes of its place. Where bytes
//!     that no transaction has are written at home, the entry is gone, durably, before they are written. Otherwise a
//!     crash leaves an entry for older bytes, and a read would "heal" the newer ones away.
//! A2. The map on the disk and the journal together make the map: the root says up to which transaction the pages have
//!     everything, and recovery adds what later transactions say. So the pages are made durable before the journal
//!     drops a transaction ([`ordo_disk::KeepsCopies::settle`]).
//! A3. Pages are never overwritten while the root that leads to them counts. The root is one sector, in two slots
//!     in turn. Otherwise a power cut would leave a tree of which a half is new. Pages and roots are written twice, and
//!     a parent has the checksums of its pages: a rotten page is read from its twin. Without the twin of a root, rot
//!     would bring back the root before, with entries that had to go.
//! A4. A place of a group journal has one owner, a piece of the journal's line. A piece moves only to a place without
//!     one, when the journal enters it again and its old contents count no more. What says so is written with the
//!     first bytes, and is durable when they are. The end of the line stays a piece away from its tail: if one piece
//!     had both, a move of it would leave bytes behind that still count.
//! A5. A copy is used only if its checksum is that of the entry. So an entry does no harm if the copy to which it
//!     points was overwritten meanwhile. The entry is the one that there is when the copy was read: if it went while
//!     the read was on its way, nobody kept the place for it, and the home is read.
//! A6. A home is healed only while nothing is being written there, and what is to be written there meanwhile waits.
//! A7. The map counts on the volume for which it was made, as long as no other program has written to that: its root
//!     has the number that the superblock has ([`Kept`]).
//! A8. What a fragment had is kept as an older version, with the transactions between which it had it, as long as a
//!     group journal has the bytes. A version whose end were not known would be shown for a time at which a file had
//!     other contents.
//! A9. A home may lack bytes that a group journal has, if the map says so durably before the journal drops the
//!     transaction (A2). The copy is overwritten only when the home has them durably. Otherwise a crash would leave
//!     neither. Before the volume is marked clean everything is at home: no other system reads the map.
//! A10. A replica is written only to a place without an owner, over what is no entry's copy, while all that was carried
//!     home is durable there. While that write is in flight, the place is lent: no piece moves to it, and a new journal
//!     does not begin. Otherwise the replica would land over bytes that a transaction has by then, or over the only
//!     ones of a home. One place is lent at a time, and a quarter of them has no owner: the journal never waits for
//!     one. When a piece moves to a place, the replicas there are none any more. They are known in memory only, and
//!     used if they have the right checksums, as copies are (A5): the disk may have anything in their place.
//! A11. A span has one checksum, so a read of a part of it reads all of it. Spans are made of what is read together: of
//!     a block of one file. On a disk with a head, spans over small files that lie side by side made an adopted volume
//!     three times as slow: the reader of each file went back to the beginning of the span.
//! A12. Replicas pay for themselves: a few are made on trust, then only as many as the reads that others serve have
//!     earned. Otherwise a load that repeats too little, or a disk that never rests, would be slower than without them.
#![forbid(unsafe_code)]

mod adopt;
mod area;
mod away;
mod bytes;
mod carried;
mod cleaner;
mod credit;
mod disk;
mod entry;
mod groups;
mod heal;
mod journal;
mod layer;
mod map;
mod options;
mod page;
mod past;
mod replicas;
mod replicate;
mod root;
mod tree;
mod verified;

pub use adopt::{Adopted, Apart};
pub use area::{NoPlace, least};
pub use heal::Scrubbed;
pub use layer::{Active, Copies, State, Watch};
pub use options::{Kept, OpenError, Options};
pub use past::{Moment, Past};
pub use root::Pass;
pub use verified::{NowhereRight, Verified};

#[cfg(test)]
mod tests;
