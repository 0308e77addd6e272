use std::ops::RangeInclusive;

use crate::diag::{Code, Diagnostic};
use crate::model::Class;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, OneOrMany, Pattern, record, words};

record! {
    /// What decides the class of a failure. All conditions that it has must hold.
    pub struct ClassRule as "a rule of `classify`" {
        /// The process ended by itself with this code, or with one of these.
        default exit_code: OneOrMany<Spanned<i32>>,
        /// It was ended by the signal of this number.
        optional signal: Spanned<i32>,
        /// Some part of the end of what it printed matches this regular expression.
        optional output: Pattern,
        /// What the failure is.
        required class: Blame,
    }
    finish has_condition;
}

/// The class that a rule gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame(pub Class);

words!(Blame {
    "logical" => Self(Class::Logical),
    "environmental" => Self(Class::Environmental),
});

/// A rule says when it holds, and can hold.
fn has_condition(rule: &mut ClassRule, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let conditions = ["exit_code", "signal", "output"];
    if !conditions.iter().any(|key| fields.has(key)) {
        let message = "this rule does not say when it holds";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.note(mistake.help("add `exit_code`, `signal` or `output`"));
    }
    if fields.has("exit_code") && fields.has("signal") {
        let message = "a process ends by itself or by a signal, so this rule never holds";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("signal"), message);
        decoder.note(mistake.help("write two rules"));
    }
    for code in &rule.exit_code.0 {
        within(code, 0..=255, "an exit code", decoder);
    }
    if let Some(signal) = &rule.signal {
        within(signal, 1..=64, "the number of a signal", decoder);
    }
}

fn within(number: &Spanned<i32>, all: RangeInclusive<i32>, what: &str, decoder: &mut Decoder<'_>) {
    if !all.contains(&number.value) {
        let message = format!("{what} is from {} to {}", all.start(), all.end());
        decoder.note(Diagnostic::new(Code::ValueWrong, number.span, message));
    }
}
