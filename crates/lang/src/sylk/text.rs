use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    form::{SylkDag, SylkNode, SylkPolicy, SylkRetry},
    import::{SylkFile, SylkNames, writes},
};

/// Writes the dag and the plans of its nodes.
pub(super) fn files(dag: &SylkDag, names: &SylkNames, notes: &[String]) -> Vec<SylkFile> {
    let first = SylkFile { path: "dag.md".to_owned(), text: graph(dag, names, notes) };
    let plans = dag.nodes.iter().map(|node| {
        let path = format!("tasks/{}.md", names.nodes[&node.id]);
        SylkFile { path, text: plan(node, names) }
    });
    std::iter::once(first).chain(plans).collect()
}

/// A value on one line. JSON is YAML, except for characters unprintable in YAML.
fn inline(value: &Value) -> String {
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => format!("\\u{:04x}", c as u32),
        _ => c.to_string(),
    };
    value.to_string().chars().map(escaped).collect()
}

fn graph(dag: &SylkDag, names: &SylkNames, notes: &[String]) -> String {
    let mut text = format!("---\nkind: dag\nid: {}\nnodes:\n", names.dag);
    for node in &dag.nodes {
        let _ = writeln!(text, "  - {}", inline(&entry(node, names)));
    }
    if let Some(layers) = &dag.execution_order {
        let own = |ids: &Vec<String>| ids.iter().map(|id| names.nodes[id].clone()).collect::<Vec<_>>();
        let layers: Vec<_> = layers.iter().map(own).collect();
        let _ = writeln!(text, "execution_order: {}", inline(&json!(layers)));
    }
    let policy = policy(&dag.policy);
    if policy != json!({}) {
        let _ = writeln!(text, "policy: {}", inline(&policy));
    }
    text.push_str("---\n");
    if let Some(prompt) = &dag.prompt {
        text.push('\n');
        for line in prompt.lines() {
            let _ = writeln!(text, "{}", format!("> {line}").trim_end());
        }
    }
    text.push_str("\nImported from the JSON form of Sylk. No node has a check: its result is `reported` until you add `verify`.\n");
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {}", one_line(note));
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A node of the dag.
fn entry(node: &SylkNode, names: &SylkNames) -> Value {
    let own = &names.nodes[&node.id];
    let mut entry = json!({"id": own, "uses": format!("tasks/{own}.md")});
    if !node.depends_on.is_empty() {
        let ids: Vec<_> = node.depends_on.iter().map(|id| &names.nodes[id]).collect();
        entry["depends_on"] = json!(ids);
    }
    for id in &node.context.upstream_outputs {
        let id = &names.nodes[id];
        entry["with"][id] = json!(format!("{{{{ steps.{id}.outputs.result }}}}"));
    }
    if let Some(timeout) = node.metadata.timeout_ms {
        entry["timeout"] = json!(format!("{timeout}ms"));
    }
    if let Some(again) = &node.metadata.retry {
        entry["retry"] = retry(again);
    }
    entry
}

fn retry(retry: &SylkRetry) -> Value {
    let mut value = json!({"max": retry.max});
    if let Some(backoff) = retry.backoff_ms {
        value["backoff"] = json!(format!("{backoff}ms"));
    }
    value
}

fn policy(policy: &SylkPolicy) -> Value {
    let mut value = json!({});
    if let Some(most) = policy.max_concurrency {
        value["max_concurrency"] = json!(most);
    }
    if let Some(fast) = policy.fail_fast {
        value["fail_fast"] = json!(fast);
    }
    if let Some(again) = &policy.default_retry {
        value["default_retry"] = retry(again);
    }
    value
}

/// The plan of a node: one agent, with the prompt and the remarks beside it as its briefing.
fn plan(node: &SylkNode, names: &SylkNames) -> String {
    let id = names.nodes[&node.id].replace('_', "-");
    let mut text = format!("---\nkind: plan\nid: {}-{id}\n", names.dag);
    let upstream: Vec<_> = node.context.upstream_outputs.iter().map(|id| &names.nodes[id]).collect();
    let mut agent = json!({"role": names.roles[&node.agent], "tools": ["read", "list", "search"]});
    if writes(node) {
        agent["tools"] = json!(["read", "list", "search", "write", "edit"]);
    }
    if !upstream.is_empty() {
        let mut params = json!({});
        for name in &upstream {
            params[name.as_str()] = json!({"type": "string"});
            agent["with"][name.as_str()] = json!(format!("{{{{ params.{name} }}}}"));
        }
        let _ = writeln!(text, "params: {}", inline(&params));
    }
    let _ = writeln!(text, "agent: {}", inline(&agent));
    if writes(node) {
        let paths = &node.context.relevant_files;
        let may = if paths.is_empty() { json!(["."]) } else { json!(paths) };
        let _ = writeln!(text, "allow: {}", inline(&json!({"write": may})));
    }
    text.push_str("outputs: {result: {type: string}}\n---\n\n");
    let _ = writeln!(text, "{}", node.prompt.trim());
    if let Some(reason) = &node.context.reason {
        let _ = writeln!(text, "\nThe reason: {}", reason.trim());
    }
    list(&mut text, "Files that matter:", &node.context.relevant_files);
    list(&mut text, "Constraints:", &node.context.constraints);
    text.push_str("\nAnswer with `result`: what those who go on from here need to know.\n");
    text
}

fn list(text: &mut String, head: &str, entries: &[String]) {
    if !entries.is_empty() {
        let _ = writeln!(text, "\n{head}\n");
    }
    for entry in entries {
        let _ = writeln!(text, "- {}", one_line(entry));
    }
}
