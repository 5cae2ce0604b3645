//! The disks that `--disk` names.

use crate::out::usage;
use ordo_crash::{DEVICES, Device};

/// A device by name, all `honest` ones, or `all`.
///
/// # Errors
/// Wrong usage, with the possible values.
pub(super) fn find(name: &str) -> anyhow::Result<Vec<&'static Device>> {
    let found: Vec<_> = match name {
        "all" => DEVICES.iter().collect(),
        "honest" => DEVICES.iter().filter(|device| device.honest).collect(),
        name => DEVICES.iter().filter(|device| device.name == name).collect(),
    };
    if found.is_empty() {
        let known: Vec<_> = DEVICES.iter().map(|device| device.name).collect();
        return Err(usage(format!("no disk is called {name:?}; there are: {}, honest, all", known.join(", "))));
    }
    Ok(found)
}
