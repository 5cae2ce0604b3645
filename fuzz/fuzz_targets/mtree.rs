//! Manifests of mtree(5), as `ordo mkfs -F` reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ordo_cli::fuzzed::mtree(bytes));
