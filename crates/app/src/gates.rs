//! A gate, tried out by a person.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::{
    Caller, CommandError, Workspace, runs::session::sandbox_factory, specs::load::configuration,
    watch::record_quietly,
};
use wf_base::redact::SecretMask;
use wf_core::gate::{GateContext, GateOutcome, GatePass, GateRuling, ruling};
use wf_exec::{
    ProcessExecutor, StopLevel,
    check::CheckEnvironment,
    gate::{GateEnvironment, ask},
};
use wf_lang::DiskFiles;
use wf_model::Gate;
use wf_store::feed::WorkspaceAction;

/// An evaluated gate, and its effect on a run.
pub struct EvaluatedGate {
    pub outcome: GateOutcome,
    pub ruling: GateRuling,
}

/// Evaluates a gate as a run would, at the request of a person.
pub fn evaluate_gate(
    caller: &dyn Caller,
    workspace: &Workspace,
    gate: &Arc<Gate>,
    context: GateContext,
) -> Result<EvaluatedGate, CommandError> {
    let (config, _) = configuration(caller, &DiskFiles::new(&workspace.root), workspace)?;
    let params = context.get("params").and_then(Value::as_object).cloned();
    let site = GateEnvironment {
        environment: CheckEnvironment {
            executor: ProcessExecutor::InProcess,
            root: workspace.root.clone(),
            host: Arc::new(caller.host().vars()),
            mask: SecretMask::default(),
            clock: caller.host().clock(),
            grace: config.defaults.policy.grace,
            precedes_work: false,
            params: params.unwrap_or_default(),
            sandboxes: sandbox_factory(caller.host(), &config.sandbox, workspace, Vec::new()),
            pinned_files: None,
            whiteouts: Vec::new(),
            copies: Vec::new(),
            // A gate reads no report of tests.
            reports: std::path::PathBuf::new(),
            prior: std::sync::Arc::default(),
        },
        view: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(pass(gate, context, &site));
    let ruling = ruling(&outcome.results);
    let action = match &ruling {
        GateRuling::Continue => "continue",
        GateRuling::Block { .. } => "block",
        GateRuling::Ask { .. } => "require_approval",
    };
    let act = WorkspaceAction::GateTested { gate: gate.id.to_string(), action: action.into() };
    record_quietly(caller, act);
    Ok(EvaluatedGate { outcome, ruling })
}

async fn pass(gate: &Arc<Gate>, context: GateContext, environment: &GateEnvironment) -> GateOutcome {
    let (_heard, stop) = watch::channel(StopLevel::No);
    let mut pass = GatePass::new([gate], &[gate.on], context);
    while let Some((gate, context)) = pass.next_gate() {
        let began = environment.environment.clock.now();
        let answer = ask(&gate, context, environment, stop.clone()).await;
        let took = environment.environment.clock.now().since(began).as_millis();
        pass.take_answer(answer.map_err(|unable| unable.reason), u64::try_from(took).unwrap_or(u64::MAX));
    }
    pass.into_outcome()
}
