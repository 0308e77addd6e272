//! The checks of attempts and plans: their verdicts on the workspace as it was when the run began and on what is declared.
//!
//! They decide nothing about the run: the machine rules on the verdicts. **Invariant:** a check that could not be run,
//! or whose files were touched meanwhile, passes nothing.
//!
//! Start at `judging`; `before_work` are the checks preceding the work, `reverify` those of an ended run.

pub(crate) mod before_work;
mod judge_votes;
pub(crate) mod judging;
pub(crate) mod reverify;
