//! Running workloads: where (`bed`), one run (`job`), several runs as one (`medians`).

pub(crate) mod bed;
pub(crate) mod job;
pub(crate) mod medians;
