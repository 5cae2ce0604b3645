//! What shells are answered in the middle of a line: by the program, and through the script of bash.

use crate::common::{Scratch, command, ok, ordo};
use std::process::Command;

/// The answers for the last of `words`, which the program is called with.
fn answers(words: &[&str]) -> Vec<String> {
    let mut asking = command([&["--", "ordo"], words].concat());
    asking.env("ORDO_COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    ok(asking.output().unwrap()).lines().map(str::to_owned).collect()
}

fn volume(scratch: &Scratch) -> String {
    let image = scratch.volume();
    for dir in ["etc", "etc/my dir", "home"] {
        ok(ordo(["mkdir", &format!("{image}:/{dir}")]));
    }
    for file in ["etc/hosts", "etc/host.conf"] {
        ok(ordo(["touch", &format!("{image}:/{file}")]));
    }
    image
}

#[test]
fn paths_inside_an_image_are_completed() {
    let scratch = Scratch::new();
    let image = volume(&scratch);
    let inside = |path: &str| answers(&["ls", "-l", &format!("{image}:{path}")]);
    assert_eq!(inside("/e"), [format!("{image}:/etc/")]);
    assert_eq!(inside("/etc/host"), ["host.conf", "hosts"].map(|name| format!("{image}:/etc/{name}")));
    assert_eq!(inside("/etc/my"), [format!("{image}:/etc/my dir/")]);
    assert!(inside("/no/such").is_empty() && inside("/etc/zz").is_empty());
    assert!(answers(&["cp", &image]).contains(&format!("{image}:/")));
    // Neither a message nor a network connection.
    assert!(answers(&["ls", "nbd://127.0.0.1:1/x:/e"]).is_empty());
    std::fs::write(&image, [0; 4096]).unwrap();
    assert!(inside("/e").is_empty());
}

#[test]
fn names_of_options_and_schemes_are_completed() {
    assert_eq!(answers(&["mount", "-o", "ro,scheme=wa"]), ["ro,scheme=wafs"]);
    assert_eq!(answers(&["mount", "-o", "noat"]), ["noatime"]);
    assert_eq!(answers(&["mount", "-o", "transport="]), ["transport=classic", "transport=uring"]);
    assert_eq!(answers(&["trunc"]), ["truncate"]);
}

/// Bash cuts words at `:` and `=`. The variables are set as it sets them; the answer is what it would put in place of
/// the last piece.
#[test]
fn the_script_of_bash_joins_what_bash_cuts() {
    let scratch = Scratch::new();
    let image = volume(&scratch);
    let pressed = |line: &str, pieces: &[&str]| {
        let script = format!(
            "{}\ncompopt() {{ :; }}\n_ordo ordo \"$LAST\" x; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            ok(ordo(["completions", "bash"])).replace("\"ordo\" --", &format!("{} --", crate::PROGRAM))
        );
        let words = pieces.iter().map(|piece| format!("'{piece}'")).collect::<Vec<_>>().join(" ");
        let before = format!(
            "COMP_LINE='{line}' COMP_POINT={} COMP_TYPE=9 COMP_CWORD={} COMP_WORDS=({words}) LAST='{}'\n",
            line.len(),
            pieces.len() - 1,
            pieces.last().unwrap()
        );
        ok(Command::new("bash").args(["-c", &(before + &script)]).output().unwrap())
    };
    let whole = format!("ordo ls {image}:/etc/my");
    assert_eq!(pressed(&whole, &["ordo", "ls", &image, ":", "/etc/my"]), "/etc/my\\ dir/\n");
    assert_eq!(pressed("ordo mount -o ro,scheme=wa", &["ordo", "mount", "-o", "ro,scheme", "=", "wa"]), "wafs\n");
    assert_eq!(pressed("ordo  trunc", &["ordo", "trunc"]), "truncate\n");
}
