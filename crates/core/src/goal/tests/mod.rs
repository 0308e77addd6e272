//! The scheduling of slots: the rules one by one, known bugs of other programs by name, and laws
//! that always hold.
//!
//! All tests use [`world::World`]: a daemon without a machine, whose clock tests set.

mod broken;
mod driver;
mod dst;
mod every;
mod laws;
mod rules;
mod torture;
mod world;
