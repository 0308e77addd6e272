use super::{
    AgentSpec, AlternativeSpec, ApproveSpec, CacheSpec, ConcurrencySpec, ForEachSpec, GeneratedSpec,
    HttpSpec, LoopsSpec, MatrixSpec, SkillUse, UsesSpec, WaitSpec, agent::check_agent_keys,
    alternative::check_literal_word, settings::check_item_key, stuck,
};
use crate::{
    ast::{
        checks::{CheckSpec, GateRef},
        parts::{
            AllowSpec, ClassifyRuleSpec, LimitsSpec, RetrySpec, ShellSpec, StepOutputSpec, foreign, sound,
        },
    },
    decode::{ArgumentTemplate, DurationText, MappingFields, OrderedEntries, SpecDecoder, record, words},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{EnvName, Name, SkillName},
    source::Spanned,
};
use wf_model::{
    ItemKeyPath, OnStepError, OnStuck,
    expr::{Expr, Template},
};

record! {
    /// One unit of work. It has exactly one of `run`, `exec`, `skill`, `agent`, `http`, `uses`, `wait` and `approve`;
    /// without any of them, the fenced block of its section is its script.
    pub struct StepSpec as "a step" {
        /// Its id, unique in the plan.
        required id: Spanned<Name>,
        /// A title of one line.
        optional title: Box<String>,
        /// The steps that must end first.
        default depends_on: Vec<Spanned<Name>>,
        /// An expression that decides if it runs at all.
        optional when: Box<Spanned<Expr>>,
        /// A list, or an expression that gives one: the step is repeated for every item.
        optional for_each: Box<Spanned<ForEachSpec>>,
        /// The part of each item of `for_each` that is its key: `item`, or a property of it, such as `item.path`.
        optional key: Box<Spanned<ItemKeyPath>>,
        /// Axes: the step is repeated for every combination.
        optional matrix: Box<Spanned<MatrixSpec>>,
        /// The maximum number of concurrent items: that of the plan if absent.
        optional max_parallel: Spanned<u32>,
        /// A script, passed to a shell unchanged; it can contain no template.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell; each may be a template.
        optional exec: Box<Spanned<Vec<Spanned<Template>>>>,
        /// A script of a skill, in the sandbox.
        optional skill: Box<Spanned<SkillUse>>,
        /// Work that a model does with tools. The section of the step is its briefing.
        optional agent: Box<Spanned<AgentSpec>>,
        /// A request.
        optional http: Box<Spanned<HttpSpec>>,
        /// Another plan, as a nested run: the path of its file, relative to this one, or a text that the run makes.
        optional uses: Box<UsesSpec>,
        /// The parameters of the plan it uses.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// Something to wait for.
        optional wait: Box<Spanned<WaitSpec>>,
        /// A decision by approvers.
        optional approve: Box<Spanned<ApproveSpec>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<ShellSpec>>,
        /// The image of a container in which `run` or `exec` is executed, by its digest:
        /// `NAME@sha256:DIGEST`.
        optional container: Box<Spanned<String>>,
        /// Environment variables, after those of the plan.
        default env: OrderedEntries<EnvName, Template>,
        /// The working directory, relative to the workspace; a template.
        optional cwd: Box<Spanned<Template>>,
        /// The time limit of an attempt.
        optional timeout: Box<Spanned<DurationText>>,
        /// The time limit for waiting for its turn once it is ready.
        optional queue_timeout: Box<Spanned<DurationText>>,
        /// The retries after a failed attempt.
        optional retry: Box<RetrySpec>,
        /// The reaction when the attempts of an agent keep failing: that of the plan if absent.
        optional on_stuck: Spanned<OnStuck>,
        /// True if an interrupted attempt may simply be repeated.
        default idempotent: bool,
        /// True if the processes that it leaves running outlive the run.
        default detach: bool,
        /// The checks that inspect its result; if one fails, the work is done anew.
        default inspect: Vec<CheckSpec>,
        /// The checks that test its result once `inspect` passes; if one fails, the work is done anew.
        default test: Vec<CheckSpec>,
        /// The limits for `inspect` and `test` to send the work back.
        optional loops: LoopsSpec,
        /// The criteria of its result.
        default verify: Vec<CheckSpec>,
        /// Its own rules at trigger points: names of files in `gates/`, or gates.
        default gates: Vec<GateRef>,
        /// The required outputs, a JSON Schema each.
        default outputs: OrderedEntries<Name, StepOutputSpec>,
        /// Globs of the files it must leave. They may be templates, and must be if the step is repeated, so
        /// that each item has its own.
        default artifacts: Vec<Spanned<Template>>,
        /// Globs of further files that it changes or creates without a sandbox. Checks see them; other files
        /// that it creates are hidden from checks, and if it changes others, they fail.
        default writes: Vec<Spanned<Template>>,
        /// The dependencies of its result, so that it may be reused.
        optional cache: Box<Spanned<CacheSpec>>,
        /// The name of a lock held while it runs, or a mapping with the reaction when another run has it.
        optional concurrency: Box<ConcurrencySpec>,
        /// The queue of a backend whose workers run it: `default` if absent. A run on this machine needs none.
        optional runs_on: Box<Spanned<Name>>,
        /// The effect of its failure on the run: `fail` if absent.
        default on_error: OnStepError,
        /// The permissions: with them, the step runs in a sandbox.
        optional allow: Box<AllowSpec>,
        /// The resource limits in its sandbox.
        optional limits: Box<LimitsSpec>,
        /// The rules for the class of a failure, before the built-in table; the first matching one applies.
        default classify: Vec<ClassifyRuleSpec>,
        /// The tool that does the work, as known to the controller and memory; without it, each executor of
        /// the step is a tool of its own.
        optional tool: Box<Spanned<String>>,
        /// The object of the work, as known to the controller and memory: an address, a path, a host.
        optional target: Box<Spanned<String>>,
        /// The alternatives, from which the controller chooses after a failure.
        default alternatives: Vec<AlternativeSpec>,
    }
    instead {
        "network" => "write `net: true` inside `allow`",
        "fixed" => "`fixed` belongs to a check: put it under `verify`",
    }
    foreign foreign::STEP;
    aside {
        /// The prose of its section.
        briefing: Option<Box<str>>,
        /// True if it names an executor, even a wrong one.
        has_executor: bool,
        /// True if it is the plan of an escalation, by whose name it is called.
        on_escalation: bool,
        /// The step as executed with each of its alternatives.
        ways: Vec<StepSpec>,
    }
    finish agrees;
    blank with_id(id: Spanned<Name>);
}

words!(OnStepError);

impl StepSpec {
    /// Returns a step using the plan of a file; `None` if `id` is no name.
    pub(in crate::ast) fn using(
        id: &str,
        uses: &Spanned<String>,
        with: &OrderedEntries<Name, Spanned<ArgumentTemplate>>,
    ) -> Option<Self> {
        Some(Self {
            has_executor: true,
            uses: Some(Box::new(UsesSpec::File(uses.clone()))),
            with: with.clone(),
            ..Self::with_id(Spanned::new(Name::parse(id).ok()?, uses.span))
        })
    }

    /// Returns the checks of all phases, in the order of their execution.
    pub fn checks(&self) -> impl Iterator<Item = &CheckSpec> + Clone {
        let before = self.inspect.iter().chain(&self.test);
        before.chain(&self.verify)
    }

    /// Builds its alternatives, once its script is known.
    pub(crate) fn build_alternatives(&mut self) {
        let ways = self.alternatives.iter();
        self.ways = ways.map(|alternative| alternative.apply_to(self)).collect();
    }

    /// Returns the step as written, then as executed with each of its alternatives.
    pub fn with_all_alternatives(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.ways)
    }

    /// Returns the paths of the plans it uses, or may start.
    pub fn used_paths(&self) -> impl Iterator<Item = &Spanned<String>> {
        let agent = self.agent.as_ref().and_then(|agent| agent.value.dispatch.as_ref());
        let started = agent.into_iter().flat_map(|dispatch| &dispatch.value.plans);
        let envelope = self.generated().and_then(|generated| generated.within.as_ref());
        let allowed = envelope.into_iter().flat_map(|envelope| &envelope.plans);
        self.used_file().into_iter().chain(started).chain(allowed)
    }

    /// Returns the path of the file of the plan it uses.
    pub fn used_file(&self) -> Option<&Spanned<String>> {
        match self.uses.as_deref()? {
            UsesSpec::File(path) => Some(path),
            UsesSpec::Text(_) => None,
        }
    }

    /// Returns the plan the run makes for it.
    pub fn generated(&self) -> Option<&GeneratedSpec> {
        match self.uses.as_deref()? {
            UsesSpec::File(_) => None,
            UsesSpec::Text(made) => Some(made),
        }
    }

    /// Returns the file of the persona of its agent.
    pub fn persona_file(&self) -> Option<&Spanned<String>> {
        self.agent.as_ref()?.value.persona.as_ref()?.0.file.as_ref()
    }

    /// Returns the skills its work names: that of its script, and those of its agent.
    pub fn named_skills(&self) -> impl Iterator<Item = &Spanned<SkillName>> {
        let of_agent = self.agent.iter().filter_map(|agent| agent.value.skills.as_ref()).flatten();
        self.skill.iter().map(|used| &used.value.name).chain(of_agent)
    }
}

/// The keys of executors.
const EXECUTORS: &[&str] = &["run", "exec", "http", "uses", "wait", "skill", "agent", "approve"];

/// Notes keys that exclude each other.
fn agrees(step: &mut StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::at_least_one(step.max_parallel.as_ref(), decoder);
    sound::check_nonzero_duration(step.timeout.as_deref(), decoder);
    sound::check_reserved_names(&step.env, decoder);
    sound::check_output_names(&step.outputs, decoder);
    let argv = step.exec.as_ref().map(|exec| exec.len());
    sound::check_program(argv, fields.key("exec"), decoder);
    if let (Some(each), Some(matrix)) = (&step.for_each, &step.matrix) {
        let message = "a step cannot have both `for_each` and `matrix`";
        let mistake = Diagnostic::new(Code::ValueWrong, matrix.span, message);
        decoder.emit(mistake.with_related(each.span, "the other one is here"));
    }
    let executors: Vec<_> = EXECUTORS.iter().filter(|key| fields.has(key)).collect();
    step.has_executor = !executors.is_empty();
    if executors.len() > 1 {
        let list: Vec<_> = executors.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("step `{}` has more than one executor: {}", step.id.value, list.join(" and "));
        let mistake = Diagnostic::new(Code::ExecutorTwice, step.id.span, message);
        decoder.emit(mistake.with_help("keep one of them"));
    }
    for (key, executor) in [("with", "uses"), ("shell", "run")] {
        let by_section = key == "shell" && !step.has_executor;
        if fields.has(key) && !fields.has(executor) && !by_section {
            let message = format!("`{key}` is only valid for a step with `{executor}`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            let inside = key == "with" && fields.has("agent");
            decoder.emit(if inside { mistake.with_help("put it inside `agent`") } else { mistake });
        }
    }
    check_item_key(fields, decoder);
    check_loops(fields, decoder);
    check_container(step, fields, decoder);
    check_detach(step, fields, decoder);
    check_process_keys(fields, decoder);
    check_approve_keys(fields, decoder);
    check_agent_keys(step, fields, decoder);
    stuck::check_step(step, fields, decoder);
    replaceable(step, fields, decoder);
}

/// Notes invalid tools and targets, and alternatives of steps that cannot have them.
fn replaceable(step: &StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    check_literal_word(step.tool.as_deref(), decoder);
    check_literal_word(step.target.as_deref(), decoder);
    for key in ["approve", "wait"] {
        if fields.has(key) && fields.has("alternatives") {
            let message = format!("a step with `{key}` cannot have `alternatives`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("alternatives"), message);
            decoder.emit(mistake.with_help("remove them"));
        }
    }
}

/// Notes loops without checks.
fn check_loops(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let phases = ["inspect", "test"];
    if fields.has("loops") && !phases.iter().any(|key| fields.has(key)) {
        let message = "`loops` requires `inspect` or `test`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("loops"), message);
        let help = "put the checks that send the work back under `inspect` or `test`; for failures \
                    of `verify`, use `retry`";
        decoder.emit(mistake.with_help(help));
    }
}

/// Notes an image not named by its digest, and keys without effect on a container.
fn check_container(step: &StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let Some(image) = &step.container else { return };
    if !names_digest(&image.value) {
        let message =
            "the image is not named by its digest, and any other name can mean another image tomorrow";
        let help = "write `NAME@sha256:DIGEST`; after `podman pull NAME:TAG`, `podman image inspect --format \
                    '{{index .RepoDigests 0}}' NAME:TAG` prints it, and docker does the same";
        decoder.emit(Diagnostic::new(Code::ValueWrong, image.span, message).with_help(help));
    }
    if step.has_executor && !fields.has("run") && !fields.has("exec") {
        let message = "`container` is only valid for a step with `run` or `exec`";
        decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key("container"), message));
    }
    let at = [fields.key("allow"), fields.key("limits")];
    let own = [("allow", step.allow.is_some(), at[0]), ("limits", step.limits.is_some(), at[1])];
    let others = step.alternatives.iter().filter(|other| {
        // The others leave the container.
        !other.has_executor() || other.run.is_some() || other.exec.is_some()
    });
    let others = others.flat_map(|other| {
        let at = other.id.span;
        [("allow", other.allow.is_some(), at), ("limits", other.limits.is_some(), at)]
    });
    for (key, _, at) in own.into_iter().chain(others).filter(|(_, is_there, _)| *is_there) {
        let message = format!("a step in a container does not support `{key}`");
        let help =
            "leave it out, or leave out `container`: a step runs in a container or in the sandbox of wf";
        decoder.emit(Diagnostic::new(Code::KeyUnknown, at, message).with_help(help));
    }
}

/// Notes a step unable to leave a process running.
fn check_detach(step: &StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let leaves = !step.has_executor || fields.has("run") || fields.has("exec");
    let ends = ["allow", "container"].into_iter().find(|key| fields.has(key));
    let message = match ends {
        _ if !step.detach => return,
        Some(key) => format!("`{key}` ends what the step leaves running with the step"),
        None if !leaves => "`detach` is only valid for a step with `run` or `exec`".to_owned(),
        None => return,
    };
    let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("detach"), message);
    decoder.emit(mistake.with_help("leave `detach` out"));
}

/// True for `NAME@sha256:DIGEST`, where the name has no tag.
fn names_digest(image: &str) -> bool {
    let Some((name, digest)) = image.split_once("@sha256:") else {
        return false;
    };
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let has_tag = name.rsplit('/').next().is_some_and(|last| last.contains(':'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain);
    is_name && !has_tag && digest.len() == 64 && digest.chars().all(is_hex)
}

/// Notes keys that do not apply to a decision.
fn check_approve_keys(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let help = [
        ("timeout", "write `timeout` inside `approve`"),
        ("outputs", "the outputs of the step are the values shown by `approve`"),
        ("cache", "leave it out: a decision is never cached"),
        ("artifacts", "leave it out: a decision produces no files"),
        ("writes", "leave it out: a decision changes no files"),
        ("cwd", "leave it out: nothing is executed"),
        ("env", "leave it out: nothing is executed; use `show` to show values"),
    ];
    for (key, help) in help.into_iter().filter(|_| fields.has("approve")) {
        if fields.has(key) {
            let message = format!("a step with `approve` does not support `{key}`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.emit(mistake.with_help(help));
        }
    }
}

/// Notes keys for a process in steps with none of their own, and limits without the sandbox that
/// enforces them.
fn check_process_keys(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let without = ["http", "uses", "wait", "approve"].iter().any(|key| fields.has(key));
    let is_process = ["run", "exec", "skill", "agent"].iter().any(|key| fields.has(key)) || !without;
    for key in ["allow", "limits", "classify"] {
        if fields.has(key) && !is_process {
            let kinds = if key == "classify" { "`exec` or `skill`" } else { "`exec`, `skill` or `agent`" };
            let message = format!("`{key}` is only valid for a step with `run`, {kinds}");
            decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key(key), message));
        }
    }
    let is_confined = ["allow", "skill", "agent"].iter().any(|key| fields.has(key));
    if fields.has("writes") && !is_process && !fields.has("uses") {
        let message = "`writes` is only valid for a step that can change files of the workspace";
        let help = "leave it out, or use it in a step with `run`, `exec`, `skill`, `agent` or `uses`";
        decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key("writes"), message).with_help(help));
    }
    if is_process && fields.has("limits") && !is_confined {
        let message = "`limits` requires a sandbox, and this step has none";
        let help = "add `allow` to run the step in a sandbox";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.key("limits"), message).with_help(help));
    }
}
