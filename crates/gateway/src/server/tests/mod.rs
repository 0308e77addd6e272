//! Tests of the server with a real client, and of its routes.

mod refusals;
mod served;
mod streams;
