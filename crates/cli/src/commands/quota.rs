//! `ordo quota`

use crate::image::{self, ImageArg, Opened};
use crate::names::{self, Owners, Table};
use crate::out::{Outcome, Status, print, usage};
use crate::{size, text};
use anyhow::{Context, bail};
use ordo_ondisk::quota::{Counter, Entry, Form, Whose};
use ordo_ondisk::{Dialect, Format, Superblock};
use ordo_vfs::{FileSystem, Kind, Mode, Name, Refusal};
use ordofs::rt::Rt;
use ordofs::{Fs, Limits, MountOptions, QuotaLimits};
use serde::Serialize;
use std::rc::Rc;

/// Shows and changes the quotas of a volume: what users and groups use, and may use
///
/// Quotas are in quota.user and quota.group in the root directory (FreeBSD, older NetBSD), or in NetBSD's tables. What
/// is used is kept by every command and mount; limits apply on mounts, to all but root: those of NetBSD's tables
/// always, those of the files with -o quota, usrquota or grpquota.
///
/// WHO is user:NAME or group:NAME, by the image's own names or a number. LIMITS are blocks=SOFT/HARD and
/// inodes=SOFT/HARD, joined by a comma: bytes with a suffix (500M/1G), numbers of inodes, and - for no limit. A soft
/// limit may be exceeded for a week, or as long as the file says.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo quota disk.img\n  ordo quota --on disk.img\n  \
    ordo quota --set user:ann:blocks=500M/1G,inodes=10000/20000 disk.img\n  \
    ordo quota --check disk.img   (count what is used)\n  ordo mount -o quota disk.img mnt")]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// Set limits; may be given more than once
    #[arg(long, value_name = "WHO:LIMITS", value_parser = Setting::parse)]
    set: Vec<Setting>,
    /// Make the files quota.user and quota.group, and count
    #[arg(long, conflicts_with_all = ["off", "check"])]
    on: bool,
    /// Remove them
    #[arg(long, conflicts_with_all = ["set", "check"])]
    off: bool,
    /// Count what is used, and correct it
    #[arg(long)]
    check: bool,
    /// Owners as numbers
    #[arg(long)]
    numeric: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// `user:ann:blocks=1M/2M,inodes=5/9`
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    whose: Whose,
    name: String,
    /// Soft and hard, in bytes; `None` for no limit.
    blocks: Option<Pair>,
    inodes: Option<Pair>,
}

type Pair = (Option<u64>, Option<u64>);

impl Setting {
    fn parse(text: &str) -> Result<Setting, String> {
        let wrong = || format!("{text:?} sets no limit; write user:NAME:blocks=SOFT/HARD,inodes=SOFT/HARD");
        let mut words = text.splitn(3, ':');
        let (Some(word), Some(name), Some(limits)) = (words.next(), words.next(), words.next()) else {
            return Err(wrong());
        };
        let whose = Whose::ALL.into_iter().find(|whose| whose.word() == word).ok_or_else(wrong)?;
        let mut setting = Setting { whose, name: name.to_owned(), blocks: None, inodes: None };
        for limit in limits.split(',') {
            let (what, pair) = limit.split_once('=').ok_or_else(wrong)?;
            let (soft, hard) = pair.split_once('/').ok_or_else(wrong)?;
            let number = |text: &str| match text {
                "-" | "0" => Ok(None),
                text => size::parse(text).map(Some),
            };
            let pair = Some((number(soft)?, number(hard)?));
            match what {
                "blocks" => setting.blocks = pair,
                "inodes" => setting.inodes = pair,
                _ => return Err(wrong()),
            }
        }
        if name.is_empty() { Err(wrong()) } else { Ok(setting) }
    }

    fn apply(&self, form: Form, entry: &mut Entry, grace: (i64, i64), now: i64) {
        let sectors = |pair: Pair| (pair.0.map(|n| n.div_ceil(512)), pair.1.map(|n| n.div_ceil(512)));
        if let Some(pair) = self.blocks {
            limit(form, &mut entry.blocks, sectors(pair), grace.0, now);
        }
        if let Some(pair) = self.inodes {
            limit(form, &mut entry.inodes, pair, grace.1, now);
        }
    }
}

/// Sets the limits of one thing. The grace time begins if the soft limit is exceeded now, and was not before.
fn limit(form: Form, counter: &mut Counter, (soft, hard): Pair, grace: i64, now: i64) {
    let none = if form == Form::Table { u64::MAX } else { 0 };
    let was = form.is_above(counter.used, counter.soft);
    (counter.soft, counter.hard) = (soft.unwrap_or(none), hard.unwrap_or(none));
    match form.is_above(counter.used, counter.soft) {
        false => counter.time = 0,
        true if !was || counter.time == 0 => counter.time = now.saturating_add(grace),
        true => {}
    }
}

#[derive(Serialize)]
struct CounterJson {
    used: u64,
    soft: Option<u64>,
    hard: Option<u64>,
    /// Seconds since 1970 at which the soft limit becomes a hard one, while it is exceeded.
    grace_until: Option<i64>,
}

#[derive(Serialize)]
struct RowJson {
    whose: &'static str,
    id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// In bytes.
    blocks: CounterJson,
    inodes: CounterJson,
}

#[derive(Serialize)]
struct QuotasJson {
    image: String,
    form: &'static str,
    rows: Vec<RowJson>,
}

/// Believe a file without a head: the user says that these are quotas.
const BELIEVE: QuotaLimits = QuotaLimits { users: Limits::Kept, groups: Limits::Kept, tables: false };

/// Shows or changes them.
pub(crate) fn run(args: &Args) -> Outcome {
    let (rt, spec) = (Rt::real_time(), args.image.spec()?);
    if args.set.is_empty() && !args.on && !args.off && !args.check {
        let opened = Opened::to_read(&rt, &spec)?;
        return rt.block_on(async {
            opened.fs().begin_quotas(BELIEVE).await.with_context(|| spec.to_string())?;
            show(args, &spec.to_string(), opened.fs()).await
        });
    }
    let form = new_form(&rt, &spec)?;
    let opened = Opened::to_change_with(&rt, &spec, MountOptions { quotas: BELIEVE, ..MountOptions::default() })?;
    let now = rt.wall().0;
    let outcome = rt.block_on(async { change(args, opened.fs(), form, now).await.with_context(|| spec.to_string()) });
    let shown = match (&outcome, args.off) {
        (Ok(()), false) => Some(rt.block_on(rows(args, opened.fs()))?),
        _ => None,
    };
    opened.close(outcome)?;
    if let Some(rows) = shown {
        put(args, &spec.to_string(), rows)?;
    }
    Ok(Status::DONE)
}

/// The form that the volume's system gives to a new file; `None` where quotas are in tables.
fn new_form(rt: &Rt, spec: &ordofs::ImageSpec) -> anyhow::Result<Option<Form>> {
    let located = ordofs::locate(rt, spec, ordofs::disk::FileOptions { read_only: true, ..Default::default() })
        .map_err(|error| image::open_error(&spec.path, error))?;
    let found = located.found.into_ufs().context("a log-structured volume has no quotas")?;
    let sb: Superblock = found.superblock;
    Ok(match (sb.features().quota2, sb.dialect, sb.format) {
        (true, _, _) => None,
        (false, Dialect::FreeBsd, Format::Ufs1 | Format::Ufs2) => Some(Form::Wide),
        (false, _, _) => Some(Form::Narrow),
    })
}

async fn change(args: &Args, fs: &Rc<Fs>, form: Option<Form>, now: i64) -> anyhow::Result<()> {
    if args.on || args.off {
        let Some(form) = form else {
            bail!("NetBSD's tables are switched on and off by tunefs -q there");
        };
        if args.off {
            return remove(fs).await;
        }
        for whose in Whose::ALL {
            make(fs, whose, form).await.context(whose.file())?;
        }
        fs.begin_quotas(BELIEVE).await?;
    }
    let quotas = fs.quotas().filter(|quotas| quotas.is_on());
    let quotas = quotas.ok_or_else(|| usage("the volume has no quotas; make them with ordo quota --on"))?;
    if args.on || args.check {
        fs.count_quotas().await?;
    }
    for setting in &args.set {
        let table = if setting.whose == Whose::Users { Table::Users } else { Table::Groups };
        let id = names::id(fs, table, &setting.name).await?;
        if id == 0 {
            bail!("{} 0 has no limits", setting.whose.word());
        }
        let put = |form, entry: &mut Entry, grace, now| setting.apply(form, entry, grace, now);
        if !quotas.change(setting.whose, id, put, now) {
            bail!("the volume has no quotas of {}s", setting.whose.word());
        }
    }
    Ok(())
}

/// Makes a file of quotas, for root and operators, unless it is there.
async fn make(fs: &Rc<Fs>, whose: Whose, form: Form) -> anyhow::Result<()> {
    let (who, name) = (image::owner(), Name::new(whose.file().as_bytes())?);
    let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o640), 0).await;
    let made = match made {
        Err(ordo_vfs::Error::Refused(Refusal::Exists)) => return Ok(()),
        made => made?,
    };
    let file = ordofs::path::Held::new(fs, made);
    // The head, or an empty record of root: an empty file would have no form.
    let head = if form == Form::Wide { Form::wide_head().to_vec() } else { vec![0; form.record_len()] };
    if let Err(error) = fs.write(&who, file.node(), 0, &head).await {
        drop(file);
        // A full volume. Its room was for the name only; who asks again must not find an empty file there.
        fs.unlink(fs.root(), name).await?;
        return Err(error.into());
    }
    Ok(())
}

async fn remove(fs: &Rc<Fs>) -> anyhow::Result<()> {
    if let Some(quotas) = fs.quotas() {
        quotas.end();
    }
    for whose in Whose::ALL {
        match fs.unlink(fs.root(), Name::new(whose.file().as_bytes())?).await {
            Ok(()) | Err(ordo_vfs::Error::Refused(Refusal::NotFound)) => {}
            Err(error) => return Err(error).context(whose.file()),
        }
    }
    Ok(())
}

/// What is printed: the form, the rows, and the names of the owners.
type Rows = (&'static str, Vec<(Whose, Form, u32, Entry)>, Owners);

async fn rows(args: &Args, fs: &Rc<Fs>) -> anyhow::Result<Rows> {
    let entries = fs.quotas().map(ordofs::Quotas::entries).unwrap_or_default();
    if entries.is_empty() {
        bail!("the volume has no quotas; ordo quota --on makes them");
    }
    let form = match entries[0].1 {
        Form::Narrow => "quota files of 32-bit records",
        Form::Wide => "quota files of 64-bit records",
        Form::Table => "NetBSD's quota tables",
    };
    let mut rows = Vec::new();
    for (whose, form, entries) in entries {
        // The times of root in an old file are those of all.
        let is_shown =
            |(_, entry): &(u32, Entry)| entry.blocks.used > 0 || entry.inodes.used > 0 || limited(form, entry);
        rows.extend(entries.into_iter().filter(is_shown).map(|(id, entry)| (whose, form, id, entry)));
    }
    Ok((form, rows, Owners::of(fs, args.numeric).await?))
}

fn limited(form: Form, entry: &Entry) -> bool {
    [entry.blocks, entry.inodes]
        .iter()
        .any(|c| shown_limit(form, c.hard, 1).is_some() || shown_limit(form, c.soft, 1).is_some())
}

/// A limit in units of `unit`; `None` if there is none.
fn shown_limit(form: Form, limit: u64, unit: u64) -> Option<u64> {
    let none = if form == Form::Table { u64::MAX } else { 0 };
    (limit != none).then(|| limit.saturating_mul(unit))
}

async fn show(args: &Args, image: &str, fs: &Rc<Fs>) -> Outcome {
    put(args, image, rows(args, fs).await?)?;
    Ok(Status::DONE)
}

fn put(args: &Args, image: &str, (form, rows, owners): Rows) -> anyhow::Result<()> {
    let until = |form: Form, id: u32, c: &Counter| {
        (c.time != 0 && (form == Form::Table || id != 0) && form.is_above(c.used, c.soft)).then_some(c.time)
    };
    print(|out| {
        if args.json {
            let counter = |form, id, c: &Counter, unit: u64| CounterJson {
                used: c.used.saturating_mul(unit),
                soft: shown_limit(form, c.soft, unit),
                hard: shown_limit(form, c.hard, unit),
                grace_until: until(form, id, c),
            };
            let row = |&(whose, form, id, ref entry): &(Whose, Form, u32, Entry)| RowJson {
                whose: whose.word(),
                id,
                name: Some(owner(&owners, whose, id)).filter(|name| *name != id.to_string()),
                blocks: counter(form, id, &entry.blocks, 512),
                inodes: counter(form, id, &entry.inodes, 1),
            };
            let rows = rows.iter().map(row).collect();
            return out.json(&QuotasJson { image: image.to_owned(), form, rows });
        }
        let head = ["", "owner", "used", "soft", "hard", "grace", "inodes", "soft", "hard", "grace"];
        let mut lines = vec![head.map(str::to_owned).to_vec()];
        for (whose, form, id, entry) in &rows {
            let mut line = vec![whose.word().to_owned(), owner(&owners, *whose, *id)];
            for (c, unit) in [(&entry.blocks, 512), (&entry.inodes, 1)] {
                let number = |n: u64| if unit == 1 { n.to_string() } else { size::human(n) };
                let limit = |limit| shown_limit(*form, limit, unit).map_or("-".to_owned(), number);
                let grace = until(*form, *id, c).map_or("-".to_owned(), |at| text::time(at) + " UTC");
                line.extend([number(c.used.saturating_mul(unit)), limit(c.soft), limit(c.hard), grace]);
            }
            lines.push(line);
        }
        out.bytes(text::table(2, &lines).as_bytes())
    })
}

fn owner(owners: &Owners, whose: Whose, id: u32) -> String {
    match whose {
        Whose::Users => owners.user(id),
        Whose::Groups => owners.group(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let setting = Setting::parse("group:staff:inodes=5/-,blocks=1M/1G").unwrap();
        assert_eq!((setting.whose, &*setting.name), (Whose::Groups, "staff"));
        assert_eq!((setting.inodes, setting.blocks), (Some((Some(5), None)), Some((Some(1 << 20), Some(1 << 30)))));
        for wrong in
            ["", "user", "user:ann", "user:ann:", "user:ann:blocks=1", "mail:ann:blocks=1/2", "user::blocks=1/2"]
        {
            assert!(Setting::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_grace_time_begins_with_a_limit_that_is_exceeded() {
        let mut counter = Counter { used: 10, ..Counter::default() };
        limit(Form::Wide, &mut counter, (Some(5), None), 100, 1000);
        assert_eq!((counter.soft, counter.hard, counter.time), (5, 0, 1100));
        limit(Form::Wide, &mut counter, (Some(6), None), 100, 1050);
        assert_eq!(counter.time, 1100);
        limit(Form::Table, &mut counter, (None, Some(20)), 100, 1050);
        assert_eq!((counter.soft, counter.hard, counter.time), (u64::MAX, 20, 0));
    }
}
