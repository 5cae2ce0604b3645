//! The oracles by name. Each holds a scheme to something, and reports what should be and what is.
//!
//! | oracle | what it holds the scheme to |
//! | --- | --- |
//! | `recovers` | recovery ends, without a question and without a failure |
//! | `structure` | fsck finds nothing that the scheme does not declare |
//! | `durable` | names, files, data and attributes that were promised are there |
//! | `rename` | a file that had a durable name is not without one |
//! | `order` | the tree is that of some moment, where that is declared |
//! | `contents` | bytes are old, new, or not yet written |
//! | `foreign` | bytes are never another file's |
//! | `older` | what a sync made durable is in a log's older superblock alone: some systems do not roll forward |
//! | `works` | a second program runs on the recovered volume, and leaves it clean |
//! | `idempotent` | a second recovery changes nothing |
//! | `recovery-cut` | a recovery that is cut and begun again ends in the same tree |
//! | `peer` | the system whose journal it is ends in the same tree, on a sound volume |

/// An oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Oracle {
    Recovers,
    Structure,
    Durable,
    Rename,
    Order,
    Contents,
    Foreign,
    Older,
    Works,
    Idempotent,
    RecoveryCut,
    Peer,
}

impl std::fmt::Display for Oracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Oracle::Recovers => "recovers",
            Oracle::Structure => "structure",
            Oracle::Durable => "durable",
            Oracle::Rename => "rename",
            Oracle::Order => "order",
            Oracle::Contents => "contents",
            Oracle::Foreign => "foreign",
            Oracle::Older => "older",
            Oracle::Works => "works",
            Oracle::Idempotent => "idempotent",
            Oracle::RecoveryCut => "recovery-cut",
            Oracle::Peer => "peer",
        })
    }
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) oracle: Oracle,
    /// The subject.
    pub(crate) what: String,
    /// The expected state.
    pub(crate) should: String,
    /// The actual state.
    pub(crate) is: String,
}

impl Breach {
    pub(crate) fn new(oracle: Oracle, what: impl ToString, should: impl ToString, is: impl ToString) -> Breach {
        Breach { oracle, what: what.to_string(), should: should.to_string(), is: is.to_string() }
    }
}
