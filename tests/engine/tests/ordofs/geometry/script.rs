//! The script for every volume: files that end near the boundaries of fragments, blocks and indirect blocks,
//! directories that grow, symbolic links that fit in the inode or just do not, and removal. The model does the same.

use ordo_model::MemFs;
use ordo_ondisk::Geometry;
use ordo_workload::Session;
use ordofs::vfs::{Error, FileSystem, Mode, Refusal, RenameMode, Result, SetAttr};
use ordofs::{Fs, rt::Rng};

/// A call on both the volume and the model.
enum Step {
    Write { path: String, at: u64, len: u64 },
    Cut { path: String, size: u64 },
    Mkdir(String),
    Symlink { path: String, len: usize },
    Link { from: String, to: String },
    Rename { from: String, to: String },
    Remove(String),
}

/// The result of a script.
#[derive(Default, Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) steps: u64,
    /// Steps that failed for lack of space.
    pub(crate) refused: u64,
}

/// Runs all steps on both; a step without space is undone on the volume, and skipped on the model.
pub(crate) async fn play(fs: &Fs, model: &MemFs, g: &Geometry) -> Done {
    let mut done = Done::default();
    for step in script(g) {
        done.steps += 1;
        let what = step.words();
        match step.perform(fs).await {
            Ok(()) => step.perform(model).await.unwrap_or_else(|error| panic!("{what}: the model says {error}")),
            Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes)) => {
                done.refused += 1;
                if let Step::Write { path, .. } = &step {
                    remove(fs, path).await.unwrap_or_else(|error| panic!("taking back {what}: {error}"));
                    remove(model, path).await.expect("the model has no disk");
                }
            }
            // The file that a refused step would have made.
            Err(Error::Refused(Refusal::NotFound)) if done.refused > 0 => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    done
}

/// Removes everything.
pub(crate) async fn clear(fs: &Fs) -> Result<()> {
    let session = Session::new(fs);
    let names = session.list(&session.root().await?).await?;
    for (name, _) in names {
        session.remove_tree(std::str::from_utf8(&name).expect("the script's names are text")).await?;
    }
    Ok(())
}

async fn remove<F: FileSystem>(fs: &F, path: &str) -> Result<()> {
    match Session::new(fs).remove_tree(path).await {
        Err(Error::Refused(Refusal::NotFound)) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Step {
    fn words(&self) -> String {
        match self {
            Step::Write { path, at, len } => format!("write {path} {at}+{len}"),
            Step::Cut { path, size } => format!("cut {path} to {size}"),
            Step::Mkdir(path) => format!("mkdir {path}"),
            Step::Symlink { path, len } => format!("symlink {path} of {len}"),
            Step::Link { from, to } => format!("link {from} {to}"),
            Step::Rename { from, to } => format!("rename {from} {to}"),
            Step::Remove(path) => format!("remove {path}"),
        }
    }

    async fn perform<F: FileSystem>(&self, fs: &F) -> Result<()> {
        let s = Session::new(fs);
        match self {
            Step::Write { path, at, len } => {
                let file = match s.resolve(path).await {
                    Err(Error::Refused(Refusal::NotFound)) => {
                        let (dir, name) = s.parent(path).await?;
                        s.create(&dir, name).await?
                    }
                    found => found?,
                };
                s.write_at(&file, *at, &contents(*at, *len)).await
            }
            Step::Cut { path, size } => {
                let file = s.resolve(path).await?;
                fs.setattr(file.node(), &SetAttr { size: Some(*size), ..SetAttr::default() }).await.map(drop)
            }
            Step::Mkdir(path) => {
                let (dir, name) = s.parent(path).await?;
                let made = fs.mkdir(&s.who, dir.node(), name, Mode::new(0o755)).await?;
                fs.forget(made.node, 1);
                Ok(())
            }
            Step::Symlink { path, len } => {
                let (dir, name) = s.parent(path).await?;
                let made = fs.symlink(&s.who, dir.node(), name, &vec![b't'; *len]).await?;
                fs.forget(made.node, 1);
                Ok(())
            }
            Step::Link { from, to } => {
                let file = s.resolve(from).await?;
                let (dir, name) = s.parent(to).await?;
                fs.link(file.node(), dir.node(), name).await?;
                fs.forget(file.node(), 1);
                Ok(())
            }
            Step::Rename { from, to } => {
                let ((dir, name), (to_dir, to_name)) = (s.parent(from).await?, s.parent(to).await?);
                fs.rename(dir.node(), name, to_dir.node(), to_name, RenameMode::Replace).await
            }
            Step::Remove(path) => s.remove_tree(path).await.map(drop),
        }
    }
}

/// Bytes that identify their offset in a file.
fn contents(at: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    let mut rng = Rng::new(at ^ len << 32);
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_le_bytes()[..word.len()]);
    }
    bytes
}

fn script(g: &Geometry) -> Vec<Step> {
    let mut steps = Vec::new();
    files(g, &mut steps);
    growth(g, &mut steps);
    directories(g, &mut steps);
    removal(g, &mut steps);
    steps
}

/// Sizes around every edge at which a file changes its form.
fn sizes(g: &Geometry) -> Vec<u64> {
    let (f, b) = (u64::from(g.fsize), u64::from(g.bsize));
    let mut sizes = vec![0, 1, f - 1, f, f + 1, b - 1, b, b + 1, b + f, 12 * b - f, 12 * b, 12 * b + 1, 13 * b + f + 3];
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Files written at once, and sparse ones that extend into each level of indirect blocks.
fn files(g: &Geometry, steps: &mut Vec<Step>) {
    let (b, n) = (u64::from(g.bsize), u64::from(g.nindir));
    for size in sizes(g) {
        steps.push(Step::Write { path: format!("file-{size}"), at: 0, len: size });
    }
    for (level, blocks) in [12, 12 + n, 12 + n + n * n].into_iter().enumerate() {
        let at = blocks.saturating_mul(b) - 700;
        if at.saturating_add(2000) <= g.maxfilesize.min(1 << 44) {
            steps.push(Step::Write { path: format!("sparse-{level}"), at, len: 1400 });
        }
    }
}

/// Files that grow bit by bit, are cut, and grow again.
fn growth(g: &Geometry, steps: &mut Vec<Step>) {
    let (f, b) = (u64::from(g.fsize), u64::from(g.bsize));
    for i in 0..2 * b / f + 2 {
        // Two files in turn: the fragment after one's last belongs to the other, so it must move.
        for path in ["grows", "grows-too"] {
            let len = f / 2 + 1;
            steps.push(Step::Write { path: path.into(), at: i * len, len });
        }
    }
    steps.push(Step::Write { path: "cut".into(), at: 0, len: 14 * b + 5 });
    for size in [13 * b + 1, 12 * b, 5 * b + f + 1, 40 * b + 7, 3 * b - 1, 2 * b, f + 1, 0] {
        steps.push(Step::Cut { path: "cut".into(), size });
    }
    steps.push(Step::Write { path: "cut".into(), at: 20 * b - 9, len: 20 });
}

fn directories(g: &Geometry, steps: &mut Vec<Step>) {
    for path in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "dirs"] {
        steps.push(Step::Mkdir(path.into()));
    }
    steps.push(Step::Write { path: "a/b/c/d/e/deep".into(), at: 0, len: 100 });
    // Names of 255 bytes take 264 each: more of them than a block holds.
    for i in 0..g.bsize / 264 + 5 {
        let to = format!("a/b/{i:04}{}", "n".repeat(251));
        steps.push(Step::Link { from: "file-1".into(), to });
    }
    for i in 0..30u64 {
        steps.push(Step::Mkdir(format!("dirs/{i}")));
        steps.push(Step::Write { path: format!("dirs/{i}/x"), at: 0, len: 10 + i });
    }
    for len in [1, 59, 60, 61, 119, 120, 121, 1023] {
        steps.push(Step::Symlink { path: format!("link-{len}"), len });
    }
}

/// Removes a third, replaces names, and reuses what became free.
fn removal(g: &Geometry, steps: &mut Vec<Step>) {
    for i in (0..30u64).step_by(3) {
        steps.push(Step::Remove(format!("dirs/{i}")));
    }
    for i in (0..g.bsize / 264).step_by(2) {
        steps.push(Step::Remove(format!("a/b/{i:04}{}", "n".repeat(251))));
    }
    let sizes = sizes(g);
    for size in sizes.iter().step_by(3) {
        steps.push(Step::Remove(format!("file-{size}")));
    }
    let last = sizes.last().expect("there are some");
    steps.push(Step::Rename { from: "grows".into(), to: "dirs/1/x".into() });
    steps.push(Step::Rename { from: "dirs/1".into(), to: "a/b/c/moved".into() });
    steps.push(Step::Rename { from: "a/b".into(), to: "b".into() });
    steps.push(Step::Remove("link-119".into()));
    for i in 0..20 {
        steps.push(Step::Write { path: format!("b/c/again-{i}"), at: 0, len: last / 20 + i });
    }
}
