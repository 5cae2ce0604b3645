//! The claims of figures 1 to 3: files of many sizes created and deleted, and empty ones.

use super::claims::Bench;
use super::experiments::{CREATE_KIB, DELETE_KIB, READ_KIB, Step, Work};
use super::systems::{ASYNC_JOURNALS, eight};
use crate::paper::judge::{Judged, comparable, each, number, order, short};

/// The last size without an indirect block, and the first with one.
const DIRECT: u32 = 96;
const INDIRECT: u32 = 104;

/// A name of a step's only phase.
fn phase(step: Step) -> &'static str {
    match step {
        Step::Create => "create",
        Step::Read => "read",
        Step::Write => "write",
        Step::Delete => "delete",
    }
}

impl Bench<'_> {
    /// A claim of figures 1 to 3, without the letter before its number.
    pub(super) fn of_micro(&self, id: &str) -> Option<Judged> {
        let claim = self.claim;
        let all: Vec<&str> = eight().map(|system| system.key).collect();
        match id {
            "1.readwrite_same" => {
                let steps = [Step::Read, Step::Write].into_iter().flat_map(|step| READ_KIB.map(|kib| (step, kib)));
                let one = |(step, kib): (Step, u32)| {
                    let judged = comparable(claim, &claim.list("systems"), |system| self.mb_s(step, kib, system))?;
                    Some((format!("{} {kib} KB", phase(step)), judged))
                };
                Some(each(steps.map(one).collect::<Option<_>>()?))
            }
            "1.micro_stddev" => {
                let most = self.results.variations().into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
                Some(number(claim, &[most]))
            }
            "1.top_group" => comparable(claim, &claim.list("systems"), |system| self.small(system)),
            "1.mid_group" | "1.2async_vs_2sync_small" => order(claim, |system| self.small(system)),
            "1.bottom_equal_small" => self.at_each(
                &CREATE_KIB,
                |kib| kib < INDIRECT,
                |kib| comparable(claim, &claim.list("systems"), |system| self.created(kib, system)),
            ),
            "1.1sync_leads_104" => self.leads(INDIRECT, "lffs-wafs-1sync", "ffs"),
            "1.ffs_overtakes_large" => self.leads(4096, "ffs", "lffs-wafs-1sync"),
            "1.peak_64" => self.peak(),
            "1.drop_96" => self.changes(&all, 64, DIRECT, |from, to| to < from, "less at 96 KB than at 64"),
            "1.drop_104" => self.changes(&all, DIRECT, INDIRECT, |from, to| to < from, "less at 104 KB than at 96"),
            "1.rise_104_1m" => self.changes(&all, INDIRECT, 1024, |from, to| to > from, "more at 1 MB than at 104 KB"),
            "1.decline_1_4m" => {
                let slightly = |from: f64, to: f64| to < from && to >= 0.8 * from;
                self.changes(&all, 1024, 4096, slightly, "less at 4 MB than at 1 MB, by a fifth at most")
            }
            "1.sync_async_converge" => self.converge(),
            "1.io_cluster" => {
                let largest = self.mean(Work::Micro(Step::Create, 4096), "ffs", |sample| Some(sample.largest))?;
                Some(number(claim, &[("largest write".into(), largest / 1024.0)]))
            }
            "1.lffs_file_over64" => {
                self.at_each(&CREATE_KIB, |kib| kib > 64, |kib| order(claim, |system| self.created(kib, system)))
            }
            "2.su_best" => self.at_each(&DELETE_KIB, |_| true, |kib| order(claim, |system| self.deleted(kib, system))),
            "2.su_gap_small" => {
                self.at_each(&DELETE_KIB, |kib| kib <= DIRECT, |kib| order(claim, |system| self.deleted(kib, system)))
            }
            "2.drop_after_96" => self.deletes(|before, after| after < 0.8 * before, "at 104 KB less than 0.8 of 96 KB"),
            "2.su_no_drop" => self.deletes(|before, after| after >= 0.8 * before, "at 104 KB at least 0.8 of 96 KB"),
            "2.journal_per_block" => self.fewer_with_blocks(),
            "2.record_per_freed_block" => self.records_per_block(),
            "3.async_no_io" => {
                let writes = |system: &str| {
                    let writes = |sample: &super::experiments::Sample| Some(sample.phases.get("create-delete")?.writes);
                    Some((system.to_owned(), self.mean(Work::Zero(1), system, writes)?))
                };
                Some(number(claim, &[writes("ffs-async")?, writes("soft-updates")?]))
            }
            "3.log_write_unit_wafs" => {
                let unit = self.mean(Work::Zero(1), "lffs-wafs-1async", |sample| Some(sample.log.smallest / 1024.0))?;
                Some(number(claim, &[("smallest".into(), unit)]))
            }
            "3.log_write_unit_file" => {
                let unit = self.mean(Work::Zero(1), "lffs-file", |sample| Some(sample.log.largest / 1024.0))?;
                Some(number(claim, &[("largest".into(), unit)]))
            }
            _ => self.plain(),
        }
    }

    fn mb_s(&self, step: Step, kib: u32, system: &str) -> Option<f64> {
        self.mean(Work::Micro(step, kib), system, |sample| Some(sample.phases.get(phase(step))?.mb_s))
    }

    fn created(&self, kib: u32, system: &str) -> Option<f64> {
        self.mb_s(Step::Create, kib, system)
    }

    fn deleted(&self, kib: u32, system: &str) -> Option<f64> {
        self.mean(Work::Micro(Step::Delete, kib), system, |sample| Some(sample.rate))
    }

    /// The geometric mean of the creation rates for files up to a cluster.
    fn small(&self, system: &str) -> Option<f64> {
        let sizes = CREATE_KIB.iter().filter(|kib| **kib <= 64);
        let logs: Option<Vec<f64>> = sizes.map(|kib| Some(self.created(*kib, system)?.ln())).collect();
        let logs = logs?;
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    /// The same rule at each size given.
    fn at_each(
        &self,
        sizes: &[u32],
        asked: impl Fn(u32) -> bool,
        rule: impl Fn(u32) -> Option<Judged>,
    ) -> Option<Judged> {
        let sizes = sizes.iter().copied().filter(|kib| asked(*kib));
        Some(each(sizes.map(|kib| Some((format!("{kib} KB"), rule(kib)?))).collect::<Option<_>>()?))
    }

    fn leads(&self, kib: u32, first: &str, second: &str) -> Option<Judged> {
        let (a, b) = (self.created(kib, first)?, self.created(kib, second)?);
        Some(Judged {
            holds: a > b,
            expected: format!("{first} above {second} at {kib} KB"),
            ours: format!("{} and {} MB/s", short(a), short(b)),
            why: "at this size".to_owned(),
        })
    }

    fn peak(&self) -> Option<Judged> {
        let systems = ["ffs-async", "soft-updates"].into_iter().chain(ASYNC_JOURNALS);
        let share = |system: &'static str| {
            let all: Option<Vec<f64>> = CREATE_KIB.iter().map(|kib| self.created(*kib, system)).collect();
            let most = all?.into_iter().fold(0.0, f64::max);
            Some((system.to_owned(), self.created(64, system)? / most))
        };
        let there = self.results.systems();
        let shares = systems.filter(|system| there.contains(system)).map(share);
        Some(number(self.claim, &shares.collect::<Option<Vec<_>>>()?))
    }

    fn changes(
        &self,
        systems: &[&str],
        from: u32,
        to: u32,
        rule: impl Fn(f64, f64) -> bool,
        expected: &str,
    ) -> Option<Judged> {
        self.compared(systems, expected, |system| {
            let (from, to) = (self.created(from, system)?, self.created(to, system)?);
            Some((rule(from, to), from, to))
        })
    }

    fn deletes(&self, rule: impl Fn(f64, f64) -> bool, expected: &str) -> Option<Judged> {
        let of = self.claim.list("of");
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        self.compared(&of, expected, |system| {
            let (before, after) = (self.deleted(DIRECT, system)?, self.deleted(INDIRECT, system)?);
            Some((rule(before, after), before, after))
        })
    }

    fn fewer_with_blocks(&self) -> Option<Judged> {
        let of = self.claim.list("of");
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        self.compared(&of, "at 96 KB less than at 8, and half as much at least", |system| {
            let (few, many) = (self.deleted(8, system)?, self.deleted(DIRECT, system)?);
            Some((many < few && many >= 0.5 * few, few, many))
        })
    }

    /// Two numbers for each system, and whether they satisfy the condition; for as many systems as the claim says.
    fn compared(
        &self,
        systems: &[&str],
        expected: &str,
        rule: impl Fn(&str) -> Option<(bool, f64, f64)>,
    ) -> Option<Judged> {
        let (mut held, mut shown) = (0, Vec::new());
        for system in systems {
            let (holds, from, to) = rule(system)?;
            held += usize::from(holds);
            shown.push(format!("{system} {} to {}", short(from), short(to)));
        }
        let least = self.claim.number("at_least").map_or(systems.len(), |least| least as usize);
        let why = match least == systems.len() {
            true => "each system".to_owned(),
            false => format!("{held} systems, {least} needed"),
        };
        Some(Judged { holds: held >= least, expected: expected.to_owned(), ours: shown.join(", "), why })
    }

    fn converge(&self) -> Option<Judged> {
        let gap = |kib| Some(self.created(kib, "lffs-wafs-2async")? / self.created(kib, "lffs-wafs-2sync")?);
        let (small, large) = (gap(2)?, gap(4096)?);
        Some(Judged {
            holds: (large - 1.0).abs() < (small - 1.0).abs() && large <= 1.1,
            expected: "at 4 MB closer than at 2 KB, and within a tenth".to_owned(),
            ours: format!("asynchronous over synchronous {} and {}", short(small), short(large)),
            why: "ends of the curve; the bound is ours".to_owned(),
        })
    }

    /// Additional log writes for a file of twelve blocks over a file of one, per block.
    fn records_per_block(&self) -> Option<Judged> {
        let records = |kib: u32| {
            let (counted, files) = self
                .mean(Work::Micro(Step::Delete, kib), "lffs-wafs-1async", |sample| {
                    sample.counters.get("log_changes").map(|records| *records as f64)
                })
                .zip(self.mean(Work::Micro(Step::Delete, kib), "lffs-wafs-1async", |sample| {
                    Some(sample.rate * sample.elapsed_s)
                }))?;
            Some(counted / files)
        };
        let more = (records(DIRECT)? - records(8)?) / f64::from(DIRECT / 8 - 1);
        Some(number(self.claim, &[("records".into(), more)]))
    }
}
