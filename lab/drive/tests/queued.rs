//! Commands that wait at the drive (tagged queueing).

use ordo_drive::{Drive, Lbn, Ms, Op, Profile, Request};

#[test]
fn a_command_that_waited_costs_no_overhead_and_one_that_did_not_is_served_as_without_a_queue() {
    let mut drive = Drive::new(Profile::named("seagate_cheetah_9gb_2000").unwrap());
    let turn = drive.submit(Ms(0.0), Request::write(Lbn(0), 16)).unwrap().at;
    for second in [Request::write(Lbn(100_000), 16), Request::read(Lbn(100_000), 16)] {
        let served = |came: Ms| drive.clone().submit_queued(came, turn, second).unwrap();
        let alone = drive.clone().submit(turn, second).unwrap();
        assert_eq!(served(turn), alone);
        assert!(alone.phases.overhead > Ms(0.0));
        let waited = served(Ms(0.0));
        assert_eq!(waited.phases.overhead, Ms(0.0));
        assert!(waited.at <= alone.at);
        let foretold = drive.positioning_queued(Ms(0.0), turn, second.lbn, second.op).unwrap();
        assert!((foretold.0 - (waited.phases.seek + waited.phases.rotation).0).abs() < 1e-9);
        // Half of the overhead is left.
        let late = Ms(turn.0 - alone.phases.overhead.0 / 2.0);
        let half = served(late).phases.overhead;
        assert!((half.0 - alone.phases.overhead.0 / 2.0).abs() < 1e-9, "{half:?}");
    }
}

#[test]
fn a_command_cannot_come_after_its_turn() {
    let mut drive = Drive::new(Profile::named("seagate_cheetah_9gb_2000").unwrap());
    assert!(drive.submit_queued(Ms(2.0), Ms(1.0), Request::write(Lbn(0), 1)).is_err());
    assert!(drive.positioning(Ms(1.0), Lbn(0), Op::Write).is_ok());
}
