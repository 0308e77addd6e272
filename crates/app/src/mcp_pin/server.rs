use std::{fs, io::Write as _, time::Duration};

use tokio::sync::watch;

use super::{PinState, ToolListing, edit::with_digest, reviewed};
use crate::{
    CONFIG, Caller, CliExitCode, CommandError, Workspace, runs::session::sandbox_factory, specs::load,
};
use wf_base::name::Name;
use wf_core::agent::McpToolList;
use wf_exec::{
    StopLevel, environment,
    mcp::{McpLimits, McpLink},
    process::ProcessCommand,
};
use wf_lang::DiskFiles;
use wf_model::McpServer;
use wf_store::StateFolder;

/// The limits of the server: it lists its tools, and is killed.
const LIMITS: McpLimits = McpLimits { life: Duration::from_mins(2), grace: Duration::from_secs(1) };

/// The review of a server of a workspace.
#[derive(Debug)]
pub struct ServerReview {
    workspace: Workspace,
    config: String,
    server: McpServer,
    pub listing: ToolListing,
}

impl ServerReview {
    /// Starts a server that `wf.yaml` defines, where the scripts of a step without `allow` are started, and reads its
    /// list. A server whose list no agent could use is an error.
    pub fn of(caller: &dyn Caller, name: &str) -> Result<Self, CommandError> {
        let host = caller.host();
        let workspace = host.workspace();
        let (config, source) = load::configuration(caller, &DiskFiles::new(&workspace.root), &workspace)?;
        let mcp_server = Name::parse(name).ok().and_then(|name| config.models.servers.get(&name));
        let server = mcp_server.cloned().ok_or_else(|| unknown(name, config.models.servers.keys()))?;
        let sandbox = sandbox_factory(host, &config.sandbox, &workspace, Vec::new()).ok_or_else(|| {
            let error =
                CommandError::new(CliExitCode::Usage, "the sandbox is off, so no agent gets a server");
            error.hint("remove `sandbox: off` from wf.yaml")
        })?;
        let mut env = environment::passed_variables(&host.vars(), &[]);
        env.remove("TMPDIR");
        let command = ProcessCommand {
            argv: server.command.clone(),
            env: env.into_iter().collect(),
            cwd: workspace.root.clone(),
            sandbox: Some(sandbox.read_only(&[])),
            pins: None,
            input: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listed = runtime.block_on(async {
            let (_running, stop) = watch::channel(StopLevel::No);
            let mut link = McpLink::open(&command, LIMITS, stop).await?;
            link.list().await
        });
        let listed = listed.map_err(|failure| {
            let message = format!("the MCP server `{}` failed: {failure}", server.name);
            CommandError::new(CliExitCode::RunFailed, message)
        })?;
        let list = McpToolList::read(&server, &listed)
            .map_err(|mistake| CommandError::new(CliExitCode::Invalid, mistake.to_string()))?;
        let listing = ToolListing::of(&server, list);
        let config = source.map(|source| source.text().to_owned()).unwrap_or_default();
        Ok(Self { workspace, config, server, listing })
    }

    /// Returns the text of the pinned list, if it was reviewed in this workspace.
    pub fn pinned_text(&self) -> Option<String> {
        reviewed::read(&self.workspace.state, &self.server.name, self.server.digest?)
    }

    /// Writes the digest into `wf.yaml`. False if the text cannot be edited safely: then a person does it.
    pub fn pin(&self) -> Result<bool, CommandError> {
        let path = self.workspace.root.join(CONFIG);
        let failed = |doing: &str, error: &std::io::Error| {
            CommandError::new(CliExitCode::State, format!("cannot {doing}: {error}"))
        };
        if self.listing.state != PinState::Same {
            let Some(text) = with_digest(&self.config, &self.server.name, self.listing.digest) else {
                return Ok(false);
            };
            self.replace(&path, &text)?;
        }
        let state = StateFolder::new(&self.workspace.state);
        state.create()?;
        reviewed::keep(state.path(), &self.server.name, &self.listing)
            .map_err(|error| failed("keep the reviewed list in the state folder", &error))?;
        Ok(true)
    }

    /// Replaces the configuration, at once and whole, unless it was changed meanwhile.
    fn replace(&self, path: &std::path::Path, text: &str) -> Result<(), CommandError> {
        let failed = |error: std::io::Error| {
            CommandError::new(CliExitCode::State, format!("cannot write {CONFIG}: {error}"))
        };
        // The target of a link is replaced, not the link.
        let target = fs::canonicalize(path).map_err(failed)?;
        if fs::read_to_string(&target).map_err(failed)? != self.config {
            let message = format!("{CONFIG} was changed meanwhile; nothing was written");
            return Err(CommandError::new(CliExitCode::Usage, message).hint("run the command again"));
        }
        let mode = fs::metadata(&target).map_err(failed)?.permissions();
        let dir = target.parent().unwrap_or(&self.workspace.root);
        let mut file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().set_permissions(mode).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&target).map(drop).map_err(|error| failed(error.error))
    }
}

fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n Name>) -> CommandError {
    let names: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    let error = CommandError::new(CliExitCode::Usage, format!("wf.yaml has no MCP server `{name}`"));
    error.hint(if names.is_empty() {
        "define one under `mcp`: see docs/mcp.md".to_owned()
    } else {
        format!("it has {}", names.join(", "))
    })
}
