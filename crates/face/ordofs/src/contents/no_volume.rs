//! What is said when no volume was found.

/// What is there instead of a volume, and what to do about it, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{is}, and no volume of UFS or LFS; {advice}")]
pub struct NoVolume {
    is: String,
    advice: String,
}

impl NoVolume {
    pub(super) fn new(is: impl Into<String>, advice: impl Into<String>) -> NoVolume {
        NoVolume { is: is.into(), advice: advice.into() }
    }
}
