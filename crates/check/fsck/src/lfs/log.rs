//! Partial segments as they lie in the log.

use crate::Error;
use ordo_ondisk::lfs::summary::{Seal, seal};
use ordo_ondisk::lfs::{Daddr, Geometry, Pseg, SegNo, Serial, Summary, Superblock};
use ordo_recover::Image;

/// Where the log ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogEnd {
    /// Where the next partial segment would be.
    pub(crate) offset: Daddr,
    /// The serial number of the last one.
    pub(crate) serial: Serial,
    /// Where the roll-forward stopped: what is there was dropped.
    pub(crate) ends_at: Option<Daddr>,
    /// The partial segments of the segment lead exactly to `offset`.
    pub(crate) reached: bool,
}

/// The partial segment whose summary is at `at`; `None` if there is no whole summary of this volume.
pub(crate) async fn pseg_at(image: &mut Image, g: &Geometry, at: Daddr) -> Result<Option<(Summary, Pseg)>, Error> {
    let Some(segment) = g.segment_of(at) else { return Ok(None) };
    if at.plus(g.summary_units()) > g.segment_end(segment) {
        return Ok(None);
    }
    let bytes = image.bytes(g.byte(at), g.sumsize as usize).await?;
    let Ok(summary) = Summary::decode(&bytes, g) else { return Ok(None) };
    drop(bytes);
    let whole = summary.ident == g.ident;
    Ok(summary.walk(g, at).ok().filter(|_| whole).map(|pseg| (summary, pseg)))
}

/// Checks the blocks of a partial segment, by the format's checksum and by the seal if it has one; returns whether it
/// has. The text says what is wrong.
pub(crate) async fn verify(
    image: &mut Image,
    g: &Geometry,
    (summary, pseg): (&Summary, &Pseg),
) -> Result<Result<bool, String>, Error> {
    let mut bytes = vec![0; pseg.bytes(g) as usize];
    image.read(g.byte(pseg.at), &mut bytes).await?;
    if let Err(why) = pseg.check_data(summary, &bytes, g) {
        return Ok(Err(why.to_string()));
    }
    Ok(match seal::verify(&bytes, g, summary) {
        Seal::Torn => Err(format!("the partial segment at address {} is torn", pseg.at.0)),
        seal => Ok(seal == Seal::Good),
    })
}

/// The partial segments from the start of a segment on, up to the first that is none or that is older than the one
/// before: it was left from an earlier use of the segment.
pub(crate) async fn of_segment(
    image: &mut Image,
    g: &Geometry,
    n: SegNo,
    superblock: bool,
) -> Result<Vec<(Serial, Pseg)>, Error> {
    let (mut found, mut at): (Vec<(Serial, Pseg)>, _) = (vec![], Some(g.first_pseg(n, superblock)));
    while let Some(place) = at {
        let Some((summary, pseg)) = pseg_at(image, g, place).await? else { break };
        if found.last().is_some_and(|(serial, _)| summary.is_stale(g, *serial)) {
            break;
        }
        at = pseg.next_here(g);
        found.push((summary.serial, pseg));
    }
    Ok(found)
}

/// Whether a superblock's place of the log's end is where one of its partial segments ends: the summaries before it
/// lead there, and none of them leads over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// They lead there; the serial number of the last one, if there is one.
    Reached(Option<Serial>),
    /// They end before: one of them is damaged.
    Unknown,
    /// One of them leads over it.
    Inside,
}

/// See [`Position`].
pub(crate) async fn position(image: &mut Image, g: &Geometry, sb: &Superblock) -> Result<Position, Error> {
    let (f, Some(n)) = (&sb.fields, g.segment_starting(sb.fields.curseg)) else { return Ok(Position::Inside) };
    let mut best = Position::Unknown;
    for superblock in [g.newfs_flags(n), !g.newfs_flags(n)] {
        let first = g.first_pseg(n, superblock);
        if f.offset == first || f.offset == f.curseg {
            return Ok(Position::Reached(None));
        }
        let mut last = None;
        for (serial, pseg) in of_segment(image, g, n, superblock).await? {
            if pseg.at < f.offset && pseg.end > f.offset && serial <= f.serial {
                best = Position::Inside;
            }
            if pseg.end == f.offset {
                last = Some(serial);
            }
        }
        if last.is_some() {
            return Ok(Position::Reached(last));
        }
    }
    Ok(best)
}
