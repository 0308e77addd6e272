//! The store as a whole, on real files.

mod chain;
mod hold;
mod kill;
mod open;
mod prune;
mod record;
