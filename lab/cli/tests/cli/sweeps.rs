//! Sweeps that are shared by machines, and what joins them.

use crate::common::{Scratch, fails, ok, ordo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use xxhash_rust::xxh3::xxh3_128;

/// Each kind of sweep, small.
const SWEEPS: [&str; 7] = [
    "crash --workload create,remove --scheme async --no-shrink --states 60 --disk honest",
    "crash --workload seq1 --sample 70 --states 8 --set recovery=0",
    "crash --workload random --sample 70 --states 5 --set recovery=0",
    "crash --faults --workload create,rename --scheme sync --states 40",
    "fuzz --images 6",
    "bench --workload create-delete --scheme sync,async,lfs --runs 3 --disk sim:hp_c2447 --size 1G --param pairs=20",
    "paper features",
];

fn sweep(line: &str, more: &[&str]) -> std::process::Output {
    let output = ordo(line.split(' ').chain(more.iter().copied()));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{line} {more:?}: {output:?}");
    output
}

/// Runs all shards of N; returns their files.
fn shards(scratch: &Scratch, line: &str, of: u32) -> Vec<String> {
    (1..=of)
        .map(|shard| {
            let file = scratch.path(&format!("{shard}-of-{of}.jsonl"));
            sweep(line, &["--jobs", "1", "--shard", &format!("{shard}/{of}"), "--jsonl", &file]);
            file
        })
        .collect()
}

fn units(file: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?["unit"].as_u64()).collect()
}

fn merge(status: i32, files: &[&str]) -> Value {
    let output = ordo([&["merge", "--json"], files].concat());
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn strs(files: &[String]) -> Vec<&str> {
    files.iter().map(String::as_str).collect()
}

/// Threads are no part of some commands.
fn with_jobs(line: &str) -> bool {
    line.starts_with("crash") || line.starts_with("fuzz")
}

#[test]
fn shards_of_every_sweep_are_disjoint_and_together_the_whole() {
    for line in SWEEPS {
        let scratch = Scratch::new();
        let mut first = None;
        // The last has more shards than there are units. A paper is one unit, of a minute.
        let numbers: &[u32] = if line.starts_with("paper") { &[2] } else { &[1, 2, 3, 7, 50] };
        for of in numbers {
            let files: Vec<String> = (1..=*of)
                .map(|shard| {
                    let file = scratch.path(&format!("{shard}-of-{of}.jsonl"));
                    let mut more = vec!["--shard".to_owned(), format!("{shard}/{of}"), "--jsonl".into(), file.clone()];
                    more.extend(with_jobs(line).then(|| "--jobs=1".to_owned()));
                    sweep(line, &strs(&more));
                    file
                })
                .collect();
            let all: Vec<u64> = files.iter().flat_map(|file| units(file)).collect();
            let distinct: BTreeSet<u64> = all.iter().copied().collect();
            assert_eq!(all.len(), distinct.len(), "{line}: shards of {of} overlap");
            assert_eq!(distinct, (0..all.len() as u64).collect(), "{line}: of {of} something is missing");
            let whole = ordo([&["merge", "--json"], &strs(&files)[..]].concat());
            assert!(matches!(whole.status.code(), Some(0 | 1)), "{line}: {whole:?}");
            let joined = scratch.path(&format!("joined-{of}"));
            let status = ordo([&["merge", "-o", &joined], &strs(&files)[..]].concat()).status;
            assert_eq!(status.code(), whole.status.code(), "{line}");
            let this = (whole.stdout, std::fs::read(&joined).unwrap());
            let first = first.get_or_insert_with(|| this.clone());
            assert!(*first == this, "{line}: shards of {of} are another whole");
        }
    }
}

#[test]
fn what_is_lost_is_named_and_what_came_twice_is_no_harm() {
    let (scratch, line) = (Scratch::new(), SWEEPS[0]);
    let files = shards(&scratch, line, 3);
    let whole = merge(1, &strs(&files));
    assert_eq!((&whole["merged"]["complete"], &whole["merged"]["units"]), (&true.into(), &8.into()));
    assert!(whole["distinct"].as_u64().unwrap() > 10 && whole["violations_total"].as_u64().unwrap() > 0);
    // The same again, in another division.
    let again = shards(&scratch, line, 2);
    let both = merge(1, &[&strs(&files)[..], &strs(&again)].concat());
    assert_eq!(both, whole);
    // A shard is lost, and another is cut in its last unit.
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let kept: Vec<&str> = text.lines().collect();
    let torn = format!("{}\n{}", kept[..kept.len() - 2].join("\n"), &kept[kept.len() - 2][..40]);
    std::fs::write(&files[0], torn).unwrap();
    let some = merge(1, &[&files[0], &files[1]]);
    assert_eq!(some["merged"]["shards_missing"], serde_json::json!(["3/3"]));
    assert_eq!(some["merged"]["units_missing"], serde_json::json!({ "1/3": [6], "3/3": [2, 5] }));
    // The same command does what is missing, and then nothing.
    sweep(line, &["--shard", "1/3", "--jsonl", &files[0]]);
    assert_eq!(merge(1, &strs(&files)), whole);
    let before = std::fs::read(&files[0]).unwrap();
    sweep(line, &["--shard", "1/3", "--jsonl", &files[0]]);
    assert_eq!(std::fs::read(&files[0]).unwrap(), before);
}

#[test]
fn a_missing_unit_alone_has_an_exit_status_of_its_own() {
    let scratch = Scratch::new();
    let line = "crash --workload create --scheme sync --states 20 --disk honest";
    let files = shards(&scratch, line, 2);
    merge(0, &strs(&files));
    merge(4, &[&files[1]]);
    let said = String::from_utf8(ordo(["merge", &files[1]]).stdout).unwrap();
    assert!(said.contains("missing of shard 1/2, all of it: units 0, 2\nincomplete"), "{said}");
    // A directory, with a file of a worker that was killed before it wrote anything.
    let folder = scratch.path("folder");
    std::fs::create_dir(&folder).unwrap();
    for (number, file) in files.iter().enumerate() {
        std::fs::copy(file, format!("{folder}/{number}.jsonl")).unwrap();
    }
    std::fs::write(format!("{folder}/killed.jsonl"), "").unwrap();
    let said = ok(ordo(["merge", &folder]));
    assert!(said.ends_with("complete\n"), "{said}");
}

#[test]
fn different_results_of_one_unit_contradict() {
    let scratch = Scratch::new();
    let line = "crash --workload create --scheme sync --states 20";
    let file = shards(&scratch, line, 1).remove(0);
    let other = scratch.path("other.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to) in [("\"leaks_only\":false", "\"leaks_only\":true"), ("\"violations\":", "\"violations\":9")] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed);
        // A line that has become another one is damaged.
        std::fs::write(&other, &changed).unwrap();
        assert!(fails(3, ordo(["merge", &file, &other])).contains("line 2: unit 0 is damaged"));
        std::fs::write(&other, with_hash(&changed)).unwrap();
        let found = merge(1, &[&file, &other]);
        assert_eq!(found["merged"]["contradictions"][0]["unit"], 0, "{to}");
        assert_eq!(found, {
            let mut turned = merge(1, &[&other, &file]);
            turned["merged"]["contradictions"] = found["merged"]["contradictions"].clone();
            turned
        });
    }
}

/// The file with the right hash in its second line.
fn with_hash(file: &str) -> String {
    let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
    let told: Value = serde_json::from_str(&lines[1]).unwrap();
    let (_, after) = lines[1].split_once("\"result\":").unwrap();
    let (result, _) = after.split_once(",\"hash\":").unwrap();
    let name = told["name"].as_str().unwrap();
    let hash = xxh3_128(format!("{} {} {name} {result}", told["unit"], told["violations"]).as_bytes());
    lines[1] = lines[1].replacen(told["hash"].as_str().unwrap(), &format!("{hash:032x}"), 1);
    lines.join("\n") + "\n"
}

#[test]
fn other_sweeps_seeds_and_programs_are_refused_and_both_are_named() {
    let scratch = Scratch::new();
    let line = "crash --workload create --scheme sync --states 20";
    let (one, two) = (scratch.path("one.jsonl"), scratch.path("two.jsonl"));
    sweep(line, &["--jsonl", &one]);
    sweep(line, &["--jsonl", &two, "--seed", "5"]);
    let said = fails(3, ordo(["merge", &one, &two]));
    assert!(said.contains("one.jsonl") && said.contains("two.jsonl") && said.contains("the seed is 5"), "{said}");
    let said = fails(3, ordo(line.split(' ').chain(["--jsonl", &one, "--seed", "5"])));
    assert!(said.contains("one.jsonl") && said.contains("the seed"), "{said}");
    for (from, to, named) in
        [("\"ordo\":\"", "\"ordo\":\"9", "the version of ordo"), ("\"program\":\"", "\"program\":\"0", "the program")]
    {
        let text = std::fs::read_to_string(&one).unwrap();
        std::fs::write(&two, text.replacen(from, to, 1)).unwrap();
        let said = fails(3, ordo(["merge", &one, &two]));
        assert!(said.contains(named), "{said}");
    }
    std::fs::write(&two, "{\"states\": 5}\n").unwrap();
    assert!(fails(3, ordo(["merge", &two])).contains("no file of a sweep"));
    let text = std::fs::read_to_string(&one).unwrap();
    std::fs::write(&two, text.replacen("{\"unit\"", "{\"nuit\"", 1)).unwrap();
    assert!(fails(3, ordo(["merge", &two])).contains("line 2"), "a wrong line that no head follows");
    fails(2, ordo(["fuzz", "--shard", "1/2"]));
    fails(2, ordo(["bench", "--workload", "postmark", "--jsonl", &two, "--json"]));
}

/// The files of a batch system run the command that they show, with the variables that it sets.
#[test]
fn the_job_files_are_not_stale() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweeps");
    let program = Path::new(crate::PROGRAM).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let scratch = Scratch::new();
    for index in 0..2 {
        let task = (index + 1).to_string();
        let mut slurm = Command::new("bash");
        slurm.arg(folder.join("slurm.sh")).env("SLURM_ARRAY_TASK_ID", &task).env("SLURM_ARRAY_TASK_COUNT", "2");
        slurm.env("SLURM_ARRAY_TASK_MIN", "1").env("SWEEP", "crash --workload create --states 20");
        let job = std::fs::read_to_string(folder.join("kubernetes.yaml")).unwrap();
        let script = job.split("- |\n").nth(1).unwrap();
        let lines = script.lines().take_while(|line| line.starts_with("              "));
        let script: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
        let mut kubernetes = Command::new("sh");
        kubernetes.args(["-euc", &script]).env("JOB_COMPLETION_INDEX", index.to_string()).env("SHARDS", "2");
        kubernetes.env("SWEEP", "crash --workload create --states 20");
        for (name, mut command) in [("slurm", slurm), ("kubernetes", kubernetes)] {
            let out = scratch.path(name);
            std::fs::create_dir_all(&out).unwrap();
            let ran = command.env("PATH", &path).env("OUT", &out).output().unwrap();
            assert!(ran.status.success(), "{name}: {ran:?}");
        }
    }
    for name in ["slurm", "kubernetes"] {
        assert!(ok(ordo(["merge", &scratch.path(name)])).ends_with("complete\n"));
    }
}

#[test]
fn wrong_shards_and_sweeps_without_end_are_wrong_usage() {
    let scratch = Scratch::new();
    let file = scratch.path("one.jsonl");
    for shard in ["0/0", "0/4", "5/4", "1/0", "-1/4", "1", "1/4/2", "1/4294967296", "1/1048577"] {
        let shard = format!("--shard={shard}");
        let said = fails(2, ordo(["crash", "--workload", "create", "--jsonl", &file, &shard]));
        assert!(said.contains("is not a shard; write 2/8"), "{shard}: {said}");
    }
    for line in [
        "crash --workload random --sample 18446744073709551615",
        "crash --workload create --states 18446744073709551615",
        "fuzz --images 18446744073709551615",
        "bench --workload postmark --runs 4294967295",
    ] {
        fails(2, ordo(line.split(' ').chain(["--jsonl", &file])));
        assert!(!Path::new(&file).exists(), "{line}");
    }
    // The most shards: nearly all of them have nothing to do.
    sweep("crash --workload create --states 20", &["--shard", "1048576/1048576", "--jsonl", &file]);
    let lost = merge(4, &[&file]);
    assert_eq!(lost["merged"]["shards_missing"], serde_json::json!(["1/1048576"]));
}

#[test]
fn more_files_are_joined_than_a_process_may_have_open() {
    let (scratch, line) = (Scratch::new(), "fuzz --images 2");
    let folder = scratch.path("out");
    std::fs::create_dir(&folder).unwrap();
    for shard in 1..=80 {
        sweep(line, &["--shard", &format!("{shard}/80"), "--jsonl", &format!("{folder}/{shard}.jsonl")]);
    }
    let limited = format!("ulimit -n 40; exec {} merge {folder}", crate::PROGRAM);
    let merged = Command::new("sh").args(["-c", &limited]).output().unwrap();
    assert!(String::from_utf8_lossy(&merged.stdout).ends_with("complete\n"), "{merged:?}");
}
