use std::time::Duration;
use wf_base::keywords;

/// A program that is asked for an alternative when a plan has no other left (artoo v0.8, R2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    /// The program and its arguments, passed verbatim.
    pub exec: Vec<String>,
    /// The maximum time it may take.
    pub timeout: Duration,
}

keywords! {
    listed
    /// The reaction when another round is due and no declared alternative is left (Silas 19.5.3).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnStuck {
        /// The run ends.
        #[default]
        Abandon = "abandon",
        /// The planner is asked for an alternative.
        ConsultPlanner = "consult_planner",
    }
}
