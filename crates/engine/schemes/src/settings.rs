//! The settings of a scheme, by the names of the mount options.

use ordo_learning::Learns;
use std::collections::BTreeSet;
use std::time::Duration;

/// Whether a block that was just allocated must be initialised on the disk before a pointer to it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocInit {
    /// Only indirect blocks, whose garbage would be taken for pointers.
    None,
    /// Indirect blocks and directories: garbage is never taken for names. What the BSD systems do.
    Directories,
    /// File data, too: a file never shows another file's old contents. The default: if a new file shows pages of an
    /// older journal after a crash, a database takes them for its own, and rolls back what it had acknowledged.
    #[default]
    All,
}

impl AllocInit {
    const NAMES: [(&str, Self); 3] = [("none", Self::None), ("dirs", Self::Directories), ("all", Self::All)];
}

/// When a call that changed names returns (`logmode=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogMode {
    /// When it is durable in the log; each call is written separately.
    Sync,
    /// At once; it is in the log a second later.
    Async,
    /// When it is durable in the log; one write serves all calls that wait (group commit).
    #[default]
    Group,
}

impl LogMode {
    const NAMES: [(&str, Self); 3] = [("sync", Self::Sync), ("async", Self::Async), ("group", Self::Group)];
}

/// How a journal treats the contents of files (`data=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataMode {
    /// They are logged, too.
    Journal,
    /// They are written in place before the log has the pointer to them. The default: see [`AllocInit::All`].
    #[default]
    Ordered,
    /// Not at all: after a crash a file may show old bytes.
    Writeback,
}

impl DataMode {
    const NAMES: [(&str, Self); 3] =
        [("journal", Self::Journal), ("ordered", Self::Ordered), ("writeback", Self::Writeback)];
}

/// When logged changes are written in place (`checkpoint=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checkpoint {
    /// As soon as they are durable in the log.
    AtOnce,
    /// When the syncer writes them, or the log runs short.
    #[default]
    Late,
}

impl Checkpoint {
    const NAMES: [(&str, Self); 2] = [("now", Self::AtOnce), ("late", Self::Late)];
}

fn by_name<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: Option<T>) -> Option<&'static str> {
    names.iter().find(|(_, known)| value.as_ref() == Some(known)).map(|(name, _)| *name)
}

/// The settings of a scheme. `None` is the scheme's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `allocinit=`
    pub alloc_init: Option<AllocInit>,
    /// `logmode=`
    pub log_mode: Option<LogMode>,
    /// `data=`
    pub data: Option<DataMode>,
    /// `commit=`: how long a change may be in memory only.
    pub commit: Option<Duration>,
    /// `checkpoint=`
    pub checkpoint: Option<Checkpoint>,
    /// `learning=`: whether, and by which rule, an active journal learns what should have replicas.
    pub learning: Option<Learns>,
    /// `scrub=`: the weeks in which an active journal reads once all that its map knows.
    pub scrub: Option<u32>,
    /// Rules, by name, that the scheme breaks although it declares them: the crash explorer must detect it.
    pub without: BTreeSet<String>,
}

impl Settings {
    /// Sets the mount option `key`, if it is one of a scheme: `None` if not, `Err` with the allowed values.
    pub fn set(&mut self, key: &str, value: &str) -> Option<Result<(), &'static str>> {
        fn put<T>(to: &mut Option<T>, value: Option<T>, must: &'static str) -> Option<Result<(), &'static str>> {
            *to = Some(match value {
                Some(value) => value,
                None => return Some(Err(must)),
            });
            Some(Ok(()))
        }
        let seconds = || value.parse().ok().filter(|seconds| (1..=3600).contains(seconds)).map(Duration::from_secs);
        let weeks = || value.parse().ok().filter(|weeks| (1..=520).contains(weeks));
        match key {
            "allocinit" => put(&mut self.alloc_init, by_name(&AllocInit::NAMES, value), "must be none, dirs or all"),
            "logmode" => put(&mut self.log_mode, by_name(&LogMode::NAMES, value), "must be sync, async or group"),
            "data" => put(&mut self.data, by_name(&DataMode::NAMES, value), "must be journal, ordered or writeback"),
            "checkpoint" => put(&mut self.checkpoint, by_name(&Checkpoint::NAMES, value), "must be now or late"),
            "learning" => put(&mut self.learning, by_name(&Learns::NAMES, value), "must be yes, no, docks or jumps"),
            "scrub" => put(&mut self.scrub, weeks(), "must be weeks, 1 to 520"),
            "commit" => put(&mut self.commit, seconds(), "must be seconds, 1 to 3600"),
            _ => None,
        }
    }

    /// All settings, as `key=value`, ordered by name.
    pub fn said(&self) -> Vec<String> {
        let commit = self.commit.map(|commit| format!("commit={}", commit.as_secs()));
        let scrub = self.scrub.map(|weeks| format!("scrub={weeks}"));
        let named = [
            ("allocinit", name_of(&AllocInit::NAMES, self.alloc_init)),
            ("checkpoint", name_of(&Checkpoint::NAMES, self.checkpoint)),
            ("data", name_of(&DataMode::NAMES, self.data)),
            ("learning", name_of(&Learns::NAMES, self.learning)),
            ("logmode", name_of(&LogMode::NAMES, self.log_mode)),
        ];
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let mut said: Vec<String> = named.chain(commit).chain(scrub).collect();
        said.sort();
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_said_again() {
        let mut settings = Settings::default();
        for (key, value) in [("logmode", "group"), ("data", "writeback"), ("commit", "7"), ("allocinit", "dirs")] {
            assert_eq!(settings.set(key, value), Some(Ok(())));
        }
        assert_eq!(settings.said(), ["allocinit=dirs", "commit=7", "data=writeback", "logmode=group"]);
        assert!(matches!(settings.set("commit", "0"), Some(Err(_))));
        assert!(matches!(settings.set("data", "none"), Some(Err(_))));
        assert!(matches!(settings.set("learning", "maybe"), Some(Err(_))));
        assert_eq!(settings.set("learning", "no"), Some(Ok(())));
        assert_eq!((settings.learning, settings.said().contains(&"learning=no".into())), (Some(Learns::No), true));
        assert!(matches!(settings.set("scrub", "0"), Some(Err(_))));
        assert_eq!(settings.set("scrub", "4"), Some(Ok(())));
        assert!(settings.said().contains(&"scrub=4".into()));
        assert_eq!(settings.set("speed", "fast"), None);
    }
}
