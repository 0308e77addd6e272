use crate::model::Exhausted;
use crate::spec::decode::{record, words};

record! {
    /// How often `inspect` and `test` may send the work back.
    pub struct Loops as "loops" {
        /// How many attempts may follow because a check of the same phase did not hold: 3 if absent.
        optional max: u32,
        /// What follows when there is none left: `fail` if absent.
        default on_exhausted: Exhausted,
    }
}

words!(Exhausted {
    "fail" => Self::Fail,
    "ask" => Self::Ask,
});
