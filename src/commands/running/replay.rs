use clap::Args;
use serde_json::Value;

use crate::Ui;
use wf_app::{
    Caller, CliExitCode, CommandError, Workspace, WorkspaceCopy,
    approve::{ApprovalDemand, SigningRules, authorize},
    replay::{AnswerRecording, ReplaySource, recorded_calibrations, recorded_conversations, recorded_events},
    revision::tracked_check_files,
    session::open_run_session,
};
use wf_base::units::plural;
use wf_engine::{self as engine, EngineError, RunRequest};
use wf_report::{follow::CombinedObserver, replay::EventDifference};
use wf_sign::approval::ReviewPolicy;

#[derive(Args, Debug)]
#[command(after_help = "\
The run is executed again in a temporary copy of the workspace as it is now. Its models reply as
they did: none is called, no key is read. Everything else is real: tools run, checks decide. Then
the events of both are compared, except times, ids, durations and signatures; the first one that
differs is printed.

A run is replayed with the plan that it was recorded with; a recording, with the plan of this
workspace. The replay ends where people were asked, unless --answers gives what they answered then
to exactly the same question: what follows a yes is done again. If the run changed files of the
workspace, replay it where they are as before:

  git worktree add ../before COMMIT
  wf -C ../before --state .wf replay 1a2b

Examples:
  wf replay 1a2b      a run of this workspace
  wf replay --last
  wf replay tape      a recording, made with `wf run PLAN --record tape`
  wf replay tape --answers")]
pub struct ReplayArgs {
    /// Run ID or unique prefix, or the directory of a recording
    #[arg(value_name = "RUN|DIR", required_unless_present = "last")]
    name: Option<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long, conflicts_with = "name")]
    last: bool,
    /// Give the recorded answers of people, too; without it the replay ends at the first question to them
    #[arg(long)]
    answers: bool,
}

/// Replays a run.
pub fn run(ui: &Ui, args: &ReplayArgs) -> Result<CliExitCode, CommandError> {
    let source = ReplaySource::find(ui, args.name.as_deref())?;
    let name = format!("run {}", source.run.short());
    let recorded = source.events.clone();
    let replayed = execute(ui, source, args.answers)?;
    let Some(difference) = EventDifference::first(&recorded, &replayed) else {
        let count = plural(recorded.len(), "event");
        ui.print_line(&format!("replayed {name}: {count}, no difference"))?;
        return Ok(CliExitCode::Ok);
    };
    print_difference(ui, &difference)?;
    let (number, total) = (difference.number, recorded.len());
    let keys = difference.differing_keys();
    let keys = if keys.is_empty() { String::new() } else { format!(": {} differs", keys.join(", ")) };
    let message = format!("the replay of {name} differs at event {number} of {total}{keys}");
    let error = CommandError::new(CliExitCode::RunFailed, message);
    Err(match miss(&replayed) {
        Some(reason) => error.hint(reason),
        None => error,
    })
}

/// Runs the plan of a source in a copy of the workspace, and returns the events.
fn execute(ui: &Ui, source: ReplaySource, answers: bool) -> Result<Vec<Value>, CommandError> {
    let ReplaySource { run, mut loaded, params, events, cassette, memory } = source;
    if answers {
        check_owner_approves(ui, &loaded.workspace)?;
    }
    let original = loaded.workspace.clone();
    let copy = WorkspaceCopy::of(&original)?;
    // An approval counts as far as it is not used up; a replay does not use it.
    loaded.workspace = Workspace { state: original.state, ..copy.workspace.clone() };
    let entered = authorize(ui, &loaded, &run, &params, &ApprovalDemand::default())?;
    loaded.workspace = copy.workspace.clone();
    let session_name = memory.restore(ui, &copy.workspace)?;
    let session = open_run_session(ui, &loaded, false, Box::new(CombinedObserver::default()))?;
    session.use_cassette(cassette);
    session.use_recorded_conversations(recorded_conversations(&events));
    session.use_recorded_calibrations(recorded_calibrations(&events));
    if answers {
        session.use_recorded_answers(Box::new(AnswerRecording::of(&events, copy.workspace.root.clone())));
    }
    let tracked = tracked_check_files(&ui.host, &loaded, &params);
    let request = RunRequest {
        run: run.clone(),
        plan: loaded.plan.clone(),
        path: loaded.path.clone(),
        sources: loaded.sources.iter().cloned().chain([entered.token]).collect(),
        params,
        session: session_name,
        repeated_run: None,
        approved: Some(entered.approved),
        config: loaded.options.write_to(Value::Null),
        claim: None,
        begun: None,
        tracked,
    };
    match engine::run(&session, request) {
        Ok(finished) if finished.outcome == wf_core::machine::RunOutcome::Cancelled => {
            return Err(CommandError::new(CliExitCode::Interrupted, "the replay was cancelled"));
        }
        Ok(_) => {}
        Err(EngineError::Parked { .. }) => {
            ui.info_line(if answers {
                "the replay ends here: it would wait for an answer that the record does not have"
            } else {
                "the replay ends here: it would wait for people; --answers gives what they answered"
            });
        }
        Err(error) => return Err(error.into()),
    }
    recorded_events(&copy.workspace, &run)
}

/// Refuses recorded answers where runs need the approval of others: a recording has no signatures.
fn check_owner_approves(ui: &Ui, workspace: &Workspace) -> Result<(), CommandError> {
    if SigningRules::of(ui, workspace)?.approvers.policy == ReviewPolicy::Owner {
        return Ok(());
    }
    let message = "the recorded answers of people do not count: approvers.yaml has the policy `reviewed`";
    let hint = "replay up to the first question, without --answers";
    Err(CommandError::new(CliExitCode::Approval, message).hint(hint))
}

fn print_difference(ui: &Ui, difference: &EventDifference) -> Result<(), CommandError> {
    for (label, event) in [("recorded", &difference.recorded), ("replayed", &difference.replayed)] {
        let text = event.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        ui.print_line(&format!("{label} {text}"))?;
    }
    Ok(())
}

/// Returns the reason why a call had no recorded reply. It says more about the cause than digests do.
fn miss(replayed: &[Value]) -> Option<String> {
    let reasons = replayed.iter().filter_map(|event| match event.get("result") {
        Some(result) if result.is_object() => result.get("reason"),
        _ => event.get("reason"),
    });
    let mut reasons = reasons.filter_map(Value::as_str);
    reasons.find(|reason| reason.contains(engine::NO_RECORDED_REPLY)).map(str::to_owned)
}
