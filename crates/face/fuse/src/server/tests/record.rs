//! A recording has every call between its start and its stop, refuses none, and says where it was full.

use super::*;
use crate::TRACE;
use ordo_filetrace::{HEADER, Op, Outcome};

fn getxattr(unique: u64, uid: u32, word: &str, size: u32) -> Vec<u8> {
    let args = abi::GetxattrIn { size, padding: 0 };
    let name = format!("{TRACE}{word}\0");
    let mut bytes = request(unique, Opcode::Getxattr as u32, 1, &[args.as_bytes(), name.as_bytes()].concat());
    bytes[24..28].copy_from_slice(&uid.to_ne_bytes());
    bytes
}

fn ask(unique: u64, word: &str) -> Vec<u8> {
    getxattr(unique, 0, word, 64 << 10)
}

fn lookup(unique: u64, name: &str) -> Vec<u8> {
    request(unique, Opcode::Lookup as u32, 1, format!("{name}\0").as_bytes())
}

fn answers(requests: &[Vec<u8>]) -> Vec<std::result::Result<Vec<u8>, i32>> {
    let script = run(false, requests, ServeOptions::default());
    script.replies.borrow().iter().map(|(_, answer)| answer.clone()).collect()
}

fn text(answer: &std::result::Result<Vec<u8>, i32>) -> String {
    String::from_utf8(answer.clone().unwrap()).unwrap()
}

#[test]
fn what_is_done_between_start_and_stop_is_recorded_and_nothing_else() {
    let list = abi::ReadIn { size: 4096, ..Default::default() };
    let read = abi::ReadIn { offset: 8192, size: 4, ..Default::default() };
    let size = abi::SetattrIn { valid: abi::fattr::SIZE, size: 77, ..Default::default() };
    let mut write = request(9, Opcode::Write as u32, 5, abi::WriteIn::default().as_bytes());
    write[24..28].copy_from_slice(&1000_u32.to_ne_bytes());
    let requests = [
        lookup(1, "before"),
        ask(2, "start"),
        lookup(3, "a b"),
        lookup(4, "absent"),
        request(5, Opcode::Read as u32, 5, read.as_bytes()),
        request(6, Opcode::Setattr as u32, 5, size.as_bytes()),
        request(7, Opcode::Readdirplus as u32, 1, list.as_bytes()),
        request(8, Opcode::Forget as u32, 5, abi::ForgetIn { nlookup: 2 }.as_bytes()),
        write,
        request(10, Opcode::Open as u32, 5, &[0; 8]),
        ask(11, "take"),
        ask(12, "stop"),
        lookup(13, "behind"),
        ask(14, "take"),
    ];
    let answers = answers(&requests);
    // FORGET has no answer.
    let lines = text(&answers[9]);
    let expected = [
        HEADER,
        "0 lookup 1 a%20b = 3 f 0",
        "0 lookup 1 absent !2",
        "0 read 5 8192 4",
        "0 setattr 5 1 77",
        "0 readdir 1 0",
        "0 entry 1 abc = 3 f 0",
        "0 forget 5 2",
        "0 write 5 0 0 !28",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    let calls = ordo_filetrace::read(&lines).unwrap();
    assert_eq!((calls.len(), calls[1].op, calls[1].outcome), (8, Op::Lookup, Outcome::Refused(2)));
    assert_eq!(answers.last().unwrap(), &Err(61), "after the stop nothing is left");
}

#[test]
fn only_root_and_the_server_s_user_may_ask_and_one_at_a_time() {
    let stranger = |unique, word| getxattr(unique, 4_000_000_000, word, 4096);
    let requests = [
        ask(1, "take"),
        stranger(2, "start"),
        ask(3, "start"),
        ask(4, "start"),
        stranger(5, "take"),
        ask(6, "other"),
        getxattr(7, 0, "take", 0),
        getxattr(8, 0, "take", 5),
        ask(9, "take"),
        ask(10, "take"),
    ];
    let answers = answers(&requests);
    let errors: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().copied()).collect();
    let (nodata, perm, busy, range) = (Some(61), Some(1), Some(16), Some(34));
    assert_eq!(errors, [nodata, perm, None, busy, perm, nodata, None, range, None, None]);
    assert_eq!(text(&answers[8]), format!("{HEADER}\n"), "a question for the size takes nothing");
    assert_eq!(text(&answers[9]), "");
}

#[test]
fn a_recording_that_nobody_takes_ends_where_its_memory_is_full_and_says_so() {
    let name = "n".repeat(250);
    let mut requests = vec![ask(0, "start")];
    requests.extend((1..=20_000).map(|unique| lookup(unique, &name)));
    requests.extend((0..100).map(|at| ask(30_000 + at, "take")));
    requests.push(ask(40_000, "start"));
    let answers = answers(&requests);
    assert!(answers[..=20_000].iter().all(|answer| answer.is_ok()), "no call is refused");
    let taken: Vec<&Vec<u8>> = answers[20_001..].iter().map_while(|answer| answer.as_ref().ok()).collect();
    let lines = taken.into_iter().flatten().copied().collect::<Vec<u8>>();
    assert!(lines.len() <= 4 << 20 && lines.len() > (4 << 20) - 300, "{} bytes", lines.len());
    let calls = ordo_filetrace::read(&String::from_utf8(lines).unwrap()).unwrap();
    assert!(calls.len() > 15_000 && calls.len() < 20_000);
    let ends: Vec<_> = answers[20_001..].iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!((ends[0], ends[1]), (&75, &61), "it was full; then there is none");
    assert!(answers.last().unwrap().is_ok(), "and another one may begin");
}

#[test]
fn a_volume_without_attributes_can_be_recorded_until_the_kernel_is_told_so() {
    let of_file = abi::GetxattrIn { size: 100, padding: 0 };
    let other = |unique| request(unique, Opcode::Getxattr as u32, 5, &[of_file.as_bytes(), b"user.x\0"].concat());
    let requests = [ask(1, "start"), other(2), ask(3, "stop"), ask(4, "take"), ask(5, "take"), other(6)];
    let script = run(false, &requests, ServeOptions { xattrs: false, ..ServeOptions::default() });
    let errors: Vec<_> = script.replies.borrow().iter().map(|(_, answer)| answer.as_ref().err().copied()).collect();
    assert_eq!(errors, [None, Some(95), None, None, Some(61), Some(38)]);
}
