use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::Ui;
use wf_app::{
    CONFIG, Caller as _, CliExitCode, CommandError, Host, Workspace,
    config::WorkspaceConfig,
    gates::{EvaluatedGate, evaluate_gate},
    load, normalize_path, relative_path, require_utf8,
};
use wf_base::{
    diag::nearest,
    exact_json,
    untrusted::{BOLD, DIM, WARN, shell_word},
};
use wf_core::gate::{GateContext, GateRuling, ResolvedEscalation, chain};
use wf_lang::{self as lang, DiskFiles, GATES, SpecFileSource};
use wf_model::Gate;
use wf_report::{ColumnAlign, TextTable, gate_result_json, gate_result_text, lane};

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct GateArgs {
    #[command(subcommand)]
    command: GateCommand,
}

#[derive(Subcommand, Debug)]
enum GateCommand {
    Test(GateTestArgs),
    List(GateListArgs),
}

/// Evaluate a gate in a given context
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf gate test human-review
  wf gate test branch-allowed --context '{\"params\": {\"branch\": \"main\"}}'
  wf gate test gates/diff-size.md --context context.json --json

The context is a JSON object with the values that gates read: params, message, response,
tool_name, tool_args and others. A gate that runs a program runs it in a sandbox, as during a run.

Exit code 0 if the gate passes, 1 if it blocks, 5 if it requires an approval, 3 if its file is
invalid.")]
struct GateTestArgs {
    /// Name of a gate in gates/, or its file
    #[arg(value_name = "GATE")]
    gate: String,
    /// A file, `-` for standard input, or inline JSON
    #[arg(long, value_name = "CONTEXT", default_value = "{}")]
    context: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// List the gates of the workspace
#[derive(Args, Debug)]
struct GateListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &GateArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        GateCommand::Test(args) => test(ui, args),
        GateCommand::List(args) => list(ui, args),
    }
}

fn test(ui: &Ui, args: &GateTestArgs) -> Result<CliExitCode, CommandError> {
    let context = context(&ui.host, &args.context)?;
    let path = find_gate(&ui.host, &args.gate)?;
    require_utf8(&path)?;
    let workspace = ui.host.workspace_of(path.parent().unwrap_or(&path));
    let gate = load_gate(ui, &workspace, &path)?;
    let EvaluatedGate { outcome, ruling } = evaluate_gate(ui, &workspace, &gate, context)?;
    let leads_to: Vec<ResolvedEscalation> = match &ruling {
        GateRuling::Block { .. } => chain(&gate, &[]),
        _ => Vec::new(),
    };
    if args.json {
        let document = gate_result_json(&gate, &outcome, &leads_to);
        ui.print_json(&format!("{document}\n"))?;
    } else {
        ui.print(&gate_result_text(&gate, &outcome, &leads_to))?;
    }
    Ok(match ruling {
        GateRuling::Continue => CliExitCode::Ok,
        GateRuling::Block { .. } => CliExitCode::RunFailed,
        GateRuling::Ask { .. } => CliExitCode::Waiting,
    })
}

/// Reads the context for the evaluation of a gate.
fn context(host: &Host, context_text: &str) -> Result<GateContext, CommandError> {
    let wrong = |message: String| CommandError::new(CliExitCode::Usage, message);
    let (text, from) = if context_text.trim_start().starts_with('{') {
        (context_text.to_owned(), "--context".to_owned())
    } else if context_text == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| wrong(format!("cannot read standard input: {error}")))?;
        (text, "standard input".to_owned())
    } else {
        let path = normalize_path(&host.cwd().join(context_text));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| wrong(format!("cannot read the context {context_text}: {error}")))?;
        (text, context_text.to_owned())
    };
    match exact_json::read(&text) {
        Ok(Value::Object(context)) => Ok(context),
        Ok(_) => Err(wrong(format!("the context of {from} is not a JSON object"))),
        Err(error) => Err(wrong(format!("the context of {from} is not JSON: {error}"))),
    }
}

/// Returns the file of a gate, by its name or its path.
fn find_gate(host: &Host, text: &str) -> Result<PathBuf, CommandError> {
    let is_path = text.contains('/') || Path::new(text).extension().is_some();
    let path = if is_path {
        normalize_path(&host.cwd().join(text))
    } else {
        host.workspace().root.join(GATES).join(format!("{text}.md"))
    };
    if path.is_file() {
        return Ok(path);
    }
    let shown = relative_path(&path, host.cwd());
    let error = CommandError::new(CliExitCode::Usage, format!("gate not found: {shown}"));
    let names = DiskFiles::new(host.workspace().root).names(GATES);
    let names = names.iter().filter_map(|name| name.strip_suffix(".md"));
    Err(match nearest(text, names).filter(|_| !is_path) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`wf gate list` lists those of the workspace"),
    })
}

/// Loads the file of a gate. On failure its errors have been printed.
fn load_gate(ui: &Ui, workspace: &Workspace, path: &Path) -> Result<Arc<Gate>, CommandError> {
    let files = DiskFiles::new(&workspace.root);
    let loaded = load::load_with_gates(&files, &workspace.name(path), &[]);
    ui.diagnostics(&load::diagnostics_by_file(&ui.host, workspace, &loaded));
    if loaded.has_errors() {
        return Err(CommandError::reported(CliExitCode::Invalid));
    }
    if loaded.root().is_some() {
        let shown = relative_path(path, ui.host.cwd());
        let kind = loaded.goal().map_or("plan", |_| "goal");
        let error = CommandError::new(CliExitCode::Invalid, format!("{shown} is a {kind}, not a gate"));
        return Err(error.hint(format!("`wf check {}` checks it", shell_word(&shown))));
    }
    lang::lower_gate(&loaded).map_err(|error| CommandError::new(CliExitCode::Bug, error.to_string()))
}

/// A gate of the workspace, as far as its file is readable.
struct GateListing {
    name: String,
    gate: Option<Arc<Gate>>,
    is_system: bool,
}

fn list(ui: &Ui, args: &GateListArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let files = DiskFiles::new(&workspace.root);
    let read = load::read_config(&files, CONFIG);
    let config = read.map_or_else(WorkspaceConfig::default, |(config, _)| config);
    let system = config.gates();
    let names = files.names(GATES);
    let names = names.iter().filter_map(|name| name.strip_suffix(".md"));
    let listed = names.filter_map(|name| {
        let loaded = load::load_with_gates(&files, &format!("{GATES}/{name}.md"), &[]);
        let is_gate = loaded.root().is_none();
        is_gate.then(|| GateListing {
            name: name.to_owned(),
            gate: lang::lower_gate(&loaded).ok(),
            is_system: system.iter().any(|id| id.as_str() == name),
        })
    });
    let listed: Vec<GateListing> = listed.collect();
    if args.json {
        let gates: Vec<Value> = listed.iter().map(GateListing::json).collect();
        ui.print_json(&format!("{}\n", Value::Array(gates)))?;
    } else if listed.is_empty() {
        ui.print_info_line(&format!("no gates in {GATES}/"));
    } else {
        ui.print(&table(&listed))?;
    }
    Ok(CliExitCode::Ok)
}

fn table(listed: &[GateListing]) -> String {
    let columns = ["gate", "on", "lane", "provider", "title"];
    let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
    for listing in listed {
        let mut name = listing.name.clone();
        if listing.is_system {
            name += " (system)";
        }
        let plain = |text: &str| (text.to_owned(), anstyle::Style::new());
        let mut row = vec![(name, BOLD)];
        if let Some(gate) = &listing.gate {
            row.extend([
                plain(gate.on.as_str()),
                plain(lane(gate.lane)),
                plain(gate.provider.as_str()),
                (gate.title.clone().unwrap_or_default(), DIM),
            ]);
        } else {
            row.extend([plain("?"), plain("?"), plain("?")]);
            row.push((format!("invalid: wf check {GATES}/{}.md", listing.name), WARN));
        }
        table.row(row);
    }
    table.render()
}

impl GateListing {
    fn json(&self) -> Value {
        let gate = self.gate.as_ref();
        json!({
            "gate": self.name,
            "path": format!("{GATES}/{}.md", self.name),
            "system": self.is_system,
            "valid": gate.is_some(),
            "on": gate.map(|gate| gate.on),
            "lane": gate.map(|gate| gate.lane),
            "provider": gate.map(|gate| gate.provider.as_str()),
            "title": gate.and_then(|gate| gate.title.clone()),
        })
    }
}
