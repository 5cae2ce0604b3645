//! `ordo workloads`

use crate::out::{Outcome, Status, print};
use crate::text;
use ordo_workload::{Parameter, Workload, workloads};
use serde::Serialize;

/// Lists the workloads of ordo bench
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo workloads\n  ordo workloads -p   (with parameters)\n  ordo workloads --json")]
pub(crate) struct Args {
    /// Also list the parameters (ordo bench --param)
    #[arg(short, long)]
    parameters: bool,
    /// One JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ParameterJson {
    name: &'static str,
    default: u64,
    about: &'static str,
}

#[derive(Serialize)]
struct WorkloadJson {
    name: &'static str,
    about: &'static str,
    parameters: Vec<ParameterJson>,
}

fn json(workload: &Workload) -> WorkloadJson {
    let parameter = |p: &Parameter| ParameterJson { name: p.key, default: p.default, about: p.what };
    let parameters = workload.parameters.iter().map(parameter).collect();
    WorkloadJson { name: workload.name, about: workload.what, parameters }
}

/// Lists them.
pub(crate) fn run(args: &Args) -> Outcome {
    let all = workloads();
    print(|out| {
        if args.json {
            return out.json(&all.iter().map(json).collect::<Vec<_>>());
        }
        let mut rows = Vec::new();
        for workload in &all {
            rows.push(vec![workload.name.to_owned(), workload.what.to_owned()]);
            let parameters = workload.parameters.iter().filter(|_| args.parameters);
            rows.extend(parameters.map(|p| vec![format!("  {}={}", p.key, p.default), p.what.to_owned()]));
        }
        out.bytes(text::table(2, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}
