//! Tests of the queries about runs.

mod idle;
mod page;
mod reader_pool;
