//! The output of attempts for readers: as it comes, as the last lines, from any line on, and what is found in it.
//!
//! `feed` is for whoever follows. The others read by line: `index` knows where every 1,024th line begins, `lines` reads from there,
//! `ansi` divides a line by its colours, and `search` looks through all of it. `merged` is the output of several attempts in the order
//! of arrival, and `run_output` the output of a run. `tail` is the end of a log on the page of its step, and `page`
//! a page with all of it.
//!
//! **Invariant:** memory is bounded however long a log or a line is, and no control character of a log is shown.

mod ansi;
mod feed;
mod index;
mod lines;
mod merged;
mod page;
mod run_output;
mod search;
mod tail;
#[cfg(test)]
mod tests;

pub use ansi::LinePart;
use ansi::LogStyle;
pub use feed::{LogFeed, LogPart, LogStart, log_feed};
pub(crate) use index::LogIndexCache;
pub use lines::{LogLine, LogLines, LogOutput, log_output};
pub use merged::RunLogLine;
pub use page::{FoundLines, LineTimes, OutputQuery, OutputView, output_view};
pub(super) use run_output::run_output_view;
pub use run_output::{RunLogLines, RunOutputQuery, RunOutputView, run_output_lines, search_run_output};
pub use search::{LineHit, LogHits, LogPattern};
pub use tail::LogTailView;
pub(super) use tail::log_tail;
