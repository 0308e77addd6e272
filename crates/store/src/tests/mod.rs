//! The store as a whole, on real files.

mod answers;
mod backup;
mod chain;
mod claims;
mod erase;
mod events;
mod fixture;
mod full;
mod goals;
mod hold;
mod idle;
mod kill;
mod lock_order;
mod memory;
mod notes;
mod open;
mod opinions;
mod page;
mod permits;
mod prune;
mod reader_pool;
mod record;
mod recorded;
mod sessions;
mod suggestions;
