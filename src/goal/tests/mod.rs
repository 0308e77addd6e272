//! What becomes of slots: the rules one by one, the bugs that other programs had by name, and laws
//! that hold whatever happens.
//!
//! All of it lives in [`world::World`]: a daemon without a machine, whose clock tests move.

mod dst;
mod every;
mod laws;
mod rules;
mod torture;
mod world;
