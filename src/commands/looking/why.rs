use clap::Args;
use serde_json::json;

use crate::Ui;
use crate::which::{ResolvedTask, StepArg, find_step, open_run, require_step};
use wf_app::lineage::retried_run_of_nested;
use wf_app::{CliExitCode, CommandError, RunOptions, load};
use wf_base::name::RunId;
use wf_core::goal::ReconciliationPart;
use wf_core::machine::{EventKind, Round};
use wf_engine::reuse::StepFate;
use wf_exec::cache::{differences, miss_reason};
use wf_model::Plan;
use wf_report::record::{
    CacheExplanation, RunRecord, StepExplanation, deciding_tasks, explain_run, explain_step,
    explain_step_json,
};
use wf_report::rounds::rounds_table;
use wf_report::{decision_json, decision_text};
use wf_store::StoreReader;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf why --last              the latest run, by the steps that failed or wait
  wf why --last build        a step of it
  wf why 1a2b fetch[2]       an item of a repeated step
  wf why 1a2b outer/inner    a step of a nested run
  wf why 1a2b --round 2      what the controller decided after round 2, and why")]
pub struct WhyArgs {
    #[command(flatten)]
    step: StepArg,
    /// Explain the decision of the controller after this round, instead of a step
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Explains a step.
pub fn run(ui: &Ui, args: &WhyArgs) -> Result<CliExitCode, CommandError> {
    let (reader, run, subject) = open_run(ui, |reader| args.step.resolve(reader))?;
    if let Some(number) = args.round {
        if subject.is_some() {
            return Err(CommandError::new(CliExitCode::Usage, "--round is about a run: name no step"));
        }
        return explain_round(ui, args, &reader, &run, number);
    }
    let Some(subject) = subject else {
        return explain_whole(ui, args, &reader, &run);
    };
    let found = find_step(run, &subject, &reader)?;
    let record = crate::load_record(&reader, &found.run)?;
    let plan = load::recorded_plan(ui, &reader, &found.run)?;
    require_step(&plan, found.place.step.as_str())?;
    if args.json {
        ui.print_json(&format!("{:#}\n", explain(&reader, &record, &plan, &found, explain_step_json)?))?;
    } else {
        ui.print(&explain(&reader, &record, &plan, &found, explain_step)?)?;
    }
    Ok(CliExitCode::Ok)
}

fn explain<T>(
    reader: &StoreReader,
    record: &RunRecord,
    plan: &Plan,
    found: &ResolvedTask,
    form: impl FnOnce(&StepExplanation<'_>) -> T,
) -> Result<T, CommandError> {
    let cache = cache(reader, record, found)?;
    let again = rerun_reason(reader, found)?;
    let (place, cache, rerun_reason) = (&found.place, cache.as_ref(), again.as_deref());
    Ok(form(&StepExplanation { record, plan, place, cache, rerun_reason }))
}

/// Explains what the controller decided after a round.
fn explain_round(
    ui: &Ui,
    args: &WhyArgs,
    reader: &StoreReader,
    run: &RunId,
    number: u32,
) -> Result<CliExitCode, CommandError> {
    let rounds = reader.facts(run, &["round_completed"])?.into_iter().filter_map(|event| match event.fact {
        EventKind::RoundCompleted(round) => Some(round),
        _ => None,
    });
    let rounds: Vec<Box<Round>> = rounds.collect();
    let plan = load::recorded_plan(ui, reader, run)?;
    let (Some(replan), Some(round)) =
        (&plan.parts().replan, rounds.iter().find(|round| round.round == number))
    else {
        let message = format!("run {} has no round {number}", run.short());
        let hint = match rounds.len() {
            0 => "it has no rounds: they come from `replan` in its plan".to_owned(),
            count => format!("its rounds are 1 to {count}"),
        };
        return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    };
    if args.json {
        let document =
            json!({"v": 1, "run": run, "round": round, "decision": decision_json(replan, &round.solved)});
        ui.print_json(&format!("{document:#}\n"))?;
    } else {
        let outcome = rounds_table(std::slice::from_ref(&**round), true);
        ui.print(&format!("{outcome}\n{}", decision_text(replan, &round.solved)))?;
    }
    Ok(CliExitCode::Ok)
}

/// Explains a run by the steps that decide its state.
fn explain_whole(
    ui: &Ui,
    args: &WhyArgs,
    reader: &StoreReader,
    run: &RunId,
) -> Result<CliExitCode, CommandError> {
    if args.json {
        return Err(no_step(reader, run)?);
    }
    let record = crate::load_record(reader, run)?.with_waiting_tasks();
    let plan = load::recorded_plan(ui, reader, run)?;
    ui.print(&explain_run(&record))?;
    let (tasks, more) = deciding_tasks(&record);
    for place in tasks {
        let found = ResolvedTask { run: run.clone(), place, attempt: None };
        ui.print(&format!("\n{}", explain(reader, &record, &plan, &found, explain_step)?))?;
    }
    if more > 0 {
        ui.print(&format!("\nand {more} more: wf show {}\n", run.short()))?;
    }
    Ok(CliExitCode::Ok)
}

/// The failure if no step was named.
fn no_step(reader: &StoreReader, run: &RunId) -> Result<CommandError, CommandError> {
    let short = run.short();
    Ok(if reader.run(run)?.goal == Some(ReconciliationPart::Look) {
        let failure = CommandError::new(
            CliExitCode::Usage,
            format!("run {short} is a check run of a goal: it has no steps"),
        );
        failure.hint(format!("for the results of its checks: wf show {short}"))
    } else {
        let failure = CommandError::new(CliExitCode::Usage, "no step given: name one after the run");
        failure.hint(format!("for its steps: wf show {short}"))
    })
}

/// The reason why the step ran again, if its run repeats another.
fn rerun_reason(reader: &StoreReader, found: &ResolvedTask) -> Result<Option<String>, CommandError> {
    let past = retried_run_of_nested(reader, &found.run)?;
    let fate = past.as_ref().and_then(|past| past.fate(&found.place.step));
    Ok(match fate {
        Some(StepFate::Rerun(again)) => Some(again.reason.to_string()),
        _ => None,
    })
}

/// The outermost run that a run is part of.
fn top(reader: &StoreReader, run: &RunId) -> Result<RunId, CommandError> {
    let mut top = run.clone();
    while let Some((above, _)) = reader.run(&top)?.parent {
        top = above;
    }
    Ok(top)
}

fn cache(
    reader: &StoreReader,
    record: &RunRecord,
    found: &ResolvedTask,
) -> Result<Option<CacheExplanation>, CommandError> {
    let step = &found.place.step;
    let own = |row: &&wf_store::StepRow| row.step == *step && row.item == found.place.item;
    let row = record.steps.iter().find(own);
    let key = row.and_then(|row| row.item_key.as_deref());
    let Some((hit, parts)) = reader.cache_parts(&found.run, step, key)? else {
        return Ok(None);
    };
    let plan = wf_base::name::PlanId::parse(&record.run.plan);
    let earlier = match plan {
        Ok(plan) if !hit => reader.last_cache_parts(&plan, step, key, &found.run)?,
        _ => None,
    };
    let used = row.and_then(|row| row.cache_key.as_deref());
    let used = match used.and_then(|used| used.parse().ok()) {
        Some(used) => reader.cache_get(&used)?.and_then(Result::ok),
        None => None,
    };
    Ok(Some(CacheExplanation {
        reuses: !RunOptions::recorded(&reader.config(&top(reader, &found.run)?)?).no_cache,
        hit,
        producer: used.map(|entry| entry.run),
        changes: earlier.as_ref().map(|(_, old)| changes(old, &parts)).unwrap_or_default(),
        refused: miss_reason(&parts).map(str::to_owned),
        compared_run: earlier.map(|(run, _)| run),
    }))
}

/// The changes since another run queried the cache; if there are none, the reason it left no result.
fn changes(old: &serde_json::Value, new: &serde_json::Value) -> Vec<String> {
    match differences(old, new) {
        none if none.is_empty() => miss_reason(old).map(str::to_owned).into_iter().collect(),
        changes => changes,
    }
}
