use serde::{Deserialize, Serialize};
use wf_base::keywords;

use crate::expr::Template;

keywords! {
    listed
    /// The kind of work a plan is (Silas 5.2, 7.2). It is checked, and decides nothing at run time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WorkItemType {
        /// It does its work itself.
        Task = "task",
        /// It has children: plans its steps use or start.
        Project = "project",
        /// It has a schedule; then its file is a goal.
        Goal = "goal",
        /// It works without people.
        System = "system",
    }
}

keywords! {
    listed
    /// The way the agents of a plan deal with people (Silas 0.5.7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum InteractionMode {
        /// They take the best default and name the alternatives.
        DefaultAndOffer = "default_and_offer",
        /// They act inside what is approved, and report.
        ActAndReport = "act_and_report",
        /// People confirm where the plan asks for it, and nowhere else.
        ConfirmOnlyWhenRequired = "confirm_only_when_required",
    }
}

keywords! {
    listed
    /// The kind of interaction a turn is (Silas 0.5.7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum InteractionRegister {
        /// A person looks for possibilities.
        Exploration = "exploration",
        /// A person wants something done.
        Execution = "execution",
        /// A person judges something.
        Review = "review",
        /// A person wants to know how things are.
        Status = "status",
    }
}

/// The signals of a turn, from which the mode of an agent is resolved. Steps before it decided them.
#[derive(Clone, Debug, Serialize)]
pub struct AgentInteraction {
    /// The register: a word of [`InteractionRegister`].
    pub register: Template,
    /// The mode the agent said which routed the turn, if it said one; else empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Template>,
    /// The mode the planner said, if it said one; else empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner: Option<Template>,
}

view! { interaction: AgentInteraction in Effort {
    plain register,
    plain proxy,
    plain planner,
} }

impl AgentInteraction {
    /// Returns the signals, each with its key.
    pub fn templates(&self) -> impl Iterator<Item = (&'static str, &Template)> {
        let modes = [("proxy", &self.proxy), ("planner", &self.planner)];
        let modes = modes.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        std::iter::once(("register", &self.register)).chain(modes)
    }
}

impl InteractionMode {
    /// True if agents ask people by their own decision.
    pub fn asks(self) -> bool {
        self == Self::DefaultAndOffer
    }

    /// Returns the sentences an agent is told.
    pub fn directive(self) -> &'static str {
        match self {
            Self::DefaultAndOffer => {
                "If several ways are good, take the best one without asking, go on, and name the others in your answer. \
                 Ask only if the missing decision changes the result."
            }
            Self::ActAndReport => {
                "Do not ask: act inside what you are allowed to do, and report in your answer what you did and decided."
            }
            Self::ConfirmOnlyWhenRequired => {
                "Do not ask by yourself: where a confirmation is required, it is requested for you. What was refused \
                 stays undone; report it in your answer."
            }
        }
    }
}
