//! Claiming a disk, keeping it, and giving it back. The rules are those of the module's head.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::rc::{Rc, Weak};
use std::time::Duration;

use ordo_ondisk::mmp::{Beat, Holder, INTERVALS, Owner, Place, Released, SECTOR};
use ordo_rt::sync::Mutex;
use ordo_rt::{Rt, Time};
use rustix::io::Errno;

use super::error::{ClaimError, Taken, TakenOver};
use super::lease::Lease;
use super::record::{Seen, are_apart, look, look_to_claim, put};
use super::times::Times;
use crate::error::{Cause, DiskError, DiskOp};
use crate::{Disk, DiskOff, Lost};

/// Milliseconds from beat to beat, if nobody chose.
pub const DEFAULT_INTERVAL: u32 = 5000;
/// Who is told of a loss.
type Told = Rc<dyn Fn(DiskError)>;

/// Looks that may be too slow in a row before a writer gives up.
const SLOW_LOOKS: u32 = 8;
/// Times that a claimant begins anew, because the record had changed under it.
const ROUNDS: u32 = 4;

/// What a claimant waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who had claimed the disk, and may be gone; `None` if the record does not say that.
    pub holder: Option<Holder>,
    /// How long, if nothing happens.
    pub at_most: Duration,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.at_most.as_secs_f64();
        match &self.holder {
            Some(holder) => write!(f, "it was claimed by {holder}: watching whether that writer lives, {secs:.1} s"),
            None => {
                write!(f, "the record of its writer does not say who has it: waiting for one that lives, {secs:.1} s")
            }
        }
    }
}

/// A claim of a disk; clones are handles of the same one. It is renewed by a task of its own until the last handle is
/// dropped or [`Claim::release`] is called. Dropped without a release it looks left behind, and the next writer has to
/// watch first.
#[derive(Clone)]
pub struct Claim(Rc<Inner>);

struct Inner {
    rt: Rt,
    disk: Rc<dyn Disk>,
    place: Place,
    times: Times,
    owner: Owner,
    /// When the last look began that found the claim there.
    checked: Cell<Time>,
    seq: Cell<u64>,
    lost: RefCell<Option<Taken>>,
    on_lost: RefCell<Option<Told>>,
    /// What the disk below was told (fence-9); nobody asks it in virtual time.
    lease: Lease,
    /// One look at a time: those who wait for it use it together.
    looking: Mutex<()>,
}

impl Claim {
    /// Claims the disk, whose record is at `place` and on. `doing` says what for. With `anew` a damaged record is
    /// claimed, too, after the same waits. `tell` is called before a wait for another one.
    ///
    /// # Errors
    /// See [`ClaimError`]; another one's claim was not touched then, except by [`ClaimError::Raced`].
    pub async fn take(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        place: Place,
        doing: &str,
        anew: bool,
        tell: impl Fn(&Waiting),
    ) -> Result<Claim, ClaimError> {
        if !are_apart(&*disk, place) {
            return Err(ClaimError::Sector(disk.info().sector));
        }
        let me = myself(rt, doing);
        for _ in 0..ROUNDS {
            let Some((before, settle, began)) = watched(rt, &*disk, place, anew, &tell).await? else { continue };
            let times = Times::of(before.interval);
            // fence-3: what was seen is too old to be acted on.
            if rt.now_with_sleep() - began > times.quick() {
                continue;
            }
            let owner = Owner { claims: before.claims.wrapping_add(1), holder: Ok(me.clone()), ..before };
            put(&*disk, place.owner, &owner.encode(), true).await?;
            let done = rt.now_with_sleep();
            // fence-4.
            let settle = if done - began > times.quick() { times.settle_slow() } else { settle };
            let inner = Inner {
                rt: rt.clone(),
                disk: disk.clone(),
                place,
                times,
                owner,
                checked: Cell::new(Time::ZERO),
                seq: Cell::new(0),
                lost: RefCell::new(None),
                on_lost: RefCell::new(None),
                lease: Lease::until(Time::ZERO),
                looking: Mutex::new(()),
            };
            let claim = Claim(Rc::new(inner));
            // Those who watch see that somebody lives.
            while rt.now_with_sleep() < done + settle {
                claim.beat().await?;
                let left = (done + settle).since(rt.now_with_sleep());
                rt.sleep(left.min(times.interval() / 2)).await;
            }
            claim.valid().await.map_err(|error| claim.why_lost().map_or(error.into(), ClaimError::Raced))?;
            if !rt.is_virtual() {
                disk.hold(&claim.0.lease);
            }
            claim.beat().await?;
            rt.spawn(keep(Rc::downgrade(&claim.0)));
            return Ok(claim);
        }
        Err(ClaimError::Raced(Taken::Released))
    }

    /// The sector of the owner, as this claim has written it.
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }

    /// Beats so far.
    pub fn beats(&self) -> u64 {
        self.0.seq.get()
    }

    /// Why this claim does not count any more.
    pub fn why_lost(&self) -> Option<Taken> {
        self.0.lost.borrow().clone()
    }

    /// Calls `act` with the error of all later writes when the claim is found lost.
    pub fn on_lost(&self, act: impl Fn(DiskError) + 'static) {
        *self.0.on_lost.borrow_mut() = Some(Rc::new(act));
    }

    /// See fence-1.
    pub(super) fn is_valid(&self) -> bool {
        let inner = &self.0;
        inner.lost.borrow().is_none() && inner.rt.now_with_sleep() - inner.checked.get() < inner.times.valid()
    }

    /// Ready when a look that is young enough has found this claim.
    ///
    /// # Errors
    /// It is lost, or the record cannot be read (fence-6).
    pub(super) async fn valid(&self) -> Result<(), DiskError> {
        let mut looks = 0;
        while !self.is_valid() {
            if let Some(taken) = self.why_lost() {
                return Err(lost(taken));
            }
            let _one = self.0.looking.lock().await;
            if self.is_valid() {
                break;
            }
            looks += 1;
            if looks > SLOW_LOOKS {
                return Err(self.too_slow());
            }
            self.look().await?;
        }
        Ok(())
    }

    async fn look(&self) -> Result<(), DiskError> {
        let began = self.0.rt.now_with_sleep();
        let seen = look(&*self.0.disk, self.0.place).await?;
        let taken = match seen.as_ref().and_then(|seen| seen.owner().ok().flatten()).map(|owner| &owner.holder) {
            Some(Ok(holder)) if holder.session == self.0.owner.session() => {
                self.0.checked.set(began);
                self.0.lease.extend(began + self.0.times.lease());
                return Ok(());
            }
            Some(Ok(holder)) => Taken::By(Box::new(holder.clone())),
            Some(Err(_)) => Taken::Released,
            None => Taken::Unreadable,
        };
        self.lose(taken.clone());
        Err(lost(taken))
    }

    /// See fence-7.
    fn lose(&self, taken: Taken) {
        if self.why_lost().is_some() {
            return;
        }
        *self.0.lost.borrow_mut() = Some(taken.clone());
        let act = self.0.on_lost.borrow().clone();
        if let Some(act) = act {
            act(lost(taken));
        }
    }

    async fn beat(&self) -> Result<(), DiskError> {
        let inner = &self.0;
        inner.seq.set(inner.seq.get() + 1);
        let beat = Beat { session: inner.owner.session(), seq: inner.seq.get(), at: inner.rt.wall().0 };
        put(&*inner.disk, inner.place.beat, &beat.encode(), false).await
    }

    /// Gives the disk back. Whatever this writer wrote must be durable before; afterwards it can write nothing.
    ///
    /// # Errors
    /// The claim is lost already, or the record cannot be written: the next writer then has to watch first.
    pub async fn release(&self) -> Result<(), DiskError> {
        self.release_with(self.0.owner.interval).await
    }

    /// Gives the disk back with another interval.
    ///
    /// # Errors
    /// As [`Claim::release`].
    pub async fn release_with(&self, interval: u32) -> Result<(), DiskError> {
        let owner = &self.0.owner;
        let free = Owner { interval, claims: owner.claims, holder: Err(Released(owner.session())) };
        self.end(Some(free)).await
    }

    /// Gives the disk back, and switches the protection off.
    ///
    /// # Errors
    /// As [`Claim::release`].
    pub async fn remove(&self) -> Result<(), DiskError> {
        self.end(None).await
    }

    async fn end(&self, with: Option<Owner>) -> Result<(), DiskError> {
        let inner = &self.0;
        let _one = inner.looking.lock().await;
        let mut looks = 0;
        loop {
            if let Some(taken) = self.why_lost() {
                return Err(lost(taken));
            }
            let began = inner.rt.now_with_sleep();
            self.look().await?;
            // fence-8: whoever watches begins anew with this beat.
            self.beat().await?;
            if inner.rt.now_with_sleep() - began <= inner.times.quick() {
                break;
            }
            looks += 1;
            if looks > SLOW_LOOKS {
                return Err(self.too_slow());
            }
        }
        // From here on nothing else is written: whoever finds it free may begin soon.
        *inner.lost.borrow_mut() = Some(Taken::ByNobody);
        if with.is_none() {
            put(&*inner.disk, inner.place.beat, &[0; SECTOR], true).await?;
        }
        let sector = with.map_or([0; SECTOR], |owner| owner.encode());
        put(&*inner.disk, inner.place.owner, &sector, true).await?;
        // Whoever goes on to write does so without this claim: a tool that removes the record.
        inner.lease.extend(Time::NEVER);
        Ok(())
    }

    fn too_slow(&self) -> DiskError {
        let cause = Cause::Io(Errno::TIMEDOUT.raw_os_error());
        DiskError::new(DiskOp::Read, DiskOff(self.0.place.owner.0), SECTOR as u64, cause)
    }
}

/// Makes the record of a volume that has none: nobody's. The owner's sector comes first. A cut behind it leaves a
/// record that is free and has no beat: the next writer watches, and takes it. A beat alone would be a damaged record,
/// which keeps everybody out.
///
/// # Errors
/// Something else is in its place, or it cannot be written.
pub async fn make_record(disk: &dyn Disk, place: Place, interval: u32) -> Result<(), ClaimError> {
    if !are_apart(disk, place) {
        return Err(ClaimError::Sector(disk.info().sector));
    }
    put(disk, place.owner, &Owner::free(interval).encode(), true).await?;
    Ok(put(disk, place.beat, &Beat::default().encode(), true).await?)
}

/// The error of what is not written.
fn lost(taken: Taken) -> DiskError {
    DiskError::new(DiskOp::Write, DiskOff(0), 0, Cause::Lost(Lost::new(Errno::ROFS, TakenOver(taken))))
}

/// Beats as long as anybody has the claim.
async fn keep(inner: Weak<Inner>) {
    loop {
        let Some(claim) = inner.upgrade().map(Claim) else { return };
        let (rt, interval) = (claim.0.rt.clone(), claim.0.times.interval());
        let next = rt.now() + interval;
        if claim.why_lost().is_some() {
            return;
        }
        {
            // fence-8: one write of the record at a time.
            let _one = claim.0.looking.lock().await;
            // While it waited, another look may have found the claim lost, or it was released.
            if claim.why_lost().is_some() {
                return;
            }
            // fence-6: a look that fails is tried again; until then fence-1 holds what is to be written.
            if claim.look().await.is_ok() {
                // OK to ignore: fence-5, and the next one comes.
                let _ = claim.beat().await;
            }
        }
        drop(claim);
        rt.sleep_until(next).await;
    }
}

/// What a claimant may replace: the sector of the owner, how long it has to settle afterwards, and when the look began
/// that showed it last. `None`: it has changed meanwhile, so begin anew.
async fn watched(
    rt: &Rt,
    disk: &dyn Disk,
    place: Place,
    anew: bool,
    tell: &impl Fn(&Waiting),
) -> Result<Option<(Owner, Duration, Time)>, ClaimError> {
    let mut began = rt.now_with_sleep();
    let seen = look_to_claim(disk, place, anew).await?.filter(Seen::is_on).ok_or(ClaimError::Gone)?;
    let owner = match seen.owner() {
        Ok(Some(owner)) => owner.clone(),
        Ok(None) => return Err(ClaimError::Gone),
        Err(_) if anew => {
            // Whoever has it, with any interval, finds the damage with its next look, and stops.
            let most = *INTERVALS.end();
            tell(&Waiting { holder: None, at_most: Times::of(most).settle() });
            let owner = Owner { interval: DEFAULT_INTERVAL, ..Owner::free(most) };
            return Ok(Some((owner, Times::of(most).settle(), began)));
        }
        Err(damage) => return Err(ClaimError::Damaged { at: place.owner.0, damage }),
    };
    let times = Times::of(owner.interval);
    let is_beaten_by = |session| seen.beat.is_ok_and(|beat| beat.is_some_and(|beat| beat.session == session));
    match &owner.holder {
        Err(Released(session)) if is_beaten_by(*session) => return Ok(Some((owner, times.settle_free(), began))),
        // fence-8: released by one that had lost it.
        Err(_) => tell(&Waiting { holder: None, at_most: times.take_over() }),
        Ok(holder) => tell(&Waiting { holder: Some(holder.clone()), at_most: times.take_over() }),
    }
    let end = began + times.watch();
    while began < end {
        rt.sleep(times.glance()).await;
        began = rt.now_with_sleep();
        let now = look(disk, place).await?.ok_or(ClaimError::Gone)?;
        if now.is_as(&seen) {
            continue;
        }
        match now.owner() {
            Ok(Some(Owner { holder: Ok(holder), .. })) => {
                return Err(ClaimError::Held { holder: holder.clone(), beat: now.beat.ok().flatten() });
            }
            // It is released, or damaged meanwhile.
            _ => return Ok(None),
        }
    }
    Ok(Some((owner, times.settle(), began)))
}

/// A claimant that is like no other.
fn myself(rt: &Rt, doing: &str) -> Holder {
    let mut rng = rt.rng();
    let halves = [rng.next_u64(), rng.next_u64()].map(|half| match rt.is_virtual() {
        true => half,
        // The seed is a time of day, which two machines may share; a `RandomState` has one of the system's.
        false => half ^ RandomState::new().hash_one(std::process::id()),
    });
    let mut session = [0; 16];
    session.iter_mut().zip(halves.iter().flat_map(|half| half.to_le_bytes())).for_each(|(to, from)| *to = from);
    let host = match rt.is_virtual() {
        true => "virtual".to_owned(),
        false => rustix::system::uname().nodename().to_string_lossy().into_owned(),
    };
    Holder { session, host, pid: std::process::id(), doing: doing.to_owned(), since: rt.wall().0 }
}
