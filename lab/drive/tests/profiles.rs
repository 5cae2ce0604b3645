//! Built-in profiles are valid, and invalid ones are rejected with the place and the remedy.

use ordo_drive::profile::{Prefetch, WritePolicy};
use ordo_drive::{Drive, Kind, Ms, Op, Profile, ProfileError};

const C2247A: &str = include_str!("../profiles/hp_c2247a.toml");

#[test]
fn every_drive_that_is_named_is_built_in() {
    let names: Vec<&str> = ordo_drive::names().collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 23);
    for name in &names {
        let profile = Profile::named(name).expect("built in");
        assert_eq!(profile.id, *name);
        assert!(!profile.source.is_empty());
        assert_eq!(profile.synthesised, !profile.assumptions.is_empty() || *name == "hp_c2447", "{name}");
        assert!(Drive::new(profile).blocks() >= 128 << 11);
    }
    assert!(matches!(Profile::named("hp_c2248"), Err(ProfileError::Unknown { .. })));
}

#[test]
fn a_validation_run_replaces_what_the_profile_says() {
    let cache = |profile: Profile| match profile.kind {
        Kind::Disk(disk) => disk.cache,
        Kind::Ssd(_) => panic!("a disk"),
    };
    let profile = Profile::named("seagate_cheetah_15k5").expect("built in");
    let (own, run) = (cache(profile.clone()), cache(profile.for_validation()));
    assert_eq!((own.write_policy, own.prefetch), (WritePolicy::Back, Prefetch::Stream));
    assert_eq!((run.write_policy, run.prefetch, run.caching_enabled), (WritePolicy::Through, Prefetch::None, false));
}

#[test]
fn a_profile_that_contradicts_itself_is_refused_by_key() {
    for (from, to, key) in [
        ("schema = 1", "schema = 2", "schema"),
        ("kind = \"hdd\"", "kind = \"tape\"", "kind"),
        ("rpm = 5400", "rpm = 0", "mechanics.rpm"),
        ("rpm = 5400", "rpm = nan", "mechanics.rpm"),
        ("head_switch_ms = 0.89", "head_switch_ms = -0.89", "mechanics.head_switch_ms"),
        ("v = [300, 3.81, 0.33, 7.75, 0.0059, -1.0]", "v = [300]", "mechanics.seek.v"),
        ("first_ten_ms = [2.89, ", "first_ten_ms = [", "mechanics.seek.first_ten_ms"),
        ("write_disconnect_ms = 0.16565", "write_disconnect_ms = inf", "controller.write_disconnect_ms"),
        ("effective_read_block_ms = 0.1701", "effective_read_block_ms = -1", "bus.effective_read_block_ms"),
        ("segments = 2", "segments = 1", "cache.dedicated_write_segment"),
        ("segments = 2", "segments = 0", "cache.segments"),
        ("prefetch_code = 3", "prefetch_code = 9", "cache.prefetch_code"),
        ("write_policy_code = 0", "write_policy_code = 3", "cache.write_policy_code"),
        ("sparing_code = 1", "sparing_code = 5", "geometry.sparing_code"),
        ("sparing_code = 1", "sparing_code = 0", "geometry.zones[0].lbn_count"),
        ("mapping = \"conventional\"", "mapping = \"spiral\"", "geometry.mapping"),
        ("surfaces = 13", "surfaces = 0", "geometry.surfaces"),
        ("last_cylinder = 558", "last_cylinder = 4294967295", "geometry.zones[0].last_cylinder"),
        ("sectors_per_track = 92", "sectors_per_track = 0", "geometry.zones[1].sectors_per_track"),
        ("first_lbn = 664800", "first_lbn = 664801", "geometry.zones[1]"),
        ("slips = [231, ", "slips = [23100, ", "geometry.zones[1].slips"),
        ("slips = [231, ", &format!("slips = [{}", "1, ".repeat(131)), "geometry.zones[1].slips"),
        ("spares = 130", "spares = 131", "geometry.zones[1].lbn_count"),
        ("mapped_sectors = 2054864", "mapped_sectors = 2054865", "geometry.mapped_sectors"),
    ] {
        assert!(C2247A.contains(from), "{from}");
        match Profile::parse(&C2247A.replacen(from, to, 1)) {
            Err(ProfileError::Value { key: found, .. }) => assert!(found.starts_with(key), "{to}: {found}"),
            other => panic!("{to}: {other:?}"),
        }
    }
    for (from, to) in [("rpm = 5400", "rpm = 'fast'"), ("rpm = 5400", ""), ("rpm = 5400", "rpm = [")] {
        assert!(matches!(Profile::parse(&C2247A.replacen(from, to, 1)), Err(ProfileError::Syntax(_))), "{to}");
    }
    let layout = include_str!("../profiles/seagate_cheetah_15k5.toml").replace("15k5.layout", "15k6.layout");
    assert!(matches!(Profile::parse(&layout), Err(ProfileError::Layout { .. })));
}

#[test]
fn latency_of_flash_follows_depth_and_length() {
    let Kind::Ssd(ssd) = Profile::named("nvme_ssd_plp").expect("built in").kind else { panic!("flash") };
    let table = [(1, 85.0), (32, 85.0), (64, 130.6), (128, 261.2), (256, 522.4)];
    for (depth, us) in table {
        assert!((ssd.latency(Op::Read, 8, depth).0 * 1e3 - us).abs() < 0.05, "{depth}");
    }
    assert_eq!(ssd.latency(Op::Read, 8, 1000), ssd.latency(Op::Read, 8, 256), "no more fit in");
    let longer = ssd.latency(Op::Write, 2056, 1) - ssd.latency(Op::Write, 8, 1);
    assert!((longer.0 - 1_048_576.0 / 1_050_000.0).abs() < 1e-9);
    assert!(longer > Ms::ZERO);
}
