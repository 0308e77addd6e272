//! The context manager (Silas 5.7): the part of a long conversation a model still gets.
//!
//! It is pure, and it works on sizes alone, which events have: the machine decides on a [`ContextCut`] and records it
//! with the call, and the engine applies what was recorded. So a reserve and a request agree, also after a resume.
//!
//! The zones of Silas, as far as an agent has them: *system* is what the first request says (instructions, tools,
//! schema and briefing) and is never cut; *workspace* is the results of tools, which are masked first; *chronicle* is
//! the turns, which are omitted if that is not enough. There is no *memory* zone. A reply that calls no tool ends the
//! work, so there are no acknowledgements to drop; there are no subscriptions and no profiles either.
//!
//! **A cut changes seldom.** Providers cache the beginning of a conversation, so each change is billed as new input.
//! Nothing is cut before a request would take four fifths of the window, and then as much as frees half of it, for many
//! turns: every old result at once and, if that is not enough, turns. Silas masks with each turn, which would be billed
//! with each turn.
//!
//! **Invariant:** a cut only grows. **Invariant:** the last turn, which the model has not seen, is complete.
//! **Invariant:** a tool call and its result are both sent, or neither.

mod apply;
mod compaction;
mod compactor_question;
mod cut;
mod size;

pub use compaction::{ANSWER_TOKENS, GroupChoice, GroupChoiceMistake, QUESTION_TOKENS};
pub use compactor_question::compactor_question;
pub use cut::{ContextCut, ContextLimits, TurnRange};
pub(crate) use size::{ConversationSize, TokenScale, TurnSize};

#[cfg(test)]
mod tests;
