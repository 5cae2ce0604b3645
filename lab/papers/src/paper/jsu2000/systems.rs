//! The systems that the paper compares (its Table 1), and two that it only mentions.

use crate::LogPlace;
use ordofs::AllocInit;
use ordofs::schemes::{self, Settings};

/// One of them, as one of our schemes with settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct System {
    /// Its name in the claims.
    pub(super) key: &'static str,
    /// Its name in the tables.
    pub(super) printed: &'static str,
    pub(super) scheme: &'static str,
    /// Keys are names of mount options.
    pub(super) settings: &'static [(&'static str, &'static str)],
    pub(super) log: LogPlace,
    /// Rules of the scheme that the paper's system does not keep.
    pub(super) without: &'static [&'static str],
    /// `None` for the scheme's default.
    pub(super) alloc_init: Option<AllocInit>,
}

impl System {
    const fn new(key: &'static str, printed: &'static str, scheme: &'static str) -> System {
        let (settings, without, log) = (&[], &[], LogPlace::Volume);
        System { key, printed, scheme, settings, log, without, alloc_init: None }
    }

    const fn set(self, settings: &'static [(&'static str, &'static str)]) -> System {
        System { settings, ..self }
    }

    const fn without(self, without: &'static [&'static str]) -> System {
        System { without, ..self }
    }

    const fn log(self, log: LogPlace) -> System {
        System { log, ..self }
    }

    /// The settings of its scheme; `None` if they cannot be set.
    pub(super) fn set_up(&self) -> Option<Settings> {
        let mut settings = Settings { alloc_init: self.alloc_init, ..Settings::default() };
        for (key, value) in self.settings {
            settings.set(key, value)?.ok()?;
        }
        settings.without = self.without.iter().map(|rule| (*rule).to_owned()).collect();
        Some(settings)
    }

    /// Whether there is a scheme of this name with these settings.
    pub(super) fn is_there(&self) -> bool {
        schemes::by_name(self.scheme).is_some() && self.set_up().is_some()
    }
}

/// Soft updates that point to blocks before their contents are on the disk (section 6).
pub(super) const NO_RULE: &str = "soft-updates, no data rule";

/// A call returns when its records are in the log; or at once.
const AT_ONCE: (&str, &str) = ("logmode", "sync");
const LATER: (&str, &str) = ("logmode", "async");
/// The paper's journals do not order contents (its section 5).
const UNORDERED: (&str, &str) = ("data", "writeback");

/// The BSD systems initialise only blocks of pointers and of names.
const BSD: Option<AllocInit> = Some(AllocInit::Directories);

/// FreeBSD's FFS frees the fragments that a file has outgrown as soon as their contents have a new place, and waits
/// neither for the contents there nor for the pointer (`ffs_realloccg`). A crash can leave one fragment in two files;
/// `sync` waits twice.
const OUTGROWN: [&str; 2] = ["moved-contents", "moved-fragment"];

/// All of them. The first eight are those of the paper's tables and figures.
pub(super) const SYSTEMS: [System; 11] = [
    System::new("ffs-async", "FFS-async", "async"),
    System { alloc_init: BSD, ..System::new("ffs", "FFS", "sync").without(&OUTGROWN) },
    System::new("soft-updates", "Soft-Updates", "softupdates"),
    System::new("lffs-file", "LFFS-file", "journal-file").set(&[LATER, UNORDERED]),
    System::new("lffs-wafs-1sync", "LFFS-wafs-1sync", "wafs").set(&[AT_ONCE, UNORDERED]).log(LogPlace::Behind),
    System::new("lffs-wafs-1async", "LFFS-wafs-1async", "wafs").set(&[LATER, UNORDERED]).log(LogPlace::Behind),
    System::new("lffs-wafs-2sync", "LFFS-wafs-2sync", "wafs").set(&[AT_ONCE, UNORDERED]).log(LogPlace::Drive),
    System::new("lffs-wafs-2async", "LFFS-wafs-2async", "wafs").set(&[LATER, UNORDERED]).log(LogPlace::Drive),
    System::new("lffs-wafs-nvram", "LFFS-wafs-nvram", "wafs").set(&[AT_ONCE, UNORDERED]).log(LogPlace::Nvram),
    System::new("group-commit", "LFFS-wafs, group commit", "wafs")
        .set(&[("logmode", "group"), UNORDERED])
        .log(LogPlace::Behind),
    System { alloc_init: BSD, ..System::new(NO_RULE, "Soft-Updates, no data rule", "softupdates") },
];

/// Those of the paper's tables and figures.
pub(super) const EIGHT: usize = 8;

/// The systems of the paper's tables and figures.
pub(super) fn eight() -> impl Iterator<Item = &'static System> {
    SYSTEMS.iter().take(EIGHT)
}

/// Those whose log is written in the background.
pub(super) const ASYNC_JOURNALS: [&str; 3] = ["lffs-file", "lffs-wafs-1async", "lffs-wafs-2async"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_a_system_does_not_keep_are_rules_of_its_scheme() {
        for system in SYSTEMS.iter().filter(|system| !system.without.is_empty()) {
            let settings = system.set_up().expect("it can be set");
            assert_eq!(settings.without.len(), system.without.len());
            assert!(schemes::by_name(system.scheme).expect("it is there").make(settings).is_ok(), "{}", system.key);
        }
    }

    #[test]
    fn each_has_a_name_of_its_own_and_the_first_schemes_are_there() {
        let keys: std::collections::BTreeSet<&str> = SYSTEMS.iter().map(|system| system.key).collect();
        assert_eq!(keys.len(), SYSTEMS.len());
        assert!(["ffs", "ffs-async", "soft-updates", NO_RULE].iter().all(|key| {
            let system = SYSTEMS.iter().find(|system| system.key == *key);
            system.is_some_and(System::is_there)
        }));
    }
}
