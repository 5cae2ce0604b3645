//! What keeps the order of a volume, as an exploration mounts it.

use crate::record::honest;
use crate::{Error, Plan};
use ordo_buf::Scheme;
use ordofs::LayoutName;
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

impl Plan {
    /// What is explored.
    ///
    /// # Errors
    /// Those of [`Plan::scheme`].
    pub(crate) fn order(&self) -> Result<Order, Error> {
        if self.layout() == LayoutName::Ffs {
            return self.scheme().map(Order::Scheme);
        }
        let around = self.mutilate.clone().map(|mutilate| -> Around { Rc::new(move |scheme| mutilate(scheme)) });
        Ok(Order::Log { without: self.settings.without.clone(), around })
    }

    /// What the explorer itself mounts with after a recovery: `scheme`, or the log with all its rules.
    pub(crate) fn honest(&self, scheme: &str) -> Result<Order, Error> {
        match self.layout() {
            LayoutName::Lfs => Ok(Order::Log { without: BTreeSet::new(), around: None }),
            _ => honest(scheme, &self.settings).map(Order::Scheme),
        }
    }
}
