//! Judges every claim of the paper. Most are queries of the results; what needs more is computed here.
//!
//! C1. "Small" files have less than a cluster of 64 KB, "large" ones 1 MB and more. A printed ratio of two systems is
//!     compared with the geometric mean over the sizes that the claim names; a share of the bandwidth, with that of the
//!     largest files.
//! C2. `ffs-m8r*` stands for both settings: a claim about it must hold for each.
//! C3. Sprite's systems are scaled as the paper scales them (Table 2 and section 2): creates and deletes of the log by
//!     2.5, those of the other by 1.2; small reads, sequential passes and what a log writes at random by 1.8; other
//!     random passes by 1.2.
//! C4. A share of the bandwidth is of 2.5 MB/s, and of 1.4 MB/s for Sprite's disk (Table 2).
//! C5. Of the aging study a claim about "most" or a "typical" volume is judged by the median; one about active volumes
//!     in general, by the mean of each server.
//! C6. A claim about the closed model of TPC-B is judged by the model's formula with this machine's prices, and by what
//!     was simulated ([`super::model`]).

use super::aging::{AGES, Aged, DATES};
use super::experiments::{FULL, KIB, Phase, REPEATED, Results, Work};
use super::model;
use super::systems::{M1R2, M8R0, M8R2, SPRITE, SUN};
use crate::paper::claims::{Claim, claims_of};
use crate::paper::judge::{Judged, not_judged, number, order, short, untested};
use crate::paper::query::{Measured, answer};
use ordo_report::results::Verdict;
use ordofs::Placement;

/// MB/s of the disks (Table 2).
const BANDWIDTH: f64 = 2.5;
const BANDWIDTH_SPRITE: f64 = 1.4;

/// The largest size.
const LARGEST: u32 = 4096;

/// Every claim, in the order of the file.
pub(super) fn verdicts(results: &Results, aged: &Aged) -> Vec<Verdict> {
    claims_of("lvc1995").iter().map(|claim| Bench { results, aged, claim }.verdict()).collect()
}

/// A claim, and the data to judge it by.
struct Bench<'a> {
    results: &'a Results,
    aged: &'a Aged,
    claim: &'a Claim,
}

type Rate = fn(&Phase) -> f64;
const MB_S: Rate = |phase| phase.mb_s;
const FILES: Rate = |phase| phase.rate;

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
        self.claim.id.strip_prefix("lvc1995.").unwrap_or(&self.claim.id)
    }

    fn not_yet(&self) -> &'static str {
        match self.claim.cls.as_str() {
            "semantics" => "what a crash leaves: a question for ordo crash, not for a run of a workload",
            "param" => "a number of the authors' machines",
            "measured" => "nothing was measured for it",
            _ => "a property of the design, not a number of a run",
        }
    }

    fn judged(&self) -> Option<Judged> {
        let claim = self.claim;
        if !claim.query.is_empty() {
            return answer(claim, self);
        }
        match self.id() {
            "f3.create_series" => self.series(&[(1, 10.0), (2, 4.0), (32, 2.0), (512, 1.0)]),
            "f5.crossover_256" => self.crossover(),
            "f5.closer_than_create" => order(claim, |step| self.mean_lead(step.strip_prefix("seq.").unwrap_or(step))),
            "s3.conf_1pct" | "s4.std" => Some(number(claim, &[self.results.most_varied(REPEATED)?])),
            id if id.starts_with("s4.") => self.of_tpcb(id),
            id if id.starts_with("f8.") || id.starts_with("s5.") || id.contains("frag") || id == "abs.ffs_age" => {
                self.of_age(id)
            }
            id if ["s2.", "f1.", "t2."].iter().any(|head| id.starts_with(head)) => self.of_validation(id),
            "f3.lost_rotation_m8r0" => {
                let lost = |system: &str| Some((system.to_owned(), self.lost_turns(system)?));
                Some(number(claim, &[lost("bsd-lfs")?, lost("ffs-m8r0")?]))
            }
            "f3.lost_rotation_m8r2" => Some(number(claim, &[("ffs-m8r2".into(), self.lost_turns("ffs-m8r2")?)])),
            _ => None,
        }
    }

    /// A number of one step with files of a size.
    fn files(&self, step: &str, kib: u32, system: &str, what: Rate) -> Option<f64> {
        Some(what(self.results.phase(Work::files(step, kib), system, step)?))
    }

    /// The geometric mean over all sizes of the log over FFS.
    fn mean_lead(&self, step: &str) -> Option<f64> {
        let lead =
            |kib: u32| Some((self.files(step, kib, "bsd-lfs", FILES)? / self.files(step, kib, M8R0.key, FILES)?).ln());
        let logs: Vec<f64> = KIB.into_iter().map(lead).collect::<Option<_>>()?;
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    fn series(&self, points: &[(u32, f64)]) -> Option<Judged> {
        let (mut holds, mut ours) = (true, Vec::new());
        for (kib, printed) in points {
            for ffs in [M8R0.key, M8R2.key] {
                let lead = self.files("create", *kib, "bsd-lfs", FILES)? / self.files("create", *kib, ffs, FILES)?;
                holds &= (lead - printed).abs() <= 0.2 * printed;
                ours.push(format!("{kib} KB {ffs} {}", short(lead)));
            }
        }
        let expected = points.iter().map(|(kib, lead)| format!("{kib} KB {lead}")).collect::<Vec<_>>().join(", ");
        Some(Judged { holds, expected, ours: ours.join(", "), why: "each within 20 per cent of the print".to_owned() })
    }

    fn crossover(&self) -> Option<Judged> {
        let (mut holds, mut ours) = (true, Vec::new());
        for kib in KIB {
            let (lfs, ffs) = (self.files("write", kib, "bsd-lfs", MB_S)?, self.files("write", kib, M8R2.key, MB_S)?);
            holds &= if kib <= 256 { lfs >= 0.95 * ffs } else { ffs >= 0.95 * lfs };
            ours.push(format!("{kib} KB {}", short(lfs / ffs)));
        }
        let expected = "bsd-lfs ahead up to 256 KB, ffs-m8r2 beyond".to_owned();
        Some(Judged { holds, expected, ours: ours.join(", "), why: "or within 5 per cent".to_owned() })
    }

    /// Turns that are lost between two transfers of 64 KB, with the largest files.
    fn lost_turns(&self, system: &str) -> Option<f64> {
        let (transfer, turn, media) = (f64::from(64 << 10), 1.0 / 90.0, 57.0 * 512.0 * 90.0);
        let rate = self.files("create", LARGEST, system, MB_S)? * 1e6;
        Some((transfer / rate - transfer / media) / turn)
    }

    /// Sections 2.1 and 2.2.
    fn of_validation(&self, id: &str) -> Option<Judged> {
        let claim = self.claim;
        let small = |system: &str, step: &str| self.results.phase(Work::Small, system, step);
        match id {
            "t2.cpu_scale" => Some(number(claim, &[("SPECint92".into(), 21.8 / 8.7)])),
            "t2.bw_scale" => Some(number(claim, &[("MB/s".into(), BANDWIDTH / BANDWIDTH_SPRITE)])),
            "s2.ffs_cpu" => {
                let mut shares = Vec::new();
                for system in [M1R2.key, M8R2.key] {
                    for step in ["create", "delete"] {
                        // The print has whole per cents.
                        shares.push((format!("{system} {step}"), (small(system, step)?.cpu * 100.0).round() / 100.0));
                    }
                }
                Some(number(claim, &shares))
            }
            "f1.sprite_delete_odd" => {
                order(claim, |name| self.value(name.strip_prefix("sprite-lfs ")?, 0, SPRITE.key, "small"))
            }
            "f1.delete_writes" => {
                let phase = small("bsd-lfs", "delete")?;
                Some(Judged {
                    holds: phase.writes <= 0.01 * phase.ops,
                    expected: "a write for a hundred files at most".to_owned(),
                    ours: format!("{} reads and {} writes for {} files", phase.reads, phase.writes, phase.ops),
                    why: "counted at the drive".to_owned(),
                })
            }
            _ => None,
        }
    }

    /// Section 5.
    fn of_age(&self, id: &str) -> Option<Judged> {
        if self.aged.tests.is_empty() {
            return None;
        }
        self.of_figure_8(id).or_else(|| self.of_aged_files(id))
    }

    fn of_figure_8(&self, id: &str) -> Option<Judged> {
        let (claim, aged) = (self.claim, self.aged);
        let of_server = |server: &str| aged.of(|test| test.0 == server);
        let of_size = |kib: u32| aged.of(|test| test.2 == kib);
        let named = |name: &str, value: f64| Some(number(claim, &[(name.to_owned(), value)]));
        match id {
            "abs.ffs_age" => {
                let means: Vec<_> = AGES.iter().map(|(name, _)| ((*name).to_owned(), mean(&of_server(name)))).collect();
                Some(number(claim, &means))
            }
            "f8.most_85_90" => named("median", median(aged.of(|_| true))),
            "f8.n_tests" => named("tests", aged.tests.len() as f64),
            "f8.cnews_jan" if aged.of(|test| test.0 == "cnews" && test.1 == 1).is_empty() => None,
            "f8.cnews_jan" => {
                named("tests", count(&aged.of(|test| test.0 == "cnews" && test.1 == 1), &|share| share < 0.8))
            }
            "f8.cnews_worst" => {
                named("64 KB create", least(&aged.of(|test| test.0 == "cnews" && test.2 == 64 && test.3 == "create")))
            }
            "f8.cnews_frag_free" => {
                let january = aged.volumes.get(&("cnews", 1))?;
                named("January", january.free_frags as f64 / january.data_frags as f64)
            }
            "f8.glan5" => named("tests", count(&of_server("glan5"), &|share| share >= 0.95)),
            "f8.glan5_april" => named("April", *aged.of(|test| *test == ("glan5", 2, 8, "create")).first()?),
            "f8.glan5_best" => order(claim, |server| Some(mean(&of_server(server)))),
            "f8.util_inverse" => {
                let mut sum = 0.0;
                for (server, _) in AGES {
                    for date in 1..DATES {
                        let used = aged.in_use(server, date)? - aged.in_use(server, date - 1)?;
                        let of = |date: usize| mean(&aged.of(|test| test.0 == server && test.1 == date));
                        sum += used * (of(date) - of(date - 1));
                    }
                }
                yes(sum < 0.0, "more in use, less throughput", format!("the sum of products is {sum:.4}"))
            }
            "f8.lt80_only_oldest" => {
                let below: Vec<&str> =
                    AGES.iter().map(|(name, _)| *name).filter(|name| least(&of_server(name)) < 0.8).collect();
                yes(below == ["cnews", "staff"], "cnews, staff", below.join(", "))
            }
            "f8.age_inconclusive" => {
                let points: Vec<(f64, f64)> = AGES.iter().map(|(name, age)| (*age, mean(&of_server(name)))).collect();
                let r = correlation(&points);
                yes(r.abs() < 0.7, "a correlation of less than 0.7", format!("{r:.2}"))
            }
            "f8.1024k" => named("tests", count(&of_size(1024), &|share| share < 0.85)),
            "f8.8k" => {
                let shares = aged.of(|test| test.2 == 8 && (test.0 != "cnews" || test.1 != 1));
                named("tests", count(&shares, &|share| share < 0.85))
            }
            "f8.64k_lt85" => named("tests", count(&of_size(64), &|share| share < 0.85)),
            "f8.64k_gt90" => named("tests", count(&of_size(64), &|share| share > 0.9)),
            "f8.64k_most_sensitive" => order(claim, |size| Some(mean(&of_size(size.strip_suffix('k')?.parse().ok()?)))),
            _ => None,
        }
    }

    /// What the section says of the shares of all tests, and of where the files lie.
    fn of_aged_files(&self, id: &str) -> Option<Judged> {
        let (claim, aged) = (self.claim, self.aged);
        let of_server = |server: &str| aged.of(|test| test.0 == server);
        let of_size = |kib: u32| aged.of(|test| test.2 == kib);
        let named = |name: &str, value: f64| Some(number(claim, &[(name.to_owned(), value)]));
        let parts = |of: fn(&Placement) -> Option<f64>| mean(&aged.volumes.values().filter_map(of).collect::<Vec<_>>());
        match id {
            "s5.max_30" => named("loss", 1.0 - least(&aged.of(|_| true))),
            "s5.large_15" => named("loss", 1.0 - least(&of_size(1024))),
            "s5.large_70pct_95" => {
                let shares = of_size(1024);
                share(claim, count(&shares, &|share| share >= 0.95) / shares.len() as f64)
            }
            "s5.two_block_contig" => share(claim, parts(|placement| placement.two_blocks.share())),
            "s5.32_block_contig" => share(claim, parts(|placement| placement.thirty_two_blocks.share())),
            "s5.small_more_fragmented" => order(claim, |files| match files {
                "two-block files" => Some(1.0 - parts(|placement| placement.two_blocks.share())),
                _ => Some(1.0 - parts(|placement| placement.thirty_two_blocks.share())),
            }),
            "s5.free_at_end" => {
                let half = parts(|placement| placement.free_in_second_half().share());
                yes(half > 0.5, "more than half in the second half of a group", format!("{half:.2}"))
            }
            "concl.frag_15" => named("loss", 1.0 - median(AGES.map(|(name, _)| mean(&of_server(name))).to_vec())),
            "concl.frag_30" => named("loss", 1.0 - least(&of_server("cnews"))),
            _ => None,
        }
    }

    /// Section 4, and what the abstract and the conclusion say of it.
    fn of_tpcb(&self, id: &str) -> Option<Judged> {
        let claim = self.claim;
        let tps = |work: Work, system: &str| Some(self.results.phase(work, system, "transactions")?.rate);
        let fresh = || tps(Work::Fresh, "bsd-lfs");
        let log = |full: u32| tps(Work::Full(full), "bsd-lfs");
        let ffs = |full: u32| tps(Work::Full(full), M8R0.key);
        let [half, ..] = FULL;
        let named = |name: &str, value: Option<f64>| Some(number(claim, &[(name.to_owned(), value?)]));
        let flat = |rates: [Option<f64>; FULL.len()], most: f64| {
            let rates: Vec<f64> = rates.into_iter().collect::<Option<_>>()?;
            let (least, top) = rates.iter().fold((f64::INFINITY, 0.0f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
            Some(Judged {
                holds: top <= least * (1.0 + most),
                expected: format!("within {:.0} per cent", most * 100.0),
                ours: rates.iter().map(|rate| short(*rate)).collect::<Vec<_>>().join(", "),
                why: format!("with the disk {FULL:?} per cent full"),
            })
        };
        match id {
            "s4.ffs_flat" => flat(FULL.map(ffs), 0.1),
            "s4.lfs_flat" => flat(FULL.map(log), 0.2),
            "s4.indirect_interval" => named("s", Some(model::FLUSH / fresh()?)),
            "s4.write_threshold" => named("blocks", Some(model::FLUSH)),
            "s4.indirect_per_flush" => named("indirect blocks", Some(model::indirect_per_flush())),
            "s4.flush_kb" => {
                let phase = self.results.phase(Work::Fresh, "bsd-lfs", "transactions")?;
                named("KB", Some(phase.bytes_written / 1024.0 / (phase.ops / model::FLUSH)))
            }
            "s4.copy_ms" => named("ms", Some(model::COPY_MS)),
            "s4.read_ms" => named("ms", Some(model::READ_MS)),
            "s4.read_tps" => named("tps", Some(1000.0 / model::READ_MS)),
            "s4.seg_write_s" => named("s", Some(model::flush_s())),
            "s4.model_nocleaner" => named("tps", Some(model::without_cleaner())),
            "s4.model_nocleaner_err" => named("model over simulation", Some(model::without_cleaner() / fresh()?)),
            "s4.ffs_io_ms" => named("ms", Some(model::FFS_IO_MS)),
            "s4.model_ffs" => named("tps", Some(model::ffs())),
            "s4.model_ffs_err" => named("model over simulation", Some(model::ffs() / ffs(half)?)),
            "s4.tx_per_segment" => named("transactions", Some(model::per_segment())),
            "s4.best_case" => named("tps", Some(model::in_batches())),
            "s4.best_case_err" => named("model over simulation", Some(model::in_batches() / log(half)?)),
            "s4.clean_one_s" => named("s", Some(model::clean_one_s())),
            "s4.seg_read_ms" => named("ms", Some(model::SEGMENT_READ_MS)),
            "s4.seg_rewrite_ms" => named("ms", Some(model::SEGMENT_WRITE_MS)),
            "s4.model_steady" => named("tps", Some(model::steady())),
            "s4.model_steady_err" => named("model over simulation", Some(model::steady() / log(half)?)),
            _ => None,
        }
    }
}

impl Measured for Bench<'_> {
    /// Of files of so many KB; of the benchmark of section 2 as run, or scaled (C3); of transactions with the disk so
    /// full.
    fn value(&self, step: &str, at: u32, system: &str, field: &str) -> Option<f64> {
        let of = |work| self.results.phase(work, system, step);
        let transactions = |work, system| Some(self.results.phase(work, system, step)?.rate);
        Some(match field {
            "mb_s" => self.files(step, at, system, MB_S)?,
            "rate" => self.files(step, at, system, FILES)?,
            "cpu" => of(Work::Small)?.cpu,
            "large_as_run" => of(Work::Large)?.mb_s,
            "small" => of(Work::Small)?.rate * scale(false, step, system),
            "large" => of(Work::Large)?.mb_s * scale(true, step, system),
            "tps" => match system {
                "ffs" => transactions(Work::Full(at), M8R0.key)?,
                "bsd-lfs-nocleaner" => transactions(Work::Fresh, "bsd-lfs")?,
                _ => transactions(Work::Full(at), system)?,
            },
            _ => return None,
        })
    }

    fn sizes(&self) -> &[u32] {
        &KIB
    }
}

/// What makes a rate of the earlier work one of the machine of 1995 (C3).
fn scale(large: bool, pass: &str, system: &str) -> f64 {
    let log = system == SPRITE.key;
    match (pass, large) {
        _ if !log && system != SUN.key => 1.0,
        ("create" | "delete", _) if log => 2.5,
        ("read", _) | ("write" | "re-read", true) => 1.8,
        ("random-write", true) if log => 1.8,
        _ => 1.2,
    }
}

/// A share that the claim gives as a part.
fn share(claim: &Claim, ours: f64) -> Option<Judged> {
    let printed = claim.number("part")?;
    Some(Judged {
        holds: (ours - printed).abs() <= 0.2 * printed,
        expected: short(printed),
        ours: short(ours),
        why: "within 20 per cent of the print".to_owned(),
    })
}

/// Pearson's coefficient.
fn correlation(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let both = sum(&|point| (point.0 - x) * (point.1 - y));
    both / (sum(&|point| (point.0 - x).powi(2)) * sum(&|point| (point.1 - y).powi(2))).sqrt()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn least(shares: &[f64]) -> f64 {
    shares.iter().fold(f64::INFINITY, |least, share| least.min(*share))
}

fn count(shares: &[f64], rule: &dyn Fn(f64) -> bool) -> f64 {
    shares.iter().filter(|share| rule(**share)).count() as f64
}

fn median(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or_default()
}

fn yes(holds: bool, expected: &str, ours: String) -> Option<Judged> {
    Some(Judged { holds, expected: expected.to_owned(), ours, why: "over all tests".to_owned() })
}
