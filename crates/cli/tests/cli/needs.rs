//! The commands of docs/needs.md, run as they stand: each block by a shell, in a directory of its own.

use crate::common::Scratch;
use crate::mounted::can_mount;
use std::path::Path;
use std::process::Command;

#[test]
fn each_need_is_answered_by_commands_that_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/needs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_ordo")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for block in &blocks {
        if block.starts_with("# as root") && !can_mount() {
            continue;
        }
        let scratch = Scratch::new();
        let place = scratch.path("here");
        std::fs::create_dir(&place).unwrap();
        let ran = Command::new("sh").args(["-euc", block]).current_dir(&place).env("PATH", &path).output().unwrap();
        assert!(ran.status.success(), "{block}\n{}{}", text(&ran.stdout), text(&ran.stderr));
    }
    assert!(blocks.len() >= 12, "only {} blocks", blocks.len());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
