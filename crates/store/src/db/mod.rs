//! The database: its schema, the connections to it, and the one thread writing.
//!
//! ```text
//! Store ──▶ queue ──▶ writer: one transaction for all jobs that wait ──▶ mark ──▶ ticket: the answer
//! ```
//!
//! `connect` opens connections; `migrate` and `statements` have the schema, and `migrate` copies the database before a change.
//! `store` and `reader` are what other rooms extend: writes by `impl Store`, queries by `impl StoreReader`. `fence` and
//! `held_leases` keep the leases of runs this store writes.
//!
//! **Invariant:** a job gets its answer once its transaction is durable, and no earlier.
//! **Invariant:** only `connect` opens the file of the database.
//!
//! Start at `store`, then `writer`.

pub(crate) mod connect;
pub(crate) mod fence;
pub(crate) mod held_leases;
pub(crate) mod migrate;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod statements;
pub(crate) mod store;
pub(crate) mod ticket;
pub(crate) mod writer;
