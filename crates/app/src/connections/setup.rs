use std::{collections::BTreeMap, pin::pin, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    AdapterRunner, SetupSecretSources,
    desk::{NamedSecrets, all_secrets, contains_secret, mask, sanitized_messages},
    ledger,
};
use crate::{
    CliExitCode, CommandError,
    connections::{AdapterFailure, AdapterFailureKind},
};
use wf_base::{
    name::RefId,
    remedy::{Remedy, UserAction},
    untrusted::{BOLD, NAME, paint},
};
use wf_core::{
    connection::{
        SetupAnswer, SetupCompletion, SetupConversation, SetupFault, SetupHostMessage, SetupInput,
        SetupLogLevel, SetupOutput, SetupStep, SetupTerms,
    },
    machine::WorkExit as Ending,
};
use wf_exec::{
    StopLevel,
    connection_secrets::{ConnectionSecretError, LentFolder, OpenPrompt, SecretPrompt},
    dialogue::{self, DialogueEnd, LineSender},
    secret::SecretText,
};

/// The time a script has to exit after it was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(3);

/// The time to enter a secret in a browser.
const PROMPT_TIME: Duration = Duration::from_mins(15);

/// The pause between two looks for an entry.
const PROMPT_INTERVAL: Duration = Duration::from_millis(100);

const SETUP_SCRIPT: &str = "setup";

/// The requested setup.
#[derive(Clone, Debug)]
pub struct ConnectionSetupRequest {
    /// The terms the user agreed to.
    pub terms: SetupTerms,
    /// The permissions to request first.
    pub initial: Vec<String>,
    /// The permissions to request in addition to the granted ones.
    pub incremental: Vec<String>,
    /// Hints about the account.
    pub hint: BTreeMap<String, String>,
    pub secrets: SetupSecretSources,
}

/// Sets up a connection with the user. Returns the script's description of it, and the secrets, of
/// which none is kept yet. `Err(Ok)`: the script failed; `Err(Err)`: the user could not be asked.
pub fn set_up(
    runner: &AdapterRunner<'_>,
    request: ConnectionSetupRequest,
) -> Result<(SetupCompletion, NamedSecrets), ConnectionSetupError> {
    let before =
        runner.secrets().map_err(|error| cannot_run(AdapterFailureKind::SecretsInaccessible(error)))?;
    let lent = runner
        .lend_secrets(&before)
        .map_err(|error| cannot_run(AdapterFailureKind::SecretsInaccessible(error)))?;
    let runtime = ledger::script_runtime()
        .map_err(|error| cannot_run(AdapterFailureKind::NotStarted(error.to_string())))?;
    let mut relay = SetupRelay {
        runner,
        setup: SetupConversation::new(request.terms.clone()),
        lent,
        lent_secrets: before,
        entered_secrets: Vec::new(),
        prompts: Vec::new(),
        prompt_end: None,
        output_lines: Vec::new(),
        outcome: None,
        error: None,
        cancelled: None,
        request,
    };
    let ended = runtime.block_on(relay.run());
    // A prompt may still be open; nothing waits for it.
    runtime.shutdown_background();
    relay.finish(&ended.map_err(cannot_run)?)
}

/// The reason why there is no connection.
#[derive(Debug)]
pub enum ConnectionSetupError {
    /// The script did not set it up.
    Script(Box<AdapterFailure>),
    /// The user could not be asked.
    Person(CommandError),
}

fn cannot_run(kind: AdapterFailureKind) -> ConnectionSetupError {
    ConnectionSetupError::Script(Box::new(AdapterFailure::new(SETUP_SCRIPT, kind)))
}

struct SetupRelay<'a, 'b> {
    runner: &'a AdapterRunner<'b>,
    request: ConnectionSetupRequest,
    setup: SetupConversation,
    lent: LentFolder,
    /// The secrets lent to the script.
    lent_secrets: NamedSecrets,
    /// The secrets entered by the user.
    entered_secrets: NamedSecrets,
    /// The prompts of browsers so far. Those answered stay, so that a second answer gets a message.
    prompts: Vec<OpenPrompt>,
    /// The time until which the last prompt waits; `None`: it was answered.
    prompt_end: Option<Instant>,
    /// The output of the script, to be searched again once its secrets are known.
    output_lines: Vec<Vec<u8>>,
    outcome: Option<Result<SetupCompletion, AdapterFailureKind>>,
    error: Option<CommandError>,
    cancelled: Option<Instant>,
}

impl SetupRelay<'_, '_> {
    async fn run(&mut self) -> Result<DialogueEnd, AdapterFailureKind> {
        let command = self.runner.command(SETUP_SCRIPT, &self.lent);
        let command =
            command.ok_or_else(|| AdapterFailureKind::NotStarted("script not found in the skill".into()))?;
        let (stop, stop_level) = watch::channel(StopLevel::No);
        let (mut mouth, mut ears, follow) = dialogue::begin(&command, self.runner.bounds(), stop_level)
            .await
            .map_err(|error| AdapterFailureKind::NotStarted(error.reason))?;
        let mut follow = pin!(follow);
        mouth.send_line(&self.start().line()).await;
        let (confirm, mut confirmed) = mpsc::unbounded_channel();
        let mut interrupted = pin!(tokio::signal::ctrl_c());
        let mut end: Option<DialogueEnd> = None;
        let mut open = true;
        loop {
            if let Some(ended) = end.take_if(|_| !open) {
                let outputs = self.setup.handle_input(end_input(&ended));
                self.perform(outputs, &mut mouth, &confirm).await;
                return Ok(ended);
            }
            let late = self.cancelled.unwrap_or_else(Instant::now) + CANCEL_GRACE;
            let outputs = tokio::select! {
                line = ears.recv(), if open => if let Some(line) = line {
                    self.check_line(line)
                } else {
                    open = false;
                    Vec::new()
                },
                over = &mut follow, if end.is_none() => { end = Some(over); Vec::new() }
                interrupt = &mut interrupted, if self.cancelled.is_none() => {
                    // If signals are broken, an interrupt is not possible any more: stop.
                    drop(interrupt);
                    self.cancel()
                }
                () = tokio::time::sleep(PROMPT_INTERVAL), if self.prompt_end.is_some() => self.look_for_secret(),
                Some(()) = confirmed.recv() => self.setup.handle_input(SetupInput::Answer(SetupAnswer::Confirmed)),
                () = tokio::time::sleep_until(late), if self.cancelled.is_some() && end.is_none() => {
                    stop.send_replace(StopLevel::AtOnce);
                    self.cancelled = Some(Instant::now() + CANCEL_GRACE);
                    Vec::new()
                }
            };
            self.perform(outputs, &mut mouth, &confirm).await;
            if matches!(self.outcome, Some(Err(_))) {
                stop.send_replace(StopLevel::AtOnce);
            }
        }
    }

    fn start(&self) -> SetupHostMessage {
        SetupHostMessage::Start {
            auth_strategy: self.request.terms.auth,
            initial_permissions: self.request.initial.clone(),
            incremental_scopes: self.request.incremental.clone(),
            identity_hint: self.request.hint.clone(),
        }
    }

    /// Searches a line for secrets before it is used.
    fn check_line(&mut self, line: Vec<u8>) -> Vec<SetupOutput> {
        if self.outcome.is_some() {
            return Vec::new();
        }
        let mask = mask(&all_secrets(&self.lent_secrets, &self.lent, Some(&self.entered_secrets)));
        if contains_secret(&mask, &line) {
            self.outcome = Some(Err(AdapterFailureKind::Leak));
            return Vec::new();
        }
        let outputs = self.setup.handle_input(SetupInput::Line(&line));
        self.output_lines.push(line);
        outputs
    }

    async fn perform(
        &mut self,
        outputs: Vec<SetupOutput>,
        sender: &mut LineSender,
        confirm: &mpsc::UnboundedSender<()>,
    ) {
        for output in outputs {
            match output {
                SetupOutput::Send(message) => sender.send_line(&message.line()).await,
                SetupOutput::Show(step) => self.runner.caller.message(&step_text(&step)),
                SetupOutput::Secret { ref_id, label, guidance } => {
                    let outputs = if self.request.secrets.is_in_browser(&ref_id) {
                        self.open_prompt(ref_id, label, guidance)
                    } else {
                        self.ask_secret(ref_id, &label)
                    };
                    Box::pin(self.perform(outputs, sender, confirm)).await;
                }
                SetupOutput::Confirm => {
                    let outputs = self.confirm(confirm.clone());
                    Box::pin(self.perform(outputs, sender, confirm)).await;
                }
                SetupOutput::Note(level, text) => self.note(level, &text),
                SetupOutput::Done(completed) => {
                    self.outcome.get_or_insert(Ok(completed));
                }
                SetupOutput::Failed(fault) => {
                    self.outcome.get_or_insert(Err(fault.into()));
                }
            }
        }
    }

    fn ask_secret(&mut self, name: RefId, label: &str) -> Vec<SetupOutput> {
        match self.request.secrets.get(self.runner.caller, &name, label) {
            Ok(secret) => self.give_secret(name, secret),
            Err(error) => self.stop(error),
        }
    }

    /// Asks for a secret in a browser, while the script may continue, too.
    fn open_prompt(&mut self, ref_id: RefId, label: String, guidance: String) -> Vec<SetupOutput> {
        let caller = self.runner.caller;
        let (since, time) = (caller.host().now(), self.prompt_time());
        let connection = self.runner.name.clone();
        let prompt = SecretPrompt { connection, ref_id, label, guidance, since, expires: since.after(time) };
        match self.runner.secrets.open_prompt(&prompt) {
            Ok(open) => {
                let label = prompt.label.replace('\n', " ");
                caller.message(&format!(
                    "  open   {} on the pages of `{}`\n  enter  {label} ({})\n  within {}\n",
                    paint(NAME, "/secrets"),
                    caller.action_words(&UserAction::ServePages),
                    prompt.ref_id,
                    span(time.as_secs())
                ));
                self.prompts.push(open);
                self.prompt_end = Some(Instant::now() + time);
                Vec::new()
            }
            Err(error) => self.refuse_secrets(error),
        }
    }

    fn prompt_time(&self) -> Duration {
        PROMPT_TIME.min(self.runner.timeout)
    }

    /// Takes the secret entered in a browser, if there is one.
    fn look_for_secret(&mut self) -> Vec<SetupOutput> {
        let Some(open) = self.prompts.last() else {
            return Vec::new();
        };
        let name = open.ref_id().clone();
        match open.take_secret() {
            Ok(Some(secret)) => {
                self.prompt_end = None;
                self.give_secret(name, secret)
            }
            Ok(None) if self.prompt_end.is_some_and(|end| end <= Instant::now()) => {
                let time = span(self.prompt_time().as_secs());
                let message = format!("the secret `{name}` was not entered within {time}");
                let remedy =
                    Remedy::from("start it again, and enter the secret at /secrets on the pages of `");
                let remedy = remedy.action(UserAction::ServePages).text("`");
                self.stop(CommandError::new(CliExitCode::RunFailed, message).hint(remedy))
            }
            Ok(None) => Vec::new(),
            Err(error) => self.refuse_secrets(error),
        }
    }

    /// Stores a secret where the script can read it.
    fn give_secret(&mut self, name: RefId, secret: SecretText) -> Vec<SetupOutput> {
        if let Err(error) = self.lent.add(&name, &secret) {
            return self.refuse_secrets(error);
        }
        self.entered_secrets.push((name, secret));
        self.setup.handle_input(SetupInput::Answer(SetupAnswer::Given))
    }

    /// Ends the setup, since secrets cannot be passed on.
    fn refuse_secrets(&mut self, error: ConnectionSecretError) -> Vec<SetupOutput> {
        self.outcome = Some(Err(AdapterFailureKind::SecretsInaccessible(error)));
        Vec::new()
    }

    /// Waits for the user's confirmation, while the script may continue, too.
    fn confirm(&mut self, confirm: mpsc::UnboundedSender<()>) -> Vec<SetupOutput> {
        if !self.runner.caller.is_interactive() {
            let message = "not a terminal, cannot ask for confirmation";
            let error = CommandError::new(CliExitCode::Usage, message);
            return self.stop(error.hint("run the setup in a terminal"));
        }
        self.runner.caller.message("Press Enter to continue ");
        let wait = self.runner.caller.line_reader();
        tokio::task::spawn_blocking(move || {
            if wait().is_ok() {
                let _ = confirm.send(());
            }
        });
        Vec::new()
    }

    /// Stops the setup: the user cannot be asked, or declined.
    fn stop(&mut self, error: CommandError) -> Vec<SetupOutput> {
        if error.exit != CliExitCode::Interrupted {
            self.error = Some(error);
        }
        self.cancel()
    }

    /// Tells the script of the cancelled setup; nothing more is asked for.
    fn cancel(&mut self) -> Vec<SetupOutput> {
        self.cancelled = Some(Instant::now());
        self.prompt_end = None;
        self.prompts.clear();
        self.setup.handle_input(SetupInput::Cancel)
    }

    fn note(&self, level: SetupLogLevel, text: &str) {
        match level {
            SetupLogLevel::Info => self.runner.caller.info_line(&format!("  {text}")),
            SetupLogLevel::Warning => self.runner.caller.message_line(&format!("  warning: {text}")),
        }
    }

    /// Returns the result, once no process of the script is left.
    fn finish(self, end: &DialogueEnd) -> Result<(SetupCompletion, NamedSecrets), ConnectionSetupError> {
        let written = self.lent.written_secrets();
        let mut known_secrets = all_secrets(&self.lent_secrets, &self.lent, written.as_ref().ok());
        known_secrets.extend(self.entered_secrets.iter().map(|(_, secret)| secret.clone()));
        let mask = mask(&known_secrets);
        let failure = |kind| {
            ConnectionSetupError::Script(Box::new(AdapterFailure {
                script: SETUP_SCRIPT,
                kind,
                last_output: sanitized_messages(&end.tails, &mask),
            }))
        };
        if let Some(error) = self.error {
            return Err(ConnectionSetupError::Person(error));
        }
        // A secret that it wrote down only after it had printed it.
        if self.output_lines.iter().any(|line| contains_secret(&mask, line)) {
            return Err(failure(AdapterFailureKind::Leak));
        }
        let nothing = SetupFault::Ended(String::new());
        let completed = self.outcome.unwrap_or(Err(nothing.into())).map_err(&failure)?;
        let written = written.map_err(|error| failure(AdapterFailureKind::SecretsInaccessible(error)))?;
        let mut secrets: BTreeMap<String, _> = BTreeMap::new();
        // A secret from the script takes precedence over the one from the user.
        for (name, secret) in self.entered_secrets.into_iter().chain(written) {
            secrets.insert(name.to_string(), (name, secret));
        }
        Ok((completed, secrets.into_values().collect()))
    }
}

fn end_input(end: &DialogueEnd) -> SetupInput<'static> {
    match &end.exit {
        exit if exit.is_success() => SetupInput::Ended(None),
        Ending::TimedOut => SetupInput::TimeUp,
        exit => SetupInput::Ended(Some(exit.to_string())),
    }
}

/// A step as it is shown to the user. Its texts were searched for secrets.
fn step_text(step: &SetupStep) -> String {
    match step {
        SetupStep::DeviceCode { verification_url, user_code, expires_in, .. } => format!(
            "  open   {}\n  enter  {}\n  within {}\n",
            paint(NAME, verification_url),
            paint(BOLD, user_code),
            span(*expires_in)
        ),
        SetupStep::BrowserRedirect { auth_url, listening_on } => {
            format!("  open   {}\n  the page redirects to {listening_on}\n", paint(NAME, auth_url))
        }
        SetupStep::SecureInput { guidance, .. } if guidance.is_empty() => String::new(),
        SetupStep::SecureInput { guidance, .. } => {
            guidance.lines().map(|line| format!("  {line}\n")).collect()
        }
        SetupStep::Completion { .. } | SetupStep::Failure { .. } => String::new(),
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}
