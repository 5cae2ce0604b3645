//! Traces that were recorded on mounts of our own: see `traces/README.md`.

use crate::trace::{Trace, TraceError, read};
use flate2::read::GzDecoder;
use std::io::Read;

/// Their names.
pub const NAMES: [&str; 3] = ["source-build", "pgbench", "git-clone"];

/// The file trace of that name, as text.
pub fn text(name: &str) -> Option<String> {
    let packed: &[u8] = match name {
        "source-build" => include_bytes!("../traces/source-build.trace.gz"),
        "pgbench" => include_bytes!("../traces/pgbench.trace.gz"),
        "git-clone" => include_bytes!("../traces/git-clone.trace.gz"),
        _ => return None,
    };
    let mut text = String::new();
    // They are part of the program, and a test reads them.
    GzDecoder::new(packed).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The trace of that name.
pub fn named(name: &str) -> Option<Result<Trace, TraceError>> {
    text(name).map(|text| read(name, &text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Setting, System, run};

    #[test]
    fn each_can_be_read_and_is_what_it_is_said_to_be() {
        for (name, writes) in [("source-build", 0.1..0.9), ("pgbench", 0.5..1.0), ("git-clone", 0.5..1.0)] {
            let trace = named(name).unwrap().unwrap();
            assert!(trace.requests.len() > 1500, "{name}: {}", trace.requests.len());
            assert!(trace.requests.windows(2).all(|two| two[0].at_ms <= two[1].at_ms), "{name}");
            assert!(writes.contains(&trace.about().writes), "{name}: {}", trace.about().writes);
        }
        assert!(named("nothing").is_none());
    }

    #[test]
    fn they_are_played_on_every_system() {
        let trace = named("source-build").unwrap().unwrap();
        let reads = trace.requests.iter().filter(|request| request.op == Op::Read).count();
        for system in System::ALL {
            let played = run(system, &trace, &Setting::default()).unwrap();
            assert!(played.requests == trace.requests.len() && reads > 0 && played.work.reads > 0, "{}", system.name());
        }
    }
}
