//! The drive's requests while one user removed a tree, under each of the five systems.

use ordo_simdisk::Service;
use ordofs::disk::{DiskOp, Kind};
use ordofs::rt::Time;

use super::systems::{printed, system};
use crate::Outcome;
use ordo_report::results::{Dot, Timeline};

/// The time line of a run.
pub(super) fn timeline(name: &str, outcome: &Outcome) -> Timeline {
    let start = outcome.services.first().map_or(Time::ZERO, |service| service.at);
    Timeline {
        title: format!("{}: one user removes a tree", printed(name)),
        scheme: system(name).0,
        workload: "remove-tree".to_owned(),
        cylinders: outcome.cylinders,
        requests: outcome.services.iter().map(|service| dot(service, start)).collect(),
    }
}

fn dot(service: &Service, start: Time) -> Dot {
    // Microseconds are precise enough to draw, and keep the document short.
    let millis = |time: std::time::Duration| time.as_micros() as f64 / 1e3;
    Dot {
        at_ms: millis(service.at - start),
        service_ms: millis(service.done - service.at),
        cylinder: service.cylinder,
        kind: kind(service).to_owned(),
        write: service.op != DiskOp::Read,
    }
}

fn kind(service: &Service) -> &'static str {
    match service.kind {
        _ if service.op == DiskOp::Read => "read",
        Kind::Superblock => "superblock",
        Kind::Maps | Kind::Summary => "group",
        Kind::Inodes => "inode",
        Kind::Directory => "directory",
        Kind::Indirect => "indirect",
        Kind::Data | Kind::Symlink | Kind::ExtAttr => "data",
        Kind::Log => "log",
        _ => "other",
    }
}
