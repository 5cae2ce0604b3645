//! Judges every claim of the paper. Most are queries of the results, or say all in their own fields; what needs more is
//! computed here.

use super::experiments::{Key, Results, Sample};
use super::systems::FIVE;
use super::tables::{PHASES, andrew_phase, andrew_system};
use crate::paper::claims::{Claim, claims_of};
use crate::paper::judge::{Judged, not_judged, number, order, short, untested};
use crate::paper::query::{Measured, answer, plain};
use ordo_report::results::Verdict;

/// Every claim, in the order of the file.
pub(super) fn verdicts(results: &Results) -> Vec<Verdict> {
    claims_of("mup1994").iter().map(|claim| Bench { results, claim }.verdict()).collect()
}

struct Bench<'a> {
    results: &'a Results,
    claim: &'a Claim,
}

/// A workload and its users, as a claim names it.
fn workload(text: &str) -> Option<(&'static str, u32)> {
    Some(match text {
        "copy4" | "4-user copy" => ("copy", 4),
        "remove4" | "4-user remove" => ("remove", 4),
        "1-user remove" => ("remove", 1),
        "metathru.create" => ("create", 8),
        "metathru.remove, 8 users" => ("delete", 8),
        "metathru.createremove" => ("create-delete", 8),
        "sdet" => ("sdet", 4),
        _ => return None,
    })
}

/// A number of a sample, as a claim names it.
fn metric(text: &str) -> Option<fn(&Sample) -> f64> {
    Some(match text {
        "elapsed_s" => |sample| sample.elapsed_s,
        "cpu_s" => |sample| sample.cpu_s,
        "disk_requests" => |sample| sample.requests,
        "io_response_avg_ms" | "driver_response_ms" => |sample| sample.response_ms,
        "driver_response_s" => |sample| sample.response_ms / 1e3,
        "disk_access_ms" => |sample| sample.service_ms,
        "files/s" | "scripts/hour" => |sample| sample.rate,
        _ => return None,
    })
}

/// Why claims on design, semantics and code size are not judged by runs of workloads.
const OF_DESIGN: &str = "a property of the design, not a number of a run";

impl Bench<'_> {
    fn verdict(&self) -> Verdict {
        let claim = self.claim;
        if let Some(why) = not_judged(claim).or_else(|| self.not_to_be_measured()) {
            return untested(claim, why);
        }
        match self.judged() {
            Some(judged) => judged.verdict(claim),
            None => untested(claim, "nothing was measured for it"),
        }
    }

    fn not_to_be_measured(&self) -> Option<&'static str> {
        let id = self.claim.id.strip_prefix("mup1994.")?;
        match (self.claim.cls.as_str(), id) {
            ("design", "f1.fewer_flags_rare" | "s4.coalescing") | (_, "s2.cov") => None,
            ("design", "s7.wal_needs_group_commit" | "s7.nvram_slight" | "s3.cow_no_gain") => {
                Some("a prediction about systems that are not there yet")
            }
            ("design" | "semantics", _) => Some(OF_DESIGN),
            ("complexity", _) => Some("the size of the authors' code, not of ours"),
            ("param", _) => Some("a constant of the authors' system; ours is written in the code"),
            (_, "s2.trace_overhead") => Some("the modelled machine keeps its records for nothing"),
            (_, "f1.trend_most") => Some("the authors' choice; the figures behind it are judged"),
            _ => None,
        }
    }

    fn judged(&self) -> Option<Judged> {
        let claim = self.claim;
        if !claim.query.is_empty() {
            return answer(claim, self);
        }
        match claim.id.strip_prefix("mup1994.")? {
            "concl.sched_max_500" => {
                let most = self.largest(&["flag-part-nr-cb", "chains"], "conventional")?;
                Some(number(claim, &[(most.0, most.1 - 1.0)]))
            }
            "concl.su_max_15x" => Some(number(claim, &[self.largest(&["soft-updates"], "conventional")?])),
            "s2.cov" => self.variation(&["copy", "remove"]),
            "f6.cov" => self.variation(&["sdet"]),
            "f1.nr_gain" => self.nr_gain(),
            "t1.extra_requests_per_file" => self.extra_requests("copy"),
            "t2.extra_requests_per_file" => self.extra_requests("remove"),
            "f5.chains_better" | "f5.delayed_best" => self.throughput_order(),
            "f5.memory_speed" => self.cpu_bound(),
            "s5.andrew_phases12" => self.andrew_spread(),
            "s5.andrew_phases34" => self.andrew_alike(),
            "s5.copy_sched_requests" => {
                let systems = claim.list("systems");
                let all: Option<Vec<f64>> =
                    systems.iter().map(|system| self.of("copy", 4, system, |s| s.requests)).collect();
                Some(self.alike(&all?, claim.number("tol_rel")?))
            }
            _ => match claim.workload.strip_prefix("andrew.") {
                Some(phase) => plain(claim, "andrew", 1, phase, self),
                None => {
                    let (step, users) = workload(&claim.workload)?;
                    plain(claim, step, users, &claim.metric, self)
                }
            },
        }
    }

    fn of(&self, workload: &str, users: u32, system: &str, what: fn(&Sample) -> f64) -> Option<f64> {
        let asked = self.results.mean(workload, users, system, what);
        // Section 5.2 and later: initialisation is enforced under soft updates only.
        asked.or_else(|| self.results.mean(workload, users, &andrew_system(system), what))
    }

    fn rate(&self, workload: &str, users: u32, system: &str) -> Option<f64> {
        self.of(workload, users, system, |sample| sample.rate)
    }

    /// The time of `a` divided by that of `b`.
    fn slower(&self, workload: &str, users: u32, a: &str, b: &str) -> Option<(String, f64)> {
        let elapsed = |system| self.of(workload, users, system, |sample| sample.elapsed_s);
        Some((format!("{workload} {users} {a}"), elapsed(a)? / elapsed(b)?))
    }

    /// The largest gain of any of `systems` over `base`, in any workload.
    fn largest(&self, systems: &[&str], base: &str) -> Option<(String, f64)> {
        let pairs = self.results.keys().filter(|key| key.system == base).flat_map(|key| {
            let gain = move |system: &&str| {
                let Key { workload, users, .. } = key;
                Some((format!("{workload} {users} {system}"), self.slower(workload, *users, base, system)?.1))
            };
            systems.iter().filter_map(gain)
        });
        pairs.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn variation(&self, workloads: &[&str]) -> Option<Judged> {
        let keys = self.results.keys().filter(|key| workloads.contains(&key.workload));
        let of = |key: &Key| Some((key.system.clone(), self.results.variation(key.workload, key.users, &key.system)?));
        let most = keys.filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut judged = number(self.claim, std::slice::from_ref(&most));
        judged.ours = format!("at most {} ({})", short(most.1), most.0);
        Some(judged)
    }

    fn nr_gain(&self) -> Option<Judged> {
        let elapsed = |system: String| self.of("copy", 4, &system, |sample| sample.elapsed_s);
        let (mut holds, mut shown) = (true, Vec::new());
        for meaning in ["full", "back", "part"] {
            let (with, without) = (elapsed(format!("flag-{meaning}-nr-cb"))?, elapsed(format!("flag-{meaning}-cb"))?);
            holds &= with <= without;
            shown.push(format!("{meaning} {} with, {} without", short(with), short(without)));
        }
        let expected = "shorter with -NR for Full, Back and Part".to_owned();
        Some(Judged { holds, expected, ours: shown.join("; "), why: "each of the three".to_owned() })
    }

    fn extra_requests(&self, workload: &str) -> Option<Judged> {
        let requests = |system| self.of(workload, 4, system, |sample| sample.requests);
        let extra = (requests("conventional")? - requests("no-order")?) / (4.0 * 535.0);
        Some(number(self.claim, &[("extra".into(), extra)]))
    }

    /// The claim's order, for creating and for removing, with eight users.
    fn throughput_order(&self) -> Option<Judged> {
        let of = |workload: &'static str| order(self.claim, |system| self.rate(workload, 8, system));
        let (create, delete) = (of("create")?, of("delete")?);
        Some(Judged {
            holds: create.holds && delete.holds,
            expected: create.expected,
            ours: format!("create: {}; remove: {}", create.ours, delete.ours),
            why: "with eight users, creating and removing".to_owned(),
        })
    }

    fn cpu_bound(&self) -> Option<Judged> {
        let (mut holds, mut shown) = (true, Vec::new());
        for system in ["no-order", "soft-updates"] {
            let share = self.of("create-delete", 4, system, |sample| sample.cpu_s / (sample.elapsed_s))?;
            holds &= share >= 0.9;
            shown.push(format!("{system} {}", short(share)));
        }
        let expected = "CPU time at least 0.9 of elapsed time".to_owned();
        Some(Judged { holds, expected, ours: shown.join(", "), why: "four users; the bound is ours".to_owned() })
    }

    fn andrew(&self, system: &str, phase: &str) -> Option<f64> {
        let system = andrew_system(system);
        let at = match phase {
            "total" => return self.results.mean("andrew", 1, &system, |sample| sample.elapsed_s),
            other => other.strip_prefix('p')?.split('_').next()?.parse::<usize>().ok()?.checked_sub(1)?,
        };
        andrew_phase(self.results, &system, PHASES.get(at)?.0).filter(|seconds| seconds.is_finite())
    }

    fn spread(&self, phase: &str) -> Option<f64> {
        let times: Option<Vec<f64>> = FIVE.iter().map(|system| self.andrew(system, phase)).collect();
        let times = times?;
        let (least, most) = times.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &time| (a.min(time), b.max(time)));
        Some(most / least)
    }

    fn andrew_spread(&self) -> Option<Judged> {
        order(self.claim, |phase| self.spread(phase))
    }

    fn andrew_alike(&self) -> Option<Judged> {
        let most = self.spread("p3_read_inodes")?.max(self.spread("p4_read_files")?);
        let bound = 1.0 + self.claim.number("tol_rel")?;
        Some(Judged {
            holds: most <= bound,
            expected: format!("slowest over fastest at most {}", short(bound)),
            ours: short(most),
            why: "phases 3 and 4".to_owned(),
        })
    }

    fn alike(&self, all: &[f64], tolerance: f64) -> Judged {
        let (least, most) = all.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &value| (a.min(value), b.max(value)));
        Judged {
            holds: most / least <= 1.0 + tolerance,
            expected: format!("largest over smallest at most {}", 1.0 + tolerance),
            ours: format!("{:.4}", most / least),
            why: "the claim's tolerance".to_owned(),
        }
    }
}

impl Measured for Bench<'_> {
    /// Of so many users; of Andrew a phase, or the total.
    fn value(&self, step: &str, users: u32, system: &str, field: &str) -> Option<f64> {
        match step {
            "andrew" => self.andrew(system, field),
            _ => self.of(step, users, system, metric(field)?),
        }
    }
}
