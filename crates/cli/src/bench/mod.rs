//! Running workloads: where (`bed`), one run (`job`), what the disk saw (`counted`), several runs as one (`medians`).

pub(crate) mod bed;
pub(crate) mod counted;
pub(crate) mod job;
pub(crate) mod medians;
