//! The opening of an outermost run: one without a record, or one resumed from its record.

use std::sync::Arc;

use wf_core::{
    machine::{Event, EventKind, InputKind, Machine, RunApproval},
    observe::RunRef,
};
use wf_exec::view::KeptFiles;
use wf_model::Plan;
use wf_store::{FencingToken, NewRun, RunLease, RunRow, StoreError};

use crate::{
    files::{
        kept,
        recorded_results::reused_results,
        view::{self, EarlierBaseline, ViewedRun, store_baseline},
    },
    memory::{advice, intent_advice},
    reuse::RepeatedRun,
    run::{
        RunContext,
        context::{RunInputs, RunOwnership},
        evidence_record::EvidenceRecord,
        recorded_config::first_run,
    },
    session::{EngineError, EngineSession, RunRequest},
};

/// A run without a record.
pub(crate) struct BegunRun {
    pub(crate) run: Arc<RunContext>,
    pub(crate) machine: Machine,
    /// The run, to be recorded with its first events.
    pub(crate) new: NewRun,
}

impl BegunRun {
    /// Prepares a new run.
    pub(crate) fn new(
        session: &Arc<EngineSession>,
        token: FencingToken,
        request: RunRequest,
    ) -> Result<Self, EngineError> {
        let RunRequest {
            run,
            plan,
            path,
            sources,
            params,
            session: name,
            repeated_run: past,
            approved,
            config,
            claim,
            begun,
            tracked,
        } = request;
        let key_scope = first_run(&config, &run);
        let new = NewRun {
            plan: plan.id().clone(),
            path,
            params: params.clone(),
            parent: None,
            retry_of: past.as_ref().and_then(|past| past.run_id().cloned()),
            session: name.clone(),
            sources,
            created: begun.unwrap_or_else(|| session.clock.now()),
            config,
            claim,
        };
        let machine = Machine::new(plan.clone(), run, params.clone());
        let past = kept::without_changed(session, past)?;
        let kept_files = view::keep_files(session, &token.run, &plan, &params, tracked.unwrap_or_default());
        let earlier = EarlierBaseline::from_repeated(session, past.as_ref())?;
        let viewed = ViewedRun { run: &token.run, plan: &plan, params: &params };
        let view = view::view(session, viewed, approved.as_ref(), &kept_files, earlier.as_ref());
        let pins = view::pins(session, &plan, approved.as_ref());
        let errand = RunInputs {
            key_scope,
            plan,
            params,
            session_name: name,
            repeated_run: past,
            view,
            pinned_files: pins,
            approved: approved.map(Arc::new),
            evidence: EvidenceRecord::default(),
            outer_account: None,
            learns: false,
        };
        Ok(Self { run: run_context(session, token, errand, None)?, machine, new })
    }
}

/// A run that is recorded, as far as it went.
pub(crate) struct ReplayedRun {
    pub(crate) run: Arc<RunContext>,
    pub(crate) machine: Machine,
    pub(crate) events: Vec<(u64, Event)>,
}

impl ReplayedRun {
    /// Reads a run this process owns.
    pub(crate) fn new(
        session: &Arc<EngineSession>,
        token: FencingToken,
        plan: Arc<Plan>,
        repeated_run: Option<RepeatedRun>,
    ) -> Result<Self, EngineError> {
        let reader = session.store.log_reader()?;
        let RunRow { params, session: name, .. } = reader.runs().get(&token.run)?;
        let key_scope = first_run(&reader.runs().config(&token.run)?, &token.run);
        let events = reader.events().of_run(&token.run, 0)?;
        let owners = reader.leases().of_run(&token.run)?;
        let keepers = former_supervisors(&owners);
        let mut machine = Machine::new(plan.clone(), token.run.clone(), params.clone());
        let view = if events.is_empty() {
            let viewed = ViewedRun { run: &token.run, plan: &plan, params: &params };
            view::view(session, viewed, None, &KeptFiles::default(), None)
        } else {
            view::recorded_view(session, &token.run, &plan, &events).map(Arc::new)
        };
        let approved = approval(&events);
        let pins = view::pins(session, &plan, approved.as_deref());
        let errand = RunInputs {
            key_scope,
            plan,
            params,
            session_name: name,
            repeated_run,
            view,
            pinned_files: pins,
            approved,
            evidence: EvidenceRecord::from_events(events.iter().map(|(_, event)| event)),
            outer_account: None,
            learns: false,
        };
        let run = run_context(session, token, errand, keepers)?;
        for (_, event) in &events {
            machine.replay(event)?;
        }
        Ok(Self { run, machine, events })
    }
}

fn run_context(
    session: &Arc<EngineSession>,
    token: FencingToken,
    inputs: RunInputs,
    keepers: Option<Arc<[String]>>,
) -> Result<Arc<RunContext>, EngineError> {
    let this = RunRef { id: token.run.clone(), plan: inputs.plan.id().clone(), path: Vec::new() };
    let tenure = RunOwnership { token, supervisors: keepers };
    Ok(RunContext::new(Arc::clone(session), this, inputs, tenure)?)
}

/// Returns the recorded approval of a run.
fn approval(events: &[(u64, Event)]) -> Option<Arc<RunApproval>> {
    let mut facts = events.iter().map(|(_, event)| &event.fact);
    facts.find_map(|fact| match fact {
        EventKind::RunApproved(approved) => Some(Arc::new((**approved).clone())),
        _ => None,
    })
}

/// Returns the supervisors of all lease owners but the last, which is this engine; `None` if the
/// machine was restarted in between.
fn former_supervisors(leases: &[RunLease]) -> Option<Arc<[String]>> {
    let (last, before) = leases.split_last()?;
    let same_boot = !last.boot.is_empty() && before.iter().all(|owner| owner.boot == last.boot);
    same_boot.then(|| before.iter().map(|owner| owner.supervisor.clone()).collect())
}

pub(crate) fn begin(run: &RunContext) -> Result<InputKind, StoreError> {
    let past = run.repeated_run.as_ref();
    let unchanged = past.map(|past| {
        let reader = run.session.store.log_reader()?;
        reused_results(&reader, past, run.params())
    });
    let unchanged = unchanged.transpose()?;
    // A nested run uses the record of the outermost run.
    let outermost = run.run_ref.path.is_empty();
    let view = run.view.as_ref().filter(|_| outermost);
    let baseline = view.map(|view| store_baseline(run, view)).transpose()?;
    let approved = run.approved.as_ref().filter(|_| outermost);
    Ok(InputKind::Begin {
        kept: unchanged.unwrap_or_default(),
        dropped: past.map(|past| past.dropped().to_vec()).unwrap_or_default(),
        left: past.map(RepeatedRun::deselected_steps).unwrap_or_default(),
        baseline,
        approved: approved.map(|approved| Box::new((**approved).clone())),
        advice: advice(run)?,
        intent: intent_advice(run)?,
    })
}
