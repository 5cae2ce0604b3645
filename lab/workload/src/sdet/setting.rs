//! What a user of Sdet can be set to, and the files that a home has.

table! {
    /// Its parameters.
    pub struct Sdet {
        scripts: u64 = 1, "scripts of this user, one after another";
        seed: u64 = 42, "where the random orders start";
        temps: u64 = 6, "temporary files of a compilation";
        transfer: u64 = 8192, "bytes of one read or write";
        process_us: u64 = 27_000, "microseconds computed for each process (on a modelled machine)";
        look_us: u64 = 3_500, "microseconds computed for each file whose attributes are looked at";
        byte_ns: u64 = 300, "nanoseconds computed for each byte looked at";
        compile_ms: u64 = 200, "milliseconds computed for each source compiled";
        link_ms: u64 = 100, "milliseconds computed for each program linked";
        nroff_ms: u64 = 100, "milliseconds computed for each nroff";
        spell_ms: u64 = 100, "milliseconds computed for each spell";
    }
}

pub(super) const SOURCES: u64 = 8;
pub(super) const HEADERS: u64 = 4;
pub(super) const DOCS: u64 = 6;
