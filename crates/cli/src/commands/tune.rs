//! `ordo tune`

use crate::image::{self, ImageArg};
use crate::messages::Messages;
use crate::out::{Outcome, Status, print, usage};
use crate::{size, text};
use ordofs::disk::fence::DEFAULT_INTERVAL;
use ordofs::{Acls, JournalChange, MmpChange, TuneError, Tuning, VolumeId};
use serde::Serialize;

/// Changes settings of a volume: soft updates, journal, log, check hashes, access control lists, label, id,
/// reserve
///
/// The volume must be clean and not mounted. Options, joined by commas:
///
/// softupdates=on|off: the flag that makes FreeBSD mount the volume with soft updates.
///
/// journal=on|off|SIZE: the journal of soft updates, in the file .sujournal, 4M to 32M; suj is the same. It switches
/// soft updates on. FreeBSD repairs a crashed volume from it, and so does ordo fsck -p.
///
/// log=on|off|SIZE: the file .ordofs-log, in which wafs, journal-file and block-journal keep their transaction log
/// unless a mount names another disk for it (log=PATH); at least 256K; on: about one hundredth of the volume.
///
/// active=on|off|SIZE: the active journal of the scheme active, in the file .ordofs-active: group journals in each
/// cylinder group, and the map of checksums and copies; on: one part in 48 of the volume.
///
/// scheme=NAME|default: the scheme of every mount that names none, and of the commands that change the volume; default:
/// as its flags say. active=on chooses active.
///
/// check-hashes=on|off: the hashes by which FreeBSD detects damage in the superblock, groups and inodes of a UFS2. All
/// are computed, or cleared. NetBSD takes their flag for that of quotas, and can write to the volume only without them
/// (ordo info says which systems can write to a volume).
///
/// acls=off|posix|nfs4: which access control lists apply to the files of a UFS2 (mounts obey POSIX.1e's, cp -a and
/// rsync -A keep them). With nfs4, which FreeBSD obeys, OrdoFS only reads the volume. Stored lists are not removed.
///
/// id=random|HEX: the volume's id, 16 digits, by which FreeBSD names it in /dev/ufsid (ordo info shows it). Of two
/// copies of a volume one needs another id.
///
/// mmp=on|off|SECONDS: the record of the one writer, for network block devices and disks that two machines share, which
/// nothing can lock. Every opening for writing then claims the volume, and beats every 5 s, or as often as given, 0.1
/// to 30 s; a second one is refused. FreeBSD and NetBSD ignore it. Also for LFS (docs/one-writer.md).
///
/// label=NAME: at most 31 bytes. minfree=PERCENT: the space that only root may use.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo tune -o journal=on disk.img\n  ordo tune -o label=home,minfree=5 disk.img\n  \
    ordo tune -o log=on,scheme=wafs disk.img\n  ordo tune -o check-hashes=off disk.img\n  \
    ordo tune -o acls=posix disk.img\n  ordo tune -o mmp=on nbd://store/home\n  ordo tune -o id=random copy.img\n  \
    ordo tune -o journal=off,softupdates=off disk.img@s1a\n  ordo tune -o suj=16M --json disk.img"
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// What to change; may be given more than once
    #[arg(short, long = "options", value_name = "OPTION,...", required = true)]
    options: Vec<String>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    name: &'a str,
    was: &'a str,
    is: &'a str,
}

#[derive(Serialize)]
struct TunedJson<'a> {
    image: String,
    changes: Vec<ChangeJson<'a>>,
}

/// Changes the volume, and prints old and new values.
pub(crate) fn run(args: &Args) -> Outcome {
    let tuning = parse(&args.options).map_err(usage)?;
    let spec = args.image.spec()?;
    let notices = Messages::of(&spec, false).listener_once();
    let tuned = tuning.apply_telling(&spec, &notices).map_err(|error| match error {
        TuneError::Open(error) => image::open_error(&spec.path, error),
        wrong @ (TuneError::Label(_)
        | TuneError::NoScheme(_)
        | TuneError::MmpInterval(_)
        | TuneError::Minfree(_)
        | TuneError::JournalSize { .. }) => usage(wrong.to_string()),
        error => anyhow::Error::new(error).context(spec.to_string()),
    })?;
    print(|out| {
        if args.json {
            let changes = tuned.iter().map(|t| ChangeJson { name: t.what, was: &t.was, is: &t.is }).collect();
            return out.json(&TunedJson { image: spec.to_string(), changes });
        }
        for change in &tuned {
            let (was, is) = (text::one_line(&change.was), text::one_line(&change.is));
            out.line(format!("{}: {is} (was: {was})", change.what))?;
        }
        Ok(())
    })?;
    Ok(Status::DONE)
}

fn mmp(name: &str, value: &str) -> Result<MmpChange, String> {
    match switch(name, value) {
        Ok(true) => Ok(MmpChange::On(DEFAULT_INTERVAL)),
        Ok(false) => Ok(MmpChange::Off),
        Err(_) => {
            let secs = value.parse::<f64>().ok().filter(|secs| (0.1..=30.0).contains(secs));
            let secs = secs.ok_or_else(|| format!("mmp is on, off, or 0.1 to 30 seconds, not {value:?}"))?;
            // OK to cut: the range was checked.
            Ok(MmpChange::On((secs * 1000.0).round() as u32))
        }
    }
}

fn parse(options: &[String]) -> Result<Tuning, String> {
    let mut tuning = Tuning::default();
    for option in options.iter().flat_map(|list| list.split(',')).filter(|option| !option.is_empty()) {
        let (name, value) =
            option.split_once('=').ok_or_else(|| format!("{option:?} has no value; write {option}=..."))?;
        match name {
            "softupdates" => tuning.softupdates = Some(switch(name, value)?),
            "journal" | "suj" => {
                tuning.journal = Some(match switch(name, value) {
                    Ok(true) => JournalChange::On(None),
                    Ok(false) => JournalChange::Off,
                    Err(_) => JournalChange::On(Some(size::parse(value)?)),
                });
            }
            "log" => {
                tuning.log = Some(match switch(name, value) {
                    Ok(true) => JournalChange::On(None),
                    Ok(false) => JournalChange::Off,
                    Err(_) => JournalChange::On(Some(size::parse(value)?)),
                });
            }
            "scheme" => tuning.scheme = Some(if value == "default" { String::new() } else { value.to_owned() }),
            "active" => {
                tuning.active = Some(match switch(name, value) {
                    Ok(true) => JournalChange::On(None),
                    Ok(false) => JournalChange::Off,
                    Err(_) => JournalChange::On(Some(size::parse(value)?)),
                });
            }
            "check-hashes" => tuning.check_hashes = Some(switch(name, value)?),
            "acls" => {
                tuning.acls = Some(match value {
                    "off" => Acls::Off,
                    "posix" | "on" => Acls::Posix,
                    "nfs4" => Acls::Nfs4,
                    _ => return Err(format!("acls is off, posix or nfs4, not {value:?}")),
                });
            }
            "mmp" => tuning.mmp = Some(mmp(name, value)?),
            "label" => tuning.label = Some(value.to_owned()),
            "id" => tuning.id = Some(volume_id(value)?),
            "minfree" => {
                let percent = value.strip_suffix('%').unwrap_or(value).parse();
                tuning.minfree = Some(percent.map_err(|_| format!("{value:?} is no percentage"))?);
            }
            _ => {
                return Err(format!(
                    "no option {name:?}; there are softupdates, journal, log, active, scheme, check-hashes, acls, id, \
                     label, minfree, mmp"
                ));
            }
        }
    }
    match tuning == Tuning::default() {
        true => Err(
            "nothing to change; give -o softupdates=, journal=, log=, active=, scheme=, check-hashes=, acls=, id=, \
                 label=, minfree= or mmp="
                .into(),
        ),
        false => Ok(tuning),
    }
}

fn volume_id(text: &str) -> Result<VolumeId, String> {
    if text == "random" {
        return Ok(VolumeId::Random);
    }
    let wrong = || format!("id is random or 16 hexadecimal digits, as ordo info shows it, not {text:?}");
    let half = |range| {
        let digits = text.get(range).filter(|digits: &&str| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(wrong)
    };
    if text.len() == 16 { Ok(VolumeId::Is([half(0..8)?, half(8..16)?])) } else { Err(wrong()) }
}

fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{name} is on or off, not {value:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(options: &str) -> Result<Tuning, String> {
        parse(&[options.to_owned()])
    }

    #[test]
    fn options_are_read() {
        let all = Tuning {
            softupdates: Some(false),
            journal: Some(JournalChange::Off),
            label: Some("a=b".into()),
            minfree: Some(5),
            log: Some(JournalChange::On(None)),
            active: Some(JournalChange::Off),
            scheme: Some("wafs".into()),
            check_hashes: Some(true),
            acls: Some(Acls::Posix),
            id: Some(VolumeId::Is([0x65a1, 0xdead_beef])),
            mmp: Some(MmpChange::On(500)),
        };
        let options =
            "softupdates=off,suj=off,label=a=b,minfree=5%,log=on,active=off,check-hashes=on,acls=posix,scheme=wafs";
        let options = format!("{options},id=000065a1deadbeef,mmp=0.5");
        assert_eq!(said(&options), Ok(all));
        let log = |options| said(options).map(|tuning| tuning.log);
        assert_eq!(log("log=off"), Ok(Some(JournalChange::Off)));
        assert_eq!(log("log=1M"), Ok(Some(JournalChange::On(Some(1 << 20)))));
        assert!(log("log=separate").is_err());
        let journal = |options| said(options).map(|tuning| tuning.journal);
        assert_eq!(journal("journal=on"), Ok(Some(JournalChange::On(None))));
        assert_eq!(journal("journal=8M"), Ok(Some(JournalChange::On(Some(8 << 20)))));
        for wrong in [
            "",
            "journal",
            "journal=maybe",
            "softupdates=1",
            "check-hashes=yes",
            "minfree=x",
            "size=3",
            "acls=2",
            "mmp=0",
            "mmp=31",
            "mmp=nan",
            "id=1",
            "id=+00065a1deadbeef",
        ] {
            assert!(said(wrong).is_err(), "{wrong}");
        }
    }
}
