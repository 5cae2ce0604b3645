//! One connection: this thread reads requests, another one sends replies.

use std::io::{self, Read};
use std::net::Shutdown;
use std::sync::{Arc, mpsc};

use ordo_disk::{Block, nbd_proto as proto};
use ordo_sockets::{Stalls, Stream, Watched};

use crate::REQUEST_MOST;
use crate::export::Description;
use crate::handshake;
use crate::jobs::{Job, Jobs, Session};
use crate::reply::Reply;
use crate::request::Request;
use crate::room::Bounds;

/// Serves one client until it leaves, breaks the protocol, or the server stops.
pub(crate) fn attend(
    mut stream: Stream,
    export: &Description,
    name: &str,
    jobs: &Jobs,
    stalls: &Stalls,
) -> io::Result<()> {
    let Some(session) = handshake::shake_hands(&mut stream, export, name)? else { return Ok(()) };
    let (answer, replies) = mpsc::channel::<Reply>();
    let bounds = Arc::new(Bounds::default());
    let (mut sending, stall, room) = (stream.try_clone()?, stalls.writing.clone(), bounds.clone());
    let sender = std::thread::Builder::new().name("ordo-nbd-reply".into()).spawn(move || {
        // Each reply is dropped here, sent or not: its room is free before the next one is waited for.
        let lost = replies.iter().any(|reply| reply.send(&mut Watched(&mut sending, &stall)).is_err());
        if lost {
            // The reading thread learns it wherever it waits: for the client, or for room.
            room.close();
            sending.shutdown(Shutdown::Both);
            replies.into_iter().for_each(drop);
        }
    })?;
    let outcome = read_all(&mut stream, session, export, jobs, answer, (stalls, &bounds));
    if outcome.is_err() {
        // What follows cannot be understood, and replies to a client like that are worth nothing.
        bounds.close();
        stream.shutdown(Shutdown::Both);
    }
    // Ends when the last job has answered.
    let _ = sender.join();
    stream.shutdown(Shutdown::Both);
    outcome
}

fn read_all(
    stream: &mut Stream,
    session: Session,
    export: &Description,
    jobs: &Jobs,
    answer: mpsc::Sender<Reply>,
    (stalls, bounds): (&Stalls, &Arc<Bounds>),
) -> io::Result<()> {
    let stall = &stalls.reading;
    while let Some(request) = Request::receive(stream, stall)? {
        stalls.has_asked();
        if request.command == proto::CMD_DISC {
            return Ok(());
        }
        if request.has_data() && request.len > REQUEST_MOST {
            return Err(io::Error::other(format!("a write of {} bytes; the most are {REQUEST_MOST}", request.len)));
        }
        let Some(room) = bounds.take(request.weight()) else { return Ok(()) };
        let data = if request.has_data() {
            receive(&mut Watched(stream, stall), request.len, export.piece)?
        } else {
            Vec::new()
        };
        if !jobs.send(Job { request, data, session, answer: answer.clone(), room }) {
            return Err(io::Error::other("the server has stopped"));
        }
    }
    Ok(())
}

/// The data of a write. Memory is taken piece by piece, as it arrives (serving-3).
fn receive(stream: &mut impl Read, len: u32, piece: u32) -> io::Result<Vec<Block>> {
    let (mut rest, mut blocks) = (len, Vec::new());
    while rest > 0 {
        let mut block = Block::unspecified(rest.min(piece) as usize);
        stream.read_exact(&mut block)?;
        rest -= block.len() as u32;
        blocks.push(block);
    }
    Ok(blocks)
}
