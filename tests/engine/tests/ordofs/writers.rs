//! Two writers of one volume, which nothing locks: the record of the writer, on every kind of volume, in virtual time.

use ordo_disk::fence::{ClaimError, Fence};
use ordo_disk::{Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, RamDisk, ReadPart, WritePart};
use ordo_ondisk::lfs::Version;
use ordo_ondisk::mmp::Place;
use ordo_ondisk::{ByteOff, Endian, Format};
use ordo_rt::Rt;
use ordo_rt::sync::Notify;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::path::{Held, resolve};
use ordofs::{
    Located, MmpChange, MountOptions, Mounted, NewLfs, NewVolume, Notices, OpenError, TuneError, Tuning, Writer,
    claimed, locate_on, writer,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn protect(rt: &Rt, ram: &RamDisk, change: MmpChange) -> Result<(), TuneError> {
    let tuning = Tuning { mmp: Some(change), ..Tuning::default() };
    tuning.apply_on(rt, Rc::new(ram.clone())).map(|changes| assert_eq!(changes.last().unwrap().what, "mmp"))
}

fn volume(rt: &Rt, format: Format, endian: Endian, (bsize, fsize): (u32, u32)) -> RamDisk {
    let ram = RamDisk::new(8 << 20);
    let new = NewVolume::new(8 << 20).with(|shape| {
        (shape.format, shape.endian, shape.bsize, shape.fsize) = (format, endian, bsize, fsize);
    });
    new.create_on(rt, Rc::new(ram.clone()), true).unwrap();
    ram
}

fn on(ram: &RamDisk) -> Rc<dyn Disk> {
    Rc::new(ram.clone())
}

async fn mount(rt: &Rt, ram: &RamDisk, options: &MountOptions) -> Result<Mounted, OpenError> {
    let located = rt_located(ram).await;
    Mounted::mount(rt, located, options).await
}

/// Finds the volume without the executor that is running.
async fn rt_located(ram: &RamDisk) -> Located {
    let found = locate_on(&Rt::virtual_time(0), Rc::new(ram.snapshot())).unwrap().found;
    Located { disk: on(ram), found, log: None, claim: None }
}

async fn put(mounted: &Mounted, name: &[u8], times: u8) -> ordo_vfs::Result<()> {
    let (fs, who) = (mounted.fs(), Caller::default());
    let made = fs.mknod(&who, fs.root(), Name::new(name)?, Kind::Regular, Mode::new(0o644), 0).await?;
    let file = Held::new(fs, made);
    for byte in 0..times {
        fs.write(&who, file.node(), u64::from(byte) * 4096, &[byte; 4096]).await?;
        fs.fsync(file.node(), false).await?;
    }
    Ok(())
}

fn is_clean(rt: &Rt, ram: &RamDisk) -> bool {
    let report = rt.block_on(ordo_fsck::check(rt, on(ram), ordo_fsck::Options::new(ordo_fsck::Mode::Check))).unwrap();
    report.findings.is_empty() && report.unlisted == 0
}

fn refused(error: &OpenError) -> bool {
    matches!(error, OpenError::Claim(error) if matches!(**error, ClaimError::Held { .. }))
}

#[test]
fn every_kind_of_volume_keeps_a_record_and_one_writer() {
    let shapes = [(8192, 1024), (32768, 4096), (65536, 8192)];
    let mut volumes = vec![];
    let rt = Rt::virtual_time(1);
    for format in [Format::Ufs1, Format::Ufs2] {
        for endian in [Endian::Little, Endian::Big] {
            volumes.extend(shapes.map(|shape| volume(&rt, format, endian, shape)));
        }
    }
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let ram = RamDisk::new(16 << 20);
        NewLfs::new(16 << 20).with(|of| of.version = version).create_on(&rt, on(&ram), false).unwrap();
        volumes.push(ram);
    }
    for ram in volumes {
        let before = ram.to_vec();
        protect(&rt, &ram, MmpChange::On(1000)).unwrap();
        assert!(is_clean(&rt, &ram));
        rt.block_on(async {
            let first = mount(&rt, &ram, &MountOptions::default()).await.unwrap();
            put(&first, b"one", 3).await.unwrap();
            assert!(refused(&mount(&rt, &ram, &MountOptions::default()).await.err().unwrap()));
            let read = MountOptions { read_only: true, ..MountOptions::default() };
            mount(&rt, &ram, &read).await.unwrap().unmount().await.unwrap();
            rt.sleep(SECOND * 30).await;
            put(&first, b"two", 3).await.unwrap();
            first.unmount().await.unwrap();
        });
        assert!(is_clean(&rt, &ram));
        let located = locate_on(&rt, on(&ram)).unwrap();
        assert!(matches!(writer(&rt, &located).unwrap(), Writer::On(owner, _) if owner.holder.is_err()));
        protect(&rt, &ram, MmpChange::On(200)).unwrap();
        protect(&rt, &ram, MmpChange::Off).unwrap();
        assert_eq!(writer(&rt, &located).unwrap(), Writer::Off);
        for place in Place::ALL.iter().flat_map(|place| [place.owner, place.beat]) {
            let at = place.0 as usize;
            if at < 8192 || located.found.ufs().is_ok_and(|found| found.superblock.at == ByteOff(65_536)) {
                assert_eq!(ram.to_vec()[at..at + 512], before[at..at + 512], "at {at}");
            }
        }
        rt.drop_tasks();
    }
}

#[test]
fn tools_claim_too_and_boot_code_is_not_overwritten() {
    let rt = Rt::virtual_time(2);
    let ram = volume(&rt, Format::Ufs2, Endian::Little, (32768, 4096));
    ram.poke(57_344 + 9, &[1]);
    assert!(matches!(protect(&rt, &ram, MmpChange::On(1000)), Err(TuneError::MmpPlaceTaken { .. })));
    ram.poke(57_344 + 9, &[0]);
    assert!(matches!(protect(&rt, &ram, MmpChange::On(50)), Err(TuneError::MmpInterval(50))));
    protect(&rt, &ram, MmpChange::On(1000)).unwrap();
    let tuning = |label: &str| Tuning { label: Some(label.into()), ..Tuning::default() };
    tuning("mine").apply_on(&rt, on(&ram)).unwrap();
    // A change that mounts the volume inside.
    let log = Tuning { log: Some(ordofs::JournalChange::On(None)), ..Tuning::default() };
    log.apply_on(&rt, on(&ram)).unwrap();
    let holder = rt.block_on(mount(&rt, &ram, &MountOptions::default())).unwrap();
    let error = tuning("his").apply_on(&rt, on(&ram)).unwrap_err();
    assert!(matches!(&error, TuneError::Open(error) if refused(error)), "{error}");
    assert!(protect(&rt, &ram, MmpChange::Off).is_err());
    rt.block_on(holder.unmount()).unwrap();
    tuning("his").apply_on(&rt, on(&ram)).unwrap();
    assert!(is_clean(&rt, &ram));
    // A record that is damaged.
    ram.poke(57_344 + 20, &[0xff]);
    let error = tuning("x").apply_on(&rt, on(&ram)).unwrap_err();
    assert!(error.to_string().contains("mmp=on"), "{error}");
    protect(&rt, &ram, MmpChange::On(1000)).unwrap();
    tuning("x").apply_on(&rt, on(&ram)).unwrap();
    rt.drop_tasks();
}

/// Stops one machine: what it gives to its disk waits, above the check and in the reads and writes of the record.
#[derive(Clone, Default)]
struct Machine {
    state: Rc<RefCell<(u64, u64, bool)>>,
    go: Rc<Notify>,
}

impl Machine {
    fn stops_at(request: u64) -> Machine {
        Machine { state: Rc::new(RefCell::new((0, request, false))), go: Rc::default() }
    }

    fn is_stopped(&self) -> bool {
        self.state.borrow().2
    }

    fn go_on(&self) {
        *self.state.borrow_mut() = (0, u64::MAX, false);
        self.go.notify_all();
    }
}

#[derive(Clone)]
struct Under {
    machine: Machine,
    disk: Rc<dyn Disk>,
    /// Below the check only the record's requests are stopped: what the check let through was given to the system.
    only_record: bool,
}

impl Under {
    fn when_it_goes<T: Unpin + 'static>(
        &self,
        at: DiskOff,
        request: impl FnOnce(&dyn Disk) -> DiskFuture<T> + 'static,
    ) -> DiskFuture<T> {
        if self.only_record && !Place::ALL.iter().any(|place| [place.owner.0, place.beat.0].contains(&at.0)) {
            return request(&*self.disk);
        }
        let own = self.clone();
        let mut state = own.machine.state.borrow_mut();
        state.0 += 1;
        state.2 |= state.0 == state.1;
        drop(state);
        DiskFuture::later(async move {
            while own.machine.is_stopped() {
                own.machine.go.notified().await;
            }
            request(&*own.disk).await
        })
    }
}

impl Disk for Under {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.when_it_goes(at, move |disk| disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.when_it_goes(at, move |disk| disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.when_it_goes(DiskOff(1), |disk| disk.flush())
    }

    fn is_fenced(&self) -> bool {
        self.disk.is_fenced()
    }
}

/// What the first machine does. Returns the error that ended it.
async fn first(rt: Rt, ram: RamDisk, machine: Machine, scheme: Option<&'static str>) -> Result<(), String> {
    let mut located = rt_located(&ram).await;
    located.disk = Rc::new(Under { machine: machine.clone(), disk: located.disk, only_record: true });
    let text = |error: OpenError| error.to_string();
    let mut located = claimed(&rt, located, "first", &Notices::default()).await.map_err(text)?;
    located.disk = Rc::new(Under { machine, disk: located.disk, only_record: false });
    let options = MountOptions { scheme: scheme.map(Into::into), ..MountOptions::default() };
    let mounted = Mounted::mount(&rt, located, &options).await.map_err(text)?;
    let worked = async {
        put(&mounted, b"first", 3).await?;
        rt.sleep(SECOND * 3).await;
        put(&mounted, b"again", 2).await
    };
    let worked: ordo_vfs::Result<()> = worked.await;
    if let Err(error) = &worked
        && let Some(DiskError { cause: Cause::Lost(_), .. }) = error.cause()
    {
        assert!(mounted.degraded().is_some(), "taken over, and not read-only");
    }
    let closed = mounted.unmount().await;
    worked.and(closed).map_err(|error| error.to_string())
}

/// The first machine is stopped before each of its requests; the second comes, waits, writes, and unmounts or goes on;
/// then the first goes on. It changes no byte any more, what the second had synced is there, and the volume is whole.
fn every_stop(scheme: Option<&'static str>, make: impl Fn(&Rt) -> RamDisk, step: usize) {
    let mut late = 0;
    for stays in [false, true] {
        for at in (1..).step_by(step) {
            let rt = Rt::virtual_time(at);
            let ram = make(&rt);
            protect(&rt, &ram, MmpChange::On(1000)).unwrap();
            let (machine, ended) = (Machine::stops_at(at), Rc::new(RefCell::new(None)));
            let (work, to) = (first(rt.clone(), ram.clone(), machine.clone(), scheme), ended.clone());
            rt.spawn(async move {
                let outcome = work.await;
                *to.borrow_mut() = Some(outcome);
            });
            rt.block_on(rt.sleep(SECOND * 30));
            if !machine.is_stopped() {
                assert!(at > 20 && ended.borrow().as_ref().unwrap().is_ok(), "{at}: {:?}", ended.borrow());
                rt.drop_tasks();
                break;
            }
            let options = MountOptions { scheme: scheme.map(Into::into), ..MountOptions::default() };
            let second = rt.block_on(mount(&rt, &ram, &options)).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(second.why_read_only().is_none(), "{at}: {:?}", second.why_read_only());
            rt.block_on(put(&second, b"second", 3)).unwrap();
            // Under soft updates the crash of the first has left something to free.
            rt.block_on(second.leaks_ended());
            let mut second = Some(second);
            if !stays {
                rt.block_on(second.take().unwrap().unmount()).unwrap();
            }
            let before = without_record(&ram);
            machine.go_on();
            rt.block_on(rt.sleep(SECOND / 4));
            if !stays && ended.borrow().as_ref().is_some_and(Result::is_err) {
                assert!(without_record(&ram) == before, "stopped at {at}: it wrote when it went on");
            }
            if let Some(second) = second {
                match rt.block_on(put(&second, b"third", 2)) {
                    Ok(()) => rt.block_on(second.unmount()).unwrap(),
                    Err(error) => {
                        // The claim of the first had been given to the system, and arrived now.
                        assert!(second.claim().unwrap().why_lost().is_some(), "{at}: {error}");
                        assert!(rt.block_on(second.unmount()).is_err(), "{at}");
                        late += 1;
                    }
                }
            }
            rt.block_on(rt.sleep(SECOND * 150));
            assert!(ended.borrow().is_some(), "stopped at {at}: the first one hangs");
            rt.drop_tasks();
            assert!(is_clean(&rt, &ram), "stopped at {at}, stays {stays}");
            let again = Rt::virtual_time(7);
            let found = again.block_on(async {
                let options = MountOptions { read_only: true, ..MountOptions::default() };
                let mounted = mount(&again, &ram, &options).await.unwrap();
                let file = resolve(mounted.fs(), b"/second", true).await.unwrap();
                mounted.fs().read(file.node(), 8192, 4096).await.unwrap().concat()
            });
            assert_eq!(found, [2; 4096], "stopped at {at}");
        }
    }
    assert!(late <= 2, "{late}");
}

/// Everything but the record of the writer.
fn without_record(ram: &RamDisk) -> Vec<u8> {
    let mut bytes = ram.to_vec();
    for at in Place::ALL.iter().flat_map(|place| [place.owner.0 as usize, place.beat.0 as usize]) {
        bytes[at..at + 512].fill(0);
    }
    bytes
}

#[test]
fn a_writer_that_is_stopped_anywhere_under_softupdates_writes_nothing_when_it_goes_on() {
    every_stop(None, |rt| volume(rt, Format::Ufs2, Endian::Little, (32768, 4096)), 1);
}

#[test]
fn a_writer_that_is_stopped_anywhere_under_a_log_writes_nothing_when_it_goes_on() {
    let make = |rt: &Rt| {
        let ram = volume(rt, Format::Ufs1, Endian::Big, (8192, 1024));
        let log = Tuning { log: Some(ordofs::JournalChange::On(Some(512 << 10))), ..Tuning::default() };
        log.apply_on(rt, on(&ram)).unwrap();
        ram
    };
    every_stop(Some("wafs"), make, 3);
}

#[test]
fn a_writer_that_is_stopped_anywhere_in_a_log_structured_volume_writes_nothing_when_it_goes_on() {
    let make = |rt: &Rt| {
        let ram = RamDisk::new(16 << 20);
        NewLfs::new(16 << 20).create_on(rt, on(&ram), false).unwrap();
        ram
    };
    every_stop(None, make, 3);
}

#[test]
fn a_fence_says_that_it_is_one() {
    fn fenced(fence: &Fence) -> bool {
        fence.is_fenced()
    }
    let rt = Rt::virtual_time(3);
    let ram = volume(&rt, Format::Ufs2, Endian::Little, (32768, 4096));
    protect(&rt, &ram, MmpChange::On(1000)).unwrap();
    rt.block_on(async {
        let located = claimed(&rt, rt_located(&ram).await, "x", &Notices::default()).await.unwrap();
        let claim = located.claim.clone().unwrap();
        assert!(located.disk.is_fenced() && fenced(&claim.fence(on(&ram))));
        claim.release().await.unwrap();
    });
}
