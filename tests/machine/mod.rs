//! The core, driven by a seeded world.

mod laws;
mod more_rules;
mod play;
mod rules;
mod traces;
mod world;
