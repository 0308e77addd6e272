//! A run in progress.
//!
//! A [`RunTracker`] folds events into [`RunNotification`]: notifications with their context. [`notification_text()`] turns them
//! into text. The observers differ in the destination of the text: [`PlainPrinter`] writes line after line,
//! [`LiveView`] keeps the running steps on view below, [`JsonEventWriter`] writes the events themselves,
//! [`GithubAnnotator`] adds annotations GitHub Actions shows beside the log.
//!
//! **Invariant:** the memory used is bounded by the work at once, not by the work so far.

mod actions;
mod answers;
mod board;
mod count;
mod ending;
mod json;
mod live;
mod news;
mod next;
mod output;
mod plain;
mod several;
mod tail;
mod tell;
mod under_way;

pub use actions::GithubAnnotator;
pub use board::RunTracker;
pub use count::TaskCount;
pub use json::{EVENT_VERSION, EventLine, JsonEventWriter};
pub use live::{LiveView, TerminalInfo};
pub use news::{RunEnding, RunNotification, TaskEnding};
pub use next::ResumeOptions;
pub use output::OutputLineBuffer;
pub use plain::PlainPrinter;
pub use several::CombinedObserver;
pub use tail::OutputTail;
pub use tell::{Verbosity, final_line, notification_text};
pub use under_way::DisplayedTask;
