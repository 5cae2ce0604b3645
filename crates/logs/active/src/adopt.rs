//! Adoption: the checksums of what lies on the volume and no transaction has written, so that it is verified, too.
//!
//! What was adopted is as any other contents past the journal that the map knows: before other bytes are written there,
//! its item goes, durably (logs-active-1).

use crate::entry::{Frag, SPAN};
use crate::layer::{Active, Layer, span_key};
use ordo_disk::{Cause, DiskError, DiskOff, DiskOp};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Fragments that are read apart from those beside them: where several files lie in one block.
#[derive(Debug, Clone, Default)]
pub struct Apart {
    /// The spans with one of them, 64 in a word by their numbers: two bits for a span where all have one, 8 MB of 1 TB
    /// with fragments of 4 KB.
    spans: FxHashMap<u64, u64>,
    /// Blocks are shorter than a span: every fragment is read apart.
    all: bool,
}

impl Apart {
    /// None so far, on a volume with so many fragments in a block.
    pub fn new(in_a_block: u32) -> Apart {
        Apart { spans: FxHashMap::default(), all: u64::from(in_a_block) < SPAN }
    }

    /// These are.
    pub fn add(&mut self, frags: Range<u64>) {
        if !self.all {
            for span in frags.start / SPAN..frags.end.div_ceil(SPAN) {
                *self.spans.entry(span / 64).or_default() |= 1 << (span % 64);
            }
        }
    }

    fn has(&self, frag: Frag) -> bool {
        let span = frag / SPAN;
        self.all || self.spans.get(&(span / 64)).is_some_and(|bits| bits >> (span % 64) & 1 == 1)
    }
}

/// What an adoption has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Fragments whose checksum was taken.
    pub new: u64,
    /// Fragments that the map has no room for.
    pub left: u64,
}

impl std::ops::AddAssign for Adopted {
    fn add_assign(&mut self, more: Adopted) {
        self.new += more.new;
        self.left += more.left;
    }
}

impl Active {
    /// Takes the checksums of these fragments, as far as none is known; of spans none of which is in `apart`, by their
    /// first fragments, together (logs-active-11). Those of the journal's own file are passed over; the caller says
    /// that nothing else there is written past this disk. Durable after [`Active::settled`]. Calls go on meanwhile: a
    /// write waits while its fragments are read (logs-active-6).
    ///
    /// # Errors
    /// The disk fails; or nothing may be written.
    pub async fn adopt(&self, frags: Range<u64>, apart: &Apart) -> Result<Adopted, DiskError> {
        let layer = &self.0;
        if layer.read_only {
            return Err(DiskError::new(DiskOp::Write, DiskOff(0), 0, Cause::ReadOnly));
        }
        // Pieces begin with a span, so that whole ones stay whole.
        let most = layer.most_at_once(SPAN * layer.area.frag) as u64 * SPAN;
        let mut done = Adopted::default();
        for part in layer.area.outside(frags) {
            let mut next = part.start;
            while next < part.end {
                let piece = next..((next + most) / SPAN * SPAN).min(part.end);
                next = piece.end;
                layer.hold(&piece).await;
                let adopted = layer.adopt_held(piece.clone(), apart, &mut done).await;
                layer.release(piece);
                adopted?;
            }
        }
        Ok(done)
    }
}

impl Layer {
    /// The same of fragments that no write can reach now.
    async fn adopt_held(&self, piece: Range<Frag>, apart: &Apart, done: &mut Adopted) -> Result<(), DiskError> {
        let size = self.area.frag;
        let bytes = self.read_raw(self.home(piece.start), (piece.end - piece.start) * size).await?;
        let of = |first: Frag, count: u64| {
            let from = ((first - piece.start) * size) as usize;
            bytes.get(from..from + (count * size) as usize).unwrap_or_default()
        };
        let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
        let mut frag = piece.start;
        while frag < piece.end {
            let fits = frag.is_multiple_of(SPAN) && frag + SPAN <= piece.end && !apart.has(frag);
            let is_span = fits && map.has_none(frag..frag + SPAN);
            let count = if is_span { SPAN } else { 1 };
            if !map.has_none(frag..frag + count) {
                frag += count;
                continue;
            }
            // What is still in the pages on the disk is not known for this place (logs-active-1).
            if !map.has_room() || map.gave_up(&(frag..frag + count)) {
                done.left += count;
                frag += count;
                continue;
            }
            let sum = crc32c::crc32c(of(frag, count));
            match is_span {
                true => map.learn_span(frag, sum),
                // Not as contents: an overwrite of a file loses what is known of contents ahead of it, and this may be
                // another file's.
                false => map.learn(frag, sum, false),
            }
            tree.touch(if is_span { span_key(frag) } else { frag });
            done.new += count;
            frag += count;
        }
        map.take_made_room().into_iter().for_each(|frag| tree.touch(frag));
        Ok(())
    }
}
