//! The name by which programs find the library when they run. Until 1.0 each minor version may change what C sees, so
//! it is part of the name; from then on the major one is.

fn main() {
    let [major, minor] = ["MAJOR", "MINOR"].map(|part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap());
    let version = if major == "0" { format!("0.{minor}") } else { major };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libordofs.so.{version}");
    println!("cargo:rerun-if-changed=build.rs");
}
