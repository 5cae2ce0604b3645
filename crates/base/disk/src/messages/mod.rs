//! A stream of messages: where a log lies that has copies on several machines.
//!
//! A disk overwrites bytes at their places. A stream takes a message at its end, numbers it, and drops its oldest ones
//! when it is told to; a message never changes. So a log in a stream is no log on a disk: it has nothing to write over.
//!
//! G1. A message is durable when [`Messages::publish`] has returned its number: as many servers have it as the stream
//!     demands. What one power cut or several may still take away is the server's matter, and in its documents.
//! G2. A message is stored only directly behind the one that its writer names. So of two writers one is refused, and a
//!     message that arrives late, or a second time, is not stored between others.
//! G3. [`StreamError::NoAnswer`] says nothing about the message: it may be stored, and may be even later.
//! G4. A full stream refuses ([`StreamError::Full`]). It never drops a message by itself.

mod home;
mod overlay;
mod stream;

pub use home::{LogHome, LogStream, StreamEvent};
pub use overlay::OverlayStream;
pub use stream::{Answered, Messages, StreamError, StreamLimits, StreamState};
