//! Rules about the reads of expressions, and about texts with the look of reads.
//!
//! **Invariant:** a name is reported as missing only where no other mistake could have hidden its declaration.
//!
//! Start at `names`, also with the places where axes and secrets are available; `item_keys` has the keys of items,
//! `scripts` the texts without templates.

pub(super) mod item_keys;
pub(super) mod names;
pub(super) mod scripts;
