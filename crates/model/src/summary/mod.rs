//! Everything a plan or a goal says, for approvers: a [`SummaryLine`] for each key, with the risk of more of it.
//!
//! The lines of a record for approvers stand beside its declaration, as a table of its keys (`view`); the text of
//! a line beyond its key is a function there. [`of_plan`] walks through a plan with all it uses.
//!
//! **Invariant:** nothing of a record is left out: a field with no entry does not compile.
//! **Invariant:** the text of a key is its value, in full and as it is written.

#[macro_use]
mod view;

mod exact;
mod execution;
mod key_value;
mod line;
mod plans;
mod sheet;
mod spoken;

pub use key_value::{KeyLine, KeyValue};
pub use line::{RiskDirection, SummaryLine, SummaryLineKind};
pub use plans::{of_goal, of_plan};
pub use sheet::SummaryBuilder;

pub(crate) use exact::{argv_text, exact_bytes, exact_duration, shell_words, time_limit, weight};
pub(crate) use execution::{show_alternative, show_execution};
pub(crate) use plans::{show_about, show_child_plans, show_plan_outputs, show_secrets, show_use};
pub(crate) use spoken::cron_in_words;
pub(crate) use view::RecordView;
