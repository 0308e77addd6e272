//! The store as a whole, on real files.

mod fixture;
mod lease;
mod log;
mod maintenance;
mod tables;
mod views;
