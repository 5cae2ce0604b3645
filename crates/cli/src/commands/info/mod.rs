//! `ordo info`
//!
//! `log` is what it says of a log-structured volume, and `segments` its map; the rest of this file is what it says of
//! UFS; `in_use` asks the server of a mounted one.

mod active;
mod in_use;
mod log;
mod mmp;
mod part;
mod segments;

pub(crate) use active::ActiveInfo;
pub(crate) use log::{mounted_on, of_mounted_log};
pub use segments::SegmentMap;

use crate::commands::snapshot::SnapshotJson;
use crate::image::{self, Forensic, ImageArg};
use crate::listing::json_text;
use crate::out::{Outcome, Status, print};
use crate::text;
use in_use::InUse;
use log::LfsInfo;
use mmp::MmpInfo;
use ordo_ondisk::superblock::LogAt;
use ordo_ondisk::superblock::search::{self, Copy};
use ordo_ondisk::{Format, Superblock};
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use ordofs::{Found, ImageSpec, Located, active_at_rest, default_scheme, locate_damaged, partitions};
use part::{Part, bytes, missing_line, name_of};
use serde::Serialize;
use std::path::Path;

/// Shows the type, the fill level and the health of a volume
///
/// Of a log-structured volume (LFS) it also says how many segments are clean; of a mounted one, what cleaning has cost
/// since the mount. --segments draws a map: the state of each segment, and how much of it is alive.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo info disk.img\n  ordo info --json disk.img@s1a\n  ordo info --segments lfs.img"
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// The segments of a log-structured volume, which is not mounted: state and live share of each
    #[arg(long)]
    segments: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    _forensic: Forensic,
}

/// The log of the scheme that kept one on this volume last.
#[derive(Debug, Serialize)]
struct Log {
    /// `file`: in a file of the volume; `elsewhere`: on a disk that a mount names (`log=PATH`);
    /// `stream`: in a stream that it names (`log=nats://…`); `followed`: in a stream that this copy follows.
    at: &'static str,
    /// The inode of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    inode: Option<u32>,
    /// The message that a copy needs next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// Its unique id, in hexadecimal.
    id: String,
    /// A crash left it, and the volume is not usable before it is replayed.
    waits: bool,
}

impl Log {
    fn of(sb: &Superblock) -> Option<Log> {
        let (keeper, _) = sb.keeper()?;
        let (at, inode) = match keeper.log {
            LogAt::Nowhere => return None,
            LogAt::File(ino) => ("file", Some(ino.0)),
            LogAt::Elsewhere => ("elsewhere", None),
            LogAt::Stream => ("stream", None),
            LogAt::Followed(_) => ("followed", None),
        };
        let next = if let LogAt::Followed(next) = keeper.log { Some(next) } else { None };
        let waits = ordo_recover::log_is_due(sb).is_some();
        Some(Log { at, inode, next, id: format!("{:016x}", keeper.id), waits })
    }

    fn line(&self) -> String {
        if let Some(next) = self.next {
            return format!("in a stream that this copy follows, id {}; it has the messages before {next}", self.id);
        }
        let at = match self.inode {
            Some(ino) => format!("in the volume's own file, inode {ino}"),
            None if self.at == "stream" => "in a stream of messages".to_owned(),
            None => "on another disk".to_owned(),
        };
        let due = if self.waits { "; not replayed yet" } else { "" };
        format!("{at}, id {}{due}", self.id)
    }
}

/// A system that must not write to the volume.
#[derive(Debug, Serialize)]
struct Unfit {
    system: &'static str,
    why: String,
}

/// The systems that may write to a volume, by their names on the command line, and those that may not.
fn fit(sb: &Superblock) -> (Vec<&'static str>, Vec<Unfit>) {
    let (mut fit, mut unfit) = (vec![], vec![]);
    for (system, said) in [("freebsd", sb.fit_for_freebsd()), ("netbsd", sb.fit_for_netbsd())] {
        match said {
            Ok(()) => fit.push(system),
            Err(why) => unfit.push(Unfit { system, why: why.to_string() }),
        }
    }
    (fit, unfit)
}

/// Everything that is printed about a volume. Sizes and places are in bytes, times in seconds since 1970.
#[derive(Debug, Serialize)]
pub(crate) struct Info {
    image: String,
    #[serde(rename = "type")]
    kind: &'static str,
    endian: &'static str,
    dialect: String,
    label: String,
    /// As FreeBSD names the volume in `/dev/ufsid`.
    ufsid: String,
    block_size: u32,
    frag_size: u32,
    size: u64,
    /// Bytes of the volume that the image lacks at its end.
    #[serde(skip_serializing_if = "part::is_zero")]
    missing: u64,
    groups: u32,
    inodes: u64,
    free_blocks: i64,
    free_frags: i64,
    free_inodes: i64,
    directories: i64,
    minfree: u32,
    clean: bool,
    /// Why it would not be mounted for writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only: Option<String>,
    /// The systems that may write to it, and why another may not.
    fit_for: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unfit_for: Vec<Unfit>,
    /// The scheme of a mount that names none.
    scheme: String,
    /// The owner of the volume has chosen it (`ordo tune -o scheme=`).
    scheme_chosen: bool,
    /// The scheme of the last mount for writing, if it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_by: Option<String>,
    /// Where the transaction log of that scheme is, if it kept one.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Log>,
    /// The record of its one writer, if that is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    mmp: Option<MmpInfo>,
    /// Its active journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<ActiveInfo>,
    /// Oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    snapshots: Vec<SnapshotJson>,
    features: Vec<&'static str>,
    flags: u32,
    last_mount_point: String,
    last_written: i64,
    superblock: u64,
    /// `None`: the primary superblock was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_backup_of_group: Option<u32>,
    /// The check hash of the superblock is wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hash_wrong: bool,
    /// Oddities of the superblock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    partitions: Vec<Part>,
}

/// A volume, the partitions of its disk, its active journal, its snapshots, and the record of its writer.
type Seen = (Located, Vec<Part>, Option<ActiveInfo>, Vec<SnapshotJson>, Option<MmpInfo>);

/// What is at `spec`.
fn find(spec: &ImageSpec) -> anyhow::Result<Seen> {
    let rt = Rt::real_time();
    let options = || FileOptions { read_only: true, ..FileOptions::default() };
    let located = locate_damaged(&rt, spec, options()).map_err(|error| image::open_error(&spec.path, error))?;
    let whole = ImageSpec { part: None, offset: None, ..spec.clone() };
    let disk = ordofs::open(&rt, &whole, &options()).map_err(|error| image::open_error(&spec.path, error))?;
    // A volume that fills the whole disk may begin with boot code that looks like a partition table.
    let table = match located.disk.info().size == disk.info().size {
        true => Vec::new(),
        false => partitions(&rt, &disk).map(|table| table.partitions).unwrap_or_default(),
    };
    let part = |part: ordo_ondisk::partition::Partition| Part {
        name: part.name,
        start: part.start,
        size: part.len,
        kind: part.kind,
        label: part.label,
    };
    let table = table.into_iter().map(part).collect();
    // What is wrong with it is told where it is used.
    let active = active_at_rest(&rt, &located).ok().flatten().map(|(state, _)| ActiveInfo::of(&state));
    let bsize = located.found.ufs().map_or(0, |found| found.superblock.geometry().bsize);
    let snapshots = ordofs::snapshots(&rt, &located).unwrap_or_default();
    let snapshots = snapshots.iter().map(|found| SnapshotJson::of(found, bsize)).collect();
    let writer = ordofs::writer(&rt, &located).map_err(|error| image::open_error(&spec.path, error))?;
    Ok((located, table, active, snapshots, MmpInfo::of(writer)))
}

impl Info {
    fn new(image: String, found: &search::FoundUfs, partitions: Vec<Part>, active: Option<ActiveInfo>) -> Info {
        let sb = &found.superblock;
        let (g, f) = (sb.geometry(), &sb.fields);
        let keeps = sb.features().snapshots > 0 && sb.dialect == ordo_ondisk::Dialect::FreeBsd;
        let snapshots = keeps.then(|| ordofs::ffs::Copies::new(|| u64::MAX));
        let opening = ordofs::ffs::Opening { snapshots, ..ordofs::ffs::Opening::default() };
        let (fit_for, unfit_for) = fit(sb);
        Info {
            image,
            kind: match sb.format {
                Format::Ufs1 => "ufs1",
                Format::Ufs2 => "ufs2",
            },
            endian: name_of(sb.endian),
            dialect: sb.dialect.to_string(),
            label: sb.label(),
            ufsid: sb.ufsid(),
            block_size: g.bsize,
            frag_size: g.fsize,
            size: sb.volume_bytes(),
            missing: 0,
            groups: g.ncg,
            inodes: g.inodes(),
            free_blocks: f.cs_nbfree,
            free_frags: f.cs_nffree,
            free_inodes: f.cs_nifree,
            directories: f.cs_ndir,
            minfree: g.minfree,
            clean: sb.is_clean(),
            read_only: ordofs::ffs::may_write(found, &opening).err().map(|why| why.to_string()),
            fit_for,
            unfit_for,
            scheme: default_scheme(sb),
            scheme_chosen: sb.chosen_scheme().is_some(),
            kept_by: sb.keeper().map(|(keeper, _)| json_text(keeper.scheme.as_bytes()).0),
            log: Log::of(sb),
            mmp: None,
            active,
            snapshots: vec![],
            features: features(sb),
            flags: f.flags,
            last_mount_point: sb.last_mount_point(),
            last_written: f.time,
            superblock: sb.at.0,
            from_backup_of_group: match found.copy {
                Copy::Primary | Copy::Unproven => None,
                Copy::Backup(group) => Some(group.0),
            },
            hash_wrong: found.copy == Copy::Unproven,
            warnings: sb.warnings.iter().map(ToString::to_string).collect(),
            partitions,
        }
    }

    fn fit_line(&self) -> String {
        let named = |system: &str| if system == "netbsd" { "NetBSD" } else { "FreeBSD" };
        let fit: Vec<&str> = self.fit_for.iter().map(|system| named(system)).collect();
        let fit = if fit.is_empty() { vec!["no BSD".to_owned()] } else { vec![fit.join(" and ")] };
        let unfit = self.unfit_for.iter().map(|unfit| format!("not {}: {}", named(unfit.system), unfit.why));
        fit.into_iter().chain(unfit).collect::<Vec<_>>().join("; ")
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let backup = match self.from_backup_of_group {
            None if self.hash_wrong => ", with a wrong check hash; a copy agrees with its fields".into(),
            None => String::new(),
            Some(group) => format!(", damaged; this is the copy in group {group}"),
        };
        let mut lines = vec![
            ("image", self.image.clone()),
            ("type", format!("{}, {}-endian, as {} has it", self.kind, self.endian, self.dialect)),
            ("label", self.label.clone()),
            ("id", self.ufsid.clone()),
            ("size", bytes(self.size)),
            ("missing", if self.missing == 0 { String::new() } else { missing_line(self.missing) }),
            ("blocks", format!("{} bytes, fragments of {}", self.block_size, self.frag_size)),
            ("groups", self.groups.to_string()),
            (
                "free",
                format!("{} blocks and {} fragments; {}% are kept", self.free_blocks, self.free_frags, self.minfree),
            ),
            ("inodes", format!("{}, {} free; {} directories", self.inodes, self.free_inodes, self.directories)),
            ("clean", if self.clean { "yes" } else { "no" }.to_owned()),
            ("writing", self.read_only.clone().unwrap_or_else(|| "possible".to_owned())),
            ("fit for", self.fit_line()),
            (
                "scheme",
                match self.scheme_chosen {
                    true => format!("{}, chosen for this volume, unless a mount names another", self.scheme),
                    false => format!("{} unless another is chosen", self.scheme),
                },
            ),
            ("kept by", self.kept_by.clone().unwrap_or_default()),
            ("log", self.log.as_ref().map(Log::line).unwrap_or_default()),
            ("mmp", self.mmp.as_ref().map(MmpInfo::line).unwrap_or_default()),
            ("active", self.active.as_ref().map(ActiveInfo::line).unwrap_or_default()),
            ("features", self.features.join(", ")),
            ("last on", self.last_mount_point.clone()),
            ("written", format!("{} UTC", text::time(self.last_written))),
            ("superblock", format!("at byte {}{backup}", self.superblock)),
        ];
        lines.extend(self.snapshots.iter().map(|snapshot| ("snapshot", snapshot.line())));
        lines.extend(self.warnings.iter().map(|warning| ("odd", warning.clone())));
        lines.extend(self.partitions.iter().map(Part::line));
        lines
    }
}

fn features(sb: &Superblock) -> Vec<&'static str> {
    let on = sb.features();
    let all = [
        (on.softdep, "softupdates"),
        (on.suj, "softupdates-journal"),
        (on.gjournal, "gjournal"),
        (on.wapbl, "wapbl-in-use"),
        (on.wapbl_at.is_some(), "wapbl"),
        (on.snapshots > 0, "snapshots"),
        (on.quota2, "quota2"),
        (on.acls, "posix-acls"),
        (on.nfs4acls, "nfs4-acls"),
        (on.multilabel, "multilabel"),
        (on.trim, "trim"),
        (on.hashes, "check-hashes"),
        (on.extattr, "extended-attributes"),
        (on.needs_fsck, "needs-fsck"),
    ];
    all.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect()
}

/// Prints the volume at a place; also used by `mkfs`.
pub(crate) fn show(image: &Path, start: image::Start, json: bool) -> Outcome {
    let spec = image::spec(image, start)?;
    let (located, parts, active, snapshots, mmp) = match find(&spec) {
        Ok(found) => found,
        Err(error) => return InUse::of(image).map_or(Err(error), |used| used.show(json)),
    };
    let name = json_text(spec.to_string().as_bytes()).0;
    let missing = located.found.volume_bytes().saturating_sub(located.disk.info().size);
    match &located.found {
        Found::Ufs(found) => {
            let mut info = Info { snapshots, mmp, missing, ..Info::new(name, found, parts, active) };
            if missing > 0 {
                info.read_only.get_or_insert_with(|| "impossible, as a part of the volume is missing".to_owned());
            }
            shown(&info, info.lines(), json)
        }
        Found::Lfs(found) => {
            let mut info = LfsInfo::new(name, found, parts);
            (info.mmp, info.missing) = (mmp, missing);
            shown(&info, info.lines(), json)
        }
    }
}

fn shown<T: Serialize>(info: &T, lines: Vec<(&'static str, String)>, json: bool) -> Outcome {
    print(|out| {
        if json {
            return out.json(info);
        }
        for (what, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
            out.line(format!("{what:<11} {}", text::one_line(value)))?;
        }
        Ok(())
    })?;
    Ok(Status::DONE)
}

/// Shows it.
pub(crate) fn run(args: &Args) -> Outcome {
    match args.segments {
        true => segments::show(&args.image.spec()?, args.json),
        false => show(&args.image.image, args.image.start, args.json),
    }
}
