//! The commands of docs/needs.md and of the course, run as they stand, each block by a shell: those of a need in a
//! directory of its own, those of an exercise in their order in one directory, as a student has them.

use crate::common::Scratch;
use crate::mounting::can_mount;
use std::path::Path;
use std::process::Command;

#[test]
fn each_need_is_answered_by_commands_that_work() {
    let blocks = run_the_blocks_of("needs.md", Place::OfEach);
    assert!(blocks >= 12, "only {blocks} blocks");
}

#[test]
fn the_exercises_of_the_course_work_and_their_answers_are_what_the_program_says() {
    for (page, least) in [
        ("1-drop-a-rule.md", 5),
        ("2-why-a-flush.md", 6),
        ("3-a-rollback.md", 5),
        ("4-journal-or-soft-updates.md", 4),
        ("5-clean-a-log.md", 4),
    ] {
        let blocks = run_the_blocks_of(&format!("course/{page}"), Place::OfAll);
        assert!(blocks >= least, "{page}: only {blocks} blocks");
    }
}

/// Where the blocks of a page are run.
#[derive(PartialEq)]
enum Place {
    OfEach,
    OfAll,
}

/// Runs the blocks of a page of docs; returns their number. What begins with `# as root` is left out where nothing can
/// be mounted.
fn run_the_blocks_of(page: &str, place: Place) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let bin = Scratch::new();
    let path = crate::path_with_ordo(&bin);
    let mut scratch = Scratch::new();
    for block in &blocks {
        if block.starts_with("# as root") && !can_mount() {
            continue;
        }
        if place == Place::OfEach {
            scratch = Scratch::new();
        }
        let here = scratch.path("here");
        std::fs::create_dir_all(&here).unwrap();
        let ran = Command::new("sh").args(["-euc", block]).current_dir(&here).env("PATH", &path).output().unwrap();
        assert!(ran.status.success(), "{block}\n{}{}", text(&ran.stdout), text(&ran.stderr));
    }
    blocks.len()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
