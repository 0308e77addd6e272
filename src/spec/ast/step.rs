use super::{
    Allow, Alternative, Approve, Cache, Check, ClassRule, ForEach, GateRef, Http, Limits, Loops,
    Matrix, Retry, Shell, SkillUse, StepOutput, Wait, alternative::some_word, foreign, sound,
};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Expr, Template};
use crate::model::OnError;
use crate::name::{EnvName, Name};
use crate::source::Spanned;
use crate::spec::decode::{Argument, Decoder, Entries, Fields, Period, record, words};

record! {
    /// One unit of work. It has exactly one of `run`, `exec`, `skill`, `http`, `uses`, `wait` and `approve`;
    /// without any of them, the fenced block of its section is its script.
    pub struct Step as "a step" {
        /// Its id, unique in the plan.
        required id: Spanned<Name>,
        /// A line for people.
        optional title: Box<String>,
        /// The steps that must end first.
        default depends_on: Vec<Spanned<Name>>,
        /// An expression that decides whether to run at all.
        optional when: Box<Spanned<Expr>>,
        /// A list, or an expression that gives one: the step is repeated for every item.
        optional for_each: Box<Spanned<ForEach>>,
        /// Axes: the step is repeated for every combination.
        optional matrix: Box<Spanned<Matrix>>,
        /// How many items may run at once: as many as the plan allows if absent.
        optional max_parallel: Spanned<u32>,
        /// A script, given to a shell as it stands; it can contain no template.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell; each may be a template.
        optional exec: Box<Spanned<Vec<Spanned<Template>>>>,
        /// A script of a skill, in the sandbox.
        optional skill: Box<Spanned<SkillUse>>,
        /// A request.
        optional http: Box<Spanned<Http>>,
        /// Another plan, as a nested run: the path of its file, relative to this one.
        optional uses: Box<Spanned<String>>,
        /// The parameters of the plan it uses.
        default with: Entries<Name, Spanned<Argument>>,
        /// Something to wait for.
        optional wait: Box<Spanned<Wait>>,
        /// A decision that people make.
        optional approve: Box<Spanned<Approve>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<Shell>>,
        /// Environment variables, after those of the plan.
        default env: Entries<EnvName, Template>,
        /// Where it runs, relative to the workspace; a template.
        optional cwd: Box<Spanned<Template>>,
        /// The longest an attempt may take.
        optional timeout: Box<Spanned<Period>>,
        /// The longest it may wait for its turn once it is ready.
        optional queue_timeout: Box<Spanned<Period>>,
        /// When a failed attempt is followed by another.
        optional retry: Box<Retry>,
        /// Whether an interrupted attempt may simply be repeated.
        default idempotent: bool,
        /// What is looked at in its result; if something does not hold, the work is done anew.
        default inspect: Vec<Check>,
        /// What is tried with its result once `inspect` holds; if something does not hold, the
        /// work is done anew.
        default test: Vec<Check>,
        /// How often `inspect` and `test` may send the work back.
        optional loops: Loops,
        /// The criteria of its result.
        default verify: Vec<Check>,
        /// Its own rules at trigger points: names of files in `gates/`, or gates.
        default gates: Vec<GateRef>,
        /// The values it must give, a JSON Schema each.
        default outputs: Entries<Name, StepOutput>,
        /// Globs of the files it must leave. They may be templates, and are where the step is
        /// repeated, so that each item has its own.
        default artifacts: Vec<Spanned<Template>>,
        /// Globs of further files that it changes or makes, where it has no sandbox. Checks see them;
        /// other files that it makes they do not see, and where it changes others they do not pass.
        default writes: Vec<Spanned<Template>>,
        /// What its result depends on, so that it may be reused.
        optional cache: Box<Spanned<Cache>>,
        /// The name of a lock held while it runs.
        optional concurrency: Box<Spanned<String>>,
        /// What its failure means for the run: `fail` if absent.
        default on_error: OnError,
        /// What it may reach: with it, the step runs in a sandbox.
        optional allow: Box<Allow>,
        /// How much it may use in its sandbox.
        optional limits: Box<Limits>,
        /// What decides the class of a failure before the built-in table does; the first rule
        /// that holds.
        default classify: Vec<ClassRule>,
        /// What does the work, as the controller and memory know it; without it, each executor of
        /// the step is a tool of its own.
        optional tool: Box<Spanned<String>>,
        /// What the work is done on, as the controller and memory know it: an address, a path, a
        /// host.
        optional target: Box<Spanned<String>>,
        /// Other ways to do it, which the controller chooses from when it has failed.
        default alternatives: Vec<Alternative>,
    }
    later {
        "agent",
    }
    instead {
        "network" => "write `net: true` inside `allow`",
        "fixed" => "a check has `fixed`: write it below `verify`",
    }
    foreign foreign::STEP;
    aside {
        /// The prose of its section.
        briefing: Option<Box<str>>,
        /// Whether it names an executor, be it a wrong one.
        has_executor: bool,
        /// The step as it is done in each of its alternatives.
        ways: Vec<Step>,
    }
    finish agrees;
}

words!(OnError {
    "fail" => Self::Fail,
    "continue" => Self::Continue,
});

impl Step {
    /// The checks of all phases, in the order in which they are asked.
    pub fn checks(&self) -> impl Iterator<Item = &Check> + Clone {
        let before = self.inspect.iter().chain(&self.test);
        before.chain(&self.verify)
    }

    /// A step that has nothing but its id.
    pub fn named(id: Spanned<Name>) -> Self {
        Self {
            id,
            title: None,
            depends_on: Vec::new(),
            when: None,
            for_each: None,
            matrix: None,
            max_parallel: None,
            run: None,
            exec: None,
            skill: None,
            http: None,
            uses: None,
            with: Entries::default(),
            wait: None,
            approve: None,
            shell: None,
            env: Entries::default(),
            cwd: None,
            timeout: None,
            queue_timeout: None,
            retry: None,
            idempotent: false,
            inspect: Vec::new(),
            test: Vec::new(),
            loops: None,
            verify: Vec::new(),
            gates: Vec::new(),
            outputs: Entries::default(),
            artifacts: Vec::new(),
            writes: Vec::new(),
            cache: None,
            concurrency: None,
            on_error: OnError::default(),
            allow: None,
            limits: None,
            classify: Vec::new(),
            tool: None,
            target: None,
            alternatives: Vec::new(),
            briefing: None,
            has_executor: false,
            ways: Vec::new(),
        }
    }

    /// Works out its ways, once its script is known.
    pub(in crate::spec) fn unfold(&mut self) {
        let ways = self.alternatives.iter();
        self.ways = ways.map(|alternative| alternative.way(self)).collect();
    }

    /// The step as it is written, then as it is done in each of its alternatives.
    pub fn all_ways(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.ways)
    }
}

/// The keys that say what is executed; those not built yet count too.
const EXECUTORS: &[&str] = &[
    "run", "exec", "http", "uses", "wait", "skill", "agent", "approve",
];

/// Notes keys that exclude each other.
fn agrees(step: &mut Step, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::at_least_one(step.max_parallel.as_ref(), decoder);
    sound::some_time(step.timeout.as_deref(), decoder);
    sound::own_names(&step.env, decoder);
    let argv = step.exec.as_ref().map(|exec| exec.len());
    sound::some_program(argv, fields.key("exec"), decoder);
    if let (Some(each), Some(matrix)) = (&step.for_each, &step.matrix) {
        let message = "a step has either `for_each` or `matrix`";
        let mistake = Diagnostic::new(Code::ValueWrong, matrix.span, message);
        decoder.note(mistake.also(each.span, "the other is here"));
    }
    let executors: Vec<_> = EXECUTORS.iter().filter(|key| fields.has(key)).collect();
    step.has_executor = !executors.is_empty();
    if executors.len() > 1 {
        let list: Vec<_> = executors.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("step `{}` has {}", step.id.value, list.join(" and "));
        let mistake = Diagnostic::new(Code::ExecutorTwice, step.id.span, message);
        decoder.note(mistake.help("keep one of them"));
    }
    for (key, executor) in [("with", "uses"), ("shell", "run")] {
        let by_section = key == "shell" && !step.has_executor;
        if fields.has(key) && !fields.has(executor) && !by_section {
            let message = format!("only a step with `{executor}` has `{key}`");
            decoder.note(Diagnostic::new(Code::KeyUnknown, fields.key(key), message));
        }
    }
    looped(fields, decoder);
    confined(fields, decoder);
    decided(fields, decoder);
    replaceable(step, fields, decoder);
}

/// Notes what has no other ways, or is never chosen from.
fn replaceable(step: &Step, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    some_word(step.tool.as_deref(), decoder);
    some_word(step.target.as_deref(), decoder);
    for key in ["approve", "wait"] {
        if fields.has(key) && fields.has("alternatives") {
            let message = format!("a step with `{key}` has no `alternatives`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("alternatives"), message);
            decoder.note(mistake.help("leave them out: there is no other way to do it"));
        }
    }
}

/// Notes loops of nothing.
fn looped(fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let phases = ["inspect", "test"];
    if fields.has("loops") && !phases.iter().any(|key| fields.has(key)) {
        let message = "`loops` are those of `inspect` and `test`, and this step has neither";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("loops"), message);
        let help = "write the checks that send the work back below `inspect` or `test`; \
                    what `verify` finds is repeated by `retry`";
        decoder.note(mistake.help(help));
    }
}

/// Notes keys that say nothing of a decision.
fn decided(fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let help = [
        ("timeout", "write `timeout` inside `approve`"),
        (
            "outputs",
            "what `approve` shows are the outputs of the step",
        ),
        ("cache", "leave it out: a decision is made each time"),
        ("artifacts", "leave it out: a decision leaves no files"),
        ("writes", "leave it out: a decision changes no files"),
        ("cwd", "leave it out: nothing is executed"),
        (
            "env",
            "leave it out: nothing is executed; `show` gives values",
        ),
    ];
    for (key, help) in help.into_iter().filter(|_| fields.has("approve")) {
        if fields.has(key) {
            let message = format!("a step with `approve` has no `{key}`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.note(mistake.help(help));
        }
    }
}

/// Notes keys that speak of a process in steps that have none of their own, and limits without
/// the sandbox that they hold in.
fn confined(fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let without = ["http", "uses", "wait", "approve"]
        .iter()
        .any(|key| fields.has(key));
    let is_process = ["run", "exec", "skill"].iter().any(|key| fields.has(key)) || !without;
    for key in ["allow", "limits", "classify"] {
        if fields.has(key) && !is_process {
            let message = format!("only a step with `run`, `exec` or `skill` has `{key}`");
            decoder.note(Diagnostic::new(Code::KeyUnknown, fields.key(key), message));
        }
    }
    let is_confined = fields.has("allow") || fields.has("skill");
    if fields.has("writes") && (is_confined || !is_process && !fields.has("uses")) {
        let message = "`writes` is for work without a sandbox";
        let help = "with `allow` or `skill`, name the files in `allow: {write: [...]}`";
        decoder.note(Diagnostic::new(Code::KeyUnknown, fields.key("writes"), message).help(help));
    }
    if is_process && fields.has("limits") && !is_confined {
        let message = "`limits` hold in a sandbox, and this step has none";
        let help = "add `allow`, which says what the step may reach";
        decoder.note(Diagnostic::new(Code::KeyMissing, fields.key("limits"), message).help(help));
    }
}
