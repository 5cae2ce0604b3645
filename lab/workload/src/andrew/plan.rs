//! The source that `andrew` copies and compiles: its directories, and its files with their sizes.

use crate::contents;
use crate::paths::join;
use ordo_rt::Rng;

const PARTS: usize = 5;

/// The directories of a part, each with the index of its parent.
pub(super) const DIRS: [(&str, usize); 4] = [("testfs", 0), ("include", 0), ("sys", 1), ("netinet", 1)];

/// Files of a part.
const SOURCES: usize = 8;
const HEADERS: usize = 5;
const OTHERS: usize = 1;

/// The name of a directory of a part.
pub(super) fn dir_name(part: usize, dir: usize) -> String {
    if dir == 0 { format!("{}{}", DIRS[0].0, part + 1) } else { DIRS[dir].0.to_owned() }
}

/// Its path under `top`.
pub(super) fn dir_path(top: &str, part: usize, dir: usize) -> String {
    let above = if dir == 0 { top.to_owned() } else { dir_path(top, part, DIRS[dir].1) };
    join(&above, &dir_name(part, dir))
}

/// A file of the source.
pub(super) struct Planned {
    /// Number of its directory: the directories of a part follow those of the part before.
    pub(super) dir_no: usize,
    pub(super) name: String,
    pub(super) size: u64,
}

/// The files of one kind: a number for each part, about `mean` bytes each.
fn plan_of(
    rng: &mut Rng,
    in_part: usize,
    mean: u64,
    dir: fn(usize) -> usize,
    name: fn(usize) -> String,
) -> Vec<Planned> {
    let sizes = contents::sizes(rng, (PARTS * in_part) as u64, mean, mean / 2);
    let plan = |(no, size): (usize, u64)| Planned {
        dir_no: no / in_part * DIRS.len() + dir(no % in_part),
        name: name(no % in_part),
        size,
    };
    sizes.into_iter().enumerate().map(plan).collect()
}

/// The files of the source, part after part.
pub(super) struct Plan {
    pub(super) sources: Vec<Planned>,
    pub(super) headers: Vec<Planned>,
    pub(super) others: Vec<Planned>,
}

impl Plan {
    pub(super) fn new(seed: u64) -> Plan {
        let rng = &mut Rng::new(seed);
        Plan {
            sources: plan_of(rng, SOURCES, 3500, |_| 0, |no| format!("s{no}.c")),
            headers: plan_of(rng, HEADERS, 2000, |no| 1 + no % 3, |no| format!("h{no}.h")),
            others: plan_of(rng, OTHERS, 2000, |_| 0, |_| "Makefile".to_owned()),
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Planned> {
        self.sources.iter().chain(&self.headers).chain(&self.others)
    }

    /// The headers that the source with this number includes.
    pub(super) fn headers_of(&self, source_no: usize, count: u64) -> impl Iterator<Item = &Planned> {
        let first = source_no / SOURCES * HEADERS;
        let part = &self.headers[first..first + HEADERS];
        (0..count).map(move |no| &part[(no % HEADERS as u64) as usize])
    }
}

/// The numbers of all directories, with the part of each and its index in the part.
pub(super) fn dirs() -> impl Iterator<Item = (usize, usize)> {
    (0..PARTS).flat_map(|part| (0..DIRS.len()).map(move |dir| (part, dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_as_large_as_that_of_the_original() {
        for seed in [42, 43] {
            let plan = Plan::new(seed);
            assert_eq!(plan.files().count(), 70);
            assert_eq!(plan.files().map(|file| file.size).sum::<u64>(), 200_000);
            assert_eq!(dirs().count(), 20);
            assert!((0..20).all(|dir_no| plan.files().any(|file| file.dir_no == dir_no)));
            assert_eq!(plan.headers_of(SOURCES, 6).map(|file| file.dir_no).collect::<Vec<_>>(), [5, 6, 7, 5, 6, 5]);
        }
    }
}
