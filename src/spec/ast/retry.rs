use super::foreign;
use crate::diag::{Code, Diagnostic};
use crate::model::Class;
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, Fields, Period, record, word};
use crate::spec::yaml::Node;

record! {
    /// When a failed attempt is followed by another.
    pub struct Retry as "a retry" {
        /// How many attempts may follow the first.
        required max: u32,
        /// The wait before the second attempt.
        optional backoff: Period,
        /// By how much each wait exceeds the one before; at least 1.
        optional factor: Spanned<f64>,
        /// The longest wait.
        optional max_delay: Period,
        /// The part of a wait that varies, from 0 to 1.
        optional jitter: Spanned<f64>,
        /// The failures that are retried: `logical` and `environmental` if absent.
        optional on: Vec<Class>,
    }
    foreign foreign::RETRY;
    finish in_bounds;
}

fn in_bounds(retry: &mut Retry, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if let Some(factor) = retry.factor.as_ref().filter(|factor| factor.value < 1.0) {
        let message = "the factor must be at least 1";
        decoder.note(Diagnostic::new(Code::ValueWrong, factor.span, message));
    }
    let jitter = retry.jitter.as_ref();
    if let Some(jitter) = jitter.filter(|jitter| !(0.0..=1.0).contains(&jitter.value)) {
        let message = "the jitter must be from 0 to 1";
        decoder.note(Diagnostic::new(Code::ValueWrong, jitter.span, message));
    }
}

impl Decode for Class {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let words = [
            ("logical", Self::Logical),
            ("environmental", Self::Environmental),
            ("interrupted", Self::Interrupted),
        ];
        word(node, &words, &[], decoder)
    }
}
