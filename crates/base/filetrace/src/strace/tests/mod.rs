//! Each shape of a line; what processes, descriptors and names do; and texts that strace did not write.

use super::text::{Descriptor, Said, arguments, descriptor, string};
use super::*;
use crate::{Cast, HEADER, Kind, Op, read as read_lines};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The program's directory is the root.
const BEGINS: &str = "100000000.000000 chdir(\"/r\") = 0\n";

fn root() -> Root {
    Root::new(b"/r").unwrap()
}

/// What calls, one a microsecond, become below `/r`.
fn whole(calls: &str) -> Strace {
    let line = |(at, call): (usize, &str)| format!("100000000.{:06} {}\n", at + 1, call.trim());
    let text: String = calls.lines().filter(|call| !call.trim().is_empty()).enumerate().map(line).collect();
    under(&format!("{BEGINS}{text}"))
}

fn under(text: &str) -> Strace {
    read(text, root()).unwrap()
}

fn lines(strace: &Strace) -> Vec<String> {
    // The first line is that of the directory.
    strace.calls.iter().filter(|call| call.at_us > 0).map(ToString::to_string).collect()
}

/// The lines without their times.
fn done(calls: &str) -> Vec<String> {
    lines(&whole(calls)).iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

fn error(text: &str) -> StraceError {
    read(text, root()).unwrap_err()
}

#[test]
fn a_program_that_copies_a_file_is_a_trace() {
    let strace = whole(
        "openat(AT_FDCWD, \"a\", O_RDONLY) = 3
         fstat(3, {st_mode=S_IFREG|0644, st_size=9000, ...}) = 0
         openat(AT_FDCWD, \"d/b\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 4
         read(3, \"\\177ELF\"..., 8192) = 8192
         write(4, \"\\177ELF\"..., 8192) = 8192
         read(3, \"x, ) = 5\"..., 8192) = 808
         write(4, \"x\"..., 808) = 808
         read(3, \"\", 8192) = 0
         fsync(4) = 0
         close(3) = 0",
    );
    let expected = [
        "1 lookup 1 a = 2 f 0",
        "2 getattr 2 = 2 f 9000",
        "3 lookup 1 d = 3 d 0",
        "3 create 3 b = 4 f 0",
        "4 read 2 0 8192",
        "5 write 4 0 8192",
        "6 read 2 8192 808",
        "7 write 4 8192 808",
        "9 fsync 4 0",
    ];
    assert_eq!(lines(&strace), expected);
    assert_eq!((strace.seen, &strace.left), (11, &Left::default()));
    assert_eq!(strace.calls.iter().map(|call| call.line).collect::<Vec<_>>(), [1, 2, 3, 4, 4, 5, 6, 7, 8, 10]);
    let cast = Cast::of(strace.calls);
    let before: Vec<_> = cast.objects.iter().map(|object| (object.before, object.kind, object.size)).collect();
    let (f, d) = (Kind::File, Kind::Directory);
    assert_eq!(before, [(true, d, 0), (true, f, 9000), (true, d, 0), (false, f, 0)]);
}

#[test]
fn every_form_of_time_and_number_is_read() {
    let both = |first: &str, second: &str| {
        let text = format!("{first} chdir(\"/r\") = 0 <0.000010>\n{second} mkdir(\"d\", 0777) = 0\n");
        under(&text).calls.iter().map(|call| call.at_us).collect::<Vec<_>>()
    };
    assert_eq!(both("1795711854.500000", "1795711856.750001"), [0, 2_250_001]);
    assert_eq!(both("17 1795711854.500000", "17 1795711854.400000"), [0, 0], "a little back is no time");
    assert_eq!(both("17<bash> 1795711854.500000", "17<a b> 1795711854.500001"), [0, 1]);
    assert_eq!(both("1795711854.500", "1795711854.501"), [0, 1000]);
    assert_eq!(both("1795711854.500000123", "1795711854.500001999"), [0, 1]);
    assert_eq!(both("23:59:59", "00:00:01"), [0, 2_000_000]);
    assert_eq!(both("09:00:00.000001", "10:00:00.000003"), [0, 3_600_000_002]);
    assert_eq!(both("     0.000000", "     0.000250"), [0, 250]);
    assert_eq!(both("7      1.000000", "7      0.000250"), [1_000_000, 1_000_250]);
    assert_eq!(both("1795711854.500000 (+     0.000000)", "1795711854.500009 (+     0.000009)"), [0, 9]);
    assert_eq!(both("1795711854.500000 [00007f1db9d26a1e]", "1795711854.500009 [  83]"), [0, 9]);
    assert_eq!(both("[pid    17] 1795711854.500000", "[pid 17] 1795711854.500001"), [0, 1]);
}

#[test]
fn what_strace_does_not_write_is_named_by_its_number_and_says_what_to_do() {
    for (line, what) in [
        ("chdir(\"/\") = 0", "-ttt"),
        ("17 chdir(\"/\") = 0", "-ttt"),
        ("1795711854 chdir(\"/\") = 0", "-ttt"),
        ("100000000.000002 hello world", "-o FILE"),
        ("100000000.000002 make: Entering (x)", "-o FILE"),
        ("hello, world", "-ttt"),
        ("0.000002 chdir(\"/\") = 0", "another form"),
        ("10:00:00 chdir(\"/\") = 0", "another form"),
        ("100000000.000002 chdir(\"/", "remove the line"),
        ("100000000.000002 chdir(\"/\"", "remove the line"),
        ("100000000.000002 chdir(\"/\")", "remove the line"),
        ("100000000.000002 chdir(\"/\") =", "no number"),
        ("100000000.000002 chdir(\"/\") = x", "no number"),
        ("100000000.000002 mkdir() = 0", "fewer arguments"),
        ("100000000.000002 close(x) = 0", "no descriptor"),
        ("100000000.000002 dup(0) = 4294967296", "no descriptor"),
        ("100000000.000002 truncate(\"f\", -1) = 0", "no number"),
        ("100000000.000002 fork() = 4294967296", "no process"),
    ] {
        let error = error(&format!("{BEGINS}\n{line}\n"));
        assert!(error.line == 3 && error.what.contains(what), "{line}: {error}");
        assert!(error.to_string().contains("line 3"));
    }
}

#[test]
fn a_strace_is_recognised_with_and_without_times() {
    assert!(is_strace("17 1795711854.507106 execve(\"/bin/true\", [\"true\"], 0x7ffe /* 3 vars */) = 0\n"));
    assert!(is_strace("strace: Process 17 attached\n[pid 17] 10:00:00 exit_group(0) = ?\n"));
    assert!(is_strace("openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n"));
    let blkparse = "  8,0    1        1     5.000000000   697  Q   R 100 + 4 [kjournald]\n";
    let msr = "128166372003061629,hm,0,Read,51200,2048,100\n";
    let file_trace = format!("{HEADER}\n1 statfs\n");
    for other in ["", "\n", "5.0 0 100 4 1\n", "0,100,2048,R,5.0\n", blkparse, msr, &file_trace, "make (x)\n"] {
        assert!(!is_strace(other), "{other}");
    }
}

#[test]
fn calls_that_were_interrupted_are_joined() {
    let strace = under(
        "1 100000000.000000 chdir(\"/r\") = 0
         1 100000000.000001 openat(AT_FDCWD, \"a b\", O_RDONLY|O_CREAT|O_EXCL <unfinished ...>
         2 100000000.000002 chdir(\"/r\" <unfinished ...>
         1 100000000.000003 <... openat resumed>, 0644) = 3
         2 100000000.000004 <... chdir resumed>) = 0
         1 100000000.000005 write(3,  <unfinished ...>
         2 100000000.000006 mkdir(\"d\", 0777) = 0
         1 100000000.000007 <... write resumed>\"x\", 1) = 1 <0.000002>
         2 100000000.000008 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=1} ---
         2 100000000.000009 --- stopped by SIGSTOP ---
         1 100000000.000010 exit_group(0) = ?
         1 100000000.000011 +++ exited with 0 +++
         2 100000000.000012 +++ killed by SIGSEGV (core dumped) +++\n",
    );
    let expected = ["1 create 1 a%20b = 2 f 0", "2 getattr 1 = 1 d 0", "5 write 2 0 1", "6 mkdir 1 d = 3 d 0"];
    assert_eq!(lines(&strace), expected);
    assert_eq!(strace.left, Left::default());
}

#[test]
fn halves_of_calls_are_counted() {
    let strace = under(
        "1 100000000.000000 <... read resumed>\"x\", 1) = 1
         1 100000000.000001 restart_syscall(<... resuming interrupted read ...>) = 1
         1 100000000.000002 read(0, <unfinished ...>
         1 100000000.000003 read(0, <unfinished ...>
         1 100000000.000004 <... write resumed>) = 1
         2 100000000.000005 read(0,  <detached ...>
         3 100000000.000006 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>) = ?
         4 100000000.000007 ????( <ptrace(SYSCALL):No such process>
         5 100000000.000008 read(0, <unfinished ...>
         5 100000000.000009 +++ killed by SIGKILL +++
         6 100000000.000010 read(0, <unfinished ...>\n",
    );
    assert_eq!(strace.left.halves, 8);
    assert_eq!(strace.left.not_followed, BTreeMap::from([("restart_syscall".to_owned(), 1)]));
}

#[test]
fn arguments_are_split_where_they_end() {
    let split = |text: &'static str| arguments(text).map(|(found, rest)| (found.len(), rest.trim()));
    assert_eq!(split(") = 0"), Some((0, "= 0")));
    assert_eq!(split("\"a, b) = \\\" 1\", {x=[1, 2], y=3}, 4) = 5"), Some((3, "= 5")));
    assert_eq!(split("3</a b (x), y>, 4<socket:[1]>, 5<TCP:[1.1.1.1:2->3.3.3.3:4]>) = 0"), Some((3, "= 0")));
    assert_eq!(split("3<UNIX-STREAM:[1->2, \"/a]>\"]>, 4</dev/null<char 1:3>>) = 0"), Some((2, "= 0")));
    assert_eq!(split("AT_FDCWD</a, b>, 1<<3, 0x7f /* 2 vars, \") */) = 0"), Some((3, "= 0")));
    assert_eq!(split("3</a"), None);
    assert_eq!(split("\"a\\"), None);
}

#[test]
fn strings_and_descriptors_are_read_as_they_were() {
    let text = |text: &str| string(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(text(r#""a\n\t\"\\\303\251\x2f\0z\7""#).as_deref(), Some("a\n\t\"\\é/\0z\u{7}"));
    assert_eq!(text(r#""\v\f\r\x""#).as_deref(), Some("\u{b}\u{c}\rx"));
    assert_eq!((text("\"a\"..."), text("0x7ffe"), text("\"a"), text("")), (None, None, None, None));
    let path = |path: &str| Some(Said::Path(path.as_bytes().to_vec()));
    for (text, number, said) in [
        ("3", Some(3), None),
        ("3</a>", Some(3), path("/a")),
        ("3</a \\76b>", Some(3), path("/a >b")),
        ("AT_FDCWD</a>", None, path("/a")),
        ("AT_FDCWD", None, None),
        ("3</a (deleted)>", Some(3), Some(Said::Deleted)),
        ("3</a>(deleted)", Some(3), Some(Said::Deleted)),
        ("3</dev/null<char 1:3>>", Some(3), path("/dev/null")),
        ("3<pipe:[1]>", Some(3), Some(Said::Other)),
        ("3<TCP:[1.1.1.1:2->3.3.3.3:4]>", Some(3), Some(Said::Other)),
    ] {
        assert_eq!(descriptor(text), Some(Descriptor { number, said }), "{text}");
    }
    assert_eq!((descriptor("-1"), descriptor("x"), descriptor("3</a")), (None, None, None));
}

#[test]
fn descriptors_share_their_place_and_end_with_their_last_one() {
    let calls = "open(\"f\", O_RDWR|O_CREAT|O_EXCL|O_APPEND, 0600) = 3
        dup(3) = 4
        dup2(3, 5) = 5
        fcntl(3, F_DUPFD_CLOEXEC, 10) = 10
        dup3(3, 6, O_CLOEXEC) = 6
        write(4, \"x\", 10) = 10
        lseek(3, 2, SEEK_SET) = 2
        read(5, \"x\", 3) = 3
        pread64(10, \"x\", 4, 1) = 4
        readv(6, [{iov_base=\"x\", iov_len=5}], 1) = 5
        fcntl(3, F_SETFL, O_RDWR) = 0
        pwrite64(3, \"x\", 2, 7) = 2
        preadv2(3, [{iov_base=\"x\", iov_len=5}], 1, -1, 0) = 0
        unlink(\"f\") = 0
        close(3) = 0
        close_range(4, 5, 0) = 0
        close(6) = 0
        write(10, \"x\", 1) = 1
        close(10) = 0";
    let expected = [
        "create 1 f = 2 f 0",
        "write 2 0 10",
        "read 2 2 3",
        "read 2 1 4",
        "read 2 5 5",
        "write 2 7 2",
        "unlink 1 f",
        "write 2 10 1",
        "forget 2 1",
    ];
    assert_eq!(done(calls), expected);
}

#[test]
fn a_child_has_what_its_parent_has_and_a_program_only_what_it_may_keep() {
    // The child is seen before its parent's call is over.
    let strace = under(
        "1 100000000.000000 chdir(\"/r\") = 0
         1 100000000.000001 open(\"f\", O_RDONLY) = 3
         1 100000000.000002 open(\"g\", O_RDONLY|O_CLOEXEC) = 4
         1 100000000.000003 read(3, \"x\", 5) = 5
         1 100000000.000004 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>
         2 100000000.000005 read(3, \"x\", 5) = 5
         2 100000000.000006 execve(\"/bin/cat\", [\"cat\"], 0x7ffe /* 3 vars */) = 0
         1 100000000.000007 <... clone resumed>) = 2
         2 100000000.000008 read(4, \"x\", 1) = 1
         2 100000000.000009 mkdir(\"d\", 0777) = 0
         1 100000000.000010 read(3, \"x\", 5) = 5
         2 100000000.000011 chdir(\"d\") = 0
         1 100000000.000012 mkdir(\"e\", 0777) = 0
         1 100000000.000013 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 7
         7 100000000.000014 chdir(\"e\") = 0
         7 100000000.000015 dup(4) = 5
         1 100000000.000016 mkdir(\"h\", 0777) = 0
         1 100000000.000017 read(5, \"x\", 2) = 2
         7 100000000.000018 execve(\"/bin/x\", [\"x\"], 0x7ffe /* 3 vars */ <unfinished ...>
         1 100000000.000019 +++ superseded by execve in pid 7 +++
         1 100000000.000020 <... execve resumed>) = 0
         1 100000000.000021 read(3, \"x\", 1) = 1
         1 100000000.000022 mkdir(\"i\", 0777) = 0\n",
    );
    let expected = [
        "1 lookup 1 f = 2 f 0",
        "2 lookup 1 g = 3 f 0",
        "3 read 2 0 5",
        "5 read 2 5 5",
        "9 mkdir 1 d = 4 d 0",
        "10 read 2 10 5",
        "11 lookup 1 d = 4 d 0",
        "12 mkdir 1 e = 5 d 0",
        "14 lookup 1 e = 5 d 0",
        "16 mkdir 5 h = 6 d 0",
        "17 read 3 0 2",
        "21 read 2 15 1",
        "22 mkdir 5 i = 7 d 0",
    ];
    assert_eq!(lines(&strace), expected);
    // Two programs outside, and the descriptor that the first of them did not keep.
    assert_eq!((strace.left.outside, strace.left.unplaced, strace.left.halves), (2, 1, 0));
}

#[test]
fn a_number_of_a_process_is_given_again_and_the_first_process_may_have_none() {
    let strace = under(
        "100000000.000000 chdir(\"/r\") = 0
         100000000.000001 open(\"f\", O_RDONLY) = 3
         100000000.000002 fork() = 8
         strace: Process 8 attached
         [pid     8] 100000000.000003 read(3, \"x\", 1) = 1
         [pid     7] 100000000.000004 read(3, \"x\", 1) = 1
         [pid     8] 100000000.000005 close(3) = 0
         [pid     8] 100000000.000006 +++ exited with 0 +++
         100000000.000007 vfork() = 8
         [pid     8] 100000000.000008 read(3, \"x\", 1) = 1
         [pid     8] 100000000.000009 +++ exited with 0 +++
         100000000.000010 read(3, \"x\", 1) = 1\n",
    );
    let reads: Vec<_> = lines(&strace).split_off(1);
    assert_eq!(reads, ["3 read 2 0 1", "4 read 2 1 1", "8 read 2 2 1", "10 read 2 3 1"]);
    assert_eq!(strace.left, Left::default());
}

#[test]
fn names_come_move_and_go_and_are_never_earlier_than_their_file() {
    let calls = "mkdir(\"d\", 0777) = 0
        creat(\"d/f\", 0644) = 3
        link(\"d/f\", \"g\") = 0
        rename(\"d/f\", \"d/h\") = 0
        rename(\"old\", \"g\") = 0
        renameat2(AT_FDCWD, \"d/h\", AT_FDCWD, \"g\", RENAME_EXCHANGE) = 0
        rename(\"d\", \"e\") = 0
        unlink(\"./e/../e//h\") = 0
        unlinkat(AT_FDCWD, \"g\", 0) = 0
        close(3) = 0
        unlinkat(AT_FDCWD, \"e\", AT_REMOVEDIR) = 0
        symlink(\"/r/x\", \"l\") = 0
        mknod(\"p\", S_IFIFO|0666) = 0
        openat(AT_FDCWD, \".\", O_RDWR|O_TMPFILE, 0600) = 3
        link(\"p\", \"p\") = 0";
    let expected = [
        "mkdir 1 d = 2 d 0",
        "create 2 f = 3 f 0",
        "link 1 g 3",
        "rename 2 f 2 h 0",
        "lookup 1 old = 4 f 0",
        "rename 1 old 1 g 0",
        "rename 2 h 1 g 2",
        "rename 1 d 1 e 0",
        "unlink 2 h",
        "forget 4 1",
        "unlink 1 g",
        "forget 3 2",
        "rmdir 1 e",
        "forget 2 1",
        "symlink 1 l 4 = 5 l 4",
        "create 1 p = 6 o 0",
        "tmpfile 1 = 7 f 0",
        "link 1 p 6",
    ];
    assert_eq!(done(calls), expected);
    // A lookup that began before the rename, and found what the rename made, comes behind it.
    let strace = under(
        "1 100000000.000000 chdir(\"/r\") = 0
         2 100000000.000000 chdir(\"/r\") = 0
         1 100000000.000001 stat(\"new\",  <unfinished ...>
         2 100000000.000005 rename(\"old\", \"new\") = 0
         1 100000000.000006 <... stat resumed>{st_mode=S_IFREG|0644, st_size=9, ...}) = 0\n",
    );
    assert_eq!(lines(&strace), ["5 lookup 1 old = 2 f 0", "5 rename 1 old 1 new 0", "5 lookup 1 new = 2 f 9"]);
    // A removal that took long, while another process went on with the file.
    let strace = under(
        "1 100000000.000000 chdir(\"/r\") = 0
         2 100000000.000000 chdir(\"/r\") = 0
         1 100000000.000001 creat(\"f\", 0600) = 3
         2 100000000.000002 unlink(\"f\" <unfinished ...>
         1 100000000.000005 write(3, \"x\", 1) = 1
         1 100000000.000006 close(3) = 0
         2 100000000.000007 <... unlink resumed>) = 0\n",
    );
    assert_eq!(lines(&strace), ["1 create 1 f = 2 f 0", "2 unlink 1 f", "5 write 2 0 1", "5 forget 2 1"]);
}

#[test]
fn an_open_that_may_make_a_file_finds_it_if_more_is_in_it_than_was_written() {
    let calls = "open(\"a\", O_RDWR|O_CREAT, 0600) = 3
        write(3, \"x\", 10) = 10
        fstat(3, {st_mode=S_IFREG|0644, st_size=10, ...}) = 0
        open(\"b\", O_RDWR|O_CREAT, 0600) = 4
        read(4, \"x\", 100) = 100
        open(\"c\", O_RDWR|O_CREAT, 0600) = 5
        lseek(5, 0, SEEK_END) = 70
        mkdir(\"d\", 0777) = 0
        open(\"d/e\", O_RDWR|O_CREAT, 0600) = 6
        open(\"a\", O_RDWR|O_CREAT|O_TRUNC, 0600) = 7
        stat(\"g\", 0x7ffe) = -1 ENOENT (No such file or directory)
        open(\"g\", O_RDWR|O_CREAT, 0600) = 8
        write(8, \"x\", 5) = 5";
    let expected = [
        "create 1 a = 2 f 0",
        "write 2 0 10",
        "getattr 2 = 2 f 10",
        "lookup 1 b = 3 f 100",
        "read 3 0 100",
        "lookup 1 c = 4 f 70",
        "mkdir 1 d = 5 d 0",
        "create 5 e = 6 f 0",
        "lookup 1 a = 2 f 10",
        "setattr 2 1 0",
        "lookup 1 g !2",
        "create 1 g = 7 f 0",
        "write 7 0 5",
    ];
    assert_eq!(done(calls), expected);
}

#[test]
fn all_that_is_done_to_files_is_followed() {
    let calls = "open(\"f\", O_RDWR) = 3
        ftruncate(3, 100) = 0
        truncate(\"f\", 200) = 0
        fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 50) = 0
        fallocate(3, 0, 200, 100) = 0
        lseek(3, 7, SEEK_DATA) = 50
        fdatasync(3) = 0
        sync() = 0
        syncfs(3) = 0
        fchmod(3, 0600) = 0
        chmod(\"f\", 0600) = 0
        utimensat(AT_FDCWD, \"f\", NULL, 0) = 0
        utimensat(3, NULL, [UTIME_NOW, UTIME_NOW], 0) = 0
        setxattr(\"f\", \"user.a\", \"xx\", 2, 0) = 0
        fgetxattr(3, \"user.b\", 0x7ffe, 9) = -1 ENODATA (No data available)
        listxattr(\"f\", \"user.a\\0\", 256) = 7
        getxattr(\"f\", \"user.b\", 0x7ffe, 9) = -1 EPERM (Operation not permitted)
        lremovexattr(\"f\", \"user.a\") = 0
        readlink(\"l\", \"target\", 99) = 6
        access(\"f\", R_OK) = 0
        statfs(\"f\", {f_type=EXT2_SUPER_MAGIC}) = 0
        openat(AT_FDCWD, \"d\", O_RDONLY|O_DIRECTORY) = 4
        getdents64(4, 0x5579 /* 5 entries */, 32768) = 128
        getdents64(4, [{d_ino=1, d_name=\"x\"}, {d_ino=2, d_name=\"y\"}], 32768) = 64
        getdents64(4, 0x5579 /* 0 entries */, 32768) = 0
        fstat(4, {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0
        newfstatat(3, \"\", {st_mode=S_IFREG|0644, st_size=300, ...}, AT_EMPTY_PATH) = 0
        statx(4, \"x\", 0, STATX_SIZE, {stx_mask=STATX_SIZE, stx_mode=S_IFREG|0755, stx_size=3, ...}) = 0
        copy_file_range(3, [10], 3, NULL, 20, 0) = 20
        copy_file_range(9</out>, NULL, 3, NULL, 20, 0) = 20
        sendfile(3, 3, [0] => [5], 5) = 5
        _llseek(3, 0, [300], SEEK_END) = 0
        fchdir(4) = 0
        mkdirat(AT_FDCWD, \"z\", 0777) = 0
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f";
    let expected = "lookup 1 f = 2 f 0;setattr 2 1 100;setattr 2 1 200;fallocate 2 0 50 3;fallocate 2 200 100 0;\
        seek 2 7 3;fsync 2 1;syncfs;syncfs;setattr 2 0 0;setattr 2 0 0;setattr 2 0 0;setattr 2 0 0;\
        setxattr 2 user.a 2;getxattr 2 user.b !61;listxattr 2;removexattr 2 user.a;lookup 1 l = 3 l 0;readlink 3;\
        lookup 1 f = 2 f 300;statfs;lookup 1 d = 4 d 0;readdir 4 0;readdir 4 5;readdir 4 7;getattr 4 = 4 d 4096;\
        getattr 2 = 2 f 300;lookup 4 x = 5 f 3;copy 2 10 2 50 20;write 2 70 20;read 2 0 5;write 2 90 5;\
        mkdir 4 z = 6 d 0";
    assert_eq!(done(calls), expected.split(';').collect::<Vec<_>>());
    let strace = whole(calls);
    assert_eq!((strace.left.maps, strace.left.outside, strace.left.failed), (1, 0, 1));
    assert_eq!(strace.left.not_followed, BTreeMap::from([("mmap".to_owned(), 1)]));
}

#[test]
fn symbolic_links_are_followed_where_they_are_known_and_by_what_y_says() {
    let calls = "symlink(\"d\", \"l\") = 0
        symlink(\"/r/l/../x\", \"m\") = 0
        stat(\"l/f\", {st_mode=S_IFREG|0644, st_size=5, ...}) = 0
        lstat(\"m\", {st_mode=S_IFLNK|0777, st_size=9, ...}) = 0
        open(\"m\", O_RDONLY) = 3
        unlink(\"l\") = 0
        open(\"n\", O_RDONLY) = 4</r/d/f>
        lstat(\"k\", {st_mode=S_IFLNK|0777, st_size=1, ...}) = 0
        stat(\"k\", {st_mode=S_IFREG|0644, st_size=77, ...}) = 0
        open(\"k/f\", O_RDONLY) = 5
        symlink(\"o\", \"o\") = 0
        open(\"o\", O_RDONLY) = 6";
    let expected = [
        "symlink 1 l 1 = 2 l 1",
        "symlink 1 m 9 = 3 l 9",
        "lookup 1 d = 4 d 0",
        "lookup 4 f = 5 f 5",
        "lookup 1 m = 3 l 9",
        "lookup 1 x = 6 f 0",
        "unlink 1 l",
        "forget 2 1",
        "lookup 4 f = 5 f 5",
        "lookup 1 k = 7 l 1",
        "lookup 1 k = 7 l 1",
        "symlink 1 o 1 = 8 l 1",
    ];
    assert_eq!(done(calls), expected);
    assert_eq!(whole(calls).left.unplaced, 2, "behind a link that nobody has read, and in a circle");
}

#[test]
fn what_is_refused_is_no_line_unless_a_name_is_not_there() {
    let calls = "open(\"a\", O_RDONLY) = -1 ENOENT (No such file or directory)
        access(\"a\", R_OK) = -1 ENOENT (No such file or directory)
        stat(\"b/c\", 0x7ffe) = -1 ENOENT (No such file or directory)
        mkdir(\"d\", 0777) = -1 EEXIST (File exists)
        open(\"e\", O_RDONLY) = -1 EACCES (Permission denied)
        read(3, 0x7ffe, 5) = -512
        read(3, 0x7ffe, 5) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
        mkdir(\"d\", 0777) = 0
        stat(\"d/x\", 0x7ffe) = -1 ENOENT (No such file or directory)
        open(\"d\", O_WRONLY) = -1 ENOENT (No such file or directory)";
    assert_eq!(done(calls), ["lookup 1 a !2", "lookup 1 a !2", "mkdir 1 d = 2 d 0", "lookup 2 x !2"]);
    let left = whole(calls).left;
    assert_eq!((left.failed, left.outside), (6, 0));
}

#[test]
fn what_is_outside_or_has_no_place_is_counted() {
    let strace = whole(
        "open(\"/etc/passwd\", O_RDONLY) = 3
         read(3, \"x\", 5) = 5
         open(\"../q/f\", O_RDONLY) = 4</q/f>
         open(\"../r/f\", O_RDONLY) = 5
         read(9, \"x\", 1) = 1
         write(1<pipe:[1]>, \"x\", 1) = 1
         openat(9, \"f\", O_RDONLY) = 10
         read(7</r/f>, \"x\", 3) = 3
         read(8</r/g (deleted)>, \"x\", 3) = 3
         write(11</r/log>, \"x\", 3) = 3
         fcntl(11</r/log>, F_SETFL, O_WRONLY|O_APPEND) = 0
         open(\"log\", O_WRONLY|O_APPEND) = 12
         open(\"log2\", O_WRONLY|O_APPEND) = 12
         write(12, \"x\", 3) = 3
         rename(\"f\", \"/q/f\") = 0
         rename(\"/q/f\", \"f\") = 0
         frobnicate(1, 2) = 0
         frobnicate(1, 2) = -1 ENOSYS (Function not implemented)
         syscall_0x1c2(0x1) = 0",
    );
    let left = &strace.left;
    assert_eq!((left.outside, left.unplaced, left.positions, left.ends, left.halves), (6, 3, 2, 1, 0));
    assert_eq!(
        left.not_followed.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>(),
        ["frobnicate 2", "syscall_0x1c2 1"]
    );
    let all = left.outside + left.unplaced + left.failed + left.not_followed.values().sum::<u64>();
    assert_eq!(strace.seen + all, 20, "every call is counted once");
    let said = left.to_string();
    for part in ["6 outside", "3 on descriptors", "3 not followed (frobnicate 2, syscall_0x1c2 1)", "2 descriptors"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(Left::default().to_string(), "no call was left out");
}

#[test]
fn without_a_directory_a_name_has_no_place_and_y_gives_one() {
    let lines = |calls: &str| {
        let strace = read(calls, root()).unwrap();
        (strace.calls.iter().map(ToString::to_string).collect::<Vec<_>>(), strace.left.unplaced)
    };
    assert_eq!(lines("100000000.000001 mkdir(\"d\", 0777) = 0\n"), (vec![], 1));
    let (said, unplaced) = lines(
        "100000000.000001 openat(AT_FDCWD</r/w>, \"f\", O_RDONLY) = 3</r/w/f>
         100000000.000002 mkdir(\"d\", 0777) = 0
         100000000.000003 chdir(\"d\") = 0
         100000000.000004 mkdir(\"e\", 0777) = 0
         100000000.000005 openat(AT_FDCWD</r/w/d>, \"e/x\", O_RDONLY) = -1 ENOENT (No such file or directory)\n",
    );
    let expected = [
        "0 lookup 1 w = 2 d 0",
        "0 lookup 2 f = 3 f 0",
        "1 mkdir 2 d = 4 d 0",
        "2 lookup 2 d = 4 d 0",
        "3 mkdir 4 e = 5 d 0",
        "4 lookup 5 x !2",
    ];
    assert_eq!((said.iter().map(String::as_str).collect::<Vec<_>>(), unplaced), (expected.to_vec(), 0));
}

#[test]
fn the_root_is_a_directory_and_by_default_all_but_what_is_no_disk() {
    let calls = |root: Root| {
        let text = "100000000.000001 mkdir(\"/a\", 0777) = 0\n100000000.000002 mkdir(\"/dev/b\", 0777) = 0\n\
            100000000.000003 mkdir(\"/a/../a/c\", 0777) = 0\n";
        read(text, root).unwrap().calls.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(calls(Root::default()), ["0 mkdir 1 a = 2 d 0", "2 mkdir 2 c = 3 d 0"]);
    assert_eq!(calls(Root::new(b"//").unwrap()), calls(Root::default()));
    assert_eq!(calls(Root::new(b"/x/../a/./").unwrap()), ["2 mkdir 1 c = 2 d 0"]);
    assert_eq!(calls(Root::new(b"/dev").unwrap()), ["1 mkdir 1 b = 2 d 0"]);
    assert_eq!(Root::new(b"a"), None);
}

/// A text with most shapes in it.
const MANY: &str = r#"1 100000000.000000 chdir("/r") = 0 <0.000001>
1 100000000.000001 openat(AT_FDCWD</r>, "a\303\251", O_RDWR|O_CREAT, 0644) = 3</r/a\303\251> <0.000010>
1 100000000.000002 clone(child_stack=NULL, flags=CLONE_FS|SIGCHLD <unfinished ...>
2 100000000.000003 write(3</r/a\303\251>, "x, \"y\""..., 8192 <unfinished ...>
1 100000000.000004 <... clone resumed>, child_tidptr=0x7f) = 2
2 100000000.000005 <... write resumed>) = 8192
2 100000000.000006 rename("a\303\251", "b") = 0
1 100000000.000007 newfstatat(AT_FDCWD</r>, "b", {st_mode=S_IFREG|0644, st_size=8192, ...}, 0) = 0
1 100000000.000008 symlink("b", "l") = 0
1 100000000.000009 renameat2(AT_FDCWD, "l", AT_FDCWD, "m", RENAME_NOREPLACE) = 0
1 100000000.000010 lseek(3, -5, SEEK_END) = 8187
1 100000000.000011 copy_file_range(3, [1], 3, NULL, 20, 0) = 20
1 100000000.000012 sendfile(3, 3, NULL, 20) = 20
2 100000000.000013 --- SIGCHLD {si_signo=SIGCHLD} ---
2 100000000.000014 unlink("b") = 0
2 100000000.000015 +++ exited with 0 +++
1 100000000.000016 +++ superseded by execve in pid 2 +++
1 100000000.000017 mkdir("d", 0777) = 0
1 100000000.000018 chdir("d") = 0
1 100000000.000019 rmdir("../d") = 0
1 100000000.000020 fallocate(3, FALLOC_FL_INSERT_RANGE, 4096, 18446744073709551615) = 0
1 100000000.000021 pwrite64(3, "x", 9, 18446744073709551615) = 9
1 100000000.000022 close(3) = 0
1 100000000.000023 exit_group(0) = ?
"#;

#[test]
fn what_is_made_of_a_strace_can_be_written_and_read() {
    let strace = under(MANY);
    assert!(strace.calls.len() > 15, "{}", strace.calls.len());
    let text: String = strace.calls.iter().map(|call| format!("{call}\n")).collect();
    let mut again = read_lines(&format!("{HEADER}\n{text}")).unwrap();
    for (again, call) in again.iter_mut().zip(&strace.calls) {
        again.line = call.line;
    }
    assert_eq!(again, strace.calls);
    assert!(strace.calls.iter().any(|call| call.op == Op::Copy));
}

#[test]
fn every_cut_of_every_line_is_read_or_refused() {
    let all: Vec<&str> = MANY.lines().collect();
    for (at, line) in all.iter().enumerate() {
        for end in 0..line.len() {
            let cut: Vec<&str> =
                (0..all.len()).map(|other| if other == at { &line[..end] } else { all[other] }).collect();
            if let Err(error) = read(&cut.join("\n"), root()) {
                // Where a call is in two lines, the first one is named.
                assert!(error.line <= at + 1, "{error}: {}", cut[at]);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_lines_of_which_one_is_cut_are_read_or_refused(
        order in prop::collection::vec((0..24_usize, 1..4_u32), 1..60),
        (at, from, to) in (any::<prop::sample::Index>(), 0..120_usize, 0..120_usize),
    ) {
        let all: Vec<&str> = MANY.lines().collect();
        let mut lines: Vec<String> =
            order.iter().map(|(line, pid)| format!("{pid}{}", &all[line % all.len()][1..])).collect();
        let line = at.get(&lines).clone();
        let (from, to) = (from.min(line.len()), to.min(line.len()));
        // What is in the middle is cut out, or doubled.
        lines[at.index(order.len())] = format!("{}{}", &line[..from], &line[to..]);
        if let Ok(strace) = read(&lines.join("\n"), root()) {
            Cast::of(strace.calls);
        }
    }

    #[test]
    fn any_calls_in_any_order_are_followed(order in prop::collection::vec((0..24_usize, 1..4_u32), 0..60)) {
        let all: Vec<&str> = MANY.lines().collect();
        let text: String = order.iter().map(|(line, pid)| format!("{pid}{}\n", &all[line % all.len()][1..])).collect();
        let strace = read(&text, root());
        prop_assert!(strace.is_ok(), "{strace:?}");
        Cast::of(strace.unwrap().calls);
    }

    #[test]
    fn any_characters_are_read_or_refused(line in "[ -~é]{0,60}") {
        let _ = read(&format!("{BEGINS}100000000.000001 {line}\n{line}"), root());
        let _ = is_strace(&line);
    }
}
