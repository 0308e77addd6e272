//! The `wf` program.
fn main() {}
