//! Looks for FreeBSD's volumes. The library has the test harness ignore what needs them where they are not.

use std::path::PathBuf;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let asked = std::env::var_os("ORDO_IMAGES").filter(|asked| !asked.is_empty());
    let required = asked.as_ref().is_some_and(|asked| asked == "require");
    let named = asked.filter(|_| !required).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| here.join("../../../shared/images"));
    let volumes = ["ufs-little", "ufs-big"].map(|name| folder.join(format!("{name}.img.zst")));
    println!("cargo:rustc-check-cfg=cfg(freebsds_volumes)");
    println!("cargo:rerun-if-env-changed=ORDO_IMAGES");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=FREEBSDS_VOLUMES={}", folder.display());
    let there = volumes.iter().all(|volume| volume.exists());
    // A file that is not there would be looked for in every build, and each time all would be compiled again.
    if there {
        volumes.iter().for_each(|volume| println!("cargo:rerun-if-changed={}", volume.display()));
    }
    if there || required {
        println!("cargo:rustc-cfg=freebsds_volumes");
    }
}
