//! Plays one list of operations on two file systems.

use super::{Op, Outcome, Player, compare_trees};
use ordo_vfs::{Caller, FileSystem};

/// The first divergence of two file systems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// They answer an operation differently.
    #[error("step {step}, {op}: {left:?} on the left, {right:?} on the right")]
    Outcome {
        /// Index of the operation, from 0.
        step: usize,
        /// The operation.
        op: String,
        /// The first file system's outcome.
        left: Outcome,
        /// The second file system's outcome.
        right: Outcome,
    },
    /// All outcomes agree so far, but the trees differ.
    #[error("after {steps} steps, {difference}")]
    Tree {
        /// Operations done.
        steps: usize,
        /// The difference.
        difference: super::Difference,
    },
}

impl Divergence {
    /// How many operations are needed to show it.
    pub fn steps(&self) -> usize {
        match self {
            Divergence::Outcome { step, .. } => step + 1,
            Divergence::Tree { steps, .. } => *steps,
        }
    }

    /// The same with so many operations before it.
    #[must_use]
    pub fn after(mut self, before: usize) -> Divergence {
        match &mut self {
            Divergence::Outcome { step, .. } => *step += before,
            Divergence::Tree { steps, .. } => *steps += before,
        }
        self
    }
}

/// How a list is played.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// The caller of all operations. Files on a host belong to the process, whoever the caller is.
    pub who: Caller,
    /// Compare the trees after this many operations; 0: at the end only.
    pub every: usize,
}

/// Plays `ops` on both, and compares the trees.
///
/// # Errors
/// The first difference. An outcome [`Outcome::Failed`] is one even when both fail.
pub async fn differential<A: FileSystem, B: FileSystem>(
    left: &A,
    right: &B,
    ops: &[Op],
    rules: Rules,
) -> Result<(), Divergence> {
    let mut players = (Player::new(left, rules.who), Player::new(right, rules.who));
    for (step, op) in ops.iter().enumerate() {
        let (left_outcome, right_outcome) = (players.0.apply(op).await, players.1.apply(op).await);
        if !agree(&left_outcome, &right_outcome) {
            let op = op.to_string();
            return Err(Divergence::Outcome { step, op, left: left_outcome, right: right_outcome });
        }
        if rules.every > 0 && (step + 1) % rules.every == 0 {
            compare(left, right, step + 1).await?;
        }
    }
    compare(left, right, ops.len()).await
}

async fn compare<A: FileSystem, B: FileSystem>(left: &A, right: &B, steps: usize) -> Result<(), Divergence> {
    compare_trees(left, right).await.map_err(|difference| Divergence::Tree { steps, difference })
}

fn agree(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Failed(_), _) => false,
        // A directory that does not store kinds cannot report them.
        (Outcome::Names(left), Outcome::Names(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.0 == right.0 && (left.1 == right.1 || left.1 == 0 || right.1 == 0))
        }
        _ => left == right,
    }
}
