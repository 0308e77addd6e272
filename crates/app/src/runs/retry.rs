//! A run that is run again: what is reused of it, and how the new one starts.

use serde_json::Value;

use super::{
    backend::backend_of, given::secrets_of_run, lineage::outermost_run, retry_preview::check_selection,
};
pub use super::{
    retry_preview::{PreviewedStep, RetryPreview},
    selection::StepSelectionNames,
};
use crate::{
    Caller, CliExitCode, CommandError, RunOptions, StateReader,
    names::attempt_name_from_text,
    specs::load::{LoadedPlan, load_plan, recorded_plan_or_current},
};
use wf_base::{
    name::{RunId, SessionName},
    remedy::{Remedy, RequestAnswerForm, UserAction},
};
use wf_engine::{
    self as engine, GivenSecrets,
    reuse::{RepeatRequest, RepeatedRun},
};
use wf_lang::DiskFiles;
use wf_model::JsonObject;
use wf_report::{goal_name, record::RunLifecycle};
use wf_store::{RunRow, StoreReader};

/// A repeatable run, with its plan as it is now.
pub struct RetryDraft {
    pub loaded: LoadedPlan,
    state: StateReader,
    row: RunRow,
}

/// A run about to be run again.
pub struct PreparedRetry {
    pub loaded: LoadedPlan,
    /// The repeated run.
    pub old: RunId,
    /// The session it belongs to.
    pub session: Option<SessionName>,
    /// The parameters of the new run.
    pub params: JsonObject,
    /// The results it reuses.
    pub repeated_run: RepeatedRun,
    pub preview: RetryPreview,
    /// The secrets the results may contain.
    pub secrets: GivenSecrets,
    /// The configuration of the new run.
    pub config: Value,
    /// The backend the old one ran on, if not this machine.
    pub backend_before: Option<String>,
}

impl RetryDraft {
    /// Finds a run by the start of its id, the latest one without it; refuses one that cannot be repeated.
    pub fn open(caller: &dyn Caller, prefix: Option<&str>) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        let state = StateReader::from_whole_log(&workspace)?;
        let row = state.store().runs().get(&state.find_run(prefix)?)?;
        require_repeatable(state.store(), &row)?;
        let files = DiskFiles::new(&workspace.root);
        let options = RunOptions::at_present(caller.host(), None);
        let loaded = load_plan(caller, &files, workspace, row.path.clone(), options)?;
        Ok(Self { loaded, state, row })
    }

    /// Decides what is reused, with the parameters following from those of the old run.
    pub fn prepare(
        self,
        selection: &StepSelectionNames,
        resolve_params: impl FnOnce(&LoadedPlan, &JsonObject) -> Result<JsonObject, CommandError>,
    ) -> Result<PreparedRetry, CommandError> {
        let Self { loaded, state, row } = self;
        let (reader, old) = (state.store(), &row.id);
        let choice = selection.resolve(reader, old, &loaded.plan)?;
        let params = resolve_params(&loaded, &row.params)?;
        let before = recorded_plan_or_current(reader, old, &loaded)?;
        let request = RepeatRequest {
            run: Some(old.clone()),
            earlier_plan: before.clone(),
            current_plan: loaded.plan.clone(),
            choice: choice.clone(),
        };
        let root = &loaded.workspace.root;
        let repeated_run =
            engine::unchanged(root, reader, RepeatedRun::from_request(reader, request, &params)?)?;
        check_selection(root, reader, &repeated_run, "")?;
        let preview = RetryPreview::of(root, reader, &repeated_run)?;
        let secrets = match &before {
            Some(before) => secrets_of_run(reader, old, before)?,
            None => GivenSecrets::default(),
        };
        let config = engine::continue_lineage(loaded.options.write_to(choice.record()), reader, old)?;
        let backend_before = backend_of(&reader.runs().config(old)?).map(str::to_owned);
        let RunRow { id: old, session, .. } = row;
        Ok(PreparedRetry {
            loaded,
            old,
            session,
            params,
            repeated_run,
            preview,
            secrets,
            config,
            backend_before,
        })
    }
}

pub(super) fn require_repeatable(reader: &StoreReader, row: &RunRow) -> Result<(), CommandError> {
    let short = row.id.short();
    if let Some((above, attempt)) = &row.parent {
        let attempt = attempt_name_from_text(reader, above, attempt)?;
        let message = format!("run {short} is nested in another run: {attempt}");
        let top = outermost_run(reader, &row.id)?;
        return Err(CommandError::new(CliExitCode::Usage, message).hint(
            Remedy::from("retry that one: ")
                .action(UserAction::RetryRun(top))
                .text("; select inner steps with --from STEP/INNER"),
        ));
    }
    let failure = |what: &str| CommandError::new(CliExitCode::Usage, format!("run {short} {what}"));
    // A retry would be no undo, so that the other run could be undone again.
    if let Some(undone) = &row.undo_of {
        let error = failure(&format!("undoes run {}", undone.short()));
        let action = UserAction::UndoRun(undone.clone());
        return Err(error.remedy("start another one while there is time: ", action));
    }
    let owner = reader.leases().owner(&row.id)?;
    match RunLifecycle::of(row, owner) {
        RunLifecycle::Running => Err(failure("has not finished")
            .remedy("wait until it finishes, or cancel it: ", UserAction::CancelRun(row.id.clone()))),
        RunLifecycle::Waiting => {
            let is_live = owner.is_some_and(|owner| owner.alive);
            Err(failure("waits for approval").hint(decide_and_resume(&row.id, is_live)))
        }
        RunLifecycle::Interrupted => {
            Err(failure("has not finished").remedy("resume it: ", UserAction::ResumeRun(row.id.clone())))
        }
        // A reconciliation starts with a check run, and is not repeated in part.
        RunLifecycle::Ended(_) if row.goal.is_some() => {
            let message = format!("run {short} belongs to a reconciliation of the goal `{}`", row.plan);
            let error = CommandError::new(CliExitCode::Usage, message);
            Err(error.remedy("start another one: ", UserAction::RunGoal(goal_name(&row.plan, &row.path))))
        }
        RunLifecycle::Ended(_) => Ok(()),
    }
}

/// Returns the remedy for a waiting run: its process, if it lives, goes on by itself.
fn decide_and_resume(run: &RunId, is_live: bool) -> Remedy {
    let form = RequestAnswerForm::Approval;
    let decide = Remedy::from(UserAction::AnswerRequest { run: run.clone(), step: None, form })
        .text(" or ")
        .action(UserAction::DenyRequest { run: run.clone(), step: None, with_reason: false });
    if is_live { decide } else { decide.text(", then ").action(UserAction::ResumeRun(run.clone())) }
}
