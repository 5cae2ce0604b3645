//! The six traces of the paper, made anew.
//!
//! The paper's traces (from Butt, Gniady and Hu) are not printed. What it prints of them is in the head of each file
//! here, and is what the program makes sure of; everything else there is ours, and is called so. A trace is made by a
//! program from a seed, so it is the same on every machine.

mod cscope;
mod gcc;
mod multi;
mod scribe;
mod source;
mod tpcr;
mod viewperf;

use crate::trace::Trace;

/// Their names.
pub const NAMES: [&str; 6] = ["cscope", "gcc", "viewperf", "tpc-r", "multi1", "multi2"];

/// The trace of that name.
pub fn named(name: &str, seed: u64) -> Option<Trace> {
    let made = match name {
        "cscope" => cscope::make(seed),
        "gcc" => gcc::make(seed),
        "viewperf" => viewperf::make(seed, viewperf::ALONE),
        "tpc-r" => tpcr::make(seed),
        "multi1" => multi::make("multi1", &[cscope::make(seed), gcc::make(seed)], 0..2),
        "multi2" => {
            multi::make("multi2", &[cscope::make(seed), gcc::make(seed), viewperf::make(seed, viewperf::ALONE)], 0..3)
        }
        _ => return None,
    };
    Some(made)
}

/// The trace of that name on a disk that has the files of all of them: the paper lays it out so (section IV-A). Those
/// of tpc-r have room on its own drive only.
pub fn among_all(name: &str, seed: u64) -> Option<Trace> {
    let mut all = vec![cscope::make(seed), gcc::make(seed), viewperf::make(seed, viewperf::BEHIND)];
    let run = match name {
        "cscope" => 0..1,
        "gcc" => 1..2,
        "viewperf" => 2..3,
        "multi1" => 0..2,
        "multi2" => 0..3,
        "tpc-r" => {
            all.push(tpcr::make(seed));
            3..4
        }
        _ => return None,
    };
    Some(multi::make(name, &all, run))
}

#[cfg(test)]
mod tests {
    use super::scribe::CHEETAH;
    use super::*;
    use crate::trace::Contents;

    #[test]
    fn a_seed_makes_the_same_trace_and_another_seed_another() {
        for name in NAMES {
            assert_eq!(named(name, 1), named(name, 1), "{name}");
            assert_ne!(named(name, 1).unwrap().requests, named(name, 2).unwrap().requests, "{name}");
        }
        assert!(named("nothing", 1).is_none());
    }

    #[test]
    fn the_traces_are_what_the_paper_says_of_them() {
        let about = |name| named(name, 1).unwrap().about();
        assert!(about("cscope").in_two_areas >= 0.98 && about("cscope").in_two_areas < 1.0);
        assert!(about("viewperf").consecutive >= 0.985 && about("viewperf").consecutive < 1.0);
        assert!((0.02..=0.04).contains(&about("tpc-r").consecutive));
        assert_eq!(about("tpc-r").drive, CHEETAH);
        assert!(NAMES.iter().all(|name| about(name).requests >= 20_000));
        assert_eq!(about("multi1").requests, about("cscope").requests + about("gcc").requests);
    }

    #[test]
    fn among_all_a_trace_asks_the_same_on_a_disk_with_the_files_of_all() {
        let files = |trace: &Trace| match &trace.contents {
            Contents::Files(files) => files.clone(),
            Contents::Device(_) => panic!("{}", trace.name),
        };
        let singles = ["cscope", "gcc", "viewperf", "tpc-r"].map(|name| files(&named(name, 1).unwrap()).files.len());
        let all = |name: &str| if name == "tpc-r" { singles.iter().sum() } else { singles[..3].iter().sum::<usize>() };
        for name in NAMES {
            let (own, among) = (named(name, 1).unwrap(), among_all(name, 1).unwrap());
            let (of_own, of_all) = (files(&own), files(&among));
            assert_eq!((of_all.files.len(), among.drive), (all(name), own.drive), "{name}");
            assert_eq!(among.requests.len(), own.requests.len(), "{name}");
            for (a, b) in own.requests.iter().zip(&among.requests) {
                assert_eq!((a.at_ms, a.op, a.first, a.blocks), (b.at_ms, b.op, b.first, b.blocks), "{name}");
                let (a, b) = (of_own.files[a.file as usize], of_all.files[b.file as usize]);
                assert_eq!((a.blocks, a.new), (b.blocks, b.new), "{name}");
            }
        }
        assert!(among_all("nothing", 1).is_none());
    }

    #[test]
    fn among_all_nothing_lies_behind_what_viewperf_reads() {
        let trace = among_all("viewperf", 1).unwrap();
        let Contents::Files(files) = &trace.contents else { panic!("{}", trace.name) };
        let places: Vec<f64> = trace
            .requests
            .iter()
            .map(|r| files.directories[files.files[r.file as usize].directory as usize].place)
            .collect();
        let first = places.iter().copied().fold(1.0, f64::min);
        let others = files.directories.iter().filter(|directory| !places.contains(&directory.place));
        assert!(others.map(|directory| directory.place).all(|place| place < first && place < 1.0));
    }

    #[test]
    fn times_do_not_decrease_and_requests_lie_in_their_files() {
        for trace in NAMES.map(|name| named(name, 3).unwrap()) {
            let Contents::Files(files) = &trace.contents else { panic!("{}", trace.name) };
            assert!(trace.requests.windows(2).all(|two| two[0].at_ms <= two[1].at_ms), "{}", trace.name);
            assert!(trace.requests.iter().all(|r| r.first + r.blocks <= files.files[r.file as usize].blocks));
        }
    }
}
