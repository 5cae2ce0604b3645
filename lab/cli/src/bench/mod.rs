//! Running workloads: where (`bed`), on which new volume (`fresh`), one run (`job`), medians of several runs
//! (`medians`).

pub(crate) mod bed;
pub(crate) mod fresh;
pub(crate) mod job;
pub(crate) mod machine;
pub(crate) mod medians;
