//! The entrance of a workspace: its home `page`, the `totals` in the frame of each page, and the `search` over all pages. `opening` says
//! whether there is anything to show.
//!
//! Start at `page`: it says what needs people and what is wrong, from the same rows as the lists of runs and goals.

mod opening;
mod page;
mod search;
mod totals;

pub use opening::{require_folder, require_workspace};
pub use page::{DayStrip, HomeView, RunProgress, UpcomingGoal, home_view};
pub use search::{SearchGroup, SearchHit, SearchView, search_view};
pub use totals::{WorkspaceTotals, workspace_totals};
