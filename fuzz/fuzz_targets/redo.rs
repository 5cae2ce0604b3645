//! Transactions in the records of the log schemes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::redo::{Joined, Transaction};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(transaction) = Transaction::decode(bytes) {
        let again = Transaction::decode(&transaction.encode()).expect("it was written whole");
        assert_eq!(again, transaction);
    }
    let mut joined = Joined::default();
    for record in bytes.chunks(64) {
        if let Ok(Some(whole)) = joined.add(record) {
            let _ = Transaction::decode(&whole);
        }
    }
});
