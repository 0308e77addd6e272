//! The queries about runs, as reports and pages show them.
//!
//! `view` has the rows a caller gets, `rows` makes them of rows of tables; `runs`, `tasks`, `sources` and `leases` query them.
//! `summary` makes what is left of a run pruned; `idle` has the times without work, `waits` finds those waiting for people alone. `reader_pool` keeps readers open between pages.
//!
//! **Invariant:** a query reads in one connection and changes nothing.
//!
//! Start at `view`, then `runs`.

pub(crate) mod idle;
pub(crate) mod leases;
pub(crate) mod reader_pool;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod sources;
pub(crate) mod summary;
pub(crate) mod tasks;
pub(crate) mod view;
pub(crate) mod waits;
