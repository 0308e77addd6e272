use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bus::Act;
use crate::cli::execute::around;
use crate::cli::workspace::CONFIG;
use crate::cli::{Exit, Failure, Ui, Workspace, load, must_be_text, normal, relative};
use crate::config::Config;
use crate::diag::nearest;
use crate::exec::check::Ground;
use crate::exec::gate::{Site, ask};
use crate::exec::{Hands, Stop};
use crate::gate::{Context, Gated, Pass, Resolved, Ruling, chain, ruling};
use crate::mask::Mask;
use crate::model::Gate;
use crate::report::{Align, BOLD, DIM, Table, WARN, gated, gated_json, lane, word};
use crate::spec::{self, Disk, Files, GATES};

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct GateArgs {
    #[command(subcommand)]
    command: GateCommand,
}

#[derive(Subcommand, Debug)]
enum GateCommand {
    Test(TestArgs),
    List(ListArgs),
}

/// Ask a gate about a given context
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf gate test human-review
  wf gate test branch-allowed --context '{\"params\": {\"branch\": \"main\"}}'
  wf gate test gates/diff-size.md --context context.json --json

The context is a JSON object with what the gate may look at: params, message, response, tool_name,
tool_args and others. A gate that runs a program runs it, in a sandbox, as in a run.

Exit code 0 if it lets go on, 1 if it blocks, 5 if it asks for an approval, 3 if its file is wrong.")]
struct TestArgs {
    /// Its name in gates/, or its file
    #[arg(value_name = "GATE")]
    gate: String,
    /// A file, `-` for standard input, or the JSON itself
    #[arg(long, value_name = "CONTEXT", default_value = "{}")]
    context: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// List the gates of the workspace
#[derive(Args, Debug)]
struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Does what is asked of gates.
pub fn run(ui: &Ui, args: &GateArgs) -> Result<Exit, Failure> {
    match &args.command {
        GateCommand::Test(args) => test(ui, args),
        GateCommand::List(args) => list(ui, args),
    }
}

fn test(ui: &Ui, args: &TestArgs) -> Result<Exit, Failure> {
    let context = context(ui, &args.context)?;
    let path = find(ui, &args.gate)?;
    must_be_text(&path)?;
    let workspace = ui.workspace_of(path.parent().unwrap_or(&path));
    let gate = one(ui, &workspace, &path)?;
    let gated_by = asked(ui, &workspace, &gate, context)?;
    let ruling = ruling(&gated_by.results);
    let action = match &ruling {
        Ruling::Continue => "continue",
        Ruling::Block { .. } => "block",
        Ruling::Ask { .. } => "require_approval",
    };
    let tried = Act::GateTested {
        gate: gate.id.to_string(),
        action: action.into(),
    };
    crate::cli::watch::note(ui, tried);
    let leads_to: Vec<Resolved> = match &ruling {
        Ruling::Block { .. } => chain(&gate, &[]),
        _ => Vec::new(),
    };
    if args.json {
        let document = gated_json(&gate, &gated_by, &leads_to);
        ui.print_json(&format!("{document}\n"))?;
    } else {
        ui.print(&gated(&gate, &gated_by, &leads_to))?;
    }
    Ok(match ruling {
        Ruling::Continue => Exit::Ok,
        Ruling::Block { .. } => Exit::RunFailed,
        Ruling::Ask { .. } => Exit::Waiting,
    })
}

/// Reads what a gate is to be asked about.
fn context(ui: &Ui, said: &str) -> Result<Context, Failure> {
    let wrong = |message: String| Failure::new(Exit::Usage, message);
    let (text, from) = if said.trim_start().starts_with('{') {
        (said.to_owned(), "--context".to_owned())
    } else if said == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| wrong(format!("cannot read standard input: {error}")))?;
        (text, "standard input".to_owned())
    } else {
        let path = normal(&ui.env.cwd().join(said));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| wrong(format!("cannot read the context {said}: {error}")))?;
        (text, said.to_owned())
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(context)) => Ok(context),
        Ok(_) => Err(wrong(format!("the context of {from} is not a JSON object"))),
        Err(error) => Err(wrong(format!("the context of {from} is not JSON: {error}"))),
    }
}

/// The file of a gate, by its name or its path.
fn find(ui: &Ui, said: &str) -> Result<PathBuf, Failure> {
    let is_path = said.contains('/') || Path::new(said).extension().is_some();
    let path = if is_path {
        normal(&ui.env.cwd().join(said))
    } else {
        ui.workspace().root.join(GATES).join(format!("{said}.md"))
    };
    if path.is_file() {
        return Ok(path);
    }
    let shown = relative(&path, ui.env.cwd());
    let failure = Failure::new(Exit::Usage, format!("there is no gate {shown}"));
    let names = Disk::new(ui.workspace().root).names(GATES);
    let names = names.iter().filter_map(|name| name.strip_suffix(".md"));
    Err(match nearest(said, names).filter(|_| !is_path) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`wf gate list` lists those of the workspace"),
    })
}

/// Loads the file of a gate. What is wrong with it has been said when this fails.
fn one(ui: &Ui, workspace: &Workspace, path: &Path) -> Result<Arc<Gate>, Failure> {
    let files = Disk::new(&workspace.root);
    let loaded = load::checked(&files, &workspace.name(path), &[]);
    load::say(ui, &load::by_file(ui, workspace, &loaded));
    if loaded.has_errors() {
        return Err(Failure::silent(Exit::Invalid));
    }
    if loaded.root().is_some() {
        let shown = relative(path, ui.env.cwd());
        let kind = loaded.goal().map_or("plan", |_| "goal");
        let failure = Failure::new(Exit::Invalid, format!("{shown} is a {kind}, not a gate"));
        return Err(failure.hint(format!("`wf check {}` checks it", word(&shown))));
    }
    spec::lower_gate(&loaded).map_err(|error| Failure::new(Exit::Bug, error.to_string()))
}

/// Asks a gate, as a run would.
fn asked(
    ui: &Ui,
    workspace: &Workspace,
    gate: &Arc<Gate>,
    context: Context,
) -> Result<Gated, Failure> {
    let (config, _) = load::configuration(ui, &Disk::new(&workspace.root), workspace)?;
    let params = context.get("params").and_then(Value::as_object).cloned();
    let site = Site {
        ground: Ground {
            hands: Hands::Own,
            root: workspace.root.clone(),
            host: Arc::new(ui.env.host()),
            mask: Mask::default(),
            clock: ui.env.clock(),
            grace: config.defaults.policy.grace,
            params: params.unwrap_or_default(),
            around: around(ui, &config.sandbox, workspace, Vec::new()),
            pins: None,
            whiteouts: Vec::new(),
        },
        view: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(pass(gate, context, &site)))
}

async fn pass(gate: &Arc<Gate>, context: Context, site: &Site) -> Gated {
    let (_heard, stop) = watch::channel(Stop::No);
    let mut pass = Pass::new([gate], &[gate.on], context);
    while let Some((gate, context)) = pass.ask() {
        let began = site.ground.clock.now();
        let answer = ask(&gate, context, site, stop.clone()).await;
        let took = site.ground.clock.now().since(began).as_millis();
        pass.take(answer, u64::try_from(took).unwrap_or(u64::MAX));
    }
    pass.end()
}

/// A gate of the workspace, as far as its file can be read.
struct Listed {
    name: String,
    gate: Option<Arc<Gate>>,
    is_system: bool,
}

fn list(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let files = Disk::new(&workspace.root);
    let read = load::read_config(&files, CONFIG);
    let config = read.map_or_else(Config::default, |(config, _)| config);
    let system = config.gates();
    let names = files.names(GATES);
    let names = names.iter().filter_map(|name| name.strip_suffix(".md"));
    let listed = names.filter_map(|name| {
        let loaded = load::checked(&files, &format!("{GATES}/{name}.md"), &[]);
        let is_gate = loaded.root().is_none();
        is_gate.then(|| Listed {
            name: name.to_owned(),
            gate: spec::lower_gate(&loaded).ok(),
            is_system: system.iter().any(|id| id.as_str() == name),
        })
    });
    let listed: Vec<Listed> = listed.collect();
    if args.json {
        let all: Vec<Value> = listed.iter().map(Listed::json).collect();
        ui.print_json(&format!("{}\n", Value::Array(all)))?;
    } else if listed.is_empty() {
        ui.note_line(&format!("there are no gates in {GATES}/"));
    } else {
        ui.print(&table(&listed))?;
    }
    Ok(Exit::Ok)
}

fn table(listed: &[Listed]) -> String {
    let columns = ["gate", "on", "lane", "provider", "title"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for one in listed {
        let mut name = one.name.clone();
        if one.is_system {
            name += " (system)";
        }
        let plain = |text: &str| (text.to_owned(), anstyle::Style::new());
        let mut row = vec![(name, BOLD)];
        if let Some(gate) = &one.gate {
            row.extend([
                plain(gate.on.as_str()),
                plain(lane(gate.lane)),
                plain(gate.provider.as_str()),
                (gate.title.clone().unwrap_or_default(), DIM),
            ]);
        } else {
            row.extend([plain("?"), plain("?"), plain("?")]);
            row.push((format!("wrong: wf check {GATES}/{}.md", one.name), WARN));
        }
        table.row(row);
    }
    table.render()
}

impl Listed {
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
