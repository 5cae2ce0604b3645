//! Which form a trace has, seen from its contents, and its requests.

use super::blocks::{Line, trace_of};
use super::format::{Format, TraceError};
use super::request::Trace;
use super::{blkparse, disksim, files, msr, spc};

impl Format {
    /// Those of a device, in the order in which they are tried: the one with the fewest demands comes last.
    const ALL: [Format; 4] = [Format::Msr, Format::Spc, Format::Blkparse, Format::DiskSim];

    fn line(self, line: &str) -> Line {
        match self {
            Format::DiskSim => disksim::line(line),
            Format::Blkparse => blkparse::line(line),
            Format::Spc => spc::line(line),
            Format::Msr => msr::line(line),
            Format::Files => Err("it is in a trace of a device"),
        }
    }

    /// The form of a text, from its first line that is not blank and no comment; a heading of MSR's is skipped.
    fn of(text: &str) -> Result<Format, TraceError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !is_blank(line));
        let (at, first) = lines.next().ok_or(TraceError::Empty)?;
        let heading = msr::is_heading(first);
        let probe = if heading { lines.next().ok_or(TraceError::Empty)?.1 } else { first };
        let fits = |format: &Format| format.line(probe).is_ok();
        Format::ALL.into_iter().find(fits).ok_or(TraceError::Unknown { line: at + 1 })
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// Reads a trace in any of the forms. `name` is what the results call it.
///
/// # Errors
/// The first line that cannot be read, or that there is none.
pub fn read(name: &str, text: &str) -> Result<Trace, TraceError> {
    if ordo_filetrace::is_file_trace(text) {
        return files::read(name, text);
    }
    let format = Format::of(text)?;
    let mut requests = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if is_blank(line) || (format == Format::Msr && msr::is_heading(line)) {
            continue;
        }
        let bad = |what| TraceError::Line { line: at + 1, format, what };
        if let Some(request) = format.line(line).map_err(bad)? {
            if request.end() > crate::volume::LARGEST_SECTORS {
                return Err(bad("it ends behind the largest drive, of 146 GB"));
            }
            requests.push(request);
        } else if format == Format::Blkparse && blkparse::is_summary(line) {
            break;
        }
    }
    trace_of(name, requests).ok_or(TraceError::Empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Contents, Op};

    fn shape(text: &str) -> Vec<(f64, Op, u32)> {
        read("t", text).unwrap().requests.iter().map(|r| (r.at_ms, r.op, r.blocks)).collect()
    }

    #[test]
    fn the_form_is_seen_from_the_contents() {
        let both = vec![(0.0, Op::Read, 1), (2.0, Op::Write, 2)];
        assert_eq!(shape("5.0 0 100 4 1\n7.0 0 800 16 0\n"), both);
        assert_eq!(shape("# a comment\n\n0,100,2048,R,5.0\n0,800,8192,w,5.002\n"), both);
        let msr = "128166372003061629,hm,0,Read,51200,2048,100\n128166372003081629,hm,0,Write,409600,8192,100\n";
        assert_eq!(shape(msr), both);
        assert_eq!(shape(&format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{msr}")), both);
        let blk = "  8,0    1        1     5.000000000   697  Q   R 100 + 4 [kjournald]\n  \
                   8,0    1        2     5.000100000   697  G   R 100 + 4 [kjournald]\n  \
                   8,0    3        3     5.002000000   697  Q  WS 800 + 16 [kjournald]\n\
                   CPU0 (sda):\n Reads Queued: 1\n";
        assert_eq!(shape(blk), both);
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let bad = |text: &str| read("t", text).unwrap_err().to_string();
        assert!(bad("0.0 0 100 8 1\nnot a request\n").contains("line 2"));
        assert!(bad("0.0 0 100 8 1\n1.0 0 100 8\n").contains("line 2"));
        assert!(bad("0.0 0 100 8 1\n1.0 0 100 0 1\n").contains("no blocks"));
        assert!(bad("0.0 0 100 8 1\n1.0 0 99999999999 8 1\n").contains("line 2"));
        assert!(bad("0.0 0 100 8 1\nnan 0 100 8 1\n").contains("line 2"));
        assert!(bad("0,100,2048,R,5.0\n0,100,2048,X,5.0\n").contains("line 2"));
        assert!(bad("1,hm,0,Read,0,512,1\n2,hm,0,Read,x,512,1\n").contains("line 2"));
        assert!(bad("8,0 1 1 5.0 697 Q R 100 + 4 [x]\n8,0 1 1 oops 697 Q R 100 + 4 [x]\n").contains("line 2"));
        assert!(bad("not a request\n").contains("line 1"));
        assert!(bad("\n# nothing\n").contains("no request"));
    }

    #[test]
    fn requests_are_in_the_order_of_time_and_their_blocks_are_those_of_4_kb() {
        let trace = read("t", "9.0 0 7 2 1\n1.0 0 800 8 1\n").unwrap();
        assert_eq!(trace.requests.iter().map(|r| r.at_ms).collect::<Vec<_>>(), [0.0, 8.0]);
        assert_eq!(trace.contents, Contents::Device(vec![0, 1, 100]));
        assert_eq!((trace.requests[1].first, trace.requests[1].blocks), (0, 2), "sectors 7 and 8 are in two blocks");
    }
}
