use regex::Regex;

use super::FailureClass;

/// A rule for the class of a failure. It applies if all its conditions do; a rule without
/// conditions never applies.
#[derive(Clone, Debug)]
pub struct FailureClassRule {
    /// The process exited with one of these codes; empty: no condition.
    pub exit_code: Vec<i32>,
    /// It was killed by this signal.
    pub signal: Option<i32>,
    /// Some part of the end of its output matches.
    pub output: Option<Regex>,
    /// The resulting class of the failure.
    pub class: FailureClass,
}
