//! A disk drive in virtual time.
#![forbid(unsafe_code)]

mod error;
mod geometry;
mod profile;
mod seek;
mod units;

pub use error::{ProfileError, RequestError, TraceError, ValidateError};
pub use geometry::{Geometry, Place};
pub use profile::*;
pub use seek::SeekCurve;
pub use units::{Angle, Cylinder, Head, Lbn, Ms};
