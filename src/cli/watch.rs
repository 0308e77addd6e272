//! The auditor of a command: it begins before the first run and ends after the last.

use std::ops::Deref;
use std::sync::Arc;

use super::load::Ready;
use super::{Exit, Failure, Ui};
use crate::audit::{self, Auditor, Start};
use crate::bus::{Act, Bus, Message};
use crate::engine::Session;
use crate::report::{NAME, WARN, paint};
use crate::store::StoreError;

/// A bus, and who watches it.
pub struct Watch {
    /// The bus.
    pub bus: Bus,
    auditor: Option<Auditor>,
    tell: Box<dyn Fn(&str)>,
}

/// A session that is watched.
pub struct Watched {
    pub(super) session: Arc<Session>,
    pub(super) watch: Watch,
}

impl Deref for Watched {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.session
    }
}

impl Watched {
    /// Tells everybody who listens what a command did.
    pub fn publish(&self, message: Message) {
        self.watch.bus.publish(message);
    }
}

/// The auditor writes what is left while the store is closed and the keeper ends, and then it is
/// waited for: the fields are dropped in their order.
impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(auditor) = &self.watch.auditor {
            auditor.leave();
        }
    }
}

/// Begins to watch the state of a workspace.
pub fn watch(ui: &Ui, ready: &Ready) -> Result<Watch, Failure> {
    let bus = Bus::new();
    let start = Start {
        state: ready.workspace.state.clone(),
        clock: ui.env.clock(),
        window: ready.config.audit_window,
    };
    let auditor = Auditor::start(&start, bus.tap())?;
    Ok(Watch {
        bus,
        auditor: Some(auditor),
        tell: Box::new(ui.teller()),
    })
}

/// The auditor writes what is left; what it could not write is said.
impl Drop for Watch {
    fn drop(&mut self) {
        let Some(auditor) = self.auditor.take() else {
            return;
        };
        let ended = auditor.close();
        let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
        if ended.lost > 0 {
            let lost = ended.lost;
            (self.tell)(&format!(
                "{warning} the auditor was too slow for {lost} messages and read them in the database\n"
            ));
        }
        if let Some(trouble) = ended.trouble {
            (self.tell)(&format!(
                "{warning} the audit log could not be written: {trouble}\n\
                 {hint} what is missing is added by the next command that runs something\n"
            ));
        }
    }
}

/// Writes down what a command did that has no engine, and that stays done if that fails.
pub fn note(ui: &Ui, act: Act) {
    if let Err(error) = record(ui, act) {
        let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
        let remedy = error.remedy();
        ui.say(&format!("{warning} {error}\n{hint} {remedy}\n"));
    }
}

/// Writes down what a command did that has no engine.
pub fn record(ui: &Ui, act: Act) -> Result<(), StoreError> {
    audit::record_act(&ui.workspace().state, &Message::act(ui.env.now(), act))
}

/// Writes down that a run was not begun, and why, where there is a state.
pub fn refused(ui: &Ui, path: &std::path::Path, failure: &Failure) {
    // What was asked for on the command line is for nobody to know.
    let reason = match failure.exit {
        Exit::Approval => failure.message.clone(),
        exit => exit.meaning().to_owned(),
    };
    let path = ui
        .workspace()
        .name(&super::normal(&ui.env.cwd().join(path)));
    // The refusal itself is what matters; it is told either way.
    let _ = record(ui, Act::RunRefused { path, reason });
}
