//! The schemes compared on a modelled drive, in virtual time: the same numbers on every machine.

use super::Amount;
use crate::bench::bed::Bed;
use crate::bench::fresh::NotHere;
use crate::bench::job::Job;
use crate::bench::machine::MachineOf;
use ordo_cli::fresh::NewSize;
use ordo_report::results::LeftOut;
use ordo_workload::{Params, Row};
use ordofs::MountOptions;

/// A drive of 1994, with the machine of the paper on soft updates' beginnings around it.
pub(crate) const DRIVE: &str = "hp_c2447";
/// The volume, in bytes: it fits on the drive, and has room for every log.
pub(crate) const VOLUME: u64 = 512 << 20;

/// The rows of each of these schemes, and those for which there can be no volume: one of 1994 leaves a gap after each
/// block, and has no pieces as long as the group journals of an active disk.
pub(crate) fn run(schemes: &[String], amount: &Amount) -> anyhow::Result<(Vec<Row>, Vec<LeftOut>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for scheme in schemes {
        let job = Job {
            workload: amount.workload.to_owned(),
            params: Params::parse(amount.params)?,
            users: 1,
            size: NewSize::of(VOLUME),
            options: MountOptions { scheme: Some(scheme.clone()), ..MountOptions::default() },
            separate_log: false,
            machine: MachineOf::with_drive(DRIVE),
        };
        match job.run(&Bed::Sim(DRIVE.to_owned()), 1) {
            Ok(more) => rows.extend(more),
            Err(why) if why.is::<NotHere>() => {
                left_out.push(LeftOut { scheme: scheme.clone(), why: why.to_string() });
            }
            Err(other) => return Err(other),
        }
    }
    Ok((rows, left_out))
}
