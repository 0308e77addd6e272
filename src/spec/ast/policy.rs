use super::sound;
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
    sound::at_least_one(policy.max_parallel.as_ref(), decoder);
}
