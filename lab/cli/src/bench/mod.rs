//! Running workloads: where (`bed`), one run (`job`), medians of several runs (`medians`).

pub(crate) mod bed;
pub(crate) mod job;
pub(crate) mod machine;
pub(crate) mod medians;
