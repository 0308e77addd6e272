use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{ConnectionAdapter, ledger};
use crate::{
    CONFIG, Caller, CliExitCode, CommandError, Workspace,
    connections::{AdapterFailure, AdapterFailureKind},
    specs::load,
};
use wf_base::{
    name::{PlanId, RefId},
    redact::SecretMask,
    untrusted::UntrustedText,
};
use wf_core::{
    connection::{
        MOST_LINE, SetupFault,
        request::{ConnectionRequest, ScriptReply, reply},
    },
    machine::WorkExit as Ending,
};
use wf_exec::{
    StopLevel, StreamTails,
    connection_secrets::{ConnectionSecretError, ConnectionSecrets, LentFolder},
    dialogue::{self, DialogueEnd, DialogueLimits},
    process::ProcessCommand,
    sandbox::SandboxFactory,
    secret::SecretText,
};
use wf_lang::DiskFiles;
use wf_model::ResourceLimits;

/// The maximum output of a script, in bytes.
const OUTPUT_LIMIT: u64 = 16 << 20;

/// The number of reported lines of its messages.
const REPORTED_LINES: usize = 5;

/// Secrets by name.
pub type NamedSecrets = Vec<(RefId, SecretText)>;

/// Runs the scripts of a skill for one connection, with exclusive access to its secrets.
pub struct AdapterRunner<'a> {
    /// The output.
    pub caller: &'a dyn Caller,
    /// The connection.
    pub name: PlanId,
    /// The skill.
    pub adapter: ConnectionAdapter,
    pub secrets: ConnectionSecrets,
    /// The time limit of a script.
    pub timeout: Duration,
    sandbox: Arc<SandboxFactory>,
}

impl<'a> AdapterRunner<'a> {
    /// Opens a connection, and creates its state folder if it does not exist.
    pub fn open(
        caller: &'a dyn Caller,
        workspace: &Workspace,
        name: &PlanId,
        adapter: ConnectionAdapter,
        timeout: Duration,
    ) -> Result<Self, CommandError> {
        wf_store::StateFolder::new(&workspace.state).create()?;
        let secrets =
            ConnectionSecrets::take(&workspace.state, name).map_err(|error| secrets_error(&error, name))?;
        let config = load::read_config(&DiskFiles::new(&workspace.root), CONFIG);
        let read = config.map(|(config, _)| config.sandbox.read);
        let vars = caller.host().vars();
        let sandbox =
            SandboxFactory::new(&workspace.root, &workspace.state, &vars, &read.unwrap_or_default());
        Ok(Self { caller, name: name.clone(), adapter, secrets, timeout, sandbox: Arc::new(sandbox) })
    }

    pub fn secrets(&self) -> Result<NamedSecrets, ConnectionSecretError> {
        let names = self.secrets.names()?.into_iter();
        names
            .map(|name| {
                let secret = self.secrets.get(&name)?;
                Ok((name, secret))
            })
            .collect()
    }

    /// Lends secrets to a script.
    pub fn lend_secrets(&self, secrets: &NamedSecrets) -> Result<LentFolder, ConnectionSecretError> {
        self.secrets.lend(secrets, &self.adapter.bundle)
    }

    /// The command for a script with its loan; `None`: the skill has no such script.
    pub fn command(&self, script: &str, lent: &LentFolder) -> Option<ProcessCommand> {
        let path = self.adapter.script(script)?;
        let (argv, network) = self.adapter.command(path);
        let folders = vec![lent.refs(), lent.out(), lent.skill()];
        let limits = ResourceLimits::default();
        let sandbox = self.sandbox.without_workspace(&lent.empty(), folders, network, &limits);
        let mut env = self.caller.host().vars_named(&["PATH", "HOME", "LANG", "TZ"]);
        env.extend([
            ("WF_CONNECTION".to_owned(), self.name.to_string()),
            ("WF_REFS".to_owned(), lent.refs().display().to_string()),
            ("WF_REFS_OUT".to_owned(), lent.out().display().to_string()),
        ]);
        Some(ProcessCommand { argv, env, cwd: lent.skill(), sandbox: Some(sandbox), pins: None, input: None })
    }

    /// The limits of a script.
    pub fn bounds(&self) -> DialogueLimits {
        DialogueLimits {
            timeout: self.timeout,
            grace: Duration::from_secs(2),
            line: MOST_LINE,
            output: OUTPUT_LIMIT,
        }
    }

    /// Sends a request to a script, and keeps the secrets it wrote.
    pub fn send_request<T: ScriptReply>(&self, request: &ConnectionRequest<'_>) -> Result<T, AdapterFailure> {
        let script = request.script();
        let refs = |error| AdapterFailure::new(script, AdapterFailureKind::SecretsInaccessible(error));
        let secrets = self.secrets().map_err(refs)?;
        let (answer, written) = self.send_request_with(request, &secrets)?;
        self.store_secrets(&written).map_err(refs)?;
        Ok(answer)
    }

    /// Sends a request to a script with these secrets; also returns those it wrote.
    pub fn send_request_with<T: ScriptReply>(
        &self,
        request: &ConnectionRequest<'_>,
        secrets: &NamedSecrets,
    ) -> Result<(T, NamedSecrets), AdapterFailure> {
        let script = request.script();
        let refs =
            |secret_error| AdapterFailure::new(script, AdapterFailureKind::SecretsInaccessible(secret_error));
        let unable = |reason: String| AdapterFailure::new(script, AdapterFailureKind::NotStarted(reason));
        let lent = self.lend_secrets(secrets).map_err(refs)?;
        let command = self.command(script, &lent);
        let command = command.ok_or_else(|| unable("script not found in the skill".into()))?;
        let runtime = ledger::script_runtime().map_err(|error| unable(error.to_string()))?;
        let talked = runtime.block_on(async {
            let (_told, stop) = watch::channel(StopLevel::No);
            let (mut mouth, mut ears, follow) =
                dialogue::begin(&command, self.bounds(), stop).await.map_err(|error| error.reason)?;
            let say = async {
                mouth.send_line(&request.line()).await;
                mouth.close();
                let mut lines = Vec::new();
                while let Some(line) = ears.recv().await {
                    // More than one is an error already, and need not be kept.
                    if lines.len() < 2 {
                        lines.push(line);
                    }
                }
                lines
            };
            let (ended, lines) = tokio::join!(follow, say);
            Ok::<_, String>((ended, lines))
        });
        let (ended, lines) = talked.map_err(unable)?;
        let written = lent.written_secrets();
        let known_secrets = all_secrets(secrets, &lent, written.as_ref().ok());
        let mask = mask(&known_secrets);
        let failure =
            |kind| AdapterFailure { script, kind, last_output: sanitized_messages(&ended.tails, &mask) };
        if lines.iter().any(|line| contains_secret(&mask, line)) {
            return Err(AdapterFailure::new(script, AdapterFailureKind::Leak));
        }
        if let Some(fault) = exit_fault(&ended) {
            return Err(failure(fault.into()));
        }
        let answer = reply::<T>(&lines).map_err(|fault| failure(fault.into()))?;
        Ok((answer, written.map_err(|error| failure(AdapterFailureKind::SecretsInaccessible(error)))?))
    }

    /// Keeps secrets.
    pub fn store_secrets(&self, secrets: &NamedSecrets) -> Result<(), ConnectionSecretError> {
        let mut each = secrets.iter();
        each.try_for_each(|(name, secret)| self.secrets.put(name, secret))
    }
}

/// The fault of a failed script, if it failed.
fn exit_fault(end: &DialogueEnd) -> Option<SetupFault> {
    match &end.exit {
        exit if exit.is_success() => None,
        Ending::TimedOut => Some(SetupFault::TimeUp),
        exit => Some(SetupFault::Ended(format!(" ({exit})"))),
    }
}

/// All secrets to be hidden.
pub(super) fn all_secrets(
    lent: &NamedSecrets,
    folder: &LentFolder,
    written: Option<&NamedSecrets>,
) -> Vec<SecretText> {
    let own = lent.iter().chain(written.into_iter().flatten());
    let mut secrets: Vec<SecretText> = own.map(|(_, secret)| secret.clone()).collect();
    secrets.extend(folder.so_far());
    secrets.sort();
    secrets.dedup();
    secrets
}

/// The mask hiding them.
pub(super) fn mask(secrets: &[SecretText]) -> SecretMask {
    SecretMask::new(secrets.iter().map(SecretText::expose))
}

pub(super) fn contains_secret(mask: &SecretMask, line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let shown = mask.text(&text);
    *shown != *text
}

/// The last messages of a script, safe to display and without secrets.
pub(super) fn sanitized_messages(tails: &StreamTails, mask: &SecretMask) -> String {
    let text = UntrustedText::printed(mask.text(&tails.err).as_bytes()).block();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(REPORTED_LINES);
    lines.get(last..).unwrap_or_default().join("\n")
}

/// The failure when the secrets are not accessible.
pub fn secrets_error(error: &ConnectionSecretError, name: &PlanId) -> CommandError {
    let command_error = CommandError::new(CliExitCode::State, format!("connection `{name}`: {error}"));
    match error {
        ConnectionSecretError::Busy => command_error.hint("try again after it has finished"),
        _ => command_error,
    }
}
