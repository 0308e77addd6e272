use std::sync::Arc;

use super::models;
use crate::{InMemoryFiles, load};
use wf_base::name::Name;
use wf_model::{McpServer, ModelApi, ModelDefinition, ModelTable};

const PLAN: &str = "---\nkind: plan\nid: p\nreplan: {}\nplanner: {role: planer}\nsteps:\n  \
    - {id: a, agent: {role: executr}, alternatives: [{id: b, agent: {model: string}}]}\n  \
    - {id: c, agent: {role: strong}}\n  - {id: d, agent: {model: executor}}\n  \
    - {id: e, agent: {model: gpt}}\n  - {id: f, agent: {role: judge}}\n  \
    - {id: g, agent: {role: executor}, alternatives: [{id: h, target: x}]}\n---\n\
    ## a\nx\n## c\nx\n## d\nx\n## e\nx\n## f\nx\n## g\nx\n";

fn known() -> ModelTable {
    let name = |text: &str| Name::parse(text).unwrap();
    let strong = ModelDefinition {
        name: name("strong"),
        api: ModelApi::Openai,
        model: "m".into(),
        base_url: None,
        key: None,
        context_window: ModelDefinition::CONTEXT_WINDOW,
        max_output: ModelDefinition::MAX_OUTPUT,
        price: None,
        timeout: ModelDefinition::TIMEOUT,
        fallback: Vec::new(),
    };
    let roles = ["executor", "planner"].map(|role| (name(role), name("strong")));
    let files = McpServer {
        name: name("files"),
        command: vec!["x".into()],
        tools: vec!["read".into()],
        digest: None,
    };
    ModelTable {
        models: [(name("strong"), strong)].into(),
        roles: roles.into(),
        servers: [(name("files"), files)].into(),
    }
}

fn found(text: &str, known: Option<ModelTable>) -> Vec<String> {
    let files = InMemoryFiles([("plan.md".to_owned(), text.as_bytes().to_vec())].into());
    let mut loaded = load(&files, "plan.md");
    assert_eq!(loaded.diagnostics, []);
    models(&mut loaded, || known.map(Arc::new));
    let told = loaded.diagnostics.iter().map(|(_, found)| {
        let at = loaded.sources[0].slice(found.span);
        format!("{at}: {} [{}]", found.message, found.help.as_deref().unwrap_or(""))
    });
    told.collect()
}

#[test]
fn names_that_wf_yaml_lacks_are_told_once_each() {
    let told = found(PLAN, Some(known()));
    assert_eq!(
        told,
        [
            "planer: wf.yaml gives no model to the role `planer` [did you mean `planner`?]",
            "executr: wf.yaml gives no model to the role `executr` [did you mean `executor`?]",
            "string: wf.yaml defines no model `string` [did you mean `strong`?]",
            "strong: wf.yaml gives no model to the role `strong` [it is a model: write `model: strong`]",
            "executor: wf.yaml defines no model `executor` [it is a role: write `role: executor`]",
            "gpt: wf.yaml defines no model `gpt` [add it to wf.yaml: `models: {gpt: {api: …, model: …}}`]",
            "judge: wf.yaml gives no model to the role `judge` [add it to wf.yaml: `roles: {judge: strong}`]",
        ]
    );
}

#[test]
fn a_server_is_one_of_wf_yaml() {
    let plan = "---\nkind: plan\nid: p\nsteps:\n  - {id: a, agent: {role: executor, mcp: [flies, files]}}\n---\n## a\nx\n";
    let told = found(plan, Some(known()));
    assert_eq!(told, ["flies: wf.yaml defines no MCP server `flies` [did you mean `files`?]"]);
    let twice = plan.replace("flies, files", "files, files");
    let files = InMemoryFiles([("plan.md".to_owned(), twice.into_bytes())].into());
    let told = load(&files, "plan.md").diagnostics;
    assert!(
        told.iter().any(|(_, found)| found.message == "the MCP server `files` is listed twice"),
        "{told:#?}"
    );
}

#[test]
fn nothing_is_told_of_what_is_not_known() {
    assert!(found(PLAN, None).is_empty());
    let none = "---\nkind: plan\nid: p\nsteps: [{id: a, run: x}]\n---\n";
    let files = InMemoryFiles([("plan.md".to_owned(), none.as_bytes().to_vec())].into());
    models(&mut load(&files, "plan.md"), || panic!("no model is named"));
}
