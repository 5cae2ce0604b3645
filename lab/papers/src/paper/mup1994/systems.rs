//! The systems, by our names and by those of the paper's tables.

use ordofs::AllocInit;

const NAMES: [(&str, &str); 5] = [
    ("Conventional", "conventional"),
    ("Scheduler Flag", "flag-part-nr-cb"),
    ("Scheduler Chains", "chains"),
    ("Soft Updates", "soft-updates"),
    ("No Order", "no-order"),
];

/// The name of a system in the paper's tables.
pub(super) fn printed(system: &str) -> &str {
    NAMES.iter().find(|(_, key)| *key == system).map_or(system, |(name, _)| name)
}

pub(super) fn key(printed: &str) -> &str {
    NAMES.iter().find(|(name, _)| *name == printed).map_or(printed, |(_, key)| key)
}

/// The paper's name for a system, as scheme and initialisation.
pub(super) fn system(name: &str) -> (String, AllocInit) {
    let (name, init) = match name.strip_suffix("+ai") {
        Some(name) => (name, AllocInit::All),
        None => (name, AllocInit::Directories),
    };
    let scheme = match name {
        "no-order" => "async",
        "soft-updates" => "softupdates",
        "chains" => "chains-cb",
        "chains-nocb" => "chains",
        "chains-barrier" => "chains-barrier-cb",
        other => other,
    };
    (scheme.to_owned(), init)
}

/// The systems that the paper compares in section 5.
pub(super) const FIVE: [&str; 5] = ["conventional", "flag-part-nr-cb", "chains", "soft-updates", "no-order"];
