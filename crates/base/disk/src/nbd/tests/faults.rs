//! Servers that lie, stall, or do not come back; replies that are not what was asked for.

use std::sync::{Arc, Mutex};

use super::server::{Chunks, Fate, SIZE, Server, nature};
use super::*;
use crate::fence::Lease;
use proto::{CMD_BLOCK_STATUS, CMD_READ, EIO};

/// Short, so that a test of a time-out does not take long.
fn impatient() -> (NbdOptions, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let ours = told.clone();
    let listener = NbdListener::to(move |notice| ours.lock().unwrap().push(notice.to_string()));
    (NbdOptions { timeout: Some(Duration::from_millis(400)), listener, ..NbdOptions::default() }, told)
}

#[test]
fn a_server_that_stalls_is_given_up_after_the_time_out_and_closing_does_not_wait() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().at(2, Fate::Stalls)));
    let (options, told) = impatient();
    let disk = connect(&rt, &server, &options);
    write(&disk, &rt, 0, 1, false).unwrap();
    let began = clock::clock();
    let error = rt.block_on(disk.flush()).unwrap_err();
    assert_eq!(error.cause, Cause::Lost(NbdGone::NoAnswer { seconds: 0 }.into()));
    assert!(began.elapsed() >= Duration::from_millis(400));
    // A flush is never believed that was not answered, and nothing is tried again.
    for _ in 0..3 {
        assert!(write(&disk, &rt, 0, 1, false).is_err() && read(&disk, &rt, 0, 512).is_err());
    }
    let began = clock::clock();
    drop(disk);
    assert!(began.elapsed() < Duration::from_secs(5));
    let told = told.lock().unwrap();
    assert!(told[0].contains("answered nothing") && told[1].contains("given up"), "{told:?}");
}

#[test]
fn a_server_that_does_not_come_back_is_given_up() {
    let (rt, server) = (Rt::real_time(), Server::start(nature()));
    let (options, told) = impatient();
    let disk = connect(&rt, &server, &options);
    write(&disk, &rt, 0, 1, false).unwrap();
    server.hide();
    let error = rt.block_on(disk.flush()).unwrap_err();
    assert_eq!(error.cause, Cause::Lost(NbdGone::NoAnswer { seconds: 0 }.into()));
    assert_eq!(error.errno(), rustix::io::Errno::TIMEDOUT.raw_os_error());
    assert!(told.lock().unwrap()[0].contains("the connection to the server of the disk is lost"));
}

#[test]
fn a_server_that_comes_back_with_another_disk_is_given_up_and_not_written_to() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().at(2, Fate::Shrinks(SIZE / 2))));
    let disk = connect(&rt, &server, &NbdOptions::default());
    write(&disk, &rt, 0, 1, false).unwrap();
    let error = rt.block_on(disk.flush()).unwrap_err();
    let changed = NbdGone::Changed { what: "its size", before: SIZE, now: SIZE / 2 };
    assert_eq!(error.cause, Cause::Lost(changed.into()));
    assert_eq!(server.lock().requests, 2);
    assert!(error.to_string().contains("1048576, and is 524288 now"), "{error}");
}

#[test]
fn what_is_lost_and_back_is_told() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().at(2, Fate::Dies)));
    let told: Arc<Mutex<Vec<NbdNotice>>> = Arc::default();
    let ours = told.clone();
    let listener = NbdListener::to(move |notice| ours.lock().unwrap().push(notice.clone()));
    let disk = connect(&rt, &server, &NbdOptions { listener, ..NbdOptions::default() });
    write(&disk, &rt, 0, 1, false).unwrap();
    rt.block_on(disk.flush()).unwrap();
    let told = told.lock().unwrap();
    assert!(matches!(&told[..], [NbdNotice::Lost { waiting: 1, .. }, NbdNotice::Back { again: 1, .. }]), "{told:?}");
}

#[test]
fn an_error_of_the_server_is_the_callers_and_a_failed_flush_makes_nothing_durable() {
    let fails = nature().at(2, Fate::Fails(EIO)).at(4, Fate::Fails(proto::ENOSPC));
    let (rt, server) = (Rt::real_time(), Server::start(fails));
    let disk = connect(&rt, &server, &NbdOptions::default());
    write(&disk, &rt, 0, 1, false).unwrap();
    assert_eq!(rt.block_on(disk.flush()).unwrap_err().cause, Cause::Io(5));
    rt.block_on(disk.flush()).unwrap();
    assert_eq!(write(&disk, &rt, 0, 1, false).unwrap_err().cause, Cause::Io(28));
}

#[test]
fn a_flush_of_ours_that_fails_fails_the_next_one_of_the_caller_and_the_writes_that_waited() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().at(3, Fate::Fails(EIO))));
    let disk = connect(&rt, &server, &NbdOptions { kept: Some(3000), ..NbdOptions::default() });
    // The second one leaves more than half of the memory used: the third request is a flush.
    write(&disk, &rt, 0, 1, false).unwrap();
    write(&disk, &rt, 1024, 2, false).unwrap();
    assert_eq!(rt.block_on(disk.flush()).unwrap_err().cause, Cause::Io(5));
    rt.block_on(disk.flush()).unwrap();
    for i in 0..20 {
        write(&disk, &rt, i * 1024, 3, false).unwrap();
    }
    assert!(server.lock().count[&proto::CMD_FLUSH] > 6);
}

#[test]
fn chunks_that_are_not_what_was_asked_for_lose_the_connection_and_not_the_read() {
    for chunks in [Chunks::Overlapping, Chunks::Outside, Chunks::Short, Chunks::TooLong, Chunks::Endless] {
        let server = Server::start(nature().structured().at(2, Fate::Chunks(chunks)));
        let rt = Rt::real_time();
        let disk = connect(&rt, &server, &NbdOptions::default());
        write(&disk, &rt, 512, 9, false).unwrap();
        let found = read(&disk, &rt, 512, 1024).unwrap();
        assert!(found.iter().all(|&byte| byte == 9), "{chunks:?}");
        let state = server.lock();
        assert_eq!((state.connections, state.count[&CMD_READ]), (2, 2), "{chunks:?}");
    }
}

#[test]
fn a_hole_in_a_read_is_zeros_and_holes_are_told() {
    let told: &[(u32, u32)] = &[(512, 0), (1024, 3), (1 << 20, 2)];
    let nature = nature().structured().at(2, Fate::Chunks(Chunks::Zero)).at(3, Fate::Chunks(Chunks::Status(told)));
    let (rt, server) = (Rt::real_time(), Server::start(nature));
    let disk = connect(&rt, &server, &NbdOptions::default());
    write(&disk, &rt, 0, 9, false).unwrap();
    let found = read(&disk, &rt, 0, 1024).unwrap();
    assert_eq!((found[99], found[100], found[1023]), (9, 0, 0));
    let extents = rt.block_on(disk.extents(DiskOff(0), 2048)).unwrap();
    let extent = |len, hole, zero| Extent { len, hole, zero };
    assert_eq!(extents, [extent(512, false, false), extent(1024, true, true), extent(512, false, true)]);
}

#[test]
fn lists_of_extents_that_cannot_be_are_not_believed() {
    let lists: [&'static [(u32, u32)]; 3] = [&[], &[(0, 0)], &[(2048, 0), (512, 0)]];
    for list in lists {
        let wrong = Fate::Chunks(Chunks::Status(list));
        let good = Fate::Chunks(Chunks::Status(&[(512, 1)]));
        let (rt, server) = (Rt::real_time(), Server::start(nature().structured().at(1, wrong).at(2, good)));
        let disk = connect(&rt, &server, &NbdOptions::default());
        let extents = rt.block_on(disk.extents(DiskOff(0), 2048)).unwrap();
        assert_eq!((extents.len(), extents[0].len), (1, 512));
        let state = server.lock();
        assert_eq!((state.connections, state.count[&CMD_BLOCK_STATUS]), (2, 2));
    }
    let (rt, server) = (Rt::real_time(), Server::start(nature()));
    let disk = connect(&rt, &server, &NbdOptions::default());
    assert_eq!(rt.block_on(disk.extents(DiskOff(0), 2048)).unwrap_err().cause, Cause::Unsupported);
}

/// A lease that ends so many seconds from now, or ended so many before.
fn lease(rt: &Rt, seconds: i64) -> Lease {
    let now = rt.now_with_sleep().as_nanos();
    Lease::until(ordo_rt::Time::from_nanos(now.saturating_add_signed(seconds * 1_000_000_000)))
}

#[test]
fn after_the_end_of_its_lease_nothing_that_was_lost_is_sent_again() {
    for (seconds, is_sent) in [(3600, true), (-1, false)] {
        let (rt, server) = (Rt::real_time(), Server::start(nature().at(2, Fate::Dies)));
        let (options, told) = impatient();
        let disk = connect(&rt, &server, &NbdOptions { timeout: Some(Duration::from_secs(60)), ..options });
        write(&disk, &rt, 0, 1, false).unwrap();
        disk.hold(&lease(&rt, seconds));
        let flushed = rt.block_on(disk.flush());
        drop(disk);
        if is_sent {
            flushed.unwrap();
            assert_eq!(server.lock().requests, 4, "the write, the flush, and both again");
            continue;
        }
        let error = flushed.unwrap_err();
        assert_eq!(error.cause, Cause::Lost(NbdGone::Claim.into()));
        assert!(error.to_string().contains("mmp"), "{error}");
        assert_eq!(server.lock().requests, 2);
        assert!(told.lock().unwrap().iter().any(|told| told.contains("another writer may have claimed")));
    }
}

#[test]
fn after_the_end_of_its_lease_no_change_is_sent_and_reads_are() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().at(3, Fate::Cut)));
    let disk = connect(&rt, &server, &NbdOptions::default());
    write(&disk, &rt, 0, 1, true).unwrap();
    disk.hold(&lease(&rt, -1));
    // The second read loses its connection: it is made again, since nothing that changes the disk waits.
    for _ in 0..3 {
        assert_eq!(read(&disk, &rt, 0, 512).unwrap()[0], 1);
    }
    // A claim that is given back ends the lease: who has the disk next is told by a new one.
    disk.hold(&Lease::until(ordo_rt::Time::NEVER));
    write(&disk, &rt, 0, 2, true).unwrap();
    disk.hold(&lease(&rt, -1));
    assert_eq!(write(&disk, &rt, 0, 3, true).unwrap_err().cause, Cause::Lost(NbdGone::Claim.into()));
    assert_eq!(read(&disk, &rt, 0, 512).unwrap_err().cause, Cause::Lost(NbdGone::Claim.into()));
    assert_eq!(server.lock().bytes[0], 2);
}
