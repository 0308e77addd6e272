//! Runs on a backend: the program driving them there.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};

use super::{given::approval_of_run, lineage::retried_run};
use crate::{
    CliExitCode, CommandError, Host,
    config::{Backend, WorkspaceConfig},
    specs::load::LoadedPlan,
};
use wf_base::name::{Name, RunId};
use wf_engine::{BackendProgram, RunRequest};
use wf_exec::view::family;
use wf_model::LockBusyPolicy;
use wf_store::StoreReader;

/// The program driving runs on Temporal.
const PROGRAM: &str = "wf-temporal";

/// The key of the configuration of a run naming its backend.
const BACKEND: &str = "backend";

/// The key of the configuration of a run naming the deployment of a goal as its starter there.
const DEPLOYMENT: &str = "deployment";

/// The program of a backend, as it is started.
pub(crate) struct BackendCommand {
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) args: [String; 2],
    /// Its environment.
    pub(crate) env: Vec<(String, String)>,
}

/// Returns the program of a backend for a plan; refuses queues unknown to the backend.
pub fn backend_program(host: &Host, loaded: &LoadedPlan, name: &str) -> Result<BackendProgram, CommandError> {
    let backend = find_backend(&loaded.config, name)?;
    for plan in family(&loaded.plan) {
        let mut queues = plan.steps().iter().filter_map(|step| Some((step, step.runs_on.as_ref()?)));
        if let Some((step, queue)) = queues.find(|(_, queue)| !backend.queues.contains_key(queue.as_str())) {
            let message =
                format!("backend `{name}` has no queue `{queue}`, on which step `{}` runs", step.id);
            return Err(CommandError::new(CliExitCode::Usage, message)
                .hint(format!("add it under `queues` of `{name}` in wf.yaml")));
        }
        if let Some(step) = plan.steps().iter().find(|step| step.detach) {
            let message = format!("backend `{name}` cannot run step `{}`, which has `detach`", step.id);
            return Err(CommandError::new(CliExitCode::Usage, message)
                .hint("there, what steps leave running ends with their worker"));
        }
        let mut locks = plan.steps().iter().filter_map(|step| Some((step, step.concurrency.as_ref()?)));
        let queued = LockBusyPolicy::Queue;
        if let Some((step, lock)) = locks.find(|(_, lock)| lock.when_busy != queued) {
            let (id, policy) = (&step.id, lock.when_busy);
            let message = format!("backend `{name}` cannot run step `{id}`, which has `when_busy: {policy}`");
            return Err(CommandError::new(CliExitCode::Usage, message).hint(
                "there, steps wait for a lock in the order in which they came: leave `when_busy` out",
            ));
        }
    }
    let BackendCommand { program, args, env } = backend_command(host, &loaded.config, name, "follow")?;
    let argv = [program.display().to_string()].into_iter().chain(args).collect();
    Ok(BackendProgram { name: name.to_owned(), argv, env, cancels: false, leaves: false })
}

/// Returns the program of a backend of a workspace for a purpose, which is its first argument.
pub(crate) fn backend_command(
    host: &Host,
    config: &WorkspaceConfig,
    name: &str,
    purpose: &str,
) -> Result<BackendCommand, CommandError> {
    find_backend(config, name)?;
    let program = find_program(host).ok_or_else(|| {
        let message = format!("the program `{PROGRAM}` is neither beside wf nor in a folder of PATH");
        CommandError::new(CliExitCode::Usage, message)
            .hint("install it: cargo install --locked --path crates/temporal")
    })?;
    // The program is a part of the run as a supervisor is, so tests reach it in the same way.
    let env = host.vars().into_iter().chain(host.vars_named(&["WF_CRASH"])).collect();
    Ok(BackendCommand { program, args: [purpose.to_owned(), name.to_owned()], env })
}

fn find_backend<'c>(config: &'c WorkspaceConfig, name: &str) -> Result<&'c Backend, CommandError> {
    let entry = config.backends.iter().find(|(backend_name, _)| backend_name.as_str() == name);
    entry.map(|(_, backend)| backend).ok_or_else(|| {
        let names: Vec<&str> = config.backends.keys().map(Name::as_str).collect();
        let hint = match names.as_slice() {
            [] => "add it under `backends` in wf.yaml".to_owned(),
            known => format!("wf.yaml has {}", known.join(", ")),
        };
        CommandError::new(CliExitCode::Usage, format!("there is no backend `{name}`")).hint(hint)
    })
}

/// Returns the configuration of a run on a backend.
pub fn on_backend(config: Value, name: &str) -> Value {
    match config {
        Value::Object(mut fields) => {
            fields.insert(BACKEND.to_owned(), json!(name));
            Value::Object(fields)
        }
        _ => json!({ BACKEND: name }),
    }
}

/// Returns the configuration of the runs a deployment of a goal on a backend starts.
pub(crate) fn of_deployment(config: Value, backend: &str, deployment: &str) -> Value {
    let mut config = on_backend(config, backend);
    config[DEPLOYMENT] = json!(deployment);
    config
}

/// True if a deployment of a goal started a run, by its configuration: whoever follows it leaves it at an interrupt.
pub fn is_of_deployment(config: &Value) -> bool {
    config.get(DEPLOYMENT).is_some()
}

/// A recorded run on a backend, as it is followed again.
pub struct RecordedBackendRun {
    /// The run, as it was started.
    pub request: RunRequest,
    /// The program following it.
    pub backend: BackendProgram,
}

impl RecordedBackendRun {
    /// Reads a run, which may repeat another; `None`: it ran here.
    pub fn read(
        host: &Host,
        reader: &StoreReader,
        run: &RunId,
        loaded: &LoadedPlan,
    ) -> Result<Option<Self>, CommandError> {
        let config = reader.runs().config(run)?;
        let Some(name) = backend_of(&config) else {
            return Ok(None);
        };
        let backend = backend_program(host, loaded, name)?;
        let row = reader.runs().get(run)?;
        let started_at = is_of_deployment(&config).then_some(row.created);
        let repeated_run = retried_run(reader, &row, &loaded.plan)?;
        let request = RunRequest {
            run: run.clone(),
            plan: Arc::clone(&loaded.plan),
            path: row.path,
            sources: reader.sources().of_run(run)?,
            params: row.params,
            session: None,
            repeated_run,
            approved: approval_of_run(reader, run)?,
            config,
            claim: None,
            begun: started_at,
            tracked: None,
        };
        Ok(Some(Self { request, backend }))
    }
}

/// Returns the backend of a recorded run, by its configuration; `None`: it ran here.
pub fn backend_of(config: &Value) -> Option<&str> {
    config.get(BACKEND).and_then(Value::as_str)
}

fn find_program(host: &Host) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(PROGRAM)));
    let in_path =
        host.var("PATH").unwrap_or_default().split(':').map(|folder| PathBuf::from(folder).join(PROGRAM));
    beside.into_iter().chain(in_path).find(|program| program.is_file())
}
