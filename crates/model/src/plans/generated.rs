use serde::Serialize;
use wf_base::{keywords, name::Name};

use crate::{
    costs::budget::RunBudget,
    expr::Template,
    plans::agent::{AgentTool, ChildPlan},
    programs::{
        fetch_host::FetchHost,
        sandbox::{SandboxPermissions, show_permissions},
    },
    summary::{SummaryBuilder, show_child_plans},
};

/// A plan the run itself makes: a text that is known only in the run, inside an envelope the approved plan
/// declares.
#[derive(Clone, Debug, Serialize)]
pub struct GeneratedPlan {
    /// The text: a workflow file; `None`: the planner of the rounds may write one, and until then there is nothing to
    /// do.
    pub text: Option<Template>,
    /// The path the text has for messages, relative to the workspace; paths in it are relative to its folder.
    pub path: String,
    /// Its parameters.
    pub with: Vec<(Name, Template)>,
    /// The limits of what it may be.
    pub envelope: PlanEnvelope,
}

// The text of a plan that the run makes, and everything that it may be. Its path follows from the path of the
// plan and the id of the step.
view! { made: GeneratedPlan in Work {
    plain text as "uses.text" =
        text.as_ref().map_or("what the planner may write; until then it does nothing", Template::source),
    plain with in Data,
    below envelope as "uses.within",
} aside path }

/// The limits of a generated plan. Anything not named is refused.
#[derive(Clone, Debug, Serialize)]
pub struct PlanEnvelope {
    /// The permissions its steps may have in their sandboxes.
    pub allow: SandboxPermissions,
    /// The executors its steps may have, each once.
    pub executors: Vec<EnvelopeExecutor>,
    /// The plans it may use or dispatch, approved with the plan declaring the envelope.
    pub plans: Vec<ChildPlan>,
    /// The roles its agents and judges may have.
    pub roles: Vec<Name>,
    /// The tools its agents may have.
    pub tools: Vec<AgentTool>,
    /// The MCP servers its agents may use.
    pub mcp: Vec<Name>,
    /// The hosts from which its agents may fetch pages.
    pub fetch: Vec<FetchHost>,
    /// The maximum number of its steps.
    pub max_steps: u32,
    /// The limits on its resources, besides those it has itself.
    pub budget: Option<RunBudget>,
    /// The steps needing a check of their own.
    #[serde(skip_serializing_if = "EnvelopeChecks::is_default")]
    pub checks: EnvelopeChecks,
    /// True if its text may be from outside.
    pub untrusted: bool,
}

view! { envelope: PlanEnvelope in Reach {
    most max_steps = (generated_text(*max_steps), f64::from(*max_steps)),
    grant executors,
    own plans = show_child_plans,
    grant roles,
    grant tools,
    grant mcp,
    grant fetch,
    own allow = show_permitted,
    below budget,
    least checks in Proof = (checks.as_str(), if checks.is_default() { 0.0 } else { 1.0 }); checks.is_default(),
    most untrusted = if *untrusted { ("true: its text may be from outside", 1.0) } else { ("false", 0.0) };
        !untrusted,
} }

fn generated_text(max_steps: u32) -> String {
    format!(
        "it runs a plan that nobody has reviewed, of at most {max_steps} steps, each in a sandbox; what is not \
         listed here, the plan may not have"
    )
}

/// The permissions its steps may have.
fn show_permitted(permissions: &SandboxPermissions, summary: &mut SummaryBuilder) {
    summary
        .below("allow", |summary| show_permissions(permissions, "every program that it can read", summary));
}

impl PlanEnvelope {
    /// The default of `max_steps`.
    pub const MAX_STEPS: u32 = 20;

    /// The default of `executors`.
    pub const EXECUTORS: [EnvelopeExecutor; 2] = [EnvelopeExecutor::Run, EnvelopeExecutor::Exec];

    /// True if a plan inside it may get text from outside.
    pub fn reaches_outside(&self) -> bool {
        self.allow.net || !self.fetch.is_empty() || !self.mcp.is_empty() || !self.plans.is_empty()
    }
}

impl Default for PlanEnvelope {
    /// Allows scripts and programs reading the workspace.
    fn default() -> Self {
        Self {
            allow: SandboxPermissions::default(),
            executors: Self::EXECUTORS.to_vec(),
            plans: Vec::new(),
            roles: Vec::new(),
            tools: Vec::new(),
            mcp: Vec::new(),
            fetch: Vec::new(),
            max_steps: Self::MAX_STEPS,
            budget: None,
            checks: EnvelopeChecks::default(),
            untrusted: false,
        }
    }
}

keywords! {
    listed
    /// The steps of a generated plan needing a check of their own.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EnvelopeChecks {
        /// None: the checks of the step running the plan decide.
        #[default]
        Optional = "optional",
        /// Each that may change something: write files, or use the network.
        Required = "required",
    }
}

impl EnvelopeChecks {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

keywords! {
    listed
    /// An executor a generated plan may have. It never has a skill, a request, or a plan of its own making.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EnvelopeExecutor {
        /// A script, in a sandbox.
        Run = "run",
        /// A program, in a sandbox.
        Exec = "exec",
        /// A model with tools, in a sandbox.
        Agent = "agent",
        /// A plan the envelope lists.
        Uses = "uses",
        /// A wait.
        Wait = "wait",
        /// A decision by approvers.
        Approve = "approve",
    }
}
