//! The client on a thread of its own (nats-4): what it is asked, and how its answers are understood (nats-3).

use crate::Address;
use crate::settings::subject;
use async_nats::ConnectOptions;
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use bytes::Bytes;
use ordo_disk::{StreamError, StreamState};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long a single request waits for its answer.
const REQUEST: Duration = Duration::from_secs(5);
/// The longest wait between two tries to connect again.
const RECONNECT: Duration = Duration::from_secs(1);
/// Messages whose acknowledgement is awaited, at most; more than any log has in flight.
const IN_FLIGHT: usize = 1024;

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, StreamError>>;

/// What the thread is asked.
pub(crate) enum Ask {
    State(Reply<StreamState>),
    Publish { after: u64, id: String, message: Bytes, reply: Reply<u64> },
    Read(u64, Reply<Option<Bytes>>),
    Purge(u64, Reply<()>),
}

/// Connects to one of the servers.
pub(crate) async fn connect(address: &Address) -> Result<Context, String> {
    let mut options = ConnectOptions::new()
        .name("ordofs")
        .connection_timeout(REQUEST)
        .request_timeout(Some(REQUEST))
        .max_reconnects(None)
        .reconnect_delay_callback(|tries| RECONNECT.min(Duration::from_millis(50 * tries as u64)));
    options = match address.credentials.clone() {
        Some((user, Some(password))) => options.user_and_password(user, password),
        Some((token, None)) => options.token(token),
        None => options,
    };
    let servers: Vec<String> = address.servers.iter().map(|(host, port)| format!("nats://{host}:{port}")).collect();
    let client = options.connect(servers).await.map_err(|error| error.to_string())?;
    let context = jetstream::ContextBuilder::new().timeout(REQUEST).ack_timeout(REQUEST).max_ack_inflight(IN_FLIGHT);
    Ok(context.build(client))
}

/// The stream of that name; `None`, if there is none.
pub(crate) async fn find(context: &Context, name: &str) -> Result<Option<Stream>, String> {
    match context.get_stream(name).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(why) if why.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
            _ => Err(unheard(whole(&error))),
        },
    }
}

/// The client's words for a request that no server takes say nothing of the cause.
fn unheard(why: String) -> String {
    match why.contains("resource does not exist") {
        true => "none answers for JetStream: it is off (nats-server -js), or no server leads the cluster now".into(),
        false => why,
    }
}

/// Makes a stream.
pub(crate) async fn create(context: &Context, config: Config) -> Result<(), String> {
    context.create_stream(config).await.map(|_| ()).map_err(|error| whole(&error))
}

/// An error with its causes: those of the client do not tell them.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Answers until nobody can ask any more.
pub(crate) async fn serve(context: Context, stream: Stream, name: String, mut asks: mpsc::UnboundedReceiver<Ask>) {
    let subject = subject(&name);
    while let Some(ask) = asks.recv().await {
        match ask {
            Ask::Publish { after, id, message, reply } => {
                let message = PublishMessage::build()
                    .payload(message)
                    .message_id(id)
                    .expected_stream(&name)
                    .expected_last_sequence(after);
                // Here, and not in a task: the order of the calls is that of the messages.
                let sent = context.send_publish(subject.clone(), message).await;
                tokio::spawn(async move {
                    let answer = match sent {
                        Ok(sent) => sent.await,
                        Err(error) => Err(error),
                    };
                    let answer = match answer {
                        Ok(ack) if ack.duplicate => Err(StreamError::NotNext),
                        Ok(ack) => Ok(ack.sequence),
                        Err(error) => Err(refusal(error.kind(), whole(&error))),
                    };
                    // Who asked may not wait any more.
                    let _ = reply.send(answer);
                });
            }
            Ask::State(reply) => {
                let stream = stream.clone();
                tokio::spawn(async move { reply.send(state(&stream).await) });
            }
            Ask::Read(number, reply) => {
                let stream = stream.clone();
                tokio::spawn(async move { reply.send(read(&stream, number).await) });
            }
            Ask::Purge(before, reply) => {
                let stream = stream.clone();
                tokio::spawn(async move {
                    let purged = stream.purge().sequence(before).await;
                    reply.send(purged.map(|_| ()).map_err(|error| unclear(whole(&error))))
                });
            }
        }
    }
}

fn refusal(kind: PublishErrorKind, why: String) -> StreamError {
    match kind {
        PublishErrorKind::WrongLastSequence | PublishErrorKind::WrongLastMessageId => StreamError::NotNext,
        PublishErrorKind::StreamNotFound => StreamError::NoAnswer("no server leads the stream".into()),
        PublishErrorKind::TimedOut => StreamError::NoAnswer("no acknowledgement came in time".into()),
        _ if is_full(&why) => StreamError::Full,
        PublishErrorKind::MaxPayloadExceeded => StreamError::Refused(why),
        _ => unclear(why),
    }
}

/// The stream's own limit, and that of the servers' storage.
fn is_full(why: &str) -> bool {
    ["maximum bytes exceeded", "insufficient storage", "insufficient resources", "resource limits exceeded"]
        .iter()
        .any(|text| why.contains(text))
}

/// A stream that is gone does not come back; all else may.
fn unclear(why: String) -> StreamError {
    if why.contains("stream not found") {
        return StreamError::Refused("the servers have no such stream any more".into());
    }
    StreamError::NoAnswer(why)
}

async fn state(stream: &Stream) -> Result<StreamState, StreamError> {
    let info = stream.get_info().await.map_err(|error| unclear(whole(&error)))?;
    let state = info.state;
    let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
    Ok(StreamState { first, last: state.last_sequence, bytes: state.bytes })
}

async fn read(stream: &Stream, number: u64) -> Result<Option<Bytes>, StreamError> {
    match stream.get_raw_message(number).await {
        Ok(message) => Ok(Some(message.payload)),
        Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
        Err(error) => Err(unclear(whole(&error))),
    }
}
