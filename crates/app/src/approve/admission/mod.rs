//! The decision whether a run may start, or a started one go on: the approvals that there are, compared with what would
//! run.
//!
//! ```text
//! a plan a person starts ──▶ entry        a run of a goal ──▶ standing        a resumed run ──▶ resumed
//!                                   └──▶ refused: the reason, with the differing lines ◀──┘
//! ```
//!
//! It signs nothing except for the owner of a run. **Invariant:** what is compared is what runs: files are pinned first.
//!
//! Start at `entry`.

pub(super) mod entry;
pub(super) mod refused;
pub(super) mod resumed;
pub(super) mod standing;
