//! Older versions of a cylinder group: to be looked at, and for nothing else.

use super::of_clean;
use crate::OpenError;
use crate::located::Located;
use crate::sectors::get;
use ordo_disk::{Disk, DiskOff, Kind};
use ordo_ondisk::cg::{self, Cg};
use ordo_ondisk::{Cgx, Csum, Format};
use ordo_rt::Rt;
use std::rc::Rc;

/// An older version of a cylinder group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupVersion {
    /// Its number, from 1: the newest of the older ones.
    pub number: u32,
    /// When it was written, by the group's own field: seconds.
    pub time: i64,
    /// What was in it and what was free.
    pub counts: Csum,
    /// Its bytes as they were on the disk.
    pub bytes: Vec<u8>,
}

/// The older versions of a cylinder group of a volume that is not mounted, the newest first: to be looked at. (The
/// superblock has none: it is written past the journal.)
///
/// # Errors
/// There is no such group; otherwise as [`super::versions_of`].
pub fn versions_of_group(rt: &Rt, located: &Located, group: Cgx) -> Result<Vec<GroupVersion>, OpenError> {
    let (sb, active) = of_clean(rt, located)?;
    let g = sb.geometry();
    if group.0 >= g.ncg {
        return Err(OpenError::NoGroup(group.0, g.ncg));
    }
    let (at, len) = (g.byte(g.cgtod(group)), u64::from(g.cgsize));
    let mut found = Vec::new();
    for moment in active.moments(DiskOff(at.0), len).into_iter().rev() {
        let past = active.past(moment);
        if !past.knows(DiskOff(at.0), len) {
            continue;
        }
        let disk: Rc<dyn Disk> = Rc::new(past);
        let bytes = rt.block_on(get(&disk, at, g.cgsize as usize, Kind::Maps))?;
        // What is no group then is none.
        let Ok(layout) = cg::check(&bytes, &g, group) else { continue };
        let Some(view) = Cg::new(&bytes, layout, g.endian) else { continue };
        let time = if g.format == Format::Ufs1 { view.old_time().into() } else { view.time() };
        let (number, counts) = (found.len() as u32 + 1, view.cs());
        found.push(GroupVersion { number, time, counts, bytes });
    }
    Ok(found)
}
