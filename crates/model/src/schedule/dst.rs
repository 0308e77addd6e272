use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    listed
    /// The policy for a time a clock change skips.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DstGapPolicy {
        /// The time is not due on that day.
        Skip = "skip",
        /// The time is due at the instant of the clock change; once, however many times were skipped.
        #[default]
        RunAtTransition = "run_at_transition",
    }
}

keywords! {
    listed
    /// The policy for a time that occurs twice because clocks went back.
    ///
    /// The policy applies to times of the day (`30 1 * * *`). An interval (`*/10 * * * *`, see
    /// [`super::CronExpression::is_interval`]) runs through both passes under every policy: otherwise it would
    /// pause for as long as the clock went back.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DstOverlapPolicy {
        /// The first pass.
        #[default]
        First = "first",
        /// The last pass.
        Last = "last",
        /// Both passes.
        Both = "both",
    }
}

/// The policies for days with a clock change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DstPolicy {
    /// The policy for a time that does not exist.
    pub gap: DstGapPolicy,
    /// The policy for a time that exists twice.
    pub overlap: DstOverlapPolicy,
}

view! { dst: DstPolicy in Graph {
    plain gap = match gap {
        DstGapPolicy::Skip => "skip: a time that the clock change skips is dropped",
        DstGapPolicy::RunAtTransition => {
            "run_at_transition: a time that the clock change skips runs at the transition"
        }
    }; *gap == DstGapPolicy::default(),
    plain overlap = match overlap {
        DstOverlapPolicy::First => "first: a repeated time runs at its first occurrence",
        DstOverlapPolicy::Last => "last: a repeated time runs at its last occurrence",
        DstOverlapPolicy::Both => "both: a repeated time runs twice",
    }; *overlap == DstOverlapPolicy::default(),
} }

/// The effect of a clock change on a scheduled time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstNote {
    /// A replacement for a time that was skipped, not due otherwise.
    AtTransition,
    /// The first of two passes of its clock time.
    FirstPass,
    /// The second of two passes of its clock time.
    SecondPass,
}
