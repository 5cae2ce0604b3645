//! The header in the tree is the one that the exported functions make. `ORDO_BLESS=1` rewrites it.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources = ["src/flags.rs", "src/abi.rs", "src/calls.rs"].map(|name| root.join(name));
    let builder = cbindgen::Builder::new().with_config(config);
    let mut made = Vec::new();
    sources.iter().fold(builder, |builder, source| builder.with_src(source)).generate().unwrap().write(&mut made);
    let path = root.join("include/ordofs.h");
    if std::env::var_os("ORDO_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert!(kept == made, "{}: is old: run ORDO_BLESS=1 cargo test -p ordofs-capi --test header", path.display());
}
