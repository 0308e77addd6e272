//! The output of attempts for readers: as it comes, as the last lines, from any line on, and what is found in it.
//!
//! `feed` is for whoever follows. The others read by line: `index` knows where every 1,024th line begins, `lines` reads from there,
//! `ansi` divides a line by its colours, and `search` looks through all of it. `tail` is the end of a log on the page of its step, and `page`
//! a page with all of it.
//!
//! **Invariant:** memory is bounded however long a log or a line is, and no control character of a log is shown.

mod ansi;
mod feed;
mod index;
mod lines;
mod page;
mod search;
mod tail;
#[cfg(test)]
mod tests;

pub use ansi::LinePart;
use ansi::LogStyle;
pub use feed::{LogFeed, LogPart, LogStart, log_feed};
pub(crate) use index::LogIndexCache;
pub use lines::{LogLine, LogLines, LogOutput, log_output};
pub use page::{FoundLines, LineTimes, OutputQuery, OutputView, output_view};
pub use search::{LineHit, LogHits, LogPattern};
pub use tail::LogTailView;
pub(super) use tail::log_tail;
