//! A job becomes calls of the export, on the executor's thread.

use std::cell::RefCell;
use std::rc::Rc;

use ordo_disk::{Block, nbd_proto as proto};

use crate::export::{Description, Export, Failure};
use crate::jobs::Job;
use crate::reply::{Answer, Reply};
use crate::request::Request;

/// The most extents in one reply; the client asks again for the rest.
const EXTENTS_MOST: usize = 4096;

/// An export, and whether its flushes can be believed.
pub(crate) struct Served<E> {
    pub(crate) export: E,
    pub(crate) description: Description,
    /// Why a flush failed (serving-2).
    failed: RefCell<Option<Failure>>,
    /// Told when that happens.
    complain: Box<dyn Fn(&str)>,
}

impl<E: Export> Served<E> {
    pub(crate) fn new(export: E, complain: Box<dyn Fn(&str)>) -> Served<E> {
        let description = export.describe();
        Served { export, description, failed: RefCell::default(), complain }
    }

    /// Carries the job out, and sends its reply. If the client is gone, nobody waits for that.
    pub(crate) async fn carry_out(self: Rc<Self>, job: Job) {
        let Job { request, data, session, answer, room } = job;
        if request.only_answers() && room.is_for_nobody() {
            return;
        }
        let outcome = match request.check(&self.description, session.contexts) {
            Ok(()) => self.act(&request, data).await,
            Err(refused) => Err(refused),
        };
        let _ = answer.send(Reply::new(request.cookie, outcome, session.structured, room));
    }

    async fn act(&self, request: &Request, data: Vec<Block>) -> Result<Answer, Failure> {
        let (at, len, force) = (request.at, u64::from(request.len), request.has(proto::CMD_FLAG_FUA));
        match request.command {
            proto::CMD_READ => {
                return self.export.read(at, request.len).await.map(|bytes| Answer::Data { at, bytes });
            }
            proto::CMD_BLOCK_STATUS => return self.status(at, len, request.has(proto::CMD_FLAG_REQ_ONE)).await,
            proto::CMD_FLUSH => self.flush().await?,
            proto::CMD_WRITE if force => {
                self.believable()?;
                match self.export.write(at, data, true).await {
                    // Without space nothing was written that a flush would have to cover.
                    Err(full) if full.code == proto::ENOSPC => return Err(full),
                    written => self.judge(written)?,
                }
            }
            proto::CMD_WRITE => self.export.write(at, data, false).await?,
            proto::CMD_TRIM => self.export.trim(at, len).await?,
            proto::CMD_WRITE_ZEROES => {
                let (holes, fast) = (!request.has(proto::CMD_FLAG_NO_HOLE), request.has(proto::CMD_FLAG_FAST_ZERO));
                self.export.zero(at, len, holes, fast).await?;
            }
            // `check` lets no other command pass.
            other => return Err(Failure::invalid(format!("this server has no command {other}"))),
        }
        if force && matches!(request.command, proto::CMD_TRIM | proto::CMD_WRITE_ZEROES) {
            self.flush().await?;
        }
        Ok(Answer::Done)
    }

    pub(crate) async fn flush(&self) -> Result<(), Failure> {
        if self.description.read_only {
            return Ok(());
        }
        self.believable()?;
        let flushed = self.export.flush().await;
        self.judge(flushed)
    }

    /// Refuses to promise anything after a flush has failed (serving-2).
    fn believable(&self) -> Result<(), Failure> {
        self.failed.borrow().clone().map_or(Ok(()), Err)
    }

    /// The failure of a flush is final.
    fn judge(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        // Another flush may have failed while this one was under way, and have taken the news of its failure.
        self.believable()?;
        let Err(why) = &outcome else { return outcome };
        let text = format!("an earlier flush failed, and nothing is durable from there on: {}", why.text);
        (self.complain)(&format!("a flush failed; every later one is refused, restart the server: {}", why.text));
        *self.failed.borrow_mut() = Some(Failure::new(proto::EIO, text));
        outcome
    }

    async fn status(&self, at: u64, len: u64, one: bool) -> Result<Answer, Failure> {
        let (most, end, mut at) = (if one { 1 } else { EXTENTS_MOST }, at + len, at);
        let mut extents: Vec<(u32, u32)> = Vec::new();
        while at < end && extents.len() < most {
            let extent = self.export.extent(at).await?;
            let flags = if extent.hole { proto::STATE_HOLE | proto::STATE_ZERO } else { 0 };
            // At most the length of the request, which has 32 bits.
            let len = (extent.end.min(end) - at) as u32;
            at = extent.end;
            match extents.last_mut() {
                Some((before, same)) if *same == flags => *before += len,
                _ => extents.push((len, flags)),
            }
        }
        Ok(Answer::Status(extents))
    }
}
