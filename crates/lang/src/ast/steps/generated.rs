use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    ast::parts::{AllowSpec, BudgetSpec, sound},
    decode::{DecodeSpec, FetchHostText, MappingFields, SpecDecoder, record, words},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::{Span, Spanned},
};
use wf_model::{AgentTool, EnvelopeChecks, EnvelopeExecutor, expr::Template};

/// The largest `max_steps`.
const MOST_STEPS: u32 = 1000;

/// The plan a step uses.
#[derive(Clone, Debug)]
pub enum UsesSpec {
    /// A file, by its path, relative to this one.
    File(Spanned<String>),
    /// A text the run makes.
    Text(Box<GeneratedSpec>),
}

record! {
    /// A plan that the run makes, and the limits of what it may be.
    pub struct GeneratedSpec as "the `uses` of a generated plan" {
        /// The text of the plan, a workflow file: a template that reads an output of an earlier step. If absent, the
        /// `planner` may write one at the end of a round; until then the step does nothing.
        optional text: Spanned<Template>,
        /// The limits of what the plan may be. Anything not named is refused.
        optional within: EnvelopeSpec,
    }
    finish check_text;
}

record! {
    /// The limits of what a generated plan may be. Anything not named is refused.
    pub struct EnvelopeSpec as "the `within` of a generated plan" {
        /// The permissions that its steps may have: only to read the workspace if absent.
        optional allow: AllowSpec,
        /// The executors that its steps may have: `run` and `exec` if absent.
        optional executors: Vec<Spanned<EnvelopeExecutor>>,
        /// The plans that it may use or dispatch: paths, relative to this file.
        default plans: Vec<Spanned<String>>,
        /// The roles that its agents and judges may have.
        default roles: Vec<Spanned<Name>>,
        /// The tools that its agents may have.
        default tools: Vec<Spanned<AgentTool>>,
        /// The MCP servers that its agents may use, by their names in `wf.yaml`.
        default mcp: Vec<Spanned<Name>>,
        /// The hosts from which its agents may fetch pages.
        default fetch: Vec<Spanned<FetchHostText>>,
        /// The maximum number of its steps: 20 if absent.
        optional max_steps: Spanned<u32>,
        /// The limits on its resources: those of this plan if absent.
        optional budget: BudgetSpec,
        /// The steps that need a check of their own, in `verify`, `inspect` or `test`: `required` for each that may
        /// write files or use the network; `optional` if absent.
        default checks: EnvelopeChecks,
        /// True if its text may be from outside: `false` if absent.
        default untrusted: bool,
    }
    instead {
        "secrets" => "a generated plan has no secrets",
        "skills" => "a generated plan has no skills",
        "timeout" => "write `timeout` on the step: it is the time limit of the generated plan",
        "gates" => "the gates of this plan hold in the generated plan, too",
        "net" => "write `net: true` inside `allow`",
        "network" => "write `net: true` inside `allow`",
        "read" => "write `read` inside `allow`",
        "write" => "write `write` inside `allow`",
    }
    finish check_envelope;
}

words!(EnvelopeExecutor);

words!(EnvelopeChecks);

impl DecodeSpec for UsesSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if matches!(node.value, YamlValue::Map(_)) {
            return GeneratedSpec::decode(node, decoder).map(Box::new).map(Self::Text);
        }
        Spanned::decode(node, decoder).map(Self::File)
    }
}

impl JsonSchema for UsesSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Uses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let generated = generator.subschema_for::<GeneratedSpec>();
        json_schema!({ "anyOf": [{ "type": "string" }, generated] })
    }
}

/// Notes a text written in the plan itself: it is no plan of the run.
fn check_text(generated: &mut GeneratedSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if let Some(text) = generated.text.as_ref().filter(|text| text.value.refs().is_empty()) {
        let message = "`text` reads nothing from the run";
        let mistake = Diagnostic::new(Code::ValueWrong, text.span, message);
        decoder.emit(mistake.with_help(
            "write a template, `text: \"{{ steps.write.outputs.plan }}\"`, or put the plan into a file: `uses: PLAN.md`",
        ));
    }
}

/// Notes limits that contradict each other, or allow nothing.
fn check_envelope(
    envelope: &mut EnvelopeSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    if let Some(max) = envelope.max_steps.as_ref().filter(|max| !(1..=MOST_STEPS).contains(&max.value)) {
        let message = format!("`max_steps` must be a number from 1 to {MOST_STEPS}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, max.span, message));
    }
    let allows = |envelope_executor| envelope.executors().any(|executor| executor == envelope_executor);
    let executors = envelope.executors.as_deref().unwrap_or_default();
    sound::check_duplicates("executor", executors, decoder);
    sound::check_duplicates("tool", &envelope.tools, decoder);
    sound::check_duplicates("role", &envelope.roles, decoder);
    sound::check_duplicates("plan", &envelope.plans, decoder);
    sound::check_duplicates("MCP server", &envelope.mcp, decoder);
    let mut lacks = |span: Span, message: &str, help: &str| {
        decoder.emit(Diagnostic::new(Code::KeyMissing, span, message).with_help(help));
    };
    if envelope.executors.as_ref().is_some_and(Vec::is_empty) {
        lacks(
            fields.key("executors"),
            "`executors` is empty, so no plan is allowed",
            "list executors: `[run]`",
        );
    }
    if allows(EnvelopeExecutor::Agent) && envelope.roles.is_empty() {
        let help = "list the roles that they may have: `roles: [executor]`";
        lacks(fields.key("executors"), "the executor `agent` needs `roles`", help);
    }
    if allows(EnvelopeExecutor::Uses) && envelope.plans.is_empty() {
        let help = "list the plans that may be used: `plans: [PATH]`";
        lacks(fields.key("executors"), "the executor `uses` needs `plans`", help);
    }
    for key in ["tools", "mcp", "fetch"] {
        if fields.has(key) && !allows(EnvelopeExecutor::Agent) {
            let message = format!("`{key}` needs the executor `agent`");
            lacks(fields.key(key), &message, "add `agent` to `executors`, or remove the key");
        }
    }
}

impl EnvelopeSpec {
    /// Returns the executors it allows.
    pub fn executors(&self) -> impl Iterator<Item = EnvelopeExecutor> {
        let named = self.executors.iter().flatten().map(|executor| executor.value);
        let usual = wf_model::PlanEnvelope::EXECUTORS.into_iter().filter(|_| self.executors.is_none());
        named.chain(usual)
    }
}
