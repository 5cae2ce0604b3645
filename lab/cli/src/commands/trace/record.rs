//! `ordo trace record`
//!
//! The server of the mount keeps the lines in memory, and this program takes and writes them: a slow or full disk under
//! the trace delays nobody who uses the mount.

use crate::interrupt;
use crate::out::{Outcome, Status, say, usage};
use anyhow::{Context, anyhow};
use ordo_fuse::{Recording, Taken};
use ordofs::rt::Rt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between two questions when nothing was done.
const PAUSE: Duration = Duration::from_millis(20);
/// Fewer bytes than this are nothing to hurry for.
const FEW: usize = 16 << 10;

/// Records what is done to a mount, until Ctrl-C or until it is unmounted
///
/// One line for each call: when it came, what it was, on which file, where and how much. No contents, but names. Calls
/// that the kernel answers from its own caches do not reach the mount, and are not recorded. The form is that of
/// docs/format/file-trace.md; ordo sim --trace and ordo trace replay read it.
///
/// The trace ends where its disk is full, or where more was done than this program could write; a message says so, and
/// the exit status is 3. What is in the file then is whole. Nobody who uses the mount is delayed or refused. Root, and
/// the user who mounted it, may record a mount.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo trace record -o build.trace /mnt\n  \
    ordo trace record -o - /mnt | gzip > build.trace.gz")]
pub(crate) struct Args {
    /// The file to write, which must not lie on the mount; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The directory on which the volume is mounted
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // Before the file is made: a mount that cannot be recorded leaves no empty trace.
    let recording = ordo_fuse::record(&args.dir)?;
    let outcome = Trace::open(&args.output, recording.dir()).and_then(|mut trace| {
        interrupt::catch()?;
        let ended = copy(&recording, &mut trace);
        say(&format!("{} calls were recorded", trace.calls));
        ended
    });
    // After a failure, too: the server's memory for it is then free.
    recording.discard();
    outcome.map(|()| Status::DONE)
}

/// Writes what is recorded until the recording ends.
fn copy(recording: &Recording, trace: &mut Trace) -> anyhow::Result<()> {
    let rt = Rt::real_time();
    loop {
        if interrupt::caught().is_some() {
            recording.stop();
        }
        match recording.take()? {
            Taken::Lines(lines) => {
                trace.add(&lines)?;
                if lines.len() < FEW && interrupt::caught().is_none() {
                    rt.block_on(rt.sleep(PAUSE));
                }
            }
            Taken::Stopped => return Ok(()),
            Taken::Unmounted => {
                say("the mount is gone; what was done to it in the last moment is not in the trace");
                return Ok(());
            }
            Taken::Full => {
                let why = "more was done to the mount than could be written here; the trace ends before that";
                return Err(anyhow!("{}: {why}", trace.name));
            }
        }
    }
}

/// The trace that is written.
struct Trace {
    name: String,
    file: Sink,
    /// Bytes of whole lines.
    whole: u64,
    calls: u64,
}

enum Sink {
    File(File),
    Out(io::Stdout),
}

impl Trace {
    fn open(path: &Path, mount: &Path) -> anyhow::Result<Trace> {
        let device = |path: &Path| path.metadata().ok().map(|found| found.dev());
        // Each line would make further ones.
        let on_it = |found: Option<u64>| match found {
            Some(_) if found == device(mount) => Err(usage("the trace cannot lie on the mount that is recorded")),
            _ => Ok(()),
        };
        if path == Path::new("-") {
            on_it(rustix::fs::fstat(io::stdout()).ok().map(|found| found.st_dev))?;
            return Ok(Trace { name: "standard output".into(), file: Sink::Out(io::stdout()), whole: 0, calls: 0 });
        }
        let name = path.display().to_string();
        let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        on_it(device(path))?;
        on_it(device(beside))?;
        let file = File::create(path).with_context(|| format!("{name}: cannot be made"))?;
        Ok(Trace { name, file: Sink::File(file), whole: 0, calls: 0 })
    }

    /// Writes whole lines. After a failure the file is cut to those before.
    fn add(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        let written = match &mut self.file {
            Sink::File(file) => file.write_all(lines),
            Sink::Out(out) => out.write_all(lines).and_then(|()| out.flush()),
        };
        let header = u64::from(self.whole == 0 && !lines.is_empty());
        match written {
            Ok(()) => {
                self.whole += lines.len() as u64;
                self.calls += lines.iter().filter(|byte| **byte == b'\n').count() as u64 - header;
                Ok(())
            }
            Err(error) => {
                if let Sink::File(file) = &self.file {
                    // A device or a pipe cannot be cut, and keeps a part of a line.
                    let _ = file.set_len(self.whole);
                }
                Err(error).with_context(|| format!("{}: the recording ends after {} calls", self.name, self.calls))
            }
        }
    }
}
