//! The auditor of a command: it starts before the first run and exits after the last.

use std::{ops::Deref, sync::Arc};

use super::{CliExitCode, CommandError};
use crate::{Caller, Host, specs::load::LoadedPlan};
use wf_audit::{self as audit, Auditor, AuditorConfig};
use wf_base::{
    digest::Sha256Digest,
    name::RunId,
    untrusted::{NAME, WARN, paint},
};
use wf_engine::EngineSession;
use wf_store::{
    StoreError,
    feed::{BusMessage, MessageBus, WorkspaceAction},
};

/// A bus, and the auditor watching it.
pub struct AuditedBus {
    pub bus: MessageBus,
    auditor: Option<Auditor>,
    print_message: Box<dyn Fn(&str) + Send + Sync>,
}

/// A session with an auditor.
pub struct AuditedSession {
    pub(super) session: Arc<EngineSession>,
    pub(super) bus: AuditedBus,
}

impl Deref for AuditedSession {
    type Target = Arc<EngineSession>;

    fn deref(&self) -> &Arc<EngineSession> {
        &self.session
    }
}

impl AuditedSession {
    /// Publishes an act of a command to all listeners.
    pub fn publish(&self, message: BusMessage) {
        self.bus.bus.publish(message);
    }
}

/// The auditor writes its remaining records while the store is closed and the supervisor exits, and
/// then it is waited for: the fields are dropped in their order.
impl Drop for AuditedSession {
    fn drop(&mut self) {
        if let Some(auditor) = &self.bus.auditor {
            auditor.finish_in_background();
        }
    }
}

/// Starts to watch the state of a workspace.
pub fn start_audit(caller: &dyn Caller, loaded: &LoadedPlan) -> Result<AuditedBus, CommandError> {
    let bus = MessageBus::new();
    let start = AuditorConfig {
        state: loaded.workspace.state.clone(),
        clock: caller.host().clock(),
        window: loaded.config.audit_window,
        segment: caller.host().audit_segment(),
    };
    let auditor = Auditor::start(&start, bus.tap())?;
    Ok(AuditedBus { bus, auditor: Some(auditor), print_message: Box::new(caller.message_printer()) })
}

/// Lets the auditor write its remaining records; unwritten ones are reported.
impl Drop for AuditedBus {
    fn drop(&mut self) {
        let Some(auditor) = self.auditor.take() else {
            return;
        };
        let ended = auditor.close();
        let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
        if ended.lost > 0 {
            let lost = ended.lost;
            (self.print_message)(&format!(
                "{warning} the auditor was too slow for {lost} messages and read them from the database\n"
            ));
        }
        if let Some(trouble) = ended.trouble {
            (self.print_message)(&format!(
                "{warning} cannot write the audit log: {trouble}\n\
                 {hint} the next command that runs something adds the missing records\n"
            ));
        }
    }
}

/// Records an act of a command without an engine; the act stands even after a failure.
pub fn record_quietly(caller: &dyn Caller, act: WorkspaceAction) {
    if let Err(error) = record_act(caller, act) {
        let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
        let remedy = caller.remedy_text(&error.remedy());
        caller.message(&format!("{warning} {error}\n{hint} {remedy}\n"));
    }
}

/// Records an act without an engine, with the login that asked for it.
pub fn record_act(caller: &dyn Caller, act: WorkspaceAction) -> Result<(), StoreError> {
    let host = caller.host();
    let message = BusMessage { login: caller.login(), ..BusMessage::act(host.now(), act) };
    audit::record_act(&host.workspace().state, &message)
}

/// Records that a login saved a file of a run.
pub fn record_artifact_read(caller: &dyn Caller, run: &RunId, artifact: Sha256Digest) {
    record_quietly(caller, WorkspaceAction::ArtifactRead { run: run.clone(), artifact });
}

/// Records that a login ended another one, by its id.
pub fn record_login_end(caller: &dyn Caller, ended: &str) {
    record_quietly(caller, WorkspaceAction::LoginEnded { ended: ended.to_owned() });
}

/// Records that a run was not started, and the reason, where there is a state.
pub fn record_refusal(host: &Host, path: &std::path::Path, error: &CommandError) {
    // The arguments of the command line are not recorded.
    let reason = match error.exit {
        CliExitCode::Approval => error.message.clone(),
        exit => exit.meaning().to_owned(),
    };
    let path = host.workspace().name(&super::normalize_path(&host.cwd().join(path)));
    // The refusal itself is what matters; it is reported either way.
    let message = BusMessage::act(host.now(), WorkspaceAction::RunRefused { path, reason });
    let _ = audit::record_act(&host.workspace().state, &message);
}
