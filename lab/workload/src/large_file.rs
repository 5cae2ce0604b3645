//! One large file: written and read in order, at random, and read in order again.
//!
//! The large-file benchmark of Rosenblum and Ousterhout (1992, section 5.1), as Seltzer et al. (USENIX 1995, section 2)
//! ran it: 100 MB in units of 8 KB. The latter print 100 KB for the two random passes; the former, and the discussion
//! of both, have 100 MB.
//!
//! L1. Each random pass touches every unit at most once, in an order of its own that depends on the seed only. So a
//!     pass that runs by itself goes the same way as one among all five.
//! L2. Passes before `first` belong to the preparation, those after `last` are left out, as in `small-files`.

use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{Held, Session, join};
use crate::program::Program;
use crate::sequential::{LARGE, Transfers, new_large};
use ordo_rt::Rng;
use ordo_vfs::FileSystem;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeFile {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of one transfer, 1 to 2^30; a random one begins at a multiple of them.
    pub unit: u64,
    /// Bytes of a random pass, rounded up to units; 0 means all of the file, which is also the most.
    pub random: u64,
    /// The first pass that is measured: 0 write, 1 read, 2 random-write, 3 random-read, 4 re-read.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// End the two passes that write with an `fsync`, which is part of their time.
    pub fsync: bool,
    /// The random seed.
    pub seed: u64,
}

impl Default for LargeFile {
    fn default() -> LargeFile {
        LargeFile { size: 100 << 20, unit: 8192, random: 0, first: 0, last: 4, fsync: true, seed: 42 }
    }
}

impl Program for LargeFile {
    const NAME: &'static str = "large-file";
    const WHAT: &'static str = "one large file: written and read, in order and at random, and read in order again";

    fn parameters() -> Vec<Parameter> {
        let (d, set) = (LargeFile::default(), Parameter::new);
        let passes =
            "first pass measured: 0 write, 1 read, 2 random-write, 3 random-read, 4 re-read; earlier ones prepare";
        vec![
            set("size", d.size, "bytes of the file"),
            set("unit", d.unit, "bytes of one transfer"),
            set("random", d.random, "bytes of a random pass; 0: all of the file"),
            set("first", d.first, passes),
            set("last", d.last, "last pass"),
            set("fsync", d.fsync.into(), "1: count an fsync after each pass that writes"),
            set("seed", d.seed, "where the random orders start"),
        ]
    }

    fn new(values: &Values) -> LargeFile {
        let [size, unit, random, first] = ["size", "unit", "random", "first"].map(|key| values.get(key));
        let [last, fsync, seed] = ["last", "fsync", "seed"].map(|key| values.get(key));
        LargeFile { size, unit, random, first, last, fsync: fsync != 0, seed }
    }

    fn check(&self) -> Result<()> {
        let unusable = |why| Err(WorkloadError::Unusable { workload: Self::NAME, why });
        if !(1..=1 << 30).contains(&self.unit) {
            return unusable("unit must be between 1 and 1G");
        }
        if self.random > self.size {
            return unusable("random must not be above size");
        }
        if self.first > self.last || self.last >= PASSES.len() as u64 {
            return unusable("first must not be above last, nor that above 4");
        }
        Ok(())
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        for pass in &PASSES[..self.first as usize] {
            // A pass that only reads leaves nothing.
            if pass.writes() {
                self.pass(session, &self.file(session, base, *pass).await?, *pass, &mut |_| ()).await?;
            }
        }
        Ok(())
    }

    /// The unit is the transfer.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let passes = &PASSES[self.first as usize..=self.last as usize];
        let file = self.file(session, base, passes[0]).await?;
        let mut results = Vec::new();
        for pass in passes {
            let mut phase = Phase::start(pass.name(), meter);
            self.pass(session, &file, *pass, &mut |bytes| phase.done(bytes)).await?;
            results.push(phase.end());
        }
        Ok(results)
    }
}

impl LargeFile {
    /// The file as `pass` finds it: the first one makes it.
    async fn file<'a, F: FileSystem>(&self, session: &Session<'a, F>, base: &str, pass: Pass) -> Result<Held<'a, F>> {
        match pass {
            Pass::Write => new_large(session, base).await,
            _ => session.resolve(&join(base, LARGE)).await.map_err(at("lookup", LARGE)),
        }
    }

    /// The offsets of a random pass.
    fn at_random(&self, pass: Pass) -> impl Iterator<Item = u64> + use<> {
        let (mut rng, unit) = (Rng::new(self.seed), self.unit);
        let mut orders = [rng.fork(), rng.fork()];
        let mut units: Vec<u64> = (0..self.size.div_ceil(unit)).collect();
        orders[usize::from(!pass.writes())].shuffle(&mut units);
        let bytes = if self.random > 0 { self.random } else { self.size };
        units.into_iter().take(bytes.div_ceil(unit) as usize).map(move |no| no * unit)
    }

    /// One pass; calls `done` with the bytes of each transfer.
    async fn pass<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        file: &Held<'_, F>,
        pass: Pass,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let transfers = Transfers { session, file, size: self.size, unit: self.unit };
        match pass {
            Pass::Write => transfers.write(transfers.in_order(), 1, done).await?,
            Pass::RandomWrite => transfers.write(self.at_random(pass), 2, done).await?,
            Pass::Read | Pass::Reread => transfers.read(transfers.in_order(), done).await?,
            Pass::RandomRead => transfers.read(self.at_random(pass), done).await?,
        }
        if pass.writes() && self.fsync { transfers.sync().await } else { Ok(()) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Write,
    Read,
    RandomWrite,
    RandomRead,
    Reread,
}

const PASSES: [Pass; 5] = [Pass::Write, Pass::Read, Pass::RandomWrite, Pass::RandomRead, Pass::Reread];

impl Pass {
    fn name(self) -> &'static str {
        match self {
            Pass::Write => "write",
            Pass::Read => "read",
            Pass::RandomWrite => "random-write",
            Pass::RandomRead => "random-read",
            Pass::Reread => "re-read",
        }
    }

    fn writes(self) -> bool {
        matches!(self, Pass::Write | Pass::RandomWrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::paths;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};

    /// Seven units, the last of them short.
    const SMALL: LargeFile = LargeFile { size: 6500, unit: 1000, random: 0, first: 0, last: 4, fsync: true, seed: 1 };

    fn run(program: LargeFile) -> (Calls<MemFs>, Vec<PhaseResult>) {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(session.mkdir_all("b")).unwrap();
        ready(program.prepare(&session, "b")).unwrap();
        calls.reset();
        let results = ready(program.work(&session, "b", &Reading::default)).unwrap();
        (calls, results)
    }

    #[test]
    fn the_five_passes_move_all_of_the_file_and_the_two_that_write_make_it_durable() {
        let (calls, results) = run(SMALL);
        let seen: Vec<_> = results.iter().map(|phase| (phase.phase, phase.ops, phase.bytes)).collect();
        let wanted = ["write", "read", "random-write", "random-read", "re-read"].map(|name| (name, 7, 6500));
        assert_eq!(seen, wanted);
        assert_eq!(["write", "read", "fsync"].map(|call| calls.count(call)), [14, 21, 2]);
        let written = ready(Session::new(&calls).read_file("b/large")).unwrap();
        // The random pass wrote every unit again, and other bytes.
        assert_eq!(written.len(), 6500);
        assert!(written.chunks(1000).all(|unit| unit == &paths::bytes(1000, 2)[..unit.len()]));
        assert_eq!(run(LargeFile { fsync: false, ..SMALL }).0.count("fsync"), 0);
    }

    #[test]
    fn passes_before_the_first_prepare_and_those_after_the_last_are_left_out() {
        for (no, moves) in [[7, 0], [0, 7], [7, 0], [0, 7], [0, 7]].into_iter().enumerate() {
            let (calls, results) = run(LargeFile { first: no as u64, last: no as u64, ..SMALL });
            assert_eq!(["write", "read"].map(|call| calls.count(call)), moves, "{no}");
            assert_eq!((results.len(), results[0].phase), (1, PASSES[no].name()));
            let wanted = if no < 2 { 1 } else { 2 };
            let unit = ready(Session::new(&calls).read_file("b/large")).unwrap();
            assert_eq!(unit[..1000], paths::bytes(1000, wanted), "{no}");
        }
        for bad in [LargeFile { first: 2, last: 1, ..SMALL }, LargeFile { last: 5, ..SMALL }] {
            assert!(bad.check().is_err());
        }
    }

    #[test]
    fn random_passes_go_through_each_unit_once_and_each_in_an_order_of_its_own() {
        let program = LargeFile { size: 1 << 20, ..SMALL };
        let order = |program: LargeFile, pass| program.at_random(pass).collect::<Vec<_>>();
        let (writes, reads) = (order(program, Pass::RandomWrite), order(program, Pass::RandomRead));
        let all: Vec<u64> = (0..1049).map(|no| no * 1000).collect();
        for order in [&writes, &reads] {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted == all && *order != all);
        }
        assert_ne!(writes, reads);
        assert_ne!(writes, order(LargeFile { seed: 2, ..program }, Pass::RandomWrite));
        let part = LargeFile { random: 2500, ..program };
        assert_eq!(order(part, Pass::RandomWrite), writes[..3]);
        assert!(part.check().is_ok() && LargeFile { random: 1 << 21, ..program }.check().is_err());
    }
}
