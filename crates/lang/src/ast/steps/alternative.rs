use super::{AgentSpec, HttpSpec, SkillUse, StepSpec, UsesSpec};
use crate::{
    ast::parts::{AllowSpec, LimitsSpec, RetrySpec, ShellSpec, sound},
    decode::{ArgumentTemplate, DurationText, MappingFields, OrderedEntries, SpecDecoder, record},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{EnvName, Name},
    source::Spanned,
};
use wf_model::expr::Template;

record! {
    /// Another declared way to do a step: its keys replace those of the step. Its criteria, outputs
    /// and dependencies are those of the step.
    pub struct AlternativeSpec as "an alternative" {
        /// Its id, unique in the step.
        required id: Spanned<Name>,
        /// The tool that does the work; another executor without `tool` is a tool of its own.
        optional tool: Spanned<String>,
        /// The object of the work: an address, a path, a host.
        optional target: Spanned<String>,
        /// A script, passed to a shell unchanged; it can contain no template.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell; each may be a template.
        optional exec: Spanned<Vec<Spanned<Template>>>,
        /// A script of a skill, in the sandbox.
        optional skill: Spanned<SkillUse>,
        /// Work that a model does with tools. The section of the step is its briefing.
        optional agent: Spanned<AgentSpec>,
        /// A request.
        optional http: Spanned<HttpSpec>,
        /// Another plan, as a nested run: the path of its file, relative to this one.
        optional uses: Spanned<String>,
        /// The parameters of the plan it uses.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The shell that reads the script.
        optional shell: Spanned<ShellSpec>,
        /// Environment variables, added to those of the step or replacing them.
        default env: OrderedEntries<EnvName, Template>,
        /// The working directory, relative to the workspace.
        optional cwd: Spanned<Template>,
        /// The time limit of an attempt.
        optional timeout: Spanned<DurationText>,
        /// The retries after a failed attempt.
        optional retry: RetrySpec,
        /// The permissions: with them, the step runs in a sandbox.
        optional allow: AllowSpec,
        /// The resource limits in its sandbox.
        optional limits: LimitsSpec,
    }
    instead {
        "verify" => "an alternative uses the checks of its step",
        "inspect" => "an alternative uses the checks of its step",
        "test" => "an alternative uses the checks of its step",
        "loops" => "an alternative has the loop limits of its step",
        "on_stuck" => "write it on the step: its agents have it in common",
        "outputs" => "an alternative has the outputs of its step",
        "artifacts" => "an alternative has the artifacts of its step",
        "writes" => "an alternative writes what its step writes: declare it on the step",
        "depends_on" => "an alternative has the dependencies of its step",
        "when" => "an alternative runs when the controller selects it",
        "approve" => "a decision has no alternatives; make it a separate step",
        "wait" => "a wait has no alternatives; make it a separate step",
    }
    finish check_alternative;
}

/// Notes the reasons why an alternative is invalid.
fn check_alternative(
    alternative: &mut AlternativeSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    sound::check_nonzero_duration(alternative.timeout.as_ref(), decoder);
    sound::check_reserved_names(&alternative.env, decoder);
    sound::check_program(alternative.exec.as_ref().map(|exec| exec.len()), fields.key("exec"), decoder);
    check_literal_word(alternative.tool.as_ref(), decoder);
    check_literal_word(alternative.target.as_ref(), decoder);
    let executors: Vec<&str> =
        ["run", "exec", "skill", "agent", "http", "uses"].into_iter().filter(|key| fields.has(key)).collect();
    if let [first, second, ..] = executors.as_slice() {
        let id = &alternative.id.value;
        let message = format!("alternative `{id}` has both `{first}` and `{second}`");
        let mistake = Diagnostic::new(Code::ExecutorTwice, alternative.id.span, message);
        decoder.emit(mistake.with_help("keep one of them"));
    }
    if fields.has("with") && !fields.has("uses") {
        let message = "`with` is only valid for an alternative with `uses`";
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("with"), message);
        decoder.emit(mistake.with_help("add `uses: PLAN.md`, or remove `with`"));
    }
    for key in ["cwd", "shell"].into_iter().filter(|key| fields.has("agent") && fields.has(key)) {
        let message = format!("an alternative with `agent` does not support `{key}`");
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        decoder.emit(mistake.with_help("leave it out: the paths of tools are relative to the workspace"));
    }
    let others = AlternativeSpec::KEYS.iter().filter(|key| **key != "id");
    if others.clone().all(|key| !fields.has(key)) {
        let message = format!("alternative `{}` does not differ from its step", alternative.id.value);
        let mistake = Diagnostic::new(Code::KeyMissing, alternative.id.span, message);
        decoder.emit(mistake.with_help("give it another `target`, `tool`, `run`, `env` or `timeout`"));
    }
}

/// Notes a tool or a target that is no word, or is a template: it is compared as it is.
pub(super) fn check_literal_word(word: Option<&Spanned<String>>, decoder: &mut SpecDecoder<'_>) {
    let Some(word) = word else { return };
    if word.value.trim().is_empty() {
        let message = "the value is empty";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.emit(mistake.with_help("add a value, or remove the key"));
    } else if word.value.contains("{{") {
        let message = "templates are not supported in `tool` and `target`: they are compared \
                       literally";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.emit(mistake.with_help("write a literal value"));
    } else if word.value.chars().any(char::is_control) {
        let message = "`tool` and `target` must be a single line without control characters";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.emit(mistake.with_help("use printable characters"));
    }
}

impl AlternativeSpec {
    /// True if it does the work with another executor.
    pub fn has_executor(&self) -> bool {
        let is_process = self.run.is_some() || self.exec.is_some() || self.skill.is_some();
        is_process || self.agent.is_some() || self.http.is_some() || self.uses.is_some()
    }

    /// Returns the step as executed with this alternative.
    pub(super) fn apply_to(&self, step: &StepSpec) -> StepSpec {
        let mut way = step.clone();
        way.alternatives = Vec::new();
        if self.has_executor() {
            way.run.clone_from(&self.run);
            way.exec = self.exec.clone().map(Box::new);
            way.skill = self.skill.clone().map(Box::new);
            way.agent = self.agent.clone().map(Box::new);
            way.http = self.http.clone().map(Box::new);
            way.uses = self.uses.clone().map(UsesSpec::File).map(Box::new);
            way.with = self.with.clone();
            way.shell = None;
            way.tool = None;
        }
        replace_if_set(&mut way.tool, self.tool.as_ref());
        replace_if_set(&mut way.target, self.target.as_ref());
        replace_if_set(&mut way.shell, self.shell.as_ref());
        replace_if_set(&mut way.cwd, self.cwd.as_ref());
        replace_if_set(&mut way.timeout, self.timeout.as_ref());
        replace_if_set(&mut way.retry, self.retry.as_ref());
        replace_if_set(&mut way.allow, self.allow.as_ref());
        replace_if_set(&mut way.limits, self.limits.as_ref());
        if way.agent.is_some() && way.allow.is_none() {
            way.allow = Some(Box::new(AllowSpec::workspace_only()));
        }
        way.env = step.env.overlaid(&self.env);
        way
    }
}

/// Replaces a value of the step by that of the alternative, if there is one.
fn replace_if_set<T: Clone>(to: &mut Option<Box<T>>, from: Option<&T>) {
    if let Some(from) = from {
        *to = Some(Box::new(from.clone()));
    }
}
