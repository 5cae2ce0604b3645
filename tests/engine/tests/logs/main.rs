//! The logs by themselves, on disks that fail and lose power, and in a stream whose servers lose messages.

mod journal;
mod power;
mod stream;
mod wafs;
