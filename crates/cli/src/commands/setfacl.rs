//! `ordo setfacl`
//!
//! S1. A list that is changed keeps its other entries; its mask is computed again, unless one is given.
//! S2. A default list has the three entries that every list needs: those that nobody has named come from the file's own
//!     list, as setfacl(1) has it.

use super::getfacl::{name, stored};
use crate::acl::{self, Change, build, of_mode, put};
use crate::image::{self, Start};
use crate::names::{self, Table};
use crate::out::{Outcome, usage};
use crate::place::Inside;
use crate::text;
use crate::walk::Walk;
use anyhow::{Context, bail};
use ordo_ondisk::acl::{AclEntry, Tag};
use ordo_vfs::{FileSystem, Kind, Mode, Refusal, SetAttr, XattrMode};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

/// Changes the access control lists of files of an image
///
/// Lists are POSIX.1e's, and only a UFS2 has them. ENTRIES are joined by commas: u:NAME:rwx, g:NAME:r-x, u::rw, g::r,
/// m::rx, o::-, and with d: before it an entry of a directory's default list, which new files inherit. Names are those
/// of the image's own /etc/passwd and /etc/group, or numbers. A mount obeys the lists where the volume says so (ordo
/// tune -o acls=posix).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo setfacl -m u:ann:rw,g:staff:r disk.img:/srv/plan\n  \
    ordo setfacl -R -m d:g:staff:rwx,g:staff:rwx disk.img:/srv\n  ordo setfacl -x u:ann disk.img:/srv/plan\n  \
    ordo setfacl -b disk.img:/srv/plan\n  ordo setfacl --restore lists disk.img")]
pub(crate) struct Args {
    /// Set these entries
    #[arg(short, long, value_name = "ENTRIES", allow_hyphen_values = true)]
    modify: Vec<String>,
    /// Remove these entries, which are written without permissions
    #[arg(short = 'x', long, value_name = "ENTRIES")]
    remove: Vec<String>,
    /// Remove all entries but those of the permissions
    #[arg(short = 'b', long)]
    remove_all: bool,
    /// Remove the default list
    #[arg(short = 'k', long)]
    remove_default: bool,
    /// Leave the mask as it is
    #[arg(short = 'n', long)]
    no_mask: bool,
    /// Set owners, permissions and lists as getfacl has printed them; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["modify", "remove", "remove_all", "remove_default", "recursive"])]
    restore: Option<PathBuf>,
    /// Directories with all their contents
    #[arg(short = 'R', long)]
    recursive: bool,
    /// IMAGE:/path; with --restore, IMAGE
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    #[command(flatten)]
    start: Start,
}

/// What to do to each file.
struct Wanted {
    changes: Vec<Change>,
    remove_all: bool,
    remove_default: bool,
    no_mask: bool,
}

/// Changes them.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(file) = &args.restore {
        let text = crate::commands::lines::read(file)?;
        let shown = text::one_line(&file.display().to_string());
        let text = String::from_utf8(text).with_context(|| shown.clone())?;
        let records = records(&text).map_err(|why| usage(format!("{shown}:{why}")))?;
        return image::change_each(&args.places, args.start, "not all lists are set", async |fs, place| {
            restore(fs, place, &records).await
        });
    }
    let lists = |texts: &[String], with_perm| -> anyhow::Result<Vec<Change>> {
        let all = texts.iter().map(|text| acl::changes(text, with_perm).map_err(usage));
        Ok(all.collect::<anyhow::Result<Vec<_>>>()?.concat())
    };
    let mut changes = lists(&args.remove, false)?;
    changes.extend(lists(&args.modify, true)?);
    if changes.is_empty() && !args.remove_all && !args.remove_default {
        return Err(usage("setfacl: nothing to change; give -m, -x, -b, -k or --restore"));
    }
    let (remove_all, remove_default, no_mask) = (args.remove_all, args.remove_default, args.no_mask);
    let wanted = Wanted { changes, remove_all, remove_default, no_mask };
    image::change_each(&args.places, args.start, "not all lists are changed", async |fs, place| {
        let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        let mut walk = Walk::new(&place.path, file, args.recursive);
        while let Some((path, file)) = walk.next().await? {
            if file.attr().kind != Kind::Symlink {
                let changed = on(fs, &file, &wanted).await.map_err(|error| format!("{error:#}"));
                walk.tally.judge(&text::escape(&path), changed);
            }
        }
        Ok(walk.tally.status())
    })
}

async fn on(fs: &Rc<Fs>, file: &Held<Fs>, wanted: &Wanted) -> anyhow::Result<()> {
    let mode = of_mode(file.attr().mode.bits());
    let before = stored(file, false).await?;
    let mut own = before.as_ref().map_or(mode, |list| list.entries().to_vec());
    let mut default = stored(file, true).await?.map(|list| list.entries().to_vec()).unwrap_or_default();
    let touched = |default: bool| wanted.changes.iter().any(|change| change.default == default);
    if wanted.remove_all {
        own.retain(|e| !matches!(e.tag, Tag::User | Tag::Group | Tag::Mask));
    }
    if wanted.remove_all || wanted.remove_default {
        default.clear();
    }
    if touched(true) && !file.is_dir() {
        bail!("only a directory has a default list");
    }
    let (mut own_mask, mut default_mask) = (wanted.no_mask, wanted.no_mask);
    for change in &wanted.changes {
        let id = number(fs, change).await?;
        let (list, mask) = match change.default {
            true => (&mut default, &mut default_mask),
            false => (&mut own, &mut own_mask),
        };
        put(list, change.tag, id, change.perm);
        *mask |= change.tag == Tag::Mask && change.perm.is_some();
    }
    if touched(false) || wanted.remove_all {
        set(fs, file, false, own.clone(), own_mask).await?;
    }
    if touched(true) && !default.is_empty() {
        for tag in [Tag::UserObj, Tag::GroupObj, Tag::Other] {
            if !default.iter().any(|e| e.tag == tag) {
                default.extend(own.iter().find(|e| e.tag == tag));
            }
        }
    }
    if touched(true) || wanted.remove_all || wanted.remove_default {
        set(fs, file, true, default, default_mask).await?;
    }
    Ok(())
}

/// Sets a list, or removes it where it has no entries.
async fn set(fs: &Rc<Fs>, file: &Held<Fs>, default: bool, list: Vec<AclEntry>, keep_mask: bool) -> anyhow::Result<()> {
    if default && list.is_empty() {
        return match fs.removexattr(file.node(), name(true)).await {
            Err(ordo_vfs::Error::Refused(Refusal::NoAttribute | Refusal::NotSupported)) => Ok(()),
            outcome => Ok(outcome?),
        };
    }
    let list = build(list, keep_mask)?;
    if !default && list.is_minimal() {
        // Permissions say all of it: also on a volume without attributes.
        match fs.removexattr(file.node(), name(false)).await {
            Ok(()) | Err(ordo_vfs::Error::Refused(Refusal::NoAttribute | Refusal::NotSupported)) => {}
            Err(error) => return Err(error.into()),
        }
        let bits = file.attr().mode.bits() & 0o7000 | list.mode_bits();
        let mode = SetAttr { mode: Some(Mode::new(bits.into())), ..SetAttr::default() };
        return Ok(fs.setattr(file.node(), &mode).await.map(drop)?);
    }
    let outcome = fs.setxattr(&image::owner(), file.node(), name(default), &list.to_linux(), XattrMode::Set).await;
    outcome.context("the list cannot be stored")
}

async fn number(fs: &Rc<Fs>, change: &Change) -> anyhow::Result<u32> {
    match change.tag {
        Tag::User => names::id(fs, Table::Users, &change.name).await,
        Tag::Group => names::id(fs, Table::Groups, &change.name).await,
        _ => Ok(u32::MAX),
    }
}

/// What getfacl has printed of a file (cli-acl-1).
#[derive(Debug, Default)]
struct Record {
    path: Vec<u8>,
    owner: Option<String>,
    group: Option<String>,
    /// Set-user-id, set-group-id and the sticky bit.
    special: u16,
    entries: Vec<Change>,
}

/// Reads all of it, so that nothing is changed where a line is wrong.
fn records(text: &str) -> Result<Vec<Record>, String> {
    let (mut all, mut within) = (Vec::<Record>::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(path) = line.strip_prefix("# file: ") {
            all.push(Record { path: text::unescape(path), ..Record::default() });
            within = true;
            continue;
        }
        let line = line.trim();
        within &= !line.is_empty();
        let record = match all.last_mut().filter(|_| within) {
            Some(record) => record,
            None if line.is_empty() || line.starts_with('#') => continue,
            None => return Err(format!("{number}: {line:?} belongs to no file: \"# file: NAME\" comes before it")),
        };
        let head = |word| line.strip_prefix(word).map(str::trim);
        if let Some(user) = head("# owner:") {
            record.owner = Some(user.to_owned());
        } else if let Some(group) = head("# group:") {
            record.group = Some(group.to_owned());
        } else if let Some(flags) = head("# flags:") {
            let bits = flags.chars().zip([0o4000, 0o2000, 0o1000]).filter(|(letter, _)| *letter != '-');
            record.special = bits.fold(0, |all, (_, bit)| all | bit);
        } else {
            let entries = line.split('#').next().unwrap_or_default();
            record.entries.extend(acl::changes(entries, true).map_err(|why| format!("{number}: {why}"))?);
        }
    }
    Ok(all)
}

/// Sets what the records say.
async fn restore(fs: &Rc<Fs>, place: &Inside, records: &[Record]) -> Outcome {
    let mut tally = image::Tally::new();
    for record in records {
        let below = record.path.iter().position(|&b| b != b'/').map_or(&[][..], |at| &record.path[at..]);
        let path = crate::place::join(&place.path, below);
        let restored = restore_one(fs, &path, record).await.map_err(|error| format!("{error:#}"));
        tally.judge(&text::escape(&path), restored);
    }
    Ok(tally.status())
}

async fn restore_one(fs: &Rc<Fs>, path: &[u8], record: &Record) -> anyhow::Result<()> {
    let file = resolve(fs, path, true).await?;
    let mut owner = SetAttr::default();
    if let Some(user) = &record.owner {
        owner.uid = Some(names::id(fs, Table::Users, user).await?);
    }
    if let Some(group) = &record.group {
        owner.gid = Some(names::id(fs, Table::Groups, group).await?);
    }
    fs.setattr(file.node(), &owner).await?;
    let bits = file.attr().mode.bits() & 0o777 | record.special;
    let mode = SetAttr { mode: Some(Mode::new(u32::from(bits))), ..SetAttr::default() };
    fs.setattr(file.node(), &mode).await?;
    let (mut own, mut default) = (Vec::new(), Vec::new());
    for change in &record.entries {
        let id = number(fs, change).await?;
        put(if change.default { &mut default } else { &mut own }, change.tag, id, change.perm);
    }
    // As it is now, with the special bits.
    let file = resolve(fs, path, true).await?;
    set(fs, &file, false, own, true).await?;
    if file.is_dir() { set(fs, &file, true, default, true).await } else { Ok(()) }
}
