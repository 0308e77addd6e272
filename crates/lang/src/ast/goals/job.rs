use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    ast::steps::StepSpec,
    decode::{ArgumentTemplate, DecodeSpec, OrderedEntries, SpecDecoder, record},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{name::Name, source::Spanned};

/// The id of the step using the plan of a job.
const STEP: &str = "run";

/// The plan a goal without checks runs: the path of its file, with its parameters if it has some.
#[derive(Clone, Debug)]
pub struct JobSpec(JobPlanSpec);

record! {
    /// The plan that a goal runs at each scheduled time.
    pub struct JobPlanSpec as "the `run` of a goal" {
        /// The path of the plan's file, relative to this one.
        required uses: Spanned<String>,
        /// The parameters of the plan.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
    }
    instead {
        "plan" => "write `uses: PLAN.md`",
        "steps" => "put the steps into a plan: `uses: PLAN.md`",
    }
}

impl JobSpec {
    /// Returns the one step using the plan.
    pub fn to_steps(&self) -> Vec<StepSpec> {
        let JobPlanSpec { uses, with } = &self.0;
        StepSpec::using(STEP, uses, with).into_iter().collect()
    }
}

impl DecodeSpec for JobSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if matches!(node.value, YamlValue::Map(_)) {
            return JobPlanSpec::decode(node, decoder).map(Self);
        }
        let uses = Spanned::decode(node, decoder)?;
        Some(Self(JobPlanSpec { uses, with: OrderedEntries::default() }))
    }
}

impl JsonSchema for JobSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Job".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let plan = generator.subschema_for::<JobPlanSpec>();
        json_schema!({ "anyOf": [{ "type": "string" }, plan] })
    }
}
