//! The store as a whole, on real files.

mod backup;
mod chain;
mod full;
mod hold;
mod kill;
mod memory;
mod open;
mod opinions;
mod prune;
mod record;
