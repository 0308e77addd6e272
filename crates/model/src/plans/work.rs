use std::{sync::Arc, time::Duration};

use crate::{
    agents::interaction::AgentInteraction,
    checks::{
        approve::{ApprovalStep, show_approval},
        check::{CheckProbe, show_argv},
    },
    expr::Template,
    plans::{agent::AgentWork, generated::GeneratedPlan, plan::Plan},
    programs::{script::ShellScript, skill::SkillCall},
    summary::{RecordView, SummaryBuilder, exact_duration, show_use},
};
use serde::Serialize;
use wf_base::{name::Name, time::Moment};

/// The work a step executes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWork {
    /// A script, passed verbatim to a shell.
    Run(ShellScript),
    /// A program and its arguments, without a shell.
    Exec(Vec<Template>),
    /// A script of a skill, in the sandbox.
    Skill(Box<SkillCall>),
    /// Work a model does with tools.
    Agent(Box<AgentWork>),
    /// An HTTP request.
    Http(Box<HttpCall>),
    /// Another plan, as a nested run.
    Uses(Box<NestedPlan>),
    /// A plan the run makes, as a nested run.
    Generated(Box<GeneratedPlan>),
    /// Only waits for time to pass or for a file to appear.
    Wait(WaitCondition),
    /// A decision made by approvers.
    Approve(Box<ApprovalStep>),
}

impl RecordView for StepWork {
    fn view(&self, summary: &mut SummaryBuilder) {
        match self {
            Self::Run(own) => own.view(summary),
            Self::Exec(own) => show_argv(own, summary),
            Self::Skill(call) => summary.below("skill", |summary| call.view(summary)),
            Self::Agent(own) => summary.below("agent", |summary| own.view(summary)),
            Self::Http(request) => summary.below("http", |summary| request.view(summary)),
            Self::Uses(nested) => show_use(nested, summary),
            Self::Generated(made) => made.view(summary),
            Self::Wait(what) => summary.below("wait", |summary| what.view(summary)),
            Self::Approve(decision) => show_approval(decision, summary),
        }
    }
}

impl StepWork {
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Run(_) | Self::Wait(WaitCondition::For(_) | WaitCondition::Until(_)) => Vec::new(),
            Self::Exec(words) => words.iter().collect(),
            Self::Agent(agent) => {
                let signals = agent.interaction.iter().flat_map(AgentInteraction::templates);
                let values = agent.with.iter().map(|(_, value)| value).chain(&agent.recall);
                values.chain(signals.map(|(_, value)| value)).collect()
            }
            Self::Skill(call) => call.templates().collect(),
            Self::Http(request) => {
                let headers = request.headers.iter().map(|(_, value)| value);
                [&request.url].into_iter().chain(headers).chain(&request.body).collect()
            }
            Self::Uses(nested) => nested.with.iter().map(|(_, value)| value).collect(),
            Self::Generated(made) => {
                made.text.iter().chain(made.with.iter().map(|(_, value)| value)).collect()
            }
            Self::Wait(WaitCondition::File(path)) => vec![path],
            Self::Approve(decision) => [&decision.message].into_iter().chain(decision.covered()).collect(),
        }
    }

    /// Returns what is executed, as the probe of a check executes it; `None` if the work is neither a script nor a
    /// program.
    pub fn probe(&self) -> Option<CheckProbe> {
        match self {
            Self::Run(script) => Some(CheckProbe::Run(script.clone())),
            Self::Exec(words) => Some(CheckProbe::Exec(words.clone())),
            Self::Skill(_)
            | Self::Agent(_)
            | Self::Http(_)
            | Self::Uses(_)
            | Self::Generated(_)
            | Self::Wait(_)
            | Self::Approve(_) => None,
        }
    }

    /// Returns the plans the work uses, or may start.
    pub fn plans_used(&self) -> Vec<&Arc<Plan>> {
        match self {
            Self::Uses(uses) => vec![&uses.plan],
            Self::Agent(agent) => {
                let dispatch = agent.dispatch.iter();
                dispatch.flat_map(|dispatch| &dispatch.plans).map(|child| &child.plan).collect()
            }
            Self::Generated(made) => made.envelope.plans.iter().map(|child| &child.plan).collect(),
            _ => Vec::new(),
        }
    }
}

/// An HTTP request and the response it must get.
#[derive(Clone, Debug, Serialize)]
pub struct HttpCall {
    /// `GET`, `POST` …
    pub method: String,
    /// The URL of the request.
    pub url: Template,
    /// Headers in order.
    pub headers: Vec<(String, Template)>,
    /// The body, if one is sent.
    pub body: Option<Template>,
    /// Accepted status codes; empty: any from 200 to 299.
    pub expect: Vec<u16>,
    /// Outputs by the JSON path of their value in the response body.
    pub outputs: Vec<(Name, String)>,
}

view! { request: HttpCall in Work {
    plain method,
    plain url,
    plain headers,
    plain body,
    plain outputs,
    plain expect in Proof as "expect.status" =
        if expect.is_empty() { "200 to 299".to_owned() } else { serde_json::json!(expect).to_string() },
} }

/// A nested plan.
#[derive(Clone, Debug, Serialize)]
pub struct NestedPlan {
    /// The plan, loaded with the one that uses it.
    pub plan: Arc<Plan>,
    /// The path it was loaded from, relative to the workspace.
    pub path: String,
    /// Its parameters.
    pub with: Vec<(Name, Template)>,
}

/// The condition a step waits for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitCondition {
    For(Duration),
    Until(Moment),
    /// The existence of a file, relative to the workspace.
    File(Template),
}

impl RecordView for WaitCondition {
    fn view(&self, summary: &mut SummaryBuilder) {
        let (key, text) = match self {
            Self::For(time) => ("duration", exact_duration(*time)),
            Self::Until(moment) => ("until", moment.to_string()),
            Self::File(path) => ("file", path.source().to_owned()),
        };
        lines!(summary in Work { plain (key) = text });
    }
}
