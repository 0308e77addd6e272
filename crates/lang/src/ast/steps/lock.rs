use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

use crate::decode::{DecodeSpec, SpecDecoder, record, words};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::source::Spanned;
use wf_model::LockBusyPolicy;

record! {
    /// A lock, of which one step at a time has it.
    pub struct LockSpec as "a lock" {
        /// Its name.
        required lock: Spanned<String>,
        /// The reaction when a step of another run has it: `queue` waits, `newest` waits and lets runs that wait for
        /// longer be cancelled, and `refuse` fails. `queue` if absent.
        default when_busy: LockBusyPolicy,
    }
    instead {
        "group" => "write the name as `lock: NAME`",
        "cancel-in-progress" => "write `when_busy: newest`: a run that waits is cancelled for a newer one, and the one that has the lock goes on",
        "name" => "write the name as `lock: NAME`",
    }
}

/// The lock that a step holds while it runs: its name, or a mapping.
#[derive(Clone, Debug)]
pub struct ConcurrencySpec(pub LockSpec);

words!(LockBusyPolicy);

impl DecodeSpec for ConcurrencySpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if matches!(node.value, YamlValue::Map(_)) {
            return LockSpec::decode(node, decoder).map(Self);
        }
        let lock = Spanned::decode(node, decoder)?;
        Some(Self(LockSpec { lock, when_busy: LockBusyPolicy::default() }))
    }
}

impl JsonSchema for ConcurrencySpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Concurrency".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lock = generator.subschema_for::<LockSpec>();
        json_schema!({ "anyOf": [{ "type": "string" }, lock] })
    }
}
