//! A plan as a picture.
//!
//! A [`PlanSketch`] is a plan reduced to the content of a picture: boxes, arrows, and the groups of
//! boxes. The formats differ only in their notation.
//! [`rounds_plot`] draws the controller of a run.

mod cells;
mod costs;
mod critical;
mod dot;
mod fold;
mod mermaid;
mod plot;
mod sketch;
mod strip;
mod svg;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod trend;
mod week;

pub use cells::{StripCell, state_strip};
pub use costs::{CostBar, MAX_COST_BARS, cost_svg};
pub use critical::critical_path;
pub use dot::dot;
pub use fold::{FoldedSketch, fold};
pub use mermaid::mermaid;
pub use plot::rounds_plot;
pub use sketch::{PlanSketch, SketchNode, SketchZone};
pub use strip::{StripColumn, day_strip};
pub use svg::{page_svg, svg};
pub use timeline::{
    BarKind, CheckMark, MAX_TIMELINE_ROWS, RunTimeline, TimelineBar, TimelineChoice, TimelineRange,
    TimelineRow, TimelineZoom, choose_rows, timeline_html,
};
pub use trend::{TrendDot, TrendWeek, rate_svg, trend_svg};
pub use week::{WEEK_HOURS, WeekMark, WeekRow, week_svg};
