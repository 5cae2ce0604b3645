//! Runs of fragments and tickets in words: what [`ordo_buf::Held`] says of them, and a trace of the steps.

use ordo_buf::{Freed, Run, Ticket};
use std::fmt::{Display, Formatter, Result};

/// A run of fragments.
pub struct Fragments(pub Run);

impl Display for Fragments {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Run { frags: 0, .. } => f.write_str("nothing"),
            Run { at, frags } => write!(f, "@{}+{frags}", at.0),
        }
    }
}

/// A ticket, by what it frees.
pub struct Frees<'a>(pub &'a Ticket);

impl Display for Frees<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "ticket: {}", InWords(self.0.freed()))
    }
}

/// What is freed, in words.
pub struct InWords<'a>(pub &'a Freed);

impl Display for InWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Freed::DropLink { ino, parent: None, .. } => write!(f, "a link of inode {}", ino.0),
            Freed::DropLink { ino, parent: Some(above), .. } => {
                write!(f, "all links of directory {}, and one of its parent {}", ino.0, above.0)
            }
            Freed::Blocks { runs, .. } => {
                for (index, (at, frags)) in runs.iter().take(RUNS_SHOWN).enumerate() {
                    write!(f, "{}@{}+{frags}", if index > 0 { " " } else { "" }, at.0)?;
                }
                match runs.len().saturating_sub(RUNS_SHOWN) {
                    0 => Ok(()),
                    more => write!(f, " and {more} runs more"),
                }
            }
            Freed::Inode { ino, .. } => write!(f, "the number {}", ino.0),
        }
    }
}

/// The most runs of fragments shown in a line.
const RUNS_SHOWN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_buf::Ledger;
    use ordo_ondisk::{FragNo, Ino};

    #[test]
    fn a_ticket_says_what_it_frees_and_a_long_list_is_cut() {
        let ledger = Ledger::default();
        let said = |freed| {
            let ticket = ledger.issue(freed);
            let said = Frees(&ticket).to_string();
            let _ = ticket.redeem();
            said
        };
        let runs = |count: u64| (0..count).map(|i| (FragNo(8 * i), 8)).collect();
        assert_eq!(said(Freed::Blocks { ino: Ino(5), runs: runs(2) }), "ticket: @0+8 @8+8");
        let cut = said(Freed::Blocks { ino: Ino(5), runs: runs(9) });
        assert_eq!(cut, "ticket: @0+8 @8+8 @16+8 @24+8 and 5 runs more");
        assert_eq!(said(Freed::DropLink { ino: Ino(5), links: 1, parent: None }), "ticket: a link of inode 5");
    }
}
