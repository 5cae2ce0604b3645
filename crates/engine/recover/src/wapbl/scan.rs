//! The scan of the log, from its oldest record to its newest one.

use super::pieces::Pieces;
use crate::image::Image;
use crate::outcome::NotReplayed;
use ordo_disk::Disk;
use ordo_ondisk::wapbl::{Body, Extent, Header, Place, Record, Unlinked};
use ordo_ondisk::{ByteOff, Corrupt, Rule, Structure};
use std::ops::Range;
use std::rc::Rc;

/// Bytes of a line of the log in memory.
const LINE: u32 = 64 << 10;
/// The most bytes of images. NetBSD's logs have 64 MiB at most, unless much of the partition is behind the volume.
const IMAGES_MAX: u64 = 1 << 30;

/// The log, and what counts of it.
pub(super) struct Log {
    image: Image,
    pub(super) place: Place,
    pub(super) header: Header,
    pub(super) pieces: Pieces,
    /// Inodes that were in use and had no name.
    pub(super) unlinked: Vec<Unlinked>,
    /// The bytes of the log with the list of these: from its first record to behind the last one, perhaps through the
    /// end of the circle.
    pub(super) list: Option<Range<u64>>,
    /// Lists of inodes that begin anew: NetBSD ends each transaction with one.
    pub(super) transactions: u64,
}

impl Log {
    /// Reads the log from its oldest record to the newest one.
    pub(super) async fn open(disk: Rc<dyn Disk>, place: Place) -> Result<Log, NotReplayed> {
        let mut image = Image::new(disk, place.log.end, LINE);
        let mut headers = vec![0; 2 * place.block as usize];
        image.read(ByteOff(place.log.start), &mut headers).await?;
        let header = Header::choose(&headers, &place)?;
        let pieces = Pieces::new(header.circle);
        let mut log = Log { image, place, header, pieces, unlinked: vec![], list: None, transactions: 0 };
        log.scan().await?;
        match log.pieces.bytes() {
            0..=IMAGES_MAX => Ok(log),
            bytes => Err(NotReplayed::TooLong { bytes, most: IMAGES_MAX }),
        }
    }

    async fn scan(&mut self) -> Result<(), NotReplayed> {
        let (circle, block) = (self.header.circle, self.header.block);
        let (mut at, mut room, mut after_list) = (self.header.tail, self.header.used(), false);
        while room > 0 {
            let mut bytes = vec![0; block as usize];
            self.read(at, &mut bytes).await?;
            let record = Record::decode(&bytes, &self.header, &self.place, at, room)?;
            let (images, next) = (circle.advance(at, block), circle.advance(at, record.len));
            let is_list = matches!(record.body, Body::Inodes { .. });
            match record.body {
                Body::Blocks(extents) => {
                    let mut from = images;
                    for Extent { at, len } in extents {
                        self.pieces.add(at, len, from);
                        from = circle.advance(from, len);
                    }
                }
                Body::Revocations(extents) => extents.iter().for_each(|e| self.pieces.revoke(e.at, e.len)),
                Body::Inodes { clear, list } => self.list(at..next, clear, list, after_list)?,
            }
            (at, room, after_list) = (next, room.saturating_sub(record.len), is_list);
        }
        Ok(())
    }

    /// A list of inodes in these bytes of the log.
    fn list(&mut self, at: Range<u64>, clear: bool, list: Vec<Unlinked>, after_list: bool) -> Result<(), NotReplayed> {
        self.transactions += u64::from(clear);
        match &mut self.list {
            Some(whole) if !clear && after_list => whole.end = at.end,
            Some(_) if !clear => {
                // The log could not be narrowed to such a list (recover-wapbl-3), and NetBSD writes none.
                let rule = Rule::Words("which goes on with a list that other records follow");
                let at = ByteOff(self.place.log.start.saturating_add(at.start));
                return Err(Corrupt::new(Structure::Wapbl, "wc_clear", 0, rule).at(at).into());
            }
            of => *of = Some(at),
        }
        if clear {
            self.unlinked.clear();
        }
        self.unlinked.extend(list);
        Ok(())
    }

    /// Reads bytes of the circle.
    pub(super) async fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), NotReplayed> {
        let (mut at, mut rest) = (at, into);
        while !rest.is_empty() {
            let here = usize::try_from(self.header.circle.before_wrap(at)).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at_mut(here);
            if now.is_empty() {
                return Err(NotReplayed::Outside { at, len: 0 });
            }
            self.image.read(ByteOff(self.place.log.start.saturating_add(at)), now).await?;
            (at, rest) = (self.header.circle.advance(at, here as u64), later);
        }
        Ok(())
    }
}
