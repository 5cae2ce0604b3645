//! The schemes compared on a modelled drive, in virtual time: the same numbers on every machine.

use super::amount::Amount;
use crate::bench::bed::{Bed, NewSize, wants_log};
use crate::bench::job::{Job, MachineOf};
use ordo_workload::{Params, Row};
use ordofs::{LogKind, MountOptions};

/// A drive of 1994, with the machine of the paper on soft updates' beginnings around it.
pub(crate) const DRIVE: &str = "hp_c2447";
/// The volume, in bytes: it fits on the drive, and has room for every log.
const VOLUME: u64 = 512 << 20;

/// A volume of 1994 leaves a gap after each block, and has no extents as long as the group journals of an active disk.
pub(crate) fn is_too_long(scheme: &str) -> bool {
    let options = MountOptions { scheme: Some(scheme.to_owned()), ..MountOptions::default() };
    wants_log(&options) == Some(LogKind::Active)
}

/// The rows of each of these schemes.
pub(crate) fn run(schemes: &[String], amount: &Amount) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let fits = |scheme: &&String| !is_too_long(scheme);
    for scheme in schemes.iter().filter(fits) {
        let job = Job {
            workload: amount.workload.to_owned(),
            params: Params::parse(amount.params)?,
            users: 1,
            size: NewSize::of(VOLUME),
            options: MountOptions { scheme: Some(scheme.clone()), ..MountOptions::default() },
            separate_log: false,
            machine: MachineOf::with_drive(DRIVE),
        };
        rows.extend(job.run(&Bed::Sim(DRIVE.to_owned()), 1)?);
    }
    Ok(rows)
}
