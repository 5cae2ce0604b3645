//! Traces of real drives, and how far the times of a model are from them.
//!
//! The figure is that of Ruemmler and Wilkes (An introduction to disk drive modeling, 1994): the root mean square of
//! the horizontal distance between the two distributions of service time. It compares distributions, not requests: the
//! angle of the real platter is not known.

use crate::drive::Drive;
use crate::error::{TraceError, ValidateError};
use crate::profile::{Kind, Profile};
use crate::request::{Op, Options, Request};
use crate::units::{Lbn, Ms};

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRequest {
    /// The request.
    pub request: Request,
    /// Service time on the real drive, as the host saw it.
    pub measured: Ms,
    /// From its completion to the next request.
    pub idle: Ms,
}

/// Parses a trace: per line `R` or `W`, what the buffer did (not used), first block, blocks, service time and idle time
/// in microseconds, separated by blanks.
///
/// # Errors
///
/// Names the first line that does not have this form.
pub fn parse_trace(text: &str) -> Result<Vec<TraceRequest>, TraceError> {
    let mut trace = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what| TraceError { line: index + 1, what };
        let mut fields = line.split_ascii_whitespace();
        let op = match fields.next() {
            None => continue,
            Some("R") => Op::Read,
            Some("W") => Op::Write,
            Some(_) => return Err(wrong("field 1 is neither R nor W")),
        };
        let _buffer = fields.next().ok_or_else(|| wrong("fields are missing"))?;
        let mut number = |what| fields.next().and_then(|field| field.parse::<u64>().ok()).ok_or_else(|| wrong(what));
        let lbn = number("field 3 is no block number")?;
        let blocks = number("field 4 is no number of blocks")?;
        let mut time = |what| {
            let value = fields.next().and_then(|field| field.parse::<f64>().ok());
            value.filter(|value| value.is_finite() && *value >= 0.0).map(|us| Ms(us / 1e3)).ok_or_else(|| wrong(what))
        };
        let measured = time("field 5 is no time in microseconds")?;
        let idle = time("field 6 is no time in microseconds")?;
        if fields.next().is_some() {
            return Err(wrong("there are more than six fields"));
        }
        trace.push(TraceRequest { request: Request { op, lbn: Lbn(lbn), blocks, fua: false }, measured, idle });
    }
    Ok(trace)
}

/// The service time of each request of a trace on `drive`: each is issued the idle time of its predecessor after that
/// one has completed.
///
/// # Errors
///
/// If the drive rejects a request.
pub fn replay(drive: &mut Drive, trace: &[TraceRequest]) -> Result<Vec<Ms>, ValidateError> {
    let mut now = drive.free_at();
    let mut times = Vec::with_capacity(trace.len());
    for (index, line) in trace.iter().enumerate() {
        let done = drive.submit(now, line.request).map_err(|cause| ValidateError::Request { index, cause })?.at;
        if !done.0.is_finite() {
            return Err(ValidateError::Time { index });
        }
        times.push(done - now);
        now = done + line.idle;
    }
    Ok(times)
}

/// How far a model is from a real drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demerit {
    /// Requests compared.
    pub requests: usize,
    /// Mean service time of the real drive.
    pub measured_mean: Ms,
    /// Mean service time of the model.
    pub simulated_mean: Ms,
    /// The figure as DiskSim's own tool computes it, from histograms.
    pub ms: Ms,
    /// `ms` in percent of the real drive's mean.
    pub percent: f64,
    /// The figure from the times themselves.
    pub exact_ms: Ms,
    /// `exact_ms` in percent of the real drive's mean.
    pub exact_percent: f64,
}

/// Replays `trace` on the drive of `profile`, with the values that its validation run replaces, with DiskSim's
/// behaviour.
///
/// # Errors
///
/// If the trace is empty or the drive rejects a request.
pub fn validate(profile: Profile, trace: &[TraceRequest]) -> Result<Demerit, ValidateError> {
    let options = options(&profile);
    let mut drive = Drive::with(profile.for_validation(), options);
    let simulated = replay(&mut drive, trace)?;
    let measured: Vec<Ms> = trace.iter().map(|line| line.measured).collect();
    demerit(&measured, &simulated).ok_or(ValidateError::Nothing)
}

/// DiskSim 4.0's behaviour for this drive: it begins an access where the head lands only on drives with an indexed
/// layout.
pub fn options(profile: &Profile) -> Options {
    let indexed = matches!(&profile.kind, Kind::Disk(disk) if disk.geometry.is_indexed());
    Options { read_on_arrival: indexed, ..Options::disksim() }
}

/// The distance of two samples of service time; `None` if one is empty or they differ in size.
pub fn demerit(measured: &[Ms], simulated: &[Ms]) -> Option<Demerit> {
    if measured.is_empty() || measured.len() != simulated.len() {
        return None;
    }
    let count = measured.len() as f64;
    let mean = |times: &[Ms]| times.iter().map(|time| time.0).sum::<f64>() / count;
    let (measured_mean, simulated_mean) = (mean(measured), mean(simulated));
    let ascending = |times: &[Ms]| {
        let mut times: Vec<f64> = times.iter().map(|time| time.0).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let pairs = ascending(measured).into_iter().zip(ascending(simulated));
    let exact = (pairs.map(|(m, s)| (s - m) * (s - m)).sum::<f64>() / count).sqrt();
    let binned = Curve::of(measured).distance(&Curve::of(simulated));
    let percent = |ms: f64| 100.0 * ms / measured_mean;
    Some(Demerit {
        requests: measured.len(),
        measured_mean: Ms(measured_mean),
        simulated_mean: Ms(simulated_mean),
        ms: Ms(binned),
        percent: percent(binned),
        exact_ms: Ms(exact),
        exact_percent: percent(exact),
    })
}

const BINS: usize = 1750;
/// Steps of the fraction at which the two curves are compared.
const STEPS: u32 = 10_000;

/// A distribution by bins that grow by one percent: time in milliseconds with three decimals, and the fraction of
/// requests below it with six.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    fn of(times: &[Ms]) -> Curve {
        let mut edges = vec![0_u64];
        for bin in 1..=BINS {
            let edge: u64 = edges[bin - 1];
            edges.push(edge.saturating_add(1 + edge / 100));
        }
        let mut counts = vec![0_u64; BINS];
        for time in times {
            let us = (time.0 * 1e3) as u64;
            counts[(edges.partition_point(|edge| *edge <= us) - 1).min(BINS - 1)] += 1;
        }
        let mut below = 0;
        let mut points = Vec::with_capacity(BINS + 1);
        for (bin, edge) in edges.iter().enumerate() {
            let fraction = below as f64 / times.len() as f64;
            let six = ((fraction * 1e6 + 0.5) as u64) as f64 / 1e6;
            points.push((*edge as f64 / 1e3, six));
            below += counts.get(bin).copied().unwrap_or(0);
        }
        Curve(points)
    }

    /// The time at which the curve reaches `fraction`.
    fn time(&self, fraction: f64) -> f64 {
        let above = self.0.partition_point(|(_, reached)| *reached < fraction);
        match (above.checked_sub(1).map(|below| self.0[below]), self.0.get(above)) {
            (Some((t0, f0)), Some((t1, f1))) => t0 + (t1 - t0) * (fraction - f0) / (f1 - f0),
            (Some((t0, _)), None) => t0,
            (None, Some((t1, _))) => *t1,
            (None, None) => 0.0,
        }
    }

    fn distance(&self, other: &Curve) -> f64 {
        let squares = (1..=STEPS).map(|step| {
            let fraction = f64::from(step) / f64::from(STEPS);
            let apart = self.time(fraction) - other.time(fraction);
            apart * apart
        });
        (squares.sum::<f64>() / f64::from(STEPS)).sqrt()
    }
}
