//! The layout figures of the servers' volumes at the four dates: the table of docs/workloads.md.
//!
//! `cargo run --release -p ordo-papers --example aged_ffs -- SEED [SERVER ...]`; without names all six.

#![allow(clippy::print_stdout)]

use ordo_papers::AgedFfs;
use ordo_workload::age::{PROFILES, Profile};
use ordofs::Part;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let seed = words.next().ok_or("the seed is missing")?.parse()?;
    let mut servers = Vec::new();
    for name in words {
        servers.push(Profile::named(&name).ok_or("no such server")?);
    }
    if servers.is_empty() {
        servers.extend(PROFILES.iter().filter(|profile| profile.name != "neutral"));
    }
    let percent = |part: Part| part.share().map_or_else(|| "-".to_owned(), |share| format!("{:.1}", share * 100.0));
    println!(
        "| server, date | files | in use | score | two blocks | two whole | 32 blocks | fragments | second half |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for profile in servers {
        for volume in (AgedFfs { profile, seed, groups: None, disk: None }).at_all_dates()? {
            let seen = &volume.placement;
            let parts = [
                seen.in_use(),
                seen.score,
                seen.two_blocks,
                seen.two_whole_blocks,
                seen.thirty_two_blocks,
                seen.free_in_fragments(),
                seen.free_in_second_half(),
            ];
            let parts = parts.map(percent).join(" | ");
            println!("| {}, {} | {} | {parts} |", profile.name, volume.date.name, seen.files);
        }
    }
    Ok(())
}
