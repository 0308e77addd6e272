//! One run, as all that works for it knows it: its plan and parameters, its steps and the values their templates read,
//! the files its results are made of, and the account its calls are paid from.
//!
//! **Invariant:** it starts nothing and decides nothing. What is known of a run after a crash follows from its events and
//! from its recorded configuration.
//!
//! Start at `context`, then `attempt_task` and `scope`; `declarations` and `evidence_record` say the
//! files of each task's evidence.

pub(crate) mod account;
pub(crate) mod attempt_task;
pub(crate) mod context;
pub(crate) mod declarations;
pub(crate) mod evidence_record;
pub(crate) mod recorded_config;
pub(crate) mod result_files;
pub(crate) mod scope;

pub(crate) use attempt_task::AttemptTask;
pub(crate) use context::RunContext;
