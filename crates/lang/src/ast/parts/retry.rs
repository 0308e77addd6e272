use super::foreign;
use crate::decode::{DurationText, MappingFields, SpecDecoder, record, words};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;
use wf_model::FailureClass;

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
    finish in_bounds;
}

fn in_bounds(retry: &mut RetrySpec, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
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
