//! The tree keeps its own rules: floors, widths, lengths, heads, tests apart, and citations that name their module.
//! Each failure says the file, the line and what to do.

#[path = "tidy/circles.rs"]
mod circles;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The longest production function, in lines from its name to its brace. It may only go down.
const LONGEST: usize = 79;
/// The longest file, without the tests in it. It may only go down.
const LARGEST: usize = 624;
/// At most so many lines have nine of ten functions, and one of two files. They may only go down.
const P90: usize = 23;
const MEDIAN: usize = 117;
/// Columns of a comment or of prose: `max_width` of rustfmt.toml, which does not wrap these.
const WIDTH: usize = 120;
/// What the papers have of soft updates stays readable in one sitting: its folder, without the rooms in it. In lines of
/// production, comments included; it may only go down.
const PAPERS: (&str, usize) = ("crates/engine/schemes/src/softupdates/", 1500);
/// A crate imports from its own folder or from an earlier one: those of `crates/`, the product, and then the
/// laboratory, which no test of the product imports either.
const FOLDERS: [&str; 7] = ["base", "logs", "engine", "check", "face", "cli", "lab"];

/// The crates that still have circles of files. The list may only become shorter.
const CIRCULAR: [&str; 1] = [
    // The cache asks its scheme, and each answer may call the cache that asked: only a trait with the cache as its one
    // implementor would open `cache.rs`, `scheme.rs` and two files of `capability`.
    "crates/engine/buf",
];

struct File {
    path: String,
    lines: Vec<String>,
}

fn read(root: &Path, folder: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !folder.is_empty() || ["crates", "lab", "docs", "examples", "tests"].contains(&&*path) {
                read(root, &format!("{path}/"), files);
            }
        } else if [".rs", ".md", "Cargo.toml"].iter().any(|end| path.ends_with(end)) {
            let lines = fs::read_to_string(root.join(&path)).unwrap().lines().map(String::from).collect();
            files.push(File { path, lines });
        }
    }
}

fn tree() -> Vec<File> {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), "", &mut files);
    assert!(files.len() > 500, "the tree is not where this test looks for it");
    files
}

impl File {
    fn is_module(&self) -> bool {
        self.path.ends_with(".rs") && self.path.contains("/src/")
    }

    fn is_production(&self) -> bool {
        self.is_module() && !self.path.contains("/tests/")
    }

    /// The lines before the inline test modules.
    fn production(&self) -> &[String] {
        let tests = |two: &[String]| two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{');
        &self.lines[..self.lines.windows(2).position(tests).unwrap_or(self.lines.len())]
    }

    /// The length of the function that begins in this line: rustfmt gives its brace the same indentation.
    fn function_at(&self, at: usize) -> Option<usize> {
        let (lines, line) = (self.production(), &self.production()[at]);
        let (before, _) = line.split_once("fn ")?;
        let qualifies = |word: &str| word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word);
        if !before.split_whitespace().all(qualifies) || line.ends_with(['}', ';']) {
            return None;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes =
            |l: &String| l.strip_prefix(indent).is_some_and(|l| l == "}" || !l.starts_with(' ') && l.ends_with(';'));
        Some(lines[at..].iter().position(closes)? + 1)
    }

    /// The lines that are prose, with their numbers: comments; a page without its code.
    fn prose(&self) -> Vec<(usize, &str)> {
        let (source, page) = (self.path.ends_with(".rs"), self.path.ends_with(".md"));
        let (mut code, mut prose) = (false, Vec::new());
        for (at, line) in self.lines.iter().enumerate() {
            code ^= page && line.trim_start().starts_with("```");
            let from = if source { line.find("//") } else { Some(0).filter(|_| page && !code) };
            prose.extend(from.map(|from| (at + 1, &line[from..])));
        }
        prose
    }

    /// The rules that the head defines, as it writes them: `Q2` or `wrapper-1`.
    fn rules(&self) -> Vec<&str> {
        let head = self.lines.iter().map_while(|line| line.strip_prefix("//!"));
        let starts = head.filter_map(|line| line.trim_start().split_once(". "));
        starts.map(|(rule, _)| rule).filter(|rule| number(rule).is_some()).collect()
    }

    /// The word by which other files cite these rules, and the same after the folder or crate that the module is in.
    fn words(&self) -> [String; 2] {
        let parts: Vec<_> =
            self.path.trim_end_matches(".rs").split('/').filter(|p| !["src", "mod", "lib"].contains(p)).collect();
        let [.., folder, module] = parts[..] else { return Default::default() };
        let own = self.rules().first().and_then(|rule| rule.rsplit_once('-')).map(|(word, _)| word);
        let word = if self.path == "crates/engine/buf/src/scheme.rs" { "seam" } else { own.unwrap_or(module) };
        [word.into(), format!("{folder}-{word}")]
    }
}

/// The number of a rule: one or two capitals and a number, or a word, a hyphen and a number.
fn number(rule: &str) -> Option<u32> {
    let name = rule.trim_end_matches(|c: char| c.is_ascii_digit());
    let letters = (1..3).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
    let word = name.ends_with('-') && name.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b));
    rule[name.len()..].parse().ok().filter(|_| letters || word)
}

/// Each crate's floor in the drawing of ARCHITECTURE.md, the top floor first.
fn floors(files: &[File]) -> BTreeMap<&str, usize> {
    let page = files.iter().find(|file| file.path == "ARCHITECTURE.md").unwrap();
    let drawing =
        page.lines.iter().skip_while(|line| *line != "## The floors").skip_while(|line| *line != "```").skip(1);
    let (mut floor, mut floors) = (0, BTreeMap::new());
    for line in drawing.take_while(|line| *line != "```").filter_map(|line| line.strip_prefix(' ')) {
        floor += usize::from(line.starts_with('─'));
        floors.extend(
            line.split(' ').next().filter(|name| name.starts_with(char::is_alphabetic)).map(|name| (name, floor)),
        );
    }
    floors
}

fn check(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} places are not tidy:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn crates_import_from_lower_floors_and_earlier_folders_and_no_test_of_the_product_from_the_laboratory() {
    const LAB: Option<usize> = Some(FOLDERS.len() - 1);
    let (files, mut wrong) = (tree(), Vec::new());
    let floors = floors(&files);
    let mut folders = BTreeMap::new();
    let is_a_crate = |file: &&File| ["crates/", "lab/"].iter().any(|group| file.path.starts_with(group));
    for file in files.iter().filter(is_a_crate).filter(|file| file.path.ends_with("/Cargo.toml")) {
        let parts: Vec<_> = file.path.split('/').collect();
        let folder = if parts[0] == "lab" { "lab" } else { parts[1] };
        let name = if file.path == "lab/cli/Cargo.toml" { "lab" } else { parts[parts.len() - 2] };
        folders.insert(name, (FOLDERS.iter().position(|known| *known == folder), file));
    }
    for (name, (folder, file)) in &folders {
        if folder.is_none() || !floors.contains_key(name) {
            wrong.push(format!("{}:1: draw `{name}` in ARCHITECTURE.md; put it into one of {FOLDERS:?}", file.path));
        }
        let mut section = "";
        for (at, line) in file.lines.iter().enumerate() {
            section = if line.starts_with('[') { line } else { section };
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let to = key.strip_prefix("ordo-").unwrap_or(key);
            let Some((other, _)) = folders.get(to) else { continue };
            let place = format!("{}:{}: `{name}` imports `{to}`", file.path, at + 1);
            if !section.ends_with("dependencies]") {
                continue;
            }
            if section.contains("dev-") {
                if other == &LAB && folder != &LAB {
                    wrong.push(format!("{place} of the laboratory for its tests: move these to tests/engine"));
                }
                continue;
            }
            if floors.get(to) <= floors.get(name) {
                wrong.push(format!("{place}, not on a lower floor of ARCHITECTURE.md: remove that, or redraw"));
            }
            if other > folder {
                wrong.push(format!("{place} from a later folder: move one of them; the order is {FOLDERS:?}"));
            }
        }
    }
    let gone = floors.keys().filter(|name| !folders.contains_key(*name));
    wrong.extend(gone.map(|name| format!("ARCHITECTURE.md: no crate is called `{name}`: mend the drawing")));
    check(&wrong);
}

/// Files that lead to each other can only be read together, and none of them can be moved alone.
#[test]
fn no_circle_of_files_within_a_crate() {
    let (files, mut wrong, mut crates) = (tree(), Vec::new(), BTreeMap::new());
    for file in files.iter().filter(|file| file.is_production()) {
        let (name, path) = file.path.split_once("/src/").unwrap();
        crates.entry(name).or_insert_with(Vec::new).push((path, file.lines.join("\n")));
    }
    assert!(CIRCULAR.iter().all(|name| crates.contains_key(name)), "{CIRCULAR:?}: one of these is no crate");
    for (name, files) in &crates {
        let files: Vec<_> = files.iter().map(|(path, source)| (*path, &**source)).collect();
        let arrows = circles::arrows(&files);
        let circles = circles::circles(&arrows);
        if CIRCULAR.contains(name) {
            let gone = circles.is_empty().then(|| format!("{name}: it has no circle any more: take it from CIRCULAR"));
            wrong.extend(gone);
            continue;
        }
        for circle in circles {
            let arrows = circle.iter().flat_map(|from| arrows[from].iter().map(move |(to, word)| (from, to, word)));
            let inside = arrows.filter(|(_, to, _)| circle.contains(*to));
            let drawn: Vec<_> = inside.map(|(from, to, word)| format!("  {from} -> {to} ({word})")).collect();
            wrong.push(format!("{name}: a circle of {} files: open it\n{}", circle.len(), drawn.join("\n")));
        }
    }
    check(&wrong);
}

#[test]
fn comments_and_prose_keep_to_the_width() {
    let mut wrong = Vec::new();
    // The licence terms beside the drives' data stay as their owners wrote them.
    for file in tree().iter().filter(|file| !file.path.ends_with("NOTICE.md")) {
        for (at, text) in file.prose() {
            let line = &file.lines[at - 1];
            let whole = line.trim_start() == text.trim_start();
            let table = text.trim_start_matches(['/', '!', ' ']).starts_with('|');
            if whole && !table && !text.contains("://") && line.chars().count() > WIDTH {
                wrong.push(format!("{}:{at}: longer than {WIDTH} columns: wrap it", file.path));
            }
        }
    }
    check(&wrong);
}

#[test]
fn functions_and_files_are_short() {
    let (mut wrong, mut functions, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for file in tree().iter().filter(|file| file.is_production()) {
        let lines = file.production().len();
        sizes.push(lines);
        if lines > LARGEST {
            wrong.push(format!("{}:1: {lines} lines, more than {LARGEST}: move a part of it out", file.path));
        }
        for (at, length) in (0..file.production().len()).filter_map(|at| Some((at, file.function_at(at)?))) {
            functions.push(length);
            if length > LONGEST {
                wrong.push(format!("{}:{}: {length} lines, more than {LONGEST}: split it", file.path, at + 1));
            }
        }
    }
    functions.sort_unstable();
    sizes.sort_unstable();
    assert!(functions.len() > 3000, "{} functions found: the search for them is broken", functions.len());
    let (p90, median) = (functions[functions.len() * 9 / 10], sizes[sizes.len() / 2]);
    if p90 > P90 || median > MEDIAN {
        let sizes = format!("90 % of the functions have at most {p90} lines, half of the files at most {median}");
        wrong.push(format!("{sizes}; the limits are {P90} and {MEDIAN}: split some"));
    }
    check(&wrong);
}

/// The last column of ARCHITECTURE's table is a limit, and not far above what is there.
#[test]
fn both_groups_are_as_large_as_the_architecture_says() {
    let (files, mut wrong) = (tree(), Vec::new());
    let page = files.iter().find(|file| file.path == "ARCHITECTURE.md").unwrap();
    for group in ["crates", "lab"] {
        let row = page.lines.iter().find(|line| line.starts_with(&format!("| `{group}` |"))).unwrap();
        let cell = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap().trim();
        let most: usize = cell.replace(',', "").parse().unwrap();
        let is_code = |line: &&String| !matches!(line.trim(), text if text.is_empty() || text.starts_with("//"));
        let here = files.iter().filter(|file| file.is_production() && file.path.starts_with(&format!("{group}/")));
        let lines: usize = here.map(|file| file.production().iter().filter(is_code).count()).sum();
        if lines > most || most - lines > 500 {
            wrong.push(format!("ARCHITECTURE.md: {group} has {lines} lines of production code, and the table {most}"));
        }
    }
    check(&wrong);
}

#[test]
fn the_room_of_the_papers_on_soft_updates_stays_small() {
    let (files, (room, most)) = (tree(), PAPERS);
    let is_here = |file: &&File| file.path.strip_prefix(room).is_some_and(|name| !name.contains('/'));
    let here: Vec<_> = files.iter().filter(is_here).filter(|file| file.is_production()).collect();
    assert!(here.iter().any(|file| file.path.ends_with("/leave.rs")), "{room} is not where this test looks for it");
    let lines: usize = here.iter().map(|file| file.production().len()).sum();
    let mut wrong = Vec::new();
    if lines > most {
        let wanted = "move records to `deps`, questions to `unmet`, and what the papers do not have to `beyond`";
        wrong.push(format!("{room}: {lines} lines in {} files, more than {most}: {wanted}", here.len()));
    }
    check(&wrong);
}

/// Where bytes of a disk become numbers, a number may be any, and the sum of two of them, too: clippy allows there only
/// arithmetic that says what becomes of it. `ondisk` has this for the whole crate.
#[test]
fn what_reads_numbers_from_a_disk_computes_nothing_unchecked() {
    const LINT: &str = "#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]";
    const FOLDERS: [&str; 4] = ["crates/logs/", "crates/engine/", "crates/check/fsck/", "crates/check/rescue/"];
    let reads = |line: &String| ["FromBytes", "from_le_bytes", "from_be_bytes"].iter().any(|word| line.contains(word));
    let mut wrong = Vec::new();
    for file in tree().iter().filter(|file| file.is_production()) {
        let is_of_disks = FOLDERS.iter().any(|folder| file.path.starts_with(folder));
        if is_of_disks && file.production().iter().any(reads) && !file.lines.iter().any(|line| line == LINT) {
            wrong.push(format!("{}: it reads numbers from bytes; begin it with {LINT}", file.path));
        }
    }
    check(&wrong);
}

#[test]
fn modules_have_heads_and_stand_apart_from_tests() {
    let mut wrong = Vec::new();
    for file in tree().iter().filter(|file| file.is_module()) {
        let (path, head) = (&file.path, if file.is_production() { "//!" } else { "//" });
        if !file.lines.first().is_some_and(|line| line.starts_with(head)) {
            wrong.push(format!("{path}:1: begin with `{head}` and say what the file is for"));
        }
        let misnamed = ["/tests.rs", "_tests.rs", "/testing.rs"].iter().any(|end| path.ends_with(end));
        let is_door = |line: &str| line.contains("mod ") && line.ends_with(';') && line.trim() != "mod tests;";
        let other = |two: &[String]| two[0].contains("#[path") || two[0].trim() == "#[cfg(test)]" && is_door(&two[1]);
        let at = file.lines.windows(2).position(other).or(misnamed.then_some(0));
        if let Some(at) = at.filter(|_| file.is_production()) {
            let wanted = "a folder `tests` behind `#[cfg(test)] mod tests;`";
            wrong.push(format!("{path}:{}: a test beside production files: move it to {wanted}", at + 1));
        }
    }
    check(&wrong);
}

#[test]
fn rules_of_other_files_are_cited_by_a_word() {
    let (files, mut wrong) = (tree(), Vec::new());
    let heads: Vec<_> =
        files.iter().map(|file| (file.rules(), file.words())).filter(|(rules, _)| !rules.is_empty()).collect();
    for file in files.iter().filter(|file| file.path != "CHANGELOG.md") {
        let own = file.rules();
        for (at, text) in file.prose() {
            // What stands in backticks is code.
            let text = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
            for cited in words.filter(|cited| number(cited).is_some() && !own.contains(cited)) {
                let word = cited.rsplit_once('-').map(|(word, _)| word);
                let meant = |(rules, words): &&(Vec<&str>, [String; 2])| {
                    word.map_or(rules.contains(&cited), |word| words.iter().any(|w| w == word))
                };
                let meant: Vec<_> = heads.iter().filter(meant).collect();
                let names: Vec<_> = meant.iter().map(|(_, [_, long])| long).collect();
                let place = format!("{}:{at}: `{cited}`", file.path);
                match &meant[..] {
                    [] => (),
                    _ if word.is_none() => {
                        wrong.push(format!("{place} is a rule of {names:?}: say which, as in queue-2"))
                    }
                    [(rules, _)] if rules.iter().any(|rule| number(rule) == number(cited)) => (),
                    [_] => wrong.push(format!("{place} is no rule in the head of {names:?}: mend the number")),
                    _ => wrong.push(format!("{place} may be any of {names:?}: say which")),
                }
            }
        }
    }
    check(&wrong);
}

/// The sections of a scheme's page, in this order.
const SECTIONS: [&str; 8] =
    ["Promise", "How it works", "After a crash", "Cost", "Options", "What was explored", "Limits", "Sources"];

#[test]
fn the_pages_of_the_schemes_have_one_order() {
    let (files, mut wrong) = (tree(), Vec::new());
    let pages: Vec<_> = files.iter().filter(|file| file.path.starts_with("docs/schemes/")).collect();
    assert!(pages.len() >= 7, "the pages are not where this test looks for them");
    for file in pages {
        let has: Vec<_> = file.lines.iter().filter_map(|line| line.strip_prefix("## ")).collect();
        if has != SECTIONS {
            wrong.push(format!("{}:1: its sections are {has:?}: make them {SECTIONS:?}", file.path));
        }
    }
    check(&wrong);
}
