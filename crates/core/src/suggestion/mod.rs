//! Suggestions: what a run says that may be done next, and what a person does about it.
//!
//! ```text
//! outputs of a run ──▶ read ──▶ SuggestionOffer ──▶ admit ──▶ pending ──▶ accepted: a run of the plan
//!                      (at its   (of its end)      (recorded)        └──▶ dismissed
//!                       end)
//! ```
//!
//! A suggestion names one of the plans the plan of its run lists, so a model chooses among what an author
//! permitted. It starts nothing: a person does, as `wf run` would, and the plan asks for its own approvals.
//!
//! **Invariant:** at no time do more wait than the limits permit, and one starts at most one run.

mod admit;
mod read;
mod record;

pub use admit::{SuggestionDrop, admit};
pub use read::{SuggestionListMistake, SuggestionMistake, read_suggestions};
pub use record::{Suggestion, SuggestionOffer, SuggestionRecord, SuggestionRefusal, SuggestionState};
