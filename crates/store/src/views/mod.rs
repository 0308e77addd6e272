//! The queries about runs, as reports and pages show them.
//!
//! `view` has the rows a caller gets, `rows` makes them of rows of tables, `runs` and `find` query them. `page` reads
//! parts of a large run, `summary` what is left of pruned ones; `idle` has the times without work and the processes left running. `reader_pool` keeps readers open between pages.
//!
//! **Invariant:** a query reads in one connection and changes nothing.
//!
//! Start at `view`, then `runs`.

pub(crate) mod find;
pub(crate) mod idle;
pub(crate) mod page;
pub(crate) mod reader_pool;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod summary;
pub(crate) mod view;
