//! The servers whose use is simulated: the calibration table of `ordo age` and of the aging study.
//!
//! From the study (Seltzer, Smith and others, USENIX 1995, Table 4 and section 5) are the shape of each volume, its
//! age, what it holds, that `cnews` ran out of blocks by January and recovered, that `glan5` changes little, and that
//! the fill levels of some changed much. Everything else is chosen here, for these reasons:
//!
//! | what | value | reason |
//! | --- | --- | --- |
//! | sizes of files | `SURVEY`, `ARTICLES` | the survey of 1993; the news server of 2000 |
//! | files that go on the day that they are made | 60 % of those made by people, 40 % of those of a build | traces of Unix: most new files live less than a day (Ousterhout and others 1985, Baker and others 1991); an object for each source |
//! | lasting files made or written again in a day | 1 % of what is there; administrators, who also build, 1.5 % | what a nightly increment saves on such a server |
//! | which of a directory's files are used | the youngest of three | most files die young, the others live long |
//! | installed software replaced in a day | 0.1 %, in whole packages; by administrators 0.5 % | a package in some days; "little turnover" |
//! | articles that come in a day | 1 % of the spool | a full feed had ten times as much; some turns of the whole spool are enough for its steady state |
//! | how long articles are kept | by group, 1 to 8 times as long as in the shortest | expiry lists had days for some hierarchies and months for others |
//! | header of an article | 700 bytes, written before the rest | the program learns from it where the article goes |
//! | who reaches the reserve | news | that it ran out of blocks with 16 % free says that a reserve of 10 % did not stop it |
//! | files of a directory | 12; of a newsgroup 60 | surveys of the time; the 75 articles of a group of the server of 2000 |
//! | fill levels | the courses | volumes of servers were full; a term fills accounts, and its end empties those of courses |
//!
//! R1. No number here is fitted to a single result of the study, but not all were chosen before a volume was seen.
//!     Six numbers and rules were changed after first volumes had been aged: articles below a kilobyte became rarer,
//!     headers are written first, news reaches the reserve, the youngest files are used most, articles are kept by
//!     classes of newsgroups, and installed software is left as it is within a fiftieth of its fill level. Without
//!     the first three the reserve stops `cnews` while it has whole blocks; with them it runs out of blocks, as it
//!     did. The youngest files leave old ones as they were. Where figures agree with the study on what these six
//!     decide, that confirms nothing.

use super::sizes::{ARTICLES, SURVEY, Sizes};

/// A server's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name in the study.
    pub name: &'static str,
    /// What it holds.
    pub what: &'static str,
    /// The volume that it had.
    pub volume: Volume,
    /// Months of use before the study.
    pub months: u32,
    /// The day of the study on which it was measured first.
    pub first: u32,
    /// How full it is, by day of the study: permille of what users may fill, straight between the days named.
    pub course: &'static [(u32, u32)],
    /// How far it sways from that, in permille.
    pub sway: u32,
    /// Whether its users reach the reserve.
    pub reserve: bool,
    /// What it is used for.
    pub uses: &'static [Use],
}

/// The shape of a volume, in blocks of 8 KB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// Cylinder groups.
    pub groups: u32,
    /// Blocks of each.
    pub blocks: u32,
}

/// One use of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// How it behaves.
    pub kind: Kind,
    /// Permille of what is filled.
    pub share: u32,
    /// What is written on a day and lasts, in tenths of a permille of what is there.
    pub turnover: u32,
    /// Percent of the files made that go on the same day.
    pub passing: u32,
    /// Sizes of its files.
    pub sizes: Sizes,
    /// Files of a directory, in the mean.
    pub files: u32,
    /// Bytes of a file that are written before the rest: the header of an article.
    pub first: u64,
}

/// How a use behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Articles come into newsgroups, each into another one than the last, and the oldest go.
    Spool,
    /// People work in a few directories at a time: they make files, write them again, append to them, remove them.
    Accounts,
    /// Packages are built and installed, and whole ones go.
    Packages,
}

const ACCOUNTS: Use =
    Use { kind: Kind::Accounts, share: 1000, turnover: 100, passing: 60, sizes: SURVEY, files: 12, first: 0 };
const PACKAGES: Use =
    Use { kind: Kind::Packages, share: 1000, turnover: 10, passing: 40, sizes: SURVEY, files: 12, first: 0 };
const SPOOL: Use =
    Use { kind: Kind::Spool, share: 1000, turnover: 100, passing: 0, sizes: ARTICLES, files: 60, first: 700 };

/// All profiles: the six servers of the study, and one that is none of them.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "cnews",
        what: "news articles and software",
        volume: Volume { groups: 49, blocks: 1539 },
        months: 31,
        first: 0,
        // It ran out of blocks by January; then articles were kept for a shorter time.
        course: &[(0, 900), (60, 980), (80, 1060), (105, 1060), (130, 850), (279, 880)],
        sway: 20,
        reserve: true,
        uses: &[Use { share: 800, ..SPOOL }, Use { share: 200, ..PACKAGES }],
    },
    Profile {
        name: "glan5",
        what: "installed software and sources",
        volume: Volume { groups: 89, blocks: 2596 },
        months: 24,
        first: 6,
        course: &[(0, 850), (279, 900)],
        sway: 4,
        reserve: false,
        uses: &[PACKAGES],
    },
    Profile {
        name: "staff",
        what: "system administrators' accounts",
        volume: Volume { groups: 31, blocks: 1539 },
        months: 30,
        first: 0,
        course: &[(0, 900), (98, 940), (188, 880), (279, 920)],
        sway: 40,
        reserve: false,
        uses: &[Use { share: 700, turnover: 150, ..ACCOUNTS }, Use { share: 300, turnover: 50, ..PACKAGES }],
    },
    Profile {
        name: "usr4",
        what: "user accounts",
        volume: Volume { groups: 85, blocks: 1520 },
        months: 17,
        first: 6,
        course: &[(0, 850), (279, 920)],
        sway: 30,
        reserve: false,
        uses: &[ACCOUNTS],
    },
    Profile {
        name: "usr6",
        what: "course accounts; accounts of first-year graduate students",
        volume: Volume { groups: 85, blocks: 1520 },
        months: 14,
        first: 6,
        // Two terms, and the holidays behind each.
        course: &[(0, 780), (60, 900), (80, 750), (210, 920), (240, 700), (279, 680)],
        sway: 30,
        reserve: false,
        uses: &[ACCOUNTS],
    },
    Profile {
        name: "white",
        what: "user accounts for theory",
        volume: Volume { groups: 40, blocks: 1520 },
        months: 14,
        first: 6,
        course: &[(0, 800), (279, 880)],
        sway: 30,
        reserve: false,
        uses: &[ACCOUNTS],
    },
    Profile {
        name: "neutral",
        what: "accounts, some software and a little news, as on a machine that does everything",
        volume: Volume { groups: 40, blocks: 1520 },
        months: 12,
        first: 6,
        course: &[(0, 800), (279, 850)],
        sway: 30,
        reserve: false,
        uses: &[
            Use { share: 600, ..ACCOUNTS },
            Use { share: 300, ..PACKAGES },
            Use { share: 100, turnover: 300, ..SPOOL },
        ],
    },
];

impl Profile {
    /// The profile called `name`.
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}
