//! What is written can be read; what cannot be read is named; who is who is seen from what is done.

use super::*;
use proptest::prelude::*;

fn text(lines: &str) -> String {
    format!("{HEADER}\n# a comment\n\n{lines}")
}

fn cast(lines: &str) -> Cast {
    Cast::of(read(&text(lines)).unwrap())
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..20)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let kind = prop::sample::select(call::Kind::ALL.to_vec());
    prop_oneof![
        (any::<u64>(), kind, any::<u64>()).prop_map(|(node, kind, size)| Outcome::Found(Found { node, kind, size })),
        any::<u32>().prop_map(Outcome::Refused),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        (op, at_us, node, to) in (prop::sample::select(Op::ALL.to_vec()), any::<u64>(), any::<u64>(), any::<u64>()),
        (offset, len, to_offset, how) in (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()),
        (name, to_name, outcome) in (name(), name(), outcome()),
    ) {
        let has = |field| op.fields().contains(&field);
        let mut call = Call { name, to_name, outcome, line: 4, ..Call::new(at_us, op, node) };
        (call.to, call.offset, call.len, call.to_offset, call.how) = (to, offset, len, to_offset, how);
        // Fields that the call does not have are not written.
        if !has(Field::Node) { call.node = 0 }
        if !has(Field::Name) { call.name.clear() }
        if !has(Field::To) { call.to = 0 }
        if !has(Field::ToName) { call.to_name.clear() }
        if !has(Field::Offset) { call.offset = 0 }
        if !has(Field::Len) { call.len = 0 }
        if !has(Field::ToOffset) { call.to_offset = 0 }
        if !has(Field::How) { call.how = 0 }
        prop_assert_eq!(read(&text(&format!("{call}\n"))), Ok(vec![call]));
    }

    #[test]
    fn any_line_is_read_or_refused(line in "[ -~]{0,40}") {
        let _ = read(&text(&line));
    }
}

#[test]
fn a_bad_line_is_named_by_its_number_and_none_is_skipped() {
    for (line, what) in [
        ("x lookup 1 a", "time"),
        ("5", "no call"),
        ("5 look 1 a", "not known"),
        ("5 read 7 0", "fewer fields"),
        ("5 read 7 0 x", "no number"),
        ("5 read 7 0 10 11", "more fields"),
        ("5 seek 7 0 99999999999", "too large"),
        ("5 create 1 a", "what it made"),
        ("5 lookup 1 a = 7 f", "all of what it found"),
        ("5 lookup 1 a = 7 q 0", "no kind"),
        ("5 lookup 1 a = 7 f 0 0", "more fields"),
        ("5 lookup 1 a !ENOENT", "no number"),
        ("5 lookup 1 a%2", "two digits"),
    ] {
        let error = read(&text(&format!("1 statfs\n{line}\n"))).unwrap_err();
        assert!(error.line == 5 && error.what.contains(what), "{line}: {error}");
        assert!(error.to_string().contains("line 5"));
    }
}

#[test]
fn another_version_and_no_header_are_refused_in_the_first_line() {
    let error = |text: &str| read(text).unwrap_err();
    assert!(error("ordofs-file-trace 2\n").what.contains("version"));
    assert_eq!((error("1 statfs\n").line, error("1 statfs\n").what), (1, "it has no header"));
    assert_eq!(error("").line, 1);
    assert!(is_file_trace("ordofs-file-trace 2\n") && !is_file_trace("0.0 0 100 8 1\n") && !is_file_trace(""));
}

#[test]
fn calls_are_in_the_order_in_which_they_came() {
    let calls = read(&text("9 statfs\n3 syncfs\n9 getattr 1\n")).unwrap();
    assert_eq!(calls.iter().map(|call| call.op).collect::<Vec<_>>(), [Op::Syncfs, Op::Statfs, Op::Getattr]);
    assert_eq!(calls[0].line, 5);
}

#[test]
fn a_number_that_is_given_again_is_another_file() {
    let cast = cast(
        "1 create 1 a = 7 f 0\n2 write 7 0 100\n3 unlink 1 a\n4 forget 7 1\n5 create 1 b = 7 f 0\n6 write 7 0 5\n",
    );
    let nodes: Vec<u64> = cast.calls.iter().filter(|call| call.op == Op::Write).map(|call| call.node).collect();
    assert_eq!(nodes, [1, 2]);
    assert!(cast.names.is_empty() && cast.objects[1..].iter().all(|object| !object.before));
    assert_eq!(cast.objects[2].place, Some((0, b"b".to_vec())));
}

#[test]
fn what_was_there_before_is_known_from_what_is_done_to_it() {
    let cast = cast(
        "1 lookup 1 d = 5 d 512\n2 lookup 5 f = 7 f 3000\n3 write 7 0 9000\n4 lookup 5 g = 7 f 9000\n\
         5 read 8 4096 100\n6 unlink 5 h\n7 unlink 5 f\n8 lookup 5 f !2\n9 create 5 f = 9 f 0\n",
    );
    let at = |object: u32| &cast.objects[object as usize];
    let names: Vec<_> = cast.names.iter().map(|name| (name.directory, &*name.name, name.object)).collect();
    assert_eq!(names, [(0, &b"d"[..], 1), (1, b"f", 2), (1, b"g", 2), (1, b"h", 4)]);
    assert_eq!((at(1).kind, at(2).size, at(3).size), (Kind::Directory, 3000, 4196));
    assert_eq!((at(3).place.clone(), at(3).before), (None, true));
    let made = cast.calls.last().unwrap().found().unwrap().node as u32;
    assert!(made == 5 && !at(made).before);
}

#[test]
fn names_that_the_trace_has_moved_were_not_there_before() {
    let cast = cast("1 lookup 1 a = 7 f 10\n2 rename 1 a 1 b 0\n3 lookup 1 b = 7 f 10\n4 rename 1 b 1 c 2\n");
    let names: Vec<_> = cast.names.iter().map(|name| (&*name.name, name.object)).collect();
    assert_eq!(names, [(&b"a"[..], 1), (b"c", 2)], "an exchange needs both");
}
