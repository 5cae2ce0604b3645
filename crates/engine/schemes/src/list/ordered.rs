//! The part of the table with the schemes that leave the order to the disk's queue: `flag-*` and `chains-*`, in all
//! variants.

use super::known::Known;
use crate::{Chains, Flagged, Freeing, Settings};
use ordo_buf::{Scheme, WhileLeaving};
use ordo_disk::{Flag, Meaning};
use std::rc::Rc;

/// One meaning of the flag, in four forms.
macro_rules! flags {
    ($name:literal, $meaning:ident, $about:literal) => {
        [
            Known {
                name: $name,
                about: concat!($about, "; a block in flight is locked"),
                for_study: true,
                make: |settings| flagged($name, Meaning::$meaning, false, WhileLeaving::Lock, settings),
            },
            Known {
                name: concat!($name, "-nr"),
                about: concat!($about, "; reads pass; a block in flight is locked"),
                for_study: true,
                make: |settings| flagged(concat!($name, "-nr"), Meaning::$meaning, true, WhileLeaving::Lock, settings),
            },
            Known {
                name: concat!($name, "-cb"),
                about: $about,
                for_study: true,
                make: |settings| flagged(concat!($name, "-cb"), Meaning::$meaning, false, WhileLeaving::Copy, settings),
            },
            Known {
                name: concat!($name, "-nr-cb"),
                about: concat!($about, "; reads pass"),
                for_study: true,
                make: |settings| {
                    flagged(concat!($name, "-nr-cb"), Meaning::$meaning, true, WhileLeaving::Copy, settings)
                },
            },
        ]
    };
}

/// One way to free, in two forms.
macro_rules! chains {
    ($name:literal, $freeing:ident, $about:literal) => {
        [
            Known {
                name: $name,
                about: concat!($about, "; a block in flight is locked"),
                for_study: true,
                make: |settings| chained($name, Freeing::$freeing, WhileLeaving::Lock, settings),
            },
            Known {
                name: concat!($name, "-cb"),
                about: $about,
                for_study: true,
                make: |settings| chained(concat!($name, "-cb"), Freeing::$freeing, WhileLeaving::Copy, settings),
            },
        ]
    };
}

pub(crate) const FULL: [Known; 4] =
    flags!("flag-full", Full, "a flagged write waits for all before it, and all after it wait for it");
pub(crate) const BACK: [Known; 4] =
    flags!("flag-back", Back, "all writes after a flagged one wait for it and for all before it");
pub(crate) const PART: [Known; 4] = flags!("flag-part", Part, "all writes after a flagged one wait for it");
pub(crate) const IGNORE: [Known; 4] = flags!("flag-ignore", Ignore, "the same writes at the same time, in no order");
pub(crate) const SPECIFIC: [Known; 2] =
    chains!("chains", Specific, "each write names those that it follows, and nobody waits");
pub(crate) const BARRIER: [Known; 2] =
    chains!("chains-barrier", Barrier, "as chains, but what frees something holds back all after it");

fn flagged(
    name: &'static str,
    meaning: Meaning,
    reads_pass: bool,
    leaving: WhileLeaving,
    settings: &Settings,
) -> Rc<dyn Scheme> {
    let (flag, init) = (Flag { meaning, reads_pass }, settings.alloc_init.unwrap_or_default());
    Rc::new(Flagged::without(name, flag, leaving, init, settings.dropped()))
}

fn chained(name: &'static str, freeing: Freeing, leaving: WhileLeaving, settings: &Settings) -> Rc<dyn Scheme> {
    let init = settings.alloc_init.unwrap_or_default();
    Rc::new(Chains::without(name, freeing, leaving, init, settings.dropped()))
}
