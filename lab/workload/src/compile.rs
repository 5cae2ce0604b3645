//! The file operations of cc and ld.
//!
//! A compiler of System V passes its work from pass to pass in temporary files: the preprocessor, the compiler and the
//! optimiser write one each, and the assembler has its own (as(1) puts them into /var/tmp). The total number is a
//! parameter, since no manual gives it. Here each pass reads the file of the pass before and writes its own, and all
//! are removed when the object is written.
//!
//! L1. A compilation starts [`COMPILE_PROCESSES`] processes (the driver and four passes), a link [`LINK_PROCESSES`].
//! L2. The first temporary file is as long as the source and the headers together, the others twice the source, the
//!     object as long as the source, the program as long as its objects. Libraries are not read or written.

use crate::paths::{self, Held};
use crate::unix::Unix;
use ordo_vfs::{FileSystem, Name, Result};
use std::time::Duration;

/// Processes of one run of cc -c.
pub(crate) const COMPILE_PROCESSES: u64 = 5;

/// Processes of one link: cc and ld.
pub(crate) const LINK_PROCESSES: u64 = 2;

/// A file, by its directory and its name.
pub(crate) struct At<'d, 'a, F: FileSystem> {
    pub(crate) dir: &'d Held<'a, F>,
    pub(crate) name: String,
}

impl<F: FileSystem> At<'_, '_, F> {
    pub(crate) fn name(&self) -> Result<Name<'_>> {
        Name::new(self.name.as_bytes())
    }
}

/// One run of cc -c.
pub(crate) struct Compile<'d, 'a, F: FileSystem> {
    pub(crate) source: At<'d, 'a, F>,
    pub(crate) headers: Vec<At<'d, 'a, F>>,
    pub(crate) object: At<'d, 'a, F>,
    /// The directory of the temporary files, and their number.
    pub(crate) tmp: &'d Held<'a, F>,
    pub(crate) temps: u64,
    /// The computing of all passes together, without process starts.
    pub(crate) work: Duration,
}

impl<F: FileSystem> Unix<'_, '_, F> {
    /// cc -c. Returns the bytes read and written.
    pub(crate) async fn compile(&self, job: &Compile<'_, '_, F>) -> Result<u64> {
        for _ in 0..COMPILE_PROCESSES {
            self.process().await;
        }
        let source = self.read(job.source.dir, job.source.name()?).await?;
        let mut text = source;
        for header in &job.headers {
            text += self.read(header.dir, header.name()?).await?;
        }
        let mut moved = text;
        // One pass for each temporary file, and one that writes the object.
        let work = job.work.div_f64(job.temps as f64 + 1.0);
        let temp = |no: u64| format!("ctm{no}{}", job.object.name);
        for no in 0..job.temps {
            if no > 0 {
                moved += self.read(job.tmp, Name::new(temp(no - 1).as_bytes())?).await?;
            }
            self.session.compute(work).await;
            let size = if no == 0 { text } else { 2 * source };
            moved += self.write(job.tmp, Name::new(temp(no).as_bytes())?, &paths::bytes(size, no)).await?;
        }
        if job.temps > 0 {
            moved += self.read(job.tmp, Name::new(temp(job.temps - 1).as_bytes())?).await?;
        }
        self.session.compute(work).await;
        moved += self.write(job.object.dir, job.object.name()?, &paths::bytes(source, job.temps)).await?;
        for no in 0..job.temps {
            self.session.fs.unlink(job.tmp.node(), Name::new(temp(no).as_bytes())?).await?;
        }
        Ok(moved)
    }

    /// ld, started by cc. Returns the bytes read and written.
    pub(crate) async fn link(&self, objects: &[At<'_, '_, F>], program: &At<'_, '_, F>, work: Duration) -> Result<u64> {
        for _ in 0..LINK_PROCESSES {
            self.process().await;
        }
        let mut size = 0;
        for object in objects {
            size += self.read(object.dir, object.name()?).await?;
        }
        self.session.compute(work).await;
        Ok(size + self.write(program.dir, program.name()?, &paths::bytes(size, 1)).await?)
    }
}
