//! Tests of the use of volumes: its plan by itself, and played on the model.

use super::*;
use crate::paths::Session;
use crate::tests::Calls;
use ordo_model::{MemFs, Options, ready};
use ordo_vfs::{Kind, Stamp};
use std::collections::{BTreeMap, BTreeSet};

const SPACE: Space = Space { bytes: 48 << 20, block: 8192, fragment: 1024 };

/// Plans of days, none of which is refused anything.
fn planned(profile: &Profile, seed: u64, days: u32, space: Space) -> Vec<Vec<Op>> {
    let mut aging = Aging::new(profile, seed, space);
    let day = |_| {
        let ops = aging.plan();
        aging.day += 1;
        ops
    };
    (0..days).map(day).collect()
}

#[test]
fn a_seed_decides_what_is_done_and_another_seed_does_something_else() {
    for profile in PROFILES {
        let days = planned(profile, 1, 30, SPACE);
        assert_eq!(planned(profile, 1, 30, SPACE), days, "{}", profile.name);
        assert_ne!(planned(profile, 2, 30, SPACE), days, "{}", profile.name);
    }
}

/// Applies a plan to names and sizes.
fn apply(
    op: Op,
    dirs: &mut BTreeMap<u32, u32>,
    files: &mut BTreeMap<u32, (u32, u64)>,
    seen: &mut BTreeSet<(bool, u32)>,
) {
    match op {
        Op::Mkdir { dir } => {
            assert!(seen.insert((true, dir)), "{op:?}: a second one");
            dirs.insert(dir, 0);
        }
        Op::Rmdir { dir } => assert_eq!(dirs.remove(&dir), Some(0), "{op:?}: it is there, and empty"),
        Op::Create { dir, file, bytes, first } => {
            assert!(seen.insert((false, file)) && first <= bytes && bytes > 0, "{op:?}");
            *dirs.get_mut(&dir).unwrap_or_else(|| panic!("{op:?}: where")) += 1;
            files.insert(file, (dir, bytes));
        }
        Op::Rewrite { dir, file, bytes } => {
            let old = files.insert(file, (dir, bytes));
            assert_eq!(old.map(|(dir, _)| dir), Some(dir), "{op:?}");
        }
        Op::Append { dir, file, from, bytes } => {
            let old = files.insert(file, (dir, from + bytes));
            assert_eq!(old, Some((dir, from)), "{op:?}");
        }
        Op::Remove { dir, file } => {
            assert_eq!(files.remove(&file).map(|(dir, _)| dir), Some(dir), "{op:?}");
            *dirs.get_mut(&dir).unwrap_or_else(|| panic!("{op:?}: from where")) -= 1;
        }
    }
}

#[test]
fn every_operation_is_possible_and_the_volume_keeps_its_course() {
    for profile in PROFILES {
        let mut aging = Aging::new(profile, 3, SPACE);
        let (mut dirs, mut files, mut seen) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let (mut sway, mut made, mut removed) = (0, 0, 0);
        for day in 0..profile.history() + 120 {
            for op in aging.plan() {
                made += u64::from(matches!(op, Op::Create { .. }));
                removed += u64::from(matches!(op, Op::Remove { .. }));
                apply(op, &mut dirs, &mut files, &mut seen);
            }
            aging.day += 1;
            let used: u64 = files.values().map(|(_, bytes)| SPACE.of(*bytes)).sum::<u64>() + dirs.len() as u64 * 1024;
            assert_eq!(aging.used(), used, "{} day {day}", profile.name);
            let level = u64::from(profile.level(day)) * SPACE.bytes / 1000;
            sway = sway.max(used.abs_diff(level) * 1000 / SPACE.bytes);
        }
        // Beside the walk, the last file or package of a day.
        assert!(sway <= u64::from(profile.sway) + 80, "{}: {sway}", profile.name);
        assert!(made > 3000 && removed > made / 4, "{}: {made} {removed}", profile.name);
        assert!(files.len() > 300 && dirs.len() > 10, "{}: {} {}", profile.name, files.len(), dirs.len());
    }
}

/// Permille of what is there in the end that was removed or written again, not counting what was made on the same day.
fn replaced(name: &str) -> u64 {
    let profile = Profile::named(name).unwrap();
    // A package is small beside such a volume.
    let days = planned(profile, 1, profile.history() + 60, Space { bytes: 256 << 20, ..SPACE });
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    for (day, ops) in days.iter().enumerate() {
        for op in ops {
            let (old, new) = match *op {
                Op::Create { file, bytes, .. } => (None, Some((file, bytes))),
                Op::Rewrite { file, bytes, .. } => (files.remove(&file), Some((file, bytes))),
                Op::Remove { file, .. } => (files.remove(&file), None),
                Op::Mkdir { .. } | Op::Rmdir { .. } | Op::Append { .. } => (None, None),
            };
            bytes += old.filter(|(born, _)| *born < day).map_or(0, |(_, bytes)| bytes);
            files.extend(new.map(|(file, bytes)| (file, (day, bytes))));
        }
    }
    bytes * 1000 / files.values().map(|(_, bytes)| bytes).sum::<u64>()
}

#[test]
fn little_changes_on_the_server_of_software_and_much_on_that_of_news() {
    let [news, software, people] = ["cnews", "glan5", "usr4"].map(replaced);
    assert!(2 * software < people && 2 * software < news, "{news} {software} {people}");
}

#[test]
fn the_oldest_articles_go_first_among_groups_that_keep_them_equally_long() {
    let days = planned(Profile::named("cnews").unwrap(), 1, 60, SPACE);
    let (mut of_spool, mut gone) = (BTreeSet::new(), Vec::new());
    for op in days.iter().flatten() {
        match op {
            Op::Create { file, first: 1.., .. } => drop(of_spool.insert(*file)),
            Op::Remove { file, .. } if of_spool.contains(file) => gone.push(*file),
            _ => {}
        }
    }
    let last = *of_spool.last().unwrap();
    let young = gone.iter().filter(|file| **file > last - last / 4).count();
    assert!(gone.len() > 500 && young * 20 < gone.len(), "{young} of {}", gone.len());
}

/// Names, and sizes of files, below the base.
fn there<F: ordo_vfs::FileSystem>(session: &Session<'_, F>) -> BTreeMap<String, Option<u64>> {
    let mut seen = BTreeMap::new();
    let see = |path: &str, attr: &ordo_vfs::Attr| {
        let size = (attr.kind == Kind::Regular).then_some(attr.size);
        seen.insert(path.rsplit('/').next().unwrap_or(path).to_owned(), size);
    };
    ready(session.walk("b", see)).unwrap();
    seen
}

/// What the users believe to be there.
fn believed(aging: &Aging) -> BTreeMap<String, Option<u64>> {
    let dirs = aging.uses.iter().flat_map(|state| state.families.iter().flatten());
    let files = aging.tree.dirs.iter().flat_map(|dir| dir.files.iter());
    let files = files.map(|file| (format!("f{}", file.no), Some(file.bytes)));
    dirs.map(|dir| (format!("d{dir}"), None)).chain(files).collect()
}

#[test]
fn what_the_users_believe_is_there_and_nothing_else_and_nothing_is_held() {
    for name in ["neutral", "cnews"] {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(session.mkdir_all("b")).unwrap();
        let mut aging = Aging::new(Profile::named(name).unwrap(), 1, Space { bytes: 8 << 20, ..SPACE });
        for _ in 0..30 {
            ready(aging.play(session.fs, "b")).unwrap();
        }
        assert_eq!(there(&session), believed(&aging), "{name}");
        let aged = aging.aged();
        assert_eq!(calls.count("unlink"), aged.removed, "{name}");
        assert_eq!((aged.created, aged.full.len()), (calls.count("mknod"), 0), "{name}");
        assert_eq!((calls.fs.lookups(), aging.played()), (0, 30), "{name}");
    }
}

#[test]
fn without_room_it_is_noted_and_older_files_go_and_the_use_goes_on() {
    for name in ["neutral", "cnews", "usr4"] {
        let limits = Options { block_size: 1024, blocks: 6 << 10, ..Options::default() };
        let fs = MemFs::new(limits, Stamp::default);
        let session = Session::new(&fs);
        ready(session.mkdir_all("b")).unwrap();
        // The users believe in more room than there is.
        let mut aging = Aging::new(Profile::named(name).unwrap(), 1, Space { bytes: 9 << 20, ..SPACE });
        for _ in 0..aging.days_until(10) {
            ready(aging.play(session.fs, "b")).unwrap();
        }
        assert_eq!(there(&session), believed(&aging), "{name}");
        let full = &aging.aged().full;
        assert!(full.len() > 3 && full.iter().all(|day| day.refused > 0), "{name}: {full:?}");
        assert!(full.windows(2).all(|two| two[0].day < two[1].day) && full[0].day < 11, "{name}: {full:?}");
        assert!(full[0].free < 1 << 20, "{name}: {full:?}");
        assert_eq!(fs.lookups(), 0, "{name}");
    }
}

#[test]
fn where_not_even_directories_have_room_the_use_goes_on_without_them() {
    for (name, inodes) in [("usr4", 120), ("cnews", 90), ("neutral", 100), ("staff", 50)] {
        // Where every inode is taken, no directory is made either.
        let limits = Options { block_size: 1024, blocks: 6 << 10, inodes, ..Options::default() };
        let fs = MemFs::new(limits, Stamp::default);
        let session = Session::new(&fs);
        ready(session.mkdir_all("b")).unwrap();
        let mut aging = Aging::new(Profile::named(name).unwrap(), 1, Space { bytes: 9 << 20, ..SPACE });
        let mut without = 0;
        for _ in 0..60 {
            ready(aging.play(session.fs, "b")).unwrap();
            without = without.max(aging.unmade.len());
        }
        assert!(without > 0, "{name}: there was room for all directories");
        let mut believed = believed(&aging);
        for dir in &aging.unmade {
            believed.remove(&format!("d{dir}"));
        }
        assert_eq!(there(&session), believed, "{name}");
        assert!(aging.aged().full.len() > 3, "{name}: {:?}", aging.aged().full);
        assert_eq!(fs.lookups(), 0, "{name}");
    }
}
