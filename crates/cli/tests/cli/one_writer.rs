//! The record of a volume's one writer on the built program: a server without locks stands for a disk that machines
//! share, and a second server, of a file inside the volume, for the machine that has it mounted.

use crate::common::{Scratch, fails, ok, ordo};
use crate::mounting::{Place, can_mount};
use crate::serving::serving;
use ordofs::disk::{DiskOff, FileOptions, ReadPart, WritePart};
use ordofs::rt::Rt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};

/// A program that serves until it is told to end; killed when dropped.
struct Serves {
    child: Child,
    url: String,
    said: BufReader<ChildStderr>,
}

impl Serves {
    /// What `place` names, at a free port, under the name `v`.
    fn start(place: &str) -> Serves {
        let (mut child, url) = serving(["serve", "nbd", "--listen", "127.0.0.1:0", "--name", "v", place]);
        let said = BufReader::new(child.stderr.take().unwrap());
        Serves { url, said, child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as an administrator does; how it ended, and the rest of its messages.
    fn stop(mut self) -> (bool, String) {
        self.signal(Signal::TERM);
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().success(), rest)
    }
}

impl Drop for Serves {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A protected volume with a file `vm.raw`, served as a disk that nobody locks.
fn shared(scratch: &Scratch) -> (String, Serves) {
    let (image, raw) = (scratch.volume(), scratch.path("vm.raw"));
    fs::write(&raw, vec![7; 64 << 10]).unwrap();
    ok(ordo(["cp", &raw, &format!("{image}:/vm.raw")]));
    ok(ordo(["tune", "-o", "mmp=0.5", &image]));
    let disk = Serves::start(&image);
    (image, disk)
}

fn holds(disk: &Serves) -> Serves {
    Serves::start(&format!("{}:/vm.raw", disk.url))
}

/// Writes through the one that has the volume, and flushes.
fn write_through(holder: &Serves) -> Result<(), String> {
    let rt = Rt::real_time();
    let disk = ordofs::disk::open(&rt, &holder.url, &FileOptions::default()).map_err(|error| error.to_string())?;
    rt.block_on(async {
        let tag = ordofs::disk::Tag::default();
        let parts = vec![ReadPart { block: ordofs::disk::Block::zeroed(4096), tag }];
        let old = disk.read(DiskOff(0), parts).await.map_err(|error| error.to_string())?;
        let image = ordofs::disk::Block::copy_of(&old[0].block.iter().map(|byte| byte ^ 1).collect::<Vec<_>>()).image();
        disk.write(DiskOff(0), vec![WritePart { image, tag }], false).await.map_err(|error| error.to_string())?;
        disk.flush().await.map_err(|error| error.to_string())
    })
}

/// The volume without the two sectors of its record.
fn without_record(image: &str) -> Vec<u8> {
    let mut bytes = fs::read(image).unwrap();
    bytes[57_344..57_856].fill(0);
    bytes[53_248..53_760].fill(0);
    bytes
}

#[test]
fn tune_and_mkfs_switch_the_protection_and_info_says_so() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let record = |image: &str| {
        let info = ok(ordo(["info", image]));
        info.lines().find(|line| line.starts_with("mmp")).map(str::to_owned)
    };
    assert_eq!(record(&image), None);
    for (value, every) in [("on", "5 s"), ("0.1", "0.1 s"), ("2", "2 s")] {
        let said = ok(ordo(["tune", "-o", &format!("mmp={value}"), &image]));
        assert!(said.contains(every), "{said}");
        let line = record(&image).unwrap();
        assert!(line.contains(&format!("on, every {every}; nobody has it")), "{line}");
    }
    for bad in ["mmp=0.01", "mmp=31", "mmp=often", "mmp=-1", "mmp="] {
        let said = String::from_utf8(ordo(["tune", "-o", bad, &image]).stderr).unwrap();
        assert!(said.contains("mmp"), "{bad}: {said}");
        assert!(record(&image).unwrap().contains("2 s"));
    }
    ok(ordo(["mkdir", &format!("{image}:/d")]));
    ok(ordo(["fsck", "-n", &image]));
    ok(ordo(["tune", "-o", "mmp=off", &image]));
    assert_eq!(record(&image), None);
    let new = scratch.path("new.img");
    for more in [&["--mmp"][..], &["--mmp", "--type", "lfs"], &["--mmp", "--type", "ufs1"]] {
        ok(ordo([&["mkfs", "-q", "--force", "--size", "16M"], more, &[&new]].concat()));
        assert!(record(&new).unwrap().contains("on, every 5 s"), "{more:?}");
        ok(ordo(["fsck", "-n", &new]));
    }
}

#[test]
fn a_second_writer_is_refused_by_name_and_a_reader_is_told() {
    let scratch = Scratch::new();
    let (_, disk) = shared(&scratch);
    let holder = holds(&disk);
    let (url, pid) = (&disk.url, holder.child.id());
    let (file, inside) = (scratch.path("vm.raw"), |path: &str| format!("{url}:{path}"));
    let mut writers: Vec<Vec<String>> = [
        &["cp", &file, &inside("/new")][..],
        &["rm", &inside("/vm.raw")],
        &["mkdir", &inside("/d")],
        &["fsck", "-y", url],
        &["fsck", "-p", "-f", url],
        &["tune", "-o", "label=his", url],
        &["tune", "-o", "mmp=off", url],
        &["mkfs", "--force", url],
        &["snapshot", &inside("/.snap/one")],
        &["resize", "--size", "12M", url],
        &["quota", "--on", url],
        &["serve", "nbd", "--listen", "127.0.0.1:0", &inside("/vm.raw")],
    ]
    .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
    .into();
    if cfg!(feature = "nfs") {
        writers.push(["serve", "nfs", url, "--listen", "127.0.0.1:0"].map(str::to_owned).into());
    }
    let place = Place::new(&scratch);
    if can_mount() {
        writers.push(["mount", url, &place.0].map(str::to_owned).into());
    }
    for writer in &writers {
        let refused = ordo(writer);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success(), "{writer:?} got in");
        assert!(said.contains("another writer has it: ordo "), "{writer:?}: {said}");
        assert!(said.contains(&format!("process {pid} on ")) && said.contains("Only one may write"), "{said}");
    }
    for reader in [&["ls", &inside("/")][..], &["fsck", "-n", url], &["cat", &inside("/vm.raw")]] {
        let read = ordo(reader);
        let said = String::from_utf8_lossy(&read.stderr).into_owned();
        assert!(said.contains("another writer has claimed it: ordo "), "{reader:?}: {said}");
    }
    assert!(ordo(["info", url]).status.success());
    write_through(&holder).unwrap();
    let (ended, said) = holder.stop();
    assert!(ended, "{said}");
    // It was given back: nobody waits, and nothing is said.
    ok(ordo(["mkdir", &inside("/mine")]));
    ok(ordo(["fsck", "-n", url]));
    ok(ordo(["mkfs", "-q", "--force", url]));
    assert!(!ok(ordo(["info", url])).contains("mmp"));
}

#[test]
fn the_next_writer_waits_for_one_that_was_killed_and_goes_on() {
    let scratch = Scratch::new();
    let (_, disk) = shared(&scratch);
    let holder = holds(&disk);
    write_through(&holder).unwrap();
    holder.kill();
    let next = ordo(["mkdir", &format!("{}:/next", disk.url)]);
    let said = String::from_utf8(next.stderr).unwrap();
    assert!(next.status.success() && said.contains("watching whether that writer lives"), "{said}");
    ok(ordo(["fsck", "-n", &disk.url]));
    assert!(ok(ordo(["ls", &format!("{}:/", disk.url)])).contains("next"));
    // The one that took over has given it back.
    ok(ordo(["mkdir", &format!("{}:/third", disk.url)]));
}

#[test]
fn one_that_was_stopped_and_taken_over_writes_nothing_turns_read_only_and_says_so() {
    let scratch = Scratch::new();
    let (image, disk) = shared(&scratch);
    let mut holder = holds(&disk);
    write_through(&holder).unwrap();
    holder.signal(Signal::STOP);
    let taken = ordo(["mkdir", &format!("{}:/taken", disk.url)]);
    assert!(taken.status.success(), "{taken:?}");
    let before = without_record(&image);
    holder.signal(Signal::CONT);
    let error = write_through(&holder).unwrap_err();
    let mut said = String::new();
    while !said.contains("taken over") {
        assert!(holder.said.read_line(&mut said).unwrap() > 0, "it says nothing: {said}; {error}");
    }
    write_through(&holder).unwrap_err();
    let (ended, rest) = holder.stop();
    assert!(!ended && rest.contains("read-only"), "{rest}");
    assert!(without_record(&image) == before, "it changed the volume");
    ok(ordo(["fsck", "-n", &disk.url]));
    ok(ordo(["mkdir", &format!("{}:/after", disk.url)]));
}

#[test]
fn a_damaged_record_says_what_to_do_and_that_helps() {
    use std::os::unix::fs::FileExt;
    let scratch = Scratch::new();
    let image = scratch.volume();
    ok(ordo(["tune", "-o", "mmp=0.1", &image]));
    let file = fs::File::options().write(true).open(&image).unwrap();
    // A byte of the owner's sector; and its version, which is that of a future program.
    for (at, byte) in [(57_344 + 20, 0xff), (57_344 + 7, 2)] {
        file.write_all_at(&[byte], at).unwrap();
        let said = fails(3, ordo(["mkdir", &format!("{image}:/d")]));
        assert!(said.contains("damaged") && said.contains("mmp=on"), "{said}");
        assert!(ok(ordo(["info", &image])).contains("damaged"), "{at}");
        // It would wait a minute for whoever may have the volume, so the test makes the record whole by itself.
        file.write_all_at(&[0; 512], 57_344).unwrap();
        file.write_all_at(&[0; 512], 53_248).unwrap();
        ok(ordo(["tune", "-o", "mmp=0.1", &image]));
    }
    ok(ordo(["mkdir", &format!("{image}:/d")]));
    ok(ordo(["fsck", "-n", &image]));
}
