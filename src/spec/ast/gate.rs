use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::rule::AnyConfig;
use super::{CheckWord, Escalation, Expect, GuardrailConfig, LlmConfig, Needs, Rule, Shell, sound};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::{Lane, Trigger};
use crate::name::{EnvName, GateId, Name};
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, Entries, Fields, JsonPath, Period, record, words};
use crate::spec::yaml::{Node, Yaml};

record! {
    /// A gate: a rule at a trigger point that lets go on, blocks, or asks for an approval.
    pub struct Gate as "a gate" {
        /// What the file is; a gate inside of a plan does not say it.
        optional kind: Spanned<GateKind>,
        /// Its id: the name of its file, lower-case words joined by hyphens.
        required id: Spanned<GateId>,
        /// A line for people.
        optional title: String,
        /// When it is asked.
        required on: Spanned<Trigger>,
        /// Who answers.
        required provider: Spanned<ProviderWord>,
        /// What a predicate looks for. Of a script, the rule about what it printed.
        optional check: Spanned<CheckWord>,
        /// A JSON path into the context or, of a script, into what that printed: what is looked
        /// at. What the trigger is about if absent.
        optional extract: Spanned<JsonPath>,
        /// What the check, the guardrail or the model needs to know.
        optional config: AnyConfig,
        /// A script, given to a shell as it stands.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell.
        optional exec: Spanned<Vec<Template>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<Shell>>,
        /// Variables that the script sees besides `PATH`, `HOME`, the parameters and what it is
        /// asked about.
        default env: Entries<EnvName, Template>,
        /// The longest the script may take: 30 s if absent.
        optional timeout: Spanned<Period>,
        /// What the script must leave; if it does not speak of the exit code, that must be 0.
        optional expect: Box<Expect>,
        /// Whether it decides or advises: `policy` if absent.
        optional lane: Spanned<Lane>,
        /// Whether a model decides, which else only advises.
        optional promote_to_policy: Spanned<bool>,
        /// The name of the escalation that a block leads to.
        optional on_block: Spanned<Name>,
        /// Its own escalations, by name.
        default escalation: Entries<Name, Escalation>,
        /// Who must agree where it asks for that.
        optional approval: Needs,
    }
    aside {
        /// What its provider is configured with; `None` if that could not be read.
        setting: Option<Setting>,
        /// The text of its file.
        prose: String,
    }
    finish agrees;
}

/// The kind of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateKind {
    /// `gate`
    Gate,
}

words!(GateKind { "gate" => Self::Gate });

words!(known Trigger {
    "before_run" => Self::BeforeRun,
    "on_input" => Self::OnInput,
    "before_step" => Self::BeforeStep,
    "on_tool_call" => Self::OnToolCall,
    "after_step" => Self::AfterStep,
    "on_output" => Self::OnOutput,
    "before_publish" => Self::BeforePublish,
});

words!(known Lane {
    "policy" => Self::Policy,
    "quality" => Self::Quality,
});

/// Who answers for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderWord {
    /// `predicate`
    Predicate,
    /// `script`
    Script,
    /// `guardrail`
    Guardrail,
    /// `llm`
    Llm,
}

words!(ProviderWord {
    "predicate" => Self::Predicate,
    "script" => Self::Script,
    "guardrail" => Self::Guardrail,
    "llm" => Self::Llm,
});

/// What a provider is configured with.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A rule about a value.
    Predicate(Rule),
    /// What follows from what a script printed, if it is not for the script to say.
    Script(Option<Rule>),
    /// Detectors.
    Guardrail(GuardrailConfig),
    /// What a model is asked; `None`: the text of the file.
    Llm(Option<String>),
}

/// A gate that a plan names, or has in itself.
#[derive(Clone, Debug)]
pub enum GateRef {
    /// The name of a file in `gates/`.
    Named(Spanned<GateId>),
    /// The gate itself.
    Inline(Box<Gate>),
}

impl GateRef {
    /// The id of the gate, and where it is written.
    pub fn id(&self) -> &Spanned<GateId> {
        match self {
            Self::Named(id) => id,
            Self::Inline(gate) => &gate.id,
        }
    }
}

impl Decode for GateRef {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if !matches!(node.value, Yaml::Map(_)) {
            return Spanned::decode(node, decoder).map(Self::Named);
        }
        let gate = Gate::decode(node, decoder)?;
        if let Some(kind) = &gate.kind {
            let message = "a gate inside of a plan has no `kind`";
            decoder.note(Diagnostic::new(Code::KeyUnknown, kind.span, message));
        }
        gate.is_asked(decoder);
        Some(Self::Inline(Box::new(gate)))
    }
}

impl JsonSchema for GateRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GateRef".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<GateId>();
        let gate = generator.subschema_for::<Gate>();
        json_schema!({ "anyOf": [name, gate] })
    }
}

/// Notes keys that do not go together, and reads the configuration.
fn agrees(gate: &mut Gate, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(gate.timeout.as_ref(), decoder);
    sound::own_names(&gate.env, decoder);
    let argv = gate.exec.as_ref().map(|exec| exec.len());
    sound::some_program(argv, fields.key("exec"), decoder);
    let provider = gate.provider.value;
    belongs(provider, fields, decoder);
    advises(gate, fields, decoder);
    constant(gate, decoder);
    gate.setting = match provider {
        ProviderWord::Predicate => rule(gate, fields, decoder).map(Setting::Predicate),
        ProviderWord::Script => script(gate, fields, decoder),
        ProviderWord::Guardrail => fields.require("config", decoder).map(Setting::Guardrail),
        ProviderWord::Llm => {
            let config: Option<LlmConfig> = fields.take("config", decoder);
            Some(Setting::Llm(config.and_then(|config| config.prompt)))
        }
    };
}

/// The keys that only some providers have, and which those are.
const OWNERS: &[(&str, &[ProviderWord], &str)] = {
    use ProviderWord::{Guardrail, Llm, Predicate, Script};
    &[
        ("check", &[Predicate, Script], "a predicate or a script"),
        ("run", &[Script], "a script"),
        ("exec", &[Script], "a script"),
        ("shell", &[Script], "a script"),
        ("env", &[Script], "a script"),
        ("timeout", &[Script], "a script"),
        ("expect", &[Script], "a script"),
        (
            "lane",
            &[Predicate, Script, Guardrail],
            "a gate that is no model",
        ),
        ("promote_to_policy", &[Llm], "an llm gate"),
    ]
};

fn belongs(provider: ProviderWord, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    for (key, owners, who) in OWNERS {
        if fields.has(key) && !owners.contains(&provider) {
            let message = format!("only {who} has `{key}`");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.note(match *key {
                "lane" => mistake.help("a model advises, unless `promote_to_policy: true`"),
                "promote_to_policy" => mistake.help("write `lane: policy` or `lane: quality`"),
                _ => mistake.help("remove it, or choose another `provider`"),
            });
        }
    }
}

/// Notes what only a gate that decides can lead to.
fn advises(gate: &Gate, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let promoted = gate.promote_to_policy.as_ref().is_some_and(|yes| yes.value);
    let is_advice = match gate.provider.value {
        ProviderWord::Llm => !promoted,
        _ => gate
            .lane
            .as_ref()
            .is_some_and(|lane| lane.value == Lane::Quality),
    };
    for key in ["on_block", "escalation", "approval"] {
        if is_advice && fields.has(key) {
            let message = format!("a gate that only advises has no use for `{key}`");
            decoder.note(Diagnostic::new(Code::KeyUnknown, fields.key(key), message));
        }
    }
}

/// Notes templates: a script finds all that it may know in its environment.
fn constant(gate: &Gate, decoder: &mut Decoder<'_>) {
    let env = gate.env.iter().map(|(_, value)| value);
    let argv = gate.exec.iter().flat_map(|argv| &argv.value);
    for read in argv.chain(env).flat_map(Template::refs) {
        let message = "a gate has no templates";
        let mistake = Diagnostic::new(Code::ValueWrong, read.span, message);
        let help = "its script finds what it is asked about in \"$WF_GATE_VALUE\" and \
                    \"$WF_GATE_CONTEXT\", and parameters in \"$WF_PARAM_NAME\"";
        decoder.note(mistake.help(help));
    }
}

fn rule(gate: &Gate, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) -> Option<Rule> {
    if !fields.has("check") {
        let message = "a predicate needs the key `check`";
        decoder.note(Diagnostic::new(
            Code::KeyMissing,
            gate.provider.span,
            message,
        ));
    }
    Rule::read(gate.check.as_ref()?, fields, decoder)
}

/// A script runs one thing, and what it printed is looked at by a rule or not at all.
fn script(gate: &Gate, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) -> Option<Setting> {
    let at = gate.provider.span;
    if fields.has("run") && fields.has("exec") {
        let message = format!("gate `{}` has both `run` and `exec`", gate.id.value);
        decoder.note(Diagnostic::new(Code::ExecutorTwice, at, message).help("keep one of them"));
    } else if !fields.has("run") && !fields.has("exec") {
        let message = format!("gate `{}` runs nothing", gate.id.value);
        decoder
            .note(Diagnostic::new(Code::ExecutorMissing, at, message).help("add `run` or `exec`"));
    }
    if fields.has("shell") && !fields.has("run") {
        let message = "only a gate with `run` has `shell`";
        decoder.note(Diagnostic::new(
            Code::KeyUnknown,
            fields.key("shell"),
            message,
        ));
    }
    let with_check = fields.has("check");
    for key in ["extract", "config"] {
        if fields.has(key) && !with_check {
            let message = format!("`{key}` of a script needs a `check`, which looks at it");
            decoder.note(Diagnostic::new(Code::KeyMissing, fields.key(key), message));
        }
    }
    let Some(check) = &gate.check else {
        return (!with_check).then_some(Setting::Script(None));
    };
    let asks = check.value == CheckWord::ApprovalAlways;
    if !fields.has("extract") && !asks {
        let message = "the `check` of a script needs `extract`, which says what it looks at";
        let mistake = Diagnostic::new(Code::KeyMissing, check.span, message);
        decoder
            .note(mistake.help("write `extract: $.NAME` for a line `NAME: VALUE` that it prints"));
    }
    Rule::read(check, fields, decoder).map(|rule| Setting::Script(Some(rule)))
}

impl Gate {
    /// Takes the text of its file. A model that is not asked anything else is asked that.
    pub(crate) fn attach(&mut self, body: &str, decoder: &mut Decoder<'_>) {
        body.trim().clone_into(&mut self.prose);
        self.is_asked(decoder);
    }

    /// Notes a model that is asked nothing.
    fn is_asked(&self, decoder: &mut Decoder<'_>) {
        if matches!(&self.setting, Some(Setting::Llm(None))) && self.prose.is_empty() {
            let message = "an llm gate needs a `prompt`";
            let mistake = Diagnostic::new(Code::KeyMissing, self.provider.span, message);
            let help = "write it in `config`, or as the text of the gate's file";
            decoder.note(mistake.help(help));
        }
    }
}
