//! Declarations and rules several kinds of files share: parameters, outputs, secrets, permissions, limits, retries.
//!
//! **Invariant:** nothing here knows a step or a plan.
//!
//! Start at `param`. `sound` has the shared rules, `foreign` the keys of other tools for all records.

mod budget;
pub(super) mod foreign;
mod param;
mod retry;
mod sandbox;
mod secret;
mod shell;
pub(super) mod sound;

pub use budget::BudgetSpec;
pub use param::{ParamSpec, PlanOutputSpec, StepOutputSpec};
pub use retry::{AssignedFailureClass, ClassifyRuleSpec, RetrySpec};
pub use sandbox::{AllowSpec, CheckAllowSpec, LimitsSpec};
pub use secret::{SecretSourceKind, SecretSpec};
pub use shell::{KnownShell, ShellSpec};
pub use sound::ApprovalNeedsSpec;
