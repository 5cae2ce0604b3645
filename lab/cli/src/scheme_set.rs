//! Settings of a scheme in `--set`: its mount options, and where its log is.

use crate::out::usage;
use ordofs::schemes::Settings;

/// The keys, for the message about an unknown one.
pub(crate) const KEYS: &str = "allocinit, logmode, data, learning, commit, log";

/// The parsed settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SchemeSet {
    pub(crate) settings: Settings,
    /// `log=separate`: the log on a disk of its own.
    pub(crate) separate_log: bool,
    /// `log=stream`: on that disk, in a stream of messages; for the explorer.
    pub(crate) stream: bool,
}

impl SchemeSet {
    /// Parses `KEY=VALUE`, several between commas.
    ///
    /// # Errors
    /// Wrong usage, with the possible keys.
    pub(crate) fn read(lists: &[String]) -> anyhow::Result<SchemeSet> {
        let mut set = SchemeSet::default();
        each(lists, |key, value| {
            set.one(key, value).unwrap_or_else(|| Err(format!("there is no {key:?}; there are: {KEYS}")))
        })?;
        if set.stream {
            return Err(usage("--set log=stream: is for ordo crash; there is log=separate"));
        }
        Ok(set)
    }

    /// Sets one key: `None` if the key is unknown, `Err` with the possible values.
    pub(crate) fn one(&mut self, key: &str, value: &str) -> Option<Result<(), String>> {
        if key != "log" {
            return self.settings.set(key, value).map(|set| set.map_err(str::to_owned));
        }
        (self.separate_log, self.stream) = match value {
            "separate" => (true, false),
            "stream" => (true, true),
            "volume" => (false, false),
            _ => return Some(Err("must be separate or volume, and of ordo crash also stream".into())),
        };
        Some(Ok(()))
    }
}

/// Passes each `KEY=VALUE` of the lists to `set`, whose error says what would be right.
///
/// # Errors
/// Wrong usage.
pub(crate) fn each(lists: &[String], mut set: impl FnMut(&str, &str) -> Result<(), String>) -> anyhow::Result<()> {
    for option in lists.iter().flat_map(|list| list.split(',')).filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        set(key, value).map_err(|right| usage(format!("--set {option}: {right}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::AllocInit;

    fn read(list: &str) -> Result<SchemeSet, String> {
        SchemeSet::read(&[list.to_owned()]).map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_a_scheme_and_the_place_of_its_log_are_read() {
        let set = read("logmode=sync,data=ordered,log=separate,allocinit=all,commit=7").unwrap();
        assert_eq!(set.settings.said(), ["allocinit=all", "commit=7", "data=ordered", "logmode=sync"]);
        assert_eq!((set.settings.alloc_init, set.separate_log), (Some(AllocInit::All), true));
        assert!(!read("log=separate,log=volume").unwrap().separate_log);
        for (option, named) in [
            ("allocinit=some", "none, dirs or all"),
            ("log=disk", "separate or volume"),
            ("logmode", "sync, async or group"),
            ("cache=4M", "there are: allocinit, logmode"),
        ] {
            let error = read(option).unwrap_err();
            assert!(error.contains(named) && error.contains(option), "{error}");
        }
    }
}
