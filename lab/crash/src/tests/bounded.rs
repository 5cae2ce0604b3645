//! Soft updates keep their limit: a caller that makes changes faster than the disk takes them waits.

use crate::Shape;
use crate::device::Device;
use crate::disks::{Disks, Split};
use crate::mount::mount;
use crate::volume::fresh;
use ordo_rt::Rt;
use ordo_schemes::{AllocInit, SoftUpdates};
use ordo_vfs::Caller;
use ordo_workload::random::{Outcome, Player};
use ordo_workload::script::Script;
use std::rc::Rc;

const LIMIT: usize = 1000;
/// What calls that were already admitted may add.
const ROOM: u64 = 100;

/// Makes files and removes them, without a pause.
#[test]
fn a_remove_of_many_files_holds_the_limit() {
    let (device, rt) = (Device::by_name("sata").unwrap(), Rt::virtual_time(9));
    let scheme: Rc<dyn ordo_buf::Scheme> = Rc::new(SoftUpdates::new(AllocInit::All).with_limit(LIMIT));
    let shape = Shape { size: 64 << 20, ..Shape::small(device) };
    let ram = fresh(&shape, Split::none(shape.size), &scheme).unwrap().snapshot();
    let mounted = mount(&rt, &ram, Disks::one(device.on(&rt, &ram, 9)), scheme.clone(), false).unwrap();
    let count = |name| scheme.clone().capabilities().counters().iter().find(|(of, _)| *of == name).unwrap().1;
    let files: Vec<String> = (0..3000).map(|i| format!("d{}/f{i}", i % 20)).collect();
    let mut calls: Vec<String> = (0..20).map(|i| format!("mkdir d{i}")).collect();
    calls.extend(files.iter().flat_map(|file| [format!("create {file}"), format!("write {file} 0 700")]));
    calls.push("sync".into());
    calls.extend(files.iter().map(|file| format!("unlink {file}")));
    let script = Script::parse("many", &calls.join("\n")).unwrap();
    let mut player = Player::new(&**mounted.fs(), Caller { privileged: true, ..Caller::default() });
    for op in &script.calls {
        let outcome = rt.block_on(player.apply(op));
        assert!(matches!(outcome, Outcome::Done | Outcome::Attr(_)), "{op}: {outcome:?}");
        assert!(mounted.cache().ledger().outstanding() <= LIMIT as u64 + ROOM, "{op}");
    }
    drop(player);
    rt.block_on(mounted.unmount()).unwrap();
    rt.drop_tasks();
    let most = count("dependencies_most");
    assert!((LIMIT as u64 / 2..=LIMIT as u64 + ROOM).contains(&most), "{most}");
    assert!(count("slowed") > 5 && count("dependencies") == 0, "{:?}", scheme.clone().capabilities().counters());
}
