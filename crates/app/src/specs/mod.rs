//! The plans and goals of a workspace: found, read, and checked against its configuration.
//!
//! ```text
//! collect: the files that can be checked ──▶ plans: by id ──▶ load: one of them, with all that it uses
//!                              the record of a run ──────────▶ load, as the run recorded it
//! ```
//!
//! It starts nothing. **Invariant:** a loaded plan has no diagnostic of an error.
//! **Invariant:** a recorded plan is read from the record alone, whatever its file says today.
//!
//! Start at `load`.

pub(crate) mod backend_names;
pub mod collect;
pub mod load;
pub mod plans;
