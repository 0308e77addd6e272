use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::agent::{ToolDefinition, tool_definition};
use wf_model::{AgentDispatch, AgentTool, ChildPlan};

/// Returns the definition of `dispatch` for a model: with the plans it may start, and their parameters.
pub fn dispatch_definition(dispatch: &AgentDispatch) -> ToolDefinition {
    let mut definition = tool_definition(AgentTool::Dispatch);
    let ids: Vec<&str> = dispatch.plans.iter().map(|child| child.plan.id().as_str()).collect();
    if let Some(plan) = definition.arguments_schema.pointer_mut("/properties/plan") {
        plan["enum"] = json!(ids);
    }
    definition.description.push_str(" The plans are:");
    for child in &dispatch.plans {
        describe(child, &mut definition.description);
    }
    let AgentDispatch { max, max_parallel, .. } = dispatch;
    let _ = write!(definition.description, "\nAt most {max} runs in all, and {max_parallel} at a time.");
    definition
}

/// Writes the title of a plan and its parameters.
fn describe(child: &ChildPlan, text: &mut String) {
    let parts = child.plan.parts();
    let _ = write!(text, "\n- {}", parts.id);
    if let Some(title) = &parts.title {
        let _ = write!(text, ": {title}");
    }
    for param in &parts.params {
        let need = if param.default.is_none() { "required" } else { "optional" };
        let _ = write!(text, "\n  - {} ({need}): {}", param.name, param.schema.text());
        if let Some(about) = &param.description {
            let _ = write!(text, " {}", Value::String(about.clone()));
        }
    }
}
