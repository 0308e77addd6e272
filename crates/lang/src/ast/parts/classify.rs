use std::ops::RangeInclusive;

use crate::decode::{MappingFields, OneOrMany, RegexPattern, SpecDecoder, record, words};
use wf_base::diag::{Code, Diagnostic};
use wf_base::keywords;
use wf_base::source::Spanned;
use wf_model::FailureClass;

record! {
    /// A rule for the class of a failure. All its conditions must be met.
    pub struct ClassifyRuleSpec as "a rule of `classify`" {
        /// The process ended by itself with this code, or with one of these.
        default exit_code: OneOrMany<Spanned<i32>>,
        /// The process was ended by the signal of this number.
        optional signal: Spanned<i32>,
        /// Some part of the end of its output matches this regular expression.
        optional output: RegexPattern,
        /// The class of the failure.
        required class: AssignedFailureClass,
    }
    finish has_condition;
}

keywords! {
    listed
    /// The class that a rule gives.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AssignedFailureClass {
        /// `logical`
        Logical = "logical",
        /// `environmental`
        Environmental = "environmental",
    }
}

words!(AssignedFailureClass);

impl From<AssignedFailureClass> for FailureClass {
    fn from(class: AssignedFailureClass) -> Self {
        match class {
            AssignedFailureClass::Logical => Self::Logical,
            AssignedFailureClass::Environmental => Self::Environmental,
        }
    }
}

/// Checks that a rule has a condition, and that it can be met.
fn has_condition(rule: &mut ClassifyRuleSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let conditions = ["exit_code", "signal", "output"];
    if !conditions.iter().any(|key| fields.has(key)) {
        let message = "this rule has no condition";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.emit(mistake.with_help("add `exit_code`, `signal` or `output`"));
    }
    if fields.has("exit_code") && fields.has("signal") {
        let message = "a process either exits with a code or is killed by a signal, so this rule \
                       never matches";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("signal"), message);
        decoder.emit(mistake.with_help("split it into two rules"));
    }
    for code in &rule.exit_code.0 {
        within(code, 0..=255, "an exit code", decoder);
    }
    if let Some(signal) = &rule.signal {
        within(signal, 1..=64, "a signal number", decoder);
    }
}

fn within(number: &Spanned<i32>, all: RangeInclusive<i32>, noun: &str, decoder: &mut SpecDecoder<'_>) {
    if !all.contains(&number.value) {
        let message = format!("{noun} must be between {} and {}", all.start(), all.end());
        decoder.emit(Diagnostic::new(Code::ValueWrong, number.span, message));
    }
}
