//! The conversation of an agent with its model in one attempt, for a page: what it was told, its turns with their tool calls,
//! and what it cost.
//!
//! The texts are those of `wf logs --calls`, with secrets masked as they were stored. A conversation may have thousands of
//! turns, so a page has some of them, and of a long text its beginning; what is left out is said.
//!
//! **Invariant:** what a page does not show is not read, apart from the replies that write files, up to a limit.
//!
//! Start at `page`; `turn` has a turn, `tool` a call in it, and `totals` what stands beside them.

mod page;
mod text;
mod tool;
mod totals;
mod turn;

pub use page::{ExchangeFilter, ExchangeQuery, ExchangeView, exchange_view};
pub use text::{BriefedTool, ExchangeBriefing, ExchangeText};
pub use tool::{ExchangeApproval, ExchangeGate, ExchangeTool, ToolCallState};
pub use totals::{BudgetShare, ContextUse, ExchangeTotals, WrittenFile, WrittenFiles};
pub use turn::{ExchangeTurn, TurnNote, TurnNoteKind, TurnState};
