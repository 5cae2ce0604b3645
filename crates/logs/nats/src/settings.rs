//! What a stream must be for a log (nats-1).

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use std::time::Duration;

/// Says whose stream it is.
const DESCRIPTION: &str = "log of an OrdoFS volume";
/// Bytes of a message that we use at most, with what the client adds.
pub(crate) const MESSAGE: usize = 1 << 20;
/// How long a server remembers the ids of messages.
const DUPLICATES: Duration = Duration::from_secs(120);
/// How many servers may have copies.
pub const REPLICAS: std::ops::RangeInclusive<usize> = 1..=5;

/// The size of a stream, and the number of its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of all messages, on each server.
    pub bytes: u64,
    /// Servers that have a copy.
    pub replicas: usize,
}

/// The subject of a stream's messages.
pub(crate) fn subject(stream: &str) -> String {
    format!("ordofs.log.{stream}")
}

impl Settings {
    /// The stream as the servers are asked for it.
    pub(crate) fn config(&self, stream: &str) -> Config {
        Config {
            name: stream.into(),
            description: Some(DESCRIPTION.into()),
            subjects: vec![subject(stream)],
            storage: StorageType::File,
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::New,
            max_bytes: i64::try_from(self.bytes).unwrap_or(i64::MAX),
            max_messages: -1,
            max_messages_per_subject: -1,
            max_message_size: -1,
            max_consumers: -1,
            num_replicas: self.replicas,
            duplicate_window: DUPLICATES,
            ..Config::default()
        }
    }
}

/// Why no log may lie in a stream that is set so; empty if one may.
pub(crate) fn unfit(config: &Config) -> Vec<String> {
    let subjects = [subject(&config.name)];
    let no_limit = |limit: i64| limit == -1;
    let faults = [
        (config.description.as_deref() != Some(DESCRIPTION), "it was not made for a log of OrdoFS"),
        (config.subjects != subjects, "its subjects are not the log's own"),
        (config.storage != StorageType::File, "its storage is not file"),
        (config.retention != RetentionPolicy::Limits, "its retention is not limits"),
        (config.discard != DiscardPolicy::New, "its discard is not new: it would drop old records when it is full"),
        (config.max_bytes <= 0, "it has no max_bytes"),
        (!no_limit(config.max_messages), "it has a limit of messages"),
        (!no_limit(config.max_messages_per_subject), "it has a limit of messages of a subject"),
        (!config.max_age.is_zero(), "its messages have a greatest age"),
        (config.no_ack, "it acknowledges nothing"),
        (config.sealed, "it is sealed"),
        (config.deny_purge, "it may not be purged"),
        (config.mirror.is_some() || config.sources.is_some(), "it copies other streams"),
    ];
    faults.into_iter().filter(|(wrong, _)| *wrong).map(|(_, what)| what.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_as_we_ask_for_it_is_fit_and_each_other_setting_is_named() {
        let good = Settings { bytes: 1 << 30, replicas: 3 }.config("LOG");
        assert_eq!(unfit(&good), Vec::<String>::new());
        type Change = fn(&mut Config);
        let changes: [(Change, &str); 9] = [
            (|config| config.description = None, "not made for"),
            (|config| config.subjects.push("x".into()), "subjects"),
            (|config| config.storage = StorageType::Memory, "storage"),
            (|config| config.discard = DiscardPolicy::Old, "discard"),
            (|config| config.max_bytes = -1, "max_bytes"),
            (|config| config.max_messages = 5, "limit of messages"),
            (|config| config.max_age = Duration::from_secs(1), "age"),
            (|config| config.no_ack = true, "acknowledges"),
            (|config| config.retention = RetentionPolicy::WorkQueue, "retention"),
        ];
        for (change, named) in changes {
            let mut bad = good.clone();
            change(&mut bad);
            let said = unfit(&bad);
            assert!(said.len() == 1 && said[0].contains(named), "{named}: {said:?}");
        }
    }
}
