//! Where a person enters: the `totals` that each page has in its frame, the home `page`, and the `search` over all pages.

mod page;
mod search;
mod totals;

pub use page::{DayStrip, HomeView, RunProgress, UpcomingGoal, home_view};
pub use search::{SearchGroup, SearchHit, SearchView, search_view};
pub use totals::{WorkspaceTotals, workspace_totals};
