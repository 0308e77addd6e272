//! One binary for all integration tests.

mod hostile;
mod layers;
mod schemas;
mod spec;
