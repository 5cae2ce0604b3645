//! Circles of files within a crate. A file uses another one if its production code names something that is defined
//! there: by a path, or by a name that it imported. An import leads to the definition, through every module that only
//! hands the name on; so a `mod.rs` that declares and re-exports uses nothing. Code behind `#[cfg(test)]` is left out.
//! Methods are not followed: `self.x()` of an `impl` in another file is no arrow.

use std::collections::{BTreeMap, BTreeSet};

/// The modules of a crate by their paths from its root; an inline module stands in the file around it.
type Modules<'a> = BTreeMap<Vec<&'a str>, Module<'a>>;
/// Whom a file uses, and by which name.
pub(crate) type Arrows<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>;

#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    defined: BTreeSet<&'a str>,
    /// The paths that a name is imported from (a function and a type may share it); `*` has those of the globs.
    imported: BTreeMap<&'a str, Vec<Vec<&'a str>>>,
    /// The paths in the code, and the imports that hand nothing on.
    used: BTreeSet<Vec<&'a str>>,
}

/// The words and signs of a source; comments, texts, characters and lifetimes are left out.
fn tokens(source: &str) -> Vec<&str> {
    let (bytes, mut at, mut tokens) = (source.as_bytes(), 0, Vec::new());
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let after = |at: usize, end: &str| source[at..].find(end).map_or(source.len(), |found| at + found + end.len());
    while at < bytes.len() {
        let rest = &source[at..];
        let hashes = rest.trim_start_matches(['b', 'r']).bytes().take_while(|b| *b == b'#').count();
        let raw = rest.len() - rest.trim_start_matches(['b', 'r']).len();
        if rest.starts_with("//") {
            at = after(at, "\n");
        } else if rest.starts_with("/*") {
            at = after(at, "*/");
        } else if (1..3).contains(&raw) && rest[..raw].ends_with('r') && rest[raw + hashes..].starts_with('"') {
            at = after(at + raw + hashes + 1, &format!("\"{}", "#".repeat(hashes)));
        } else if bytes[at] == b'"' {
            at += 1;
            while bytes.get(at).is_some_and(|b| *b != b'"') {
                at += 1 + usize::from(bytes[at] == b'\\');
            }
            at += 1;
        } else if bytes[at] == b'\'' {
            let escape = usize::from(rest[1..].starts_with('\\')) * 2;
            let width = rest[1 + escape..].chars().next().map_or(1, char::len_utf8);
            let closes = if escape > 0 { rest[1 + escape..].find('\'') } else { Some(width) };
            let end = 1 + escape + closes.unwrap_or(0);
            at +=
                if rest[end..].starts_with('\'') { end + 1 } else { 1 + rest[1..].bytes().take_while(is_word).count() };
        } else if is_word(&bytes[at]) {
            let length = rest.bytes().take_while(is_word).count();
            tokens.push(&rest[..length]);
            at += length;
        } else if rest.starts_with("::") {
            tokens.push("::");
            at += 2;
        } else {
            let width = rest.chars().next().map_or(1, char::len_utf8);
            tokens.extend(Some(&rest[..width]).filter(|sign| !sign.trim().is_empty()));
            at += width;
        }
    }
    tokens
}

/// Where the item ends that begins at `at`: behind its `;`, or behind the brace that closes.
fn end_of_item(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        depth += i32::from(["{", "(", "["].contains(token)) - i32::from(["}", ")", "]"].contains(token));
        if depth == 0 && [";", "}"].contains(token) || depth < 0 {
            return at + usize::from(depth == 0);
        }
    }
    tokens.len()
}

/// The paths of a `use`, flat, each with the name that it gets here.
fn imports<'a>(tokens: &[&'a str], prefix: &[&'a str], found: &mut Vec<(&'a str, Vec<&'a str>)>) {
    let (mut path, mut name, mut at) = (prefix.to_vec(), None, 0);
    while at < tokens.len() {
        match tokens[at] {
            "{" => {
                let end = end_of_item(tokens, at);
                let (mut depth, mut from) = (0, at + 1);
                for (to, token) in tokens.iter().enumerate().take(end).skip(at) {
                    depth += i32::from(*token == "{") - i32::from(*token == "}");
                    if depth == 0 || depth == 1 && *token == "," {
                        imports(&tokens[from..to], &path, found);
                        from = to + 1;
                    }
                }
                return;
            }
            "as" => name = tokens.get(at + 1).copied(),
            "::" | "$" => (),
            "self" if !path.is_empty() => (),
            word if name.is_none() => path.push(word),
            _ => (),
        }
        at += 1;
    }
    if let Some(name) = name.or(path.last().copied()).filter(|_| path.len() > prefix.len() || !tokens.is_empty()) {
        found.push((name, path));
    }
}

/// Reads the items of a file into its module, and of the modules that stand in it. `tests` gets the modules that are
/// declared behind `#[cfg(test)]`.
fn read<'a>(
    file: &'a str,
    tokens: &[&'a str],
    at: &[&'a str],
    modules: &mut Modules<'a>,
    tests: &mut Vec<Vec<&'a str>>,
) {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    const KINDS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];
    let mut module = Module { file, ..Module::default() };
    let (mut i, mut depth) = (0, 0);
    while i < tokens.len() {
        let (token, next) = (tokens[i], tokens.get(i + 1).copied().unwrap_or_default());
        if tokens[i..].starts_with(&TEST) {
            let mut from = i + TEST.len();
            while tokens.get(from) == Some(&"#") {
                from += tokens[from..].iter().position(|t| *t == "]").unwrap_or(0) + 1;
            }
            let end = end_of_item(tokens, from);
            if let Some(name) = tokens[from..end].windows(2).find(|two| two[0] == "mod").map(|two| two[1]) {
                tests.push([at, &[name]].concat());
            }
            i = end;
            continue;
        }
        if token == "use" && (i == 0 || [";", "{", "}", "]", ")", "pub"].contains(&tokens[i - 1])) {
            let end = i + 1 + tokens[i..].iter().position(|token| *token == ";").unwrap_or(0);
            let mut found = Vec::new();
            imports(&tokens[i + 1..end - 1], &[], &mut found);
            let hands_on = i > 0 && ["pub", ")"].contains(&tokens[i - 1]);
            for (name, path) in found {
                if !hands_on && path.last() != Some(&"*") {
                    module.used.insert(path.clone());
                }
                let name = if path.last() == Some(&"*") { "*" } else { name };
                module.imported.entry(name).or_default().push(path);
            }
            i = end;
            continue;
        }
        if token == "mod" && tokens.get(i + 2) == Some(&"{") {
            let end = end_of_item(tokens, i);
            read(file, &tokens[i + 3..end - 1], &[at, &[next]].concat(), modules, tests);
            i = end;
            continue;
        }
        depth += i32::from(token == "{") - i32::from(token == "}");
        if depth == 0 && KINDS.contains(&token) && next.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            module.defined.insert(if next == "unsafe" || next == "async" || next == "mut" {
                tokens[i + 2]
            } else {
                next
            });
        }
        if token == "macro_rules" {
            module.defined.extend(tokens.get(i + 2));
        }
        let before = if i == 0 { "" } else { tokens[i - 1] };
        let is_word = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_word && before != "." && before != "::" && !KINDS.contains(&before) && next != ":" {
            let mut path = vec![token];
            while tokens.get(i + 1) == Some(&"::")
                && tokens.get(i + 2).is_some_and(|t| t.starts_with(|c: char| c.is_alphabetic()))
            {
                i += 2;
                path.push(tokens[i]);
            }
            module.used.insert(path);
        }
        i += 1;
    }
    modules.insert(at.to_vec(), module);
}

/// The names that were looked for already, each with its module.
type Seen<'a> = BTreeSet<(Vec<&'a str>, &'a str)>;

/// The file that defines what `path` names when it stands in the module `at`.
fn definer<'a>(modules: &Modules<'a>, at: &[&'a str], path: &[&'a str], seen: &mut Seen<'a>) -> Option<&'a str> {
    let (head, rest) = path.split_first()?;
    let mut here = at.to_vec();
    match *head {
        "crate" => here.clear(),
        "self" => (),
        "super" => drop(here.pop()),
        _ => return member(modules, at, head, rest, seen),
    }
    match rest {
        ["super" | "self", ..] => definer(modules, &here, rest, seen),
        [name, rest @ ..] => member(modules, &here, name, rest, seen),
        [] => None,
    }
}

fn member<'a>(
    modules: &Modules<'a>,
    at: &[&'a str],
    name: &'a str,
    rest: &[&'a str],
    seen: &mut Seen<'a>,
) -> Option<&'a str> {
    let module = modules.get(at).filter(|_| seen.insert((at.to_vec(), name)))?;
    let inner = [at, &[name]].concat();
    let is_module = modules.contains_key(&inner);
    if let (true, [next, rest @ ..]) = (is_module, rest)
        && let Some(found) = member(modules, &inner, next, rest, seen)
    {
        return Some(found);
    }
    for path in module.imported.get(name).into_iter().flatten().filter(|path| path[..] != [name]) {
        if let Some(found) = definer(modules, at, &[path, rest].concat(), seen) {
            return Some(found);
        }
    }
    if module.defined.contains(name) && !is_module {
        return Some(module.file);
    }
    let globs = module.imported.get("*").into_iter().flatten();
    let inside = globs.map(|glob| [&glob[..glob.len() - 1], &[name], rest].concat());
    inside.filter_map(|path| definer(modules, at, &path, seen)).next()
}

/// The arrows between the files of a crate. Each file comes with its path within `src` and its text.
pub(crate) fn arrows<'a>(files: &[(&'a str, &'a str)]) -> Arrows<'a> {
    let (mut modules, mut tests) = (Modules::new(), Vec::new());
    for (path, source) in files {
        let name = path.trim_end_matches(".rs");
        let mut at: Vec<_> = name.split('/').collect();
        at.pop_if(|last| ["lib", "main", "mod"].contains(last));
        read(path, &tokens(source), &at, &mut modules, &mut tests);
    }
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    let mut arrows = Arrows::new();
    for (at, module) in &modules {
        for path in &module.used {
            if let Some(to) = definer(&modules, at, path, &mut Seen::new()).filter(|to| *to != module.file) {
                arrows.entry(module.file).or_default().entry(to).or_insert(path[path.len() - 1]);
            }
        }
    }
    arrows
}

/// The circles: sets of files each of which leads to all others.
pub(crate) fn circles<'a>(arrows: &Arrows<'a>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            let to = arrows.get(file).into_iter().flat_map(BTreeMap::keys);
            next.extend(to.filter(|to| reached.insert(**to)));
        }
        reached
    };
    let reach: BTreeMap<_, _> = arrows.keys().map(|from| (*from, reached(from))).collect();
    let returns = |from: &str, to: &str| reach.get(to).is_some_and(|reach| reach.contains(from));
    let circle = |(from, reach): (&&str, &BTreeSet<&'a str>)| -> BTreeSet<_> {
        reach.iter().copied().filter(|to| returns(from, to)).collect()
    };
    reach.iter().map(circle).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn a_circle_is_found_through_every_kind_of_path_and_through_no_door() {
    let within = |files: &[(&str, &str)]| {
        let circles = circles(&arrows(files));
        circles.iter().map(|circle| circle.iter().copied().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
    };
    let one =
        |a: &str, b: &str| within(&[("lib.rs", "mod a; mod b; pub use a::A; use b::*;"), ("a.rs", a), ("b.rs", b)]);
    let b = "use crate::A; pub struct B(A); pub fn b() {}";
    assert_eq!(one("pub struct A; fn a(b: crate::b::B) {}", b), "a.rs b.rs");
    assert_eq!(one("use super::b; pub struct A; fn a() { b::b() }", b), "a.rs b.rs");
    assert_eq!(one("pub struct A; mod inner { use super::super::B as C; fn a(c: C) {} }", b), "a.rs b.rs");
    assert_eq!(one("use crate::{A as Own, b::{self, B}}; pub struct A; fn a(b: B) {}", b), "a.rs b.rs");
    assert_eq!(one("pub struct A; // crate::b::B\nconst T: &str = r#\"crate::b::B\"#; fn a(b: u8) -> u8 { b }", b), "");
    assert_eq!(one("pub struct A; #[cfg(test)] mod checks { use crate::b::B; fn b(b: B) {} }", b), "");
    assert_eq!(one("pub use super::b::B; pub struct A;", b), "", "handed on");

    let child = ("a.rs", "use super::Kind; pub fn a(kind: Kind) {}");
    assert_eq!(within(&[("lib.rs", "mod a; pub enum Kind { One } fn f() { a::a(Kind::One) }"), child]), "a.rs lib.rs");
    assert_eq!(within(&[("lib.rs", "mod a; pub use a::a; pub enum Kind { One }"), child]), "");
}
