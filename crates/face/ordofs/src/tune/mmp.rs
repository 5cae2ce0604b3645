//! The record of the one writer, made and removed.
//!
//! It is made on a clean volume only: a volume is not clean while another machine has it mounted without the record.
//! It is not made over anything else in its place: that may be boot code.

use super::error::TuneError;
use crate::claim::{Writer, place_of, writer};
use crate::located::Located;
use ordo_disk::Disk;
use ordo_disk::fence::{Claim, look_at_damage, make_record};
use ordo_ondisk::mmp::{INTERVALS, Place};
use ordo_rt::Rt;
use std::rc::Rc;

/// A change of the protection against a second writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmpChange {
    /// Remove the record.
    Off,
    /// Make one, with so many milliseconds from beat to beat.
    On(u32),
}

/// Checks that the change is possible, and returns what the record says now.
pub(super) fn check(rt: &Rt, change: Option<MmpChange>, located: &Located) -> Result<String, TuneError> {
    let is = writer(rt, located)?;
    if let Some(MmpChange::On(interval)) = change {
        let place = place_of(&located.found).ok_or(TuneError::NoMmpPlace)?;
        if !INTERVALS.contains(&interval) {
            return Err(TuneError::MmpInterval(interval));
        }
        let seen = rt.block_on(look_at_damage(&*located.disk, place))?.ok_or(TuneError::NoMmpPlace)?;
        if is == Writer::Off && !seen.is_blank {
            return Err(TuneError::MmpPlaceTaken { owner: place.owner.0, beat: place.beat.0 });
        }
    }
    Ok(match is {
        Writer::Off => "off".into(),
        Writer::On(owner, _) => on(owner.interval),
        Writer::Damaged(_) => "damaged".into(),
    })
}

fn on(interval: u32) -> String {
    format!("on, every {} s", f64::from(interval) / 1000.0)
}

/// Makes the change, and ends the claim by it, if there is one. Returns what the record says now.
pub(super) fn changed(
    rt: &Rt,
    change: MmpChange,
    claim: Option<Claim>,
    disk: &Rc<dyn Disk>,
    place: Option<Place>,
) -> Result<String, TuneError> {
    let is = match change {
        MmpChange::Off => "off".into(),
        MmpChange::On(interval) => on(interval),
    };
    rt.block_on(async {
        match (change, claim) {
            (MmpChange::Off, Some(claim)) => claim.remove().await?,
            (MmpChange::Off, None) => {}
            (MmpChange::On(interval), Some(claim)) => claim.release_with(interval).await?,
            (MmpChange::On(interval), None) => {
                make_record(&**disk, place.ok_or(TuneError::NoMmpPlace)?, interval).await?;
            }
        }
        Ok(is)
    })
}
