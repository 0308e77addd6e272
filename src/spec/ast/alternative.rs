use super::{Allow, Http, Limits, Retry, Shell, SkillUse, Step, sound};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::name::{EnvName, Name};
use crate::source::Spanned;
use crate::spec::decode::{Argument, Decoder, Entries, Fields, Period, record};

record! {
    /// Another declared way to do a step: what it says replaces what the step says. Its criteria,
    /// outputs and dependencies are those of the step.
    pub struct Alternative as "an alternative" {
        /// Its id, unique in the step.
        required id: Spanned<Name>,
        /// What does the work; with another executor and no `tool`, it is a tool of its own.
        optional tool: Spanned<String>,
        /// What the work is done on: an address, a path, a host.
        optional target: Spanned<String>,
        /// A script, given to a shell as it stands; it can contain no template.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell; each may be a template.
        optional exec: Spanned<Vec<Spanned<Template>>>,
        /// A script of a skill, in the sandbox.
        optional skill: Spanned<SkillUse>,
        /// A request.
        optional http: Spanned<Http>,
        /// Another plan, as a nested run: the path of its file, relative to this one.
        optional uses: Spanned<String>,
        /// The parameters of the plan it uses.
        default with: Entries<Name, Spanned<Argument>>,
        /// The shell that reads the script.
        optional shell: Spanned<Shell>,
        /// Environment variables, in addition to those of the step or in their place.
        default env: Entries<EnvName, Template>,
        /// Where it runs, relative to the workspace.
        optional cwd: Spanned<Template>,
        /// The longest an attempt may take.
        optional timeout: Spanned<Period>,
        /// When a failed attempt is followed by another.
        optional retry: Retry,
        /// What it may reach: with it, the step runs in a sandbox.
        optional allow: Allow,
        /// How much it may use in its sandbox.
        optional limits: Limits,
    }
    instead {
        "verify" => "an alternative is judged by the checks of its step",
        "inspect" => "an alternative is judged by the checks of its step",
        "test" => "an alternative is judged by the checks of its step",
        "loops" => "an alternative is sent back as often as its step",
        "outputs" => "an alternative gives the outputs of its step",
        "artifacts" => "an alternative leaves the artifacts of its step",
        "writes" => "an alternative writes what its step writes: name it there",
        "depends_on" => "an alternative waits for what its step waits for",
        "when" => "an alternative runs when the controller chooses it",
        "approve" => "a decision has no other way; make it a step of its own",
        "wait" => "a wait has no other way; make it a step of its own",
    }
    finish differs;
}

/// Notes what makes an alternative none.
fn differs(made: &mut Alternative, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(made.timeout.as_ref(), decoder);
    sound::own_names(&made.env, decoder);
    sound::some_program(
        made.exec.as_ref().map(|exec| exec.len()),
        fields.key("exec"),
        decoder,
    );
    some_word(made.tool.as_ref(), decoder);
    some_word(made.target.as_ref(), decoder);
    let executors: Vec<&str> = ["run", "exec", "skill", "http", "uses"]
        .into_iter()
        .filter(|key| fields.has(key))
        .collect();
    if let [first, second, ..] = executors.as_slice() {
        let id = &made.id.value;
        let message = format!("alternative `{id}` has `{first}` and `{second}`");
        let mistake = Diagnostic::new(Code::ExecutorTwice, made.id.span, message);
        decoder.note(mistake.help("keep one of them"));
    }
    if fields.has("with") && !fields.has("uses") {
        let message = "only an alternative with `uses` has `with`";
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("with"), message);
        decoder.note(mistake.help("name the plan with `uses`, or leave `with` out"));
    }
    let others = Alternative::KEYS.iter().filter(|key| **key != "id");
    if others.clone().all(|key| !fields.has(key)) {
        let message = format!(
            "alternative `{}` says nothing that the step does not",
            made.id.value
        );
        let mistake = Diagnostic::new(Code::KeyMissing, made.id.span, message);
        decoder.note(mistake.help("give it another `target`, `tool`, `run`, `env` or `timeout`"));
    }
}

/// Notes a tool or a target that is no word, or is to be computed: it is compared as it stands.
pub(super) fn some_word(word: Option<&Spanned<String>>, decoder: &mut Decoder<'_>) {
    let Some(word) = word else { return };
    if word.value.trim().is_empty() {
        let message = "it needs a word to be known by";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.note(mistake.help("write the word, or leave the key out"));
    } else if word.value.contains("{{") {
        let message = "`tool` and `target` take no template: they are compared as they stand";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.note(mistake.help("write the word itself"));
    } else if word.value.chars().any(char::is_control) {
        let message = "`tool` and `target` are words on one line, without control characters";
        let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
        decoder.note(mistake.help("write what can be read"));
    }
}

impl Alternative {
    /// Whether it does the work with something else.
    pub fn has_executor(&self) -> bool {
        let is_process = self.run.is_some() || self.exec.is_some() || self.skill.is_some();
        is_process || self.http.is_some() || self.uses.is_some()
    }

    /// The step as it is done in this way.
    pub(super) fn way(&self, step: &Step) -> Step {
        let mut way = step.clone();
        way.alternatives = Vec::new();
        if self.has_executor() {
            way.run.clone_from(&self.run);
            way.exec = self.exec.clone().map(Box::new);
            way.skill = self.skill.clone().map(Box::new);
            way.http = self.http.clone().map(Box::new);
            way.uses = self.uses.clone().map(Box::new);
            way.with = self.with.clone();
            way.shell = None;
            way.tool = None;
        }
        take(&mut way.tool, self.tool.as_ref());
        take(&mut way.target, self.target.as_ref());
        take(&mut way.shell, self.shell.as_ref());
        take(&mut way.cwd, self.cwd.as_ref());
        take(&mut way.timeout, self.timeout.as_ref());
        take(&mut way.retry, self.retry.as_ref());
        take(&mut way.allow, self.allow.as_ref());
        take(&mut way.limits, self.limits.as_ref());
        way.env = step.env.overlaid(&self.env);
        way
    }
}

/// Replaces what a step says by what an alternative says, if it says something.
fn take<T: Clone>(to: &mut Option<Box<T>>, from: Option<&T>) {
    if let Some(from) = from {
        *to = Some(Box::new(from.clone()));
    }
}
