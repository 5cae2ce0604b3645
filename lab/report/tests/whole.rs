//! Whole pages: no content of a document becomes markup, and the same documents give the same bytes.

use ordo_report::{Context, Source, page, page_in};

/// A document of each kind in which every text is `TEXT`.
const DOCUMENTS: [&str; 5] = [
    r#"[{"scheme":"TEXT","workload":"TEXT","disk":"TEXT","phase":"TEXT","ops":1,"seconds":1,"rate":1,"disk_says":"TEXT",
            "made":{"ordo":"TEXT","command":"TEXT","date":"TEXT","machine":"TEXT"},
            "promises":{"name_added":"TEXT","crash_leaves":"TEXT","seconds_in_memory":5,"says":"TEXT"}},
        {"scheme":"other","workload":"TEXT","disk":"TEXT","phase":"TEXT","ops":1,"seconds":1,"rate":1}]"#,
    r#"{"paper":"TEXT","title":"TEXT","reference":"TEXT","disk":"TEXT","seed":1,"notes":["TEXT"],
        "tables":[{"id":"TEXT","title":"TEXT","columns":[{"name":"TEXT","unit":"TEXT"}],
            "rows":[{"labels":["TEXT","TEXT"],"ours":[1],"theirs":[2]}]}],
        "figures":[{"id":"TEXT","title":"TEXT","kind":"bar","y":{"label":"TEXT","unit":"TEXT"},"categories":["TEXT"],
            "series":[{"name":"TEXT","values":[1]},{"name":"TEXT","values":[null]}]},
            {"id":"TEXT","title":"TEXT","kind":"line","x":{"label":"TEXT"},"series":[{"name":"TEXT","points":[[1,2],[3,4]]}]},
            {"kind":"TEXT"}],
        "claims":[{"id":"TEXT","where":"TEXT","statement":"TEXT","tested":true,"holds":true,"expected":"TEXT","ours":["TEXT"],
            "why":"TEXT"}, {"expected":{"TEXT":"TEXT"}}],
        "choice":{"title":"TEXT","says":"TEXT","disks":["TEXT","TEXT"],
            "ways":[{"name":"TEXT","what":"TEXT","scheme":"TEXT","crash":"TEXT"},{"name":"TEXT","scheme":"other"}],
            "works":[{"name":"TEXT","unit":"TEXT","rates":[[1,2],[3,null]],"best":[["TEXT"],[]]}]},
        "features":{"title":"TEXT","doubt":"TEXT","asked":[{"name":"TEXT","says":"TEXT"}],
            "systems":[{"name":"TEXT","scheme":"TEXT","recovery":"TEXT",
                "answers":[{"yes":false,"states":2,"against":1,"witness":"TEXT","shows":"TEXT"}]}]},
        "timelines":[{"scheme":"TEXT","title":"TEXT","workload":"TEXT","cylinders":10,
            "requests":[{"at_ms":1,"service_ms":1,"cylinder":3,"kind":"TEXT","write":true}]}],
        "stories":[{"scheme":"TEXT","title":"TEXT","svg":"TEXT","text":"TEXT"},{"scheme":"TEXT"}]}"#,
    r#"{"scheme":"TEXT","workload":"TEXT","disk":"TEXT","disk_says":"TEXT","without":["TEXT"],"states":1,
        "made":{"ordo":"TEXT","command":"TEXT"},
        "violations":[{"id":"TEXT","oracle":"TEXT","call":"TEXT","detail":"TEXT"},
            {"oracle":"TEXT","call":"TEXT","promise":"TEXT","should":"TEXT","is":"TEXT","calls":["1. TEXT: returned","TEXT"],
             "shrunk":{"calls":["TEXT"]}}]}"#,
    r#"{"scheme":"TEXT","call":"TEXT","disk":"TEXT","disk_says":"TEXT","setup":["TEXT"],"refused":"TEXT","events":[
        {"us":1,"event":"TEXT","says":"TEXT","what":"TEXT","buf":"TEXT"},
        {"us":1,"event":"step","says":"TEXT","answer":"TEXT","bufs":["TEXT"],
         "made":[{"buf":"TEXT","what":"TEXT","how":"TEXT","until":[{"buf":"TEXT","rule":"TEXT"}]}]},
        {"us":1,"event":"leaves","buf":"TEXT","rolled_back":true,"undone":[{"what":"TEXT"}]},
        {"us":1,"event":"waits","buf":"TEXT","until":["TEXT"]},{"us":2,"event":"freed","what":"TEXT"},
        {"us":2,"event":"log","says":"TEXT","holds":["TEXT"]}]}"#,
    r#"{"image":"TEXT","segment_size":100,"segments":[{"state":"TEXT","live_bytes":50,"superblock":true},
        {"state":"clean","live_bytes":0}]}"#,
];

fn sources(text: &str) -> Vec<Source> {
    let text = serde_json::to_string(text).unwrap();
    let inside = text.trim_matches('"');
    let source = |document: &&str| Source { name: "x.json".into(), text: document.replace("TEXT", inside) };
    DOCUMENTS.iter().map(source).collect()
}

/// What a browser would parse as markup: tags, with their attributes, without the values of these.
fn marks(page: &str) -> Vec<String> {
    let mut marks = Vec::new();
    let (mut tag, mut quoted) = (None::<String>, false);
    for c in page.chars() {
        match (&mut tag, c) {
            (None, '<') => tag = Some(String::new()),
            (Some(_), '"') => quoted = !quoted,
            (Some(_), _) if quoted => {}
            (Some(_), '>') => marks.extend(tag.take()),
            (Some(tag), c) => tag.push(c),
            (None, _) => {}
        }
    }
    marks
}

#[test]
fn no_text_of_a_document_becomes_a_mark() {
    let harmless = page(&sources("text")).unwrap();
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='x",
        "</style></title><b>",
        "&lt;<!--",
    ] {
        let page = page(&sources(hostile)).unwrap();
        assert_eq!(marks(&page), marks(&harmless), "{hostile}");
        assert!(
            page.matches("&lt;").count() + page.matches("&quot;").count() + page.matches('\'').count() > 40,
            "it is shown"
        );
    }
}

#[test]
fn the_same_documents_give_the_same_bytes() {
    assert_eq!(page(&sources("text")).unwrap(), page(&sources("text")).unwrap());
}

/// Two schemes measured on one disk and on another, with what they promise; an exploration, and a trace.
fn real() -> Vec<Source> {
    let promises = |leaves: &str, event: &str, stays: bool| {
        format!(
            r#""promises":{{"name_added":"{event}","name_removed":"{event}","crash_leaves":"{leaves}","durable_stays":{stays},
            "fsync_covers_name":{stays},"rename_never_loses":{stays},"names_of_a_moment":false,"no_stale_data":{stays},
            "mount_at_once":{},"seconds_in_memory":5,"says":"in words"}}"#,
            leaves == "leaks"
        )
    };
    let row = |scheme: &str, disk: &str, rate: u32, bytes: u32, says: &str| {
        format!(
            r#"{{"scheme":"{scheme}","workload":"postmark","disk":"{disk}","phase":"total","ops":10,"seconds":1,
            "rate":{rate},"bytes_written":{bytes},{says}}}"#
        )
    };
    let (soft, none) = (promises("leaks", "after-fsync", true), promises("anything", "after-sync", false));
    let made = r#""disk_says":"a disk of 1994, modelled","made":{"ordo":"9.8.7","command":"ordo bench --json"}"#;
    let bench = [
        row("softupdates", "sim:x", 70, 500, &format!("{soft},{made}")),
        row("async", "sim:x", 100, 100, &none),
        row("softupdates", "ram", 99, 5, r#""waits":0"#),
        row("async", "ram", 100, 1, r#""waits":0"#),
    ];
    let crash = r#"{"scheme":"softupdates","workload":"mixed","states":1234,"violations":[]}"#;
    let sources = [("a/bench.json", format!("[{}]", bench.join(","))), ("crash.json", crash.to_owned())];
    sources.map(|(name, text)| Source { name: name.into(), text }).into()
}

#[test]
fn a_page_begins_with_what_it_is_and_which_scheme_is_for_whom() {
    let written = [("crash.json".to_owned(), "2026-11-27 04:05 UTC".to_owned())].into();
    let page = page_in(&real(), &Context { written }).unwrap();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let order = [
        "OrdoFS: benchmarks and power cuts</h1>",
        "2026-11-27 04:05 UTC",
        "all ran in virtual time",
        "ordo 9.8.7",
        "<code>ordo bench --json</code> <small>bench.json, in virtual time, ordo 9.8.7",
        "command not said <small>crash.json, file of 2026",
        "<section id=\"whom\"",
        "mounted at once; leaked space is reclaimed</span>",
        "files may be lost</span>",
        "a database, a mail server",
        "What a crash costs, scheme by scheme",
        "none broken</span> <small>of 1,234",
        "<details class=\"section\"><summary><span class=\"kind\">benchmark",
        "postmark</h2>",
        "<span class=\"kind\">power cuts",
    ];
    order.windows(2).for_each(|pair| assert!(at(pair[0]) < at(pair[1]), "{} before {}", pair[0], pair[1]));
}

#[test]
fn for_each_kind_of_user_the_fastest_that_keeps_what_they_need_is_named_on_each_disk() {
    let page = page(&real()).unwrap();
    let take = |who: &str| -> Vec<String> {
        let rows = page.split(who).skip(1).map(|rest| rest.split("</tr>").next().unwrap().to_owned());
        rows.map(|row| row.split("<strong>").nth(1).unwrap().split("</strong>").next().unwrap().to_owned()).collect()
    };
    // The modelled disk comes before memory.
    assert_eq!(take("a laptop, a machine"), ["softupdates", "softupdates"]);
    assert_eq!(take("a builder of images"), ["async", "async, softupdates"]);
    assert_eq!(take("a server whose clients"), ["none of these", "none of these"]);
    assert_eq!(take("flash that should"), ["softupdates", "softupdates"]);
    assert!(page.contains("0.7 of the speed of the fastest; the only one of 2 that keeps it"), "{page}");
}

#[test]
fn what_is_not_among_the_documents_is_asked_for_and_nothing_is_invented() {
    let segments = Source { name: "s.json".into(), text: r#"{"segment_size":9,"segments":[]}"#.into() };
    let alone = page(&[segments]).unwrap();
    assert!(!alone.contains("id=\"whom\"") && alone.contains("not said"), "nobody speaks of schemes: {alone}");
    let old = r#"[{"scheme":"sync","workload":"w","phase":"p","rate":1,"seconds":2}]"#;
    let old = page(&[Source { name: "dir/old.json".into(), text: old.into() }]).unwrap();
    assert!(old.contains("make them again: old.json") && old.contains("not said by these documents"), "{old}");
    assert!(!old.contains("a database, a mail server"), "nobody says what it promises: {old}");
}

#[test]
fn every_link_of_a_page_has_its_place() {
    for sources in [sources("text"), real()] {
        let page = page(&sources).unwrap();
        for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
        }
    }
}

#[test]
fn a_page_is_whole_by_itself() {
    let page = page(&sources("text")).unwrap();
    for asked in ["<script", "http:", "https:", "<link rel=\"style", "@import", "url(", "<iframe", "<object"] {
        assert!(!page.contains(asked), "{asked}");
    }
    assert!(page.contains("default-src 'none'") && page.ends_with("</html>"));
}

#[test]
fn one_bad_document_among_good_ones_is_refused_by_its_name() {
    let mut several = sources("text");
    several.insert(2, Source { name: "dir/odd.json".into(), text: "{\"answer\": 42}".into() });
    let said = page(&several).unwrap_err().to_string();
    assert!(said.starts_with("dir/odd.json: a document of no known shape; "), "{said}");
}
