//! Rules about the reads of expressions, and about texts that look like reads.
//!
//! **Invariant:** a name is reported as missing only where no other mistake could have hidden its declaration.
//!
//! Start at `names`; `axes` and `secrets` have the places where a value is available, `item_keys` the keys of items, `literals` and `scripts` the texts
//! without templates.

pub(super) mod axes;
pub(super) mod item_keys;
pub(super) mod literals;
pub(super) mod names;
pub(super) mod scripts;
pub(super) mod secrets;
