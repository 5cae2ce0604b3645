//! Whole pages: no content of a document becomes markup, and the same documents give the same bytes.

use ordo_report::{Source, page};

/// A document of each kind in which every text is `TEXT`.
const DOCUMENTS: [&str; 5] = [
    r#"[{"scheme":"TEXT","workload":"TEXT","disk":"TEXT","phase":"TEXT","ops":1,"seconds":1,"rate":1},
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
    r#"{"scheme":"TEXT","workload":"TEXT","disk":"TEXT","without":["TEXT"],"states":1,
        "violations":[{"id":"TEXT","oracle":"TEXT","call":"TEXT","detail":"TEXT"}]}"#,
    r#"{"scheme":"TEXT","call":"TEXT","disk":"TEXT","setup":["TEXT"],"refused":"TEXT","events":[
        {"us":1,"event":"TEXT","says":"TEXT","what":"TEXT","buf":"TEXT"},
        {"us":1,"event":"step","says":"TEXT","answer":"TEXT",
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
