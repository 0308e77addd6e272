use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use wf_base::{keyword::Keyword as _, keywords};

use crate::arguments::{
    CheckArguments, LogsArguments, NoArguments, PlanArguments, RunsArguments, StartArguments,
    StatusArguments, VerifyArguments,
};

keywords! {
    listed
    /// A tool of the server.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum McpTool {
        /// Lists plans and goals.
        List = "list",
        /// Checks files.
        Check = "check",
        /// Draws a plan.
        Graph = "graph",
        /// Shows what a run would do.
        Preview = "preview",
        /// Starts a run.
        Run = "run",
        /// Shows a run.
        Status = "status",
        /// Lists runs.
        Runs = "runs",
        /// Shows the output of steps.
        Logs = "logs",
        /// Runs the checks of a run again.
        Verify = "verify",
        /// Lists pending approvals.
        Pending = "pending",
    }
}

impl McpTool {
    /// Returns the description for models.
    fn description(self) -> &'static str {
        match self {
            Self::List => "Lists the plans and goals of the workspace, with their ids.",
            Self::Check => {
                "Checks plans, gates, skills and the configuration without running them, and returns every \
                 mistake with its file, line, reason and remedy. Call it after each change of a plan."
            }
            Self::Graph => "Draws the steps of a plan and their order as a Mermaid diagram.",
            Self::Preview => {
                "Shows what a run of a plan would do, in which order, with these parameters. Runs nothing."
            }
            Self::Run => {
                "Starts a run of a plan and returns its id at once; `status` follows it. The run goes on when this \
                 server ends. A person must have approved the plan (`wf approve`); no tool can."
            }
            Self::Status => {
                "Shows a run: its state, its steps with what was verified, failed checks, pending approvals, \
                 artifacts, cost. With `wait_seconds` it waits until the run ends or needs an approval."
            }
            Self::Runs => "Lists the latest runs, newest first.",
            Self::Logs => "Shows the output of the steps of a run: of each, the last attempt.",
            Self::Verify => {
                "Runs the checks of a finished run again and says which results still hold. Records nothing."
            }
            Self::Pending => {
                "Lists the approvals that runs wait for, with the command by which a person answers each. No tool \
                 can answer."
            }
        }
    }

    /// True if a call changes nothing but what the checks of a plan may.
    fn is_read_only(self) -> bool {
        !matches!(self, Self::Run | Self::Verify)
    }

    fn input_schema(self) -> Value {
        match self {
            Self::List | Self::Pending => schema::<NoArguments>(),
            Self::Check => schema::<CheckArguments>(),
            Self::Graph => schema::<PlanArguments>(),
            Self::Preview | Self::Run => schema::<StartArguments>(),
            Self::Status => schema::<StatusArguments>(),
            Self::Runs => schema::<RunsArguments>(),
            Self::Logs => schema::<LogsArguments>(),
            Self::Verify => schema::<VerifyArguments>(),
        }
    }
}

/// Returns the schema of the arguments of a tool.
fn schema<T: JsonSchema>() -> Value {
    let mut schema = schema_for!(T).to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "$schema" | "title" | "description"));
        // Some clients insist on it.
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Returns the tools as `tools/list` shows them.
pub(crate) fn tool_list() -> Value {
    let shown = |tool: &McpTool| {
        json!({
            "name": tool.as_str(),
            "description": tool.description(),
            "inputSchema": tool.input_schema(),
            "annotations": {
                "readOnlyHint": tool.is_read_only(),
                "openWorldHint": !tool.is_read_only(),
            },
        })
    };
    McpTool::ALL.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::tool_list;

    #[test]
    fn each_tool_describes_its_arguments() {
        let list = tool_list();
        for tool in list.as_array().unwrap() {
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object", "{tool}");
            assert_eq!(schema["additionalProperties"], false, "{tool}");
            for (name, parameter) in schema["properties"].as_object().unwrap() {
                assert!(parameter["description"].is_string(), "{name} of {tool} has no description");
            }
        }
    }

    #[test]
    fn no_tool_decides_for_people() {
        for tool in tool_list().as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            for word in ["approve", "deny", "sign", "key", "accept"] {
                assert!(!name.contains(word), "{name}");
            }
        }
    }
}
