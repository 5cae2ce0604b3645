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
        "viewperf" => viewperf::make(seed),
        "tpc-r" => tpcr::make(seed),
        "multi1" => multi::make("multi1", &[cscope::make(seed), gcc::make(seed)]),
        "multi2" => multi::make("multi2", &[cscope::make(seed), gcc::make(seed), viewperf::make(seed)]),
        _ => return None,
    };
    Some(made)
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
    fn times_do_not_decrease_and_requests_lie_in_their_files() {
        for trace in NAMES.map(|name| named(name, 3).unwrap()) {
            let Contents::Files(files) = &trace.contents else { panic!("{}", trace.name) };
            assert!(trace.requests.windows(2).all(|two| two[0].at_ms <= two[1].at_ms), "{}", trace.name);
            assert!(trace.requests.iter().all(|r| r.first + r.blocks <= files.files[r.file as usize].blocks));
        }
    }
}
