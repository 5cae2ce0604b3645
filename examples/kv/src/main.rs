//! `ordo-kv DIR put KEY VALUE | get KEY | remove KEY | keys | fill`: the store from the command line.

#![forbid(unsafe_code)]

use anyhow::bail;
use kv::Kv;
use ordo_wafs::MountOptions;
use std::io::{Write, stdout};

/// Bytes of the log of a new store.
const LOG: u64 = 4 << 20;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (dir, words) = match &words[..] {
        [dir, words @ ..] => (dir, words),
        [] => bail!("usage: ordo-kv DIR put KEY VALUE | get KEY | remove KEY | keys | fill"),
    };
    let kv = Kv::open(dir, LOG, MountOptions::default())?;
    match words {
        ["put", key, value] => kv.put(key.as_bytes(), value.as_bytes())?,
        ["remove", key] => kv.remove(key.as_bytes())?,
        ["get", key] => match kv.get(key.as_bytes()) {
            Some(value) => stdout().write_all(&value)?,
            None => bail!("no value for {key:?}"),
        },
        ["keys"] => kv.keys().iter().try_for_each(|key| writeln!(stdout(), "{}", String::from_utf8_lossy(key)))?,
        ["fill"] => fill(&kv)?,
        _ => bail!("put KEY VALUE, get KEY, remove KEY, keys or fill"),
    }
    Ok(())
}

/// Changes values without end, from four threads, and prints each change when it is durable: something to kill.
fn fill(kv: &Kv) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for count in 0u64.. {
                    let (key, value) = (format!("{thread}-{}", count % 50), format!("{count}{}", " ".repeat(1000)));
                    let done = kv.put(key.as_bytes(), value.as_bytes()).is_ok();
                    if !done || writeln!(stdout(), "{key} {count}").is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(())
}
