use regex::Regex;

use super::Class;

/// Decides the class of a failure. It holds if every condition that it has does; one without
/// conditions never holds.
#[derive(Clone, Debug)]
pub struct ClassRule {
    /// The process ended by itself with one of these codes; empty: no condition.
    pub exit_code: Vec<i32>,
    /// It was ended by this signal.
    pub signal: Option<i32>,
    /// Some part of the end of what it printed matches.
    pub output: Option<Regex>,
    /// What the failure then is.
    pub class: Class,
}
