use std::io;

use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, keep::own_program};
use wf_mcp::{WfProgram, serve};

/// Serve this workspace to an MCP client over standard input and output
#[derive(Args, Debug)]
#[command(after_help = "\
A coding agent starts it and calls its tools: list, check, graph, preview, run, status, runs,
logs, verify, pending. Runs continue when it exits. A plan must have been approved in advance (wf
approve): no tool approves, signs or changes keys. See docs/mcp.md.

Examples:
  wf mcp serve                                 of the workspace of this directory
  claude mcp add wf -- wf -C /path mcp serve   for a coding agent")]
pub struct McpServeArgs {}

/// Serves a client until it closes standard input.
pub fn run(ui: &Ui, _args: &McpServeArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let program = WfProgram { program: own_program(), root: workspace.root, state: workspace.state };
    let send = |line: &str| ui.print_json(line).is_ok();
    serve(&program, io::stdin().lock(), &send).map_err(|error| {
        CommandError::new(CliExitCode::Usage, format!("cannot read standard input: {error}"))
    })?;
    Ok(CliExitCode::Ok)
}
