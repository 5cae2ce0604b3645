//! The server: accepts connections, and runs the executor until it is stopped.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use ordo_rt::Rt;
use ordo_sockets::{Address, Clients, Listener, Stopper, serve};

use crate::connection::attend;
use crate::export::{Description, Export, Failure};
use crate::jobs::Jobs;
use crate::work::Served;

/// The most connections at a time.
const CONNECTIONS_MOST: usize = 32;

/// How to serve.
pub struct ServerOptions {
    /// The name of the export; clients may also leave it out.
    pub name: String,
    /// Told of connections that ended badly, and of flushes that failed. Called from any thread.
    pub complain: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A server that listens, and serves once it runs.
pub struct Server {
    listener: Listener,
    options: ServerOptions,
    clients: Arc<Clients>,
}

/// The address of the export `name` for NBD clients.
pub fn url(address: &Address, name: &str) -> String {
    match address {
        Address::Unix(path) => format!("nbd+unix:///{name}?socket={}", path.display()),
        Address::Tcp(place) => format!("nbd://{place}/{name}"),
    }
}

impl Server {
    /// A server at this listener.
    ///
    /// # Errors
    /// The system's, when it has no descriptor left.
    pub fn new(listener: Listener, options: ServerOptions) -> io::Result<Server> {
        Ok(Server { listener, options, clients: Clients::new(CONNECTIONS_MOST)? })
    }

    /// A handle that stops it.
    pub fn stopper(&self) -> Stopper {
        self.clients.stopper()
    }

    /// Serves `export` until the server is stopped. Requests that were read are carried out and answered first; then
    /// everything that was written is made durable.
    ///
    /// # Errors
    /// The system's, from the socket; or the last flush failed.
    pub fn run(self, rt: &Rt, export: impl Export + 'static) -> io::Result<()> {
        let complain = self.options.complain.clone();
        let served = Rc::new(Served::new(export, Box::new(move |what| complain(what))));
        let (description, jobs) = (served.description.clone(), Arc::new(Jobs::default()));
        let coming = jobs.clone();
        let accepting = std::thread::Builder::new().name("ordo-nbd-accept".into()).spawn(move || {
            let outcome = self.accept_all(description, &coming);
            coming.close();
            outcome
        })?;
        rt.block_on(async {
            while let Some(job) = jobs.next().await {
                rt.spawn(served.clone().carry_out(job));
            }
        });
        // OK to expect: that thread runs no code of a client, and a panic there is a defect to be seen.
        let outcome = accepting.join().expect("the accepting thread panicked");
        let flushed = rt.block_on(served.flush());
        outcome.and(flushed.map_err(|Failure { text, .. }| io::Error::other(text)))
    }

    fn accept_all(self, description: Description, jobs: &Arc<Jobs>) -> io::Result<()> {
        let Server { listener, options: ServerOptions { name, complain }, clients } = self;
        let (tell, description, jobs) = (complain.clone(), Arc::new(description), jobs.clone());
        serve(&listener, &clients, &*tell, move |stream, place| {
            if let Err(error) = attend(stream, &description, &name, &jobs, &place.stalls) {
                complain(&format!("connection {} was ended: {error}", place.number));
            }
        })
    }
}
