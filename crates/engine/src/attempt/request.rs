//! Requests of steps. One with a secret of a connection is a call of its service.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

use wf_core::{
    health::{BreakerNote, CallEnd, CallTarget},
    machine::{AttemptEnd, WorkExit},
};
use wf_exec::{StopLevel, WorkError, http, log};
use wf_model::{FailureClass, HttpCall, SecretSource, Step};

use super::output;
use crate::{
    models::health::StoredHealth,
    run::{AttemptTask, scope::secrets_read},
};

/// Sends the step's request.
pub(crate) async fn send(
    task: &AttemptTask,
    http: &HttpCall,
    step: &Step,
    stop: watch::Receiver<StopLevel>,
) -> Result<AttemptEnd, WorkError> {
    let Some(secrets) = task.secrets(step, &stop).await? else {
        return Ok(task.end_without_outputs(WorkExit::Cancelled));
    };
    let ask = task.with_template_values(&secrets, |values| http::HttpRequest::new(http, values))?;
    // What cannot be sent shows nothing of a service.
    ask.check()?;
    let health = StoredHealth::new(&task.run.session.store);
    let service = ServiceCall::begin(health, connections_read(task, step)).await?;
    let job = http::HttpJob {
        request: ask,
        timeout: step.timeout,
        log: log::LogTarget {
            path: log::path(&task.run.dir, &task.attempt),
            limit: task.run.session.log_limit,
            mask: task.run.mask().await,
            clock: Arc::clone(&task.run.session.clock),
        },
        outputs: step.outputs.clone(),
    };
    let client = &task.run.session.shared.client;
    let http::HttpOutcome { mut exit, outputs, retry_after } =
        client.run_job(job, stop, output::on_output(task)).await;
    task.mask_reason(&mut exit).await;
    task.breakers.extend(service.end(&exit).await);
    Ok(AttemptEnd { outputs, retry_after, ..task.end_without_outputs(exit) })
}

/// Returns the connections whose secrets a step reads.
fn connections_read(task: &AttemptTask, step: &Step) -> BTreeSet<CallTarget> {
    let read = secrets_read(step);
    let declared = task.run.plan.parts().secrets.iter();
    let used = declared.filter(|secret| read.contains(&secret.name.as_str()));
    let connections = used.filter_map(|secret| match &secret.source {
        SecretSource::Connection { name, .. } => Some(CallTarget::connection(name)),
        _ => None,
    });
    connections.collect()
}

/// The connections with secrets in a request: their services are called by it.
struct ServiceCall {
    health: StoredHealth,
    connections: BTreeSet<CallTarget>,
}

impl ServiceCall {
    /// Begins a call of the services of connections, unless one is left alone.
    async fn begin(health: StoredHealth, connections: BTreeSet<CallTarget>) -> Result<Self, WorkError> {
        for target in &connections {
            health.admit(target.clone()).await?;
        }
        Ok(Self { health, connections })
    }

    /// Notes its exit, with a text free of secrets. Returns its effects on breakers.
    async fn end(self, exit: &WorkExit) -> Vec<BreakerNote> {
        let mut notes = Vec::new();
        let Some(end) = service_end(exit) else {
            return notes;
        };
        for target in self.connections {
            notes.extend(self.health.note_call(target, end.clone()).await);
        }
        notes
    }
}

/// Returns what the exit of a request shows of the service; `None`: nothing.
fn service_end(exit: &WorkExit) -> Option<CallEnd> {
    let error = exit.to_string();
    match exit {
        WorkExit::Cancelled | WorkExit::Interrupted => None,
        exit if exit.is_success() => Some(CallEnd::Success),
        exit if exit.failure_class() == Some(FailureClass::Environmental) => Some(CallEnd::Outage { error }),
        _ => Some(CallEnd::Rejection { error }),
    }
}

#[cfg(test)]
mod tests {
    use super::service_end;
    use wf_core::{health::CallEnd, machine::WorkExit};
    use wf_exec::WorkError;

    #[test]
    fn the_exit_of_a_request_shows_how_its_service_is() {
        let error = || "busy".to_owned();
        for (exit, expected) in [
            (WorkExit::Completed, Some(CallEnd::Success)),
            (WorkExit::TimedOut, Some(CallEnd::Outage { error: "timed out".into() })),
            (WorkError::environmental("busy").into(), Some(CallEnd::Outage { error: error() })),
            (WorkError::logical("busy").into(), Some(CallEnd::Rejection { error: error() })),
            (WorkExit::Cancelled, None),
            (WorkExit::Interrupted, None),
        ] {
            assert_eq!(service_end(&exit), expected);
        }
    }
}
