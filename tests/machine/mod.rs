//! The core, driven by a seeded world.

mod going_on;
mod laws;
mod more_rules;
mod play;
mod repeats;
mod rules;
mod traces;
mod world;
