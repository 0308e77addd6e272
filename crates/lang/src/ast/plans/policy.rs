use crate::ast::parts::sound;
use crate::decode::{DurationText, MappingFields, SpecDecoder, record, words};
use wf_base::source::Spanned;
use wf_model::OnStepFailure;

record! {
    /// The concurrency of steps and the effect of a failure.
    pub struct PolicySpec as "a policy" {
        /// The maximum number of concurrent attempts: the number of processors if absent.
        optional max_parallel: Spanned<u32>,
        /// The effect of a step's failure on the others: `stop` if absent.
        optional on_failure: OnStepFailure,
        /// The time between asking a process to exit and killing it.
        optional grace: DurationText,
    }
    finish some_parallel;
}

words!(OnStepFailure);

fn some_parallel(policy: &mut PolicySpec, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::at_least_one(policy.max_parallel.as_ref(), decoder);
}
