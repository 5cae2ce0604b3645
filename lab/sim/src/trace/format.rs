//! The forms of traces, and why one cannot be read.

/// A trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line does not have the form of the others.
    #[error("line {line} of the trace ({format}): {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The form that the file has by its first line.
        format: Format,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The first line has none of the known forms.
    #[error(
        "line {line} of the trace is in no form that is known: DiskSim ASCII, the text of blkparse, SPC, MSR/SNIA CSV \
         or a file trace of ordo"
    )]
    Unknown {
        /// The line, from 1.
        line: usize,
    },
    /// It holds no request.
    #[error("the trace holds no request")]
    Empty,
    /// Its files have no room on the largest drive.
    #[error("the files of the trace are larger than the largest drive, of 146 GB")]
    TooLarge,
}

/// The form of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// DiskSim ASCII.
    DiskSim,
    /// What blkparse prints.
    Blkparse,
    /// The Storage Performance Council's: ASU, LBA, size, opcode, timestamp.
    Spc,
    /// Microsoft Research's at SNIA: timestamp, host, disk, type, offset, size, response time.
    Msr,
    /// What a mount of ours records.
    Files,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Format::DiskSim => "DiskSim ASCII",
            Format::Blkparse => "blkparse",
            Format::Spc => "SPC",
            Format::Msr => "MSR/SNIA CSV",
            Format::Files => "file trace",
        })
    }
}
