//! What keeps the order of a volume, as an exploration mounts it.

use crate::Error;
use ordo_buf::Scheme;
use ordo_schemes::Settings;
use ordofs::lfs::Around;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A scheme, or the log of a log-structured volume.
pub(crate) enum Order {
    Scheme(Rc<dyn Scheme>),
    Log {
        /// Rules that are switched off.
        without: BTreeSet<String>,
        /// Around the scheme of the log.
        around: Option<Around>,
    },
}

impl From<Rc<dyn Scheme>> for Order {
    fn from(scheme: Rc<dyn Scheme>) -> Order {
        Order::Scheme(scheme)
    }
}

impl Order {
    /// The same, with something around it that sees what the engine reports.
    pub(crate) fn behind(self, watcher: Around) -> Order {
        match self {
            Order::Scheme(scheme) => Order::Scheme(watcher(scheme)),
            Order::Log { without, around } => {
                let both: Around = match around {
                    Some(inner) => Rc::new(move |scheme| watcher(inner(scheme))),
                    None => watcher,
                };
                Order::Log { without, around: Some(both) }
            }
        }
    }
}

/// A scheme that the explorer itself mounts with after a recovery: with these settings, and all its rules.
///
/// # Errors
/// There is no scheme of that name.
pub(crate) fn honest(scheme: &str, settings: &Settings) -> Result<Rc<dyn Scheme>, Error> {
    let known = ordo_schemes::by_name(scheme).ok_or_else(|| Error::NoScheme(scheme.into()))?;
    Ok(known.make(Settings { without: Default::default(), ..settings.clone() })?)
}
