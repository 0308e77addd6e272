//! The stored record of a run, read from the state.

use crate::CommandError;
use crate::lineage::outermost_run;
use crate::load::recorded_plan_if_valid;
use wf_base::name::RunId;
use wf_core::machine::BudgetLedger;
use wf_report::record::{
    AgentCalls, AskedCall, CallChain, CallSources, GapTrajectory, LoopedAttempt, ModelSpending,
    NestedRunRecord, RECORD_VERSION, RunDecisions, RunLifecycle, RunRecord, UnbegunChild,
};
use wf_store::StoreReader;

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

fn nested_records(reader: &StoreReader, run: &RunId, depth: usize) -> Result<RunRecord, CommandError> {
    let mut nested = Vec::new();
    if depth > 0 {
        for (child, attempt) in reader.children(run)? {
            let record = nested_records(reader, &child, depth - 1)?;
            nested.push(NestedRunRecord { attempt, record });
        }
    }
    let checks = reader.checks(run)?;
    let held = reader.facts(run, &RunDecisions::EVENTS)?;
    let ledger = BudgetLedger::of_events(&reader.facts(run, &BudgetLedger::EVENTS)?);
    let agents = AgentCalls::from_events(&reader.facts(run, &AgentCalls::EVENTS)?);
    let asked = AskedCall::from_events(&reader.facts(run, &AskedCall::EVENTS)?);
    let sources = CallSources { agents: &agents, asked: &asked, nested: &nested };
    let plan = if sources.is_empty() { None } else { recorded_plan_if_valid(reader, run)? };
    let call_chain = plan.map(|plan| CallChain::of(&plan, sources)).unwrap_or_default();
    let (row, owner) = (reader.run(run)?, reader.owner(run)?);
    let record = RunRecord {
        v: RECORD_VERSION,
        life: RunLifecycle::of(&row, owner),
        top: None,
        run: row,
        repeated_by: reader.repeats(run)?,
        undone_by: reader.undos(run)?,
        owner,
        steps: reader.steps(run)?,
        attempts: reader.attempts(run)?,
        gaps: GapTrajectory::of_checks(&checks),
        loops: LoopedAttempt::from_events(&reader.facts(run, &LoopedAttempt::EVENTS)?),
        shaken: Vec::new(),
        checks,
        held: RunDecisions::from_events(&held),
        agents,
        sequential_calls: call_chain.total(),
        call_chain,
        asked,
        unbegun: UnbegunChild::from_events(&reader.facts(run, &UnbegunChild::EVENTS)?),
        models: ModelSpending::from_events(&reader.facts(run, &ModelSpending::EVENTS)?),
        ledger: ledger.is_worth_reporting().then_some(ledger),
        artifacts: reader.artifacts(run)?,
        nested,
    };
    Ok(record.with_waiting_tasks())
}
