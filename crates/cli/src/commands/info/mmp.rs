//! What is said of the record of a volume's one writer.

use ordo_ondisk::mmp::{Beat, Owner, utc};
use ordofs::Writer;
use serde::Serialize;

/// The record. Times by the writer's clock, in seconds since 1970.
#[derive(Debug, Serialize)]
pub(super) struct MmpInfo {
    /// Seconds from beat to beat.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<f64>,
    /// Claims since the record was made.
    claims: u32,
    /// Who has claimed the volume, and works on it or has ended without giving it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<HolderInfo>,
    /// Why the record cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

#[derive(Debug, Serialize)]
struct HolderInfo {
    doing: String,
    host: String,
    pid: u32,
    since: i64,
    beats: Option<u64>,
    last_beat: Option<i64>,
}

impl MmpInfo {
    pub(super) fn of(writer: Writer) -> Option<MmpInfo> {
        match writer {
            Writer::Off => None,
            Writer::Damaged(why) => Some(MmpInfo { interval: None, claims: 0, holder: None, damage: Some(why) }),
            Writer::On(owner, beat) => Some(MmpInfo::on(&owner, beat)),
        }
    }

    fn on(owner: &Owner, beat: Option<Beat>) -> MmpInfo {
        let beat = beat.filter(|beat| beat.session == owner.session());
        let holder = owner.holder.as_ref().ok().map(|holder| HolderInfo {
            doing: holder.doing.clone(),
            host: holder.host.clone(),
            pid: holder.pid,
            since: holder.since,
            beats: beat.map(|beat| beat.seq),
            last_beat: beat.map(|beat| beat.at),
        });
        MmpInfo { interval: Some(f64::from(owner.interval) / 1000.0), claims: owner.claims, holder, damage: None }
    }

    pub(super) fn line(&self) -> String {
        if let Some(why) = &self.damage {
            return format!("damaged: {why}; ordo tune -o mmp=on makes the record anew");
        }
        let every = format!("on, every {} s", self.interval.unwrap_or_default());
        let Some(holder) = &self.holder else { return format!("{every}; nobody has it") };
        let HolderInfo { doing, host, pid, since, .. } = holder;
        let beat = match (holder.beats, holder.last_beat) {
            (Some(beats), Some(at)) => format!(", beat {beats} at {} UTC", utc(at)),
            _ => ", no beat yet".to_owned(),
        };
        format!("{every}; claimed by {doing}, process {pid} on {host}, since {} UTC by its clock{beat}", utc(*since))
    }
}
