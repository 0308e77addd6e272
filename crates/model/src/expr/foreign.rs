/// Returns advice on how to replace an expression of another tool; `None` if it is not known to be
/// of one.
pub(super) fn foreign_syntax_advice(text: &str) -> Option<&'static str> {
    let in_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let root: String = text.trim_start().chars().take_while(in_word).collect();
    Some(match root.as_str() {
        "github" | "gitea" | "inputs" | "vars" | "parameters" | "workflow" | "runner" | "job"
        | "strategy" => {
            "declare it in `params`, write `params.NAME`, and set it: `wf run PLAN -p NAME=VALUE`"
        }
        "env" | "environ" => {
            "environment variables cannot be read in expressions: declare it in `params` and write \
             `params.NAME`"
        }
        "needs" | "tasks" | "jobs" | "outputs" | "dependencies" => {
            "write `steps.STEP.outputs.NAME` or `steps.STEP.status`"
        }
        "loop" | "each" => "write `item`, `item_key` or `item_index`",
        "on_failure" | "failure" => "write `failed()`, or `failed('STEP')`",
        "on_success" | "success" => {
            "remove it: a step runs when all its dependencies have succeeded; or write \
             `succeeded()`"
        }
        "manual" => "add a step with `approve`, and list it in `depends_on` of this one",
        "contains" | "startsWith" | "endsWith" | "format" | "join" | "toJSON" | "fromJSON" | "hashFiles" => {
            "compute it in a step and declare it as an output: `steps.STEP.outputs.NAME == 'x'`"
        }
        _ => return None,
    })
}

/// True if the inside of braces reads something of another tool whose templates occur in scripts.
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

/// The prefixes of GitHub expressions.
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
