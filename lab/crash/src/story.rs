//! Tells a violation as a story: the calls, the writes and what became of them, what should be, what is.

use crate::disks::Side;
use crate::fate::Fate;
use crate::id::Id;
use crate::oracle::{Breach, Oracle};
use crate::record::{Recording, Write};
use crate::report::Violation;
use crate::subject::Subject;
use ordo_buf::{CrashLeaves, Durable, Promises};
use ordo_disk::Kind;

pub(crate) fn tell(
    subject: &Subject,
    recording: &Recording,
    promises: &Promises,
    pending: &[usize],
    id: Id,
    breach: &Breach,
) -> Violation {
    let fates = &id.fates().0;
    let lines: Vec<(Fate, String)> =
        pending.iter().zip(fates).map(|(index, fate)| (*fate, write(recording, *index))).collect();
    let cut = id.moments();
    let running = recording.calls.iter().rev().find(|call| call.began <= cut);
    let (promised, promise) = match subject.question {
        Some(question) => (false, format!("declares nothing of the kind; asked for: {}", question.says())),
        None => promise(breach.oracle, promises),
    };
    Violation {
        id: id.to_string(),
        oracle: breach.oracle,
        promised,
        promise: format!("{}: {promise}", subject.scheme),
        script: 0,
        cut,
        state: 0,
        call: running.map_or_else(String::new, |call| call.short()),
        lost: lines
            .iter()
            .filter(|(fate, _)| *fate != Fate::Kept)
            .map(|(fate, line)| format!("{line}: {}", fate.says()))
            .collect(),
        detail: format!("{}: should be {}; is {}", breach.what, breach.should, breach.is),
        should: format!("{}: {}", breach.what, breach.should),
        is: breach.is.clone(),
        calls: calls(recording, cut),
        writes: lines.into_iter().map(|(fate, line)| format!("{line}: {}", fate.says())).collect(),
        shrunk: None,
    }
}

/// The calls in order, and where the power went.
fn calls(recording: &Recording, cut: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (call, number) in recording.calls.iter().zip(1..).take_while(|(call, _)| call.began <= cut) {
        let state = if call.returned <= cut { "returned" } else { "running when the power went" };
        lines.push(format!("{number}. {}: {}{state}", call.short(), if call.done { "" } else { "refused, " }));
    }
    lines
}

/// A write in words: what, where, and for which call.
fn write(recording: &Recording, index: usize) -> String {
    let Write { at, parts, .. } = &recording.writes[index];
    let side = recording.split.side(*at);
    let mut place = *at - recording.split.base(side);
    let of = if side == Side::Log { " of the log's disk" } else { "" };
    let mut told = Vec::new();
    for part in parts {
        let call = part.call.and_then(|call| Some((call + 1, recording.calls.get(call)?.short())));
        let call = call.map_or_else(String::new, |(number, text)| format!(" for call {number}, {text}"));
        told.push(format!("{} at byte {place}{of}, {} bytes{call}", kind(part.kind), part.len));
        place += part.len;
    }
    format!("write {index} ({})", told.join("; "))
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Superblock => "superblock",
        Kind::Maps => "cylinder group",
        Kind::Inodes => "inode block",
        Kind::Directory => "directory",
        Kind::Indirect => "indirect block",
        Kind::Data => "data",
        Kind::ExtAttr => "extended attributes",
        Kind::Summary => "summary",
        Kind::Log => "log",
        _ => "block",
    }
}

/// Whether the scheme promises what the oracle checked, and in which words.
fn promise(oracle: Oracle, promises: &Promises) -> (bool, String) {
    let when = |durable| match durable {
        Durable::OnReturn => "when the call returns",
        Durable::AfterFsync => "after fsync",
        Durable::AfterSync => "after sync",
    };
    match oracle {
        Oracle::Durable => {
            let Promises { name_added, name_removed, data, attributes, .. } = promises;
            let (added, removed) = (when(*name_added), when(*name_removed));
            let (data, attributes) = (when(*data), when(*attributes));
            (
                true,
                format!("new names are durable {added}, removed ones {removed}, data {data}, attributes {attributes}"),
            )
        }
        Oracle::Older => (true, "a sync is in both superblocks of a log".into()),
        Oracle::Rename => (true, "a file with a durable name is never without one".into()),
        Oracle::Order => (true, "a crash leaves some moment of the history".into()),
        Oracle::Foreign if promises.no_stale_data => (true, "no file shows bytes that were another file's".into()),
        Oracle::Contents | Oracle::Foreign => (true, format!("data is durable {}, and stays", when(promises.data))),
        Oracle::Structure if promises.crash_leaves != CrashLeaves::Anything => {
            (true, format!("a crash leaves {}", crate::structure::allowed(promises.crash_leaves)))
        }
        Oracle::Recovers
        | Oracle::Structure
        | Oracle::Works
        | Oracle::Idempotent
        | Oracle::RecoveryCut
        | Oracle::Peer => {
            let says = "fsck -p repairs what a crash leaves, without a question, and the volume works";
            match promises.crash_leaves {
                _ if promises.mount_at_once => (
                    true,
                    "a crashed volume may be mounted and written at once, or repaired first; both end alike".into(),
                ),
                CrashLeaves::Anything => (false, format!("declares nothing; held to the least: {says}")),
                _ => (true, says.into()),
            }
        }
    }
}
