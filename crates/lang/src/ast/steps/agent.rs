use super::{DispatchSpec, interaction::InteractionSpec, persona::PersonaUse, step::StepSpec};
use crate::{
    ast::parts::{AllowSpec, sound},
    decode::{
        ArgumentTemplate, DurationText, FetchHostText, LowerSpec, MappingFields, OrderedEntries, SpecDecoder,
        WorkspacePath, record, words,
    },
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{Name, SkillName},
    source::Spanned,
};
use wf_model::{
    AgentEngine, AgentTool, AgentWorkspace, ModelApi, ModelChoice, UntrustedRule, WorktreeMerge,
    expr::Template,
};

/// The largest `max_turns`.
const MOST_TURNS: u32 = 1000;

/// The largest `max_questions`.
const MOST_QUESTIONS: u32 = 20;

record! {
    /// Work that a model does with tools. Its briefing is the section of the step.
    pub struct AgentSpec as "the `agent` of a step" {
        /// The role, which `wf.yaml` gives a model.
        optional role: Spanned<Name>,
        /// The model, by its name in `wf.yaml`.
        optional model: Spanned<Name>,
        /// The program that lets the model work: `builtin` if absent.
        optional engine: AgentEngine,
        /// The program and its arguments, with `engine: command`. It runs in the sandbox of the step.
        optional command: Vec<Spanned<String>>,
        /// The tools that the model may call, with `engine: builtin`. They run in the sandbox of the step.
        default tools: Vec<Spanned<AgentTool>>,
        /// The MCP servers whose tools the model may call, by their names in `wf.yaml`.
        default mcp: Vec<Spanned<Name>>,
        /// The skills whose texts the model gets. Of a plan without `steps`, its `skills` if absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// The hosts from which the model may fetch pages, with the tool `fetch`: `HOST` or `HOST:PORT`.
        default fetch: Vec<Spanned<FetchHostText>>,
        /// The maximum number of model calls of an attempt: 50 if absent.
        optional max_turns: Spanned<u32>,
        /// The maximum number of questions to people in an attempt: 2 if absent.
        optional max_questions: Spanned<u32>,
        /// Values for the briefing, by name; each may be a template.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The task about which it is told what memory knows, as a planner is: a template.
        optional recall: Spanned<Template>,
        /// Files and folders whose text is from outside, relative to the workspace.
        default untrusted: Vec<Spanned<WorkspacePath>>,
        /// The tools that are closed once the model was given text from outside: `deny` refuses their calls, `ask`
        /// lets approvers decide about each.
        default when_untrusted: OrderedEntries<String, UntrustedRule>,
        /// The plans that the model may start with the tool `dispatch`.
        optional dispatch: Box<Spanned<DispatchSpec>>,
        /// The files that it works on: `shared`, the workspace itself, if absent. With `worktree` it gets a copy, and
        /// its changes are merged once the checks of the step have passed.
        optional workspace: AgentWorkspace,
        /// The rule for merging, with `workspace: worktree`: `automatic` if absent. With `review`, approvers see the
        /// changes first.
        optional merge: WorktreeMerge,
        /// The conversation that it continues: what steps of this conversation were asked and answered before is in its briefing.
        optional conversation: Spanned<Name>,
        /// The time after which the conversation begins anew, if no step continued it: 30 minutes if absent.
        optional conversation_idle: Spanned<DurationText>,
        /// The persona: the style in which it writes, below everything else that it is told.
        optional persona: PersonaUse,
        /// The signals of a turn, from which its mode is resolved: how it deals with people.
        optional interaction: InteractionSpec,
    }
    instead {
        "prompt" => "write the briefing in the section that bears the name of the step",
        "briefing" => "write the briefing in the section that bears the name of the step",
        "allow" => "put `allow` next to `agent`",
        "outputs" => "put `outputs` next to `agent`: they are the schema of the answer",
        "timeout" => "put `timeout` next to `agent`",
        "budget" => "put `budget` on the plan",
    }
    finish agrees;
}

words!(AgentEngine, AgentTool, AgentWorkspace, ModelApi, UntrustedRule, WorktreeMerge);

impl AgentSpec {
    pub fn choice(&self) -> Option<ModelChoice> {
        let role = self.role.lower().map(ModelChoice::Role);
        role.or_else(|| self.model.lower().map(ModelChoice::Model))
    }
}

/// Notes a missing or a second model, tools that are listed twice, and a useless limit.
fn agrees(agent: &mut AgentSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    match (fields.has("role"), fields.has("model")) {
        (true, true) => {
            let message = "an agent has either a `role` or a `model`";
            let mistake = Diagnostic::new(Code::ValueWrong, fields.key("model"), message);
            decoder.emit(mistake.with_help("keep `role`: then `wf.yaml` decides about the model"));
        }
        (false, false) => {
            let message = "an agent needs a `role` or a `model`";
            let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
            decoder.emit(mistake.with_help("write `role: executor`, and give the role a model in `wf.yaml`"));
        }
        _ => {}
    }
    check_engine(agent, fields, decoder);
    super::dispatch::check_tools(agent, decoder);
    check_questions(agent, decoder);
    check_fetch(agent, fields, decoder);
    if fields.has("merge") && agent.workspace.unwrap_or_default() == AgentWorkspace::Shared {
        let message = "`merge` applies only to `workspace: worktree`";
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("merge"), message);
        decoder.emit(mistake.with_help("leave it out, or add `workspace: worktree`"));
    }
    if fields.has("conversation_idle") && !fields.has("conversation") {
        let message = "`conversation_idle` needs a `conversation`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("conversation_idle"), message);
        decoder.emit(mistake.with_help("write the name of the conversation: `conversation: NAME`"));
    }
    sound::check_duplicates("tool", &agent.tools, decoder);
    sound::check_duplicates("skill", agent.skills.as_deref().unwrap_or_default(), decoder);
    sound::check_duplicates("MCP server", &agent.mcp, decoder);
    if let Some(turns) = agent.max_turns.as_ref().filter(|turns| !(1..=MOST_TURNS).contains(&turns.value)) {
        let message = format!("`max_turns` must be a number from 1 to {MOST_TURNS}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, turns.span, message));
    }
}

/// Notes a number of questions that is no limit, or limits nothing.
fn check_questions(agent: &AgentSpec, decoder: &mut SpecDecoder<'_>) {
    let Some(count) = &agent.max_questions else { return };
    if !(1..=MOST_QUESTIONS).contains(&count.value) {
        let message = format!("`max_questions` must be a number from 1 to {MOST_QUESTIONS}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, count.span, message));
    } else if agent.tools.iter().all(|tool| tool.value != AgentTool::Ask) {
        let mistake = Diagnostic::new(Code::KeyUnknown, count.span, "the agent does not have the tool `ask`");
        decoder.emit(mistake.with_help("remove `max_questions`, or add the tool to `tools`"));
    }
}

/// Notes a tool without hosts, and hosts without the tool.
fn check_fetch(agent: &AgentSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let tool = agent.tools.iter().find(|tool| tool.value == AgentTool::Fetch);
    match (tool, fields.has("fetch")) {
        (Some(tool), false) => {
            let message = "the tool `fetch` reaches no host: the agent lists none";
            let mistake = Diagnostic::new(Code::KeyMissing, tool.span, message);
            decoder.emit(mistake.with_help("list the hosts inside `agent`: `fetch: [docs.example.com]`"));
        }
        (None, true) if !agent.engine.unwrap_or_default().is_client() => {
            let message = "the agent does not have the tool `fetch`";
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("fetch"), message);
            decoder.emit(mistake.with_help("remove the hosts, or add the tool to `tools`"));
        }
        _ => {}
    }
}

/// Notes keys that do not apply to the engine of an agent.
fn check_engine(agent: &AgentSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let engine = agent.engine.unwrap_or_default();
    let own_tools = ["tools", "mcp", "fetch", "dispatch"];
    for key in own_tools.into_iter().filter(|key| engine.is_client() && fields.has(key)) {
        let message =
            format!("an agent with `engine: {engine}` brings its own tools, so `{key}` does not apply");
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        let help = "leave it out: what they may do is in `allow` next to `agent`, and gates see each call";
        decoder.emit(mistake.with_help(help));
    }
    match (engine, &agent.command) {
        (AgentEngine::Command, None) => {
            let message = "an agent with `engine: command` needs a `command`";
            let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
            decoder.emit(
                mistake.with_help("write the program and its arguments: `command: [PROGRAM, ARGUMENT]`"),
            );
        }
        (AgentEngine::Command, Some(words)) if words.is_empty() => {
            let message = "`command` is empty";
            let mistake = Diagnostic::new(Code::ValueWrong, fields.key("command"), message);
            decoder.emit(mistake.with_help("write the program and its arguments"));
        }
        (AgentEngine::Command, Some(_)) | (_, None) => {}
        (_, Some(_)) => {
            let message = format!("an agent with `engine: {engine}` has no `command`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("command"), message);
            decoder.emit(mistake.with_help("leave `command` out, or write `engine: command`"));
        }
    }
}

/// Notes keys that do not apply to an agent. An agent always works in a sandbox.
pub(super) fn check_agent_keys(
    step: &mut StepSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    check_agent_alternatives(step, fields, decoder);
    if !fields.has("agent") {
        return;
    }
    if fields.has("concurrency")
        && step.agent.as_ref().is_some_and(|agent| agent.value.conversation.is_some())
    {
        let message = "a step that continues a conversation has the lock of the conversation, and no other";
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("concurrency"), message);
        decoder
            .emit(mistake.with_help("leave `concurrency` out: steps of one conversation never run at once"));
    }
    let unfit = [
        ("cwd", "leave it out: the paths of tools are relative to the workspace"),
        ("cache", "leave it out: a model answers anew each time"),
        ("classify", "leave it out: an agent has no exit code"),
    ];
    for (key, help) in unfit.into_iter().filter(|(key, _)| fields.has(key)) {
        let message = format!("a step with `agent` does not support `{key}`");
        decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key(key), message).with_help(help));
    }
    if step.allow.is_none() {
        step.allow = Some(Box::new(AllowSpec::workspace_only()));
    }
}

/// Notes keys a step shares with an alternative with an agent, and without effect on it.
fn check_agent_alternatives(step: &StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let conversations =
        step.alternatives.iter().filter_map(|other| other.agent.as_ref()?.value.conversation.as_ref());
    for conversation in conversations {
        let message = "an alternative cannot continue a conversation";
        let mistake = Diagnostic::new(Code::KeyUnknown, conversation.span, message);
        decoder.emit(mistake.with_help("leave `conversation` out, or make the agent a step of its own"));
    }
    let Some(other) = step.alternatives.iter().find(|other| other.agent.is_some()) else {
        return;
    };
    for key in ["cwd", "cache"].into_iter().filter(|key| fields.has(key) && !fields.has("agent")) {
        let message =
            format!("the alternative `{}` is an agent, which does not support `{key}`", other.id.value);
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        decoder.emit(mistake.with_help("leave it out, or make the agent a step of its own"));
    }
}
