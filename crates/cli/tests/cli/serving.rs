//! A server that tests start.

use crate::common::command;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Starts a server, and waits until it says that it is ready. Its address, as it names it.
pub(crate) fn serving<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> (Child, String) {
    let mut server = command(arguments);
    server.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = server.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Some(address) = line.trim().strip_prefix("ready ") else { panic!("{:?}", child.wait_with_output().unwrap()) };
    (child, address.to_owned())
}
