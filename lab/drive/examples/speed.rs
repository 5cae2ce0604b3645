//! Requests per second that the model serves: `cargo run --profile dist -p ordo-drive --example speed [DRIVE
//! [REQUESTS]]`.
//!
//! The workload is the one with which the reference simulator was timed: open arrivals, exponential with a mean of 15
//! ms; two thirds reads; sizes exponential with a mean of 8 blocks, in multiples of 8; 20 % sequential, 30 % local
//! (normal, deviation 40,000 blocks), the rest anywhere; and the same with all of them anywhere.

use std::error::Error;

use ordo_drive::{Drive, Lbn, Ms, Op, Profile, Request};

/// Random numbers from a seed (SplitMix64).
struct Luck(u64);

impl Luck {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not including 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// The sum of twelve uniform numbers is close enough to normal.
    fn normal(&mut self, deviation: f64) -> f64 {
        ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0) * deviation
    }
}

fn workload(blocks: u64, requests: usize, sequential: f64, local: f64) -> Vec<(f64, Request)> {
    let mut luck = Luck(1);
    let (mut at, mut last, mut end) = (0.0, 0_u64, 0_u64);
    let mut made = Vec::with_capacity(requests);
    for _ in 0..requests {
        at += luck.exponential(15.0);
        let size = (luck.exponential(8.0) / 8.0).ceil().max(1.0) as u64 * 8;
        let kind = luck.unit();
        let lbn = if kind < sequential {
            end
        } else if kind < sequential + local {
            (last as f64 + luck.normal(40_000.0)).max(0.0) as u64
        } else {
            (luck.unit() * blocks as f64) as u64
        };
        let lbn = lbn.min(blocks - size);
        let op = if luck.unit() < 0.66 { Op::Read } else { Op::Write };
        (last, end) = (lbn, lbn + size);
        made.push((at, Request { op, lbn: Lbn(lbn), blocks: size, fua: false }));
    }
    made
}

#[expect(clippy::disallowed_methods, reason = "the wall clock is what is measured")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "seagate_cheetah_9lp".to_owned());
    let requests = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let profile = Profile::named(&name)?;
    for (what, sequential, local) in [("20 % sequential, 30 % local", 0.2, 0.3), ("all anywhere", 0.0, 0.0)] {
        let made = workload(profile.blocks(), requests, sequential, local);
        let (mut best, mut response) = (f64::INFINITY, 0.0);
        for _ in 0..5 {
            let mut drive = Drive::new(profile.clone());
            let began = now();
            response = 0.0;
            for (at, request) in &made {
                let start = Ms(*at).max(drive.free_at());
                response += drive.submit(start, *request)?.at.0 - at;
            }
            best = best.min(began.elapsed().as_secs_f64());
        }
        let rate = requests as f64 / best;
        let mean = response / requests as f64;
        println!("{name}, {what}: {requests} requests in {best:.3} s, {rate:.0} a second; mean response {mean:.2} ms");
    }
    Ok(())
}
