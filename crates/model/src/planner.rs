use std::time::Duration;
use wf_base::keywords;

use wf_base::name::Name;

/// A program or a model that is asked for an alternative when a plan has no other left (artoo v0.8, R2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    /// The one that is asked.
    pub source: PlannerSource,
    /// The maximum time it may take.
    pub timeout: Duration,
}

impl Planner {
    /// The role of the planner that agents ask, where a plan names none.
    pub const USUAL_ROLE: &'static str = "planner";
}

/// The program or the model that proposes alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannerSource {
    /// A program and its arguments, passed verbatim.
    Exec(Vec<String>),
    /// The model with a role.
    Role(Name),
}

keywords! {
    listed
    /// The reaction when another round is due and no declared alternative is left, or when the attempts of an agent
    /// keep failing (Silas 19.5.3, 5.2.1).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnStuck {
        /// The run ends, or the step fails.
        #[default]
        Abandon = "abandon",
        /// The planner is asked for an alternative, or for guidance.
        ConsultPlanner = "consult_planner",
        /// A planner is asked first, if there is one. When that and other rounds are used up, people are asked to guide
        /// the agent.
        Escalate = "escalate",
    }
}

impl OnStuck {
    /// True if a planner is asked to guide an agent of a plan with that planner: a program gives no guidance.
    pub fn guides(self, planner: Option<&Planner>) -> bool {
        match self {
            Self::ConsultPlanner => true,
            Self::Escalate => planner.is_some_and(|planner| matches!(planner.source, PlannerSource::Role(_))),
            Self::Abandon => false,
        }
    }
}
