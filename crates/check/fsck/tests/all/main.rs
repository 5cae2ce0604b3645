//! Checks of whole volumes: real ones, built ones, and both of them damaged.

mod across;
mod alone;
mod campaign;
mod common;
mod hostile;
mod images;
mod interrupted;
mod keeps;
mod kinds;
mod lfs;
mod moved;
mod repairs;
mod superblocks;
