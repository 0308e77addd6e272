use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};

use super::{
    AutonomySection, BackendSection, LimitsSection, McpServerSection, ModelSection, PlanningSection,
    SuggestionsSection,
};
use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    name::{GateId, Name},
    source::Spanned,
};
use wf_lang::{
    ast::{PolicySpec, ReplanSpec, RetrySpec},
    decode::{
        ByteSize, DecodeSpec, DurationText, MappingFields, OrderedEntries, ReadablePath, SpecDecoder, one_of,
        record, words,
    },
    yaml::{YamlNode, YamlValue},
};

record! {
    /// The configuration of a workspace. Every key may be absent.
    pub struct ConfigFile as "the configuration" {
        /// The defaults for how steps share the machine and for the effect of a failure.
        optional policy: PolicySpec,
        /// The limits on the concurrent steps of all runs: none if absent.
        optional limits: LimitsSection,
        /// The default retry of a failed attempt, for steps without one.
        optional retry: RetrySpec,
        /// The default numbers for plans with `replan`. It does not enable rework in other
        /// plans.
        optional replan: ReplanSpec,
        /// The durability of data at a loss of power: `full` if absent.
        default durability: DurabilitySetting,
        /// The sandbox of checks and of steps with `allow`: `on` if absent. Further readable paths
        /// besides the workspace can be added.
        optional sandbox: SandboxSection,
        /// The limits on the stored output of attempts.
        optional logs: LogsSection,
        /// The names of gates in `gates/` for every plan, before its own.
        default gates: Vec<Spanned<GateId>>,
        /// The limits on finished runs: those of 90 days are kept, and 10 GiB of stored artifacts, if absent.
        optional retention: RetentionSection,
        /// The reports of the auditor.
        optional audit: AuditSection,
        /// The thresholds for proposing more, or less, autonomy for a goal.
        optional autonomy: AutonomySection,
        /// The limits on the kept suggestions of runs.
        optional suggestions: SuggestionsSection,
        /// The limits on the calls of each `wf plan`: none if absent.
        optional planning: PlanningSection,
        /// The things memory learns besides outcomes: none if absent.
        optional memory: MemorySection,
        /// The models agents and gates may use, by name.
        default models: OrderedEntries<Name, ModelSection>,
        /// The model of each role: `executor`, `judge` and others named by plans.
        default roles: OrderedEntries<Name, Spanned<Name>>,
        /// The MCP servers with tools for agents, by name.
        default mcp: OrderedEntries<Name, McpServerSection>,
        /// The places where runs can go on without this machine, by name: for `wf run --on NAME`.
        default backends: OrderedEntries<Name, BackendSection>,
        /// Patterns of environment variables every step sees.
        default env_pass: Vec<Spanned<String>>,
    }
}

record! {
    /// The limits on the stored output of attempts.
    pub struct LogsSection as "the logs" {
        /// The size stored per attempt, for example `64MiB`: its beginning and its end.
        optional max_bytes: ByteSize,
    }
}

record! {
    /// The limits on finished runs.
    pub struct RetentionSection as "the retention" {
        /// The age of a finished run at its deletion.
        optional max_age: DurationText,
        /// The number of finished runs to keep, from 1.
        optional max_runs: Spanned<u32>,
        /// The size of stored artifacts and cached results beyond which those of the oldest finished runs are deleted, for
        /// example `10GiB`; the runs stay.
        optional max_artifact_bytes: ByteSize,
    }
    finish check_retention;
}

fn check_retention(
    section: &mut RetentionSection,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    if let Some(most) = section.max_runs.as_ref().filter(|most| most.value == 0) {
        let mistake = Diagnostic::new(
            Code::ValueWrong,
            most.span,
            "with 0 no run would be kept, not even the last one",
        );
        decoder.emit(
            mistake.with_help("keep at least 1; to delete all that ended some time ago, write `max_age`"),
        );
    }
}

record! {
    /// The things memory learns besides outcomes.
    pub struct MemorySection as "the memory" {
        /// True if it learns preferences from decisions of people: `false` if absent.
        default preferences: bool,
    }
}

record! {
    /// The reports of the auditor.
    pub struct AuditSection as "the audit" {
        /// The amount of activity before a report: `5m` if absent.
        optional window: DurationText,
    }
}

keywords! {
    listed
    /// The durability of data at a loss of power.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DurabilitySetting {
        /// Every decision.
        #[default]
        Full = "full",
        /// All but the last moments; faster.
        Normal = "normal",
    }
}

words!(DurabilitySetting);

/// The sandbox setting.
#[derive(Clone, Debug)]
pub enum SandboxSection {
    /// On or off.
    Is(bool),
    /// On, with additional readable paths.
    With(SandboxReadPaths),
}

record! {
    /// The paths every check, and every step with `allow`, may read besides the workspace.
    pub struct SandboxReadPaths as "the sandbox" {
        /// Files and folders: relative to the workspace, absolute, or `~/…`.
        required read: Vec<Spanned<ReadablePath>>,
    }
}

impl DecodeSpec for SandboxSection {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if let YamlValue::Map(_) = node.value {
            return SandboxReadPaths::decode(node, decoder).map(Self::With);
        }
        one_of(node, &["on", "off"], decoder).map(|word| Self::Is(word == "on"))
    }
}

impl JsonSchema for SandboxSection {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SandboxFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let reads = generator.subschema_for::<SandboxReadPaths>();
        json_schema!({ "anyOf": [{ "enum": ["on", "off"] }, reads] })
    }
}
