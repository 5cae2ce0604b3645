//! Reading the journal sequentially, some megabytes at a time.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Error;
use crate::area::Area;

/// Bytes that are read at a time.
const AHEAD: usize = 4 << 20;

/// A read-ahead window on the line.
pub(crate) struct Reader {
    area: Area,
    /// The first block of the window.
    from: u64,
    bytes: Vec<u8>,
    /// Blocks that are read at a time.
    ahead: u64,
}

impl Reader {
    pub(crate) fn new(area: Area) -> Reader {
        let ahead = AHEAD.checked_div(area.shape.block).unwrap_or(1) as u64;
        Reader { area, from: 0, bytes: Vec::new(), ahead }
    }

    /// Reads at most `ahead` blocks at a time.
    pub(crate) fn at_most(self, ahead: u64) -> Reader {
        Reader { ahead: self.ahead.min(ahead).max(1), ..self }
    }

    /// The block at `line`, which lies before `limit`. Blocks after it, up to `limit`, may be read with it.
    pub(crate) async fn block(&mut self, line: u64, limit: u64) -> Result<&mut [u8], Error> {
        let block = self.area.shape.block;
        let held = self.bytes.len().checked_div(block).unwrap_or(0) as u64;
        if line.checked_sub(self.from).is_none_or(|into| into >= held) {
            self.bytes.clear();
            self.from = line;
            self.area.read(line, self.ahead.min(limit.saturating_sub(line)), &mut self.bytes).await?;
        }
        let into = line.saturating_sub(self.from) as usize;
        // OK to expect: it was read just now, if it was not there; a disk reads what it is asked for, or fails.
        Ok(self.bytes.chunks_exact_mut(block.max(1)).nth(into).expect("the block was read"))
    }
}
