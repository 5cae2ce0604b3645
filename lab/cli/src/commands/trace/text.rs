//! A trace as text: when, what, and why.

use ordo_crash::trace::{Held, Kind, Trace, What};

/// Room for the time.
const MARGIN: usize = 12;

/// The whole text.
pub(super) fn of(trace: &Trace) -> String {
    let mut text = format!("{}\nscheme {}, disk {}\n", trace.call, trace.scheme, trace.disk);
    for call in &trace.setup {
        text += &format!("before: {call}\n");
    }
    text.push('\n');
    let mut shown = None;
    for event in &trace.events {
        let time = if shown == Some(event.us) { String::new() } else { seconds(event.us) };
        shown = Some(event.us);
        for (index, line) in lines(&event.what).into_iter().enumerate() {
            let time = if index == 0 { time.as_str() } else { "" };
            text += &format!("{time:>MARGIN$}  {line}\n");
        }
    }
    text.push('\n');
    text += &summary(trace);
    text
}

fn summary(trace: &Trace) -> String {
    let mut text = String::new();
    if let Some(why) = &trace.refused {
        text += &format!("the call was refused: {why}\n");
    }
    let sync = if trace.needed_sync { ", after a sync" } else { "" };
    text +=
        &format!("returned after {}, durable after {}{sync}\n", seconds(trace.returned_us), seconds(trace.durable_us));
    let commit = ordofs::COMMIT.as_secs();
    if trace.durable_us > commit * 1_000_000 {
        text += &format!(
            "(a mount writes a change after {commit} s, or -o commit=; here it may wait 30 s, as in the papers' systems)\n"
        );
    }
    let Trace { writes, rollbacks, waits, flushes, .. } = trace;
    text + &format!("writes {writes}, of these rolled back {rollbacks}; waits {waits}; flushes {flushes}\n")
}

/// A time in seconds, to the microsecond.
pub(super) fn seconds(us: u64) -> String {
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

fn lines(what: &What) -> Vec<String> {
    let one = |line: String| vec![line];
    match what {
        What::Call { says, answer } if answer.is_empty() => one(says.clone()),
        What::Call { says, answer } => vec![says.clone(), format!("    -> {answer}")],
        What::Step { number, says, made, answer, .. } => {
            let mut lines = vec![format!("{number:>3} {says}")];
            lines.extend(made.iter().map(|held| format!("    {}", dependency(held))));
            lines.extend((!answer.is_empty()).then(|| format!("    -> {answer}")));
            lines
        }
        What::Returns => one("the call returns".into()),
        What::Leaves { buf, image, rolled_back: false, .. } => one(format!("leaves: {buf}, image {image}")),
        What::Leaves { buf, image, undone, .. } => {
            let mut lines = vec![format!("leaves: {buf}, image {image}, rolled back")];
            lines.extend(undone.iter().map(|held| format!("    without {}{}", held.what, until(held))));
            lines
        }
        What::Waits { buf, until } if until.is_empty() => one(format!("waits: {buf}")),
        What::Waits { buf, until } => one(format!("waits: {buf}, until {} is durable", until.join(" and "))),
        What::Landed { buf, image } => one(format!("durable: {buf}, image {image}")),
        What::Log { says, holds } => {
            std::iter::once(format!("written: {says}")).chain(holds.iter().map(|held| format!("    {held}"))).collect()
        }
        What::Flush => one("the disk flushes".into()),
        What::Flushed => one("the disk has flushed".into()),
        What::Freed { what } => one(format!("ripe: {what}")),
        What::Sync => one("sync: nothing more would be written, or flushed".into()),
        What::Durable => one("everything is durable".into()),
    }
}

/// A dependency in words.
pub(super) fn dependency(held: &Held) -> String {
    let (what, buf) = (&held.what, &held.buf);
    match held.how {
        Kind::RolledBack => format!("held: {what}, in {buf}{}", until(held)),
        Kind::Waits => format!("held: {buf}{}", until(held)),
        Kind::Kept => format!("kept: {what}{}", until(held)),
    }
}

/// What must be durable first, and by which rule.
pub(super) fn until(held: &Held) -> String {
    let until: Vec<String> = held.until.iter().map(|until| format!("{} ({})", until.buf, until.rule)).collect();
    match until[..] {
        [] => String::new(),
        _ => format!(", until durable: {}", until.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_crash::trace::Until;

    #[test]
    fn a_dependency_says_what_is_held_where_and_until_when() {
        let until = vec![Until { buf: "inode block @8".into(), rule: "inode-before-name" }];
        let held = |how| Held { buf: "directory block 0".into(), what: "entry".into(), how, until: until.clone() };
        assert_eq!(
            [Kind::RolledBack, Kind::Waits, Kind::Kept].map(|how| dependency(&held(how))),
            [
                "held: entry, in directory block 0, until durable: inode block @8 (inode-before-name)",
                "held: directory block 0, until durable: inode block @8 (inode-before-name)",
                "kept: entry, until durable: inode block @8 (inode-before-name)"
            ]
        );
        assert_eq!(seconds(30_000_213), "30.000213 s");
    }
}
