use clap::Args;
use serde_json::json;

use crate::{
    Ui,
    which::{StepArg, open_run},
};
use wf_app::{
    CliExitCode, CommandError, StateReader,
    records::{
        ResolvedTask, TaskReasons, find_step, is_check_run, load_record, recorded_plan, recorded_rounds,
        require_task,
    },
};
use wf_base::name::RunId;
use wf_model::Plan;
use wf_report::{
    decision_json, decision_text,
    record::{RunRecord, StepExplanation, deciding_tasks, explain_run, explain_step, explain_step_json},
    rounds::rounds_table,
};

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
    let (state, run, subject) = open_run(ui, |state| args.step.resolve(state))?;
    if let Some(number) = args.round {
        if subject.is_some() {
            return Err(CommandError::new(CliExitCode::Usage, "--round is about a run: name no step"));
        }
        return explain_round(ui, args, &state, &run, number);
    }
    let Some(subject) = subject else {
        return explain_whole(ui, args, &state, &run);
    };
    let task = find_step(&state, run, &subject)?;
    let record = load_record(&state, &task.run)?;
    let plan = recorded_plan(ui, &state, &task.run)?;
    require_task(&plan, &task.task_id)?;
    if args.json {
        ui.print_json(&format!("{:#}\n", explain(&state, &record, &plan, &task, explain_step_json)?))?;
    } else {
        ui.print(&explain(&state, &record, &plan, &task, explain_step)?)?;
    }
    Ok(CliExitCode::Ok)
}

fn explain<T>(
    state: &StateReader,
    record: &RunRecord,
    plan: &Plan,
    task: &ResolvedTask,
    form: impl FnOnce(&StepExplanation<'_>) -> T,
) -> Result<T, CommandError> {
    let reasons = TaskReasons::read(state, record, task)?;
    let (task_id, cache, rerun_reason) = (&task.task_id, reasons.cache.as_ref(), reasons.rerun.as_deref());
    Ok(form(&StepExplanation { record, plan, task_id, cache, rerun_reason }))
}

/// Explains the decision of the controller after a round.
fn explain_round(
    ui: &Ui,
    args: &WhyArgs,
    state: &StateReader,
    run: &RunId,
    number: u32,
) -> Result<CliExitCode, CommandError> {
    let rounds = recorded_rounds(state, run)?;
    let plan = recorded_plan(ui, state, run)?;
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

/// Explains a run by the deciding steps of its state.
fn explain_whole(
    ui: &Ui,
    args: &WhyArgs,
    state: &StateReader,
    run: &RunId,
) -> Result<CliExitCode, CommandError> {
    if args.json {
        return Err(no_step(state, run)?);
    }
    let record = load_record(state, run)?.with_waiting_tasks();
    let plan = recorded_plan(ui, state, run)?;
    ui.print(&explain_run(&record))?;
    let (tasks, more) = deciding_tasks(&record);
    for task_id in tasks {
        let task = ResolvedTask { run: run.clone(), task_id, attempt: None };
        ui.print(&format!("\n{}", explain(state, &record, &plan, &task, explain_step)?))?;
    }
    if more > 0 {
        ui.print(&format!("\nand {more} more: wf show {}\n", run.short()))?;
    }
    Ok(CliExitCode::Ok)
}

/// The failure if no step was named.
fn no_step(state: &StateReader, run: &RunId) -> Result<CommandError, CommandError> {
    let short = run.short();
    Ok(if is_check_run(state, run)? {
        let error = CommandError::new(
            CliExitCode::Usage,
            format!("run {short} is a check run of a goal: it has no steps"),
        );
        error.hint(format!("for the results of its checks: wf show {short}"))
    } else {
        let error = CommandError::new(CliExitCode::Usage, "no step given: name one after the run");
        error.hint(format!("for its steps: wf show {short}"))
    })
}
