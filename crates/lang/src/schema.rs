use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::ast::{DagSpec, GateSpec, GoalSpec, PersonaFileSpec, PlanSpec, SkillExtension};

/// The JSON Schema of a plan's front matter.
pub fn plan_schema() -> Value {
    schema_of::<PlanSpec>("A plan of wf", "plan")
}

/// The JSON Schema of a dag's front matter.
pub fn dag_schema() -> Value {
    schema_of::<DagSpec>("A dag of wf", "dag")
}

/// The JSON Schema of a goal's front matter.
pub fn goal_schema() -> Value {
    schema_of::<GoalSpec>("A goal of wf", "goal")
}

/// The JSON Schema of a gate's front matter.
pub fn gate_schema() -> Value {
    let mut schema = schema_of::<GateSpec>("A gate of wf", "gate");
    // A gate inside a plan has no `kind`; a file does.
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.insert(0, "kind".into());
    }
    schema
}

/// The JSON Schema of a persona's front matter.
pub fn persona_schema() -> Value {
    schema_of::<PersonaFileSpec>("A persona of wf", "persona")
}

/// The JSON Schema of a skill's own data for wf: the text of `wf` in its `metadata`.
pub fn skill_schema() -> Value {
    schema_of::<SkillExtension>("What a skill says to wf", "skill")
}

/// The JSON Schema (draft 2020-12) of a type, for the file `schemas/NAME.schema.json`. It refers to no other file, so
/// an editor can be given this one alone: the definition of a step is in those of plans and of goals.
pub fn schema_of<T: JsonSchema>(title: &str, name: &str) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema.insert("$id".into(), format!("{name}.schema.json").into());
    schema.to_value()
}
