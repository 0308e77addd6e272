use crate::diag::{Code, Diagnostic};
use crate::model::OnFailure;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, Period, record, words};

record! {
    /// How steps share the machine and what a failure does.
    pub struct Policy as "a policy" {
        /// How many attempts run at once: as many as there are processors if absent.
        optional max_parallel: Spanned<u32>,
        /// What the failure of a step does to the others: `stop` if absent.
        optional on_failure: OnFailure,
        /// The time between asking a process to end and killing it.
        optional grace: Period,
    }
    finish some_parallel;
}

words!(OnFailure {
    "stop" => Self::Stop,
    "cancel" => Self::Cancel,
    "continue" => Self::Continue,
});

fn some_parallel(policy: &mut Policy, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    at_least_one(policy.max_parallel.as_ref(), decoder);
}

/// Notes a limit of nothing at all.
pub(super) fn at_least_one(limit: Option<&Spanned<u32>>, decoder: &mut Decoder<'_>) {
    if let Some(limit) = limit.filter(|limit| limit.value == 0) {
        let message = "with 0 at once, nothing would ever run";
        decoder
            .note(Diagnostic::new(Code::ValueWrong, limit.span, message).help("write 1 or more"));
    }
}
