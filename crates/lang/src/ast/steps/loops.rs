use crate::decode::{record, words};
use wf_model::OnReworkExhausted;

record! {
    /// The limits for `inspect` and `test` to send the work back.
    pub struct LoopsSpec as "loops" {
        /// The maximum number of attempts after failed checks of the same phase: 3 if absent.
        optional max: u32,
        /// The reaction when none is left: `fail` if absent.
        default on_exhausted: OnReworkExhausted,
    }
}

words!(OnReworkExhausted);
