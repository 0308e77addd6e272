//! Tests of the tables beside the runs, also as somebody changed them.

mod answers;
mod claims;
mod erase;
mod goals;
mod memory;
mod notes;
mod opinions;
mod recorded;
mod run_choice;
mod sessions;
mod suggestions;
