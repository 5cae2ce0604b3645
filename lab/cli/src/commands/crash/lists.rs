//! Lists of the possible names: rules, disks, scripts.

use super::args::{Args, explorer_error};
use super::{scripts, settings};
use crate::out::{Outcome, Status, print};
use crate::text;
use ordo_crash::{DEVICES, Device, Subject};
use ordo_workload::script;
use serde::Serialize;

fn list<T: Serialize>(args: &Args, rows: &[T], cells: impl Fn(&T) -> Vec<String>) -> Outcome {
    print(|out| match args.json {
        true => out.json(&rows),
        false => out.bytes(text::table(2, &rows.iter().map(cells).collect::<Vec<_>>()).as_bytes()),
    })?;
    Ok(Status::DONE)
}

#[derive(Serialize)]
struct Rule {
    scheme: &'static str,
    rule: &'static str,
    says: &'static str,
}

/// The rules of all schemes that are in force with these settings. A scheme that is built on another also has its
/// rules: they are listed with the scheme that keeps them.
pub(super) fn rules(args: &Args) -> Outcome {
    let set = settings::Set::read(&args.set)?;
    if args.is_lfs() {
        let of = |(rule, says): &(&'static str, &'static str)| Rule { scheme: ordofs::LFS_SCHEME, rule, says };
        let rules: Vec<Rule> = ordofs::lfs::RULES.iter().map(of).collect();
        return list(args, &rules, |rule| {
            vec![rule.scheme.to_owned(), rule.rule.to_owned(), format!(" {}", rule.says)]
        });
    }
    let mut rules = Vec::new();
    for scheme in ordofs::schemes::ALL.iter().map(|known| known.name) {
        let mut subject = Subject::new(scheme, &DEVICES[0]);
        set.apply(&mut subject);
        let declared = subject.promises().map_err(explorer_error)?.rules;
        let known = |rules: &[Rule], of: &(_, _)| rules.iter().any(|known| (known.rule, known.says) == *of);
        let own: Vec<_> = declared.into_iter().filter(|of| !known(&rules, of)).collect();
        rules.extend(own.into_iter().map(|(rule, says)| Rule { scheme, rule, says }));
    }
    list(args, &rules, |rule| vec![rule.scheme.to_owned(), rule.rule.to_owned(), format!(" {}", rule.says)])
}

#[derive(Serialize)]
struct Disk {
    name: &'static str,
    about: &'static str,
    honest: bool,
}

/// The disks.
pub(super) fn disks(args: &Args) -> Outcome {
    let disk = |device: &Device| Disk { name: device.name, about: device.says, honest: device.honest };
    let disks: Vec<Disk> = DEVICES.iter().map(disk).collect();
    list(args, &disks, |disk| vec![disk.name.to_owned(), disk.about.to_owned()])
}

#[derive(Serialize)]
struct Workload {
    name: String,
    about: String,
    /// In the form that `--script` reads; absent for a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
}

/// The sets, and the named scripts.
pub(super) fn workloads(args: &Args) -> Outcome {
    let sets = scripts::SETS.iter();
    let sets = sets.map(|(name, says)| Workload { name: (*name).to_owned(), about: (*says).to_owned(), script: None });
    let named = [script::all(), script::bugs(), script::ufs()].concat().into_iter();
    let named =
        named.map(|script| Workload { script: Some(script.to_string()), name: script.name, about: script.says });
    let all: Vec<Workload> = sets.chain(named).collect();
    list(args, &all, |workload| vec![workload.name.clone(), workload.about.clone()])
}
