//! A log in a stream: what servers may do wrong, and a second writer.

use ordo_disk::LogStream;
use ordo_rt::Rt;
use ordo_simdisk::{RamStream, StreamFault};
use ordo_wafs::stream::{Kind, Owner, StreamLog};
use ordo_wafs::{Error, Lsn};
use std::rc::Rc;
use std::time::Duration;

const NEW: Owner = Owner { volume: 7, before: None, untouched: false, complete: false };

fn over(stream: &RamStream) -> LogStream {
    LogStream { patience: Duration::from_secs(20), ..LogStream::new(Rc::new(stream.clone())) }
}

async fn records(rt: &Rt, stream: &RamStream) -> Vec<Vec<u8>> {
    let (mut found, log) = (Vec::new(), StreamLog::open(rt, over(stream)).await.unwrap());
    let mut scan = log.scan();
    while let Some(record) = scan.next().await.unwrap() {
        found.push(record.data);
    }
    found
}

#[test]
fn each_record_is_there_once_whatever_happens_to_messages() {
    let second = Duration::from_secs(1);
    let faults = [StreamFault::Lost, StreamFault::AnswerLost, StreamFault::Late(second), StreamFault::Twice(second)];
    for (n, fault) in faults.into_iter().enumerate() {
        let rt = Rt::virtual_time(n as u64);
        let stream = RamStream::new(&rt, 1 << 20);
        rt.block_on(async {
            let log = StreamLog::begin(&rt, over(&stream), NEW).await.unwrap();
            stream.plan([None, Some(fault), None, Some(fault), Some(StreamFault::Full)]);
            let mut last = Lsn::NONE;
            for byte in 0..20 {
                last = log.append(&[byte; 100]).await.unwrap();
            }
            log.force(last).await.unwrap();
            let all: Vec<Vec<u8>> = (0..20).map(|byte| vec![byte; 100]).collect();
            assert_eq!(records(&rt, &stream).await, all, "{fault:?}");
        });
    }
}

#[test]
fn a_replay_takes_the_log_over_and_its_writer_stops() {
    let rt = Rt::virtual_time(1);
    let stream = RamStream::new(&rt, 1 << 20);
    rt.block_on(async {
        let log = StreamLog::begin(&rt, over(&stream), NEW).await.unwrap();
        log.force(log.append(b"one").await.unwrap()).await.unwrap();
        let other = StreamLog::open(&rt, over(&stream)).await.unwrap();
        other.take_over().await.unwrap();
        let late = log.append(b"two").await.unwrap();
        assert!(matches!(log.force(late).await, Err(Error::Fenced { .. })));
        assert_eq!(records(&rt, &stream).await, [b"one"]);
        assert_eq!(StreamLog::open(&rt, over(&stream)).await.unwrap().last_kind(), Kind::Taken);
    });
}

#[test]
fn a_log_of_another_volume_or_one_that_waits_is_not_followed() {
    let rt = Rt::virtual_time(1);
    let stream = RamStream::new(&rt, 1 << 20);
    rt.block_on(async {
        let log = StreamLog::begin(&rt, over(&stream), NEW).await.unwrap();
        let begin = |owner| StreamLog::begin(&rt, over(&stream), owner);
        log.named();
        log.force(log.last()).await.unwrap();
        assert!(matches!(begin(NEW).await.err(), Some(Error::NotEnded { .. })));
        assert!(matches!(begin(Owner { volume: 8, ..NEW }).await.err(), Some(Error::OtherOwner { .. })));
        log.end_here().await.unwrap();
        // One whose mount was cut off before the volume named it counts for nothing, but its writer may live on.
        let cut_off = begin(NEW).await.unwrap();
        assert!(begin(NEW).await.is_ok() && begin(NEW).await.is_ok());
        let late = cut_off.append(b"late").await.unwrap();
        assert!(matches!(cut_off.force(late).await, Err(Error::Fenced { .. })));
        assert!(matches!(begin(Owner { volume: 8, ..NEW }).await.err(), Some(Error::OtherOwner { .. })));
    });
}

#[test]
fn a_wait_ends_and_what_is_lost_is_noticed() {
    let rt = Rt::virtual_time(1);
    let stream = RamStream::new(&rt, 1 << 20);
    rt.block_on(async {
        let log = StreamLog::begin(&rt, over(&stream), NEW).await.unwrap();
        log.force(log.append(b"one").await.unwrap()).await.unwrap();
        stream.set_quorum(false);
        let late = log.append(b"two").await.unwrap();
        assert!(matches!(log.force(late).await, Err(Error::NoAnswer { .. })));
        stream.set_quorum(true);
        let again = Owner { before: Some(log.id()), ..NEW };
        let log = StreamLog::begin(&rt, over(&stream), again).await.unwrap();
        log.force(log.append(b"three").await.unwrap()).await.unwrap();
        stream.lose_after(1);
        let late = log.append(b"four").await.unwrap();
        assert!(matches!(log.force(late).await, Err(Error::LostTail { .. })));
    });
}

#[test]
fn a_small_stream_takes_many_records_that_are_reclaimed() {
    let rt = Rt::virtual_time(1);
    let stream = RamStream::new(&rt, 512 << 10);
    rt.block_on(async {
        let log = StreamLog::begin(&rt, over(&stream), NEW).await.unwrap();
        for _ in 0..200 {
            let lsn = log.append(&[1; 10_000]).await.unwrap();
            log.force(lsn).await.unwrap();
            log.reclaim(lsn).unwrap();
        }
        assert_eq!(records(&rt, &stream).await.len(), 2);
        stream.damage(log.last().0 - 1, None);
        let log = StreamLog::open(&rt, over(&stream)).await.unwrap();
        assert!(matches!(log.scan().next().await, Err(Error::Missing { .. })));
    });
}
