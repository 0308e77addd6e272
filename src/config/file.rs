use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::source::Spanned;
use crate::spec::ast::{Policy, Retry};
use crate::spec::decode::{Decode, Decoder, Period, record, words};
use crate::spec::yaml::{Node, Yaml};

record! {
    /// The configuration of a workspace. Every key may be absent.
    pub struct ConfigFile as "the configuration" {
        /// How steps share the machine and what a failure does, where a plan does not say.
        optional policy: Policy,
        /// When a failed attempt is followed by another, where a step does not say.
        optional retry: Retry,
        /// What is safe when the machine loses power: `full` if absent.
        default durability: Durability,
        /// Where checks run: `off` if absent, which is without a sandbox.
        default sandbox: Sandbox,
        /// What is kept of the output of attempts.
        optional logs: LogsFile,
        /// How long finished runs are kept; for ever if absent.
        optional retention: RetentionFile,
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

/// Where checks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Without a sandbox.
    #[default]
    Off,
}

words!(Sandbox { "off" => Self::Off } later { "on" });

/// A number of bytes, alone or with a unit: `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Size {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(unit).map(Self)
    }
}

impl Decode for Size {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let size = match &node.value {
            Yaml::Number(number) => number.as_u64().map(Self),
            Yaml::Text(text) => Self::parse(text),
            _ => {
                decoder.wrong_type(node, "a size such as 64MiB");
                return None;
            }
        };
        if size.is_none() {
            decoder.wrong_value(node, "a size is written like 4096, 512KiB, 64MiB or 1GiB");
        }
        size
    }
}

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(KiB|MiB|GiB)$" },
            ]
        })
    }
}
