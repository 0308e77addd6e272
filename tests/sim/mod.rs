//! A simulation: the pure core, driven by a seeded world that does its worst.
//!
//! From one number follow a plan, what becomes of each attempt, and a world of clocks,
//! processes, locks, logs and engines that die at any instant. After everything that happens the
//! [`laws`] are asked. A run of the simulation that breaks one says so with its number, and the
//! same number breaks it again: `cargo bench --bench simulate -- --seed N --trace`.
//!
//! The tests run some thousands of seeds; the bench as many as are wanted.

mod acts;
mod again;
mod agents;
mod anew;
mod budget;
mod calls;
mod children;
mod compactions;
mod coverage;
pub mod dice;
mod engine;
mod evidence;
mod exchanges;
mod fates;
pub mod faults;
mod gates;
mod generated;
mod guidance;
mod judges;
pub mod laws;
mod ledger;
pub mod locks;
mod look;
mod merges;
mod plain;
mod planner;
mod plans;
mod process;
mod programs;
mod rooms;
mod rulings;
mod shrink;
mod stored;
mod tried;
mod trouble;
mod units;
mod world;

pub use coverage::Coverage;
pub use faults::Faults;
pub use laws::LAWS;
pub use shrink::smaller;
pub use world::{Options, simulate};
