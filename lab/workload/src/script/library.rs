//! The ready-made scripts, and looking them up.

use super::calls::Script;

/// Names and texts: the files of these names in a folder.
macro_rules! texts {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../scripts", $folder, "/", $name, ".txt")))),*]
    };
}

type Texts = &'static [(&'static str, &'static str)];

const ALL: Texts = texts!("":
    "create" "remove" "rename" "mkdir-rmdir" "append" "truncate" "overwrite" "links" "xattr" "full-disk" "mixed"
);

/// The bugs that CrashMonkey and ACE reproduced (k) and discovered (n): Mohan et al., OSDI 2018, and the list in the
/// programs' repository. Letters and numbers after a name are variants. Writes through a mapping and direct writes are
/// plain writes here, and `fdatasync` stands for `msync`.
const BUGS: Texts = texts!("/bugs":
    "k01" "k02" "k03" "k04" "k05" "k06" "k07" "k08" "k09" "k10" "k11"
    "k11b" "k12a" "k12b" "k12c" "k13" "k13b" "k14" "k15" "k16" "k17" "k18"
    "k19" "k20" "k20b" "k21" "k22" "k23" "k24" "k25a" "k25b" "k25c" "k25d"
    "k26"
    "n01" "n02" "n03" "n04" "n05" "n06" "n07" "n08" "n09" "n10" "n11"
    "n08-allocate-17000-3000" "n08-allocate-17000-8192" "n08-allocate-24576-3000" "n08-allocate-24576-8192"
    "n08-allocate-32768-3000" "n08-allocate-32768-8192" "n08-allocate-42000-3000" "n08-allocate-42000-8192"
    "n08-allocate-49152-3000" "n08-allocate-49152-8192" "n08-allocate-53248-3000" "n08-allocate-53248-8192"
    "n08-zero-17000-3000" "n08-zero-17000-8192" "n08-zero-24576-3000" "n08-zero-24576-8192"
    "n08-zero-32768-3000" "n08-zero-32768-8192" "n08-zero-42000-3000" "n08-zero-42000-8192"
    "n08-zero-49152-3000" "n08-zero-49152-8192" "n08-zero-53248-3000" "n08-zero-53248-8192"
);

/// What is specific to this format and not covered by the lists of bugs.
const UFS: Texts = texts!("/ufs":
    "u01" "u02" "u03" "u04" "u05" "u06" "u07" "u08" "u09" "u10" "u11"
    "u12" "u13" "u14" "u15" "u16" "u17" "u18" "u19" "u20" "u21" "u22" "u23" "u24" "u25" "u26" "u27"
);

/// What only a log-structured volume of few segments is asked: the script belongs to no set.
const LOG: Texts = texts!("/log": "clean");

/// The scripts for one kind of change each, and one with a little of everything.
pub fn all() -> Vec<Script> {
    read(ALL)
}

/// Scripts of bugs that file systems had: a crash after, or within, these calls showed the bug.
pub fn bugs() -> Vec<Script> {
    read(BUGS)
}

/// The specifics of the format: fragments, indirect blocks, groups, directories in pieces of 512 bytes, the area of
/// extended attributes. Sizes are for blocks of 4096 bytes and fragments of 512.
pub fn ufs() -> Vec<Script> {
    read(UFS)
}

/// Scripts that show something on a log-structured volume only.
pub fn log() -> Vec<Script> {
    read(LOG)
}

/// The ready-made script with this name.
pub fn find(name: &str) -> Option<Script> {
    let mut texts = ALL.iter().chain(BUGS).chain(UFS).chain(LOG);
    texts.find(|(known, _)| *known == name).map(parse)
}

fn read(texts: Texts) -> Vec<Script> {
    texts.iter().map(parse).collect()
}

fn parse((name, text): &(&str, &str)) -> Script {
    // OK to panic: the texts are part of the program, and the tests read them all.
    Script::parse(name, text).unwrap_or_else(|bad| panic!("{bad}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Op, Outcome, Player};
    use ordo_model::{MemFs, Options, ready};
    use ordo_vfs::{Caller, Refusal, Stamp};
    use std::collections::BTreeSet;

    fn every() -> Vec<Script> {
        [all(), bugs(), ufs(), log()].concat()
    }

    /// Plays a script and returns the outcome of each call.
    fn play(fs: &MemFs, script: &Script) -> Vec<Outcome> {
        let mut player = Player::new(fs, Caller::default());
        script.steps().map(|(op, _)| ready(player.apply(op))).collect()
    }

    /// script-3, on an endless file system and on one of 6 MiB.
    #[test]
    fn no_call_is_skipped_or_fails_and_none_is_refused_without_a_mark() {
        let small = || MemFs::new(Options { blocks: 1500, inodes: 8000, ..Options::default() }, Stamp::default);
        for script in every() {
            for fs in [MemFs::timeless(), small()] {
                for ((op, may_refuse), outcome) in script.steps().zip(play(&fs, &script)) {
                    let bad = match outcome {
                        Outcome::Skipped | Outcome::Failed(_) => true,
                        Outcome::Refused(_) => !may_refuse,
                        _ => false,
                    };
                    assert!(!bad, "{}: {op}: {outcome:?}", script.name);
                }
                assert_eq!(fs.lookups(), 0);
            }
        }
    }

    #[test]
    fn a_full_disk_refuses_for_want_of_room_and_has_room_again() {
        let fs = MemFs::new(Options { blocks: 1500, ..Options::default() }, Stamp::default);
        let script = find("full-disk").unwrap();
        let outcomes = play(&fs, &script).split_off(script.setup.len());
        let full = |outcome: &&Outcome| **outcome == Outcome::Refused(Refusal::NoSpace);
        assert!(outcomes.iter().filter(full).count() >= 2, "{outcomes:?}");
        let last_write = outcomes.len() - 5;
        assert_eq!(outcomes[last_write], Outcome::Done, "{}", script.calls[last_write]);
    }

    #[test]
    fn texts_say_what_they_are_about_have_their_length_and_read_back_the_same() {
        let mut heads = BTreeSet::new();
        for script in every() {
            assert!(script.says.ends_with('.') && heads.insert(script.says.clone()), "{}", script.name);
            assert_eq!(Script::parse(&script.name, &script.to_string()), Ok(script.clone()));
            assert_eq!(find(&script.name), Some(script));
        }
        for script in all() {
            let most = if script.name == "mixed" { 90 } else { 15 };
            assert!((6..=most).contains(&script.calls.len()), "{}: {} calls", script.name, script.calls.len());
            let durable = |op: &&Op| matches!(op, Op::Fsync { .. } | Op::Sync);
            assert!(script.calls.iter().filter(durable).count() >= 2, "{}", script.name);
        }
        assert_eq!(find("nothing"), None);
    }

    #[test]
    fn every_bug_of_the_lists_has_its_script() {
        let bugs: Vec<String> = bugs().into_iter().map(|script| script.name).collect();
        let has = |name: String| bugs.iter().any(|bug| bug.starts_with(&name));
        let all = (1..=26).map(|no| format!("k{no:02}")).chain((1..=11).map(|no| format!("n{no:02}")));
        assert_eq!(all.filter(|name| !has(name.clone())).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(bugs.iter().filter(|name| name.starts_with("n08-")).count(), 24);
    }

    /// script-2.
    #[test]
    fn no_two_writes_have_the_same_bytes() {
        for script in every() {
            let mut seeds = BTreeSet::new();
            for (op, _) in script.steps() {
                if let Op::Write { seed, .. } | Op::SetXattr { seed, .. } = op {
                    assert!(seeds.insert(*seed), "{}: {op}", script.name);
                }
            }
        }
    }

    fn listed(folder: &str, texts: Texts) {
        let path = format!("{}/scripts/{folder}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> = files.filter(|name| name.ends_with(".txt")).collect();
        let listed: BTreeSet<String> = texts.iter().map(|(name, _)| format!("{name}.txt")).collect();
        assert_eq!(files, listed, "{folder}");
    }

    #[test]
    fn every_file_of_the_folders_is_in_a_list() {
        listed("", ALL);
        listed("bugs", BUGS);
        listed("ufs", UFS);
    }
}
