//! The stored record of a run, read from the state.

use std::{collections::BTreeSet, sync::Arc};

use super::reader::StateReader;
use crate::{
    CommandError,
    runs::{lineage::outermost_run, run_worktree::present_folder},
    specs::load::recorded_plan_if_valid,
};
use wf_base::name::RunId;
use wf_core::machine::{BudgetLedger, Event};
use wf_engine::artifacts_of_run;
use wf_model::Plan;
use wf_report::record::{
    AgentCalls, AskedCall, CallChain, CallSources, GapTrajectory, LoopedAttempt, ModelSpending,
    NestedRunRecord, RECORD_VERSION, RunDecisions, RunLifecycle, RunRecord, UnbegunChild,
};
use wf_store::{RunState, StoreReader};

/// The depth to which nested runs are read; deeper ones cannot be made.
const MAX_DEPTH: usize = 32;

/// Reads the stored record of a run, and of those nested in it.
pub fn load_record(reader: &StoreReader, run: &RunId) -> Result<RunRecord, CommandError> {
    let mut record = nested_records(reader, run, MAX_DEPTH)?;
    record.top = Some(outermost_run(reader, run)?).filter(|top| top != run);
    if record.is_stale()
        && let Some(plan) = recorded_plan_if_valid(reader, run)?
    {
        record.mark_stale_dependants(&plan);
    }
    Ok(record)
}

/// Reads the record of a run without what each of its tasks has: its tasks, their attempts, checks and artifacts; and those
/// of the runs nested in it in the same way. What it costs does not grow with the number of tasks that used nothing.
///
/// The `progress` of its ledger is unknown.
pub(crate) fn load_record_head(reader: &StateReader, run: &RunId) -> Result<RunRecord, CommandError> {
    let mut record = head_below(reader, run, MAX_DEPTH)?;
    record.top = Some(outermost_run(reader.store(), run)?).filter(|top| top != run);
    Ok(record)
}

fn head_below(reader: &StateReader, run: &RunId, depth: usize) -> Result<RunRecord, CommandError> {
    let store = reader.store();
    let nested = nested_below(store, run, depth, |child, depth| head_below(reader, child, depth))?;
    let facts = store.events().apart(run, &fact_kinds())?;
    let mut ledger = BudgetLedger::of_events(&facts);
    ledger.attempts = ledger.attempts.saturating_add(store.attempts().count(run)?);
    record_of_facts(store, run, &facts, ledger, nested, || reader.plan(run))
}

fn nested_records(reader: &StoreReader, run: &RunId, depth: usize) -> Result<RunRecord, CommandError> {
    let nested = nested_below(reader, run, depth, |child, depth| nested_records(reader, child, depth))?;
    let facts = reader.events().of_kinds(run, &fact_kinds())?;
    let ledger = BudgetLedger::of_events(&facts);
    let plan = || recorded_plan_if_valid(reader, run);
    let mut record = record_of_facts(reader, run, &facts, ledger, nested, plan)?;
    record.steps = reader.steps().of_run(run)?;
    record.attempts = reader.attempts().of_run(run)?;
    record.checks = reader.checks().of_run(run)?;
    record.gaps = GapTrajectory::of_checks(&record.checks);
    record.loops = LoopedAttempt::from_events(&facts);
    record.artifacts = artifacts_of_run(reader, run)?;
    record.pruned_artifacts =
        reader.artifacts().pruned(record.artifacts.iter().map(|row| row.artifact.digest))?;
    Ok(record.with_waiting_tasks())
}

/// Reads the runs nested in a run, each with a function of the remaining depth.
fn nested_below(
    reader: &StoreReader,
    run: &RunId,
    depth: usize,
    read: impl Fn(&RunId, usize) -> Result<RunRecord, CommandError>,
) -> Result<Vec<NestedRunRecord>, CommandError> {
    if depth == 0 {
        return Ok(Vec::new());
    }
    let children = reader.runs().children(run)?.into_iter();
    let read = |(child, attempt)| Ok(NestedRunRecord { attempt, record: read(&child, depth - 1)? });
    children.map(read).collect()
}

/// Returns the kinds of events in a record.
fn fact_kinds() -> Vec<&'static str> {
    let parts: [&[&str]; 7] = [
        &RunDecisions::EVENTS,
        &BudgetLedger::EVENTS,
        &AgentCalls::EVENTS,
        &AskedCall::EVENTS,
        &LoopedAttempt::EVENTS,
        &UnbegunChild::EVENTS,
        &ModelSpending::EVENTS,
    ];
    parts.concat()
}

/// Makes the record of a run of its facts, without its tasks; with its plan, if the facts require that.
fn record_of_facts(
    reader: &StoreReader,
    run: &RunId,
    events: &[Event],
    ledger: BudgetLedger,
    nested: Vec<NestedRunRecord>,
    plan: impl FnOnce() -> Result<Option<Arc<Plan>>, CommandError>,
) -> Result<RunRecord, CommandError> {
    let (agents, calls) = (AgentCalls::from_events(events), AskedCall::from_events(events));
    let sources = CallSources { agents: &agents, asked: &calls, nested: &nested };
    let plan = if sources.is_empty() { None } else { plan()? };
    let call_chain = plan.map(|plan| CallChain::from_plan(&plan, sources)).unwrap_or_default();
    let (mut row, owner) = (reader.runs().get(run)?, reader.leases().owner(run)?);
    if row.state == RunState::Running {
        row.counts = reader.steps().counts(run)?;
    }
    Ok(RunRecord {
        v: RECORD_VERSION,
        life: RunLifecycle::of(&row, owner),
        top: None,
        run: row,
        repeated_by: reader.runs().repeats(run)?,
        undone_by: reader.runs().undos(run)?,
        worktree: present_folder(&reader.runs().config(run)?),
        owner,
        steps: Vec::new(),
        attempts: Vec::new(),
        gaps: Vec::new(),
        loops: Vec::new(),
        shaken: Vec::new(),
        checks: Vec::new(),
        decisions: RunDecisions::from_events(events),
        agents,
        sequential_calls: call_chain.total(),
        call_chain,
        asked: calls,
        unbegun: UnbegunChild::from_events(events),
        models: ModelSpending::from_events(events),
        ledger: ledger.is_worth_reporting().then_some(ledger),
        artifacts: Vec::new(),
        pruned_artifacts: BTreeSet::new(),
        nested,
    })
}
