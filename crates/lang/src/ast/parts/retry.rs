//! The retries of failures, and the rules for their classes.

use std::ops::RangeInclusive;

use super::foreign;
use crate::decode::{
    DurationText, LowerSpec, MappingFields, OneOrMany, RegexPattern, SpecDecoder, record, words,
};
use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    source::Spanned,
};
use wf_model::{FailureClass, FailureClassRule};

record! {
    /// The retries after a failed attempt.
    pub struct RetrySpec as "a retry" {
        /// The maximum number of attempts after the first.
        required max: u32,
        /// The wait before the second attempt.
        optional backoff: DurationText,
        /// The factor by which each wait exceeds the one before; at least 1.
        optional factor: Spanned<f64>,
        /// The longest wait.
        optional max_delay: DurationText,
        /// The part of a wait that varies, from 0 to 1.
        optional jitter: Spanned<f64>,
        /// The failures that are retried: `logical` and `environmental` if absent.
        optional on: Vec<FailureClass>,
    }
    foreign foreign::RETRY;
    finish check_numbers;
    completes wf_model::RetryPolicy;
}

fn check_numbers(retry: &mut RetrySpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if let Some(factor) = retry.factor.as_ref().filter(|factor| factor.value < 1.0) {
        let message = "the factor must be at least 1";
        decoder.emit(Diagnostic::new(Code::ValueWrong, factor.span, message));
    }
    let jitter = retry.jitter.as_ref();
    if let Some(jitter) = jitter.filter(|jitter| !(0.0..=1.0).contains(&jitter.value)) {
        let message = "the jitter must be between 0 and 1";
        decoder.emit(Diagnostic::new(Code::ValueWrong, jitter.span, message));
    }
}

words!(FailureClass);

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

impl LowerSpec for ClassifyRuleSpec {
    type Model = FailureClassRule;

    fn lower(&self) -> FailureClassRule {
        FailureClassRule {
            exit_code: self.exit_code.lower(),
            signal: self.signal.lower(),
            output: self.output.lower(),
            class: match self.class {
                AssignedFailureClass::Logical => FailureClass::Logical,
                AssignedFailureClass::Environmental => FailureClass::Environmental,
            },
        }
    }
}

/// Checks that a rule has a condition, and it can be met.
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

fn within(number: &Spanned<i32>, range: RangeInclusive<i32>, noun: &str, decoder: &mut SpecDecoder<'_>) {
    if !range.contains(&number.value) {
        let message = format!("{noun} must be between {} and {}", range.start(), range.end());
        decoder.emit(Diagnostic::new(Code::ValueWrong, number.span, message));
    }
}
