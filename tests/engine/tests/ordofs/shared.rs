//! A volume that threads and an executor of another kind share.

use ordofs::rt::Rt;
use ordofs::{NewVolume, OpenOptions, SharedVolume, Volume};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn image(dir: &tempfile::TempDir) -> PathBuf {
    let image = dir.path().join("disk.img");
    NewVolume::new(16 << 20).create(&image).unwrap();
    image
}

fn shared(image: &Path) -> SharedVolume {
    let image = image.to_owned();
    SharedVolume::start(move || Volume::open(&image)?.mount()).unwrap()
}

#[test]
fn threads_share_a_volume_and_each_call_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(&dir);
    let volume = shared(&image);
    volume.call(|v| v.write("/n", b"0")).wait().unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let volume = volume.clone();
            std::thread::spawn(move || {
                for _ in 0..25 {
                    let add = |v: &Volume| {
                        let n: u32 = v.read_to_string("/n")?.parse().unwrap();
                        v.write("/n", (n + 1).to_string())
                    };
                    volume.call(add).wait().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    volume.unmount().unwrap();
    let volume = Volume::open(&image).unwrap().mount().unwrap();
    assert_eq!(volume.read_to_string("/n").unwrap(), "200");
}

#[test]
fn an_executor_of_another_kind_awaits_calls() {
    let dir = tempfile::tempdir().unwrap();
    let volume = shared(&image(&dir));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..50)
            .map(|i| {
                let volume = volume.clone();
                tokio::spawn(async move {
                    volume.call(move |v| v.write(format!("/{i}"), format!("{i}"))).await?;
                    volume.call(move |v| v.read_to_string(format!("/{i}"))).await
                })
            })
            .collect();
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap().unwrap(), i.to_string());
        }
        let missing = volume.call(|v| v.read("/none")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn what_was_written_becomes_durable_between_calls_and_the_last_handle_unmounts() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(&dir);
    let of = image.clone();
    let mount = move || Volume::open(&of)?.commit(Duration::from_secs(1)).mount();
    let volume = SharedVolume::start(mount).unwrap();
    volume.call(|v| v.write("/f", b"x")).wait().unwrap();
    // No call runs: the thread writes it by itself, which a copy of the image shows.
    let (copy, rt) = (dir.path().join("copy.img"), Rt::real_time());
    let found = (0..100).any(|_| {
        rt.block_on(rt.sleep(Duration::from_millis(200)));
        std::fs::copy(&image, &copy).unwrap();
        let copied = Volume::open(&copy).unwrap().read_only().mount().unwrap();
        copied.read("/f").is_ok_and(|bytes| bytes == b"x")
    });
    assert!(found, "nothing was written in 20 s without a call");
    let other = volume.clone();
    drop(volume);
    other.call(|v| v.write("/g", b"y")).wait().unwrap();
    drop(other);
    let volume = Volume::open(&image).unwrap().mount().unwrap();
    assert_eq!((volume.read("/g").unwrap(), volume.is_read_only()), (b"y".to_vec(), false));
}

#[test]
fn the_work_of_a_call_cannot_wait_for_its_own_volume_and_may_drop_the_last_handle() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(&dir);
    let volume = shared(&image);
    let (inner, other) = (volume.clone(), volume.clone());
    let refused = volume.call(move |_| {
        let waited = inner.call(|v| v.write("/f", b"x")).wait().unwrap_err().kind();
        Ok((waited, inner.unmount().unwrap_err().kind()))
    });
    assert_eq!(refused.wait().unwrap(), (ErrorKind::Deadlock, ErrorKind::Deadlock));
    // The call ran after the one that could not wait for it.
    assert_eq!(volume.call(|v| v.read("/f")).wait().unwrap(), b"x");
    let (go, gone) = std::sync::mpsc::channel();
    let last = other.clone();
    let dropped = other.call(move |_| {
        gone.recv().unwrap();
        drop(last);
        Ok(())
    });
    drop((volume, other));
    go.send(()).unwrap();
    dropped.wait().unwrap();
    // It is unmounted after that call, by its own thread.
    let rt = Rt::real_time();
    let clean = (0..100).any(|_| {
        rt.block_on(rt.sleep(Duration::from_millis(50)));
        Volume::open(&image).unwrap().mount().is_ok_and(|v| v.read("/f").is_ok() && !v.is_read_only())
    });
    assert!(clean);
}

#[test]
fn each_call_gets_a_result_even_if_the_thread_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let path = image(&dir);
    let (volume, other) = {
        let v = shared(&path);
        (v.clone(), v)
    };
    volume.unmount().unwrap();
    assert_eq!(other.call(|v| v.read("/f")).wait().unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(other.unmount().unwrap_err().kind(), ErrorKind::NotConnected);
    let volume = shared(&path);
    let bad = volume.call(|_| -> ordo_vfs::Result<()> { panic!("the work of a call") });
    let after = volume.call(|v| v.read("/f"));
    assert_eq!(bad.wait().unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(after.wait().unwrap_err().kind(), ErrorKind::NotConnected);
    assert!(SharedVolume::start(|| Volume::open("/nonexistent/disk.img")?.mount()).is_err());
}

#[test]
fn an_open_file_is_shared_outlives_its_name_and_ends_with_its_volume() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(&dir);
    let volume = shared(&image);
    let mut options = OpenOptions::new();
    let log = volume.open_file("/log", options.read(true).append(true).create(true)).unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let log = &log;
            scope.spawn(move || (0..40).for_each(|n| log.write(format!("{name}{n:02}\n").as_bytes()).unwrap()));
        }
    });
    volume.call(|v| v.remove_file("/log")).wait().unwrap();
    let lines = String::from_utf8(log.read_at(0, 1 << 16).unwrap()).unwrap();
    assert!(lines.lines().count() == 120 && lines.lines().all(|line| line.len() == 3), "{lines}");
    assert_eq!(volume.open_file("/none", OpenOptions::new().read(true)).err().unwrap().kind(), ErrorKind::NotFound);
    // One that is open while the volume is unmounted does not hold it up.
    volume.unmount().unwrap();
    assert_eq!(log.read_at(0, 1).unwrap_err().kind(), ErrorKind::NotConnected);
    drop(log);
    let volume = Volume::open(&image).unwrap().mount().unwrap();
    assert!(!volume.is_read_only() && !volume.exists("/log").unwrap());
    let free = volume.space().unwrap().free_inodes;
    volume.unmount().unwrap();
    // The space of the removed file was freed when it was closed.
    let fresh = tempfile::tempdir().unwrap();
    let other = Volume::open(self::image(&fresh)).unwrap().mount().unwrap();
    assert_eq!(other.space().unwrap().free_inodes, free);
}
