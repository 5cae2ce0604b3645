//! Judges every claim of the paper by what the simulator and the engine gave. Some are queries of the results; what
//! needs more is computed here.
//!
//! C1. A number over sizes of memory is compared with the geometric mean over ours.
//! C2. `ext3` alone is its ordered mode. A response is the mean over all requests, those that memory answers included.
//! C3. Claims about a trace are judged on our synthetic stand-in. That shows only that the stand-in has the property.
//! C4. A bin of Table II is judged by the ratio of the two systems: a trace of another length has other counts.
//! C5. "Nearly every" bin is all but one in seven.

use super::engine::Engine;
use super::experiments::{POINT_MB, Results, SHORT, TABLE2_MB, TIMERS_MS, Variant};
use super::tables::{bins, printed_bins};
use super::thresholds::Thresholds;
use crate::paper::claims::{Claim, claims_of};
use crate::paper::judge::{Judged, not_judged, number, order, short, untested};
use crate::paper::query::{Measured, answer};
use ordo_report::results::Verdict;
use ordo_sim::{Mode, Outcome, System};

const EXT3: System = System::Ext3(Mode::Ordered);
const SEQUENTIAL: [&str; 3] = ["cscope", "gcc", "viewperf"];

/// Every claim, in the order of the file. Those about crashes are judged later, by [`super::judge`].
pub(super) fn verdicts(results: &Results, thresholds: &Thresholds, engine: &Engine) -> Vec<Verdict> {
    claims_of("aj").iter().map(|claim| Bench { results, thresholds, engine, claim }.verdict()).collect()
}

/// A claim, and the data to judge it by.
struct Bench<'a> {
    results: &'a Results,
    thresholds: &'a Thresholds,
    engine: &'a Engine,
    claim: &'a Claim,
}

/// The system that a claim names.
fn system(key: &str) -> Option<System> {
    match key {
        "aj" => Some(System::Active),
        "aj-virtual" => Some(System::ActiveVirtual),
        "lfs-sim" => Some(System::Lfs),
        "ext3-ordered" => Some(EXT3),
        other => System::named(other),
    }
}

impl Bench<'_> {
    fn verdict(&self) -> Verdict {
        let claim = self.claim;
        if let Some(why) = not_judged(claim) {
            return untested(claim, why);
        }
        match self.judged() {
            Some(judged) => judged.verdict(claim),
            None => untested(claim, self.not_yet()),
        }
    }

    fn id(&self) -> &str {
        self.claim.id.strip_prefix("aj.").unwrap_or(&self.claim.id)
    }

    fn not_yet(&self) -> &'static str {
        match self.id() {
            "t2.time.0" => {
                "what the print's first bin of time holds is not known: it has no movement, and 7096 of no cylinder"
            }
            "s4.tpcr_requests" => "the number of requests of a trace that is not printed",
            "s4.sim_loc" => "the size of the authors' program",
            "s3.random_free" | "s3.bitmap_mem" => "the simulator has no allocation tables (nor has the paper's)",
            id if id.starts_with("s5") => "about a system that is not here",
            _ => match self.claim.cls.as_str() {
                "semantics" => "what a crash or a damaged block leaves: a question for a volume, not for a simulator",
                "param" => "a number of other systems",
                _ => "a property of the design, not a number of a run",
            },
        }
    }

    fn judged(&self) -> Option<Judged> {
        let claim = self.claim;
        if !claim.query.is_empty() {
            return answer(claim, self);
        }
        match self.id() {
            "s2.commit_timer" | "s2.compound_window" => self.interval(),
            "s2.compound" => self.compound(),
            "s2.short_timer_bad" => self.timers(),
            "s3.checkpoint_delay" => self.forced(),
            "s4.immediate" => self.written_alike(),
            "s4.fewer_seeks" => self.fewer_seeks(),
            "s4.viewperf_99" => self.consecutive("viewperf"),
            "s4.tpcr_3" => self.consecutive("tpc-r"),
            "s4.nonseq_common" => self.moved(),
            "s4.cscope_saving" => self.saving("cscope"),
            // An order of traces, where a query orders systems.
            "s4.multi_less" | "s4.gain_random_over_seq" => order(claim, |trace| self.gain(trace)),
            "s5.partition_position" => self.partition(),
            "s2.latest_wins" | "s3.self_heal" | "s3.passive_no_heal" | "s3.recovery_vmap" | "s3.upgradable" => {
                self.by_the_engine()
            }
            "s3.versions" => Some(self.versions()),
            id => self.table2(id.strip_prefix("t2.")?),
        }
    }

    fn number(&self, name: &str, value: f64) -> Judged {
        number(self.claim, &[(name.to_owned(), value)])
    }

    fn yes_or_no(&self, holds: bool, ours: String, why: &str) -> Option<Judged> {
        let expected = self.claim.text("feature").unwrap_or(&self.claim.statement).to_owned();
        Some(Judged { holds, expected, ours, why: why.to_owned() })
    }

    fn response(&self, key: &str, trace: &str) -> Option<f64> {
        self.results.response(system(key)?, trace)
    }

    /// What active journaling takes off the response on a trace.
    fn gain(&self, trace: &str) -> Option<f64> {
        let trace = trace.trim_start_matches("trace.");
        Some(1.0 - self.response("aj", trace)? / self.response("ext3", trace)?)
    }

    fn at(&self, system: System, trace: &str, variant: Variant) -> Option<&Outcome> {
        self.results.varied(system, trace, TABLE2_MB, variant)
    }

    /// A ratio, shown with its two counts.
    fn table2(&self, what: &str) -> Option<Judged> {
        let (ext3, aj) = (bins(self.results, EXT3)?, bins(self.results, System::Active)?);
        let sum = |bins: &[u64; 14]| bins[..7].iter().sum::<u64>();
        let (a, b) = match what {
            "time_total" | "dist_total" => (sum(&aj), sum(&ext3)),
            "long_seeks" => (aj[13], ext3[13]),
            "time.0" => return None,
            _ => {
                let (half, bin) = what.split_once('.')?;
                let half = if half == "time" { "seek_time" } else { "seek_distance" };
                let bin = bin.replace("lt", "<").replace("gt", ">");
                let at = printed_bins().iter().position(|(name, ..)| *name == format!("{half} {bin}"))?;
                (aj[at], ext3[at])
            }
        };
        let mut judged = self.number("aj over ext3", a as f64 / b as f64);
        judged.ours = format!("{} ({a} over {b})", judged.ours);
        Some(judged)
    }

    /// A number, whose rule says that it is the shortest of the run.
    fn interval(&self) -> Option<Judged> {
        let work = self.results.of(EXT3, "gcc", TABLE2_MB)?.work;
        let mut judged = self.number("between two commits", work.shortest_interval_ms / 1e3);
        judged.why = format!("{}; the shortest interval of the run", judged.why);
        Some(judged)
    }

    /// Yes or no, by two counts of a system.
    fn compound(&self) -> Option<Judged> {
        let work = self.results.of(EXT3, "gcc", TABLE2_MB)?.work;
        self.yes_or_no(
            work.journaled < work.updates,
            format!("{} blocks journaled for {} changes", work.journaled, work.updates),
            "fewer blocks are journaled than changed",
        )
    }

    /// Responses with a longer timer are shorter, one after the other (paper-judge-3).
    fn timers(&self) -> Option<Judged> {
        let mut responses = Vec::new();
        for ms in TIMERS_MS {
            responses.push(self.at(EXT3, "gcc", Variant::Timer(ms))?.mean_response_ms);
        }
        responses.push(self.results.of(EXT3, "gcc", TABLE2_MB)?.mean_response_ms);
        let falls = responses.windows(2).all(|two| two[1] <= two[0] * 1.05);
        let falls = falls && responses.last() < responses.first();
        let timers = TIMERS_MS.iter().map(|ms| f64::from(*ms) / 1e3).chain([5.0]);
        let shown = timers.zip(&responses).map(|(s, ms)| format!("{s} s: {} ms", short(*ms)));
        self.yes_or_no(falls, shown.collect::<Vec<_>>().join(", "), "gcc's response falls as the timer grows")
    }

    /// Yes or no, by three runs with less and less free space.
    fn forced(&self) -> Option<Judged> {
        let forced = |variant| Some(self.at(System::ActiveVirtual, "cscope", variant)?.work.forced);
        let (roomy, less) = (forced(Variant::Usual)?, forced(Variant::Full(985))?);
        let short = forced(Variant::Full(SHORT))?;
        self.yes_or_no(
            roomy == 0 && less == 0 && short > 0,
            format!(
                "{roomy} blocks forced home with a tenth of the disk free, {less} with 1.5 per cent, {short} with \
                 half a per cent"
            ),
            "aj-virtual on cscope",
        )
    }

    /// Yes or no, by a ratio.
    fn written_alike(&self) -> Option<Judged> {
        let written = |system| Some(self.results.of(system, "gcc", TABLE2_MB)?.work.blocks_written as f64);
        let ratio = written(System::Active)? / written(EXT3)?;
        self.yes_or_no(
            (ratio - 1.0).abs() <= 0.05,
            format!("aj writes {} times the blocks of ext3", short(ratio)),
            "aj gains nothing from fewer writes: the same within 5 per cent, on gcc",
        )
    }

    /// Yes or no, by how many bins have fewer (C5).
    fn fewer_seeks(&self) -> Option<Judged> {
        let (ext3, aj) = (bins(self.results, EXT3)?, bins(self.results, System::Active)?);
        let fewer = aj.iter().zip(&ext3).skip(1).filter(|(aj, ext3)| aj <= ext3).count();
        self.yes_or_no(fewer >= 12, format!("in {fewer} of 13 bins"), "at least 12, as in the print")
    }

    /// Yes or no, by the part of the movements that leave the cylinder.
    fn moved(&self) -> Option<Judged> {
        let moved = SEQUENTIAL.map(|trace| {
            let seeks = self.results.of(EXT3, trace, TABLE2_MB)?.seeks;
            Some(1.0 - seeks.distance_cylinders.zero as f64 / seeks.all() as f64)
        });
        let moved = moved.into_iter().collect::<Option<Vec<f64>>>()?;
        let shown = SEQUENTIAL.iter().zip(&moved).map(|(trace, part)| format!("{trace} {}", short(*part)));
        self.yes_or_no(
            moved.iter().all(|part| *part > 0.1),
            shown.collect::<Vec<_>>().join(", "),
            "more than a tenth of the movements of ext3's arm leave the cylinder, on each",
        )
    }

    /// A difference of two systems, where a query divides.
    fn saving(&self, trace: &str) -> Option<Judged> {
        Some(self.number("seconds", (self.response("ext3", trace)? - self.response("aj", trace)?) / 1e3))
    }

    /// A share, which the claim gives as a part and not as a value.
    fn consecutive(&self, trace: &str) -> Option<Judged> {
        let (ours, part) = (self.results.about(trace)?.consecutive, self.claim.number("part")?);
        Some(Judged {
            holds: (ours - part).abs() <= part * 0.2,
            expected: short(part),
            ours: short(ours),
            why: "within 20 per cent of the print; the trace was made to be so (C3)".to_owned(),
        })
    }

    /// hFS writes its log in the middle, DualFS behind the data: where tpc-r, which only reads, makes them write.
    fn partition(&self) -> Option<Judged> {
        let place = |system| Some(self.results.of(system, "tpc-r", POINT_MB)?.work.mean_place);
        let (hfs, dualfs) = (place(System::Hfs)?, place(System::DualFs)?);
        self.yes_or_no(
            (0.45..0.55).contains(&hfs) && !(0.45..0.55).contains(&dualfs),
            format!("hfs writes at {} of the disk, dualfs at {}", short(hfs), short(dualfs)),
            "a trace that only reads makes them write metadata alone",
        )
    }
}

impl Bench<'_> {
    /// Yes or no, as a volume of ours has shown.
    fn by_the_engine(&self) -> Option<Judged> {
        let &Engine { damaged, healed, unnoticed, switched, newest_wins, home_at_recovery, .. } = self.engine;
        let (holds, ours, why) = match self.id() {
            "s2.latest_wins" => (
                newest_wins,
                if newest_wins { "the newest is there" } else { "an older one is there" }.to_owned(),
                "block-journal, a file written over and synced, again and again, then a power cut",
            ),
            "s3.self_heal" => (
                healed == damaged,
                format!("{healed} of {damaged} damaged fragments are read right, and right at home then"),
                "active, one home after the other is damaged",
            ),
            "s3.passive_no_heal" => (
                unnoticed == damaged,
                format!("{unnoticed} of {damaged} damaged fragments are read as they are, without an error"),
                "block-journal, one home after the other is damaged",
            ),
            "s3.recovery_vmap" => (
                !home_at_recovery,
                if home_at_recovery { "contents are written home" } else { "contents stay in their copies" }.to_owned(),
                "active; ours also writes home what only the copies have, so that any system may use the volume",
            ),
            "s3.upgradable" => (
                switched,
                if switched { "the contents stay, both ways" } else { "something is lost" }.to_owned(),
                "block-journal, then active, then block-journal",
            ),
            _ => return None,
        };
        self.yes_or_no(holds, ours, why)
    }

    /// A number, with how often there could be a version.
    fn versions(&self) -> Judged {
        let mut judged = self.number("older versions", self.engine.versions as f64);
        judged.why = format!("{}; ours keeps all that its room holds, up to 16 of a fragment", judged.why);
        judged
    }
}

impl Measured for Bench<'_> {
    /// Of a trace with so many MB of memory; of all sizes, or of the trace itself; or of the learning.
    fn value(&self, step: &str, mb: u32, key: &str, field: &str) -> Option<f64> {
        let found = self.thresholds;
        let (trace, variant) = match (step, field) {
            ("learning", "dock_blocks") => return Some(f64::from(found.dock_blocks)),
            ("learning", "distance_blocks") => return Some(f64::from(found.distance_blocks)),
            ("learning", "gap_ms") => return Some(f64::from(found.gap_ms)),
            ("learning", "copy_cost") => return Some(found.copy_cost),
            (trace, "in_two_areas") => return Some(self.results.about(trace)?.in_two_areas),
            (trace, "response_ms") if mb == 0 => return self.response(key, trace),
            ("cscope, no free space", _) => ("cscope", Variant::Full(1000)),
            (trace, _) => (trace, Variant::Usual),
        };
        let run = self.results.varied(system(key)?, trace, mb, variant)?;
        Some(match field {
            "response_ms" => run.mean_response_ms,
            "perf" => 1.0 / run.mean_response_ms,
            "written" => (run.work.journal_blocks + run.work.checkpoint_blocks) as f64,
            "journaled" => run.work.journaled as f64,
            "checkpoint_blocks" => run.work.checkpoint_blocks as f64,
            "commit_cylinders" => run.work.commit_cylinders as f64,
            "commit_writes" => run.work.commit_writes as f64,
            _ => return None,
        })
    }
}
