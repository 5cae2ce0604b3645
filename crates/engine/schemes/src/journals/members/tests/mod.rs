//! Which bufs belong to a transaction, what of them may leave, and how long the log is needed.

use super::*;
use crate::{Settings, by_name, testing::World};
use ordo_buf::Role;

/// Bufs of a cache whose scheme keeps no order; only the members below do.
fn world() -> World {
    World::new(by_name("async").expect("it is there").make(Settings::default()).expect("it drops no rule"))
}

/// The running transaction changes a byte of the buf.
fn change(world: &World, members: &mut Members, buf: &BufRef, byte: u8) {
    if !members.has_joined(buf) {
        members.join(buf);
    }
    world.cache.modify(buf, |bytes| bytes[7] = byte);
}

fn seventh(going: &Going) -> Option<u8> {
    match going {
        Going::Stable(image) => Some(image[7]),
        _ => None,
    }
}

/// members-1.
#[test]
fn a_transaction_has_what_differs_from_the_moment_in_which_a_buf_joined() {
    let world = world();
    let (mut members, inodes, names) = (Members::default(), world.buf(Role::Inodes), world.buf(Role::Directory));
    change(&world, &mut members, inodes, 1);
    // Joined, and then not changed.
    members.join(names);
    let captured = members.capture(Txn(1), |buf| buf.addr());
    let places: Vec<_> = captured.iter().map(|captured| Some(captured.at)).collect();
    assert_eq!(places, [inodes.addr(), names.addr()], "both are new to the disk: all of them counts");
    members.stabilise(Txn(1));

    change(&world, &mut members, inodes, 2);
    members.join(names);
    let captured = members.capture(Txn(2), |buf| buf.addr());
    let [one] = &captured[..] else { panic!("{} blocks", captured.len()) };
    assert_eq!((one.before.as_ref().map(|before| before[7]), one.now[7]), (Some(1), 2));
    assert!(!members.has_running() && members.running_bytes() == 0);
}

/// members-2.
#[test]
fn only_what_is_stable_leaves() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Inodes));
    change(&world, &mut members, buf, 1);
    assert!(matches!(members.leaving(buf, ImageNo(1), Txn(1)), Going::After(Txn(1))), "it is only in memory");
    members.capture(Txn(1), |buf| buf.addr());
    assert!(matches!(members.leaving(buf, ImageNo(1), Txn(2)), Going::After(Txn(1))), "it is on its way to the log");
    assert!(!members.is_stable(buf) && !members.are_homeward());

    members.stabilise(Txn(1));
    change(&world, &mut members, buf, 2);
    assert_eq!(
        seventh(&members.leaving(buf, ImageNo(1), Txn(2))),
        Some(1),
        "the last transaction's, not the running one's"
    );
    assert!(matches!(members.leaving(buf, ImageNo(2), Txn(2)), Going::After(Txn(2))), "that has left already");
    members.capture(Txn(2), |buf| buf.addr());
    members.stabilise(Txn(2));
    assert!(members.is_stable(buf) && matches!(members.leaving(buf, ImageNo(2), Txn(3)), Going::AsIs));
    assert!(members.are_homeward());
}

/// members-3.
#[test]
fn the_log_is_needed_until_the_last_image_is_at_home() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Inodes));
    assert_eq!(members.low(), None);
    for (txn, byte) in [(Txn(1), 1), (Txn(2), 2)] {
        change(&world, &mut members, buf, byte);
        members.capture(txn, |buf| buf.addr());
        assert_eq!(members.low(), Some(Txn(1)), "pending, too");
        members.stabilise(txn);
    }
    assert_eq!(members.behind(Txn(1)).len(), 1);
    change(&world, &mut members, buf, 3);
    assert_eq!(seventh(&members.leaving(buf, ImageNo(1), Txn(3))), Some(2));
    members.landed(buf, ImageNo(1));
    assert_eq!((members.low(), members.are_homeward()), (None, false), "its home has both");
    members.capture(Txn(3), |buf| buf.addr());
    members.stabilise(Txn(3));
    assert_eq!(members.low(), Some(Txn(3)));
    // The failed write brought nothing home.
    assert!(matches!(members.leaving(buf, ImageNo(2), Txn(4)), Going::AsIs));
    members.failed(buf);
    members.landed(buf, ImageNo(2));
    assert_eq!(members.low(), Some(Txn(3)));
    assert!(matches!(members.leaving(buf, ImageNo(3), Txn(4)), Going::AsIs));
    members.landed(buf, ImageNo(3));
    assert_eq!((members.low(), buf.slot()), (None, 0), "it is nobody's member any more");
}

/// members-3: a crash before the transaction that frees it brings it back.
#[test]
fn what_was_thrown_away_is_needed_until_that_is_durable() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Directory));
    change(&world, &mut members, buf, 1);
    members.capture(Txn(1), |buf| buf.addr());
    members.stabilise(Txn(1));
    change(&world, &mut members, buf, 2);
    members.discarded(buf, Txn(2));
    assert!(!members.has_running() && buf.slot() == 0);
    assert_eq!(members.low(), Some(Txn(1)));
    let left = members.left_behind();
    let [(_, txn, at, image)] = &left[..] else { panic!("{} are left behind", left.len()) };
    assert_eq!((*txn, Some(*at), image[7]), (Txn(1), buf.addr(), 1));
    members.stabilise(Txn(1));
    assert_eq!(members.low(), Some(Txn(1)), "not the transaction that freed it");
    members.stabilise(Txn(2));
    assert_eq!(members.low(), None);
}

/// members-2, members-3: its stable state goes to its old place, which no other file uses yet.
#[test]
fn what_has_moved_goes_home_to_its_old_place() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Directory));
    let old = buf.addr();
    change(&world, &mut members, buf, 1);
    members.capture(Txn(1), |buf| buf.addr());
    members.stabilise(Txn(1));
    assert!(members.left_behind().is_empty(), "nothing is newer than what is stable");
    members.join(buf);
    world.cache.moved(buf, DiskOff(4096 * 30));
    world.cache.modify(buf, |bytes| bytes[7] = 2);
    assert!(matches!(members.leaving(buf, ImageNo(1), Txn(2)), Going::After(Txn(2))), "not to the new place");
    let left = members.left_behind();
    let [(_, txn, at, image)] = &left[..] else { panic!("{} are left behind", left.len()) };
    assert_eq!((*txn, Some(*at), image[7]), (Txn(1), old, 1));
    members.came_home(buf, Txn(1));
    assert_eq!((members.low(), members.left_behind().len()), (None, 0));
    let captured = members.capture(Txn(2), |buf| buf.addr());
    let [one] = &captured[..] else { panic!("{} blocks", captured.len()) };
    assert!(one.before.is_none() && one.at == DiskOff(4096 * 30), "all of it is new there");
}

/// A block that was filled waits for the pointer to it.
#[test]
fn what_is_not_dirty_stays_for_the_next_transaction() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Indirect));
    world.cache.discard(buf);
    members.join(buf);
    assert!(!buf.is_dirty() && members.capture(Txn(1), |buf| buf.addr()).is_empty());
    assert!(members.has_joined(buf) && members.has_running());
    assert_eq!(members.low(), None);
}

/// members-4: a batch of the layout has it, but not before the calls of its transaction are whole in the log.
#[test]
fn what_has_no_place_is_not_logged_and_waits_for_its_transaction() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Inodes));
    change(&world, &mut members, buf, 1);
    assert!(members.capture(Txn(1), |_| None).is_empty());
    assert!(matches!(members.leaving(buf, ImageNo(1), Txn(2)), Going::After(Txn(1))), "its transaction is not durable");
    members.stabilise(Txn(1));
    assert!(members.is_stable(buf) && matches!(members.leaving(buf, ImageNo(1), Txn(2)), Going::AsIs));
}

/// journals-9: the image that landed lacked what the landing waits for.
#[test]
fn a_landing_of_an_older_image_lacks_what_the_running_transaction_changed() {
    let world = world();
    let (mut members, buf) = (Members::default(), world.buf(Role::Inodes));
    change(&world, &mut members, buf, 1);
    members.capture(Txn(1), |buf| buf.addr());
    members.stabilise(Txn(1));
    let first = Landing::of(buf);
    assert_eq!(members.lacks(buf, &first), Txn(0), "nothing has left");
    change(&world, &mut members, buf, 2);
    let second = Landing::of(buf);
    assert!(matches!(members.leaving(buf, second.image(), Txn(2)), Going::Stable(_)));
    assert_eq!(members.lacks(buf, &second), Txn(2));
    members.capture(Txn(2), |buf| buf.addr());
    members.stabilise(Txn(2));
    let later = second.image().next();
    assert!(matches!(members.leaving(buf, later, Txn(3)), Going::AsIs));
    members.landed(buf, later);
    assert_eq!(members.lacks(buf, &second), Txn(0), "it is nobody's member any more");
}
