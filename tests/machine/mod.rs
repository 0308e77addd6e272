//! The core, driven by a seeded world.

mod laws;
mod world;
