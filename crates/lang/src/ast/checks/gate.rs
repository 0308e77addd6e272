use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    EscalationSpec, ExpectationSpec, GuardrailConfig, LlmConfig, PredicateKind, PredicateRule, clamp,
    rule::UndecodedConfig,
};
use crate::{
    ast::parts::{ApprovalNeedsSpec, ShellSpec, sound},
    decode::{
        DecodeSpec, DurationText, JsonPathText, MappingFields, OrderedEntries, SpecDecoder, record, words,
    },
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    name::{EnvName, GateId, Name},
    source::Spanned,
};
use wf_model::{GateLane, GateTrigger, expr::Template};

record! {
    /// A gate: a rule at a trigger point that continues, blocks, or asks for an approval.
    pub struct GateSpec as "a gate" {
        /// The kind of the file; a gate inside a plan has none.
        optional kind: Spanned<GateKind>,
        /// Its id: the name of its file, lower-case words joined by hyphens.
        required id: Spanned<GateId>,
        /// A title of one line.
        optional title: String,
        /// The trigger point.
        required on: Spanned<GateTrigger>,
        /// The provider of the answer.
        required provider: Spanned<GateProviderKind>,
        /// The check of a predicate; for a script, the rule about its output.
        optional check: Spanned<PredicateKind>,
        /// A JSON path to the value that is checked: in the context or, for a script, in its
        /// output. The subject of the trigger if absent.
        optional extract: Spanned<JsonPathText>,
        /// The configuration of the check, the guardrail or the model.
        optional config: UndecodedConfig,
        /// A script, passed to a shell unchanged.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell.
        optional exec: Spanned<Vec<Template>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<ShellSpec>>,
        /// Variables that the script sees besides `PATH`, `HOME`, the parameters and the subject of
        /// the gate.
        default env: OrderedEntries<EnvName, Template>,
        /// The time limit of the script: 30 s if absent.
        optional timeout: Spanned<DurationText>,
        /// The expected result of the script; unless it has an exit code, that must be 0.
        optional expect: Box<ExpectationSpec>,
        /// The lane, to decide or to advise: `policy` if absent.
        optional lane: Spanned<GateLane>,
        /// True to let a model decide, which only advises otherwise.
        optional promote_to_policy: Spanned<bool>,
        /// The name of the escalation that a block leads to.
        optional on_block: Spanned<Name>,
        /// Its own escalations, by name.
        default escalation: OrderedEntries<Name, EscalationSpec>,
        /// The required approvals if it asks for them.
        optional approval: ApprovalNeedsSpec,
    }
    aside {
        /// The configuration of its provider; `None` if that could not be read.
        provider_config: Option<GateProviderConfig>,
        /// The text of its file.
        prose: String,
    }
    finish check_gate;
}

keywords! {
    listed
    /// The kind of a gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GateKind {
        /// `gate`
        Gate = "gate",
    }
}

words!(GateKind, GateTrigger, GateLane);

keywords! {
    listed
    /// The provider of a gate's answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GateProviderKind {
        /// `predicate`
        Predicate = "predicate",
        /// `script`
        Script = "script",
        /// `guardrail`
        Guardrail = "guardrail",
        /// `llm`
        Llm = "llm",
    }
}

words!(GateProviderKind);

/// The configuration of a provider.
#[derive(Clone, Debug)]
pub enum GateProviderConfig {
    /// A rule about a value.
    Predicate(PredicateRule),
    /// The rule for the output of a script, if the script itself does not decide.
    Script(Option<PredicateRule>),
    /// Detectors.
    Guardrail(GuardrailConfig),
    /// The prompt of a model; `None`: the text of the file.
    Llm(Option<String>),
}

/// A gate a plan names, or contains.
#[derive(Clone, Debug)]
pub enum GateRef {
    /// The name of a file in `gates/`.
    Named(Spanned<GateId>),
    /// The gate itself.
    Inline(Box<GateSpec>),
}

impl GateRef {
    /// Returns the id of the gate, with its location.
    pub fn id(&self) -> &Spanned<GateId> {
        match self {
            Self::Named(id) => id,
            Self::Inline(gate) => &gate.id,
        }
    }
}

impl DecodeSpec for GateRef {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if !matches!(node.value, YamlValue::Map(_)) {
            return Spanned::decode(node, decoder).map(Self::Named);
        }
        let gate = GateSpec::decode(node, decoder)?;
        if let Some(kind) = &gate.kind {
            let message = "an inline gate has no `kind`";
            decoder.emit(Diagnostic::new(Code::KeyUnknown, kind.span, message));
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
        let gate = generator.subschema_for::<GateSpec>();
        json_schema!({ "anyOf": [name, gate] })
    }
}

/// Notes keys that contradict each other, and reads the configuration.
fn check_gate(gate: &mut GateSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(gate.timeout.as_ref(), decoder);
    sound::check_reserved_names(&gate.env, decoder);
    let argv = gate.exec.as_ref().map(|exec| exec.len());
    sound::check_program(argv, fields.key("exec"), decoder);
    let provider = gate.provider.value;
    check_provider_keys(provider, fields, decoder);
    check_lane_keys(gate, fields, decoder);
    if gate.expect.as_ref().is_some_and(|expect| expect.tests.is_some()) {
        let message = "a gate reads no report of tests";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("expect"), message);
        decoder.emit(mistake.with_help("put `tests` into a check of the step"));
    }
    constant(gate, decoder);
    gate.provider_config = match provider {
        GateProviderKind::Predicate => rule(gate, fields, decoder).map(GateProviderConfig::Predicate),
        GateProviderKind::Script => script(gate, fields, decoder),
        GateProviderKind::Guardrail => fields.require("config", decoder).map(GateProviderConfig::Guardrail),
        GateProviderKind::Llm => {
            let config: Option<LlmConfig> = fields.take("config", decoder);
            Some(GateProviderConfig::Llm(config.and_then(|config| config.prompt)))
        }
    };
    clamp::check_clamp(gate, decoder);
}

/// The keys that only some providers have, with those providers.
const OWNERS: &[(&str, &[GateProviderKind], &str)] = {
    use GateProviderKind::{Guardrail, Llm, Predicate, Script};
    &[
        ("check", &[Predicate, Script], "a predicate or a script"),
        ("run", &[Script], "a script"),
        ("exec", &[Script], "a script"),
        ("shell", &[Script], "a script"),
        ("env", &[Script], "a script"),
        ("timeout", &[Script], "a script"),
        ("expect", &[Script], "a script"),
        ("lane", &[Predicate, Script, Guardrail], "a gate other than an llm gate"),
        ("promote_to_policy", &[Llm], "an llm gate"),
    ]
};

fn check_provider_keys(
    provider: GateProviderKind,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (key, owners, who) in OWNERS {
        if fields.has(key) && !owners.contains(&provider) {
            let message = format!("`{key}` is only valid for {who}");
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.emit(match *key {
                "lane" => mistake.with_help("an llm gate is advisory unless `promote_to_policy: true`"),
                "promote_to_policy" => mistake.with_help("write `lane: policy` or `lane: quality`"),
                _ => mistake.with_help("remove it, or choose another `provider`"),
            });
        }
    }
}

/// Notes keys that only a gate deciding can use.
fn check_lane_keys(gate: &GateSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let promoted = gate.promote_to_policy.as_ref().is_some_and(|yes| yes.value);
    let is_advice = match gate.provider.value {
        GateProviderKind::Llm => !promoted,
        _ => gate.lane.as_ref().is_some_and(|lane| lane.value == GateLane::Quality),
    };
    for key in ["on_block", "escalation", "approval"] {
        if is_advice && fields.has(key) {
            let message = format!("`{key}` has no effect in an advisory gate");
            decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key(key), message));
        }
    }
}

/// Notes templates: a script finds all its values in its environment.
fn constant(gate: &GateSpec, decoder: &mut SpecDecoder<'_>) {
    let env = gate.env.iter().map(|(_, value)| value);
    let argv = gate.exec.iter().flat_map(|argv| &argv.value);
    for read in argv.chain(env).flat_map(Template::refs) {
        let message = "templates are not supported in a gate";
        let mistake = Diagnostic::new(Code::ValueWrong, read.span, message);
        let help = "its script reads the subject from \"$WF_GATE_VALUE\" and \"$WF_GATE_CONTEXT\", \
                    and parameters from \"$WF_PARAM_NAME\"";
        decoder.emit(mistake.with_help(help));
    }
}

fn rule(
    gate: &GateSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) -> Option<PredicateRule> {
    if !fields.has("check") {
        let message = "a predicate requires the key `check`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, gate.provider.span, message));
    }
    PredicateRule::read(gate.check.as_ref()?, fields, decoder)
}

/// Checks that a script runs one thing, and at most one rule applies to its output.
fn script(
    gate: &GateSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) -> Option<GateProviderConfig> {
    let at = gate.provider.span;
    if fields.has("run") && fields.has("exec") {
        let message = format!("gate `{}` has both `run` and `exec`", gate.id.value);
        decoder.emit(Diagnostic::new(Code::ExecutorTwice, at, message).with_help("keep one of them"));
    } else if !fields.has("run") && !fields.has("exec") {
        let message = format!("gate `{}` has no command", gate.id.value);
        decoder.emit(Diagnostic::new(Code::ExecutorMissing, at, message).with_help("add `run` or `exec`"));
    }
    if fields.has("shell") && !fields.has("run") {
        let message = "`shell` is only valid for a gate with `run`";
        decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key("shell"), message));
    }
    let with_check = fields.has("check");
    for key in ["extract", "config"] {
        if fields.has(key) && !with_check {
            let message = format!("`{key}` of a script requires a `check` that evaluates it");
            decoder.emit(Diagnostic::new(Code::KeyMissing, fields.key(key), message));
        }
    }
    let Some(check) = &gate.check else {
        return (!with_check).then_some(GateProviderConfig::Script(None));
    };
    let asks = check.value == PredicateKind::ApprovalAlways;
    if !fields.has("extract") && !asks {
        let message = "the `check` of a script requires `extract`, which selects the value to check";
        let mistake = Diagnostic::new(Code::KeyMissing, check.span, message);
        decoder.emit(mistake.with_help("write `extract: $.NAME` for a printed line `NAME: VALUE`"));
    }
    PredicateRule::read(check, fields, decoder).map(|rule| GateProviderConfig::Script(Some(rule)))
}

impl GateSpec {
    /// Attaches the text of its file, the prompt of a model without another one.
    pub(crate) fn attach_body(&mut self, body: &str, decoder: &mut SpecDecoder<'_>) {
        body.trim().clone_into(&mut self.prose);
        self.is_asked(decoder);
    }

    /// Notes a model without a prompt.
    fn is_asked(&self, decoder: &mut SpecDecoder<'_>) {
        if matches!(&self.provider_config, Some(GateProviderConfig::Llm(None))) && self.prose.is_empty() {
            let message = "an llm gate requires a `prompt`";
            let mistake = Diagnostic::new(Code::KeyMissing, self.provider.span, message);
            let help = "add it to `config`, or as the body of the gate's file";
            decoder.emit(mistake.with_help(help));
        }
    }
}
