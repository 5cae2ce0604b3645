//! A copy of a volume that follows its log in a stream: it becomes what the volume was, or says why it cannot.

use crate::common;

use common::tree::look;
use common::{assert_clean, fresh, located};
use ordo_recover::{Follower, NotFollowed, NotReplayed};
use ordo_simdisk::RamStream;
use ordofs::disk::{Answered, Disk, LogHome, LogStream, Messages, RamDisk, StreamLimits, StreamState};
use ordofs::path::Held;
use ordofs::rt::{Rng, Rt};
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name, RenameMode, SetAttr};
use ordofs::{MountOptions, Mounted};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const VOLUME: u64 = 48 << 20;
const STREAM: u64 = 64 << 20;

fn log_of(stream: &RamStream, rt: &Rt) -> LogStream {
    LogStream::new(Rc::new(stream.on(rt)))
}

fn mount(rt: &Rt, ram: &RamDisk, stream: &RamStream, data: &str) -> Mounted {
    let mut options = MountOptions { scheme: Some("wafs".into()), cache: 16 << 20, ..MountOptions::default() };
    options.settings.set("data", data).expect("it is a setting").expect("it can be set so");
    let mut located = located(ram, Rc::new(ram.clone()));
    located.log = Some(LogHome::Stream(log_of(stream, rt)));
    rt.block_on(Mounted::mount(rt, located, &options)).expect("it can be mounted")
}

/// A volume that had a log in the stream, and is not mounted.
fn begun(rt: &Rt, shape: usize) -> (RamDisk, RamStream) {
    let ram = fresh(rt, common::SHAPES[shape], VOLUME);
    let stream = RamStream::new(rt, STREAM);
    rt.block_on(mount(rt, &ram, &stream, "journal").unmount()).expect("it can be unmounted");
    (ram, stream)
}

/// Makes, writes, truncates, renames and removes files.
async fn work(mounted: &Mounted, seed: u64, calls: u64) {
    let (fs, who, mut rng) = (mounted.fs(), Caller { privileged: true, ..Caller::default() }, Rng::new(seed));
    let home = format!("d{seed}");
    let home = Name::new(home.as_bytes()).expect("it is a name");
    let dir = Held::new(fs, fs.mkdir(&who, fs.root(), home, Mode::new(0o755)).await.expect("there is room"));
    for n in 0..calls {
        let (this, other) = (format!("f{}", rng.below(12)), format!("f{}", rng.below(12)));
        let [this, other] = [&this, &other].map(|name| Name::new(name.as_bytes()).expect("it is a name"));
        let found = match fs.lookup(dir.node(), this).await {
            Ok(found) => Held::new(fs, found),
            Err(_) => {
                let made = fs.mknod(&who, dir.node(), this, Kind::Regular, Mode::new(0o644), 0).await;
                Held::new(fs, made.expect("there is room"))
            }
        };
        let bytes = vec![n as u8 + 1; 1 + rng.below(90_000) as usize];
        match rng.below(6) {
            0..=2 => {
                let at = rng.below(200_000);
                fs.write(&who, found.node(), at, &bytes).await.expect("there is room");
            }
            3 => fs.unlink(dir.node(), this).await.expect("it is there"),
            4 => drop(fs.rename(dir.node(), this, dir.node(), other, RenameMode::Replace).await),
            _ => {
                let size = SetAttr { size: Some(rng.below(100_000)), ..SetAttr::default() };
                fs.setattr(found.node(), &size).await.expect("it can be truncated");
            }
        }
        if n % 9 == 8 {
            fs.fsync(found.node(), false).await.expect("it can be made durable");
        }
    }
    fs.syncfs().await.expect("it can be made durable");
}

fn follower(rt: &Rt, copy: &RamDisk, stream: &RamStream) -> Result<Follower, NotFollowed> {
    rt.block_on(Follower::open(rt, Rc::new(copy.clone()), log_of(stream, rt)))
}

fn tree(rt: &Rt, ram: &RamDisk) -> common::tree::Tree {
    let mounted = common::mount(rt, ram, "sync");
    let tree = rt.block_on(look(&**mounted.fs())).expect("it can be read");
    rt.block_on(mounted.unmount()).expect("it can be unmounted");
    tree
}

#[test]
fn a_promoted_copy_is_what_the_volume_was_over_mounts_a_crash_and_restarts_of_the_follower() {
    for shape in 0..common::SHAPES.len() {
        let rt = Rt::virtual_time(shape as u64);
        let (ram, stream) = begun(&rt, shape);
        let copy = ram.snapshot();
        let mut follows = follower(&rt, &copy, &stream).unwrap();
        for round in 0..2 {
            let mounted = mount(&rt, &ram, &stream, "journal");
            rt.block_on(work(&mounted, round, 60));
            rt.block_on(follows.catch_up()).unwrap();
            rt.block_on(work(&mounted, round + 10, 60));
            rt.block_on(mounted.unmount()).unwrap();
            drop(follows);
            follows = follower(&rt, &copy, &stream).unwrap();
        }
        let mounted = mount(&rt, &ram, &stream, "journal");
        rt.block_on(work(&mounted, 20, 60));
        // The volume's own replay, of a copy of everything as a crash leaves it.
        let (twin, twin_stream) = (ram.snapshot(), stream.fork(&rt));
        let twin_disk: Rc<dyn Disk> = Rc::new(twin.clone());
        let log = LogHome::Stream(log_of(&twin_stream, &rt));
        rt.block_on(ordo_recover::replay_log(&rt, twin_disk, Some(log))).unwrap();
        let (followed, _) = rt.block_on(follows.promote()).unwrap();
        assert_eq!(followed.taken, Some(followed.next - 1));
        assert_clean(&rt, &copy, &format!("shape {shape}"));
        assert_eq!(tree(&rt, &copy), tree(&rt, &twin), "shape {shape}");
        // The writer is refused from then on.
        let (fs, who) = (mounted.fs(), Caller { privileged: true, ..Caller::default() });
        let refused = rt.block_on(async {
            let made = fs.mknod(&who, fs.root(), Name::new(b"late")?, Kind::Regular, Mode::new(0o644), 0).await?;
            fs.fsync(Held::new(fs, made).node(), false).await
        });
        assert!(refused.is_err());
        drop(mounted);
        rt.drop_tasks();
    }
}

#[test]
fn a_copy_of_a_mounted_volume_that_was_torn_over_time_follows_too() {
    let rt = Rt::virtual_time(3);
    let (ram, stream) = begun(&rt, 0);
    let mounted = mount(&rt, &ram, &stream, "journal");
    rt.block_on(work(&mounted, 1, 80));
    // The first half of the copy is older than the second.
    let copy = ram.snapshot();
    rt.block_on(work(&mounted, 2, 80));
    let (later, half) = (ram.snapshot(), VOLUME / 2);
    let mut bytes = vec![0; 1 << 20];
    for at in (half..VOLUME).step_by(bytes.len()) {
        later.peek(at, &mut bytes);
        copy.poke(at, &bytes);
    }
    rt.block_on(work(&mounted, 3, 80));
    let mut follows = follower(&rt, &copy, &stream).unwrap();
    rt.block_on(follows.catch_up()).unwrap();
    rt.block_on(mounted.unmount()).unwrap();
    rt.block_on(follows.promote()).unwrap();
    assert_clean(&rt, &copy, "the copy");
    assert_eq!(tree(&rt, &copy), tree(&rt, &ram));
}

#[test]
fn a_log_that_a_crash_left_before_the_volume_named_it_stops_neither_the_volume_nor_its_copy() {
    let rt = Rt::virtual_time(4);
    let (ram, stream) = begun(&rt, 0);
    let (copy, clean) = (ram.snapshot(), ram.snapshot());
    let mut follows = follower(&rt, &copy, &stream).unwrap();
    for restarted in [false, true] {
        // Its superblock never reached the disk.
        let lost = mount(&rt, &clean.snapshot(), &stream, "journal");
        let (_, last) = stream.range();
        drop(lost);
        rt.drop_tasks();
        stream.lose_after(last);
        rt.block_on(follows.catch_up()).unwrap();
        if restarted {
            follows = follower(&rt, &copy, &stream).unwrap();
        }
    }
    let mounted = mount(&rt, &clean, &stream, "journal");
    rt.block_on(work(&mounted, 1, 30));
    rt.block_on(mounted.unmount()).unwrap();
    rt.block_on(follows.promote()).unwrap();
    assert_clean(&rt, &copy, "the copy");
    assert_eq!(tree(&rt, &copy), tree(&rt, &clean));
}

#[test]
fn what_the_log_does_not_have_is_an_error_and_not_a_copy_that_lacks_it() {
    let rt = Rt::virtual_time(5);
    let (ram, stream) = begun(&rt, 0);
    let copy = ram.snapshot();
    // Without contents of files.
    let mounted = mount(&rt, &ram, &stream, "ordered");
    rt.block_on(work(&mounted, 1, 20));
    let refused = rt.block_on(follower(&rt, &copy, &stream).unwrap().catch_up());
    assert!(matches!(refused, Err(NotFollowed::Incomplete { .. })), "{refused:?}");
    rt.block_on(mounted.unmount()).unwrap();
    // Recovered after a crash.
    let copy = ram.snapshot();
    let mounted = mount(&rt, &ram, &stream, "journal");
    rt.block_on(work(&mounted, 2, 20));
    let torn = ram.snapshot();
    rt.block_on(mounted.unmount()).unwrap();
    let crashed = stream.fork(&rt);
    crashed.lose_after(stream.range().1 - 1);
    let recovered = mount(&rt, &torn, &crashed, "journal");
    let refused = rt.block_on(follower(&rt, &copy.snapshot(), &crashed).unwrap().catch_up());
    assert!(matches!(refused, Err(NotFollowed::NotContinued { .. })), "{refused:?}");
    rt.block_on(recovered.unmount()).unwrap();
    // Messages that the copy lacks are gone; and a stream that has less than the copy.
    let purged = stream.fork(&rt);
    let held = follower(&rt, &copy.snapshot(), &stream).unwrap();
    let (_, last) = stream.range();
    for number in 1..last {
        purged.damage(number, None);
    }
    let refused = follower(&rt, &copy.snapshot(), &purged).err();
    assert!(matches!(refused, Some(NotFollowed::Log(ordo_wafs::Error::Missing { .. }))), "{refused:?}");
    let ahead = copy.snapshot();
    rt.block_on(follower(&rt, &ahead, &stream).unwrap().catch_up()).unwrap();
    let short = stream.fork(&rt);
    short.lose_after(last - 3);
    let refused = follower(&rt, &ahead, &short).err();
    assert!(matches!(refused, Some(NotFollowed::Ahead { .. })), "{refused:?}");
    drop(held);
    // An ordinary replay does not touch a copy.
    let log = LogHome::Stream(log_of(&stream, &rt));
    let refused = rt.block_on(ordo_recover::replay_log(&rt, Rc::new(ahead.clone()), Some(log))).err();
    assert!(matches!(refused, Some(NotReplayed::Follows { .. })), "{refused:?}");
    // A volume that never had a log in a stream.
    let refused = follower(&rt, &fresh(&rt, common::SHAPES[0], VOLUME), &stream).err();
    assert!(matches!(refused, Some(NotFollowed::NoCopy)), "{refused:?}");
}

/// A stream to which more messages of its log come: one before the first that is sent here, and if the writer lives,
/// another one whenever the stream is looked at after that.
struct Late {
    stream: RamStream,
    late: RefCell<VecDeque<bytes::Bytes>>,
    lives: bool,
    has_sent: std::cell::Cell<bool>,
}

impl Late {
    fn one_comes(&self) {
        let last = self.stream.range().1;
        let late = self.late.borrow_mut().pop_front();
        if let Some(late) = late {
            drop(self.stream.publish(last, format!("late {last}"), late));
        }
    }
}

impl Messages for Late {
    fn name(&self) -> String {
        self.stream.name()
    }

    fn limits(&self) -> StreamLimits {
        self.stream.limits()
    }

    fn state(&self) -> Answered<StreamState> {
        if self.lives && self.has_sent.get() {
            self.one_comes();
        }
        self.stream.state()
    }

    fn publish(&self, after: u64, id: String, message: bytes::Bytes) -> Answered<u64> {
        if !self.has_sent.replace(true) {
            self.one_comes();
        }
        self.stream.publish(after, id, message)
    }

    fn read(&self, number: u64) -> Answered<Option<bytes::Bytes>> {
        self.stream.read(number)
    }

    fn purge(&self, before: u64) -> Answered<()> {
        self.stream.purge(before)
    }
}

#[test]
fn a_replay_has_the_late_messages_of_a_writer_that_is_gone_and_refuses_one_that_lives() {
    for lives in [false, true] {
        let rt = Rt::virtual_time(5);
        let (ram, stream) = begun(&rt, 0);
        let mounted = mount(&rt, &ram, &stream, "journal");
        rt.block_on(work(&mounted, 1, 60));
        let (image, early) = (ram.snapshot(), stream.fork(&rt));
        rt.block_on(work(&mounted, 2, 60));
        let late = |from: u64, to: u64| (from..=to).map_while(|number| stream.peek(number)).collect();
        let (from, to) = (early.range().1 + 1, stream.range().1);
        let late = Late { stream: early, late: RefCell::new(late(from, to)), lives, has_sent: false.into() };
        assert!(late.late.borrow().len() > 20);
        let late = Rc::new(late);
        let log = LogHome::Stream(LogStream::new(late.clone()));
        let disk: Rc<dyn Disk> = Rc::new(image.clone());
        let replayed = rt.block_on(ordo_recover::replay_log(&rt, disk, Some(log)));
        match (lives, replayed) {
            (false, Ok(_)) => assert_clean(&rt, &image, "with a late message"),
            (true, Err(why)) => assert!(why.to_string().contains("in use on another machine"), "{why}"),
            (_, other) => panic!("lives: {lives}, {other:?}"),
        }
        drop(mounted);
        rt.drop_tasks();
    }
}
