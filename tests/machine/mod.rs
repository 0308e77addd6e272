//! The core, driven by a seeded world.

mod laws;
mod rules;
mod traces;
mod world;
