//! The computing of a program between its calls.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Performs a program's own computing: a modelled processor in virtual time, shared among users.
///
/// A program only declares how much it computes ([`Session::compute`](crate::Session::compute)); it neither sleeps nor
/// spins (workload-1). On a real machine the declaration is ignored, so a program measures only the file system's part:
/// a real `cc` would add its own time, and does not run.
pub trait Compute {
    /// Computes for as long as `work` takes on an idle processor; longer if others compute too.
    fn compute(&self, work: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Session;
    use ordo_model::{MemFs, ready};
    use std::cell::Cell;

    /// Adds up the computing, and takes no time.
    #[derive(Default)]
    pub(crate) struct Sum(pub(crate) Cell<Duration>);

    impl Compute for Sum {
        fn compute(&self, work: Duration) -> Pin<Box<dyn Future<Output = ()> + '_>> {
            Box::pin(async move { self.0.set(self.0.get() + work) })
        }
    }

    #[test]
    fn computing_is_told_to_who_listens_and_costs_nothing_otherwise() {
        let (fs, sum) = (MemFs::timeless(), Sum::default());
        let work = Duration::from_millis(7);
        ready(async {
            Session::new(&fs).compute(work).await;
            let session = Session::with_compute(&fs, &sum);
            session.compute(work).await;
            session.compute(work).await;
        });
        assert_eq!(sum.0.get(), 2 * work);
    }
}
