//! Tar archives, as `ordo tar` and `ordo mkfs -d` read them. Sums of headers are made right.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    for header in bytes.chunks_exact_mut(512).filter(|block| block[0] != 0) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    ordo_cli::fuzzed::tar(&bytes);
});
