//! Rules about declared names: each is unique, is used, and has a default that fits.
//!
//! **Invariant:** nothing is reported as unused where another mistake may hide a use.
//!
//! Start at `duplicates`.

pub(super) mod defaults;
pub(super) mod duplicates;
pub(super) mod unused;
