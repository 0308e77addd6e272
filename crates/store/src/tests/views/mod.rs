//! Tests of the queries about runs.

mod by_plan;
mod idle;
mod live;
mod page;
mod reader_pool;
