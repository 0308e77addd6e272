//! The plans of a workspace: the list of them, one with its runs, and the form that starts it.
//!
//! ```text
//! list ──▶ bars: the last runs as a picture
//! page: one plan as its file is now, with its problems, its picture and its runs
//! trend: how long its last runs took, and what they say of its steps
//! form ──▶ fields: one for each parameter, made of its schema · outlook: what a run will do
//! ```
//!
//! A plan is named by its id, which stays when its file moves, or else by its path.
//!
//! **Invariant:** a list reads the runs once, however many plans there are.
//!
//! Start at `list`.

mod bars;
mod fields;
mod form;
mod list;
mod outlook;
mod page;
mod trend;

pub use fields::{FieldKind, FieldOption, ParamField};
pub use form::{PlanForm, SentForm, plan_form, plan_page_of_run, refilled_form, sent_request};
pub use list::{PlanListing, plan_listings};
pub use outlook::RunOutlook;
pub(crate) use page::find_plan;
pub(super) use page::plan_page;
pub use page::{PlanProblem, PlanSource, PlanUse, PlanView, plan_source, plan_view};
pub(super) use trend::run_cost;
pub use trend::{PlanTrend, StepTrend, TrendRun, WeekTotal};
