//! The name of one state: everything that is needed to reproduce it (lab-crash-2).
//!
//! `scheme[+set=X…][+ask=QUESTION][!rule…]:script:device:volume:seed:cut:fates`, where the script is the name of a
//! ready-made one, or its calls between brackets, and the fates are a letter for each undurable write, oldest first.

use crate::Error;
use crate::device::Device;
use crate::fate::Fates;
use crate::plan::{Budget, Plan};
use crate::question::Question;
use crate::shape::{LogShape, Shape};
use crate::subject::Subject;
use ordo_ondisk::lfs::Version;
use ordo_ondisk::{Endian, Format};
use ordo_schemes::Settings;
use ordo_workload::script::{self, Script, random};
use ordofs::LFS_SCHEME;
use std::fmt;
use std::str::FromStr;

/// Longer lists of fates are run-length encoded.
const PLAIN_MAX: usize = 24;

/// The name of one state of one exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    scheme: String,
    script: String,
    device: String,
    volume: String,
    seed: String,
    moments: usize,
    fates: Fates,
}

impl Id {
    pub(crate) fn new(plan: &Plan, moments: usize, fates: Fates) -> Id {
        let subject = &plan.subject;
        let mut scheme = subject.scheme.clone();
        for set in subject.settings.said() {
            scheme += &format!("+{set}");
        }
        scheme += match (subject.separate_log, subject.stream) {
            (false, _) => "",
            (true, false) => "+log=separate",
            (true, true) => "+log=stream",
        };
        if subject.through_nbd {
            scheme += "+through=nbd";
        }
        if let Some(question) = subject.question {
            scheme += &format!("+ask={}", question.name());
        }
        for rule in subject.settings.without.iter() {
            scheme += &format!("!{rule}");
        }
        let known = ready(&plan.script.name, &subject.shape).is_some_and(|known| known == plan.script);
        let script = if known { plan.script.name.clone() } else { inline(&plan.script) };
        let Shape { format, size, bsize, fsize, endian, log } = subject.shape;
        let format = match format {
            _ if log.is_some() => log_form(log),
            Format::Ufs1 => "ufs1",
            Format::Ufs2 => "ufs2",
        };
        let order = if endian == Endian::Big { ",big" } else { "" };
        let segments = log.map_or_else(String::new, |log| format!(",{},{},{}", log.segment, log.free, log.reserve));
        let volume = format!("{format},{size},{bsize},{fsize}{segments}{order}");
        let flag = |is, letter| if is { letter } else { "" };
        let seed = format!("{}{}{}", plan.budget.seed, flag(plan.pauses, "p"), flag(subject.trusts_cache, "t"));
        Id { scheme, script, device: subject.device.name.into(), volume, seed, moments, fates }
    }

    /// The plan that leads to this state.
    ///
    /// # Errors
    /// `BadId`: the text names a scheme, script, device or volume that does not exist.
    pub fn plan(&self) -> Result<Plan, Error> {
        let bad = |why| Error::BadId(self.to_string(), why);
        let mut parts = self.scheme.split('!');
        let mut words = parts.next().unwrap_or_default().split('+');
        let scheme = words.next().unwrap_or_default();
        let (mut settings, mut log, mut through_nbd, mut question) = (Settings::default(), (false, false), false, None);
        for set in words {
            let (key, value) = set.split_once('=').unwrap_or((set, ""));
            match settings.set(key, value) {
                Some(set) => set.map_err(|_| bad("it sets something to what cannot be"))?,
                None if set == "log=separate" => log = (true, false),
                None if set == "log=stream" => log = (true, true),
                None if set == "through=nbd" => through_nbd = true,
                None if key == "ask" => {
                    question = Some(Question::by_name(value).ok_or_else(|| bad("it asks what nobody asks"))?);
                }
                None => return Err(bad("it sets something that there is not")),
            }
        }
        settings.without = parts.map(str::to_owned).collect();
        let shape = shape(&self.volume).ok_or_else(|| bad("no such volume"))?;
        if shape.log.is_some() != (scheme == LFS_SCHEME) {
            return Err(bad("its scheme is not for its volume"));
        }
        let script = match self.script.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(text) => {
                let text = text.replace("%3a", ":").replace("; ", "\n");
                Script::parse("script", &text).map_err(|_| bad("its script cannot be read"))?
            }
            None => ready(&self.script, &shape).ok_or_else(|| bad("no such script"))?,
        };
        let device = Device::by_name(&self.device).ok_or_else(|| bad("no such device"))?;
        let (seed, trusts_cache) = self.seed.strip_suffix('t').map_or((&*self.seed, false), |seed| (seed, true));
        let (seed, pauses) = seed.strip_suffix('p').map_or((seed, false), |seed| (seed, true));
        let seed = seed.parse().map_err(|_| bad("its seed is no number"))?;
        let (separate_log, stream) = log;
        let usual = Subject::new(scheme, device);
        let subject = Subject { settings, question, shape, separate_log, stream, through_nbd, trusts_cache, ..usual };
        let budget = Budget { seed, ..Budget::default() };
        Ok(Plan { pauses, budget, ..Plan::of(subject, script) })
    }

    pub(crate) fn fates(&self) -> &Fates {
        &self.fates
    }

    pub(crate) fn moments(&self) -> usize {
        self.moments
    }
}

/// A ready-made script for any volume, or a random one made for this volume.
fn ready(name: &str, shape: &Shape) -> Option<Script> {
    let random = || random::named(name).map(|(profile, seed)| random::on(shape.ground(), profile, seed));
    script::find(name).or_else(random)
}

/// A script in one line.
fn inline(script: &Script) -> String {
    let mut text: Vec<String> = script.setup.iter().map(ToString::to_string).collect();
    text.push("---".into());
    text.extend(script.calls.iter().map(ToString::to_string));
    format!("[{}]", text.join("; ").replace(':', "%3a"))
}

/// The first word of a volume that is log-structured.
const LOG_FORMS: [(&str, Version); 3] = [("lfs", Version::V2), ("lfs1", Version::V1), ("lfs64", Version::Lfs64)];

fn log_form(log: Option<LogShape>) -> &'static str {
    let form = LOG_FORMS.iter().find(|(_, version)| log.is_some_and(|log| log.version == *version));
    form.map_or("lfs", |form| form.0)
}

fn shape(text: &str) -> Option<Shape> {
    let mut parts = text.split(',');
    let word = parts.next()?;
    let version = LOG_FORMS.iter().find(|form| form.0 == word).map(|form| form.1);
    let format = match (word, version) {
        ("ufs1", _) | (_, Some(_)) => Format::Ufs1,
        ("ufs2", _) => Format::Ufs2,
        _ => return None,
    };
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (size, bsize, fsize) = (number()?, number()?.try_into().ok()?, number()?.try_into().ok()?);
    let log = match version {
        Some(version) => Some(LogShape {
            version,
            segment: number()?.try_into().ok()?,
            free: number()?.try_into().ok()?,
            reserve: number()?.try_into().ok()?,
        }),
        None => None,
    };
    let endian = match parts.next() {
        None => Endian::Little,
        Some("big") => Endian::Big,
        Some(_) => return None,
    };
    Some(Shape { format, size, bsize, fsize, endian, log })
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Id { scheme, script, device, volume, seed, moments, fates } = self;
        write!(f, "{scheme}:{script}:{device}:{volume}:{seed}:{moments}:{}", counted(&fates.to_string()))
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Id, Error> {
        let bad = |why| Error::BadId(text.to_owned(), why);
        let parts: Vec<&str> = text.trim().split(':').collect();
        let [scheme, script, device, volume, seed, moments, fates] = parts[..] else {
            return Err(bad("it has seven parts between colons"));
        };
        let own = str::to_owned;
        Ok(Id {
            scheme: own(scheme),
            script: own(script),
            device: own(device),
            volume: own(volume),
            seed: own(seed),
            moments: moments.parse().map_err(|_| bad("the sixth part is a number"))?,
            fates: spelled(fates)
                .and_then(|fates| fates.parse().ok())
                .ok_or_else(|| bad("its fates cannot be read"))?,
        })
    }
}

/// `1110000` as `1*3.0*4`, where that is shorter.
fn counted(fates: &str) -> String {
    if fates.len() <= PLAIN_MAX {
        return fates.to_owned();
    }
    let mut runs: Vec<(char, usize)> = Vec::new();
    for letter in fates.chars() {
        match runs.last_mut() {
            Some((last, count)) if *last == letter => *count += 1,
            _ => runs.push((letter, 1)),
        }
    }
    runs.iter().map(|(letter, count)| format!("{letter}*{count}")).collect::<Vec<_>>().join(".")
}

/// Longest run that is accepted: more writes than any recording has.
const RUN_MAX: usize = 1 << 20;

fn spelled(text: &str) -> Option<String> {
    if !text.contains('*') {
        return Some(text.to_owned());
    }
    let run = |part: &str| {
        let (letter, count) = part.split_once('*')?;
        Some(letter.repeat(count.parse().ok().filter(|count| *count <= RUN_MAX)?))
    };
    text.split('.').map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_written_and_read() {
        for text in [
            "sync:create:sata:ufs2,8388608,4096,512:1:17:0110",
            "sync+allocinit=all!inode-before-name:create:nvme:ufs1,8388608,32768,4096:1p:17:1*30.0*1",
            "wafs+data=ordered+logmode=sync+log=separate:rename:plp:ufs2,8388608,4096,512:1:17:0",
            "sync:rename:sata:ufs2,8388608,4096,512:1pt:17:0",
            "wafs+logmode=sync+log=stream:rename:sata:ufs2,8388608,4096,512:1:17:0",
            "wafs+logmode=sync+log=separate+ask=atomic:rename:sata:ufs2,8388608,4096,512:1:17:0",
            "softupdates:random-sizes-17:sata:ufs1,8388608,4096,512,big:0:3:",
            "lfs!superblock-after-log:create:sata:lfs,8388608,4096,512,65536,16,9:1:17:0110",
            "lfs:create:nvme:lfs,8388608,32768,4096,262144,4,3,big:1p:17:1*30.0*1",
            "lfs:create:sata:lfs1,8388608,4096,512,65536,16,9:1:17:0110",
            "lfs:create:sata:lfs64,8388608,4096,512,65536,16,9,big:1:17:0110",
            "async:[create a 644; ---; rename a b replace]:plp:ufs2,8388608,4096,512:0:3:",
        ] {
            let id: Id = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
            let plan = id.plan().unwrap();
            assert_eq!(Id::new(&plan, id.moments, id.fates.clone()), id);
        }
        for text in [
            "",
            "sync:create",
            "sync:create:sata:ufs3,1,2,3:1:1:0",
            "sync:create:sata:ufs2,1,2,3,middle:1:1:0",
            "sync:create:sata:ufs2,8388608,4096,512:1:1:q",
            "lfs:create:sata:lfs,8388608,4096,512:1:1:0",
            "lfs:create:sata:ufs2,8388608,4096,512:1:1:0",
            "sync:create:sata:lfs,8388608,4096,512,65536,16,9:1:1:0",
        ] {
            assert!(text.parse::<Id>().and_then(|id| id.plan()).is_err(), "{text}");
        }
    }
}
