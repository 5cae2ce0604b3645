//! `ordo disks serve`

use crate::out::{Outcome, Status, print};
use anyhow::Context;
use ordo_cli::interrupt;
use ordo_drive::Profile;
use ordo_nbd::{Address, Listener, Server, ServerOptions, Whole};
use ordo_simdisk::{Service, SimDisk};
use ordofs::disk::DiskOp;
use ordofs::rt::Rt;
use serde::Serialize;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Serves a modelled drive as a network block device, as slow as the drive is
///
/// The drive is empty at first and lives in memory. It seeks, turns and transfers in real time, so that a mount of a
/// volume on it can be measured from a program's call to the platter. At the end (SIGINT, SIGTERM) it says what its arm
/// did.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo disks serve quantum_atlas_10k --socket /tmp/drive.socket\n  \
    ordo disks serve quantum_atlas_10k --socket /tmp/drive.socket --json >arm.json")]
pub(super) struct Args {
    /// The drive (ordo disks)
    name: String,
    /// A path for a UNIX socket
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// What the arm did as one JSON document
    #[arg(long)]
    json: bool,
}

/// What a drive did.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Arm {
    reads: u64,
    writes: u64,
    /// Cylinders that the arm has crossed.
    cylinders: u64,
}

impl Arm {
    fn of(services: &[Service]) -> Arm {
        let (mut arm, mut at) = (Arm::default(), 0);
        for service in services {
            arm.cylinders += u64::from(service.cylinder.abs_diff(at));
            at = service.cylinder;
            match service.op {
                DiskOp::Read => arm.reads += 1,
                _ => arm.writes += 1,
            }
        }
        arm
    }
}

/// Serves until it is told to stop.
pub(super) fn run(args: &Args) -> Outcome {
    let profile = Profile::named(&args.name).with_context(|| format!("drive {}", args.name))?;
    interrupt::catch()?;
    let rt = Rt::real_time();
    let disk = SimDisk::new(&rt, profile);
    disk.note_services();
    let listener = Listener::bind(&Address::Unix(args.socket.clone()))
        .with_context(|| format!("cannot listen at {}", args.socket.display()))?;
    let complain = Arc::new(|what: &str| eprintln!("ordo: {what}"));
    let server = Server::new(listener, ServerOptions { name: String::new(), complain })?;
    let stopper = server.stopper();
    let clock = rt.clone();
    rt.spawn(async move {
        while interrupt::caught().is_none() {
            clock.sleep(Duration::from_millis(20)).await;
        }
        stopper.stop();
    });
    server.run(&rt, Whole::new(Rc::new(disk.clone()), None, false, args.name.clone()))?;
    let arm = Arm::of(&disk.take_services());
    print(|out| match args.json {
        true => out.json(&arm),
        false => {
            out.line(format!("{} reads, {} writes; the arm crossed {} cylinders", arm.reads, arm.writes, arm.cylinders))
        }
    })?;
    Ok(Status::DONE)
}
