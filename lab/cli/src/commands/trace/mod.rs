//! `ordo trace`
//!
//! `parse` parses what to explain, `text` and `picture` show it; `columns` computes places in the picture. `record`
//! records what is done to a mount, `replay` does it again on a modelled drive.

mod args;
mod columns;
mod flushes;
mod parse;
mod picture;
mod record;
mod replay;
mod svg;
mod text;

pub(crate) use args::Args;

use crate::made::{self, Told};
use crate::out::{Outcome, Status, print};
use anyhow::Context;
use args::Command;
use ordo_crash::Device;

/// What a create in an existing directory makes durable under a scheme, on the disk of 1994: a picture, and a text.
pub(crate) fn a_create(scheme: &str) -> anyhow::Result<(String, String)> {
    let owned = |text: &str| text.to_owned();
    let request = parse::read(&Args {
        command: None,
        explain: true,
        scheme: Some(owned(scheme)),
        layout: None,
        set: Vec::new(),
        disk: owned("scsi94"),
        setup: vec![owned("mkdir /a")],
        at_once: false,
        seed: 0,
        svg: None,
        json: false,
        call: vec![owned("create"), owned("/a/f")],
    })?;
    let trace = ordo_crash::trace::trace(&request).map_err(parse::trace_error)?;
    Ok((picture::draw(&trace), text::of(&trace)))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Some(Command::Flushes(args)) => flushes::run(args),
        Some(Command::Record(args)) => record::run(args),
        Some(Command::Replay(args)) => replay::run(args),
        None => explain(args),
    }
}

fn explain(args: &Args) -> Outcome {
    let request = parse::read(args)?;
    let trace = ordo_crash::trace::trace(&request).map_err(parse::trace_error)?;
    if let Some(path) = &args.svg {
        std::fs::write(path, picture::draw(&trace)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let disk_says = Device::by_name(&args.disk).map(|device| device.says.to_owned());
    let told =
        Told { document: &trace, made: Some(made::in_virtual_time()), disk_says, promises: None, left_out: Vec::new() };
    print(|out| if args.json { out.json(&told) } else { out.bytes(text::of(&trace).as_bytes()) })?;
    Ok(Status(u8::from(trace.refused.is_some())))
}
