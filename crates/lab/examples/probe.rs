//! Scratch.
use lab::{Machine, Run, Start};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut machine = Machine::of_1994();
    let env = |k: &str| std::env::var(k).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(v) = env("CLUSTER") {
        machine.engine.cluster = (v << 10) as u32
    }
    if let Some(v) = env("MERGE") {
        machine.engine.merge = v == 1
    }
    if let Some(v) = env("DIRTY") {
        machine.engine.dirty = Some((v << 20) as usize)
    }
    if let Some(v) = env("MEM") {
        machine.memory = (v << 20) as usize
    }
    if let Some(v) = env("RA") {
        machine.engine.read_ahead = v
    }
    if let Some(v) = env("ROT") {
        machine.shape.rotation.as_mut().unwrap().rotdelay_ms = v as u32
    }
    if let Some(v) = env("AGE") {
        machine.engine.syncer = ordofs::Syncer::Age(std::time::Duration::from_secs(v))
    }
    if let Some(v) = env("SWEEP") {
        machine.engine.syncer = ordofs::Syncer::Sweep(std::time::Duration::from_secs(v))
    }
    if let Some(v) = env("SCHED") {
        machine.engine.scheduler = ordofs::disk::Scheduler::ALL[v as usize].1
    }
    if args[1] == "paper" {
        let d = lab::paper::run("mup1994", &|a, b| if a % 20 == 0 { eprintln!("{a}/{b}") }).unwrap();
        println!("{}", serde_json::to_string_pretty(&d).unwrap());
        return;
    }
    let schemes = args[1].split(',');
    let (workload, users) = (args[2].as_str(), args[3].parse().unwrap());
    for scheme in schemes {
        let (scheme, init) = scheme.strip_suffix("+ai").map_or((scheme, None), |s| (s, Some(ordofs::AllocInit::All)));
        let t = std::time::Instant::now();
        let start = if workload == "copy-tree" { Start::Cold } else { Start::Warm };
        let run = Run {
            machine: &machine,
            scheme,
            alloc_init: init.or(Some(ordofs::AllocInit::Directories)),
            workload,
            params: workload::Params::parse(args.get(4).map_or("", |s| s.as_str())).unwrap(),
            users,
            start,
            size: None,
            seed: 1,
            services: false,
        };
        match run.run() {
            Ok(o) => println!(
                "{scheme:20} {init:?} elapsed {:8.2} cpu {:7.2} req {:6} (r {} w {}) transfers {} resp {:8.1} ms svc {:5.2} ms drained {:.1} wall {:.2}",
                o.mean_elapsed(),
                o.cpu.as_secs_f64(),
                o.requests(),
                o.disk.reads,
                o.disk.writes,
                o.disk.transfers,
                o.response_ms(),
                o.service_ms(),
                o.drained.as_secs_f64(),
                t.elapsed().as_secs_f64()
            ),
            Err(e) => println!("{scheme}: {e}"),
        }
    }
}
