//! Which property of a load decides what replicas gain: the share of reads that come again in the same order, how many
//! read at the same time, and how often nobody reads. On a modelled drive, in virtual time; mean response with learning
//! over that without, writes of replicas included, after a first half that teaches.
//!
//! `cargo run -p ordo-simdisk --example repeats [DRIVE [PICTURE.svg]]` prints `docs/runs/repeats.md`, and draws.

use ordo_active::{Active, Kept, Options};
use ordo_disk::{Block, Disk, DiskOff, Homeward, KeepsCopies, Kind, Queue, QueueOptions, Tag, WritePart};
use ordo_drive::Profile;
use ordo_learning::{Learns, Rule};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::SimDisk;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

const FRAG: u64 = 4096;
/// Bytes of a read.
const READ: u64 = 2 * FRAG;
/// Pairs of far places that come again, and pairs that are read in all.
const PAIRS: usize = 200;
const ALL: usize = 4000;
/// Half of what is read teaches; the other half counts.
const TEACHES: usize = ALL / 2;

const SHARES: [u64; 6] = [0, 20, 40, 60, 80, 100];
const READERS: [usize; 4] = [1, 4, 16, 64];
/// So many pairs are read between two pauses of a second.
const BETWEEN: [usize; 5] = [ALL, 1000, 400, 100, 25];

const HEAD: &str = "# What decides what replicas gain

Reads of 8 KiB in pairs, from one place of a modelled drive (quantum_atlas_10k) to another that is far away, under
`active`: 4,000 pairs, of which a share are 200 that come again and again, and the others are new. So many readers read
at a time, and in a pause, a second without a read, replicas are made. Mean response of the second half with learning
over that without; in brackets, how many of its reads came from a replica. Virtual time, made by
`cargo run -p ordo-simdisk --example repeats quantum_atlas_10k docs/runs/repeats.svg >docs/runs/repeats.md`.

A replica takes away the way to a far place. One reader pays that way for each read. Of many at a time the elevator has
shortened it before: with 16, as many reads come from replicas as with one, and gain a third of it. The reads of many
also reach the disk mixed, so fewer pairs are seen: with 64 hardly one. Without a pause no replica is ever made.
";

/// A load: a share of the pairs, in per cent, comes again; so many read at the same time; pauses.
#[derive(Debug, Clone, Copy)]
struct Load {
    share: u64,
    readers: usize,
    between: usize,
}

/// Milliseconds of a read on the mean, and the share of reads that replicas served.
#[derive(Debug, Clone, Copy)]
struct Found {
    ms: f64,
    served: f64,
}

struct Bench {
    rt: Rt,
    active: Active,
    queue: Queue,
    /// Group journals begin so far from each other.
    part: u64,
}

impl Bench {
    /// A drive with a group journal of 1 MiB in every fortieth of it.
    fn new(drive: &str, learns: Learns) -> Bench {
        let rt = Rt::virtual_time(1);
        let drive = SimDisk::new(&rt, Profile::named(drive).expect("a drive that is built in"));
        let part = drive.info().size / 40 / READ * READ;
        let extents: Vec<(DiskOff, u64)> = (0..40).map(|n| (DiskOff(n * part + part / 2), 1 << 20)).collect();
        let options = Options { learning: Some(learns), ..Options::default() };
        let kept = Kept { by: None, dirty: false };
        let active = rt.block_on(Active::open(&rt, Rc::new(drive), &extents, FRAG as u32, kept, options));
        let active = active.expect("the drive has room");
        let queue = Queue::new(&rt, Rc::new(active.clone()), QueueOptions::default());
        Bench { rt, active, queue, part }
    }

    /// Never in a group journal: these are in the middle of each part.
    fn place(&self, rng: &mut Rng) -> u64 {
        rng.below(40) * self.part + rng.below(self.part / 3 / READ) * READ
    }

    /// The checksums of what comes again are known, as after `ordo scrub --adopt`.
    async fn knows(&self, pairs: &[(u64, u64)]) {
        self.active.begins(1, true).await.expect("a drive does not fail");
        for at in pairs.iter().flat_map(|(from, to)| [*from, *to]) {
            let image = Block::copy_of(&vec![at as u8; READ as usize]).image();
            let part = WritePart { image, tag: Tag::of(Kind::Data) };
            self.active.write(DiskOff(at), vec![part], false).await.expect("a drive does not fail");
        }
        self.active.flush().await.expect("a drive does not fail");
    }

    fn run(&self, load: Load) -> Found {
        let mut rng = Rng::new(7);
        let hot: Vec<_> = (0..PAIRS).map(|_| (self.place(&mut rng), self.place(&mut rng))).collect();
        self.rt.block_on(self.knows(&hot));
        let one = |rng: &mut Rng| match rng.below(100) < load.share {
            true => hot[rng.below(PAIRS as u64) as usize],
            false => (self.place(rng), self.place(rng)),
        };
        let all: Vec<_> = (0..ALL).map(|_| one(&mut rng)).collect();
        let (mut ms, mut before) = (0.0, 0);
        for (n, some) in all.chunks(load.between.min(TEACHES)).enumerate() {
            let counts = n * load.between.min(TEACHES) >= TEACHES;
            if counts && before == 0 {
                before = 1 + self.active.state().from_replica;
            }
            let took = self.read(some, load.readers);
            ms += if counts { took } else { 0.0 };
            if load.between < ALL {
                self.pause();
            }
        }
        let reads = 2.0 * (ALL - TEACHES) as f64;
        Found { ms: ms / reads, served: (self.active.state().from_replica + 1 - before) as f64 / reads }
    }

    /// Readers take one pair after the other, and read its two places: milliseconds of all reads.
    fn read(&self, pairs: &[(u64, u64)], readers: usize) -> f64 {
        let (next, ms) = (Cell::new(0), RefCell::new(0.0));
        let reader = async || {
            while let Some((from, to)) = pairs.get(next.replace(next.get() + 1)) {
                for at in [*from, *to] {
                    let began = self.rt.now();
                    let read = self.queue.read(DiskOff(at), READ as usize, Tag::of(Kind::Data));
                    read.await.expect("a drive does not fail");
                    *ms.borrow_mut() += (self.rt.now().as_nanos() - began.as_nanos()) as f64 / 1e6;
                }
            }
        };
        self.rt.block_on(ordo_rt::together((0..readers).map(|_| reader())));
        ms.into_inner()
    }

    /// What the idle disk does until nothing is left to do, and at least a second.
    fn pause(&self) {
        self.rt.block_on(self.rt.sleep(Duration::from_millis(500)));
        for _ in 0..PAIRS / 16 {
            self.rt.block_on(self.active.go_home(Homeward::Nothing)).expect("a drive does not fail");
        }
        self.rt.block_on(self.rt.sleep(Duration::from_millis(500)));
    }
}

/// With learning over without, and the share of reads that replicas served.
fn compared(drive: &str, load: Load) -> (f64, f64) {
    let found = [Learns::By(Rule::Jumps), Learns::No].map(|learns| {
        let bench = Bench::new(drive, learns);
        let found = bench.run(load);
        bench.rt.drop_tasks();
        found
    });
    (found[0].ms / found[1].ms, found[0].served)
}

/// A line for each number of readers, with a value at each label.
struct Panel {
    title: &'static str,
    labels: Vec<String>,
    lines: Vec<Vec<f64>>,
}

fn picture(panels: &[Panel]) -> String {
    let (wide, high, left, top) = (380.0, 240.0, 70.0, 40.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n",
        panels.len() as f64 * (wide + 2.0 * left),
        high + 2.5 * top
    );
    let y = |ratio: f64| top + high * (1.1 - ratio) / 0.4;
    for (number, Panel { title, labels, lines }) in panels.iter().enumerate() {
        let from = left + number as f64 * (wide + 2.0 * left);
        let x = |n: usize| from + wide * n as f64 / (labels.len() - 1) as f64;
        _ = writeln!(svg, "<text x=\"{from}\" y=\"{}\">{title}</text>", top - 18.0);
        for tick in [0.7, 0.8, 0.9, 1.0, 1.1] {
            let (y, to) = (y(tick), from + wide);
            _ = writeln!(svg, "<path d=\"M{from} {y:.1}H{to}\" stroke=\"#ddd\"/>");
            _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.1}</text>", from - 6.0, y + 4.0);
        }
        for (n, label) in labels.iter().enumerate() {
            let below = top + high + 18.0;
            _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>", x(n));
        }
        for ((line, readers), color) in lines.iter().zip(READERS).zip(["#1b6ca8", "#2a9d5c", "#c77700", "#b3261e"]) {
            let points: Vec<_> = line.iter().enumerate().map(|(n, at)| format!("{:.1},{:.1}", x(n), y(*at))).collect();
            _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
            let (end, last) = (x(labels.len() - 1) + 6.0, y(line[line.len() - 1]) + 4.0);
            _ = writeln!(svg, "<text x=\"{end:.1}\" y=\"{last:.1}\" fill=\"{color}\">{readers} at once</text>");
        }
    }
    svg + "</svg>\n"
}

fn main() {
    let mut words = std::env::args().skip(1);
    let drive = words.next().unwrap_or_else(|| "quantum_atlas_10k".into());
    let sweep = |loads: &[Load], label: &dyn Fn(&Load) -> String| {
        let mut lines = Vec::new();
        for readers in READERS {
            let found: Vec<_> = loads.iter().map(|load| compared(&drive, Load { readers, ..*load })).collect();
            let cells: Vec<_> = found.iter().map(|(over, part)| format!("{over:.2} ({:.0} %)", part * 100.0)).collect();
            println!("| {readers} | {} |", cells.join(" | "));
            lines.push(found.into_iter().map(|(over, _)| over).collect::<Vec<f64>>());
        }
        (loads.iter().map(label).collect::<Vec<_>>(), lines)
    };
    println!("{HEAD}\n## By the share that comes again\n\nA pause after each 400 pairs.\n");
    heading(SHARES.map(|share| format!("{share} %")));
    let shares = SHARES.map(|share| Load { share, readers: 1, between: 400 });
    let (labels, lines) = sweep(&shares, &|load| format!("{} %", load.share));
    let title = "response with learning over without, by the share that comes again";
    let first = Panel { title, labels, lines };
    println!("\n## By the pairs between two pauses\n\n90 % come again.\n");
    heading(BETWEEN.map(pauses));
    let loads = BETWEEN.map(|between| Load { share: 90, readers: 1, between });
    let (labels, lines) = sweep(&loads, &|load| pauses(load.between));
    let second = Panel { title: "90 % come again, by the pairs between two pauses", labels, lines };
    println!("\n![The same as lines](repeats.svg)");
    if let Some(path) = words.next() {
        std::fs::write(&path, picture(&[first, second])).expect("the picture's place can be written");
    }
}

fn pauses(between: usize) -> String {
    if between == ALL { "no pause".to_owned() } else { format!("each {between}") }
}

fn heading<const N: usize>(columns: [String; N]) {
    println!("| readers at a time | {} |\n| ---: |{}", columns.join(" | "), " ---: |".repeat(N));
}
