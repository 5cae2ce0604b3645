//! A server that has no descriptor left. Alone in its process, since the limit is the process's.

use ordo_sockets::{Address, Clients, Listener, serve};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::unix::net::UnixStream;

#[test]
fn a_server_without_descriptors_goes_on_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let listener = Listener::bind(&Address::Unix(dir.path().join("socket"))).unwrap();
    let clients = Clients::new(1000).unwrap();
    let (stopper, before) = (clients.stopper(), getrlimit(Resource::Nofile));
    std::thread::scope(|scope| {
        let service = scope.spawn(|| {
            serve(&listener, &clients, &|_| (), |mut stream, _| {
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            })
        });
        let connect = || UnixStream::connect(dir.path().join("socket"));
        let first = connect().unwrap();
        // As many as there are now, and some that are not enough for what comes.
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        setrlimit(Resource::Nofile, Rlimit { current: Some(open + 10), maximum: before.maximum }).unwrap();
        let many: Vec<_> = std::iter::from_fn(|| connect().ok()).collect();
        // The server meets the limit meanwhile.
        let _ = rustix::thread::nanosleep(&rustix::fs::Timespec { tv_sec: 0, tv_nsec: 200_000_000 });
        assert!(!service.is_finished(), "it goes on");
        assert!(many.len() >= 3);
        stopper.stop();
        assert!(service.join().unwrap().is_ok(), "it ends although it has no descriptor");
        setrlimit(Resource::Nofile, before).unwrap();
        drop(first);
    });
}
