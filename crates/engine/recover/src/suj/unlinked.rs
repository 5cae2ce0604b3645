//! Step 5: nameless files that were open when the power failed, and that no process will close.

use super::replay::Replay;
use crate::outcome::NotReplayed;
use ordo_ondisk::Ino;
use std::collections::BTreeSet;

impl Replay {
    /// Reads the list. It is changed only at the end (recover-suj-5).
    pub(super) async fn read_unlinked(&mut self) -> Result<(), NotReplayed> {
        let mut seen = BTreeSet::new();
        let mut next = self.sb.fields.sujfree.cast_unsigned();
        while next != 0 {
            let ino = next;
            // The list must lead to valid inodes only, and to each once.
            if ino <= Ino::ROOT.0 || !self.geo.is_valid_ino(Ino(ino)) || !seen.insert(ino) {
                return Err(NotReplayed::Unlinked { ino });
            }
            if !self.is_initialised(ino).await? {
                return Err(NotReplayed::Unlinked { ino });
            }
            self.unlinked.push(ino);
            next = self.dinode(ino).await?.freelink;
        }
        Ok(())
    }

    /// Clears the list links in the inodes that were on the list.
    pub(super) async fn clear_unlinked(&mut self) -> Result<(), NotReplayed> {
        for ino in std::mem::take(&mut self.unlinked) {
            let mut dinode = self.dinode(ino).await?;
            dinode.freelink = 0;
            self.put_dinode(ino, &dinode).await?;
        }
        Ok(())
    }
}
