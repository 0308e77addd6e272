//! Tests of the queries about runs.

mod by_plan;
mod idle;
mod page;
mod reader_pool;
