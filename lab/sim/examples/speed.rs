//! Requests per second that the simulator plays: `cargo run --profile dist -p ordo-sim --example speed [TRACE…]`.
//!
//! Each synthetic trace on each of the paper's six systems, on one core; making the trace is not counted.

use std::error::Error;

use ordo_sim::{Setting, System, run, synth};

#[expect(clippy::disallowed_methods, reason = "the wall clock is what is measured")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let (mut requests, mut seconds) = (0, 0.0);
    for name in synth::NAMES.iter().filter(|name| asked.is_empty() || asked.iter().any(|asked| asked == *name)) {
        let Some(trace) = synth::named(name, 1) else { continue };
        println!("{name}: {:?}", trace.about());
        for system in System::SIX {
            let began = now();
            let outcome = run(system, &trace, &Setting::default())?;
            let took = began.elapsed().as_secs_f64();
            requests += outcome.requests;
            seconds += took;
            println!(
                "  {:<8} mean {:>9.3} ms, 95 % {:>10.3} ms, drive busy {:>4.0} %, {:>7} reads, {:>6} writes, {:>6} commits, \
                 {:>6} copies; {:>7.0} requests a second; seeks {:?}",
                outcome.system,
                outcome.mean_response_ms,
                outcome.p95_ms,
                100.0 * outcome.work.busy_ms / outcome.work.end_ms,
                outcome.work.reads,
                outcome.work.writes,
                outcome.work.commits,
                outcome.work.copies,
                outcome.requests as f64 / took,
                outcome.seeks.distance_cylinders.bins(),
            );
        }
    }
    println!("{requests} requests in {seconds:.3} s: {:.0} a second", requests as f64 / seconds);
    Ok(())
}
