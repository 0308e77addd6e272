//! The judgement of models on a check that is only plausible: k of N votes for each criterion, with quoted evidence.
//!
//! The judge sees the criteria and the output of the check's command, and nothing the worker says of itself. The
//! engine makes the calls; here are the question, the parser of a vote and the count.
//!
//! **Invariant:** what is missing is no vote for a pass: a failed call, a vote of another form, a criterion left out or
//! found unclear, a quote that is not in the evidence.

mod ballot;
mod vote;

pub use ballot::{Ballot, FailedVote, JudgedCriterion, JudgedText, Judgement, judge_question};
pub use vote::{CriterionVote, QuoteMistake, VoteMistake, read_vote};
