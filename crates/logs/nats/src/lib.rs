//! A stream of NATS JetStream as the place of a log: its records have copies on several servers.
//!
//! The protocol and the connection are the work of the client that NATS's makers keep (`async-nats`). This crate says
//! what a log needs of a stream, and translates: [`NatsStream`] is an [`ordo_disk::Messages`].
//!
//! J1. A stream is used only with the settings under which no acknowledged message goes away by itself ([`Settings`]):
//!     in files, full means refused, no age, no limit of messages, one subject that is the log's own. One that has
//!     other settings is refused, with what is wrong.
//! J2. Each message names the last one of the stream, and the server compares (messages-2). That a server takes it for
//!     a duplicate is no acknowledgement: some versions say so before the first one is safe. Then it is looked for.
//! J3. Whatever a server says that is no clear refusal counts as no answer (messages-3): no responder may mean that
//!     there is no leader just now.
//! J4. The client has a thread of its own, with an executor of tokio. Messages leave in the order of the calls.
#![forbid(unsafe_code)]

mod address;
mod client;
mod settings;
mod stream;

pub use address::{Address, BadAddress, SCHEME};
pub use settings::{REPLICAS, Settings};
pub use stream::{NatsError, NatsStream, make};
