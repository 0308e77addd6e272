//! The resume of runs nobody works on: those whose requests are answered or over, and those whose process died at work.
//!
//! A run that only waits for people has no process. [`RunWait`] finds out, from its log and the signed answers, if it can go
//! on; [`find_due_runs`] does so for all runs, for the daemon; [`resume_in_background`] starts what `wf resume` does in a
//! process of its own, for a page.
//!
//! **Invariant:** any number of processes may try. The lease of a run gives it to one of them, and the others leave it.

mod answered;
mod background;
mod due;
mod next;
mod wait;

pub use answered::{AnswerRecord, answer_and_resume};
pub use background::{Continuation, resume_in_background};
pub use due::{DueRun, find_due_runs};
pub use next::{NextResume, next_resume};
pub use wait::{IdleRun, RunWait, await_run};
