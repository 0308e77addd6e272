use regex::Regex;

use crate::failures::retry::FailureClass;
use crate::summary::SummaryBuilder;

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

/// The rules for the class of a failure, and so for its retry.
pub(crate) fn show_failure_rules(rules: &[FailureClassRule], sheet: &mut SummaryBuilder) {
    for (at, rule) in rules.iter().enumerate() {
        let FailureClassRule { exit_code, signal, output, class } = rule;
        let mut ifs = Vec::new();
        if !exit_code.is_empty() {
            ifs.push(format!("exit code {}", serde_json::json!(exit_code)));
        }
        ifs.extend(signal.map(|signal| format!("signal {signal}")));
        ifs.extend(output.iter().map(|output| format!("output matching {}", output.as_str())));
        let text = format!("{} if {}", class.as_str(), ifs.join(" and "));
        let key = format!("classify[{}]", at + 1);
        lines!(sheet in Effort { plain (&key) = text });
    }
}
