//! Judges every claim of the paper. Most are queries of the results, or say all in their own fields; what needs more is
//! computed here, and what figures 1 to 3 say in [`super::micro`].
//!
//! C1. A claim about a system that was not run is not tested.
//! C2. Performance is work per second: more is better. Of ssh, Netnews and PostMark it is one over the time.
//! C3. PostMark's time is that of its transactions, without making the pool and removing it: the paper says of it
//!     "performance (in transactions per second)" (section 7.3), and its 21 s, 1,572 s and factor of 15 agree only so.

use super::experiments::{Results, Sample, Step, Work};
use super::systems::{ASYNC_JOURNALS, eight};
use super::tables::seconds;
use crate::paper::claims::{Claim, claims_of};
use crate::paper::judge::{Judged, comparable, not_judged, number, order, short, untested};
use crate::paper::query::{Measured, answer};
use ordo_report::results::Verdict;

/// Every claim, in the order of the file.
pub(super) fn verdicts(results: &Results) -> Vec<Verdict> {
    claims_of("jsu2000").iter().map(|claim| Bench { results, claim }.verdict()).collect()
}

/// A claim, and the data to judge it by.
pub(super) struct Bench<'a> {
    pub(super) results: &'a Results,
    pub(super) claim: &'a Claim,
}

/// A workload and its phase, as a claim names them. If it names none, or all, Netnews is meant: the one on which the
/// paper compares what it only describes.
fn workload(text: &str) -> Option<(Work, &'static str)> {
    Some(match text {
        "ssh" | "ssh.total" => (Work::Ssh, "total"),
        "ssh.unpack" => (Work::Ssh, "unpack"),
        "ssh.config" => (Work::Ssh, "config"),
        "ssh.build" => (Work::Ssh, "build"),
        "any" | "netnews" | "netnews.total" => (Work::Netnews, "total"),
        "netnews.unbatch" => (Work::Netnews, "unbatch"),
        "netnews.expire" => (Work::Netnews, "expire"),
        // The program reports transactions a second (C3).
        "postmark-small" => (Work::PostmarkSmall, "transactions"),
        // The paper does not say which of the two it means; the large one keeps the disk busy.
        "postmark" | "postmark-large" => (Work::PostmarkLarge, "transactions"),
        "micro.zero" => (Work::Zero(1), "total"),
        "concurrent metadata streams" => (Work::Zero(8), "total"),
        "single-threaded" => (Work::Zero(1), "total"),
        "sdet" => (Work::Sdet(8), "total"),
        "remove directory tree" => (Work::RemoveTree, "total"),
        _ => return None,
    })
}

/// The five large workloads.
const MACRO: [&str; 5] = ["ssh", "netnews", "sdet", "postmark-small", "postmark-large"];

/// Our key for a system that the claims call by another name.
fn known_as(system: &str) -> &str {
    match system {
        "nvram" => "lffs-wafs-nvram",
        "lffs-wafs" | "lffs-*" => "lffs-wafs-1sync",
        // A property of the pool, the same under every system.
        "workload" => "ffs-async",
        other => other,
    }
}

/// Why claims on design, semantics and code size are not judged by runs of workloads.
const OF_DESIGN: &str = "a property of the design, not a number of a run";
const OF_CRASHES: &str = "what a crash leaves: a question for ordo crash, not for a run of a workload";

impl Bench<'_> {
    fn verdict(&self) -> Verdict {
        let claim = self.claim;
        if let Some(why) = not_judged(claim).or_else(|| self.not_to_be_measured()) {
            return untested(claim, why);
        }
        let there = self.results.systems();
        let named = claim.systems.iter().map(|system| known_as(system));
        let missing: Vec<&str> = named.filter(|system| !there.contains(system)).collect();
        if !missing.is_empty() {
            return untested(claim, format!("no scheme here yet for {}", missing.join(", ")));
        }
        match self.judged() {
            Some(judged) => judged.verdict(claim),
            None => untested(claim, "nothing was measured for it"),
        }
    }

    fn id(&self) -> &str {
        self.claim.id.strip_prefix("jsu2000.").unwrap_or(&self.claim.id)
    }

    fn not_to_be_measured(&self) -> Option<&'static str> {
        match (self.claim.cls.as_str(), self.id()) {
            ("semantics", _) | (_, "s5.recovery_time") => Some(OF_CRASHES),
            ("complexity", _) => Some("the size of the authors' code, not of ours"),
            (_, "s7.news_no_locality") => Some("how the workload is made; its own test holds it to that"),
            (_, "s8.su_cache_residency_min" | "s8.su_two_lru_trips") => {
                Some("a policy of the authors' cache; ours has none of the kind")
            }
            (_, "s5.wafs_2disk_no_seek") => Some("only the drive of the file system is watched"),
            (
                "design",
                "s4.block_level_cycle"
                | "s5.log_usually_ahead"
                | "s5.lffs_file_sb_update"
                | "s5.lffs_file_forced_checkpoint"
                | "s5.wafs_create_two_records"
                | "s9.lfs_needs_cleaner",
            ) => Some(OF_DESIGN),
            ("param", "s5.lffs_file_log_size" | "s5.lffs_file_syncer") => {
                Some("a constant of the authors' system; ours is written in the code")
            }
            _ => None,
        }
    }

    fn judged(&self) -> Option<Judged> {
        let claim = self.claim;
        if !claim.query.is_empty() {
            return answer(claim, self);
        }
        if let Some(of_micro) = self.id().strip_prefix('f').filter(|rest| rest.starts_with(['1', '2', '3'])) {
            return self.of_micro(of_micro);
        }
        match self.id() {
            "abs.async_comparable" => self.comparable_in_most(),
            "abs.su_excels_micro" => self.of_micro("2.su_best"),
            "concl.sync_penalty_max" => Some(number(claim, &[self.largest_penalty()?])),
            "s3.journal_extra_io" => self.log_in_order(),
            "s7.build_cpu" => {
                let share = self.mean(Work::Ssh, "ffs", |sample| {
                    let build = sample.phases.get("build")?;
                    Some(build.cpu_s / build.seconds)
                });
                Some(number(claim, &[("share".into(), share?)]))
            }
            "s7.build_least_diff" => order(claim, |workload| self.spread(workload)),
            "s7.postmark_scale" => {
                let rate = |work| self.mean(work, "ffs-async", |s| Some(s.phases.get("transactions")?.rate));
                Some(number(claim, &[("transactions".into(), rate(Work::PostmarkSmall)? / rate(Work::PostmarkLarge)?)]))
            }
            "s7.postmark_data" => self.pool_bytes(),
            "s8.news_disk_bound" => self.disk_bound(),
            "s8.news_extra_inode_share" => self.share_of_rollbacks(|inode| inode),
            "s8.news_extra_other_share" => self.share_of_rollbacks(|inode| 1.0 - inode),
            "s8.large_run_longer" => {
                let time = |work| seconds(self.results, work, "transactions", "ffs-async");
                Some(number(claim, &[("elapsed".into(), time(Work::PostmarkLarge)? / time(Work::PostmarkSmall)?)]))
            }
            "s8.netnews_files_per_s" => self.millis_per_article(),
            "f5.delayed_delete_interferes" => {
                order(claim, |workload| self.speed(workload, "soft-updates", "ffs-async"))
            }
            _ => self.plain(),
        }
    }

    /// Judged by the claim's own fields.
    pub(super) fn plain(&self) -> Option<Judged> {
        let claim = self.claim;
        match claim.text("kind")? {
            "value" => {
                let (work, phase) = workload(&claim.workload)?;
                Some(number(claim, &[("ours".into(), seconds(self.results, work, phase, claim.text("of")?)?)]))
            }
            "ratio" => {
                let mut ratios = Vec::new();
                for a in self.members("a") {
                    for b in self.members("b") {
                        ratios.push((format!("{a}/{b}"), self.speed(&claim.workload, &a, &b)?));
                    }
                }
                Some(number(claim, &ratios))
            }
            "order" => self.order_of(&claim.workload),
            "comparable" => self.alike(&claim.workload, &claim.list("systems")),
            _ => None,
        }
    }

    /// The systems that a field of the claim lists.
    fn members(&self, key: &str) -> Vec<String> {
        let named = self.claim.list(key);
        match named.iter().any(|name| name == "async journaling") {
            true => ASYNC_JOURNALS.iter().map(|name| (*name).to_owned()).collect(),
            false => named,
        }
    }

    pub(super) fn mean(&self, work: Work, system: &str, what: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        self.results.mean(work, known_as(system), what)
    }

    /// The performance of a system (C2).
    fn perf(&self, text: &str, system: &str) -> Option<f64> {
        let (work, phase) = workload(text)?;
        match work {
            Work::Zero(_) | Work::Sdet(_) => self.mean(work, system, |sample| Some(sample.rate)),
            _ => Some(1.0 / seconds(self.results, work, phase, known_as(system))?),
        }
    }

    /// The performance of `a` divided by that of `b`.
    fn speed(&self, workload: &str, a: &str, b: &str) -> Option<f64> {
        Some(self.perf(workload, a)? / self.perf(workload, b)?)
    }

    fn order_of(&self, workload: &str) -> Option<Judged> {
        order(self.claim, |system| self.perf(workload, system))
    }

    fn alike(&self, workload: &str, systems: &[String]) -> Option<Judged> {
        comparable(self.claim, systems, |system| self.perf(workload, system))
    }

    /// Soft updates and the asynchronous journals are within a tenth of each other: the criterion of
    /// `f5.large_comparable`.
    fn comparable_in_most(&self) -> Option<Judged> {
        let systems = ["soft-updates", "lffs-file", "lffs-wafs-1async", "lffs-wafs-2async"];
        let mut alike = Vec::new();
        for workload in MACRO {
            let all: Option<Vec<f64>> = systems.iter().map(|system| self.perf(workload, system)).collect();
            let all = all?;
            let (least, most) = all.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &value| (a.min(value), b.max(value)));
            if most / least <= 1.1 {
                alike.push(workload);
            }
        }
        Some(Judged {
            holds: alike.len() as f64 >= self.claim.number("value")?,
            expected: format!("at least {} of {}", short(self.claim.number("value")?), MACRO.len()),
            ours: format!("{}: {}", alike.len(), alike.join(", ")),
            why: "within a tenth of each other".to_owned(),
        })
    }

    /// The most that FFS and the synchronous journals lose on any macrobenchmark.
    fn largest_penalty(&self) -> Option<(String, f64)> {
        let mut all = Vec::new();
        for system in ["ffs", "lffs-wafs-1sync", "lffs-wafs-2sync"] {
            for workload in ["ssh.unpack", "netnews.expire", "sdet", "postmark-small", "postmark-large"] {
                all.push((format!("{workload} {system}"), 1.0 - self.speed(workload, system, "ffs-async")?));
            }
        }
        all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn log_in_order(&self) -> Option<Judged> {
        let (mut holds, mut shown) = (true, Vec::new());
        for system in self.members("of") {
            let log = |what: fn(&Sample) -> f64| self.mean(Work::Netnews, &system, |sample| Some(what(sample)));
            let (writes, in_order) = (log(|s| s.log.writes)?, log(|s| s.log.in_order)?);
            if writes == 0.0 {
                // Its log is on a drive whose requests are not recorded.
                continue;
            }
            holds &= in_order / writes >= 0.9;
            shown.push(format!("{system} {} of {}", short(in_order), short(writes)));
        }
        if shown.is_empty() {
            return None;
        }
        let expected = "nine of ten writes of the log follow the one before; the bound is ours".to_owned();
        Some(Judged { holds, expected, ours: shown.join(", "), why: "logs on the same drive, Netnews".to_owned() })
    }

    /// How far apart the systems of the tables are.
    fn spread(&self, workload: &str) -> Option<f64> {
        let all: Option<Vec<f64>> = eight().map(|system| self.speed(workload, system.key, "ffs-async")).collect();
        let (least, most) = all?.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &value| (a.min(value), b.max(value)));
        Some(most - least)
    }

    fn pool_bytes(&self) -> Option<Judged> {
        let bytes = self.mean(Work::PostmarkLarge, "ffs-async", |sample| {
            let create = sample.phases.get("create")?;
            Some(create.mb_s * create.seconds * 1e6)
        });
        Some(number(self.claim, &[("first files".into(), bytes? / f64::from(1 << 30))]))
    }

    fn disk_bound(&self) -> Option<Judged> {
        let (mut holds, mut shown) = (true, Vec::new());
        for system in self.members("of") {
            let share = self.mean(Work::Netnews, &system, |sample| Some(sample.cpu_s / sample.elapsed_s))?;
            holds &= share <= 0.1;
            shown.push(format!("{system} {}", short(share)));
        }
        let expected = "CPU time at most 0.1 of elapsed time; the bound is ours".to_owned();
        Some(Judged { holds, expected, ours: shown.join(", "), why: "each system".to_owned() })
    }

    /// Of the writes with a rollback under soft updates, those that rolled back an inode or its pointers.
    fn share_of_rollbacks(&self, share: fn(f64) -> f64) -> Option<Judged> {
        let of = |names: &'static [&'static str]| {
            let sum = move |sample: &Sample| {
                let counts: Option<Vec<u64>> = names.iter().map(|name| sample.counters.get(name).copied()).collect();
                Some(counts?.iter().sum::<u64>() as f64)
            };
            self.mean(Work::Netnews, "soft-updates", sum)
        };
        let inode = of(&["inodes_rolled_back", "pointers_rolled_back"])?;
        let all = inode + of(&["names_rolled_back", "removals_rolled_back"])?;
        let (ours, theirs) = (share(inode / all), self.claim.number("part")?);
        Some(Judged {
            holds: (ours - theirs).abs() <= 0.2 * theirs,
            expected: short(theirs),
            ours: short(ours),
            why: "of all that was rolled back; within 20 per cent of the print".to_owned(),
        })
    }

    fn millis_per_article(&self) -> Option<Judged> {
        let millis = |phase: &str, articles: u64| {
            Some(seconds(self.results, Work::Netnews, phase, "ffs-async")? * 1e3 / articles as f64)
        };
        let (unbatch, expire) = (millis("unbatch", 78_000)?, millis("expire", 91_000)?);
        let (their_unbatch, their_expire) = (self.claim.number("value")?, self.claim.number("expire")?);
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 0.2 * theirs;
        Some(Judged {
            holds: near(unbatch, their_unbatch) && near(expire, their_expire),
            expected: format!("{} and {} ms", short(their_unbatch), short(their_expire)),
            ours: format!("{} and {} ms", short(unbatch), short(expire)),
            why: "within 20 per cent of the print".to_owned(),
        })
    }
}

impl Measured for Bench<'_> {
    /// Of a workload as a claim names it, of one call by itself, or of files of so many KB.
    fn value(&self, step: &str, at: u32, system: &str, field: &str) -> Option<f64> {
        let work = match step {
            "micro.create" => Work::Micro(Step::Create, at),
            "one.create" => Work::OneCreate,
            "one.create_in_new" => Work::OneInNew,
            "one.remove" => Work::OneRemove,
            "sdet" if at > 0 => Work::Sdet(at),
            _ => workload(step)?.0,
        };
        let what: fn(&Sample) -> f64 = match field {
            "perf" => return self.perf(step, system),
            "writes" => |sample| sample.writes,
            "metadata_writes" => |sample| sample.metadata_writes,
            "freed_s" => |sample| sample.freed_s,
            "left_s" => |sample| sample.left_s,
            "scripts/hour" => |sample| sample.rate * 3600.0,
            _ => return None,
        };
        self.mean(work, system, |sample| Some(what(sample)))
    }
}
