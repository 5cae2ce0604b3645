//! The write cost of a log against the use of its disk, beside the formula of Rosenblum and Ousterhout (1992, section
//! 3.4): 2 / (1 - u), with u the part of the cleaned segments that was alive.
//!
//! P1. A volume in memory is filled with small files, and they are overwritten: all alike, or nine of ten times one of
//!     the tenth of them that is hot (section 3.5). Counting begins when all of it was overwritten several times.
//! P2. Hole plugging and the choice between it and cleaning are simulated (`plug`): the format cannot do it safely
//!     (docs/layouts/lfs.md).

mod pattern;
mod plug;

use std::rc::Rc;
use std::time::Duration;

use ordo_vfs::{Caller, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal};
use ordofs::disk::{Disk, RamDisk};
use ordofs::lfs::{Counters, Policy};
use ordofs::rt::{Rng, Rt};
use ordofs::{MountOptions, Mounted, NewLfs, locate_on};

use self::pattern::Pattern;
use self::plug::{Method, Simulated};
use super::parallel::run_all;
use super::set_up::Paper;
use crate::error::{LabError, Result};
use ordo_report::results::{Axis, Chart, Column, Document, Figure, Series, Table, TableRow};

/// The seed of all runs.
const SEED: u64 = 1;

/// As `ordo paper` lists it.
pub(super) const WRITE_COST: Paper = Paper {
    key: "write-cost",
    what: "Rosenblum, Ousterhout: A Log-Structured File System (TOCS 1992): the write cost by the use of the disk",
};

/// The volume, its segments, and each file, in bytes.
const SIZE: u64 = 128 << 20;
const SEGMENT: u32 = 256 << 10;
const FILE: usize = 8192;
/// Parts of all segments that are alive, in percent.
const USES: [u64; 6] = [50, 60, 70, 75, 80, 90];
/// The files are overwritten so often before counting begins, and while it lasts.
const BEFORE: u64 = 4;
const COUNTED: u64 = 4;
/// Virtual time from one overwrite to the next.
const PACE: Duration = Duration::from_millis(10);

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    pattern: Pattern,
    percent: u64,
    policy: Policy,
}

/// What was measured.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// The part of all segments that was alive.
    of_disk: f64,
    /// The part of the segments that the cleaner read that was; none if it read none.
    of_cleaned: Option<f64>,
    cost: f64,
}

/// Rosenblum's formula.
fn formula(u: f64) -> f64 {
    2.0 / (1.0 - u)
}

impl Case {
    /// `None` where the volume has no room for so many files.
    fn run(&self) -> Result<Option<Measured>> {
        let rt = Rt::virtual_time(SEED);
        let disk: Rc<dyn Disk> = Rc::new(RamDisk::new(SIZE));
        let new = NewLfs::new(SIZE).with(|of| (of.segment, of.minfreeseg) = (Some(SEGMENT), Some(40)));
        new.create_on(&rt, disk.clone(), false)?;
        let options = MountOptions { cache: 8 << 20, cleaner: Some(self.policy), ..MountOptions::default() };
        let located = locate_on(&rt, disk)?;
        let mounted = rt.block_on(Mounted::mount(&rt, located, &options))?;
        let measured = match rt.block_on(self.age(&rt, &mounted)) {
            Err(LabError::Call(Error::Refused(Refusal::NoSpace))) => Ok(None),
            measured => measured.map(Some),
        };
        rt.block_on(mounted.unmount())?;
        rt.drop_tasks();
        measured
    }

    async fn age(&self, rt: &Rt, mounted: &Mounted) -> Result<Measured> {
        let (fs, who) = (mounted.fs(), Caller { privileged: true, ..Caller::default() });
        let used = || mounted.lfs().map_or((0, 1), |log| log.used);
        let data = vec![0x5a; FILE];
        let mut files: Vec<NodeId> = Vec::new();
        while used().0 * 100 < used().1 * self.percent {
            let name = files.len().to_string();
            let name = Name::new(name.as_bytes())?;
            let made = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await?;
            fs.write(&who, made.node, 0, &data).await?;
            files.push(made.node);
            if files.len().is_multiple_of(64) {
                fs.syncfs().await?;
            }
        }
        let (count, mut rng) = (files.len() as u64, Rng::new(SEED));
        let mut before = Counters::default();
        for turn in 0..(BEFORE + COUNTED) * count {
            if turn == BEFORE * count {
                before = counters(mounted);
            }
            let which = self.pattern.next(&mut rng, count);
            let node = files.get(usize::try_from(which).unwrap_or(0)).copied().unwrap_or(fs.root());
            fs.write(&who, node, 0, &data).await?;
            rt.sleep(PACE).await;
        }
        if let Some(why) = mounted.degraded() {
            return Err(LabError::Degraded(why.to_string()));
        }
        let after = counters(mounted);
        let part = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let moved = (after.bytes_written - before.bytes_written) + (after.bytes_read - before.bytes_read);
        let read = (after.segments_read - before.segments_read) * u64::from(SEGMENT);
        Ok(Measured {
            of_disk: part(used().0, used().1),
            of_cleaned: (read > 0).then(|| part(after.bytes_alive - before.bytes_alive, read)),
            cost: part(moved, after.bytes_new - before.bytes_new),
        })
    }
}

fn counters(mounted: &Mounted) -> Counters {
    mounted.lfs().map(|log| log.counters).unwrap_or_default()
}

const POLICIES: [(Policy, &str); 2] = [(Policy::Greedy, "greedy"), (Policy::CostBenefit, "cost-benefit")];

/// Runs all of it. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure.
pub(super) fn run(progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Document> {
    let mut cases = Vec::new();
    for pattern in Pattern::ALL {
        for percent in USES {
            cases.extend(POLICIES.map(|(policy, _)| Case { pattern, percent, policy }));
        }
    }
    let simulations: Vec<_> = Pattern::ALL
        .iter()
        .flat_map(|pattern| plug::USES.iter().flat_map(|use_| Method::ALL.map(|method| (*pattern, *use_, method))))
        .collect();
    let all = cases.len() + simulations.len();
    let measured = run_all(&cases, &|done, _| progress(done, all), Case::run)?;
    let simulated =
        run_all(&simulations, &|done, _| progress(cases.len() + done, all), |&(pattern, percent, method)| {
            Ok::<_, LabError>(plug::simulate(pattern, percent, method, SEED))
        })?;
    let found = |case: Case| cases.iter().position(|known| *known == case).and_then(|at| measured[at]);
    let sim =
        |wanted: (Pattern, u64, Method)| simulations.iter().position(|known| *known == wanted).map(|at| simulated[at]);
    Ok(Document {
        paper: WRITE_COST.key.to_owned(),
        title: "The write cost of a log, by the use of its disk".to_owned(),
        reference: "Rosenblum, Ousterhout (TOCS 1992), sections 3.4 to 3.6; Matthews and others (SOSP 1997)".to_owned(),
        seed: Some(SEED),
        notes: vec![
            format!(
                "A volume of {} MiB in memory, {} KiB a segment, files of {} KiB, overwritten one every {} ms; {BEFORE} times \
                 each before counting, {COUNTED} times while it lasts. Cost: bytes written and bytes read by the cleaner, over \
                 bytes of files; summaries, inodes and checkpoints are in it.",
                SIZE >> 20,
                SEGMENT >> 10,
                FILE >> 10,
                PACE.as_millis()
            ),
            "Theirs is 2 / (1 - u): with u of the segments that were cleaned beside a policy, with u of the disk in the last \
             column."
                .to_owned(),
            plug::note(),
        ],
        tables: vec![table(&found), plug_table(&sim)],
        figures: Pattern::ALL
            .iter()
            .map(|pattern| figure(*pattern, &found))
            .chain(Pattern::ALL.iter().map(|pattern| plug_figure(*pattern, &sim)))
            .collect(),
        ..Document::default()
    })
}

fn column(name: &str) -> Column {
    Column { name: name.to_owned(), unit: String::new() }
}

fn table(found: &dyn Fn(Case) -> Option<Measured>) -> Table {
    let mut columns = Vec::new();
    for (_, name) in POLICIES {
        columns.extend([column(&format!("{name}: cost")), column(&format!("{name}: u of cleaned"))]);
    }
    columns.push(column("formula at the use"));
    let rows = Pattern::ALL.iter().flat_map(|pattern| USES.iter().map(|percent| (*pattern, *percent)));
    let rows = rows.map(|(pattern, percent)| {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (policy, _) in POLICIES {
            let found = found(Case { pattern, percent, policy });
            let u = found.and_then(|found| found.of_cleaned);
            ours.extend([found.map(|found| found.cost), u]);
            theirs.extend([u.map(formula), None]);
        }
        ours.push(None);
        theirs.push(Some(formula(percent as f64 / 100.0)));
        TableRow { labels: vec![pattern.name().to_owned(), format!("{percent} %")], ours, theirs }
    });
    Table { id: "table1".to_owned(), title: "Write cost".to_owned(), columns, rows: rows.collect() }
}

fn figure(pattern: Pattern, found: &dyn Fn(Case) -> Option<Measured>) -> Figure {
    let points = |policy| {
        let cases = USES.iter().filter_map(|percent| found(Case { pattern, percent: *percent, policy }));
        cases.map(|found| (found.of_disk * 100.0, found.cost)).collect()
    };
    let mut series = vec![Series {
        name: "2 / (1 - u), u of the disk".to_owned(),
        points: USES.iter().map(|percent| (*percent as f64, formula(*percent as f64 / 100.0))).collect(),
        ..Series::default()
    }];
    series.extend(POLICIES.map(|(policy, name)| Series {
        name: name.to_owned(),
        points: points(policy),
        ..Series::default()
    }));
    lines(&format!("cost-{}", id(pattern)), &format!("Write cost, {}", pattern.name()), "write cost", series)
}

fn id(pattern: Pattern) -> &'static str {
    if pattern == Pattern::Uniform { "uniform" } else { "hot" }
}

fn lines(id: &str, title: &str, y: &str, series: Vec<Series>) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: Chart::Line,
        x: Axis::new("use of the disk", "%"),
        y: Axis::new(y, ""),
        categories: Vec::new(),
        series,
    }
}

type Simulation<'a> = &'a dyn Fn((Pattern, u64, Method)) -> Option<Simulated>;

fn plug_table(sim: Simulation<'_>) -> Table {
    let mut columns: Vec<Column> = Method::ALL.iter().map(|method| column(method.name())).collect();
    columns.push(column("adaptive: part plugged"));
    let rows = Pattern::ALL.iter().flat_map(|pattern| plug::USES.iter().map(|percent| (*pattern, *percent)));
    let rows = rows.map(|(pattern, percent)| {
        let of = |method| sim((pattern, percent, method));
        let mut ours: Vec<_> = Method::ALL.iter().map(|method| of(*method).map(|found| found.cost)).collect();
        ours.push(of(Method::Adaptive).map(|found| found.plugged));
        let theirs = vec![None; ours.len()];
        TableRow { labels: vec![pattern.name().to_owned(), format!("{percent} %")], ours, theirs }
    });
    Table {
        id: "table2".to_owned(),
        title: "Simulated: time of the disk, over that of writing the new data alone".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

fn plug_figure(pattern: Pattern, sim: Simulation<'_>) -> Figure {
    let series = Method::ALL.map(|method| Series {
        name: method.name().to_owned(),
        points: plug::USES
            .iter()
            .filter_map(|percent| sim((pattern, *percent, method)).map(|found| (*percent as f64, found.cost)))
            .collect(),
        ..Series::default()
    });
    let title = format!("Simulated: cleaning and hole plugging, {}", pattern.name());
    lines(&format!("plug-{}", id(pattern)), &title, "time, over that of the new data", series.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_is_fuller_costs_more_and_no_less_than_one_that_is_not_cleaned() {
        let cost = |percent| {
            let case = Case { pattern: Pattern::Uniform, percent, policy: Policy::Greedy };
            case.run().unwrap().unwrap()
        };
        let (half, more) = (cost(50), cost(75));
        assert!(half.cost > 1.0 && more.cost > half.cost + 0.3, "{half:?} {more:?}");
        assert!(more.of_cleaned.unwrap() < 0.75 && (more.of_disk - 0.75).abs() < 0.05, "{more:?}");
    }

    #[test]
    fn plugging_is_dear_on_an_empty_disk_and_the_choice_is_not_much_worse_than_either() {
        for pattern in Pattern::ALL {
            for percent in [60, 95] {
                let of = |method| plug::simulate(pattern, percent, method, 1).cost;
                let (clean, plugged, adaptive) = (of(Method::Cleaning), of(Method::Plugging), of(Method::Adaptive));
                assert!(adaptive < 1.4 * clean.min(plugged), "{percent}: {clean} {plugged} {adaptive}");
                if pattern == Pattern::Uniform || percent == 95 {
                    assert_eq!(clean < plugged, percent == 60, "{pattern:?} {percent}: {clean} {plugged}");
                }
            }
        }
    }
}
