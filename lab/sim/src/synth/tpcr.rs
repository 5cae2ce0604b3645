//! TPC-R on MySQL: a decision-support benchmark, whose questions are known beforehand and come again.
//!
//! The paper: random; three per cent of the references are consecutive. With 384 MB of memory ext3 takes 3.79 s a
//! request, so the drive is overloaded, and queues are long. 15,982,481 requests.
//!
//! Ours: fewer requests, in a data base of 8 GB in the middle of the larger drive. A question reads a stretch of an
//! index, and then the rows that it points to, anywhere in the tables, block by block. Questions come in bursts: the
//! rows of one come faster than the drive reads them. The share of the questions that have come before is [`AGAIN`];
//! what active journaling gains depends on it more than on anything else.

use super::scribe::{CHEETAH, Scribe};
use crate::trace::{Directory, File, Op, Trace};

const QUESTIONS: u32 = 1700;
/// Different questions that come again.
const KINDS: u32 = 270;
/// The share of the questions that have come before.
const AGAIN: f64 = 0.9;
/// Blocks of the index that a question reads in a row, and rows that it looks up.
const STRETCH: u32 = 24;
const ROWS: u32 = 700;
/// Tables with their indexes, and the blocks of each.
const TABLES: u32 = 8;
const TABLE: u32 = 220_000;
const INDEX: u32 = 26_000;
/// Milliseconds between the requests of a question, and between two questions.
const EACH: f64 = 1.33;
const REST: f64 = 200.0;

pub(super) fn make(seed: u64) -> Trace {
    let mut scribe = Scribe::new("tpc-r", CHEETAH, seed);
    scribe.files.directories.push(Directory { parent: None, place: 0.0 });
    for table in 0..TABLES {
        scribe.files.directories.push(Directory { parent: Some(0), place: 0.4 + f64::from(table) * 0.025 });
        scribe.files.files.push(File { directory: table + 1, blocks: TABLE, new: false });
        scribe.files.files.push(File { directory: table + 1, blocks: INDEX, new: false });
    }
    let kinds: Vec<Question> = (0..KINDS).map(|_| Question::new(&mut scribe)).collect();
    for _ in 0..QUESTIONS {
        scribe.pass(REST);
        if scribe.luck.chance(AGAIN) {
            let kind = scribe.luck.below(KINDS) as usize;
            kinds[kind].ask(&mut scribe);
        } else {
            Question::new(&mut scribe).ask(&mut scribe);
        }
    }
    scribe.end()
}

/// A question: where its stretch of an index begins, and its rows.
struct Question {
    index: u32,
    first: u32,
    rows: Vec<(u32, u32)>,
}

impl Question {
    fn new(scribe: &mut Scribe) -> Question {
        let index = scribe.luck.below(TABLES) * 2 + 1;
        let first = scribe.luck.below(INDEX - STRETCH);
        let row = |scribe: &mut Scribe| (scribe.luck.below(TABLES) * 2, scribe.luck.below(TABLE));
        Question { index, first, rows: (0..ROWS).map(|_| row(scribe)).collect() }
    }

    fn ask(&self, scribe: &mut Scribe) {
        scribe.pass_through(Op::Read, self.index, (self.first, self.first + STRETCH), 1, EACH);
        for &(table, row) in &self.rows {
            scribe.pass(EACH);
            scribe.ask(Op::Read, table, row, 1);
        }
    }
}
