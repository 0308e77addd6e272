use std::time::Duration;
use wf_base::keywords;

use crate::{
    plans::plan::PlanParts,
    summary::{SummaryBuilder, shell_words},
};
use wf_base::{name::Name, time::format_duration};

/// A program or a model asked for an alternative when a plan has no other left (artoo v0.8, R2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    /// The one that is asked.
    pub source: PlannerSource,
    /// The maximum time it may take.
    pub timeout: Duration,
}

impl Planner {
    /// The role of the planner agents ask, where a plan names none.
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

/// The planner, which may add unreviewed alternatives. A planner, or a change of it, grants more.
pub(crate) fn show_planner(parts: &PlanParts, summary: &mut SummaryBuilder) {
    let (planner, on_stuck) = (&parts.planner, parts.on_stuck);
    if let Some(Planner { source, timeout }) = planner {
        let program = match source {
            PlannerSource::Exec(words) => shell_words(words),
            PlannerSource::Role(role) => format!("the model with the role `{role}`"),
        };
        let risk = format!("{program} adds alternatives to steps that no approver has reviewed");
        lines!(summary in Effort {
            grant "planner" in Reach = &vec![risk],
            plain "planner.timeout" = format_duration(*timeout),
        });
    }
    // With `escalate`, a planner is asked, too, and people come after it.
    let consults = planner.is_some() && on_stuck != OnStuck::Abandon;
    let level = f64::from(u8::from(consults));
    lines!(summary in Reach { most "on_stuck" = (on_stuck.as_str(), level); on_stuck == OnStuck::Abandon });
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

/// The help an agent gets after failed attempts. The guidance of a planner is text: it lets the step
/// reach no more.
pub(crate) fn guidance_text(on_stuck: OnStuck) -> Option<&'static str> {
    match on_stuck {
        OnStuck::Abandon => None,
        OnStuck::ConsultPlanner => {
            Some("after three failed attempts a planner guides the agent, for one attempt more")
        }
        OnStuck::Escalate => {
            Some("when nothing else is left, a person is asked, whose answer grants one attempt more")
        }
    }
}
