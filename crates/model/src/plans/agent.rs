use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use wf_base::{keywords, name::Name};

use crate::{
    agents::{
        agent_skill::AgentSkill, interaction::AgentInteraction, model_definition::ModelChoice,
        persona::Persona,
    },
    expr::Template,
    plans::plan::Plan,
    programs::fetch_host::FetchHost,
    summary::{RecordView, SummaryBuilder, argv_text, show_child_plans},
};

/// Work a model does with tools (DESIGN section 13; Silas 7.3).
#[derive(Clone, Debug, Serialize)]
pub struct AgentWork {
    pub model: ModelChoice,
    /// The program that lets the model work.
    pub engine: AgentEngine,
    /// The program and its arguments, where the engine is [`AgentEngine::Command`]; else empty.
    pub command: Vec<String>,
    /// The instructions: the section of the step.
    pub briefing: String,
    /// Values for the instructions, by name.
    pub with: Vec<(Name, Template)>,
    /// The task for which memory advises it; `None`: it is told nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<Template>,
    /// The tools the model may call, each once.
    pub tools: Vec<AgentTool>,
    /// The MCP servers whose tools the model may call, by their names in `wf.yaml`, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<Name>,
    /// The skills whose texts the model gets, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<AgentSkill>,
    /// The hosts from which the model may fetch pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fetch: Vec<FetchHost>,
    /// The maximum number of model calls of an attempt, without the one that repairs an answer.
    pub max_turns: u32,
    /// The maximum number of questions to people in an attempt.
    #[serde(skip_serializing_if = "is_default_questions")]
    pub max_questions: u32,
    /// The files and folders whose text is from outside, relative to the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<String>,
    /// The tools that are closed once the model was given text from outside.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when_untrusted: BTreeMap<String, UntrustedRule>,
    /// The plans the model may start as child runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<Box<AgentDispatch>>,
    /// The files it works on.
    #[serde(skip_serializing_if = "AgentWorkspace::is_shared")]
    pub workspace: AgentWorkspace,
    /// The rule for merging what it did in a worktree.
    #[serde(skip_serializing_if = "WorktreeMerge::is_automatic")]
    pub merge: WorktreeMerge,
    /// The conversation it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationUse>,
    /// Its style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<Persona>,
    /// The signals of the turn it works for; `None`: the plan alone says how it deals with people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<AgentInteraction>,
}

// The model, its tools and its briefing; then its reach.
view! { work: AgentWork in Reach {
    own model = RecordView::view,
    plain engine in Work = engine.as_str(),
    plain command in Work = argv_text(command),
    plain briefing in Work,
    plain with in Data,
    plain recall in Data,
    plain max_turns in Effort,
    plain max_questions in Effort = tools.contains(&AgentTool::Ask).then_some(max_questions),
    below interaction,
    plain persona in Work = persona.as_ref().map(|persona| serde_json::json!(persona)),
    own conversation = RecordView::view,
    guard workspace = in_worktree(work).then(|| workspace.as_str()),
    guard merge = in_worktree(work).then(|| merge.as_str()),
    own untrusted = show_untrusted_paths,
    guard when_untrusted =
        &when_untrusted.iter().map(|(tool, rule)| (tool, rule.to_string())).collect::<Vec<_>>(),
    grant tools,
    grant skills = &skills.iter().map(|skill| skill.name.to_string()).collect::<Vec<_>>(),
    grant fetch,
    grant mcp,
    below dispatch,
} }

fn in_worktree(work: &AgentWork) -> bool {
    work.workspace != AgentWorkspace::default()
}

fn show_untrusted_paths(paths: &[String], summary: &mut SummaryBuilder) {
    for path in paths {
        lines!(summary in Reach { guard "untrusted" = path });
    }
}

/// The conversation an agent continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConversationUse {
    /// Its name in the workspace.
    pub name: Name,
    /// The time after which it begins anew, if nobody continued it.
    pub idle: Duration,
}

view! { conversation: ConversationUse in Data {
    plain name as "conversation",
    plain idle as "conversation_idle",
} }

impl ConversationUse {
    /// The beginning of the names of these locks.
    pub const LOCK_PREFIX: &str = "conversation:";

    /// The default of `conversation_idle` (Forge 10).
    pub const IDLE: Duration = Duration::from_mins(30);

    /// Returns the lock no two steps of the conversation hold at once.
    pub fn lock(&self) -> String {
        format!("{}{}", Self::LOCK_PREFIX, self.name)
    }
}

impl AgentWork {
    /// The default of `max_turns`.
    pub const MAX_TURNS: u32 = 50;

    /// The default of `max_questions`.
    pub const MAX_QUESTIONS: u32 = 2;

    /// Returns the rule for a tool once the model was given text from outside. A program may read the name of its tool
    /// with more tolerance than `wf`.
    pub fn untrusted_rule(&self, tool: &str) -> Option<UntrustedRule> {
        if !self.engine.is_client() {
            return self.when_untrusted.get(tool).copied();
        }
        let mut rules = self.when_untrusted.iter();
        rules.find_map(|(name, rule)| name.eq_ignore_ascii_case(tool.trim()).then_some(*rule))
    }

    /// True if the model may be given text from outside by its tools.
    pub fn reads_outside(&self) -> bool {
        let brings_it = |tool: &AgentTool| matches!(tool, AgentTool::Memory | AgentTool::Fetch);
        !self.untrusted.is_empty() || !self.mcp.is_empty() || self.tools.iter().any(brings_it)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default_questions(count: &u32) -> bool {
    *count == AgentWork::MAX_QUESTIONS
}

keywords! {
    listed
    /// The program that lets a model work.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AgentEngine {
        /// The loop of `wf` itself.
        #[default]
        Builtin = "builtin",
        /// Claude Code.
        ClaudeCode = "claude_code",
        /// Codex.
        Codex = "codex",
        /// A program of the plan's author.
        Command = "command",
    }
}

impl AgentEngine {
    /// True for a program of its own, which calls the model as a client of the gateway and brings its tools.
    pub fn is_client(self) -> bool {
        self != Self::Builtin
    }

    /// Returns the tools a program may use; `None`: they are not known here.
    pub fn client_tools(self) -> Option<&'static [&'static str]> {
        (self == Self::ClaudeCode).then_some(&["Bash", "Edit", "Read"])
    }
}

keywords! {
    listed
    /// The files an agent works on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AgentWorkspace {
        /// The workspace itself.
        #[default]
        Shared = "shared",
        /// A copy of the workspace, from which the changes are merged once the checks have passed.
        Worktree = "worktree",
    }
}

impl AgentWorkspace {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

keywords! {
    listed
    /// The rule for merging what an agent did in a worktree.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WorktreeMerge {
        /// It is merged as soon as the checks have passed.
        #[default]
        Automatic = "automatic",
        /// Approvers see the changes first.
        Review = "review",
    }
}

impl WorktreeMerge {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_automatic(&self) -> bool {
        *self == Self::Automatic
    }
}

keywords! {
    listed
    /// A tool of an agent. It runs in the sandbox of its step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AgentTool {
        /// Reads a text file.
        Read = "read",
        /// Lists a folder.
        List = "list",
        /// Searches files for a regular expression.
        Search = "search",
        /// Writes a whole file.
        Write = "write",
        /// Replaces a text in a file.
        Edit = "edit",
        /// Runs a shell script.
        Run = "run",
        /// Starts a plan as a child run.
        Dispatch = "dispatch",
        /// Returns the results of child runs.
        Collect = "collect",
        /// Runs a script of a skill.
        Skill = "skill",
        /// Asks a person.
        Ask = "ask",
        /// Searches the memory of the workspace.
        Memory = "memory",
        /// Adds a note to memory.
        Remember = "remember",
        /// Fetches a page from a host the plan lists.
        Fetch = "fetch",
    }
}

keywords! {
    listed
    /// The rule for a tool once the model was given text from outside.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum UntrustedRule {
        /// Its calls are refused.
        Deny = "deny",
        /// Each of its calls needs an approval.
        Ask = "ask",
    }
}

/// The plans an agent may start as child runs, and how many.
#[derive(Clone, Debug, Serialize)]
pub struct AgentDispatch {
    /// The plans, each once, with different ids.
    pub plans: Vec<ChildPlan>,
    /// The maximum number of child runs of an attempt.
    pub max: u32,
    /// The maximum number of them at a time.
    pub max_parallel: u32,
}

view! { dispatch: AgentDispatch in Effort {
    own plans = show_child_plans,
    plain max,
    plain max_parallel,
} }

/// A plan an agent may start.
#[derive(Clone, Debug, Serialize)]
pub struct ChildPlan {
    /// The plan, loaded with the one that names it.
    pub plan: Arc<Plan>,
    /// The path it was loaded from, relative to the workspace.
    pub path: String,
}

impl AgentDispatch {
    /// The default of `max`.
    pub const MAX: u32 = 20;

    /// The default of `max_parallel`.
    pub const MAX_PARALLEL: u32 = 4;

    /// Returns the plan in a file, if it is one of them.
    pub fn plan_at(&self, path: &str) -> Option<&Arc<Plan>> {
        self.plans.iter().find(|child| child.path == path).map(|child| &child.plan)
    }

    pub fn plan(&self, id: &str) -> Option<&ChildPlan> {
        self.plans.iter().find(|child| child.plan.id().as_str() == id)
    }
}
