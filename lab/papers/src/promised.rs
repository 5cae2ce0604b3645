//! What a scheme promises, as a document has it, and in words: what a crash costs.
//!
//! P1. It is what the scheme declares with its settings, and nothing else: no word here is about a result.

use ordo_report::results::Promises;
use ordofs::schemes::{self, Settings};
use ordofs::{CrashLeaves, Durable};

/// Those of the scheme with this name, with these settings; of a log-structured volume, its own. `None` if there is
/// no such scheme.
pub fn of_scheme(name: &str, settings: &Settings) -> Option<Promises> {
    if name == ordofs::LFS_SCHEME {
        return Some(of(&ordofs::lfs::promises()));
    }
    let scheme = schemes::by_name(name)?.make(settings.clone()).ok()?;
    let age = settings.commit.unwrap_or(ordofs::COMMIT);
    Some(Promises { seconds_in_memory: age.as_secs_f64(), ..of(&scheme.declares()) })
}

/// In the words of a document.
pub fn of(promises: &ordofs::Promises) -> Promises {
    Promises {
        name_added: event(promises.name_added),
        name_removed: event(promises.name_removed),
        data: event(promises.data),
        attributes: event(promises.attributes),
        fsync_covers_name: promises.fsync_covers_name,
        rename_never_loses: promises.rename_never_loses,
        names_of_a_moment: promises.names_of_a_moment,
        durable_stays: promises.durable_stays,
        crash_leaves: leaves(promises.crash_leaves),
        no_stale_data: promises.no_stale_data,
        mount_at_once: promises.mount_at_once,
        seconds_in_memory: ordofs::COMMIT.as_secs_f64(),
        says: cost_of_crash(promises),
    }
}

fn event(durable: Durable) -> String {
    match durable {
        Durable::OnReturn => "on-return",
        Durable::AfterFsync => "after-fsync",
        Durable::AfterSync => "after-sync",
    }
    .to_owned()
}

fn leaves(leaves: CrashLeaves) -> String {
    match leaves {
        CrashLeaves::Nothing => "nothing",
        CrashLeaves::Leaks => "leaks",
        CrashLeaves::Counts => "counts",
        CrashLeaves::Log => "log",
        CrashLeaves::Anything => "anything",
    }
    .to_owned()
}

/// What a crash costs, in words (P1).
pub(crate) fn cost_of_crash(promises: &ordofs::Promises) -> String {
    let leaves = match promises.crash_leaves {
        CrashLeaves::Nothing => "nothing needs repair",
        CrashLeaves::Leaks => "some space is lost until it is reclaimed, on the volume in use",
        CrashLeaves::Counts => "maps and counts are stale: fsck must run before the volume is used, and loses nothing",
        CrashLeaves::Log => "the next mount reads the log, and all is well",
        CrashLeaves::Anything => "anything may be lost: fsck must run, and may remove files",
    };
    let lost = match promises.name_added {
        Durable::OnReturn => "a file that was created or removed stays so",
        Durable::AfterFsync | Durable::AfterSync => "creates and removes of the last seconds may be undone",
    };
    let order = match promises.names_of_a_moment {
        true => ", all up to one moment",
        false => "",
    };
    let durable = match (promises.durable_stays, promises.fsync_covers_name) {
        (true, true) => "what was synced stays",
        (true, false) => "what was synced stays, but its name may not",
        (false, _) => "even what was synced may go, if it is changed later",
    };
    let foreign = match promises.no_stale_data {
        true => "",
        false => "; a new file may show old bytes of another one",
    };
    format!("{leaves}; {lost}{order}; {durable}{foreign}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_what_the_scheme_declares_and_words_for_it() {
        let of = |name: &str| of_scheme(name, &Settings::default()).expect("it is listed");
        let (sync, soft, none) = (of("sync"), of("softupdates"), of("async"));
        assert_eq!((&*sync.name_added, &*sync.crash_leaves, sync.mount_at_once), ("on-return", "counts", false));
        assert_eq!((&*soft.crash_leaves, soft.durable_stays, soft.no_stale_data), ("leaks", true, true));
        assert_eq!((&*none.name_added, &*none.crash_leaves, none.durable_stays), ("after-sync", "anything", false));
        assert!(none.says.contains("may remove files") && sync.says.contains("stays so"), "{none:?} {sync:?}");
        let lfs = of("lfs");
        assert!(lfs.names_of_a_moment && lfs.crash_leaves == "log", "{lfs:?}");
        assert_eq!(of_scheme("none", &Settings::default()), None);
    }
}
