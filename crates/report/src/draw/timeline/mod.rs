//! A run over time as a picture for a page: a row for each step, with a bar for each stretch of time in its records.
//!
//! Nothing is guessed: a bar stands between two recorded instants, and a step without any has an empty row. What the
//! picture says by colour it also says by shape and in the title of each bar, since not everybody sees the colours.

mod axis;
mod bars;
mod choice;
mod picture;
mod range;
#[cfg(test)]
mod tests;

pub use choice::{MAX_TIMELINE_ROWS, TimelineChoice, choose_rows};
pub use picture::{BarKind, CheckMark, RunTimeline, TimelineBar, TimelineRange, TimelineRow, timeline_html};
pub use range::TimelineZoom;
