//! What each order needs for a case, worked out by hand: the fewest requests that keep what the scheme promises.

use super::Requests;
use ordo_schemes::{LogMode, Settings};

/// Schemes that need the same.
#[derive(Clone, Copy)]
enum Family {
    /// Everything waits for nothing.
    NoOrder,
    /// Inodes before names, contents before pointers; each call waits.
    Waiting,
    /// The same order, and calls do not wait for all of it.
    Delayed,
    SoftUpdates,
    Suj,
    /// A log of transactions; `true`: a call that changed names returns when it is durable.
    Journal(bool),
    Segments,
}

fn family(scheme: &str, settings: &Settings) -> Option<Family> {
    Some(match scheme {
        "async" => Family::NoOrder,
        // The same writes as with a flag that means something, in no order.
        name if name.starts_with("flag-ignore") => Family::NoOrder,
        "sync" => Family::Waiting,
        "softupdates" => Family::SoftUpdates,
        "suj" => Family::Suj,
        "journal-file" => Family::Journal(false),
        "wafs" => Family::Journal(settings.log_mode.unwrap_or_default() != LogMode::Async),
        "block-journal" | "active" => Family::Journal(settings.log_mode.is_some_and(|mode| mode != LogMode::Async)),
        "lfs" => Family::Segments,
        name if name == "conventional" || name.starts_with("flag-") || name.starts_with("chains") => Family::Delayed,
        _ => return None,
    })
}

/// The requests of a case.
pub(super) fn of(scheme: &str, settings: &Settings, case: &str) -> Option<Requests> {
    use Family::{Delayed, Journal, NoOrder, Segments, SoftUpdates, Suj, Waiting};
    let family = family(scheme, settings)?;
    let order = match (case, family) {
        ("nothing, fsync" | "nothing, sync", _) => "",
        ("overwrite, fdatasync", Segments) => "segment |",
        // The blocks have their places: nothing else is new.
        ("overwrite, fdatasync", _) => "data |",
        ("two overwrites at once, fdatasync", Segments) => "segment |",
        ("two overwrites at once, fdatasync", _) => "data, data |",
        // A partial segment has a checksum: all of it may be sent at once.
        (_, Segments) => "segment |",
        // Times alone: no order.
        ("overwrite, fsync", Journal(_)) => "data, log |",
        ("overwrite, fsync", _) => "data, inodes |",
        ("append, fdatasync" | "append, fsync", family) => match family {
            NoOrder => "data, inodes |",
            Waiting | Delayed => "data | inodes |",
            SoftUpdates => "data, group | inodes |",
            Suj => "data, log | group | inodes |",
            Journal(_) | Segments => "data | log!",
        },
        ("new empty file, fsync", family) => match family {
            NoOrder => "inodes |",
            Waiting | Delayed => "inodes | directory |",
            SoftUpdates => "group | inodes | directory |",
            Suj => "log | group | inodes | directory |",
            Journal(_) | Segments => "log!",
        },
        ("new file, fdatasync" | "new file, fsync" | "new file, sync", family) => match family {
            NoOrder if case == "new file, sync" => "data, inodes, directory, group |",
            NoOrder => "data, inodes |",
            // Its name is durable before there are contents.
            Waiting => "inodes | directory | data | inodes |",
            Delayed => "data | inodes | directory |",
            SoftUpdates => "data, group | inodes | directory |",
            Suj => "data, log | group | inodes | directory |",
            Journal(true) => "log!, data | log!",
            Journal(false) | Segments => "data | log!",
        },
        ("rename over a file, fdatasync", NoOrder) => "",
        ("rename over a file, fdatasync" | "rename over a file, fsync", family) => match family {
            NoOrder => "inodes |",
            // The link that is added, the name that is replaced, and the old name, which must not go first.
            Waiting | Delayed => "inodes | directory | directory |",
            // Both names are in one block.
            SoftUpdates => "inodes | directory |",
            Suj => "log | inodes | directory |",
            Journal(_) | Segments => "log!",
        },
        ("two new files at once in two directories, fsync", family) => match family {
            NoOrder => "data, data, inodes |",
            Waiting => "inodes, inodes | directory, directory | data, data | inodes, inodes |",
            Delayed => "data, data | inodes, inodes | directory, directory |",
            SoftUpdates => "data, data, group | inodes, inodes | directory, directory |",
            Suj => "data, data, log | group | inodes, inodes | directory, directory |",
            Journal(true) => "log!, data, data | log!",
            Journal(false) | Segments => "data, data | log!",
        },
        _ => return None,
    };
    Some(Requests::named(order))
}
