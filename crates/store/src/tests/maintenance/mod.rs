//! Tests of pruning and of copies.

mod backup;
mod prune;
