use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};

use super::AutonomyFile;
use crate::name::GateId;
use crate::source::Spanned;
use crate::spec::ast::{Policy, Replan, Retry};
use crate::spec::decode::{Decode, Decoder, Period, ReadPath, Size, record, word, words};
use crate::spec::yaml::{Node, Yaml};

record! {
    /// The configuration of a workspace. Every key may be absent.
    pub struct ConfigFile as "the configuration" {
        /// How steps share the machine and what a failure does, where a plan does not say.
        optional policy: Policy,
        /// When a failed attempt is followed by another, where a step does not say.
        optional retry: Retry,
        /// The numbers of plans that say `replan`, where they do not say them. It does not make
        /// runs of other plans try again.
        optional replan: Replan,
        /// What is safe when the machine loses power: `full` if absent.
        default durability: Durability,
        /// Whether checks, and steps with `allow`, run in a sandbox: `on` if absent. What they
        /// may read besides the workspace can be added.
        optional sandbox: SandboxFile,
        /// What is kept of the output of attempts.
        optional logs: LogsFile,
        /// The names of gates in `gates/` that hold for every plan, before its own.
        default gates: Vec<Spanned<GateId>>,
        /// How long finished runs are kept; for ever if absent.
        optional retention: RetentionFile,
        /// How the auditor tells what it sees.
        optional audit: AuditFile,
        /// When it is proposed to let a goal do more, or less, by itself.
        optional autonomy: AutonomyFile,
        /// Patterns of variables of the environment that every step sees.
        default env_pass: Vec<Spanned<String>>,
    }
}

record! {
    /// What is kept of the output of attempts.
    pub struct LogsFile as "the logs" {
        /// How much is kept of one attempt, for example `64MiB`: its beginning and its end.
        optional max_bytes: Size,
    }
}

record! {
    /// How long finished runs are kept.
    pub struct RetentionFile as "the retention" {
        /// The age at which a finished run goes.
        optional max_age: Period,
        /// How many finished runs are kept.
        optional max_runs: u32,
    }
}

record! {
    /// How the auditor tells what it sees.
    pub struct AuditFile as "the audit" {
        /// After how much activity it writes a report: `5m` if absent.
        optional window: Period,
    }
}

/// What is safe when the machine loses power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything that was decided.
    #[default]
    Full,
    /// All but the last moments; faster.
    Normal,
}

words!(Durability {
    "full" => Self::Full,
    "normal" => Self::Normal,
});

/// Whether there is a sandbox.
#[derive(Clone, Debug)]
pub enum SandboxFile {
    /// There is, or there is none.
    Is(bool),
    /// There is, with more to read.
    With(SandboxReads),
}

record! {
    /// What every check, and every step with `allow`, may read besides the workspace.
    pub struct SandboxReads as "the sandbox" {
        /// Files and folders: relative to the workspace, absolute, or `~/…`.
        required read: Vec<Spanned<ReadPath>>,
    }
}

impl Decode for SandboxFile {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if let Yaml::Map(_) = node.value {
            return SandboxReads::decode(node, decoder).map(Self::With);
        }
        word(node, &[("on", true), ("off", false)], &[], decoder).map(Self::Is)
    }
}

impl JsonSchema for SandboxFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SandboxFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let reads = generator.subschema_for::<SandboxReads>();
        json_schema!({ "anyOf": [{ "enum": ["on", "off"] }, reads] })
    }
}
