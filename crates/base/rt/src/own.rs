//! An executor with an owner.

use crate::Rt;
use std::ops::Deref;

/// An executor on the machine's clock for one piece of work, whose tasks end with it on every way out, errors too
/// (rt-7).
pub struct OwnRt(Rt);

impl OwnRt {
    /// A new one, as [`Rt::real_time`].
    pub fn real_time() -> OwnRt {
        OwnRt(Rt::real_time())
    }
}

impl Deref for OwnRt {
    type Target = Rt;

    fn deref(&self) -> &Rt {
        &self.0
    }
}

impl Drop for OwnRt {
    fn drop(&mut self) {
        self.0.drop_tasks();
    }
}
