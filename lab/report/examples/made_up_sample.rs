//! Prints a document of the shape of `ordo paper --json`, to preview the page. Its `ours` are MADE UP, by a formula:
//! nothing was run, nothing is claimed. The paper's own numbers are those of Ganger and Patt (1994), tables 1 and 2.
//!
//! `.ci/report-in-browser` renders it.

use serde_json::{Value, json};

const SCHEMES: [&str; 5] = ["Conventional", "Scheduler Flag", "Scheduler Chains", "Soft Updates", "No Order"];

/// Numbers without a visible pattern; the same on every run.
struct Luck(u64);

impl Luck {
    /// From 0 to below 1.
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }
}

fn table(luck: &mut Luck, id: &str, title: &str, rows: &[(&[&str], [f64; 4])]) -> Value {
    let row = |(labels, theirs): &(&[&str], [f64; 4])| {
        let ours = theirs.map(|value| Some(value * (0.7 + luck.draw() * luck.draw() * 1.6)));
        json!({"labels": labels, "ours": ours, "theirs": theirs})
    };
    let columns: Vec<Value> = [("elapsed", "s"), ("CPU", "s"), ("disk requests", ""), ("I/O response, mean", "ms")]
        .map(|(name, unit)| json!({"name": name, "unit": unit}))
        .into();
    json!({"id": id, "title": title, "columns": columns, "rows": rows.iter().map(row).collect::<Vec<_>>()})
}

/// Requests of a made-up copy: data in long runs, metadata here and there.
fn timeline(luck: &mut Luck, scheme: &str, requests: usize, seconds: f64) -> Value {
    let mut arm = 300.0;
    let request = |at: usize| {
        let metadata = luck.draw() < if scheme == "Soft Updates" || scheme == "No Order" { 0.06 } else { 0.4 };
        let kinds = ["inode", "inode", "directory", "group", "indirect"];
        let kind = if metadata {
            kinds[(luck.draw() * 5.0) as usize]
        } else if luck.draw() < 0.3 {
            "read"
        } else {
            "data"
        };
        arm = match kind {
            "inode" => 300.0 + (luck.draw() * 4.0).floor() * 110.0 + luck.draw() * 6.0,
            "directory" => 340.0 + luck.draw() * 220.0,
            "group" => 300.0 + (luck.draw() * 5.0).floor() * 100.0,
            "read" => 80.0 + 200.0 * (at as f64 / requests as f64) + luck.draw() * 20.0,
            _ => 320.0 + 900.0 * (at as f64 / requests as f64) + luck.draw() * 40.0,
        };
        let at_ms = seconds * 1e3 * (at as f64 + luck.draw()) / requests as f64;
        let superblock = at % 3000 == 2999;
        json!({"at_ms": at_ms, "service_ms": 4.0 + luck.draw() * 16.0, "cylinder": if superblock { 0.0 } else { arm.floor() },
            "kind": if superblock { "superblock" } else { kind }, "write": kind != "read"})
    };
    let requests: Vec<Value> = (0..requests).map(request).collect();
    json!({"scheme": scheme, "title": format!("{scheme}: where the arm was"), "workload": "copy, four users",
        "cylinders": 1999, "requests": requests})
}

fn figures(luck: &mut Luck) -> Value {
    let series: Vec<Value> = SCHEMES[..4]
        .iter()
        .map(|name| json!({"name": name, "values": [luck.draw() * 300.0 + 80.0, luck.draw() * 60.0 + 5.0, luck.draw() * 90.0]}))
        .collect();
    let alone = json!([{"name": "", "values": SCHEMES.iter().map(|_| luck.draw() * 5e4).collect::<Vec<_>>()}]);
    let lines: Vec<Value> = SCHEMES
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let mut rate = |users: f64| users.powf(0.35 + at as f64 * 0.09) * (24.0 + luck.draw() * 3.0);
            json!({"name": name, "points": (1..=8).map(|users| json!([users, rate(f64::from(users))])).collect::<Vec<_>>()})
        })
        .collect();
    json!([
        {"id": "figure1a", "title": "Figure 1a: elapsed time, by benchmark", "kind": "bar", "y": {"label": "elapsed", "unit": "s"},
            "categories": ["copy, four users", "remove, four users", "a benchmark with a name that is rather long"], "series": series},
        {"id": "figure2", "title": "Figure 2: disk requests", "kind": "bar", "categories": SCHEMES, "series": alone},
        {"id": "figure5a", "title": "Figure 5a: create throughput", "kind": "line", "x": {"label": "concurrent users"},
            "y": {"label": "files", "unit": "1/s"}, "series": lines},
    ])
}

fn claims() -> Value {
    let claim = |at: usize| {
        let (tested, holds) = (at % 5 != 4, at % 7 != 3);
        json!({"id": format!("made-up-{at}"), "where": format!("section {}.{}", 1 + at / 5, 1 + at % 5),
            "statement": "Soft updates is within a few per cent of having no order at all, and faster where files are removed.",
            "tested": tested, "holds": tested.then_some(holds), "expected": "at most 1.05",
            "ours": if tested { json!(if holds { 1.02 } else { 1.31 }) } else { Value::Null },
            "why": if tested { "" } else { "Needs a second disk; the machine has one." }})
    };
    (0..16).map(claim).collect()
}

fn choice(luck: &mut Luck) -> Value {
    let way = |name: &&str| {
        json!({"name": name, "what": "one way to keep metadata in order", "scheme": "softupdates",
        "crash": "some space is lost until it is reclaimed, on the volume in use; what was synced stays"})
    };
    let mut work = |name: &str| {
        let mut rates = || SCHEMES.map(|_| (luck.draw() * 400_000.0).floor());
        json!({"name": name, "unit": "files/s", "rates": [rates(), rates()], "best": [&SCHEMES[..4], &SCHEMES[..1]]})
    };
    let works =
        [work("create files of 1 KB"), work("write it at random, 8 KB at a time"), work("TPC-B, the disk half full")];
    json!({"title": "Which should I use for what?", "says": "Those named best are within a twentieth of the fastest.",
        "disks": ["disk of 1995", "flash with power-loss protection"], "ways": SCHEMES.iter().map(way).collect::<Vec<_>>(),
        "works": works})
}

fn main() {
    let mut luck = Luck(1994);
    let picture = include_str!("../../../docs/runs/explain.svg");
    let story = |scheme: &&str| json!({"scheme": scheme, "title": "create /a/f", "svg": picture, "text": "1  links: of inode 5\n2  made up"});
    let copy: [(&[&str], [f64; 4]); 9] = [
        (&["Conventional", "no initialization"], [390.7, 72.8, 36075.0, 293.3]),
        (&["Conventional", "initialized"], [732.3, 82.4, 51419.0, 140.1]),
        (&["Scheduler Flag", "no initialization"], [381.3, 72.8, 36038.0, 477.3]),
        (&["Scheduler Flag", "initialized"], [545.7, 90.0, 51028.0, 2297.0]),
        (&["Scheduler Chains", "no initialization"], [375.1, 76.0, 36019.0, 304.1]),
        (&["Scheduler Chains", "initialized"], [530.6, 86.0, 51248.0, 423.8]),
        (&["Soft Updates", "no initialization"], [319.8, 69.6, 31840.0, 368.7]),
        (&["Soft Updates", "initialized"], [330.9, 80.0, 31880.0, 262.1]),
        (&["No Order", "no initialization"], [315.3, 68.4, 31574.0, 304.1]),
    ];
    let remove: [(&[&str], [f64; 4]); 5] = [
        (&["Conventional"], [80.24, 12.68, 4600.0, 68.02]),
        (&["Scheduler Flag"], [24.97, 13.64, 4631.0, 22173.0]),
        (&["Scheduler Chains"], [31.03, 14.80, 4618.0, 2495.0]),
        (&["Soft Updates"], [6.71, 5.64, 391.0, 73.53]),
        (&["No Order"], [7.64, 7.44, 278.0, 84.03]),
    ];
    let tables = [
        table(&mut luck, "table1", "MADE UP. Table 1: four users copy a tree", &copy),
        table(&mut luck, "table2", "MADE UP. Table 2: four users remove a tree", &remove),
    ];
    let timelines = [
        timeline(&mut luck, "Conventional", 50_000, 390.0),
        timeline(&mut luck, "Scheduler Chains", 36_000, 371.0),
        timeline(&mut luck, "Soft Updates", 31_000, 322.0),
        timeline(&mut luck, "No Order", 900, 314.0),
    ];
    let document = json!({
        "paper": "made-up", "title": "MADE UP, to look at the page: metadata update performance", "disk": "hp_c2447", "seed": 1,
        "reference": "Numbers called ours were never measured. Those of the paper: Ganger and Patt, OSDI 1994.",
        "notes": ["A note says what is different here, and why.", "Another one is shorter."],
        "choice": choice(&mut luck),
        "tables": tables, "figures": figures(&mut luck), "claims": claims(), "timelines": timelines,
        "stories": SCHEMES.iter().map(story).collect::<Vec<_>>(),
    });
    println!("{document}");
}
