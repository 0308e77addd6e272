use std::{
    process::Child,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    answer::McpAnswer,
    command::{CallMistake, McpCommand, McpWork, work_of},
    pending::{pending_approvals, pending_note},
    program::{CommandFailure, CommandOutput, WfProgram},
    session::McpCall,
    wait::CallStop,
};

/// The time between two looks at a run waited for.
const POLL: Duration = Duration::from_millis(500);

/// The reason why a call has no answer.
#[derive(Debug, thiserror::Error)]
enum CallFailure {
    /// The call is wrong.
    #[error(transparent)]
    Mistake(#[from] CallMistake),
    /// The command cannot be executed.
    #[error(transparent)]
    Command(#[from] CommandFailure),
    /// The command refused; it says why.
    #[error("{0}")]
    Refused(String),
}

/// The caller of the tools.
#[derive(Debug)]
pub(crate) struct ToolCaller<'a> {
    program: &'a WfProgram,
    /// The processes of runs, until they are known to have ended.
    runs: Mutex<Vec<Child>>,
}

impl<'a> ToolCaller<'a> {
    pub(crate) fn new(program: &'a WfProgram) -> Self {
        Self { program, runs: Mutex::default() }
    }

    /// Carries out a call.
    pub(crate) fn call(&self, call: McpCall, stop: &CallStop) -> McpAnswer {
        self.answer(call, stop).unwrap_or_else(|failure| McpAnswer::error(&failure.to_string()))
    }

    fn answer(&self, call: McpCall, stop: &CallStop) -> Result<McpAnswer, CallFailure> {
        match work_of(&self.program.root, call.tool, call.arguments)? {
            McpWork::Document(command) => Ok(McpAnswer::document(self.document(&command, stop)?)),
            McpWork::Text(command) => {
                let output = self.program.execute(&command, stop)?;
                if output.code == Some(0) {
                    Ok(McpAnswer::from_text(&output.out))
                } else {
                    Err(refused(&output))
                }
            }
            McpWork::Start(command) => self.start(&command, stop),
            McpWork::Status(command, wait) => self.status(&command, wait, stop),
            McpWork::Pending => self.pending(stop),
        }
    }

    /// Returns the document a command prints. A command that finds something wrong prints one, too.
    fn document(&self, command: &McpCommand, stop: &CallStop) -> Result<Value, CallFailure> {
        let output = self.program.execute(command, stop)?;
        match serde_json::from_str(&output.out) {
            Ok(document @ Value::Object(_)) => Ok(document),
            _ => Err(refused(&output)),
        }
    }

    fn start(&self, command: &McpCommand, stop: &CallStop) -> Result<McpAnswer, CallFailure> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain_mut(|run| run.try_wait().is_ok_and(|ended| ended.is_none()));
        drop(runs);
        let (output, process) = self.program.start(command, stop)?;
        let event: Value = serde_json::from_str(&output.out).unwrap_or_default();
        let Some(run) = event.get("run").filter(|_| process.is_some()) else {
            return Err(refused(&output));
        };
        let started = json!({"v": 1, "run": run, "plan": event.get("plan"), "life": "running"});
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).extend(process);
        let note = "The run has started: `status` with its id follows it.".to_owned();
        Ok(McpAnswer::document(started).with_note(Some(note)))
    }

    fn status(
        &self,
        command: &McpCommand,
        wait: Duration,
        stop: &CallStop,
    ) -> Result<McpAnswer, CallFailure> {
        let mut left = wait;
        loop {
            let document = self.document(command, stop)?;
            let note = pending_note(&pending_approvals(&document));
            let goes_on = document.get("life") == Some(&"running".into()) && note.is_none();
            let pause = left.min(POLL);
            if !goes_on || pause.is_zero() || !stop.wait(pause) {
                return Ok(McpAnswer::document(document).with_note(note));
            }
            left -= pause;
        }
    }

    fn pending(&self, stop: &CallStop) -> Result<McpAnswer, CallFailure> {
        let mut pending = Vec::new();
        for state in ["--state-is=running", "--state-is=waiting"] {
            let list = McpCommand::new(&["runs", "--json", "--limit=1000", state], []);
            let runs = self.document(&list, stop)?;
            let runs = runs.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
            for run in runs.iter().filter_map(|run| run.get("id").and_then(Value::as_str)) {
                let show = McpCommand::of_run(&["show", "--json"], Some(run.to_owned()), None);
                pending.extend(pending_approvals(&self.document(&show, stop)?));
            }
        }
        let note = pending_note(&pending);
        Ok(McpAnswer::document(json!({"v": 1, "pending": pending})).with_note(note))
    }
}

/// Returns the reason a command gives.
fn refused(output: &CommandOutput) -> CallFailure {
    let messages = output.messages.trim_end();
    CallFailure::Refused(match output.code {
        _ if !messages.is_empty() => messages.to_owned(),
        Some(code) => format!("error: the command ended with exit code {code} and said nothing"),
        None => "error: a signal ended the command".to_owned(),
    })
}
