//! Shards of made-up sweeps: any number of units and shards, any of them lost, any file cut at any byte.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const SEED: u64 = 5;

/// Runs a shard of a sweep of `units`; returns the units that ran.
fn run(units: u64, shard: &str, to: &Path) -> anyhow::Result<Vec<u64>> {
    let ran = std::sync::Mutex::new(Vec::new());
    let one = |unit: u64| {
        ran.lock().unwrap().push(unit);
        Done::new(&format!("result of {unit}"), unit % 3)
    };
    let name = |unit: u64| format!("number {unit}");
    let work = Work { kind: Kind::Fuzz, parameters: Map::new(), units, name: &name, one: &one };
    let args = Args { shard: shard::parse(shard).unwrap(), seed: SEED, jsonl: None };
    args.write(&work, 2, to)?;
    Ok(ran.into_inner().unwrap())
}

/// The units that are there, as one file.
fn joined(files: &[PathBuf], scratch: &Path) -> (Account, Vec<u8>) {
    let (joined, to) = (Joined::read(files).unwrap(), scratch.join("joined"));
    joined.write(&to, false).unwrap();
    let bytes = std::fs::read(&to).unwrap();
    std::fs::remove_file(&to).unwrap();
    (joined.account(), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn shards_are_disjoint_and_complete_and_what_is_lost_or_cut_is_named_and_done_again(
        units in 0u64..40,
        half in 0u32..12,
        lost in any::<u32>(),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let of = 2 * half + 1;
        let scratch = tempfile::tempdir().unwrap();
        let file = |shard: u32| scratch.path().join(format!("{shard}.jsonl"));
        let files: Vec<PathBuf> = (1..=of).map(file).collect();
        let mut all = Vec::new();
        for shard in 1..=of {
            all.extend(run(units, &format!("{shard}/{of}"), &file(shard)).unwrap());
        }
        all.sort_unstable();
        prop_assert_eq!(&all, &(0..units).collect::<Vec<_>>());
        let whole = joined(&files, scratch.path());
        prop_assert!(whole.0.complete);
        prop_assert_eq!(whole.0.violations, all.iter().map(|unit| unit % 3).sum::<u64>());

        // Some shards are lost, all but one at most, and one of the others is cut at any byte.
        let kept: Vec<u32> = (1..=of).filter(|shard| *shard == 1 || lost >> shard & 1 == 0).collect();
        (1..=of).filter(|shard| !kept.contains(shard)).for_each(|shard| std::fs::remove_file(file(shard)).unwrap());
        let torn = *cut.get(&kept);
        let bytes = std::fs::read(file(torn)).unwrap();
        std::fs::write(file(torn), &bytes[..at.index(bytes.len() + 1)]).unwrap();
        let left: Vec<PathBuf> = kept.iter().map(|shard| file(*shard)).collect();
        // A sole file that ends in its head is no sweep yet.
        if let Ok(some) = Joined::read(&left) {
            let account = some.account();
            let missing: BTreeSet<u64> = account.units_missing.values().flatten().copied().collect();
            let there: BTreeSet<u64> = some.units().map(|unit| unit.unwrap().unit).collect();
            prop_assert!(missing.is_disjoint(&there));
            prop_assert_eq!(missing.len() as u64 + account.there, units);
            for unit in &missing {
                let shard = (unit % u64::from(of)) as u32 + 1;
                prop_assert!(shard == torn || !kept.contains(&shard), "unit {} was not lost", unit);
            }
        } else {
            prop_assert_eq!(left.len(), 1);
        }

        // The same commands again do what is missing, and no more; the result is the same to the byte.
        for shard in 1..=of {
            let ran = run(units, &format!("{shard}/{of}"), &file(shard)).unwrap();
            prop_assert!(shard == torn || !kept.contains(&shard) || ran.is_empty());
        }
        let again = joined(&files, scratch.path());
        prop_assert_eq!(again.1, whole.1);
        prop_assert!(again.0.complete && again.0.twice == 0);
    }
}

#[test]
fn a_torn_head_is_removed_and_no_other_file() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("1.jsonl");
    run(4, "1/2", &file).unwrap();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..20]).unwrap();
    assert_eq!(run(4, "1/2", &file).unwrap().len(), 2);
    assert_eq!(joined(std::slice::from_ref(&file), scratch.path()).0.there, 2);
    std::fs::write(&file, "somebody's text").unwrap();
    let said = run(4, "1/2", &file).unwrap_err().to_string();
    assert!(said.contains("no file of a sweep"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"somebody's text");
}

#[test]
fn a_head_that_claims_more_units_than_fit_in_memory_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("1.jsonl");
    run(4, "1/2", &file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"units\":4", "\"units\":4000000000000")).unwrap();
    let said = Joined::read(&[file]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("line 1") && said.contains("16777216 at most"), "{said}");
    assert!(run(1 << 30, "1/2", &scratch.path().join("2.jsonl")).unwrap_err().to_string().contains("is the most"));
}

#[test]
fn what_may_have_no_end_is_not_read() {
    let said = run(4, "1/2", Path::new("/dev/full")).unwrap_err().to_string();
    assert!(said.contains("no regular file"), "{said}");
    assert!(Joined::read(&["/dev/zero".into()]).is_err());
    // A hole, and no line.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 40).unwrap();
    let said = Joined::read(&[file.path().into()]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("line 1: it is longer"), "{said}");
}
