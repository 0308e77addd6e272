//! Tests of the log, and of what stays of it when a process, a disk or a file fails.

mod chain;
mod events;
mod full;
mod kill;
mod open;
mod record;
