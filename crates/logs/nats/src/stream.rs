//! A stream that is open, and making one.

use crate::client::{self, Ask, Reply};
use crate::settings::{self, MESSAGE, Settings};
use crate::{Address, BadAddress};
use async_nats::jetstream::Context;
use bytes::Bytes;
use ordo_disk::{Answered, LogStream, Messages, StreamError, StreamLimits, StreamState};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

/// Bytes of a message's headers, its subject, and what a server's file has beside it.
const OVERHEAD: u64 = 384;

/// Why there is no stream to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// No server can be reached, or none accepts this client.
    #[error("{address}: no server can be used: {why}")]
    Connect {
        /// The address, without a password.
        address: String,
        /// Why.
        why: String,
    },
    /// The servers have no such stream.
    #[error("{address}: there is no such stream; make it: ordo wafs mkfs --size SIZE --replicas 3 {address}")]
    NoStream {
        /// The address, without a password.
        address: String,
    },
    /// The stream is not set as a log needs it (nats-1).
    #[error("{address}: no log may lie in this stream: {faults}; make one of its own: ordo wafs mkfs")]
    Unfit {
        /// The address, without a password.
        address: String,
        /// What is wrong.
        faults: String,
    },
    /// There is a stream of this name already.
    #[error(
        "{address}: there is such a stream already; name another one, or give --force to remove it with all it holds"
    )]
    Exists {
        /// The address, without a password.
        address: String,
    },
    /// The servers do not make the stream.
    #[error("{address}: the stream cannot be made: {why}")]
    NotMade {
        /// The address, without a password.
        address: String,
        /// Why.
        why: String,
    },
    /// No thread, or no executor.
    #[error("the client cannot be started: {0}")]
    Thread(String),
}

/// A stream. Its thread ends with the last handle.
#[derive(Clone)]
pub struct NatsStream {
    name: String,
    limits: StreamLimits,
    asks: mpsc::UnboundedSender<Ask>,
    timeout: Option<Duration>,
}

fn executor() -> Result<Runtime, NatsError> {
    Builder::new_current_thread().enable_all().build().map_err(|error| NatsError::Thread(error.to_string()))
}

async fn connect(address: &Address) -> Result<Context, NatsError> {
    let connected = client::connect(address).await;
    connected.map_err(|why| NatsError::Connect { address: address.to_string(), why })
}

/// Makes the stream at this address. With `force` one that is there is removed first, with all that it holds.
///
/// # Errors
/// [`NatsError`].
pub fn make(address: &str, settings: Settings, force: bool) -> Result<(), NatsError> {
    let address: Address = address.parse()?;
    let named = || address.to_string();
    executor()?.block_on(async {
        let context = connect(&address).await?;
        let not_made = |why| NatsError::NotMade { address: named(), why };
        match client::find(&context, &address.stream).await {
            Ok(None) => {}
            Ok(Some(_)) if force => {
                let deleted = context.delete_stream(&address.stream).await;
                deleted.map_err(|error| not_made(error.to_string()))?;
            }
            Ok(Some(_)) => return Err(NatsError::Exists { address: named() }),
            Err(why) => return Err(NatsError::Connect { address: named(), why }),
        }
        client::create(&context, settings.config(&address.stream)).await.map_err(not_made)
    })
}

impl NatsStream {
    /// Opens the stream at this address.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn open(address: &str) -> Result<NatsStream, NatsError> {
        let address: Address = address.parse()?;
        let (asks, heard) = mpsc::unbounded_channel();
        let (told, opened) = std::sync::mpsc::sync_channel::<Result<StreamLimits, NatsError>>(1);
        let (name, timeout, executor) = (address.to_string(), address.timeout, executor()?);
        let work = async move {
            let ready = async {
                let context = connect(&address).await?;
                let (stream, limits) = fit(&context, &address).await?;
                Ok::<_, NatsError>((context, stream, limits))
            };
            let (context, stream, limits) = match ready.await {
                Ok(ready) => ready,
                // The thread that opens waits for this.
                Err(error) => return drop(told.send(Err(error))),
            };
            let _ = told.send(Ok(limits));
            client::serve(context, stream, address.stream, heard).await;
        };
        let thread = std::thread::Builder::new().name("ordo-nats".into());
        thread.spawn(move || executor.block_on(work)).map_err(|error| NatsError::Thread(error.to_string()))?;
        let ended = || NatsError::Thread("its thread has ended".into());
        let limits = opened.recv().map_err(|_| ended())??;
        Ok(NatsStream { name, limits, asks, timeout })
    }

    /// As the stream of a log, with the patience that the address asks for.
    pub fn log(self) -> LogStream {
        let patience = self.timeout.unwrap_or(LogStream::PATIENCE);
        LogStream { patience, ..LogStream::new(std::rc::Rc::new(self)) }
    }

    fn ask<T: 'static>(&self, ask: impl FnOnce(Reply<T>) -> Ask) -> Answered<T> {
        let (reply, answer) = oneshot::channel();
        let sent = self.asks.send(ask(reply)).is_ok();
        Box::pin(async move {
            let ended = || StreamError::Refused("the client has ended".into());
            if !sent {
                return Err(ended());
            }
            answer.await.unwrap_or_else(|_| Err(ended()))
        })
    }
}

/// The stream, if a log may lie in it (nats-1); and what it takes.
async fn fit(
    context: &Context,
    address: &Address,
) -> Result<(async_nats::jetstream::stream::Stream, StreamLimits), NatsError> {
    let found = client::find(context, &address.stream).await;
    let found = found.map_err(|why| NatsError::Connect { address: address.to_string(), why })?;
    let stream = found.ok_or_else(|| NatsError::NoStream { address: address.to_string() })?;
    let config = &stream.cached_info().config;
    let mut faults = settings::unfit(config);
    let payload = context.client().server_info().max_payload.min(MESSAGE);
    let own = usize::try_from(config.max_message_size).unwrap_or(MESSAGE);
    // The server's limit counts the headers, too.
    let message = payload.min(own).saturating_sub(OVERHEAD as usize);
    if message < 4096 {
        faults.push(format!("its messages have {message} bytes at most"));
    }
    if !faults.is_empty() {
        return Err(NatsError::Unfit { address: address.to_string(), faults: faults.join("; ") });
    }
    let bytes = u64::try_from(config.max_bytes).unwrap_or(0);
    Ok((stream, StreamLimits { bytes, message, overhead: OVERHEAD }))
}

impl Messages for NatsStream {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn limits(&self) -> StreamLimits {
        self.limits
    }

    fn state(&self) -> Answered<StreamState> {
        self.ask(Ask::State)
    }

    fn publish(&self, after: u64, id: String, message: Bytes) -> Answered<u64> {
        self.ask(|reply| Ask::Publish { after, id, message, reply })
    }

    fn read(&self, number: u64) -> Answered<Option<Bytes>> {
        self.ask(|reply| Ask::Read(number, reply))
    }

    fn purge(&self, before: u64) -> Answered<()> {
        self.ask(|reply| Ask::Purge(before, reply))
    }
}
