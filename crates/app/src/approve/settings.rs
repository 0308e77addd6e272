use serde_json::Value;

use super::accepted::bound_config;
use crate::specs::load::LoadedPlan;
use wf_report::consent::WorkspaceSettings;

/// The keys of the configuration with entries for plans to use by name.
const NAMED: [&str; 4] = ["models", "roles", "mcp", "backends"];

/// Returns the settings of the workspace as they apply to a plan, or to all of a goal, for its approvers.
pub fn workspace_settings(loaded: &LoadedPlan) -> WorkspaceSettings<'_> {
    let bound = bound_config(loaded);
    let mut named = Vec::new();
    for key in NAMED {
        add_lines(key, bound.get(key), &mut named);
    }
    WorkspaceSettings {
        is_sandboxed: loaded.config.sandbox.on,
        readable_paths: &loaded.config.sandbox.read,
        env_passthrough: &loaded.config.env_pass,
        named,
    }
}

/// Adds the values below a key, each with its path of keys.
fn add_lines(key: &str, value: Option<&Value>, lines: &mut Vec<(String, String)>) {
    match value {
        None => {}
        Some(Value::Object(entries)) => {
            for (name, entry) in entries {
                add_lines(&format!("{key}.{name}"), Some(entry), lines);
            }
        }
        Some(Value::String(text)) => lines.push((key.to_owned(), text.clone())),
        Some(other) => lines.push((key.to_owned(), other.to_string())),
    }
}
