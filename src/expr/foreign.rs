/// What to write instead of something that an expression of another tool reads; `None` if it reads
/// nothing that is known to be of one.
pub(super) fn elsewhere(text: &str) -> Option<&'static str> {
    let in_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let root: String = text.trim_start().chars().take_while(in_word).collect();
    Some(match root.as_str() {
        "github" | "gitea" | "inputs" | "vars" | "parameters" | "workflow" | "runner" | "job"
        | "strategy" => {
            "declare it in `params`, write `params.NAME`, and give it: `wf run PLAN -p NAME=VALUE`"
        }
        "env" | "environ" => {
            "an expression reads no variables: declare it in `params` and write `params.NAME`"
        }
        "needs" | "tasks" | "jobs" | "outputs" | "dependencies" => {
            "write `steps.STEP.outputs.NAME` or `steps.STEP.status`"
        }
        "loop" | "each" => "write `item`, `item_key` or `item_index`",
        "on_failure" | "failure" => "write `failed()`, or `failed('STEP')`",
        "on_success" | "success" => {
            "leave it out: a step runs when all that it depends on has succeeded; or write `succeeded()`"
        }
        "manual" => "a step with `approve` asks people: let this one name it in `depends_on`",
        "contains" | "startsWith" | "endsWith" | "format" | "join" | "toJSON" | "fromJSON"
        | "hashFiles" => {
            "let a step compute it and give it as an output: `steps.STEP.outputs.NAME == 'x'`"
        }
        _ => return None,
    })
}

/// Whether the inside of braces reads something of another tool whose templates stand in scripts.
pub(super) fn is_foreign(inner: &str, has_dollar: bool) -> bool {
    let inner = inner.trim_start();
    let begins = |names: &[&str]| names.iter().any(|name| inner.starts_with(name));
    if has_dollar {
        let is_context = |name: &str| {
            let rest = inner.strip_prefix(name).unwrap_or("");
            rest.starts_with(['.', '[', '('])
        };
        CONTEXTS.iter().any(|name| is_context(name))
    } else {
        begins(&[
            "inputs.parameters.",
            "inputs.artifacts.",
            "outputs.parameters.",
            "workflow.",
            "tasks.",
            "pod.name",
        ])
    }
}

/// What expressions of GitHub begin with.
const CONTEXTS: [&str; 21] = [
    "github",
    "env",
    "vars",
    "job",
    "jobs",
    "steps",
    "runner",
    "secrets",
    "strategy",
    "matrix",
    "needs",
    "inputs",
    "success",
    "failure",
    "always",
    "cancelled",
    "contains",
    "format",
    "toJSON",
    "fromJSON",
    "hashFiles",
];
